//! The bully: who finds everybody above it silent leads, and says so to everybody below.
//!
//! **Problem.** The coordinator is dead. All others know each other, and must agree on the largest
//! of those who live, even if more of them die meanwhile or the dead come back.
//!
//! **Idea.** Who notices asks all larger ones. If none of them answers in time it is the largest
//! that lives, and tells all smaller ones. If one answers, that one takes over: it asks those above
//! it in its turn, and the announcement of the largest is all there is to wait for.
//!
//! **Assumes** a synchronous system: every message arrives within D, and the members know D. Ids
//! are never reused by another process, and nobody comes back during an election. Channels need not
//! be FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `election` | "are you there?" | to all larger ones, on calling |
//! | `answer` | "I am, and take over" | to who asked, always and at once |
//! | `coordinator` | "I lead" | to all smaller ones, when nobody larger is there |
//!
//! | timer | runs out | means |
//! | --- | --- | --- |
//! | `Answer` (T, by default 2D) | after the call | nobody larger lives |
//! | `Settled` (T) | after an announcement | elections that crossed it have arrived |
//! | `Announcement` (T', by default 5D) | after an answer | who answered has died: call again |
//!
//! **Cost**, with the largest dead. Best, the second largest notices: one election to the dead and
//! N-2 announcements; turnaround T + 1. Worst, the smallest notices, and everybody asks everybody
//! above: N(N-1)/2 elections, (N-1)(N-2)/2 answers and N-2 announcements.
//!
//! **Variant.** With [`Config::skip_dead`], who is told by its application that the coordinator is
//! dead does not ask that one. Then the second largest need not ask, nor wait: N-2 messages,
//! turnaround 1. That is safe only if the application notices no sooner than D after the death, so
//! that no announcement of the dead is still on its way. An election that a message or a timer
//! calls asks everybody: nobody said that the coordinator is dead.
//!
//! **Source.** H. Garcia-Molina, *Elections in a Distributed Computing System*, IEEE Transactions
//! on Computers C-31(1), 1982, in the form of the textbooks.
//!
//! **Settling.** For T = 2D after an announcement, elections are answered and not followed by one's
//! own. Whoever asks so late asked before the announcement reached it: within D it has that, too,
//! and its question comes within 2D. Without this rule, where messages take different times, every
//! election that an announcement crosses begins another one, and those cross it as well: with 16
//! processes tens of thousands of messages, with 27 more than anybody counted. Whoever asks because
//! the new leader died at once is answered, hears no announcement, and calls again after T'.
//!
//! **Correction.** An election message is always answered, also by one that is calling already. One
//! copy of the rules answers only on calling; then a process that asks second takes everybody above
//! it for dead.
//!
//! **Why it is safe.** Let q announce itself because T = 2D ran out after it asked at s. A larger
//! process that was up when the question arrived, by s + D, would have answered by s + 2D. So all
//! larger ones were dead by then, and q is the largest unless one comes back, which announces
//! itself. The announcements of a leader that died come before those of its successor q: it sent
//! them before it died, so before s + D, and they arrived before s + 2D, when q's left. **Live**:
//! who answers an election calls one itself, so the largest that lives announces itself within 4D
//! of any call; if it dies before, T' runs out and there is one less.
//!
//! **How it breaks**, in three ways, each with two leaders at once:
//!
//! 1. T < 2D: an answer comes after T, and who asked leads although the larger one lives.
//! 2. The system is not synchronous: the same, with any T.
//! 3. An id is reused, or its process comes back, during an election. With the largest id it leads
//!    as it starts. An announcement of who led in between is still on its way, and those whom it
//!    reaches last follow that one. (The rule is kept as the textbook has it: whoever announces is
//!    believed, also one that is smaller.)

use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::election::{self, Command, Elections, Notice, Term};
use conclave_core::{
    Arrival, Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Start, View,
};

use crate::catalogue::{
    Bounds, Cost, Document, Entry, Measure, Needs, Places, Remark, Setting, Timing,
};

/// What processes say to each other. The sender is the id.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Are you there?
    Election,
    /// I am, and take over.
    Answer,
    /// I lead: to all with smaller ids.
    Coordinator,
}

/// The timers of the bully.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// T: no answer will come.
    Answer,
    /// T': no announcement will come.
    Announcement,
    /// T after an announcement: all elections that it crossed have arrived.
    Settled,
}

/// What the members agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// T: how long an answer is waited for; 2D where D is known.
    pub answer: Duration,
    /// T': how long the announcement is waited for, after an answer.
    pub announcement: Duration,
    /// Whether who is told that the coordinator is dead does not ask that one.
    pub skip_dead: bool,
}

/// One process of the bully algorithm.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bully {
    me: ProcessId,
    view: View,
    #[cfg_attr(feature = "serde", serde(skip))]
    config: Config,
    /// Who leads, as far as this process knows.
    elected: Option<ProcessId>,
    /// Whether an announcement was made or heard less than T ago; `Timer::Settled` is set.
    is_fresh: bool,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    /// No election of its own is under way.
    Bystander,
    /// It asked all larger ones; `Timer::Answer` is set.
    Asking,
    /// A larger one lives and takes over; `Timer::Announcement` is set.
    Yielding,
}

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "bully",
    title: "Bully (Garcia-Molina 1982)",
    citation: "H. Garcia-Molina, Elections in a Distributed Computing System, IEEE Transactions \
               on Computers C-31(1), 1982",
    summary: "ask all larger ones; if none answers in time, lead, and tell all smaller ones",
    family: <Elections as Family>::NAME,
    promises: election::LARGEST,
    needs: Needs { synchrony: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Answer, Setting::Announcement, Setting::SkipDead],
    crash: "the largest that lives is elected; who was in mid-election with the dead calls again",
    problems: "N^2 messages at worst; two leaders if a message takes \
               longer than D, or an id comes back to another",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 1).sync(1),
        Bounds::of(3, 1).sync(1).crashes(1),
        Bounds::of(3, 1).sync(1).crashes(1).lossy().refuted(),
        Bounds::of(3, 1).sync(1).crashes(1).returns(1).refuted(),
        Bounds::of(4, 1).by(2).sync(1),
        Bounds::of(4, 1).by(3).sync(1).large(),
        Bounds::of(4, 1).sync(1).beyond(),
        Bounds::of(2, 1).refuted(),
    ],
    costs: &[
        Cost::exactly(Measure::ElectionBest, "N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::ElectionBestSkipping, "N-2", |size| size.n - 2.0),
        Cost::exactly(Measure::ElectionWorst, "N(N-1)/2 + (N-1)(N-2)/2 + N-2", |size| {
            let (elections, answers) = (size.n * (size.n - 1.0), (size.n - 1.0) * (size.n - 2.0));
            (elections + answers) / 2.0 + size.n - 2.0
        }),
        // With two processes there is nobody left to tell.
        Cost::exactly(Measure::TurnaroundBest, "T+1 if N > 2", |size| {
            2.0 + (size.n - 2.0).min(1.0)
        }),
        Cost::exactly(Measure::TurnaroundBestSkipping, "1 if N > 2", |size| {
            (size.n - 2.0).min(1.0)
        }),
    ],
    remarks: &[
        Remark::differs(
            Document::MutexAndElection,
            Measure::ElectionBest,
            "N-2",
            "does not ask the one that is known to be dead",
        ),
        Remark::agrees(Document::MutexAndElection, Measure::ElectionBestSkipping, "N-2"),
        Remark::agrees(Document::MutexAndElection, Measure::ElectionWorst, "O(N^2)"),
        Remark::differs(
            Document::MutexAndElection,
            Measure::TurnaroundBest,
            "2 rounds",
            "a round for the question, whose answer must be waited for: T = 2, and 1 to tell",
        ),
        Remark::agrees(Document::WeekOne, Measure::ElectionBest, "O(N)"),
        Remark::differs(
            Document::WeekOne,
            Measure::TurnaroundBest,
            "1",
            "does not ask the one that is known to be dead",
        ),
        Remark::agrees(Document::WeekOne, Measure::TurnaroundBestSkipping, "1"),
        Remark::agrees(Document::WeekOne, Measure::ElectionWorst, "O(N^2)"),
    ],
};

impl Config {
    /// Its times, of those that all agreed on.
    pub fn new(timing: &Timing) -> Self {
        Self {
            answer: timing.answer(),
            announcement: timing.announcement(),
            skip_dead: timing.skip_dead,
        }
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] =
        &[Kind::elect("election"), Kind::elect("answer"), Kind::elect("coordinator")];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Election => 0,
            Message::Answer => 1,
            Message::Coordinator => 2,
        }
    }
}

impl Protocol for Bully {
    type Family = Elections;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let largest = start.view.members().iter().copied().max();
        let mut process = Self {
            me: start.me,
            view: start.view.clone(),
            config: *start.config,
            elected: largest.filter(|_| start.arrival == Arrival::Founding),
            is_fresh: false,
            role: Role::Bystander,
        };
        if start.arrival == Arrival::Returning {
            process.call(None, out);
        }
        process
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.role, input) {
            (Role::Bystander, Input::Command(Command::Call)) => {
                let dead = self.elected.filter(|_| self.config.skip_dead);
                self.call(dead, out);
            }
            (_, Input::Message { from, message: Message::Election }) if from < self.me => {
                self.on_election(from, out);
            }
            (Role::Asking, Input::Message { from, message: Message::Answer }) if from > self.me => {
                self.on_answer(out);
            }
            (Role::Asking, Input::Timer(Timer::Answer)) => {
                out.rule("has heard of nobody larger: it leads, and says so to all smaller ones");
                self.role = Role::Bystander;
                self.lead(out);
            }
            (Role::Yielding, Input::Timer(Timer::Announcement)) => {
                out.rule("has heard no announcement: who answered has died");
                self.call(None, out);
            }
            (_, Input::Timer(Timer::Settled)) if self.is_fresh => {
                out.rule("takes the announcement for settled");
                self.is_fresh = false;
            }
            (_, Input::Message { from, message: Message::Coordinator }) => {
                out.rule("is told who leads");
                self.end(from, out);
            }
            (_, Input::Command(Command::Read | Command::Write(_))) => {
                out.rule("keeps no value: it refuses");
                out.notify(Notice::Refused);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self.role {
            Role::Bystander => Vec::new(),
            Role::Asking | Role::Yielding => self.larger().collect(),
        }
    }
}

impl Bully {
    /// Who leads, as far as this process knows.
    pub fn elected(&self) -> Option<ProcessId> {
        self.elected
    }

    /// Asks all larger ones, but for one that is known to be dead.
    fn call(&mut self, dead: Option<ProcessId>, out: &mut Effects<Self>) {
        if self.larger().all(|id| Some(id) == dead) {
            out.rule("has nobody larger to ask: it leads, and says so to all smaller ones");
            return self.lead(out);
        }
        out.rule("calls an election: it asks all larger ones");
        if self.role == Role::Bystander {
            out.notify(Notice::Electing);
        }
        self.role = Role::Asking;
        out.multicast(self.larger().filter(|&id| Some(id) != dead), &Message::Election);
        out.set_timer(Timer::Answer, self.config.answer);
    }

    fn on_election(&mut self, from: ProcessId, out: &mut Effects<Self>) {
        out.rule("answers: it lives, and is larger");
        out.send(from, Message::Answer);
        if self.is_fresh {
            out.rule("calls none of its own: the announcement is on its way to that one, too");
        } else if self.role == Role::Bystander {
            self.call(None, out);
        }
    }

    fn on_answer(&mut self, out: &mut Effects<Self>) {
        out.rule("leaves the election to a larger one, and waits for the announcement");
        self.role = Role::Yielding;
        out.cancel_timer(Timer::Answer);
        out.set_timer(Timer::Announcement, self.config.announcement);
    }

    fn lead(&mut self, out: &mut Effects<Self>) {
        self.end(self.me, out);
        let me = self.me;
        let smaller = self.view.members().iter().copied().filter(|&id| id < me);
        out.multicast(smaller, &Message::Coordinator);
    }

    fn end(&mut self, leader: ProcessId, out: &mut Effects<Self>) {
        match self.role {
            Role::Bystander => {}
            Role::Asking => out.cancel_timer(Timer::Answer),
            Role::Yielding => out.cancel_timer(Timer::Announcement),
        }
        self.role = Role::Bystander;
        self.elected = Some(leader);
        self.is_fresh = true;
        out.set_timer(Timer::Settled, self.config.answer);
        out.notify(Notice::Elected { leader, term: Term::NONE });
    }

    fn larger(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.view.members().iter().copied().filter(|&id| id > self.me)
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::Message::{Answer, Coordinator, Election};
    use super::*;
    use crate::catalogue::Size;
    use crate::election::rehearsal::{DELAY, Rehearsal};
    use crate::testing::Deed::{self, Cancelled, Sent, Set, Told};
    use crate::testing::Probe;

    const IDS: [u32; 6] = [3, 5, 6, 12, 32, 80];
    const NOBODY: [u32; 0] = [];
    const T: Deed<Bully> = Set(Timer::Answer, ANSWER, ANSWER);
    const SETTLES: Deed<Bully> = Set(Timer::Settled, ANSWER, ANSWER);
    const T_PRIME: Deed<Bully> = Set(Timer::Announcement, ANNOUNCEMENT, ANNOUNCEMENT);
    const ANSWER: Duration = Duration::from_millis(2);
    const ANNOUNCEMENT: Duration = Duration::from_millis(5);

    fn config(skip_dead: bool) -> Config {
        Config { skip_dead, ..Config::new(&Timing::of(DELAY)) }
    }

    fn process(me: u32) -> Probe<Bully> {
        Probe::founding(me, &View::new(IDS.map(ProcessId)).unwrap(), &config(false))
    }

    const fn leads(leader: u32) -> Notice {
        Notice::Elected { leader: ProcessId(leader), term: Term::NONE }
    }

    fn input(from: u32, message: Message) -> Input<Bully> {
        Input::Message { from: ProcessId(from), message }
    }

    #[test]
    fn t_is_two_transmissions_and_t_prime_five() {
        let config = Config::new(&Timing::of(DELAY));
        assert_eq!((config.answer, config.announcement), (ANSWER, ANNOUNCEMENT));
    }

    #[test]
    fn who_calls_asks_all_larger_ones_and_nobody_else() {
        let mut process = process(12);
        let deeds = process.command(Command::Call);
        assert_eq!(deeds, [Told(Notice::Electing), Sent(32, Election), Sent(80, Election), T]);
        assert!(process.ignores(Input::Command(Command::Call)), "its own is under way");
    }

    #[test]
    fn the_largest_asks_nobody_and_announces_itself() {
        let deeds = process(80).command(Command::Call);
        let expected: Vec<_> =
            [3, 5, 6, 12, 32].into_iter().map(|id| Sent(id, Coordinator)).collect();
        assert_eq!((&deeds[..2], &deeds[2..]), (&[SETTLES, Told(leads(80))][..], &expected[..]));
    }

    #[test]
    fn who_is_not_answered_in_time_leads_and_tells_all_smaller_ones() {
        let mut process = process(6);
        process.command(Command::Call);
        let deeds = process.timer(Timer::Answer);
        assert_eq!(deeds, [SETTLES, Told(leads(6)), Sent(3, Coordinator), Sent(5, Coordinator)]);
        assert!(process.ignores(input(80, Answer)), "it comes too late");
        assert_eq!(process.waits_for(), NOBODY);
    }

    #[test]
    fn who_is_answered_waits_for_the_announcement_and_calls_again_if_none_comes() {
        let mut process = process(12);
        process.command(Command::Call);
        assert_eq!(process.receive(32, Answer), [Cancelled(Timer::Answer), T_PRIME]);
        assert!(process.ignores(input(80, Answer)), "one is enough");
        assert!(process.ignores(Input::Command(Command::Call)));
        assert!(process.ignores(Input::Timer(Timer::Answer)));

        let again = process.timer(Timer::Announcement);
        assert_eq!(again, [Sent(32, Election), Sent(80, Election), T]);
    }

    #[test]
    fn an_election_is_always_answered_and_makes_a_process_call_if_it_does_not_yet() {
        let mut process = process(32);
        let deeds = process.receive(6, Election);
        assert_eq!(deeds, [Sent(6, Answer), Told(Notice::Electing), Sent(80, Election), T]);
        assert_eq!(process.receive(12, Election), [Sent(12, Answer)], "while it asks");
        process.receive(80, Answer);
        assert_eq!(process.receive(12, Election), [Sent(12, Answer)], "while it waits");
    }

    #[test]
    fn the_leader_answers_an_election_by_its_announcement_too() {
        let deeds = process(80).receive(32, Election);
        assert_eq!(deeds[..3], [Sent(32, Answer), SETTLES, Told(leads(80))]);
        assert_eq!(deeds.len(), 3 + 5);
    }

    #[test]
    fn an_announcement_ends_every_election_and_is_told_each_time() {
        let mut process = process(12);
        assert_eq!(process.receive(32, Coordinator), [SETTLES, Told(leads(32))]);
        assert_eq!(process.receive(32, Coordinator), [SETTLES, Told(leads(32))], "once more");

        process.command(Command::Call);
        let deeds = process.receive(32, Coordinator);
        assert_eq!(deeds, [Cancelled(Timer::Answer), SETTLES, Told(leads(32))]);

        process.command(Command::Call);
        process.receive(80, Answer);
        let deeds = process.receive(80, Coordinator);
        assert_eq!(deeds, [Cancelled(Timer::Announcement), SETTLES, Told(leads(80))]);
        assert!(process.ignores(Input::Timer(Timer::Announcement)));
    }

    #[test]
    fn an_election_that_crossed_an_announcement_is_answered_and_begins_no_other() {
        let mut process = process(12);
        process.receive(32, Coordinator);
        assert_eq!(process.receive(6, Election), [Sent(6, Answer)]);
        process.timer(Timer::Settled);
        assert_eq!(process.receive(6, Election)[..2], [Sent(6, Answer), Told(Notice::Electing)]);
        assert!(process.ignores(Input::Timer(Timer::Settled)), "it is settled once");
    }

    #[test]
    fn what_the_application_notices_is_called_also_while_an_announcement_settles() {
        let mut process = process(12);
        process.receive(32, Coordinator);
        assert_eq!(process.command(Command::Call)[0], Told(Notice::Electing));
    }

    #[test]
    fn whoever_announces_is_believed_also_a_smaller_one() {
        assert_eq!(process(32).receive(12, Coordinator), [SETTLES, Told(leads(12))]);
    }

    #[test]
    fn founders_know_the_largest_as_coordinator_and_are_told_nothing() {
        let mut process = process(6);
        assert_eq!(process.began, []);
        assert_eq!(
            process.receive(80, Coordinator),
            [SETTLES, Told(leads(80))],
            "until it announces itself"
        );
    }

    #[test]
    fn one_that_comes_back_calls_an_election_and_the_largest_thereby_announces_itself() {
        let view = View::new(IDS.map(ProcessId)).unwrap();
        let back = |me| Probe::<Bully>::returning(me, &view, &config(true), None);
        assert_eq!(back(32).began, [Told(Notice::Electing), Sent(80, Election), T]);
        assert_eq!(back(80).began.len(), 2 + 5);
        assert_eq!(back(80).began[1], Told(leads(80)));
    }

    #[test]
    fn one_that_comes_back_does_not_know_who_leads() {
        let (view, config, mut out) = (View::dense(1, 3), config(false), Effects::new());
        let founding = Start::founding(ProcessId(2), &view, &config);
        assert_eq!(Bully::start(founding, &mut out).elected(), Some(ProcessId(3)));
        let founding = Start::founding(ProcessId(2), &view, &config);
        let returning = Start { arrival: Arrival::Returning, ..founding };
        assert_eq!(Bully::start(returning, &mut out).elected(), None);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let mut process = process(12);
        assert!(process.ignores(input(32, Answer)), "it asked nothing");
        assert!(process.ignores(input(32, Election)), "a larger one has no business asking");
        assert!(process.ignores(Input::Timer(Timer::Answer)));
        assert!(process.ignores(Input::Timer(Timer::Announcement)));
        process.command(Command::Call);
        assert!(process.ignores(input(6, Answer)), "it did not ask that one");
        assert_eq!(process.command(Command::Read), [Told(Notice::Refused)]);
    }

    #[test]
    fn only_the_application_says_that_the_coordinator_is_dead() {
        let view = View::new(IDS.map(ProcessId)).unwrap();
        let process = |me| Probe::<Bully>::founding(me, &view, &config(true));
        let mut twelve = process(12);
        let deeds = twelve.command(Command::Call);
        assert_eq!(deeds, [Told(Notice::Electing), Sent(32, Election), T]);
        twelve.receive(32, Answer);
        let deeds = twelve.timer(Timer::Announcement);
        assert_eq!(
            deeds,
            [Sent(32, Election), Sent(80, Election), T],
            "a timer says no such thing"
        );

        assert_eq!(process(32).command(Command::Call)[1], Told(leads(32)), "at once");
        let deeds = process(32).receive(12, Election);
        assert_eq!(deeds[2], Sent(80, Election), "nor does a message");
    }

    #[test]
    fn whoever_calls_waits_for_those_above_it() {
        let mut process = process(12);
        assert_eq!(process.waits_for(), NOBODY);
        process.command(Command::Call);
        assert_eq!(process.waits_for(), [32, 80]);
        process.receive(32, Answer);
        assert_eq!(process.waits_for(), [32, 80]);
    }

    // Whole elections.

    fn rehearse(ids: &[u32], dead: &[u32], callers: &[u32]) -> Rehearsal<Bully> {
        let mut run = Rehearsal::of(ids, dead, &config(false));
        for &id in callers {
            run.call(id);
        }
        run
    }

    fn sent(
        elections: usize,
        answers: usize,
        announcements: usize,
    ) -> BTreeMap<&'static str, usize> {
        [("election", elections), ("answer", answers), ("coordinator", announcements)].into()
    }

    #[test]
    fn golden_of_six_with_the_largest_dead() {
        let mut run = rehearse(&IDS, &[80], &[6]);
        run.run_to_end();
        assert_eq!(run.sent, sent(6, 3, 4));
        assert!(run.all_follow(32));
    }

    #[test]
    fn golden_of_six_where_the_next_one_dies_after_its_answers() {
        let mut run = rehearse(&IDS, &[80], &[6]);
        run.until(2 * DELAY);
        run.crash(32);
        run.run_to_end();
        assert!(run.all_follow(12), "{:?}", run.leaders());
    }

    #[test]
    fn golden_of_eight_and_the_return_of_the_largest() {
        let ids: Vec<u32> = (0..8).collect();
        let mut run = rehearse(&ids, &[7], &[4]);
        run.run_to_end();
        assert_eq!(run.sent, sent(6, 3, 6));
        assert!(run.all_follow(6));

        let before = run.messages();
        run.comes_back(7);
        run.run_to_end();
        assert_eq!(run.messages() - before, 7);
        assert!(run.all_follow(7));
    }

    #[test]
    fn two_that_notice_at_once_elect_one_leader_once() {
        let ids: Vec<u32> = (0..8).collect();
        let mut run = rehearse(&ids, &[7], &[4, 5]);
        run.run_to_end();
        assert!(run.all_follow(6));
        let led = run.told.iter().filter(|(_, id, notice)| (*id, *notice) == (6, leads(6)));
        assert_eq!(led.count(), 1);
    }

    fn cost(measure: Measure, n: u32) -> f64 {
        let cost = ENTRY.costs.iter().find(|cost| cost.measure == measure).unwrap();
        (cost.value)(Size { n: n.into(), k: 0.0 })
    }

    #[test]
    fn best_and_worst_cost_what_the_catalogue_says() {
        use Measure::{ElectionBest, ElectionBestSkipping, ElectionWorst};
        use Measure::{TurnaroundBest, TurnaroundBestSkipping};
        for n in 3..=40 {
            let ids: Vec<u32> = (1..=n).collect();
            for (caller, skip_dead, messages, turnaround) in [
                (n - 1, false, ElectionBest, Some(TurnaroundBest)),
                (n - 1, true, ElectionBestSkipping, Some(TurnaroundBestSkipping)),
                (1, false, ElectionWorst, None),
            ] {
                let mut run = Rehearsal::<Bully>::of(&ids, &[n], &config(skip_dead));
                run.call(caller);
                run.run_to_end();
                assert!(run.all_follow(n - 1));
                assert_eq!(run.messages() as f64, cost(messages, n), "{messages:?}, {n}");
                if let Some(turnaround) = turnaround {
                    let delays = run.told.last().unwrap().0.div_duration_f64(DELAY);
                    assert_eq!(delays, cost(turnaround, n), "{turnaround:?}, {n}");
                }
            }
        }
    }

    #[test]
    fn whoever_notices_and_whoever_else_dies_the_largest_that_lives_is_elected() {
        for caller in [3, 5, 6, 12, 32] {
            for second in IDS.into_iter().filter(|&id| id != 80 && id != caller) {
                for at in 0..10 {
                    let mut run = rehearse(&IDS, &[80], &[caller]);
                    run.until(at * DELAY);
                    run.crash(second);
                    run.run_to_end();
                    let largest = *run.leaders().keys().next_back().unwrap();
                    if second == 32 && at >= 3 {
                        // It may have been elected before it died: then nobody has noticed yet.
                        run.call(caller);
                        run.run_to_end();
                    }
                    assert!(
                        run.all_follow(largest),
                        "{caller}, {second}@{at}: {:?}",
                        run.leaders()
                    );
                }
            }
        }
    }

    #[test]
    fn with_t_too_short_a_smaller_one_leads_beside_the_largest() {
        let hasty = Config { answer: DELAY, ..config(false) };
        let mut run = Rehearsal::<Bully>::of(&IDS, &[], &hasty);
        run.call(32);
        run.until(DELAY);
        assert_eq!((run.leaders()[&32], run.leaders()[&80]), (Some(32), Some(80)));
    }

    #[test]
    fn one_alone_elects_itself_in_silence() {
        let mut run = rehearse(&[7], &[], &[7]);
        run.run_to_end();
        assert_eq!(run.messages(), 0);
        assert!(run.all_follow(7));
    }
}
