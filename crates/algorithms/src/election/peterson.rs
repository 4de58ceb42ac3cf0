//! Peterson; Dolev, Klawe and Rodeh: on a ring with one direction, rounds of local maxima.
//!
//! **Problem.** Each talks to its successor alone. Chang and Roberts' ring may take about N^2/2
//! messages when all begin; it can be done with N log N.
//!
//! **Idea.** Who calls is active, with its own id as its value. In each round every active process
//! sends its value to the next active one, and then the larger of that and of what it heard itself.
//! So each knows the values of the two active ones before it: the one right before it, and the
//! larger of the two. If the one right before it is the largest of the three, it takes that value
//! over and stays active; otherwise it only relays from now on. Of two neighbours at most one
//! stays, so at least half of them go in each round. Who hears its own value has no other active
//! one left: it is elected. One more lap tells the others.
//!
//! **Assumes** that nobody crashes, that no message is lost, and that channels are FIFO: `first`
//! and `second` of one round must not overtake those of another.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `first` | "my value" | to the successor, by the active; relayed by all others |
//! | `second` | "the larger of my value and of the one before me" | the same |
//! | `elected` | "this one is elected" | to the successor, for one lap |
//!
//! **Cost.** At most 2N messages in each of at most floor(log2 N) + 1 rounds, and N for the
//! announcement; with one that calls, 2N in all.
//!
//! **Who is elected** is the last one active. It holds the largest value of those who began, but
//! values move, one active process further with each round: its own id need not be large.
//!
//! **Papers.** G. L. Peterson, *An O(n log n) Unidirectional Algorithm for the Circular Extrema
//! Problem*, ACM TOPLAS 4(4), 1982, the first algorithm; D. Dolev, M. Klawe, M. Rodeh, J.
//! Algorithms 3(3), 1982, found it too. Names: `tid` is `value`, `ntid` is `heard`, what the second
//! message brings is `nntid`. Departures: the last active one is elected, not the owner of the
//! largest value; who did not call relays from the start; the announcement is added.
//!
//! **Why it is safe.** A value that comes back to who sent it has met no other active process.
//! **Live**: the largest value of a round stays, with the active process behind its owner, and
//! there are fewer active ones in each. All of a new election follows the announcement of the last.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::election::{self, Command, Elections, Notice, Term};
use conclave_core::{Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places, Size};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// My value, to the next active process.
    First(ProcessId),
    /// The larger of my value and of the one before me.
    Second(ProcessId),
    /// That one is elected.
    Elected(ProcessId),
}

/// One process on the one-way ring of Peterson.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Peterson {
    me: ProcessId,
    predecessor: ProcessId,
    successor: ProcessId,
    /// Who was elected last, as far as this process knows.
    elected: Option<ProcessId>,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    /// It takes no part.
    Bystander,
    Active {
        /// `tid`: what it sent this round.
        value: ProcessId,
        /// `ntid`: the value of the active process before it, if that has come.
        heard: Option<ProcessId>,
    },
    /// It passes everything on, until it hears who is elected.
    Relay,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "peterson",
    title: "Peterson 1982 (Dolev-Klawe-Rodeh 1982)",
    citation: "G. L. Peterson, An O(n log n) Unidirectional Algorithm for the Circular Extrema Problem, \
               ACM TOPLAS 4(4), 1982; D. Dolev, M. Klawe, M. Rodeh, J. Algorithms 3(3), 1982",
    summary: "on a one-way ring, rounds in which only local maxima stay, and the last one leads",
    family: <Elections as Family>::NAME,
    promises: election::AGREEMENT,
    needs: Needs { fifo: true, ..Needs::NOTHING },
    settings: &[],
    crash: "any crash breaks the ring: no election comes to its end",
    problems: "need not elect the largest; any crash breaks the ring",
    crash_example: Some(CrashExample {
        matters: "5@1.5ms",
        why: "but 5 crashed at 1.5 ms",
        passes: "5@50ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[Bounds::of(5, 1), Bounds::of(3, 2), Bounds::of(3, 1).unordered().refuted()],
    costs: &[
        Cost::exactly(Measure::ElectionBest, "2N, one calls", |size| 2.0 * size.n),
        Cost::exactly(Measure::ElectionWorst, "2N, one calls", |size| 2.0 * size.n),
        Cost::quoted(Measure::ElectionMean, "at most 2N floor(log2 N) + 3N", most),
        Cost::at_most(Measure::ElectionMost, "2N floor(log2 N) + 3N", most),
        Cost::exactly(Measure::TurnaroundBest, "2N-1", |size| 2.0 * size.n - 1.0),
        Cost::exactly(Measure::TurnaroundWorst, "2N-1", |size| 2.0 * size.n - 1.0),
    ],
    remarks: &[],
};

/// 2N in each round, and the announcement.
fn most(size: Size) -> f64 {
    let (mut rounds, mut first) = (1.0, 2.0);
    while first <= size.n {
        rounds += 1.0;
        first *= 2.0;
    }
    2.0 * size.n * rounds + size.n
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::elect("first"), Kind::elect("second"), Kind::elect("elected")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::First(_) => 0,
            Message::Second(_) => 1,
            Message::Elected(_) => 2,
        }
    }
}

impl Protocol for Peterson {
    type Family = Elections;
    type Config = ();
    type Message = Message;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        Self {
            me: start.me,
            predecessor: start.view.predecessor(start.me),
            successor: start.view.successor(start.me),
            elected: None,
            role: Role::Bystander,
        }
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.role, input) {
            (Role::Bystander, Input::Command(Command::Call)) => {
                out.rule("calls an election: it is active, with its own id as its value");
                out.notify(Notice::Electing);
                self.next_round(self.me, out);
            }
            (
                Role::Active { value, heard: None },
                Input::Message { message: Message::First(ntid), .. },
            ) => self.on_first(value, ntid, out),
            (
                Role::Active { value, heard: Some(ntid) },
                Input::Message { message: Message::Second(nntid), .. },
            ) => self.on_second(value, ntid, nntid, out),
            (_, Input::Message { message: Message::Elected(leader), .. }) => {
                self.on_elected(leader, out);
            }
            (Role::Bystander | Role::Relay, Input::Message { message, .. }) => {
                self.relay(message, out);
            }
            (_, Input::Command(Command::Read | Command::Write(_))) => {
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

impl Peterson {
    fn next_round(&mut self, value: ProcessId, out: &mut Effects<Self>) {
        self.role = Role::Active { value, heard: None };
        out.send(self.successor, Message::First(value));
    }

    fn on_first(&mut self, value: ProcessId, ntid: ProcessId, out: &mut Effects<Self>) {
        if ntid == value {
            out.rule("has its own value back, so no other is active: it is elected, and says so");
            self.decide(self.me, out);
            return out.send(self.successor, Message::Elected(self.me));
        }
        out.rule("hears the value before it, and sends the larger of the two");
        self.role = Role::Active { value, heard: Some(ntid) };
        out.send(self.successor, Message::Second(value.max(ntid)));
    }

    fn on_second(
        &mut self,
        value: ProcessId,
        ntid: ProcessId,
        nntid: ProcessId,
        out: &mut Effects<Self>,
    ) {
        if ntid >= value.max(nntid) {
            out.rule(
                "finds the value before it a local maximum: it takes it over into a new round",
            );
            self.next_round(ntid, out);
        } else {
            out.rule("finds the value before it no local maximum: it relays from now on");
            self.role = Role::Relay;
        }
    }

    fn relay(&mut self, message: Message, out: &mut Effects<Self>) {
        out.rule("relays it");
        if self.role == Role::Bystander {
            out.notify(Notice::Electing);
        }
        self.role = Role::Relay;
        out.send(self.successor, message);
    }

    fn on_elected(&mut self, leader: ProcessId, out: &mut Effects<Self>) {
        if leader == self.me {
            return out.rule("has its announcement back: everybody knows");
        }
        out.rule("notes who is elected, and passes it on");
        self.decide(leader, out);
        out.send(self.successor, Message::Elected(leader));
    }

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
    use conclave_core::View;

    use super::Message::{Elected, First, Second};
    use super::*;
    use crate::election::rehearsal::{DELAY, Rehearsal, rings};
    use crate::testing::Deed::{Sent, Told};
    use crate::testing::Probe;

    /// One of the ring 3, 32, 5, 80, 6, 12.
    const RING: [u32; 6] = [3, 32, 5, 80, 6, 12];

    fn process(me: u32) -> Probe<Peterson> {
        Probe::founding(me, &View::new(RING.map(ProcessId)).unwrap(), &())
    }

    fn first(value: u32) -> Message {
        First(ProcessId(value))
    }

    fn second(value: u32) -> Message {
        Second(ProcessId(value))
    }

    const fn leads(leader: u32) -> Notice {
        Notice::Elected { leader: ProcessId(leader), term: Term::NONE }
    }

    #[test]
    fn who_calls_is_active_and_sends_its_id_once() {
        let mut process = process(3);
        let deeds = process.command(Command::Call);
        assert_eq!(deeds, [Told(Notice::Electing), Sent(32, first(3))]);
        assert!(process.ignores(Input::Command(Command::Call)));
    }

    #[test]
    fn who_hears_the_value_before_it_sends_the_larger_of_the_two() {
        for (value, larger) in [(12, 32), (80, 80)] {
            let mut process = process(32);
            process.command(Command::Call);
            assert_eq!(process.receive(3, first(value)), [Sent(5, second(larger))]);
        }
    }

    #[test]
    fn who_finds_a_local_maximum_before_it_takes_the_value_over() {
        let mut process = process(32);
        process.command(Command::Call);
        process.receive(3, first(80));
        assert_eq!(process.receive(3, second(80)), [Sent(5, first(80))], "the next round");
        assert_eq!(process.receive(3, first(12)), [Sent(5, second(80))]);
    }

    #[test]
    fn who_finds_none_relays_from_now_on() {
        for (heard, before_that) in [(12, 12), (33, 80)] {
            let mut process = process(32);
            process.command(Command::Call);
            process.receive(3, first(heard));
            assert_eq!(process.receive(3, second(before_that)), []);
            assert_eq!(process.receive(3, first(7)), [Sent(5, first(7))]);
            assert_eq!(process.receive(3, second(9)), [Sent(5, second(9))]);
            assert!(process.ignores(Input::Command(Command::Call)), "it will be told");
        }
    }

    #[test]
    fn who_did_not_call_relays() {
        let mut process = process(5);
        let deeds = process.receive(32, first(3));
        assert_eq!(deeds, [Told(Notice::Electing), Sent(80, first(3))]);
        assert_eq!(process.receive(32, second(3)), [Sent(80, second(3))]);
    }

    #[test]
    fn who_has_its_own_value_back_is_elected_though_its_id_may_be_smaller() {
        let mut process = process(6);
        process.command(Command::Call);
        process.receive(80, first(80));
        process.receive(80, second(80));
        let deeds = process.receive(80, first(80));
        assert_eq!(deeds, [Told(leads(6)), Sent(12, Elected(ProcessId(6)))]);
        assert!(
            process.ignores(Input::Message { from: ProcessId(80), message: Elected(ProcessId(6)) })
        );
    }

    #[test]
    fn the_announcement_is_noted_and_passed_on() {
        let mut process = process(5);
        process.receive(32, first(3));
        let deeds = process.receive(32, Elected(ProcessId(3)));
        assert_eq!(deeds, [Told(leads(3)), Sent(80, Elected(ProcessId(3)))]);
        assert_eq!(process.command(Command::Call)[1], Sent(80, first(5)), "the next election");
    }

    #[test]
    fn it_keeps_no_value_and_waits_for_its_predecessor() {
        let mut process = process(3);
        assert_eq!(process.command(Command::Read), [Told(Notice::Refused)]);
        assert_eq!(process.command(Command::Write(1)), [Told(Notice::Refused)]);
        assert_eq!(process.waits_for(), [12]);
    }

    #[test]
    fn one_that_comes_back_knows_nothing_and_takes_no_part() {
        let view = View::new(RING.map(ProcessId)).unwrap();
        assert_eq!(Probe::<Peterson>::returning(80, &view, &(), None).began, []);
    }

    // Whole elections.

    fn run(ids: &[u32], callers: &[u32]) -> Rehearsal<Peterson> {
        let mut run = Rehearsal::of(ids, &[], &());
        callers.iter().for_each(|&id| run.call(id));
        run.run_to_end();
        run
    }

    /// Whom all follow.
    #[track_caller]
    fn leader(run: &Rehearsal<Peterson>) -> u32 {
        let leaders = run.leaders();
        let leader = leaders.values().next().copied().flatten().expect("one is elected");
        assert!(run.all_follow(leader), "{leaders:?}");
        leader
    }

    #[test]
    fn of_two_the_one_behind_the_larger_leads_and_of_six_one_further_on() {
        assert_eq!(leader(&run(&[1, 2], &[1, 2])), 1);
        assert_eq!(leader(&run(&RING, &RING)), 3, "80 moved on to 6, and then to 3");
    }

    #[test]
    fn one_that_calls_alone_leads_after_two_laps() {
        for n in 1..=64_u32 {
            let run = run(&(1..=n).collect::<Vec<_>>(), &[n.div_ceil(2)]);
            assert_eq!(leader(&run), n.div_ceil(2));
            let expected = if n == 1 { 0 } else { 2 * n as usize };
            assert_eq!(run.messages(), expected);
            let (last, ..) = run.told.last().unwrap();
            assert!(n == 1 || *last == DELAY * (2 * n - 1));
        }
    }

    #[test]
    fn no_election_takes_more_messages_than_the_bound_up_to_256() {
        for ring in rings() {
            let n = ring.len();
            let few: Vec<u32> = ring.iter().copied().filter(|id| id % 7 == 1).collect();
            for callers in [&ring, &few] {
                let run = run(&ring, callers);
                leader(&run);
                let bound = most(Size { n: n as f64, k: 0.0 });
                assert!(run.messages() as f64 <= bound, "{n}: {} of {bound}", run.messages());
            }
        }
    }

    #[test]
    fn elections_that_are_called_one_into_another_all_come_to_their_end() {
        for seed in 0..2_000_u32 {
            let mut run = Rehearsal::<Peterson>::of(&RING, &[], &());
            let mut x = seed;
            for _ in 0..6 {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                run.until(run.now + DELAY * ((x >> 8) % 12));
                run.call(RING[(x >> 16) as usize % 6]);
            }
            run.run_to_end();
            leader(&run);
        }
    }

    #[test]
    fn a_crash_breaks_the_ring_and_nobody_is_elected() {
        let mut run = Rehearsal::<Peterson>::of(&RING, &[5], &());
        run.call(3);
        run.run_to_end();
        assert!(run.leaders().values().all(Option::is_none));
    }
}
