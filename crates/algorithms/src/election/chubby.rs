//! Chubby style: a master by majority vote, for as long as its lease lasts.
//!
//! **Idea.** A candidate asks everybody for a vote. Each server gives one vote per term, and with
//! it a promise: no vote to anybody else for a while. A majority of votes makes a master, and the
//! promises are its lease. It asks for them anew, again and again, while a majority answers; when
//! none does, its lease runs out, and it steps down before anybody else can be elected. So one
//! leads at a time, the master can answer reads alone, and a write is done once a majority has it.
//!
//! **Assumes** that what is persisted survives a crash, and that the fastest clock runs at most
//! [`MARGIN_PERCENT`] percent faster than the slowest. Nothing else is needed to be safe: messages
//! may be lost, doubled, late or out of order, servers may crash, return, stop and go on. To be
//! live it needs a majority that is up, and messages that mostly arrive well within the lease.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `vote-request` | "let me be the master of this term" | candidate to all |
//! | `vote` | "be it; and this is the value that I have stored" | voter to candidate |
//! | `refusal` | "no; and this is my term" | in place of a vote |
//! | `announcement` | "I am the master, and this is the value" | new master to all |
//! | `renewal` | "I am still the master" | master to all, four times per lease |
//! | `renewed` | "I still promise; and this is the state that I have stored" | answer to both |
//! | `write` | "store this" | master to all, and again to who lacks it |
//! | `stored` | "I did" | answer to it |
//! | `stale` | "your term is over, this is mine" | in place of `renewed` and `stored` |
//!
//! **Cost.** A lone candidate: N-1 vote requests, N-1 votes, N-1 announcements. It is the master
//! after one round, 2 delays, and all know after 3. Renewals are upkeep, 2(N-1) per round.
//!
//! **Time.** Promises are timers, and leases are [deadlines](Effects::set_deadline): a process that
//! was stopped and goes on takes in what waited for it in the order in which it came, and a request
//! that waited must not be answered by a lease that is long over. So the end of a lease comes in
//! before anything else that waits.
//!
//! **Why there is one master per term.** A server votes once per term, and persists the vote before
//! it sends it. A candidate votes for itself, in a term above all that it has seen, and persists
//! that before it asks. Two majorities share a server.
//!
//! **Why there is one master at a time.** Let M lead, by the answers of a majority to a round that
//! it sent at time s; it leads until s plus the lease. Let M' be elected later, by a majority of
//! votes. One server v did both. If v voted for M' first, its term was above that of M when the
//! round came, and it answered `stale`. So v answered M first, at or after s, and promised for the
//! lease and the margin. Its clock is at most that much faster, so its promise lasted longer than
//! the lease of M. Only then did v vote for M'. A server that returns does not know what it has
//! promised, and therefore neither votes nor campaigns before a full promise has passed. While it
//! promises, a server does not take up the term of another candidate either: it would then refuse
//! its own master.
//!
//! A master of a higher term is followed at once, whatever was promised to another: it was elected
//! by a majority, so the promises of that majority to the other were over, and as their terms are
//! higher now, the other's lease cannot be renewed.
//!
//! **Why reads and writes are one register.** A version is a term and a number within it. A write
//! is acknowledged when a majority has persisted it while in the master's term. A later master has
//! the vote of one of them, given afterwards, with that version or a higher one; it takes the
//! highest of its votes, stores it under its own term with a majority, and only then serves. So
//! what was acknowledged or read is part of every later state. The master reads from memory: while
//! its lease holds nobody else can have acknowledged anything. A write that is under way is not
//! read.
//!
//! **Source.** M. Burrows, *The Chubby lock service for loosely-coupled distributed systems*, OSDI
//! 2006, sections 2.1 and 4.1; leases after C. Gray and D. Cheriton, *Leases*, SOSP 1989.

#[cfg(test)]
mod chubby_test;
#[cfg(test)]
mod mutants;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::election::{self, Command, Elections, Notice, Term, Version};
use conclave_core::{
    Arrival, Effects, Family, Input, Kind, KindIndex, NoWord, ProcessId, Protocol, Renaming,
    SeatSet, Start, Symmetry, View,
};

use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places, Setting};

/// By how many percent the fastest clock may be faster than the slowest: a promise lasts that much
/// longer than a lease.
pub const MARGIN_PERCENT: u32 = 10;

/// What servers say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Let me be the master of this term.
    VoteRequest(Term),
    /// Be it; and this is what I have stored.
    Vote(Term, Register),
    /// No; and this is my term.
    Refusal(Term),
    /// I am the master of this term, and this is the value. It is renewal 1, too.
    Announcement(Term, Register),
    /// I am still the master of this term. The number counts my renewals.
    Renewal(Term, u64),
    /// I still promise, in answer to that renewal; and this is the state that I have stored.
    Renewed(Term, u64, Version),
    /// Store this value: from the master, in its term.
    Write(Term, Register),
    /// I have stored this state.
    Stored(Term, Version),
    /// Your term is over; this is mine.
    Stale(Term),
}

/// A value, and which state it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Register {
    /// Which state: the term of its master, and a number within the term.
    pub version: Version,
    /// What the application wrote.
    pub value: u64,
}

/// What a crash does not lose.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stored {
    /// The highest term that it voted or followed in.
    pub term: Term,
    /// Who has its vote in that term.
    pub vote: Option<ProcessId>,
    /// The value that it stored last.
    pub register: Register,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// The lease that this round would give, or gives, is over. Round 0 is that of the votes.
    Lease(u64),
    /// What this server promised is over.
    Promise,
    /// The master asks for its lease anew.
    Renew,
    /// Nobody leads: it is time to become a candidate.
    Campaign,
}

/// What the members agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// How long a master leads without hearing from a majority again, on its own clock.
    pub lease: Duration,
}

/// One server of a Chubby cell: a voter, and perhaps a candidate or the master.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Chubby {
    me: ProcessId,
    view: View,
    #[cfg_attr(feature = "serde", serde(skip))]
    config: Config,
    stored: Stored,
    /// The highest term heard of, if it is above that of `stored`.
    seen: Term,
    /// Who alone may get its vote; a candidate and a master promise to nobody but themselves.
    promise: Promise,
    /// What the application was told last.
    told: Told,
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Promise {
    /// Nothing was promised, or it is over.
    Nobody,
    /// This server returned, and does not know.
    Unknown,
    To(ProcessId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Told {
    Nothing,
    Electing,
    Elected(ProcessId, Term),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Role {
    Follower,
    Candidate {
        /// Who voted for it; never a majority.
        votes: SeatSet,
        /// The highest state of all votes.
        highest: Register,
    },
    Master(Master),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
struct Master {
    /// The latest round that a majority has answered: the lease rests on it.
    rests_on: u64,
    /// The latest round that was sent.
    round: u64,
    /// Rounds after `rests_on` that are not answered by a majority yet, and not too old: who has
    /// answered each.
    open: BTreeMap<u64, SeatSet>,
    /// The value that a majority has stored in this term, once there is one: what is read.
    safe: Option<Register>,
    /// Who has stored the latest value, which is that of `stored`.
    stored_by: SeatSet,
    /// Whether the application waits for the latest value to be safe.
    is_writing: bool,
}

/// What is said of it.
pub const ENTRY: Entry = Entry {
    name: "chubby",
    title: "Chubby style",
    citation: "Burrows, OSDI 2006, sections 2.1 and 4.1",
    summary: "a majority of votes makes a master, for as long as its lease is renewed",
    family: <Elections as Family>::NAME,
    promises: election::TERMS.and(election::ONE_AT_A_TIME),
    needs: Needs {
        majority: true,
        storage: true,
        clocks_percent: Some(MARGIN_PERCENT),
        ..Needs::NOTHING
    },
    settings: &[Setting::Bound, Setting::Lease],
    crash: "master: another, once its lease is over; a majority: nobody leads till it is back",
    problems: "no leader without a majority, nor while an old lease may last",
    crash_example: None,
    places: Places::Alike,
    kinds: <Message as conclave_core::Message>::KINDS,
    silent: &["write", "stored"],
    searches: &[
        Bounds::of(3, 1).up_to(3, 2),
        Bounds::of(3, 1).crashes(1).lossy().returns(1).up_to(2, 1),
        Bounds::of(3, 1).up_to(3, 3).large(),
        Bounds::of(3, 1).sync(1).losses(2).up_to(3, 3).large(),
        // Here a lease can end: a promise of half a lease would be found with 4 timeouts.
        Bounds::of(3, 1).by(2).sync(1).losses(2).up_to(2, 6).large(),
    ],
    costs: &[
        Cost::exactly(Measure::ElectionLone, "3(N-1)", |size| 3.0 * (size.n - 1.0)),
        Cost::exactly(Measure::TurnaroundLone, "3", |_| 3.0),
        Cost::exactly(Measure::Renewal, "2(N-1)", |size| 2.0 * (size.n - 1.0)),
    ],
    remarks: &[],
};

impl Register {
    /// This value, as the first state of a term.
    fn under(self, term: Term) -> Self {
        Self { version: Version(term.0 << 32), ..self }
    }

    /// Another value, as the next state of the same term.
    fn then(self, value: u64) -> Self {
        Self { version: Version(self.version.0 + 1), value }
    }
}

impl Config {
    /// How long a promise lasts: at least as long as the lease, by whatever clock.
    fn promise(self) -> Duration {
        self.lease + self.lease * MARGIN_PERCENT / 100
    }

    /// From renewal to renewal.
    fn renewal(self) -> Duration {
        self.lease / 4
    }
}

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::elect("vote-request"),
        Kind::elect("vote"),
        Kind::elect("refusal"),
        Kind::elect("announcement"),
        Kind::upkeep("renewal"),
        Kind::upkeep("renewed"),
        Kind::upkeep("write"),
        Kind::upkeep("stored"),
        Kind::upkeep("stale"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::VoteRequest(_) => 0,
            Message::Vote(..) => 1,
            Message::Refusal(_) => 2,
            Message::Announcement(..) => 3,
            Message::Renewal(..) => 4,
            Message::Renewed(..) => 5,
            Message::Write(..) => 6,
            Message::Stored(..) => 7,
            Message::Stale(_) => 8,
        }
    }
}

impl Protocol for Chubby {
    type Family = Elections;
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = Stored;
    type Word = NoWord;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let mut server = Self {
            me: start.me,
            view: start.view.clone(),
            config: *start.config,
            stored: start.stored.copied().unwrap_or_default(),
            seen: Term::NONE,
            promise: Promise::Nobody,
            told: Told::Nothing,
            role: Role::Follower,
        };
        match start.arrival {
            Arrival::Founding => {
                // Long enough for somebody who is called to be elected first.
                let lease = server.config.lease;
                out.set_timer_within(Timer::Campaign, lease..=lease + server.longest_wait());
            }
            Arrival::Returning => {
                out.rule("does not know what it promised, and waits until that is over");
                server.promise = Promise::Unknown;
                out.set_timer(Timer::Promise, server.config.promise());
            }
        }
        server
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (&self.role, input) {
            // Candidates.
            (Role::Follower, Input::Command(Command::Call) | Input::Timer(Timer::Campaign))
                if self.promise == Promise::Nobody =>
            {
                self.campaign(out);
            }
            (
                Role::Candidate { .. },
                Input::Message { from, message: Message::Vote(term, has) },
            ) if term == self.stored.term => {
                self.on_vote(from, has, out);
            }
            (_, Input::Message { message: Message::Refusal(term), .. }) => self.see(term, out),
            (Role::Candidate { .. }, Input::Timer(Timer::Lease(0))) => {
                out.rule("was not elected in time, and tries again later");
                self.step_down(out);
            }
            // Voters and followers.
            (_, Input::Message { from, message: Message::VoteRequest(term) }) => {
                self.on_vote_request(from, term, out);
            }
            (_, Input::Message { from, message: Message::Announcement(term, register) }) => {
                self.on_announcement(from, term, register, out);
            }
            (_, Input::Message { from, message: Message::Renewal(term, round) }) => {
                self.on_renewal(from, term, round, out);
            }
            (_, Input::Message { from, message: Message::Write(term, register) }) => {
                self.on_write(from, term, register, out);
            }
            (_, Input::Timer(Timer::Promise)) => self.on_promise_over(out),
            // The master.
            (Role::Master(_), Input::Timer(Timer::Renew)) => self.renew(out),
            (
                Role::Master(_),
                Input::Message { from, message: Message::Renewed(term, round, version) },
            ) if term == self.stored.term => self.on_renewed(from, round, version, out),
            (Role::Master(_), Input::Message { from, message: Message::Stored(term, version) })
                if term == self.stored.term =>
            {
                self.on_stored(from, version, out);
            }
            (Role::Master(_), Input::Timer(Timer::Lease(round))) => {
                self.on_lease_over(round, out);
            }
            (_, Input::Message { message: Message::Stale(term), .. }) => {
                self.see(term, out);
                if self.seen > self.stored.term && matches!(self.role, Role::Master(_)) {
                    out.rule("hears of a higher term, and steps down");
                    self.step_down(out);
                }
            }
            (_, Input::Command(Command::Read)) => self.read(out),
            (_, Input::Command(Command::Write(value))) => self.write(value, out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        let (term, vote) = (self.stored.term, self.stored.vote);
        if self.stored.register.version.0 >> 32 > term.0 {
            return Err("it has stored a value of a later term than its own");
        }
        if let Told::Elected(leader, _) = self.told
            && leader != self.me
            && self.promise != Promise::To(leader)
        {
            return Err("it knows a master to whom it promises nothing");
        }
        let is_own = vote == Some(self.me) && self.promise == Promise::Nobody;
        match &self.role {
            Role::Follower if matches!(self.told, Told::Elected(who, _) if who == self.me) => {
                Err("it said that it leads, and does not")
            }
            Role::Follower => Ok(()),
            _ if !is_own => Err("it wants to lead, and has promised to another"),
            Role::Candidate { votes, .. } if self.is_majority(votes) => {
                Err("a candidate has a majority")
            }
            Role::Candidate { .. } => Ok(()),
            Role::Master(_) if self.told != Told::Elected(self.me, term) => {
                Err("it leads, and did not say so")
            }
            Role::Master(master) if master.open.keys().any(|&round| round <= master.rests_on) => {
                Err("a round before that of the lease is open")
            }
            Role::Master(master) => match master.safe {
                Some(safe) if safe > self.stored.register => Err("the safe value is not stored"),
                Some(safe) if safe.version.0 >> 32 != term.0 => {
                    Err("a value of an earlier term is taken for safe")
                }
                _ => Ok(()),
            },
        }
    }

    fn epoch(&self) -> u64 {
        self.stored.term.max(self.seen).0
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match (&self.role, self.promise) {
            (Role::Candidate { votes, .. }, _) => {
                let is_silent =
                    |&id: &ProcessId| self.view.seat(id).is_some_and(|seat| !votes.contains(seat));
                self.view.others(self.me).filter(is_silent).collect()
            }
            (Role::Follower, Promise::To(other)) if self.told == Told::Electing => vec![other],
            _ => Vec::new(),
        }
    }

    fn symmetry() -> Option<&'static dyn Symmetry<Self>> {
        Some(&Alike)
    }
}

/// All servers are interchangeable: votes go to whoever asks first in a term, majorities are
/// counted, and what is compared is terms and versions.
struct Alike;

impl Symmetry<Chubby> for Alike {
    fn process(&self, process: &Chubby, names: &Renaming) -> Chubby {
        let mut server = process.clone();
        server.me = names.id(server.me);
        server.stored = self.stored(&server.stored, names);
        if let Promise::To(whom) = &mut server.promise {
            *whom = names.id(*whom);
        }
        if let Told::Elected(leader, _) = &mut server.told {
            *leader = names.id(*leader);
        }
        match &mut server.role {
            Role::Follower => {}
            Role::Candidate { votes, .. } => *votes = names.set(votes),
            Role::Master(master) => {
                for answers in master.open.values_mut() {
                    *answers = names.set(answers);
                }
                master.stored_by = names.set(&master.stored_by);
            }
        }
        server
    }

    fn stored(&self, stored: &Stored, names: &Renaming) -> Stored {
        Stored { vote: stored.vote.map(|id| names.id(id)), ..*stored }
    }
}

/// Of all servers.
impl Chubby {
    /// How long a master leads without hearing from a majority again.
    pub(crate) fn lease(&self) -> Duration {
        self.config.lease
    }

    fn is_majority(&self, set: &SeatSet) -> bool {
        2 * set.len() > self.view.len()
    }

    fn only_me(&self) -> SeatSet {
        let mut set = SeatSet::empty(self.view.len());
        if let Some(seat) = self.view.seat(self.me) {
            set.insert(seat);
        }
        set
    }

    /// The more may become candidates, the longer they wait, so that one is first.
    fn longest_wait(&self) -> Duration {
        let members = u32::try_from(self.view.len()).unwrap_or(u32::MAX);
        self.config.lease.saturating_mul(2 + members / 8)
    }

    fn wait_to_campaign(&self, out: &mut Effects<Self>) {
        out.set_timer_within(Timer::Campaign, Duration::ZERO..=self.longest_wait());
    }

    fn see(&mut self, term: Term, out: &mut Effects<Self>) {
        out.rule("notes the other's term");
        self.seen = self.seen.max(term);
    }

    fn tell(&mut self, leader: ProcessId, out: &mut Effects<Self>) {
        let told = Told::Elected(leader, self.stored.term);
        if self.told != told {
            self.told = told;
            out.notify(Notice::Elected { leader, term: self.stored.term });
        }
    }

    /// Ends a candidacy or a reign. What it granted to itself is void with it.
    fn step_down(&mut self, out: &mut Effects<Self>) {
        self.retire(out);
        if matches!(self.told, Told::Elected(..)) {
            self.told = Told::Nothing;
            out.notify(Notice::Vacant);
        }
        self.wait_to_campaign(out);
    }

    /// Becomes a follower, and leaves no timer and no request behind.
    fn retire(&mut self, out: &mut Effects<Self>) {
        match core::mem::replace(&mut self.role, Role::Follower) {
            Role::Follower => {}
            Role::Candidate { .. } => out.cancel_timer(Timer::Lease(0)),
            Role::Master(master) => {
                out.cancel_timer(Timer::Renew);
                for round in core::iter::once(master.rests_on).chain(master.open.into_keys()) {
                    out.cancel_timer(Timer::Lease(round));
                }
                if master.is_writing {
                    out.notify(Notice::Refused);
                }
            }
        }
    }
}

/// The candidate's rules.
impl Chubby {
    fn campaign(&mut self, out: &mut Effects<Self>) {
        out.rule("votes for itself in a new term, and asks all others");
        out.cancel_timer(Timer::Campaign);
        self.stored.term = self.stored.term.max(self.seen).next();
        self.stored.vote = Some(self.me);
        out.persist(self.stored);
        if self.told != Told::Electing {
            self.told = Told::Electing;
            out.notify(Notice::Electing);
        }
        self.role = Role::Candidate { votes: self.only_me(), highest: self.stored.register };
        // From now on, not from the answers: a voter's promise begins after this.
        out.set_deadline(Timer::Lease(0), self.config.lease);
        out.multicast(self.view.others(self.me), &Message::VoteRequest(self.stored.term));
        self.lead_with_a_majority(out);
    }

    fn on_vote(&mut self, from: ProcessId, has: Register, out: &mut Effects<Self>) {
        let Role::Candidate { votes, highest, .. } = &mut self.role else { return };
        out.rule("counts the vote");
        *highest = has.max(*highest);
        if let Some(seat) = self.view.seat(from) {
            votes.insert(seat);
        }
        self.lead_with_a_majority(out);
    }

    fn lead_with_a_majority(&mut self, out: &mut Effects<Self>) {
        let Role::Candidate { votes, highest } = &self.role else { return };
        if !self.is_majority(votes) {
            return;
        }
        out.rule("has a majority: it leads, and announces itself with the latest value");
        let term = self.stored.term;
        self.stored.register = highest.under(term);
        out.persist(self.stored);
        self.role = Role::Master(Master {
            rests_on: 0,
            round: 0,
            open: BTreeMap::new(),
            safe: None,
            stored_by: self.only_me(),
            is_writing: false,
        });
        self.tell(self.me, out);
        let announcement = Message::Announcement(term, self.stored.register);
        self.send_round(&announcement, out);
        self.note_what_is_safe(out);
    }
}

/// The voter's and the follower's rules.
impl Chubby {
    fn on_vote_request(&mut self, from: ProcessId, term: Term, out: &mut Effects<Self>) {
        let is_bound = match self.promise {
            Promise::Nobody => matches!(self.role, Role::Master(_)),
            Promise::Unknown => true,
            Promise::To(other) => other != from,
        };
        let is_given = term == self.stored.term && self.stored.vote != Some(from);
        if is_bound || is_given || term < self.stored.term {
            out.rule("refuses, for it has promised or voted otherwise");
            out.send(from, Message::Refusal(self.stored.term));
            return;
        }
        out.rule("votes, and promises to vote for nobody else");
        self.retire(out);
        self.adopt(from, term, out);
        out.send(from, Message::Vote(term, self.stored.register));
    }

    fn on_announcement(
        &mut self,
        from: ProcessId,
        term: Term,
        register: Register,
        out: &mut Effects<Self>,
    ) {
        if self.follows(from, term, out) {
            self.store(register, out);
            out.send(from, Message::Renewed(term, 1, self.stored.register.version));
        }
    }

    fn on_renewal(&mut self, from: ProcessId, term: Term, round: u64, out: &mut Effects<Self>) {
        if self.follows(from, term, out) {
            out.rule("promises anew");
            out.send(from, Message::Renewed(term, round, self.stored.register.version));
        }
    }

    fn on_write(
        &mut self,
        from: ProcessId,
        term: Term,
        register: Register,
        out: &mut Effects<Self>,
    ) {
        if self.follows(from, term, out) {
            self.store(register, out);
            out.send(from, Message::Stored(term, self.stored.register.version));
        }
    }

    /// Whether the sender is the master; then it is followed, whatever was promised to another.
    fn follows(&mut self, from: ProcessId, term: Term, out: &mut Effects<Self>) -> bool {
        if term < self.stored.term {
            out.rule("says that there is a later term");
            out.send(from, Message::Stale(self.stored.term));
            return false;
        }
        self.retire(out);
        self.adopt(from, term, out);
        self.tell(from, out);
        true
    }

    /// Votes for `whom`, or finds it elected: in either case nobody else gets a vote for a while.
    fn adopt(&mut self, whom: ProcessId, term: Term, out: &mut Effects<Self>) {
        let stored = Stored { term, vote: Some(whom), ..self.stored };
        if self.stored != stored {
            self.stored = stored;
            out.persist(stored);
        }
        self.promise = Promise::To(whom);
        out.cancel_timer(Timer::Campaign);
        out.set_timer(Timer::Promise, self.config.promise());
    }

    fn store(&mut self, register: Register, out: &mut Effects<Self>) {
        if register.version <= self.stored.register.version {
            out.rule("has stored this already");
            return;
        }
        out.rule("stores the value");
        self.stored.register = register;
        out.persist(self.stored);
    }

    fn on_promise_over(&mut self, out: &mut Effects<Self>) {
        out.rule("is bound by no promise any more");
        self.promise = Promise::Nobody;
        if matches!(self.told, Told::Elected(..)) {
            self.told = Told::Nothing;
            out.notify(Notice::Vacant);
        }
        self.wait_to_campaign(out);
    }
}

/// The master's rules.
impl Chubby {
    fn renew(&mut self, out: &mut Effects<Self>) {
        let Role::Master(master) = &self.role else { return };
        out.rule("asks for its lease anew");
        let renewal = Message::Renewal(self.stored.term, master.round + 1);
        self.send_round(&renewal, out);
    }

    fn send_round(&mut self, message: &Message, out: &mut Effects<Self>) {
        let answers = self.only_me();
        let Role::Master(master) = &mut self.role else { return };
        master.round += 1;
        let round = master.round;
        master.open.insert(round, answers);
        // From now on, not from the answers: a voter's promise begins after this.
        out.set_deadline(Timer::Lease(round), self.config.lease);
        out.set_timer(Timer::Renew, self.config.renewal());
        out.multicast(self.view.others(self.me), message);
        self.rest_on_a_majority(round, out);
    }

    fn on_renewed(
        &mut self,
        from: ProcessId,
        round: u64,
        version: Version,
        out: &mut Effects<Self>,
    ) {
        let (Role::Master(master), Some(seat)) = (&mut self.role, self.view.seat(from)) else {
            return;
        };
        out.rule("counts the promise");
        if let Some(answers) = master.open.get_mut(&round) {
            answers.insert(seat);
        }
        self.rest_on_a_majority(round, out);
        if version < self.stored.register.version {
            out.rule("sends the latest value to one who lacks it");
            out.send(from, Message::Write(self.stored.term, self.stored.register));
        } else {
            self.on_stored(from, version, out);
        }
    }

    fn rest_on_a_majority(&mut self, round: u64, out: &mut Effects<Self>) {
        let members = self.view.len();
        let Role::Master(master) = &mut self.role else { return };
        let Some(answers) = master.open.get(&round) else { return };
        if 2 * answers.len() <= members {
            return;
        }
        out.rule("has its lease renewed by a majority");
        let later = master.open.split_off(&(round + 1));
        let earlier = core::mem::replace(&mut master.open, later);
        for old in core::iter::once(master.rests_on).chain(earlier.into_keys()) {
            if old != round {
                out.cancel_timer(Timer::Lease(old));
            }
        }
        master.rests_on = round;
    }

    fn on_lease_over(&mut self, round: u64, out: &mut Effects<Self>) {
        let Role::Master(master) = &mut self.role else { return };
        if round == master.rests_on {
            out.rule("has its lease run out, and steps down");
            self.step_down(out);
        } else {
            out.rule("waits no longer for answers to an old renewal");
            master.open.remove(&round);
        }
    }

    fn on_stored(&mut self, from: ProcessId, version: Version, out: &mut Effects<Self>) {
        let Role::Master(master) = &mut self.role else { return };
        if version != self.stored.register.version {
            return;
        }
        if let Some(seat) = self.view.seat(from) {
            master.stored_by.insert(seat);
        }
        self.note_what_is_safe(out);
    }

    fn note_what_is_safe(&mut self, out: &mut Effects<Self>) {
        let members = self.view.len();
        let Role::Master(master) = &mut self.role else { return };
        let latest = self.stored.register;
        if 2 * master.stored_by.len() <= members || master.safe == Some(latest) {
            return;
        }
        out.rule("knows that a majority has stored the latest value");
        master.safe = Some(latest);
        if core::mem::take(&mut master.is_writing) {
            out.notify(Notice::Wrote { version: latest.version });
        }
    }

    fn read(&mut self, out: &mut Effects<Self>) {
        match &self.role {
            Role::Master(Master { safe: Some(Register { version, value }), .. }) => {
                out.rule("answers alone, for its lease holds");
                out.notify(Notice::Read { version: *version, value: *value });
            }
            _ => {
                out.rule("cannot know the value");
                out.notify(Notice::Refused);
            }
        }
    }

    fn write(&mut self, value: u64, out: &mut Effects<Self>) {
        let only_me = self.only_me();
        match &mut self.role {
            Role::Master(master) if master.safe == Some(self.stored.register) => {
                out.rule("stores the value, and has all others store it");
                master.stored_by = only_me;
                master.is_writing = true;
                self.stored.register = self.stored.register.then(value);
                out.persist(self.stored);
                let write = Message::Write(self.stored.term, self.stored.register);
                out.multicast(self.view.others(self.me), &write);
                self.note_what_is_safe(out);
            }
            _ => {
                out.rule("does not lead, or is not ready");
                out.notify(Notice::Refused);
            }
        }
    }
}
