//! ZooKeeper style: stand in line at a store, and have the first of the line confirmed.
//!
//! **Idea.** A store, one more process, keeps a line. Each candidate has one entry in it, with a
//! number that only grows, which goes when nothing was heard of the candidate for a session time.
//! Who has the lowest number is to lead. Each candidate watches the entry next below its own; when
//! that goes, it reads its place anew, and claims to lead only if nobody is below. A claim is in a
//! new epoch, and is confirmed by a majority of the candidates.
//!
//! **Assumes** that the store does not fail, and that what is persisted survives a crash. Messages
//! may be lost, doubled, late or out of order, candidates may crash, return, stop and go on. To be
//! live it needs a majority of candidates that are up and can reach the store and each other well
//! within a session; one that only the store can hear keeps its place and leads nobody.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `create` | "here is a new session of mine, make its entry" | candidate to store |
//! | `read` | "what is my place?" | candidate to store |
//! | `place` | "your number, and that of the entry you watch" | answer to both |
//! | `gone` | "the entry you watch is gone" | store to those who watch it |
//! | `new-leader` | "I claim to lead in this epoch" | first in line to all others |
//! | `ack` | "nobody else gets my word in this epoch" | answer to it |
//! | `nack` | "I know a higher epoch, or gave my word to another" | in place of an ack |
//! | `commit` | "I lead in this epoch" | once a majority has acknowledged, to all others |
//! | `ping`, `pong` | "I am alive", "so be it, and this is your place" | thrice per session |
//! | `closed` | "that session is over" | in place of `pong` and `place` |
//! | `leading` | "I still lead in this epoch" | leader to all others, thrice per session |
//!
//! **Cost.** 3(N-1) messages from a claim until all know: `new-leader`, `ack`, `commit`; 3 delays.
//! From the very start there are two more, to get into the line. A death wakes one other.
//!
//! **Variant.** With [`Watch::Lowest`] everybody watches the lowest entry, which is the first thing
//! that comes to mind. Then the leader's death wakes all N-1 others, of whom one is to lead: the
//! herd.
//!
//! **Not as in some notes**, which let the highest number lead and each watch the next higher one:
//! then every newcomer would depose the leader.
//!
//! **Why there is one leader per epoch.** A candidate acknowledges one claim per epoch, and
//! persists which before it says so; it takes an epoch above all that it has acknowledged for its
//! own claim, and persists that it has acknowledged itself. Two majorities share a candidate. The
//! line alone would not do: the first in line may not know yet that its session was closed.
//!
//! Two may lead at a time, in different epochs: one whose session is over leads until it learns of
//! that or of the higher epoch. Who must not obey it looks at the epoch.
//!
//! **Why somebody leads in the end.** Numbers only grow, so the first in line stays first for as
//! long as its session lasts. If its claim is not confirmed in time, since words were lost or three
//! claims split the others, it reads its place again after a random wait, and claims in a higher
//! epoch. What the store sends may be lost: each `pong` says the same again. What the leader says
//! may be lost: `leading` says the same again.
//!
//! **Source.** P. Hunt et al., *ZooKeeper: Wait-free coordination for Internet-scale systems*,
//! USENIX ATC 2010, section 2.4 (locks without the herd effect); F. Junqueira et al., *Zab*, DSN
//! 2011 (epochs, `NEWLEADER`).

#[cfg(test)]
mod mutants;
#[cfg(test)]
mod zookeeper_test;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::election::{self, Command, Elections, Notice, Term};
use conclave_core::{
    Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Renaming, SeatSet, Start,
    Symmetry, View,
};

use crate::catalogue::{
    Bounds, Cost, Entry as About, Measure, Needs, Places, SERVER, Seating, Setting,
};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Here is a new session of mine: make its entry.
    Create(u64),
    /// What is my place, in that session?
    Read(u64),
    /// Your place, in that session.
    Place(u64, Place),
    /// The entry that you watch, in that session, is gone.
    Gone(u64),
    /// I claim to lead in this epoch.
    NewLeader(Term),
    /// Nobody else gets my word in this epoch.
    Ack(Term),
    /// I know of this epoch, and have given my word.
    Nack(Term),
    /// I lead in this epoch, and a majority knows.
    Commit(Term),
    /// I am alive, in that session. The number counts how often I said so.
    Ping(u64, u64),
    /// So be it; and this is your place.
    Pong(u64, u64, Place),
    /// That session is over.
    Closed(u64),
    /// I still lead in this epoch.
    Leading(Term),
}

/// A place in the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// The number of the entry.
    pub number: u64,
    /// The lower entry that is watched; none if there is no lower one.
    pub watched: Option<u64>,
}

/// What a crash does not lose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stored {
    /// Its latest session.
    pub session: u64,
    /// The highest epoch that it has acknowledged.
    pub epoch: Term,
    /// Whose claim that was.
    pub claimant: Option<ProcessId>,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// The store has not heard of that candidate for a session.
    Session(ProcessId),
    /// A candidate says that it is alive.
    Ping,
    /// A session has passed since that ping was sent. Ping 0 is the creation.
    Unanswered(u64),
    /// The claim was not confirmed in time.
    Claim,
    /// The leader says that it leads.
    Beat,
    /// Nothing was heard of the leader for two sessions.
    Silence,
}

/// What a process knows before it starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Which part it plays.
    pub part: Part,
    /// How long a session lasts without a word.
    pub session: Duration,
    /// Whom each candidate watches.
    pub watch: Watch,
}

/// Which part a process plays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// It keeps the line, and is no candidate.
    Store,
    /// It asks this store.
    Candidate(ProcessId),
}

/// Which entry a candidate watches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Watch {
    /// The one next below its own.
    NextLower,
    /// The lowest of all: a herd.
    Lowest,
}

/// One process: the store, or a candidate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ZooKeeper {
    me: ProcessId,
    view: View,
    #[cfg_attr(feature = "serde", serde(skip))]
    config: Config,
    role: Role,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Store(Store),
    Candidate(Candidate),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Store {
    /// The highest number given so far.
    last: u64,
    /// The line, by number.
    line: BTreeMap<u64, Entry>,
    /// The latest session of each candidate, and its number while it is open.
    sessions: BTreeMap<ProcessId, (u64, Option<u64>)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Entry {
    owner: ProcessId,
    /// Which entry its owner watches; it is in the line, and lower.
    watched: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Candidate {
    /// Whom it asks for its place.
    store: ProcessId,
    stored: Stored,
    /// The highest epoch heard of.
    seen: Term,
    /// The highest epoch in which somebody is known to have led.
    committed: Term,
    /// The latest ping that was sent, and the latest that was answered.
    pings: (u64, u64),
    /// Whether its entry is in the line, as far as it knows.
    is_placed: bool,
    /// Whether nobody is below it; that stays so as long as its session lasts.
    is_first: bool,
    told: Told,
    standing: Standing,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Told {
    Electing,
    Elected(ProcessId, Term),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Standing {
    Waiting {
        /// Whether it has asked the store, and is to lead if nobody is below.
        asking: bool,
    },
    Claiming {
        epoch: Term,
        /// Who has acknowledged; never a majority.
        acks: SeatSet,
        /// Whether it has waited long enough, and asked the store before it claims anew.
        asking: bool,
    },
    Leading(Term),
}

/// Each watches the next lower one.
pub const PLAIN: About = About {
    name: "zookeeper",
    title: "ZooKeeper style",
    citation: "Hunt et al., USENIX ATC 2010, section 2.4; Junqueira et al., DSN 2011",
    summary: "a store (process 0) keeps a line; its first is confirmed by a majority",
    family: <Elections as Family>::NAME,
    promises: election::TERMS,
    needs: Needs { coordinator: true, majority: true, storage: true, ..Needs::NOTHING },
    settings: &[Setting::Bound, Setting::Session],
    crash: "leader: the next in line, once its session is over; store: excluded",
    problems: "a store that must not fail; no leader without a majority",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &[],
    searches: &[
        Bounds::of(2, 1).up_to(3, 3),
        Bounds::of(2, 1).crashes(1).returns(1).up_to(3, 2).large(),
        Bounds::of(3, 1).up_to(2, 1).large(),
        Bounds::of(3, 1).up_to(3, 2).beyond(),
    ],
    costs: &[
        Cost::exactly(Measure::ElectionLone, "3(N-1)", |size| 3.0 * (size.n - 1.0)),
        Cost::exactly(Measure::TurnaroundLone, "3", |_| 3.0),
        Cost::exactly(Measure::Herd, "1", |_| 1.0),
    ],
    remarks: &[],
};

/// All watch the lowest one.
pub const HERD: About = About {
    name: "zookeeper-herd",
    title: "ZooKeeper style, all watching the leader",
    summary: "as zookeeper, but the leader's death wakes everybody",
    problems: "as zookeeper, no leader without a majority; a leader's death wakes everybody",
    costs: &[
        Cost::exactly(Measure::ElectionLone, "3(N-1)", |size| 3.0 * (size.n - 1.0)),
        Cost::exactly(Measure::TurnaroundLone, "3", |_| 3.0),
        Cost::exactly(Measure::Herd, "N-1", |size| size.n - 1.0),
    ],
    searches: &[Bounds::of(2, 1).up_to(3, 3), Bounds::of(3, 1).up_to(2, 1).large()],
    ..PLAIN
};

/// What each knows before it starts: one is the store, and the others go by its numbers.
pub fn configs(seating: &Seating<'_>, watch: Watch) -> Vec<Config> {
    let session = seating.timing.session();
    let config = |part| Config { part, session, watch };
    seating.roles(config(Part::Store), config(Part::Candidate(SERVER)))
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::store("create"),
        Kind::store("read"),
        Kind::store("place"),
        Kind::wake("gone"),
        Kind::elect("new-leader"),
        Kind::elect("ack"),
        Kind::elect("nack"),
        Kind::elect("commit"),
        Kind::upkeep("ping"),
        Kind::upkeep("pong"),
        Kind::upkeep("closed"),
        Kind::upkeep("leading"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::Create(_) => 0,
            Message::Read(_) => 1,
            Message::Place(..) => 2,
            Message::Gone(_) => 3,
            Message::NewLeader(_) => 4,
            Message::Ack(_) => 5,
            Message::Nack(_) => 6,
            Message::Commit(_) => 7,
            Message::Ping(..) => 8,
            Message::Pong(..) => 9,
            Message::Closed(_) => 10,
            Message::Leading(_) => 11,
        }
    }
}

impl Protocol for ZooKeeper {
    type Family = Elections;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = Stored;
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let (me, view, config) = (start.me, start.view.clone(), *start.config);
        let Part::Candidate(store) = config.part else {
            let (line, sessions) = (BTreeMap::new(), BTreeMap::new());
            let role = Role::Store(Store { last: 0, line, sessions });
            return Self { me, view, config, role };
        };
        let candidate = Candidate {
            store,
            stored: start.stored.copied().unwrap_or_default(),
            seen: Term::NONE,
            committed: Term::NONE,
            pings: (0, 0),
            is_placed: false,
            is_first: false,
            told: Told::Electing,
            standing: Standing::Waiting { asking: true },
        };
        let mut process = Self { me, view, config, role: Role::Candidate(candidate) };
        out.notify(Notice::Electing);
        process.open_session(out);
        process
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (&self.role, input) {
            // The store's rules.
            (Role::Store(_), Input::Message { from, message: Message::Create(session) }) => {
                self.on_create(from, session, out);
            }
            (Role::Store(_), Input::Message { from, message: Message::Read(session) }) => {
                self.on_read(from, session, out);
            }
            (Role::Store(_), Input::Message { from, message: Message::Ping(session, ping) }) => {
                self.on_ping(from, session, ping, out);
            }
            (Role::Store(_), Input::Timer(Timer::Session(owner))) => {
                out.rule("has not heard of it for a session, and closes it");
                self.close(owner, out);
            }
            // The candidate's rules at the store.
            (Role::Candidate(candidate), Input::Message { message, .. })
                if message.session().is_some_and(|it| it != candidate.stored.session) =>
            {
                out.rule("has no use for word on an earlier session");
            }
            (Role::Candidate(_), Input::Message { message: Message::Place(_, place), .. }) => {
                self.on_place(place, out);
            }
            (Role::Candidate(_), Input::Message { message: Message::Pong(_, ping, place), .. }) => {
                self.on_pong(ping, place, out);
            }
            (Role::Candidate(_), Input::Message { message: Message::Gone(_), .. }) => {
                out.rule("is woken");
                self.ask_for_place(out);
            }
            (Role::Candidate(_), Input::Message { message: Message::Closed(_), .. }) => {
                out.rule("learns that its session is over");
                self.lose_session(out);
            }
            (Role::Candidate(_), Input::Timer(Timer::Ping)) => self.ping(out),
            (Role::Candidate(candidate), Input::Timer(Timer::Unanswered(ping)))
                if candidate.pings.1 == ping =>
            {
                out.rule("has had no answer for a session, and gives it up");
                self.lose_session(out);
            }
            (Role::Candidate(candidate), Input::Command(Command::Call))
                if !matches!(candidate.told, Told::Elected(..)) =>
            {
                out.rule("is called, and looks whether it is its turn");
                self.ask_for_place(out);
            }
            // The candidate's rules among candidates.
            (Role::Candidate(_), Input::Timer(Timer::Claim)) => self.on_claim_in_vain(out),
            (Role::Candidate(_), Input::Message { from, message: Message::NewLeader(epoch) }) => {
                self.on_claim(from, epoch, out);
            }
            (Role::Candidate(_), Input::Message { from, message: Message::Ack(epoch) }) => {
                self.on_ack(from, epoch, out);
            }
            (Role::Candidate(_), Input::Message { message: Message::Nack(epoch), .. }) => {
                self.on_nack(epoch, out);
            }
            (
                Role::Candidate(_),
                Input::Message { from, message: Message::Commit(epoch) | Message::Leading(epoch) },
            ) => self.on_leader(from, epoch, out),
            (Role::Candidate(_), Input::Timer(Timer::Beat)) => self.beat(out),
            (Role::Candidate(_), Input::Timer(Timer::Silence)) => self.on_silence(out),
            (Role::Candidate(_), Input::Command(Command::Read | Command::Write(_))) => {
                out.rule("keeps no value");
                out.notify(Notice::Refused);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match &self.role {
            Role::Store(store) => store.invariants(),
            Role::Candidate(candidate) => {
                let leads = matches!(candidate.told, Told::Elected(who, _) if who == self.me);
                match &candidate.standing {
                    Standing::Waiting { .. } if leads => Err("it said that it leads, and does not"),
                    Standing::Claiming { epoch, .. } | Standing::Leading(epoch)
                        if *epoch > candidate.stored.epoch =>
                    {
                        Err("it did not give its own word to its claim")
                    }
                    Standing::Claiming { .. } | Standing::Leading(_) if !candidate.is_first => {
                        Err("it claims to lead, and somebody is below it")
                    }
                    Standing::Claiming { acks, .. } if self.is_majority(acks) => {
                        Err("a majority acknowledged, and it does not lead")
                    }
                    Standing::Leading(epoch)
                        if candidate.told != Told::Elected(self.me, *epoch) =>
                    {
                        Err("it leads, and did not say so")
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn epoch(&self) -> u64 {
        match &self.role {
            Role::Store(_) => 0,
            Role::Candidate(candidate) => candidate.stored.epoch.max(candidate.seen).0,
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        let Role::Candidate(candidate) = &self.role else { return Vec::new() };
        match &candidate.standing {
            Standing::Claiming { acks, .. } => {
                let is_silent =
                    |id: &ProcessId| self.view.seat(*id).is_some_and(|seat| !acks.contains(seat));
                self.rivals().filter(is_silent).collect()
            }
            Standing::Waiting { .. } if candidate.told == Told::Electing => vec![candidate.store],
            _ => Vec::new(),
        }
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        Some(&Alike)
    }
}

/// Candidates are interchangeable: the line goes by numbers, which the store gives in the order in
/// which they ask, and majorities are counted. The store keeps its name.
struct Alike;

impl Symmetry<ZooKeeper> for Alike {
    fn process(&self, process: &ZooKeeper, names: &Renaming) -> ZooKeeper {
        let mut process = process.clone();
        process.me = names.id(process.me);
        match &mut process.role {
            Role::Store(store) => {
                for entry in store.line.values_mut() {
                    entry.owner = names.id(entry.owner);
                }
                let sessions = core::mem::take(&mut store.sessions).into_iter();
                store.sessions = sessions.map(|(id, session)| (names.id(id), session)).collect();
            }
            Role::Candidate(candidate) => {
                candidate.stored = self.stored(&candidate.stored, names);
                if let Told::Elected(leader, _) = &mut candidate.told {
                    *leader = names.id(*leader);
                }
                if let Standing::Claiming { acks, .. } = &mut candidate.standing {
                    *acks = names.set(acks);
                }
            }
        }
        process
    }

    fn timer(&self, timer: Timer, names: &Renaming) -> Timer {
        match timer {
            Timer::Session(owner) => Timer::Session(names.id(owner)),
            own => own,
        }
    }

    fn stored(&self, stored: &Stored, names: &Renaming) -> Stored {
        Stored { claimant: stored.claimant.map(|id| names.id(id)), ..*stored }
    }
}

impl Message {
    /// Of which session it is word from the store, if it is.
    fn session(&self) -> Option<u64> {
        match *self {
            Message::Place(session, _)
            | Message::Gone(session)
            | Message::Pong(session, ..)
            | Message::Closed(session) => Some(session),
            _ => None,
        }
    }
}

/// The store's rules.
impl ZooKeeper {
    fn on_create(&mut self, from: ProcessId, session: u64, out: &mut Effects<Self>) {
        let Role::Store(store) = &mut self.role else { return };
        let latest = store.sessions.get(&from).map_or(0, |&(latest, _)| latest);
        if session > latest {
            out.rule("opens the session, and puts its entry at the end of the line");
            self.close(from, out);
            let Role::Store(store) = &mut self.role else { return };
            store.last += 1;
            store.line.insert(store.last, Entry { owner: from, watched: None });
            store.sessions.insert(from, (session, Some(store.last)));
        }
        self.on_read(from, session, out);
    }

    fn on_read(&mut self, from: ProcessId, session: u64, out: &mut Effects<Self>) {
        match self.look_up(from, session, out) {
            Some(place) => out.send(from, Message::Place(session, place)),
            None => out.send(from, Message::Closed(session)),
        }
    }

    fn on_ping(&mut self, from: ProcessId, session: u64, ping: u64, out: &mut Effects<Self>) {
        match self.look_up(from, session, out) {
            Some(place) => out.send(from, Message::Pong(session, ping, place)),
            None => out.send(from, Message::Closed(session)),
        }
    }

    /// The place of an open session, which lives on; its watch is set in the same step, so that
    /// nothing can go unseen in between.
    fn look_up(&mut self, from: ProcessId, session: u64, out: &mut Effects<Self>) -> Option<Place> {
        let Role::Store(store) = &mut self.role else { return None };
        let number = match store.sessions.get(&from) {
            Some(&(latest, Some(number))) if latest == session => number,
            _ => {
                out.rule("says that the session is over");
                return None;
            }
        };
        out.rule("says its place, and notes that the other watches the entry before it");
        out.set_timer(Timer::Session(from), self.config.session);
        let mut below = store.line.range(..number).map(|(&number, _)| number);
        let watched = match self.config.watch {
            Watch::NextLower => below.next_back(),
            Watch::Lowest => below.next(),
        };
        if let Some(entry) = store.line.get_mut(&number) {
            entry.watched = watched;
        }
        Some(Place { number, watched })
    }

    /// Closes the session, if it is open; its entry goes with it, and who watches that is told.
    fn close(&mut self, owner: ProcessId, out: &mut Effects<Self>) {
        let Role::Store(store) = &mut self.role else { return };
        let Some(gone) = store.sessions.get_mut(&owner).and_then(|it| it.1.take()) else { return };
        out.cancel_timer(Timer::Session(owner));
        store.line.remove(&gone);
        for entry in store.line.values_mut().filter(|entry| entry.watched == Some(gone)) {
            entry.watched = None;
            if let Some(&(session, _)) = store.sessions.get(&entry.owner) {
                out.send(entry.owner, Message::Gone(session));
            }
        }
    }
}

impl Store {
    fn invariants(&self) -> Result<(), &'static str> {
        let open = self.sessions.values().filter(|session| session.1.is_some()).count();
        if open != self.line.len() {
            return Err("an entry has no session, or a session no entry");
        }
        for (&number, entry) in &self.line {
            if number > self.last {
                return Err("a number was not given yet");
            }
            if self.sessions.get(&entry.owner).is_none_or(|it| it.1 != Some(number)) {
                return Err("an entry is not that of its owner's session");
            }
            if entry.watched.is_some_and(|it| it >= number || !self.line.contains_key(&it)) {
                return Err("an entry is watched that is not there, or not lower");
            }
        }
        Ok(())
    }
}

/// The candidate's rules at the store.
impl ZooKeeper {
    fn open_session(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        out.rule("opens a session, and gets into the line");
        // Persisted, so that a returned candidate is not taken for the one that it was.
        candidate.stored.session += 1;
        out.persist(candidate.stored);
        (candidate.pings, candidate.is_placed, candidate.is_first) = ((0, 0), false, false);
        candidate.standing = Standing::Waiting { asking: true };
        out.set_timer(Timer::Unanswered(0), self.config.session);
        out.set_timer(Timer::Ping, self.config.session / 3);
        out.send(candidate.store, Message::Create(candidate.stored.session));
    }

    fn lose_session(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        for ping in candidate.pings.1..=candidate.pings.0 {
            out.cancel_timer(Timer::Unanswered(ping));
        }
        if matches!(candidate.standing, Standing::Leading(_)) {
            self.vacate(out);
        }
        out.cancel_timer(Timer::Claim);
        out.cancel_timer(Timer::Beat);
        self.open_session(out);
    }

    /// Knows no leader any more, and takes part in what comes.
    fn vacate(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        candidate.told = Told::Electing;
        out.notify(Notice::Vacant);
        out.notify(Notice::Electing);
    }

    fn ping(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        let session = candidate.stored.session;
        out.set_timer(Timer::Ping, self.config.session / 3);
        if !candidate.is_placed {
            out.rule("asks again for its entry");
            out.send(candidate.store, Message::Create(session));
            return;
        }
        out.rule("says that it is alive");
        candidate.pings.0 += 1;
        out.set_timer(Timer::Unanswered(candidate.pings.0), self.config.session);
        out.send(candidate.store, Message::Ping(session, candidate.pings.0));
    }

    fn on_pong(&mut self, ping: u64, place: Place, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        for earlier in candidate.pings.1..ping {
            out.cancel_timer(Timer::Unanswered(earlier));
        }
        candidate.pings.1 = candidate.pings.1.max(ping);
        self.on_place(place, out);
    }

    fn ask_for_place(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        match &mut candidate.standing {
            Standing::Waiting { asking } if candidate.is_placed => *asking = true,
            _ => return,
        }
        out.send(candidate.store, Message::Read(candidate.stored.session));
    }

    fn on_place(&mut self, place: Place, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        candidate.is_placed = true;
        let is_news = place.watched.is_none() && !candidate.is_first;
        candidate.is_first |= is_news;
        match &mut candidate.standing {
            Standing::Waiting { asking } if candidate.is_first && (*asking || is_news) => {
                self.claim(out);
            }
            Standing::Waiting { asking } => {
                out.rule("notes its place");
                *asking = false;
            }
            Standing::Claiming { asking: true, .. } => self.claim(out),
            Standing::Claiming { .. } | Standing::Leading(_) => out.rule("is still the first"),
        }
    }
}

/// The candidate's rules among candidates.
impl ZooKeeper {
    fn rivals(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let is_store = |id: ProcessId| self.config.part == Part::Candidate(id);
        self.view.others(self.me).filter(move |&id| !is_store(id))
    }

    /// The store has no say in it.
    fn is_majority(&self, acks: &SeatSet) -> bool {
        2 * acks.len() > self.view.len() - 1
    }

    fn claim(&mut self, out: &mut Effects<Self>) {
        let mut acks = SeatSet::empty(self.view.len());
        if let Some(seat) = self.view.seat(self.me) {
            acks.insert(seat);
        }
        let Role::Candidate(candidate) = &mut self.role else { return };
        out.rule("is the first in line, and claims to lead in a new epoch");
        let epoch = candidate.stored.epoch.max(candidate.seen).next();
        candidate.stored = Stored { epoch, claimant: Some(self.me), ..candidate.stored };
        out.persist(candidate.stored);
        if candidate.told != Told::Electing {
            candidate.told = Told::Electing;
            out.notify(Notice::Electing);
        }
        candidate.standing = Standing::Claiming { epoch, acks, asking: false };
        out.cancel_timer(Timer::Silence);
        // By chance, so that claims that split the others come one after the other.
        let session = self.config.session;
        out.set_timer_within(Timer::Claim, session / 4..=session);
        out.multicast(self.rivals(), &Message::NewLeader(epoch));
        self.lead_with_a_majority(out);
    }

    fn on_claim_in_vain(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        let Standing::Claiming { asking, .. } = &mut candidate.standing else { return };
        out.rule("was not confirmed in time, and looks whether it is still the first");
        *asking = true;
        out.send(candidate.store, Message::Read(candidate.stored.session));
    }

    fn on_claim(&mut self, from: ProcessId, epoch: Term, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        let stored = &mut candidate.stored;
        if epoch > stored.epoch {
            out.rule("acknowledges, and will do so for nobody else in this epoch");
            *stored = Stored { epoch, claimant: Some(from), ..*stored };
            out.persist(*stored);
            out.send(from, Message::Ack(epoch));
        } else if epoch == stored.epoch && stored.claimant == Some(from) {
            out.rule("acknowledges once more");
            out.send(from, Message::Ack(epoch));
        } else {
            out.rule("has given its word in this epoch or a later one");
            out.send(from, Message::Nack(stored.epoch));
        }
    }

    fn on_ack(&mut self, from: ProcessId, epoch: Term, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        match (&mut candidate.standing, self.view.seat(from)) {
            (Standing::Claiming { epoch: claimed, acks, .. }, Some(seat)) if *claimed == epoch => {
                out.rule("counts the acknowledgement");
                acks.insert(seat);
                self.lead_with_a_majority(out);
            }
            _ => out.rule("has no use for this"),
        }
    }

    fn on_nack(&mut self, epoch: Term, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        out.rule("notes the other's epoch");
        candidate.seen = candidate.seen.max(epoch);
    }

    fn lead_with_a_majority(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &self.role else { return };
        let epoch = match &candidate.standing {
            Standing::Claiming { epoch, acks, .. } if self.is_majority(acks) => *epoch,
            _ => return,
        };
        out.rule("is confirmed by a majority: it leads, and says so");
        let Role::Candidate(candidate) = &mut self.role else { return };
        candidate.standing = Standing::Leading(epoch);
        candidate.committed = candidate.committed.max(epoch);
        candidate.told = Told::Elected(self.me, epoch);
        out.cancel_timer(Timer::Claim);
        out.notify(Notice::Elected { leader: self.me, term: epoch });
        out.set_timer(Timer::Beat, self.config.session / 3);
        out.multicast(self.rivals(), &Message::Commit(epoch));
    }

    fn beat(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate(Candidate { standing: Standing::Leading(epoch), .. }) = &self.role
        else {
            return;
        };
        out.rule("says that it still leads");
        out.set_timer(Timer::Beat, self.config.session / 3);
        out.multicast(self.rivals(), &Message::Leading(*epoch));
    }

    fn on_leader(&mut self, from: ProcessId, epoch: Term, out: &mut Effects<Self>) {
        let Role::Candidate(candidate) = &mut self.role else { return };
        let own = match candidate.standing {
            Standing::Waiting { .. } => Term::NONE,
            Standing::Claiming { epoch, .. } | Standing::Leading(epoch) => epoch,
        };
        if epoch < own.max(candidate.committed) {
            out.rule("knows of a later epoch");
            return;
        }
        out.rule("follows the leader");
        if own > Term::NONE {
            candidate.standing = Standing::Waiting { asking: false };
            out.cancel_timer(Timer::Claim);
            out.cancel_timer(Timer::Beat);
        }
        candidate.seen = candidate.seen.max(epoch);
        candidate.committed = epoch;
        out.set_timer(Timer::Silence, 2 * self.config.session);
        if candidate.told != Told::Elected(from, epoch) {
            candidate.told = Told::Elected(from, epoch);
            out.notify(Notice::Elected { leader: from, term: epoch });
        }
    }

    fn on_silence(&mut self, out: &mut Effects<Self>) {
        out.rule("has not heard of the leader for long");
        self.vacate(out);
        self.ask_for_place(out);
    }
}
