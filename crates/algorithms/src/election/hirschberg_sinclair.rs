//! Hirschberg and Sinclair: on a ring with two directions, ask twice as far each time.
//!
//! **Problem.** Each talks to its two neighbours. They must agree on the one with the largest id,
//! and an id that cannot win should not travel far.
//!
//! **Idea.** A candidate sends its id both ways, as far as 2^k in phase k. Whoever has a larger id
//! swallows it; all others pass it on, and where its way ends it is sent back as a reply. With both
//! replies the candidate is the largest within 2^k on either side, and asks twice as far. So only
//! few ask far: of any 2^k + 1 neighbours at most one starts the phase after k. An id that comes
//! home all the way round has met nobody larger: its owner is elected. One more lap tells the
//! others.
//!
//! **Assumes** that nobody crashes, that no message is lost, and that channels are FIFO. Without
//! order a probe of the next election can overtake the announcement of the last one, be swallowed
//! by one that still takes part in it, and who sent it waits for ever.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `probe` | "is anybody larger, so many hops this way?" | both ways, on beginning a phase or passing on |
//! | `reply` | "nobody is, so far" | back, where the way of a probe ends |
//! | `elected` | "this one is elected" | to the successor, for one lap |
//!
//! **Cost.** At most 8N(1 + ceil(log2 N)), and N for the announcement. If only the largest calls,
//! with K = ceil(log2 N): 4(2^K - 1) in the phases before the last, 2N in the last, and N.
//!
//! **Paper.** D. S. Hirschberg and J. B. Sinclair, *Decentralized Extrema-Finding in Circular
//! Configurations of Processors*, CACM 23(11), 1980. Departures: who did not call and is asked by a
//! smaller one begins itself, so that the largest wins whoever calls; a candidate waits until its
//! id came home from both sides, so that nothing of its election is still on the way behind it; the
//! announcement is added. And a candidate that passes on a larger id does not give up for that:
//! what passes may be a late probe of an election that is over, and nobody would tell it of
//! another.
//!
//! **Why it is safe.** Only its owner puts an id on the way, and everybody larger swallows it. So
//! an id that is back has met nobody larger. **Live**: a probe is swallowed only by a larger
//! candidate, or one that becomes a candidate by it, and that of the largest is not. Its
//! announcement passes everybody; and by order, what it has passed already is a bystander before
//! the next probe comes. **It ends**: no phase is as far as 2N.

use alloc::vec::Vec;

use conclave_core::election::{self, Command, Elections, Notice, Term};
use conclave_core::{Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start};

use crate::catalogue::{Bounds, Cost, CrashExample, Entry, Measure, Needs, Places, Size};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Is anybody larger?
    Probe {
        /// The id of the process that asks.
        id: ProcessId,
        /// In which direction it goes.
        way: Way,
        /// How many hops it goes on, this one included; at least 1.
        hops: u32,
    },
    /// Nobody is, so far.
    Reply {
        /// Whose probe this answers.
        id: ProcessId,
        /// In which direction it goes, back to its owner.
        way: Way,
    },
    /// That one is elected.
    Elected(ProcessId),
}

/// A direction on the ring. With two members the neighbours on both sides are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Way {
    /// To the successor.
    Onward,
    /// To the predecessor.
    Back,
}

/// One process on the two-way ring of Hirschberg and Sinclair.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct HirschbergSinclair {
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
    /// It takes no part, but for passing on.
    Bystander,
    /// It asks, until it hears who is elected.
    Candidate {
        /// How far it asks in this phase: 2^k.
        distance: u32,
        /// From how many sides it has heard in this phase; 0 or 1.
        sides: u8,
    },
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "hirschberg-sinclair",
    title: "Hirschberg-Sinclair 1980",
    citation: "D. S. Hirschberg, J. B. Sinclair, Decentralized Extrema-Finding in Circular \
               Configurations of Processors, CACM 23(11), 1980",
    summary: "on a two-way ring, ask twice as far each time; who hears of nobody larger leads",
    family: <Elections as Family>::NAME,
    promises: election::LARGEST,
    needs: Needs { fifo: true, ..Needs::NOTHING },
    settings: &[],
    crash: "any crash breaks the ring: no election comes to its end",
    problems: "needs a ring that goes both ways; any crash breaks it",
    crash_example: Some(CrashExample {
        matters: "9@0.5ms",
        why: "but 9 crashed at 0.5 ms",
        passes: "5@200ms",
    }),
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[Bounds::of(4, 1), Bounds::of(3, 2), Bounds::of(4, 1).unordered().refuted()],
    costs: &[
        Cost::exactly(Measure::ElectionBest, "4(2^ceil(log2 N) - 1) + 3N", |size| {
            4.0 * (power_above(size) - 1.0) + 3.0 * size.n
        }),
        Cost::quoted(Measure::ElectionMean, "at most 8N(1 + ceil(log2 N)) + N", most),
        Cost::at_most(Measure::ElectionMost, "8N(1 + ceil(log2 N)) + N", most),
        Cost::exactly(Measure::TurnaroundBest, "2(2^ceil(log2 N) - 1) + 2N-1", |size| {
            2.0 * (power_above(size) - 1.0) + 2.0 * size.n - 1.0
        }),
    ],
    remarks: &[],
};

/// The least power of two that is not below N: 2^ceil(log2 N).
fn power_above(size: Size) -> f64 {
    let mut power = 1.0;
    while power < size.n {
        power *= 2.0;
    }
    power
}

/// The bound of the paper, and the announcement.
fn most(size: Size) -> f64 {
    let (mut phases, mut power) = (1.0, 1.0);
    while power < size.n {
        phases += 1.0;
        power *= 2.0;
    }
    8.0 * size.n * phases + size.n
}

impl Way {
    const fn reversed(self) -> Self {
        match self {
            Way::Onward => Way::Back,
            Way::Back => Way::Onward,
        }
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::elect("probe"), Kind::elect("reply"), Kind::elect("elected")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Probe { .. } => 0,
            Message::Reply { .. } => 1,
            Message::Elected(_) => 2,
        }
    }
}

impl Protocol for HirschbergSinclair {
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
        match input {
            Input::Command(Command::Call) if self.role == Role::Bystander => {
                out.rule("calls an election: it asks its neighbours on both sides");
                self.begin(out);
            }
            Input::Message { message: Message::Probe { id, way, hops }, .. } => {
                self.on_probe(id, way, hops, out);
            }
            Input::Message { message: Message::Reply { id, way }, .. } => {
                self.on_reply(id, way, out);
            }
            Input::Message { message: Message::Elected(leader), .. } => {
                self.on_elected(leader, out);
            }
            Input::Command(Command::Read | Command::Write(_)) => {
                out.rule("keeps no value: it refuses");
                out.notify(Notice::Refused);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match self.role {
            Role::Candidate { sides: 2.., .. } => Err("it has heard from both sides and waits"),
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self.role {
            Role::Bystander => Vec::new(),
            Role::Candidate { .. } => [self.predecessor, self.successor].into(),
        }
    }
}

impl HirschbergSinclair {
    fn neighbour(&self, way: Way) -> ProcessId {
        match way {
            Way::Onward => self.successor,
            Way::Back => self.predecessor,
        }
    }

    fn begin(&mut self, out: &mut Effects<Self>) {
        out.notify(Notice::Electing);
        self.ask(1, out);
    }

    /// A phase: as far as that, on both sides.
    fn ask(&mut self, distance: u32, out: &mut Effects<Self>) {
        self.role = Role::Candidate { distance, sides: 0 };
        for way in [Way::Onward, Way::Back] {
            out.send(self.neighbour(way), Message::Probe { id: self.me, way, hops: distance });
        }
    }

    fn on_probe(&mut self, id: ProcessId, way: Way, hops: u32, out: &mut Effects<Self>) {
        if id == self.me {
            return self.on_own_probe(out);
        }
        if id < self.me {
            if self.role == Role::Bystander {
                out.rule("is asked by a smaller one: it swallows that, and asks itself");
                return self.begin(out);
            }
            return out.rule("swallows the probe of a smaller one");
        }
        if hops > 1 {
            out.rule("is smaller, and passes the probe on");
            out.send(self.neighbour(way), Message::Probe { id, way, hops: hops - 1 });
        } else {
            out.rule("is smaller, and the last to be asked: it replies");
            let way = way.reversed();
            out.send(self.neighbour(way), Message::Reply { id, way });
        }
    }

    /// It went all the way round. When both have, nothing of this election is on its way any more.
    fn on_own_probe(&mut self, out: &mut Effects<Self>) {
        match &mut self.role {
            Role::Candidate { sides: sides @ 0, .. } => {
                out.rule("has its probe back from one side, and waits for the other");
                *sides = 1;
            }
            Role::Candidate { .. } => {
                out.rule("has its probe back all the way round: it is elected, and says so");
                self.decide(self.me, out);
                out.send(self.successor, Message::Elected(self.me));
            }
            Role::Bystander => out.rule("has no use for this"),
        }
    }

    fn on_reply(&mut self, id: ProcessId, way: Way, out: &mut Effects<Self>) {
        if id != self.me {
            out.rule("passes the reply on");
            return out.send(self.neighbour(way), Message::Reply { id, way });
        }
        match &mut self.role {
            Role::Candidate { sides: sides @ 0, .. } => {
                out.rule("is the largest on one side, and waits for the other");
                *sides = 1;
            }
            &mut Role::Candidate { distance, .. } => {
                out.rule("is the largest on both sides: it asks twice as far");
                self.ask(distance.saturating_mul(2), out);
            }
            Role::Bystander => out.rule("has heard who is elected meanwhile"),
        }
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

    use super::Way::{Back, Onward};
    use super::*;
    use crate::election::rehearsal::{DELAY, Rehearsal, rings};
    use crate::testing::Deed::{Sent, Told};
    use crate::testing::Probe;

    /// One of the ring 3, 32, 5, 80, 6, 12.
    const RING: [u32; 6] = [3, 32, 5, 80, 6, 12];

    fn process(me: u32) -> Probe<HirschbergSinclair> {
        Probe::founding(me, &View::new(RING.map(ProcessId)).unwrap(), &())
    }

    fn probe(id: u32, way: Way, hops: u32) -> Message {
        Message::Probe { id: ProcessId(id), way, hops }
    }

    fn reply(id: u32, way: Way) -> Message {
        Message::Reply { id: ProcessId(id), way }
    }

    fn elected(id: u32) -> Message {
        Message::Elected(ProcessId(id))
    }

    const fn leads(leader: u32) -> Notice {
        Notice::Elected { leader: ProcessId(leader), term: Term::NONE }
    }

    fn input(message: Message) -> Input<HirschbergSinclair> {
        Input::Message { from: ProcessId(0), message }
    }

    #[test]
    fn who_calls_asks_one_hop_both_ways_and_calls_once() {
        let mut process = process(5);
        let deeds = process.command(Command::Call);
        let asks = [Sent(80, probe(5, Onward, 1)), Sent(32, probe(5, Back, 1))];
        assert_eq!(deeds[0], Told(Notice::Electing));
        assert_eq!(deeds[1..], asks);
        assert!(process.ignores(Input::Command(Command::Call)));
    }

    #[test]
    fn with_both_replies_it_asks_twice_as_far() {
        let mut process = process(80);
        process.command(Command::Call);
        assert_eq!(process.receive(6, reply(80, Back)), []);
        let asks = [Sent(6, probe(80, Onward, 2)), Sent(5, probe(80, Back, 2))];
        assert_eq!(process.receive(5, reply(80, Onward)), asks);
    }

    #[test]
    fn a_larger_id_is_passed_on_and_answered_where_its_way_ends() {
        let mut process = process(5);
        assert_eq!(process.receive(32, probe(32, Onward, 2)), [Sent(80, probe(32, Onward, 1))]);
        assert_eq!(process.receive(32, probe(32, Onward, 1)), [Sent(32, reply(32, Back))]);
        assert_eq!(process.receive(80, probe(80, Back, 1)), [Sent(80, reply(80, Onward))]);
    }

    #[test]
    fn a_smaller_id_is_swallowed_and_wakes_who_took_no_part() {
        let mut process = process(32);
        assert_eq!(process.receive(3, probe(3, Onward, 1)).len(), 3, "it asks itself");
        assert!(process.ignores(input(probe(5, Back, 1))));
    }

    #[test]
    fn only_its_own_probes_end_a_candidacy() {
        let mut process = process(32);
        process.command(Command::Call);
        process.receive(3, reply(32, Onward));
        process.receive(5, probe(80, Back, 2));
        assert_eq!(process.receive(5, reply(32, Back)).len(), 2, "it asks on");
        process.receive(3, elected(80));
        assert!(process.ignores(input(reply(32, Back))));
    }

    #[test]
    fn replies_to_others_are_passed_on() {
        assert_eq!(process(5).receive(80, reply(32, Back)), [Sent(32, reply(32, Back))]);
        assert_eq!(process(5).receive(32, reply(80, Onward)), [Sent(80, reply(80, Onward))]);
    }

    #[test]
    fn who_has_its_probe_back_from_both_sides_is_elected() {
        let mut process = process(80);
        process.command(Command::Call);
        assert_eq!(process.receive(5, probe(80, Onward, 3)), []);
        assert_eq!(process.receive(6, probe(80, Back, 3)), [Told(leads(80)), Sent(6, elected(80))]);
        assert!(process.ignores(input(elected(80))), "its announcement, back");
        assert!(process.ignores(input(probe(80, Back, 3))));
    }

    #[test]
    fn the_announcement_is_noted_and_passed_on() {
        let mut process = process(5);
        assert_eq!(process.receive(32, elected(80)), [Told(leads(80)), Sent(80, elected(80))]);
        assert_eq!(process.command(Command::Call).len(), 3, "the next election");
    }

    #[test]
    fn it_keeps_no_value_and_waits_for_both_neighbours() {
        let mut process = process(3);
        assert_eq!(process.command(Command::Read), [Told(Notice::Refused)]);
        assert_eq!(process.command(Command::Write(1)), [Told(Notice::Refused)]);
        assert!(process.waits_for().is_empty());
        process.command(Command::Call);
        assert_eq!(process.waits_for(), [12, 32]);
    }

    #[test]
    fn one_that_comes_back_knows_nothing_and_takes_no_part() {
        let view = View::new(RING.map(ProcessId)).unwrap();
        assert_eq!(Probe::<HirschbergSinclair>::returning(80, &view, &(), None).began, []);
    }

    // Whole elections.

    fn run(ids: &[u32], callers: &[u32]) -> Rehearsal<HirschbergSinclair> {
        let mut run = Rehearsal::of(ids, &[], &());
        callers.iter().for_each(|&id| run.call(id));
        run.run_to_end();
        run
    }

    #[test]
    fn if_the_largest_calls_alone_it_costs_what_the_catalogue_says() {
        for n in 2..=64_u32 {
            let run = run(&(1..=n).collect::<Vec<_>>(), &[n]);
            assert!(run.all_follow(n));
            let size = Size { n: n.into(), k: 0.0 };
            let cost = |measure| {
                let cost = ENTRY.costs.iter().find(|cost| cost.measure == measure).unwrap();
                (cost.value)(size)
            };
            assert_eq!(run.messages() as f64, cost(Measure::ElectionBest), "{n}");
            let (last, ..) = run.told.last().unwrap();
            assert_eq!(last.div_duration_f64(DELAY), cost(Measure::TurnaroundBest), "{n}");
        }
    }

    #[test]
    fn no_election_takes_more_messages_than_the_bound_up_to_256() {
        for ring in rings() {
            let n = ring.len();
            let few: Vec<u32> = ring.iter().copied().filter(|id| id % 7 == 1).collect();
            for callers in [&ring, &few] {
                let run = run(&ring, callers);
                assert!(run.all_follow(u32::try_from(n).unwrap()), "{n}");
                let bound = most(Size { n: n as f64, k: 0.0 });
                assert!(run.messages() as f64 <= bound, "{n}: {} of {bound}", run.messages());
            }
        }
    }

    #[test]
    fn elections_that_are_called_one_into_another_all_come_to_their_end() {
        for seed in 0..2_000_u32 {
            let mut run = Rehearsal::<HirschbergSinclair>::of(&RING, &[], &());
            let mut x = seed;
            for _ in 0..6 {
                x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                run.until(run.now + DELAY * ((x >> 8) % 20));
                run.call(RING[(x >> 16) as usize % 6]);
            }
            run.run_to_end();
            assert!(run.all_follow(80), "{seed}: {:?}", run.leaders());
        }
    }

    #[test]
    fn one_alone_elects_itself_in_silence() {
        let run = run(&[7], &[7]);
        assert_eq!(run.messages(), 0);
        assert!(run.all_follow(7));
    }

    #[test]
    fn a_crash_breaks_the_ring_and_nobody_is_elected() {
        let mut run = Rehearsal::<HirschbergSinclair>::of(&RING, &[5], &());
        run.call(3);
        run.run_to_end();
        assert!(run.leaders().values().all(Option::is_none));
    }
}
