//! Token ring, repaired: the plain ring under a failure detector, with a new token after a crash.
//!
//! **Problem.** Any crash breaks the plain ring, and the token may be lost with the dead.
//!
//! **Idea.** The ring runs in epochs, and within one it is the plain ring. When a member dies, the
//! next live one after it takes a census under a new epoch: it asks all that live whether they are
//! in the critical section. Whoever answers takes no more tokens of older epochs. When all have
//! answered, the initiator installs the new ring: its members are those who answered, and the token
//! is with the one who is in, or else with the initiator, who makes a new one.
//!
//! **Assumes** a perfect detector: a synchronous system whose bound is known; and that not all die
//! who know the newest epoch before another has heard of it, or else fences begin again below.
//! Channels need not be FIFO. Under false suspicion there can be two tokens, of different epochs
//! and never of one, and two holders; then the fence of the older is lower, and a resource refuses
//! it.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `token` | "whoever has this may enter" | to the successor, on leaving, or at once |
//! | `ask` | "are you in?" | by the initiator, to all that it does not suspect |
//! | `tell` | "yes" or "no", or "there is a newer epoch" | to the initiator |
//! | `install` | "this is the ring now" | by the initiator, to all who told |
//!
//! The detector's messages come on top of it, see [`With`].
//!
//! **Cost.** As the plain ring; and 3(N-1) for each repair, N those that live.
//!
//! **Epochs.** No two processes begin the same epoch, and each begins one above all it has seen,
//! also in earlier lives: the highest is persisted. The fence of an entry is the epoch and then the
//! token's count. A message of an older epoch than was last answered is dropped; a token of a newer
//! one is kept until that is installed.
//!
//! **Source.** G. Le Lann, *Distributed Systems: Towards a Formal Approach*, IFIP Congress 1977,
//! has the token regenerated after a failure; the census is in the manner of a view change.
//!
//! **Why it is safe.** From its answer until the new ring is installed, a process enters no more.
//! So when all have told, nobody is in but the one who said so. That one has the new token, which
//! it passes on when it leaves, or at once if it has left meanwhile; older tokens are taken by
//! nobody. A census that not all have answered installs nothing; an install of an older epoch than
//! was last answered is ignored.
//!
//! **Live.** Who is dead, and is a member still, or began a census that has not ended, is the
//! business of the next live member after it. Everybody asks itself whether that is its own
//! business whenever the detector speaks and whenever a ring is installed. Of all censuses under
//! way the newest is answered by all, and its initiator waits for no dead one; if the initiator
//! dies, that is again the business of the next.
//!
//! **Return.** A process that comes back has lost what it knew, and perhaps the token. First it is
//! silent for D: then all others have heard its beat, and nobody takes one for dead that takes
//! part. Then it takes a census itself, above all that it was asked in meanwhile. It is in no ring
//! before one that it has answered is installed, and until then it asks again above every newer
//! epoch that it is told of: it may have slept through the asking, and then others wait for its
//! answer. A suspect that is trusted again is the business of the next live member after it, as a
//! dead one is.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Arrival, Effects, Family, Input, Kind, KindIndex, Lift, ProcessId, Protocol, Seat, SeatSet,
    Start, View, detector,
};

use super::census::Census;
pub use super::census::Epoch;
use super::{TokenRing, token_ring};
use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places, Setting, Timing};
use crate::detector::{Heartbeat, With};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the ring of that epoch.
    Ring(Epoch, token_ring::Message),
    /// Are you in?
    Ask(Epoch),
    /// The answer; of a newer epoch than was asked for, it is a refusal.
    Tell {
        /// The newest census that it has answered.
        epoch: Epoch,
        /// Whether it is in the critical section.
        holds: bool,
    },
    /// This is the ring now.
    Install {
        /// The epoch of the census that it answers.
        epoch: Epoch,
        /// Its members, the initiator first.
        members: Vec<ProcessId>,
        /// Who is in the critical section.
        holder: Option<ProcessId>,
    },
}

/// What it waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// That all others have heard that it is back.
    Back,
}

/// What the members agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// D: how long a message takes at most.
    pub bound: Duration,
}

/// One process, to be composed with a detector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Repaired {
    me: ProcessId,
    seat: Seat,
    /// Everybody there ever was, in ring order.
    view: View,
    suspects: SeatSet,
    /// Whether it is back for less than D.
    is_silent: bool,
    application: Application,
    /// The newest census that it has answered; while that has not ended, the ring stands still.
    promised: Epoch,
    /// The ring it is in; none after a return, until one is installed.
    ring: Option<Ring>,
    /// Its own census, of the epoch `promised`.
    census: Option<Census>,
    /// A token that came before the install of its epoch.
    early: Option<(Epoch, ProcessId, token_ring::Message)>,
}

/// What is to be seen from outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Application {
    Out,
    Waiting,
    In,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Ring {
    epoch: Epoch,
    /// By seat of the whole view.
    members: SeatSet,
    process: TokenRing,
}

/// The repaired ring with the detector that the catalogue gives it.
pub type TokenRingRepaired = With<Repaired, Heartbeat>;

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "token-ring-repaired",
    title: "Token ring, repaired",
    citation: "G. Le Lann, Distributed Systems: Towards a Formal Approach, IFIP Congress 1977; \
               a census under a new epoch after a crash",
    summary: "the token ring with a detector: the next live member makes a new ring and token",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs { synchrony: true, storage: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Beat],
    crash: "the ring is repaired without the dead; a lost token is made anew in a new epoch",
    problems: "never rests; two tokens if a message takes longer than D",
    crash_example: None,
    places: Places::Differ,
    kinds: <<TokenRingRepaired as Protocol>::Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(3, 1).sync(1).beat(2),
        Bounds::of(3, 2).sync(1).beat(2).large(),
        Bounds::of(3, 1).sync(1).beat(2).crashes(1).lossy().large(),
        Bounds::of(2, 1).sync(1).beat(2).crashes(2).returns(1).refuted(),
        Bounds::of(2, 1).refuted(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "0", |_| 0.0),
        Cost::exactly(Measure::Leave, "0", |_| 0.0),
        Cost::exactly(Measure::IdleLap, "N", |size| size.n),
        Cost::exactly(Measure::ClientDelay, "(N-1)/2", |size| (size.n - 1.0) / 2.0),
        Cost::exactly(Measure::ClientDelayMin, "0", |_| 0.0),
        Cost::exactly(Measure::ClientDelayMax, "N-1", |size| size.n - 1.0),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
        Cost::exactly(Measure::SyncDelay, "N/2", |size| size.n / 2.0),
        Cost::exactly(Measure::SyncDelayMin, "1", |_| 1.0),
        Cost::exactly(Measure::SyncDelayMax, "N-1", |size| size.n - 1.0),
    ],
    remarks: &[],
};

impl Config {
    /// As the times of a run have it.
    pub fn new(timing: &Timing) -> Self {
        Self { bound: timing.bound }
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::upkeep("token"),
        Kind::repair("ask"),
        Kind::repair("tell"),
        Kind::repair("install"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Ring(..) => 0,
            Message::Ask(_) => 1,
            Message::Tell { .. } => 2,
            Message::Install { .. } => 3,
        }
    }
}

impl Protocol for Repaired {
    type Family = Locks;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = Epoch;
    type Word = detector::Notice;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let view = start.view.clone();
        let application = if start.is_holder() { Application::In } else { Application::Out };
        let mut process = Self {
            me: start.me,
            seat: view.seat(start.me).unwrap_or(Seat(0)),
            suspects: SeatSet::empty(view.len()),
            is_silent: start.arrival == Arrival::Returning,
            application,
            promised: start.stored.copied().unwrap_or_default(),
            ring: None,
            census: None,
            early: None,
            view,
        };
        if process.is_silent {
            out.rule("is back, and in no ring: it is silent until all have heard of it");
            out.set_timer(Timer::Back, start.config.bound);
        } else {
            let members = process.view.members().to_vec();
            process.join(Epoch::default(), &members, start.holder(), out);
        }
        process
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.application, input) {
            (_, Input::Message { message: Message::Ask(epoch), .. }) if self.is_silent => {
                out.rule("is back for less than D: it will ask above this epoch");
                self.promise(epoch, out);
            }
            (_, Input::Message { .. }) if self.is_silent => {
                out.rule("is back for less than D: it takes no part yet");
            }
            (_, Input::Message { from, message: Message::Ring(epoch, message) }) => {
                self.on_ring(from, epoch, message, out);
            }
            (Application::Out, Input::Command(Command::Enter)) => {
                self.application = Application::Waiting;
                self.ask_the_ring(Command::Enter, out);
            }
            (Application::In, Input::Command(Command::Leave)) => {
                self.application = Application::Out;
                self.ask_the_ring(Command::Leave, out);
                out.notify(Notice::Left);
            }
            (_, Input::Message { from, message: Message::Ask(epoch) }) => {
                self.on_ask(from, epoch, out);
            }
            (_, Input::Message { from, message: Message::Tell { epoch, holds } }) => {
                self.on_tell(from, epoch, holds, out);
            }
            (_, Input::Message { message: Message::Install { epoch, members, holder }, .. }) => {
                self.on_install(epoch, &members, holder, out);
            }
            (_, Input::Word(word)) => self.on_word(word, out),
            (_, Input::Timer(Timer::Back)) if self.is_silent => {
                out.rule("is trusted again by all others: it takes a census");
                self.is_silent = false;
                self.take_census(self.promised, out);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let installed = self.ring.as_ref().map(|ring| ring.epoch);
        if installed.is_some_and(|epoch| epoch > self.promised) {
            return Err("the ring is of an epoch that was not answered");
        }
        if self.census.is_some() && self.promised.initiator(self.view.len()) != Some(self.seat) {
            return Err("it takes a census of another's epoch");
        }
        if self.is_silent && (self.ring.is_some() || self.census.is_some()) {
            return Err("it takes part although not all have heard of it");
        }
        if self.census.is_some() && !self.stands_still() {
            return Err("the ring moves while it takes a census");
        }
        if self.early.as_ref().is_some_and(|early| early.0 < self.promised) {
            return Err("it keeps a token that is too old");
        }
        self.ring.as_ref().map_or(Ok(()), |ring| ring.process.invariants())
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match (&self.census, &self.ring) {
            (Some(census), _) => census.awaited.iter().map(|seat| self.view.at(seat)).collect(),
            (None, Some(ring)) if !self.stands_still() => ring.process.waits_for(),
            _ => {
                let initiator = self.promised.initiator(self.view.len());
                initiator.map_or(vec![], |seat| vec![self.view.at(seat)])
            }
        }
    }
}

impl Repaired {
    /// Whether a census is under way that it has answered, or it is in no ring.
    fn stands_still(&self) -> bool {
        self.ring.as_ref().is_none_or(|ring| ring.epoch < self.promised)
    }

    fn is_in(&self) -> bool {
        self.application == Application::In
    }

    // The ring.

    fn on_ring(
        &mut self,
        from: ProcessId,
        epoch: Epoch,
        message: token_ring::Message,
        out: &mut Effects<Self>,
    ) {
        let is_current = self.ring.as_ref().is_some_and(|ring| ring.epoch == epoch);
        if epoch < self.promised {
            out.rule("takes no token of an older epoch");
        } else if is_current {
            self.tell_the_ring(Input::Message { from, message }, out);
        } else {
            out.rule("keeps the token of a newer epoch until that is installed");
            self.early = Some((epoch, from, message));
        }
    }

    fn ask_the_ring(&mut self, command: Command, out: &mut Effects<Self>) {
        if self.stands_still() {
            out.rule(match command {
                Command::Enter => "waits for the new ring",
                Command::Leave => "leaves; it will pass the token on in the new ring",
            });
        } else {
            self.tell_the_ring(Input::Command(command), out);
        }
    }

    fn tell_the_ring(&mut self, input: Input<TokenRing>, out: &mut Effects<Self>) {
        let Some(ring) = &mut self.ring else { return };
        let mut inner = out.inner();
        ring.process.on(input, &mut inner);
        self.carry_out(&mut inner, out);
    }

    /// Does what the ring wants done, in its epoch.
    fn carry_out(&mut self, inner: &mut Effects<TokenRing>, out: &mut Effects<Self>) {
        let Some(epoch) = self.ring.as_ref().map(|ring| ring.epoch) else { return };
        let application = &mut self.application;
        out.lift(
            inner,
            Lift {
                send: |to, message| Some((to, Message::Ring(epoch, message))),
                timer: |()| Timer::Back,
                stored: |()| None,
                notice: |notice, out: &mut Effects<Self>| match notice {
                    Notice::Entered { fence } => {
                        *application = Application::In;
                        out.notify(Notice::Entered { fence: epoch.fence(fence) });
                    }
                    // Whoever leaves was told so already, whether or not the token was there.
                    Notice::Left => {}
                },
            },
        );
    }

    // Its repair.

    fn on_word(&mut self, word: detector::Notice, out: &mut Effects<Self>) {
        match word {
            detector::Notice::Suspects(id) => {
                let Some(seat) = self.view.seat(id) else { return };
                self.suspects.insert(seat);
                if let Some(census) = &mut self.census {
                    out.rule("waits for no answer of the dead");
                    census.forget(seat);
                }
            }
            detector::Notice::Trusts(id) => {
                let Some(seat) = self.view.seat(id) else { return };
                self.suspects.remove(seat);
            }
        }
        self.end_census(out);
        self.repair(out);
    }

    /// Takes a census if something is broken and it is the one to repair it.
    fn repair(&mut self, out: &mut Effects<Self>) {
        if self.census.is_some() || self.is_silent {
            return;
        }
        let is_broken = match &self.ring {
            Some(ring) if !self.stands_still() => {
                let differs =
                    |&seat: &Seat| self.suspects.contains(seat) == ring.members.contains(seat);
                let mut all = (0..self.view.len()).map(Seat::at);
                all.any(|seat| seat != self.seat && differs(&seat) && self.follows(seat))
            }
            // The census under way ends by itself, unless its initiator is dead.
            _ => self.promised.initiator(self.view.len()).is_some_and(|initiator| {
                self.suspects.contains(initiator) && self.follows(initiator)
            }),
        };
        if is_broken {
            out.rule("is the next after one that died or is back: it takes a census");
            self.take_census(self.promised, out);
        }
    }

    /// Whether it is the next live member after `seat`.
    fn follows(&self, seat: Seat) -> bool {
        let members = self.view.len();
        let after = (1..=members).map(|step| Seat::at((seat.index() + step) % members));
        let next = after.into_iter().find(|&next| !self.suspects.contains(next));
        next == Some(self.seat)
    }

    /// Asks all that it does not suspect, under an epoch above `newest`.
    fn take_census(&mut self, newest: Epoch, out: &mut Effects<Self>) {
        let members = self.view.len();
        self.promise(newest.next(self.seat, members), out);
        let mut census = Census::begin(self.seat, self.is_in(), members);
        for seat in (0..members).map(Seat::at) {
            if seat != self.seat && !self.suspects.contains(seat) {
                census.awaited.insert(seat);
            }
        }
        let asked = census.awaited.iter().map(|seat| self.view.at(seat));
        out.multicast(asked, &Message::Ask(self.promised));
        self.census = Some(census);
        self.end_census(out);
    }

    /// From here on, nothing older counts.
    fn promise(&mut self, epoch: Epoch, out: &mut Effects<Self>) {
        if epoch > self.promised {
            self.promised = epoch;
            self.census = None;
            self.early.take_if(|early| early.0 < epoch);
            out.persist(epoch);
        }
    }

    fn on_ask(&mut self, from: ProcessId, epoch: Epoch, out: &mut Effects<Self>) {
        if epoch < self.promised {
            out.rule("has answered a newer census: it says so");
        } else {
            out.rule("tells whether it is in, and takes no more tokens of older epochs");
            self.promise(epoch, out);
        }
        out.send(from, Message::Tell { epoch: self.promised, holds: self.is_in() });
    }

    fn on_tell(&mut self, from: ProcessId, epoch: Epoch, holds: bool, out: &mut Effects<Self>) {
        match (&mut self.census, self.view.seat(from)) {
            (Some(census), Some(seat)) if epoch == self.promised => {
                out.rule("notes the answer");
                census.tell(seat, holds);
                self.end_census(out);
            }
            (_, Some(_)) if epoch > self.promised && self.ring.is_none() => {
                out.rule("is in no ring and hears of a newer epoch: it asks again above that");
                self.take_census(epoch, out);
            }
            _ => out.rule("has no use for this"),
        }
    }

    /// Installs the new ring, once everybody has told.
    fn end_census(&mut self, out: &mut Effects<Self>) {
        let Some(census) = self.census.take_if(|census| census.is_complete()) else { return };
        out.rule("has heard from all that live: it installs the ring");
        let count = self.view.len();
        let ring = (0..count).map(|step| Seat::at((self.seat.index() + step) % count));
        let ring = ring.filter(|&seat| census.told.contains(seat));
        let members: Vec<ProcessId> = ring.map(|seat| self.view.at(seat)).collect();
        let holder = census.holder.map(|seat| self.view.at(seat));
        let install = Message::Install { epoch: self.promised, members, holder };
        let others = census.told.iter().filter(|&seat| seat != self.seat);
        out.multicast(others.map(|seat| self.view.at(seat)), &install);
        if let Message::Install { epoch, members, holder } = install {
            self.on_install(epoch, &members, holder, out);
        }
    }

    fn on_install(
        &mut self,
        epoch: Epoch,
        members: &[ProcessId],
        holder: Option<ProcessId>,
        out: &mut Effects<Self>,
    ) {
        if epoch != self.promised || !self.stands_still() {
            return out.rule("has answered a newer census: it waits for that");
        }
        out.rule("is in the new ring");
        self.join(epoch, members, holder, out);
        if holder == Some(self.me) && !self.is_in() {
            self.tell_the_ring(Input::Command(Command::Leave), out);
        }
        if self.application == Application::Waiting {
            self.tell_the_ring(Input::Command(Command::Enter), out);
        }
        if let Some((_, from, message)) = self.early.take_if(|early| early.0 == epoch) {
            self.tell_the_ring(Input::Message { from, message }, out);
        }
        self.repair(out);
    }

    /// Starts the plain ring anew, among these.
    fn join(
        &mut self,
        epoch: Epoch,
        members: &[ProcessId],
        holder: Option<ProcessId>,
        out: &mut Effects<Self>,
    ) {
        let Ok(view) = View::new(members.iter().copied()) else { return };
        let mut seats = SeatSet::empty(self.view.len());
        for seat in members.iter().filter_map(|&id| self.view.seat(id)) {
            seats.insert(seat);
        }
        let mut inner = out.inner();
        let start = Start::founding(self.me, &view, &()).held_by(holder);
        let process = TokenRing::start(start, &mut inner);
        self.ring = Some(Ring { epoch, members: seats, process });
        self.carry_out(&mut inner, out);
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests {
    use conclave_core::Fence;
    use conclave_core::detector::Notice::{Suspects, Trusts};

    use super::Message::{Ask, Install, Ring, Tell};
    use super::*;
    use crate::testing::Deed::{Persisted, Sent, Set, Told};
    use crate::testing::{Deed, Probe};

    const CONFIG: Config = Config { bound: Duration::from_millis(1) };
    /// The first epoch that process 3 begins, and the first of process 4; 4 members.
    const OF_3: Epoch = Epoch(6);
    const OF_4: Epoch = Epoch(7);

    /// One of the ring 1, 2, 3, 4.
    fn process(me: u32) -> Probe<Repaired> {
        Probe::founding(me, &View::dense(1, 4), &CONFIG)
    }

    fn token(epoch: Epoch, fence: u64) -> Message {
        Ring(epoch, token_ring::Message::Token(Fence(fence)))
    }

    fn tell(epoch: Epoch, holds: bool) -> Message {
        Tell { epoch, holds }
    }

    fn install(epoch: Epoch, members: &[u32], holder: Option<u32>) -> Message {
        let members = members.iter().copied().map(ProcessId).collect();
        Install { epoch, members, holder: holder.map(ProcessId) }
    }

    fn input(from: u32, message: Message) -> Input<Repaired> {
        Input::Message { from: ProcessId(from), message }
    }

    fn entered(epoch: Epoch, fence: u64) -> Deed<Repaired> {
        Told(Notice::Entered { fence: Fence((epoch.0 << 40) + fence) })
    }

    /// Of a ring in which it has the token of the first epoch, and is in.
    fn holder(me: u32) -> Probe<Repaired> {
        let mut process = process(me);
        process.command(Command::Enter);
        let deeds = process.receive(me - 1, token(Epoch(0), 4));
        assert_eq!(deeds, [entered(Epoch(0), 5)]);
        process
    }

    /// Process 3 after 2 has died: it has asked, and nobody has answered.
    fn initiator() -> Probe<Repaired> {
        let mut process = process(3);
        let asks = [Persisted(OF_3), Sent(1, Ask(OF_3)), Sent(4, Ask(OF_3))];
        assert_eq!(process.hear(Suspects(ProcessId(2))), asks);
        process
    }

    #[test]
    fn while_nobody_dies_it_is_the_plain_ring() {
        assert_eq!(process(1).began, [Sent(2, token(Epoch(0), 0))]);
        assert_eq!(process(2).began, []);
        let passed_on = process(2).receive(1, token(Epoch(0), 4));
        assert_eq!(passed_on, [Sent(3, token(Epoch(0), 4))]);
        let left = holder(2).command(Command::Leave);
        assert_eq!(left, [Sent(3, token(Epoch(0), 5)), Told(Notice::Left)]);
    }

    #[test]
    fn the_next_live_member_after_the_dead_takes_a_census_and_nobody_else() {
        initiator();
        for me in [1, 4] {
            assert_eq!(process(me).hear(Suspects(ProcessId(2))), []);
        }
    }

    #[test]
    fn the_next_live_member_after_two_dead_takes_it_whomever_it_hears_of_first() {
        let mut process_4 = process(4);
        assert_eq!(process_4.hear(Suspects(ProcessId(2))), [], "that is the business of 3");
        let asks = process_4.hear(Suspects(ProcessId(3)));
        assert_eq!(asks, [Persisted(OF_4), Sent(1, Ask(OF_4))]);

        let mut process_4 = process(4);
        let asks = process_4.hear(Suspects(ProcessId(3)));
        assert_eq!(asks, [Persisted(OF_4), Sent(1, Ask(OF_4)), Sent(2, Ask(OF_4))]);
        assert_eq!(process_4.hear(Suspects(ProcessId(2))), [], "the census covers it");
        let members = process_4.receive(1, tell(OF_4, false));
        assert_eq!(members[0], Sent(1, install(OF_4, &[4, 1], None)));
    }

    #[test]
    fn who_is_asked_tells_and_takes_no_more_tokens_of_older_epochs() {
        let mut process = process(1);
        let told = [Persisted(OF_3), Sent(3, tell(OF_3, false))];
        assert_eq!(process.receive(3, Ask(OF_3)), told);
        process.command(Command::Enter);
        assert!(process.ignores(input(4, token(Epoch(0), 7))));
    }

    #[test]
    fn when_all_have_told_the_ring_is_installed_and_its_initiator_makes_the_token() {
        let mut process = initiator();
        assert_eq!(process.receive(1, tell(OF_3, false)), []);
        let install = install(OF_3, &[3, 4, 1], None);
        let installed = [Sent(1, install.clone()), Sent(4, install), Sent(4, token(OF_3, 0))];
        assert_eq!(process.receive(4, tell(OF_3, false)), installed);
    }

    #[test]
    fn who_is_in_says_so_and_has_the_token_in_the_new_ring() {
        let mut process = initiator();
        process.receive(1, tell(OF_3, false));
        let install = install(OF_3, &[3, 4, 1], Some(4));
        let installed = [Sent(1, install.clone()), Sent(4, install.clone())];
        assert_eq!(process.receive(4, tell(OF_3, true)), installed, "nobody makes another");

        let mut holder = holder(4);
        let told = [Persisted(OF_3), Sent(3, tell(OF_3, true))];
        assert_eq!(holder.receive(3, Ask(OF_3)), told);
        assert_eq!(holder.receive(3, install), [], "it goes on");
        let left = [Sent(1, token(OF_3, 0)), Told(Notice::Left)];
        assert_eq!(holder.command(Command::Leave), left);
    }

    #[test]
    fn who_leaves_during_a_census_passes_the_token_on_in_the_new_ring() {
        let install = install(OF_3, &[3, 4, 1], Some(4));
        let mut holder_4 = holder(4);
        holder_4.receive(3, Ask(OF_3));
        assert_eq!(holder_4.command(Command::Leave), [Told(Notice::Left)]);
        assert_eq!(holder_4.receive(3, install.clone()), [Sent(1, token(OF_3, 0))]);

        let mut again = holder(4);
        again.receive(3, Ask(OF_3));
        again.command(Command::Leave);
        assert_eq!(again.command(Command::Enter), [], "it waits for its turn");
        assert_eq!(again.receive(3, install), [Sent(1, token(OF_3, 0))]);
        assert_eq!(again.receive(3, token(OF_3, 3)), [entered(OF_3, 4)]);
    }

    #[test]
    fn who_waits_asks_again_in_the_new_ring_and_fences_grow_with_the_epoch() {
        let mut process = process(4);
        process.command(Command::Enter);
        process.receive(3, Ask(OF_3));
        assert_eq!(process.receive(3, install(OF_3, &[3, 4, 1], None)), []);
        assert_eq!(process.receive(3, token(OF_3, 0)), [entered(OF_3, 1)]);
    }

    #[test]
    fn who_begins_to_wait_during_a_census_does_too() {
        let mut process = process(4);
        process.receive(3, Ask(OF_3));
        assert_eq!(process.command(Command::Enter), []);
        process.receive(3, install(OF_3, &[3, 4, 1], None));
        assert_eq!(process.receive(3, token(OF_3, 0)), [entered(OF_3, 1)]);
    }

    #[test]
    fn a_census_does_not_wait_for_the_dead_and_counts_not_what_they_told() {
        let mut process = initiator();
        assert_eq!(process.receive(1, tell(OF_3, true)), []);
        assert_eq!(process.hear(Suspects(ProcessId(1))), []);
        let install = install(OF_3, &[3, 4], None);
        let installed = [Sent(4, install), Sent(4, token(OF_3, 0))];
        assert_eq!(process.receive(4, tell(OF_3, false)), installed);

        let mut process = initiator();
        process.receive(4, tell(OF_3, false));
        assert_eq!(process.hear(Suspects(ProcessId(1))), installed, "the last one it waited for");
    }

    #[test]
    fn when_the_initiator_dies_the_next_live_member_after_it_begins_again_above_it() {
        let mut next = process(4);
        next.receive(3, Ask(OF_3));
        let above = Epoch(11);
        let asks = [Persisted(above), Sent(1, Ask(above)), Sent(2, Ask(above))];
        assert_eq!(next.hear(Suspects(ProcessId(3))), asks);

        let mut other = process(1);
        other.receive(3, Ask(OF_3));
        assert_eq!(other.hear(Suspects(ProcessId(3))), []);
        let asked = other.hear(Suspects(ProcessId(4)));
        assert_eq!(asked[1..], [Sent(2, Ask(Epoch(8)))], "unless that one is dead too");
    }

    #[test]
    fn while_another_takes_a_census_it_begins_none() {
        let mut process = process(3);
        process.receive(4, Ask(OF_4));
        assert_eq!(process.hear(Suspects(ProcessId(2))), []);
        let asks = process.receive(4, install(OF_4, &[4, 1, 2, 3], None));
        let above = Epoch(10);
        let asked = [Persisted(above), Sent(1, Ask(above)), Sent(4, Ask(above))];
        assert_eq!(asks, asked, "2 had told before it died: now it is its business");
    }

    #[test]
    fn a_newer_census_ends_its_own() {
        let mut process = initiator();
        let told = [Persisted(OF_4), Sent(4, tell(OF_4, false))];
        assert_eq!(process.receive(4, Ask(OF_4)), told);
        assert!(process.ignores(input(1, tell(OF_3, false))));
        assert!(process.ignores(input(4, tell(OF_3, false))));
    }

    #[test]
    fn an_older_census_is_refused_and_an_older_install_ignored() {
        let mut process = process(1);
        process.receive(3, Ask(OF_3));
        process.receive(4, Ask(OF_4));
        assert_eq!(process.receive(3, Ask(OF_3)), [Sent(3, tell(OF_4, false))]);
        assert!(process.ignores(input(3, install(OF_3, &[3, 4, 1], None))));
    }

    #[test]
    fn an_initiator_that_is_refused_waits_for_the_newer_census() {
        assert!(initiator().ignores(input(1, tell(OF_4, false))));
    }

    #[test]
    fn a_token_that_comes_before_its_ring_is_kept_until_that_is_installed() {
        let mut process = process(4);
        process.receive(3, Ask(OF_3));
        assert_eq!(process.receive(3, token(OF_3, 2)), []);
        let passed_on = [Sent(1, token(OF_3, 2))];
        assert_eq!(process.receive(3, install(OF_3, &[3, 4, 1], None)), passed_on);

        let mut too_old = tests::process(1);
        too_old.receive(4, token(OF_3, 2));
        too_old.receive(4, Ask(OF_4));
        assert_eq!(too_old.receive(4, install(OF_4, &[4, 1, 2], None)), []);
    }

    #[test]
    fn the_last_one_alive_is_a_ring_of_one() {
        let mut process = Probe::<Repaired>::founding(2, &View::dense(1, 2), &CONFIG);
        process.command(Command::Enter);
        let epoch = Epoch(3);
        let alone = [Persisted(epoch), entered(epoch, 1)];
        assert_eq!(process.hear(Suspects(ProcessId(1))), alone);
    }

    #[test]
    fn who_comes_back_is_silent_for_d_and_then_takes_a_census_above_what_it_persisted() {
        let view = View::dense(1, 4);
        let mut back = Probe::<Repaired>::returning(2, &view, &CONFIG, Some(&OF_3));
        assert_eq!(back.began, [Set(Timer::Back, CONFIG.bound, CONFIG.bound)]);
        assert_eq!(back.receive(3, Ask(OF_4)), [Persisted(OF_4)], "not all have heard of it");
        assert!(back.ignores(input(3, install(OF_3, &[3, 2], Some(2)))), "of an earlier life");
        assert_eq!(back.command(Command::Enter), []);

        let own = Epoch(9);
        let asks = [1, 3, 4].map(|other| Sent(other, Ask(own)));
        let deeds = back.timer(Timer::Back);
        assert_eq!((&deeds[0], &deeds[1..]), (&Persisted(own), &asks[..]));
        assert!(back.ignores(Input::Timer(Timer::Back)));

        let above = Epoch(17);
        let asks = [1, 3, 4].map(|other| Sent(other, Ask(above)));
        assert_eq!(back.receive(1, tell(Epoch(14), false))[1..], asks, "it hears of a newer one");
        assert!(back.ignores(input(3, tell(Epoch(14), false))), "once");
        for other in [1, 3] {
            assert_eq!(back.receive(other, tell(above, false)), []);
        }
        let installed = back.receive(4, tell(above, false));
        assert_eq!(installed[0], Sent(1, install(above, &[2, 3, 4, 1], None)));
        assert_eq!(back.receive(1, token(above, 0)), [entered(above, 1)]);
    }

    #[test]
    fn who_comes_back_asks_again_also_when_it_has_given_way_to_a_census_that_is_over() {
        let mut back = Probe::<Repaired>::returning(2, &View::dense(1, 4), &CONFIG, None);
        back.timer(Timer::Back);
        back.receive(3, Ask(OF_3));
        let asks = back.receive(3, tell(Epoch(10), false));
        assert_eq!(asks[1..], [1, 3, 4].map(|other| Sent(other, Ask(Epoch(13)))));
    }

    #[test]
    fn who_is_trusted_again_is_let_in_by_the_next_live_member_after_it() {
        let mut process = initiator();
        process.receive(1, tell(OF_3, false));
        process.receive(4, tell(OF_3, false));
        let above = Epoch(10);
        let asks = [1, 2, 4].map(|other| Sent(other, Ask(above)));
        assert_eq!(process.hear(Trusts(ProcessId(2)))[1..], asks);
    }

    #[test]
    fn false_suspicion_makes_two_holders_and_the_fence_tells_them_apart() {
        let (mut suspect, mut process) = (holder(2), initiator());
        process.command(Command::Enter);
        for other in [1, 4] {
            process.receive(other, tell(OF_3, false));
        }
        assert_eq!(process.receive(1, token(OF_3, 0)), [entered(OF_3, 1)]);
        assert!(OF_3.fence(Fence(1)) > Fence(5), "that of the one who was in before");
        let left = [Sent(3, token(Epoch(0), 5)), Told(Notice::Left)];
        assert_eq!(suspect.command(Command::Leave), left);
        assert!(process.ignores(input(2, token(Epoch(0), 5))), "its token is taken by nobody");
    }

    #[test]
    fn who_was_let_in_again_while_it_was_in_leaves_whoever_has_the_token() {
        let mut suspect = holder(2);
        suspect.receive(3, Ask(OF_3));
        suspect.receive(3, install(OF_3, &[3, 4, 1, 2], Some(4)));
        assert_eq!(suspect.command(Command::Leave), [Told(Notice::Left)]);
    }

    #[test]
    fn it_says_whom_it_waits_for() {
        let mut process_1 = process(1);
        process_1.command(Command::Enter);
        assert_eq!(process_1.waits_for(), [4], "the token comes from there");
        process_1.receive(3, Ask(OF_3));
        assert_eq!(process_1.waits_for(), [3], "it will install the ring");
        let mut initiator = initiator();
        assert_eq!(initiator.waits_for(), [1, 4]);
        initiator.receive(1, tell(OF_3, false));
        assert_eq!(initiator.waits_for(), [4]);
    }

    #[test]
    fn what_makes_no_sense_is_ignored() {
        let process = process(2);
        assert!(process.ignores(Input::Command(Command::Leave)));
        assert!(process.ignores(Input::Timer(Timer::Back)));
        assert!(process.ignores(input(3, tell(OF_3, true))));
        assert!(process.ignores(input(3, install(OF_3, &[3, 2], None))), "it was not asked");
        assert!(process.ignores(Input::Word(Suspects(ProcessId(9)))));
    }
}
