//! Chang and Roberts: ids go round a ring, and only the largest comes home.
//!
//! **Problem.** The processes form a ring, and each talks to its successor alone. They must agree
//! on one of them, whoever begins and however many begin at once.
//!
//! **Idea.** Who wants an election sends its id on. Everybody passes on the larger of the id that
//! comes and its own. An id that comes home to its owner has passed everybody: it is the largest,
//! and its owner is elected. One more lap tells the others.
//!
//! **Assumes** that nobody crashes, that no message is lost, and that channels are FIFO. Without
//! order, a message of the next election can overtake the announcement of the last one. Somebody
//! who still takes part in the old election drops it, and who passed it on waits for ever. The
//! naive variant drops nothing, and needs no order.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `election` | "the largest so far is this" | to the successor, on beginning or passing on |
//! | `elected` | "this one is elected" | to the successor, for one lap |
//!
//! **Variants.** They differ in how the messages of several initiators are put out. The plain one
//! keeps a flag: who has sent an id already drops smaller ones. [`Variant::Suppress`] lets messages
//! carry their initiator, and drops those whose initiator is smaller than another that was seen.
//! [`Variant::Naive`] does neither, and every initiator pays for an election of its own.
//!
//! **Cost**, for N > 1 and one initiator. Best, the largest begins: N + N messages. Worst, its
//! successor begins, so that the largest is reached last: N-1 to it, N + N from there. The last one
//! to know is the leader's predecessor, one delay before the announcement is back. When everybody
//! begins at once, the i-th largest id gets N/i far on average: N * `H_N` + N in all. The naive
//! variant then needs 2N^2 + N(N-1)/2.
//!
//! **Source.** E. Chang, R. Roberts, *An Improved Algorithm for Decentralized Extrema-Finding in
//! Circular Configurations of Processes*, CACM 22(5), 1979. Flag and announcement are as in G.
//! Coulouris et al., *Distributed Systems*, 5th ed., section 15.3.
//!
//! **Why it is safe.** Only its owner puts an id on the way, and everybody replaces smaller ones.
//! So an id that is back has met nobody larger. **Live**: a message is dropped only by one whom a
//! message with a larger id, or by a larger initiator, has passed and whose announcement has not;
//! with FIFO channels that announcement comes by wherever the dropped message came by. **It ends**:
//! a message becomes one message or none, and makes three laps at most.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::election::{self, Command, Elections, Notice, Term};
use conclave_core::{Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start};

use crate::catalogue::{
    Bounds, Cost, CrashExample, Document, Entry, Measure, Needs, Places, Remark, Size,
};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Who is the largest?
    Election {
        /// Who began this.
        initiator: ProcessId,
        /// The largest so far.
        id: ProcessId,
    },
    /// That one is the largest, and elected.
    Elected {
        /// Who began this.
        initiator: ProcessId,
        /// The largest id on the ring, which is elected.
        id: ProcessId,
    },
}

/// What the members agreed on: how messages of several initiators are put out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Variant {
    /// By those who have sent a larger id.
    Plain,
    /// By those who have seen a larger initiator.
    Suppress,
    /// Not at all: every initiator's message goes all the way round.
    Naive,
}

/// One process on the ring of Chang and Roberts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ChangRoberts {
    me: ProcessId,
    predecessor: ProcessId,
    successor: ProcessId,
    variant: Variant,
    /// Who was elected last, as far as this process knows.
    elected: Option<ProcessId>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Bystander,
    /// It has sent an election message, and does not know yet who is elected.
    Participant {
        /// Who began what it sent last; in the suppressing variant, the largest initiator seen.
        initiator: ProcessId,
    },
}

/// The catalogue's entry of the plain algorithm.
pub const PLAIN: Entry = Entry {
    name: "chang-roberts",
    title: "Chang-Roberts 1979",
    citation: "E. Chang, R. Roberts, An Improved Algorithm for Decentralized Extrema-Finding in \
               Circular Configurations of Processes, CACM 22(5), 1979",
    summary: "ids go round a ring, larger ones replace smaller ones, and the largest comes home",
    family: <Elections as Family>::NAME,
    promises: election::LARGEST,
    needs: Needs { fifo: true, ..Needs::NOTHING },
    settings: &[],
    crash: "any crash breaks the ring: no election comes to its end",
    problems: "slow if large; any crash breaks the ring",
    crash_example: Some(CrashExample {
        matters: "5@1.5ms",
        why: "but 5 crashed at 1.5 ms",
        passes: "5@50ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[Bounds::of(5, 1)],
    costs: &[
        BEST,
        WORST,
        Cost::quoted(Measure::ElectionMean, "N*H(N) + N", |size| size.n * harmonic(size) + size.n),
        TURNAROUND_BEST,
        TURNAROUND_WORST,
    ],
    remarks: &[
        Remark::agrees(Document::Coordination, Measure::ElectionWorst, "3N-1"),
        Remark::agrees(Document::Coordination, Measure::ElectionBest, "2N"),
        Remark::agrees(Document::MutexAndElection, Measure::ElectionWorst, "3N-1"),
        Remark::agrees(Document::WeekOne, Measure::ElectionWorst, "3N-1"),
        Remark::agrees(Document::WeekOne, Measure::ElectionBest, "2N"),
        Remark::differs(
            Document::WeekOne,
            Measure::TurnaroundWorst,
            "3N-1",
            "counts the announcement's last hop, back to the leader, who knows already",
        ),
    ],
};

/// The variant whose messages carry their initiator.
pub const SUPPRESS: Entry = Entry {
    name: "chang-roberts-suppress",
    title: "Chang-Roberts, suppressing smaller initiators",
    summary: "as chang-roberts, but messages carry their initiator, and smaller ones give way",
    problems: "can cost more than without; any crash breaks the ring",
    silent: &[],
    searches: &[Bounds::of(5, 1)],
    ..PLAIN
};

/// The variant that drops nothing.
pub const NAIVE: Entry = Entry {
    name: "chang-roberts-naive",
    title: "Chang-Roberts, naive",
    summary: "as chang-roberts, but every initiator's message makes all of its laps",
    problems: "about 2.5 N^2 messages if all start; any crash breaks the ring",
    needs: Needs::NOTHING,
    costs: &[
        BEST,
        WORST,
        Cost::exactly(Measure::ElectionMean, "2N^2 + N(N-1)/2", |size| {
            2.0 * size.n * size.n + size.n * (size.n - 1.0) / 2.0
        }),
        TURNAROUND_BEST,
        TURNAROUND_WORST,
    ],
    silent: &[],
    searches: &[Bounds::of(5, 1)],
    ..PLAIN
};

const BEST: Cost = Cost::exactly(Measure::ElectionBest, "2N", |size| 2.0 * size.n);
const WORST: Cost = Cost::exactly(Measure::ElectionWorst, "3N-1", |size| 3.0 * size.n - 1.0);
const TURNAROUND_BEST: Cost =
    Cost::exactly(Measure::TurnaroundBest, "2N-1", |size| 2.0 * size.n - 1.0);
const TURNAROUND_WORST: Cost =
    Cost::exactly(Measure::TurnaroundWorst, "3N-2", |size| 3.0 * size.n - 2.0);

/// 1 + 1/2 + ... + 1/N.
fn harmonic(size: Size) -> f64 {
    let (mut sum, mut term) = (0.0, 1.0);
    while term <= size.n {
        sum += 1.0 / term;
        term += 1.0;
    }
    sum
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[Kind::elect("election"), Kind::elect("elected")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Election { .. } => 0,
            Message::Elected { .. } => 1,
        }
    }
}

impl Protocol for ChangRoberts {
    type Family = Elections;
    type Config = Variant;
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self {
            me: start.me,
            predecessor: start.view.predecessor(start.me),
            successor: start.view.successor(start.me),
            variant: *start.config,
            elected: None,
            role: Role::Bystander,
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Command(Command::Call) if self.role == Role::Bystander => self.call(out),
            Input::Message { message: Message::Election { initiator, id }, .. } => {
                self.on_election(initiator, id, out);
            }
            Input::Message { message: Message::Elected { initiator, id }, .. } => {
                self.on_elected(initiator, id, out);
            }
            Input::Command(Command::Read | Command::Write(_)) => {
                out.rule("keeps no value: it refuses");
                out.notify(Notice::Refused);
            }
            _ => out.rule("has no use for this"),
        }
    }

    /// Whatever comes, comes from there, also through those who have not heard of it yet.
    fn waits_for(&self) -> Vec<ProcessId> {
        vec![self.predecessor]
    }
}

impl ChangRoberts {
    fn call(&mut self, out: &mut Effects<Self>) {
        out.rule("calls an election: it sends its id to its successor");
        self.take_part(self.me, out);
        out.send(self.successor, Message::Election { initiator: self.me, id: self.me });
    }

    fn on_election(&mut self, initiator: ProcessId, id: ProcessId, out: &mut Effects<Self>) {
        let takes_part = self.role != Role::Bystander;
        match self.variant {
            Variant::Suppress if self.has_seen_larger(initiator) => {
                out.rule("drops it, for it has seen a larger initiator");
            }
            Variant::Plain if takes_part && id < self.me => {
                out.rule("drops it, for it has sent a larger id itself");
            }
            _ if id == self.me => {
                out.rule("has its own id back: it is elected, and says so");
                self.decide(self.me, out);
                out.send(self.successor, Message::Elected { initiator, id });
            }
            _ => {
                out.rule(if id > self.me {
                    "passes the larger id on"
                } else {
                    "puts its own id in place of a smaller one, and passes that on"
                });
                self.take_part(initiator, out);
                out.send(self.successor, Message::Election { initiator, id: id.max(self.me) });
            }
        }
    }

    fn on_elected(&mut self, initiator: ProcessId, id: ProcessId, out: &mut Effects<Self>) {
        if id == self.me {
            out.rule("has its announcement back: everybody knows");
        } else if self.variant == Variant::Suppress && self.has_seen_larger(initiator) {
            out.rule("drops it, for an election by a larger initiator is under way");
        } else {
            out.rule("notes who is elected, and passes it on");
            self.decide(id, out);
            out.send(self.successor, Message::Elected { initiator, id });
        }
    }

    fn has_seen_larger(&self, than: ProcessId) -> bool {
        matches!(self.role, Role::Participant { initiator } if initiator > than)
    }

    /// Where smaller initiators are dropped, whichever comes this far is the largest seen.
    fn take_part(&mut self, initiator: ProcessId, out: &mut Effects<Self>) {
        if self.role == Role::Bystander {
            out.notify(Notice::Electing);
        }
        self.role = Role::Participant { initiator };
    }

    /// What was seen of this election is forgotten, so that a smaller initiator can call the next.
    fn decide(&mut self, leader: ProcessId, out: &mut Effects<Self>) {
        let is_news = self.role != Role::Bystander || self.elected != Some(leader);
        self.role = Role::Bystander;
        self.elected = Some(leader);
        if is_news {
            out.notify(Notice::Elected { leader, term: Term::NONE });
        }
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use conclave_core::View;

    use super::Variant::{Naive, Plain, Suppress};
    use super::*;
    use crate::election::rehearsal::{DELAY, Rehearsal};
    use crate::testing::Deed::{Sent, Told};
    use crate::testing::Probe;

    const VARIANTS: [Variant; 3] = [Plain, Suppress, Naive];
    const GOLDEN: [u32; 6] = [3, 32, 5, 80, 6, 12];

    /// One of the ring 3, 32, 5, 80, 6, 12.
    fn process(me: u32, variant: Variant) -> Probe<ChangRoberts> {
        let view = View::new(GOLDEN.map(ProcessId)).unwrap();
        Probe::founding(me, &view, &variant)
    }

    fn election(initiator: u32, id: u32) -> Message {
        Message::Election { initiator: ProcessId(initiator), id: ProcessId(id) }
    }

    fn elected(initiator: u32, id: u32) -> Message {
        Message::Elected { initiator: ProcessId(initiator), id: ProcessId(id) }
    }

    const fn leads(leader: u32) -> Notice {
        Notice::Elected { leader: ProcessId(leader), term: Term::NONE }
    }

    fn input(message: Message) -> Input<ChangRoberts> {
        Input::Message { from: ProcessId(0), message }
    }

    #[test]
    fn who_calls_sends_its_id_to_its_successor_and_calls_once() {
        for variant in VARIANTS {
            let mut process = process(3, variant);
            let deeds = process.command(Command::Call);
            assert_eq!(deeds, [Told(Notice::Electing), Sent(32, election(3, 3))]);
            assert!(process.ignores(Input::Command(Command::Call)));
        }
    }

    #[test]
    fn a_larger_id_is_passed_on_and_a_smaller_one_replaced() {
        for variant in VARIANTS {
            let larger = process(32, variant).receive(3, election(3, 80));
            assert_eq!(larger, [Told(Notice::Electing), Sent(5, election(3, 80))]);
            let smaller = process(32, variant).receive(3, election(3, 3));
            assert_eq!(smaller, [Told(Notice::Electing), Sent(5, election(3, 32))]);
        }
    }

    #[test]
    fn the_plain_one_drops_smaller_ids_once_it_takes_part_and_never_a_larger_one() {
        let mut process = process(32, Plain);
        process.command(Command::Call);

        assert!(process.ignores(input(election(12, 12))));
        assert_eq!(process.receive(3, election(6, 80)), [Sent(5, election(6, 80))]);
        assert!(process.ignores(input(election(3, 3))));
    }

    #[test]
    fn the_suppressing_one_drops_what_smaller_initiators_began_whatever_its_id() {
        let mut process = process(5, Suppress);
        process.receive(32, election(12, 32));

        assert!(process.ignores(input(election(6, 80))));
        assert!(process.ignores(input(elected(6, 80))), "its announcement too");
        assert_eq!(process.receive(32, election(12, 80)), [Sent(80, election(12, 80))]);
        assert_eq!(process.receive(32, election(80, 80)), [Sent(80, election(80, 80))]);
        assert!(process.ignores(input(election(12, 80))));
    }

    #[test]
    fn the_suppressing_one_forgets_what_it_saw_as_the_announcement_passes() {
        let mut process = process(5, Suppress);
        process.receive(32, election(12, 32));

        assert_eq!(
            process.receive(32, elected(12, 80)),
            [Told(leads(80)), Sent(80, elected(12, 80))]
        );
        let again = process.receive(32, election(3, 32));
        assert_eq!(again, [Told(Notice::Electing), Sent(80, election(3, 32))]);
    }

    #[test]
    fn the_naive_one_replaces_every_smaller_id_every_time() {
        let mut process = process(32, Naive);
        process.command(Command::Call);
        for _ in 0..2 {
            assert_eq!(process.receive(3, election(12, 12)), [Sent(5, election(12, 32))]);
        }
    }

    #[test]
    fn an_id_that_comes_home_is_elected_and_announced() {
        for variant in VARIANTS {
            let mut process = process(80, variant);
            process.receive(5, election(3, 32));

            assert_eq!(
                process.receive(5, election(3, 80)),
                [Told(leads(80)), Sent(6, elected(3, 80))]
            );
            assert!(process.ignores(input(elected(3, 80))), "the lap is over");
        }
    }

    #[test]
    fn an_announcement_is_noted_and_passed_on_and_news_only_once() {
        for variant in VARIANTS {
            let mut process = process(6, variant);
            process.receive(80, election(3, 80));

            assert_eq!(
                process.receive(80, elected(3, 80)),
                [Told(leads(80)), Sent(12, elected(3, 80))]
            );
            assert_eq!(process.receive(80, elected(3, 80)), [Sent(12, elected(3, 80))]);
        }
    }

    #[test]
    fn an_old_announcement_ends_no_new_election_of_its_leader() {
        for variant in VARIANTS {
            let mut process = process(80, variant);
            process.receive(5, election(3, 80));
            process.command(Command::Call);

            assert!(process.ignores(input(elected(3, 80))));
            assert_eq!(
                process.receive(5, election(80, 80)),
                [Told(leads(80)), Sent(6, elected(80, 80))]
            );
        }
    }

    #[test]
    fn everything_comes_from_the_predecessor() {
        let mut process = process(3, Plain);
        assert_eq!(process.waits_for(), [12]);
        process.command(Command::Call);
        assert_eq!(process.waits_for(), [12]);
    }

    #[test]
    fn it_keeps_no_value() {
        let mut process = process(3, Plain);
        assert_eq!(process.command(Command::Read), [Told(Notice::Refused)]);
        assert_eq!(process.command(Command::Write(1)), [Told(Notice::Refused)]);
    }

    #[test]
    fn one_that_comes_back_knows_nothing_and_takes_no_part() {
        let view = View::new(GOLDEN.map(ProcessId)).unwrap();
        let mut process = Probe::<ChangRoberts>::returning(80, &view, &Plain, None);
        assert_eq!(process.began, []);
        let deeds = process.receive(5, election(3, 80));
        assert_eq!(deeds, [Told(leads(80)), Sent(6, elected(3, 80))], "its id did go round");
    }

    // Whole elections.

    fn run(ids: &[u32], initiators: &[u32], variant: Variant) -> Rehearsal<ChangRoberts> {
        let mut run = Rehearsal::of(ids, &[], &variant);
        for &id in initiators {
            run.call(id);
        }
        run.run_to_end();
        run
    }

    #[test]
    fn the_golden_ring_takes_nine_elections_and_six_announcements() {
        for variant in VARIANTS {
            let run = run(&GOLDEN, &[3], variant);
            assert_eq!(run.sent, BTreeMap::from([("election", 9), ("elected", 6)]));
            assert!(run.all_follow(80));
        }
    }

    fn cost(entry: &Entry, measure: Measure, n: u32) -> f64 {
        let cost = entry.costs.iter().find(|cost| cost.measure == measure).unwrap();
        (cost.value)(Size { n: n.into(), k: 0.0 })
    }

    #[test]
    fn best_and_worst_cost_what_the_catalogue_says() {
        for (entry, variant) in [(PLAIN, Plain), (SUPPRESS, Suppress), (NAIVE, Naive)] {
            for n in 2..=64 {
                let ring: Vec<u32> = (1..=n).collect();
                for (initiator, messages, turnaround) in [
                    (n, Measure::ElectionBest, Measure::TurnaroundBest),
                    (1, Measure::ElectionWorst, Measure::TurnaroundWorst),
                ] {
                    let run = run(&ring, &[initiator], variant);
                    assert!(run.all_follow(n));
                    let expected = cost(&entry, messages, n);
                    assert_eq!(run.messages() as f64, expected, "{variant:?}, {n}");
                    let (last, ..) = run.told.last().unwrap();
                    let delays = last.div_duration_f64(DELAY);
                    assert_eq!(delays, cost(&entry, turnaround, n), "{variant:?}, {n}");
                }
            }
        }
    }

    /// All orders of a ring in which 1 comes first: the others are the same rings turned.
    fn rings(n: u32) -> Vec<Vec<u32>> {
        let mut rings = vec![vec![1]];
        for id in 2..=n {
            let put = |ring: &Vec<u32>| {
                let ring = ring.clone();
                (1..=ring.len()).map(move |place| {
                    let mut ring = ring.clone();
                    ring.insert(place, id);
                    ring
                })
            };
            rings = rings.iter().flat_map(put).collect();
        }
        rings
    }

    #[test]
    fn when_all_begin_the_mean_over_all_rings_is_what_the_catalogue_says() {
        for (entry, variant) in [(PLAIN, Plain), (SUPPRESS, Suppress), (NAIVE, Naive)] {
            for n in 2..=6 {
                let (rings, all) = (rings(n), (1..=n).collect::<Vec<_>>());
                let messages: usize =
                    rings.iter().map(|ring| run(ring, &all, variant).messages()).sum();
                let mean = messages as f64 / rings.len() as f64;
                let expected = cost(&entry, Measure::ElectionMean, n);
                assert!((mean - expected).abs() < 1e-9, "{variant:?}, {n}: {mean}, {expected}");
            }
        }
    }

    #[test]
    fn every_set_of_initiators_of_every_ring_of_five_elects_the_largest() {
        for variant in VARIANTS {
            for ring in rings(5) {
                for initiators in 1..32_u32 {
                    let begins = |id: &u32| initiators & (1 << (id - 1)) != 0;
                    let initiators: Vec<u32> = (1..=5).filter(begins).collect();
                    let run = run(&ring, &initiators, variant);
                    assert!(run.all_follow(5), "{variant:?}, {ring:?}, {initiators:?}");
                }
            }
        }
    }

    /// Calls at any times, before, during and after other elections.
    #[test]
    fn elections_that_are_called_one_into_another_all_come_to_their_end() {
        for variant in VARIANTS {
            for seed in 0..2_000_u32 {
                let mut run = Rehearsal::<ChangRoberts>::of(&GOLDEN, &[], &variant);
                let mut x = seed;
                for _ in 0..6 {
                    x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    run.until(run.now + DELAY * ((x >> 8) % 12));
                    run.call(GOLDEN[(x >> 16) as usize % 6]);
                }
                run.run_to_end();
                let followers = run.leaders();
                assert!(followers.values().all(|it| it.is_none_or(|id| id == 80)));
                let undecided = |id: &u32| {
                    let mut told = run.told.iter().filter(|(_, who, _)| who == id);
                    told.next_back().is_some_and(|(.., notice)| *notice == Notice::Electing)
                };
                assert!(!GOLDEN.iter().any(undecided), "{variant:?}, {seed}: {followers:?}");
            }
        }
    }

    #[test]
    fn without_order_a_message_that_overtakes_the_announcement_is_lost_and_its_sender_waits() {
        for variant in [Plain, Suppress] {
            let (mut overtaken, mut late) = (process(3, variant), process(32, variant));
            late.receive(3, election(80, 80));
            overtaken.receive(12, election(80, 80));
            overtaken.receive(12, elected(80, 80));

            assert_eq!(overtaken.command(Command::Call)[1], Sent(32, election(3, 3)));
            assert!(late.ignores(input(election(3, 3))), "it still waits for the announcement");
            late.receive(3, elected(80, 80));
            assert_eq!(overtaken.waits_for(), [12], "for ever");
        }
    }

    #[test]
    fn one_alone_elects_itself_in_silence() {
        for variant in VARIANTS {
            let run = run(&[7], &[7], variant);
            assert_eq!(run.messages(), 0);
            assert!(run.all_follow(7));
        }
    }

    #[test]
    fn a_crash_breaks_the_ring_and_nobody_is_elected() {
        for variant in VARIANTS {
            let mut run = Rehearsal::<ChangRoberts>::of(&GOLDEN, &[5], &variant);
            run.call(3);
            run.run_to_end();
            assert!(run.leaders().values().all(Option::is_none));
        }
    }
}
