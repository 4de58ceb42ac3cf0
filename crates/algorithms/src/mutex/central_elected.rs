//! Central server with an elected coordinator: when it dies, the next one asks everybody.
//!
//! **Problem.** The [central server](super::central) blocks for ever when its coordinator, a
//! holder, or one in the queue dies. Nothing is wrong with it otherwise.
//!
//! **Idea.** Three pieces, each as it is, wrapped into one. Every process is a client of the plain
//! [`Central`]. One of them also keeps the office, a plain `Central` that coordinates; who that is,
//! the plain [`Bully`] says, and a failure detector tells it when to look for another. Whoever is
//! elected holds a census: it asks everybody who is inside. When all who live have told, it opens
//! an office that knows the holder, and everybody who waits asks again. The coordinator does the
//! same when somebody else dies, so that neither a dead holder nor a dead one in the queue blocks
//! it.
//!
//! **Epochs.** Every office has a number, above all that its keeper has seen, and no two processes
//! use the same. Whoever answers a census of an epoch takes no part in an older one any more: it
//! drops what it hears of older offices. Who is inside stays inside.
//!
//! **Assumes** a synchronous system, in which the detector suspects the dead and nobody else, and
//! no sooner than all messages of the dead have arrived. [`Heartbeat`] is such a detector. Channels
//! need not be FIFO.
//!
//! | message | means | sent |
//! | --- | --- | --- |
//! | `request`, `grant`, `release` | as in `central` | client to office and back |
//! | `election`, `answer`, `coordinator` | as in `bully` | when the coordinator is suspected |
//! | `ask` | "this epoch begins: are you inside?" | elected to all others |
//! | `tell` | "I am", or "I am not" | each, to who asked |
//! | `install` | "the office is open, and that one is inside" | elected to all others |
//!
//! **Cost.** As `central`, and nothing where the client is the coordinator itself: 2(N-1)/N to
//! enter on average, (N-1)/N to leave. A crash costs a census, 3(N-1) messages at most, and that of
//! a coordinator an election before it. The detector beats all the time.
//!
//! **Fences** are the epoch, and below it the fence of the office: `epoch << 40 | fence`.
//!
//! **Invariants.** (1) A process works only in the highest epoch that it knows. (2) An open office
//! is of the highest epoch that its keeper knows. (3) When an office opens, all who live know its
//! epoch, and nobody is inside but the holder that it was opened with.
//!
//! **Why two are never inside.** In one epoch the plain `Central` sees to it, from the holder that
//! it was started with. Let an office of epoch E open. All who live have told in E. From its answer
//! on, each drops what older offices grant; so nobody enters but through E or a later epoch, and
//! who was inside said so. At most one did, by the same argument for the epoch before. Who did not
//! tell is suspected, hence dead, and inside nothing. **Fences grow**, because within an epoch they
//! do, and entries of a later epoch come after all entries of earlier ones.
//!
//! **Why everybody is served.** There are only so many crashes. After the last of them, the bully
//! leaves one leader on whom all agree. Its last census has the highest epoch, for whoever knows a
//! higher one says so and is outbid. All who live answer, the office opens, and everybody who waits
//! asks it.
//!
//! **A process that comes back** knows nothing but the highest epoch it had known, which it
//! persists. It calls an election, as the bully does; the leader thereby is elected again, and its
//! census takes the newcomer in, and lets go of what the old life held. Somebody may still suspect
//! it, and hold a census without it, until its first beat is heard everywhere. So it asks for
//! nothing until T = 2D after its return: by then every such census has reached it, or its
//! coordinator.
//!
//! **How asynchrony breaks it.** A holder that is slow and not dead is suspected, the census does
//! without its answer, and the new office grants to another: two are inside. Likewise the bully
//! elects a second coordinator beside one that is merely slow. Then only the fences tell who came
//! later.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::mutex::{self, Command, Locks, Notice};
use conclave_core::{
    Arrival, Effects, Family, Input, Kind, KindIndex, Lift, ProcessId, Protocol, SeatSet, Start,
    View, detector, election,
};

pub use super::census::Epoch;
use super::central::{self, Answers, Central};
use crate::catalogue::{Bounds, Cost, Entry, Measure, Needs, Places, Setting};
use crate::detector::{Heartbeat, With};
use crate::election::{Bully, bully};

/// What processes say to each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// What a client says to the office of that epoch.
    ToOffice {
        /// The epoch of the office that is meant.
        epoch: Epoch,
        /// What it says, in the words of the plain central server.
        message: central::Message,
    },
    /// What the office of that epoch says to a client.
    ToClient {
        /// The epoch of the office that speaks.
        epoch: Epoch,
        /// What it says, in the words of the plain central server.
        message: central::Message,
    },
    /// What is said about who coordinates.
    Bully(bully::Message),
    /// This epoch begins: are you inside?
    Ask(Epoch),
    /// This is the highest epoch that I know.
    Tell {
        /// The highest epoch that the sender knows.
        epoch: Epoch,
        /// Whether I am inside.
        inside: bool,
    },
    /// The office of this epoch is open.
    Install {
        /// The epoch of the office.
        epoch: Epoch,
        /// Who is inside.
        holder: Option<ProcessId>,
    },
}

/// The timers of the elected central server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// One of the bully's.
    Bully(bully::Timer),
    /// Everybody has heard that this process has come back.
    Settled,
}

/// One process: a client, and perhaps the coordinator too.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CentralElected {
    me: ProcessId,
    view: View,
    /// Whether nobody can hold it for dead any more, if it has come back.
    is_settled: bool,
    bully: Bully,
    /// Who seems to be dead.
    suspects: SeatSet,
    /// The highest that it knows.
    epoch: Epoch,
    application: Application,
    client: Client,
    office: Office,
}

/// Where the application stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Application {
    Out,
    Waiting,
    Inside,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Client {
    /// It waits for the office of its epoch to open.
    Suspended,
    /// It is a client of the office of its epoch.
    Working { coordinator: ProcessId, central: Central },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
enum Office {
    /// Another keeps the office, or is about to.
    None,
    /// It asked everybody who is inside.
    Census {
        /// Who has not told yet.
        awaited: SeatSet,
        /// Who told that it is inside.
        holder: Option<ProcessId>,
    },
    /// It coordinates: the office, with its queue.
    Open(Central),
}

/// The name of every office. Nobody else has it; messages to it go to who keeps it.
const OFFICE: ProcessId = ProcessId(u32::MAX);

const COORDINATOR: central::Config = central::Config::Coordinator(Answers::Grants);
const CLIENT: central::Config = central::Config::Client(OFFICE);

/// With the detector that is enough for it in a synchronous system.
pub type CentralElectedByHeartbeat = With<CentralElected, Heartbeat>;

/// What the catalogue says of it.
pub const ENTRY: Entry = Entry {
    name: "central-elected",
    title: "Central server, elected by the bully",
    citation: "central server and bully of the textbooks, composed",
    summary: "as central, but the largest that lives coordinates; a crash is answered by a census",
    family: <Locks as Family>::NAME,
    promises: mutex::LIVENESS,
    needs: Needs { synchrony: true, storage: true, ..Needs::NOTHING },
    settings: &[
        Setting::Bound,
        Setting::Answer,
        Setting::Announcement,
        Setting::SkipDead,
        Setting::Beat,
    ],
    crash: "found out and repaired: all others go on, after a census, and an election if need be",
    problems: "two holders if a message takes longer than D",
    crash_example: None,
    places: Places::Alike,
    kinds: <<CentralElectedByHeartbeat as Protocol>::Message as conclave_core::Message>::KINDS,
    silent: &["queued"],
    searches: &[
        Bounds::of(3, 1).sync(1).beat(2),
        Bounds::of(3, 2).sync(1).beat(2).large(),
        Bounds::of(3, 1).sync(1).beat(2).crashes(1).lossy().large(),
        Bounds::of(2, 1).refuted(),
    ],
    costs: &[
        Cost::exactly(Measure::Enter, "2(N-1)/N", |size| 2.0 * (size.n - 1.0) / size.n),
        Cost::exactly(Measure::Leave, "(N-1)/N", |size| (size.n - 1.0) / size.n),
        Cost::exactly(Measure::ClientDelay, "2(N-1)/N", |size| 2.0 * (size.n - 1.0) / size.n),
        Cost::exactly(Measure::LeaveDelay, "0", |_| 0.0),
    ],
    remarks: &[],
};

impl conclave_core::Message for Message {
    const KINDS: &'static [Kind] = &[
        Kind::enter("request"),
        Kind::enter("queued"),
        Kind::enter("grant"),
        Kind::leave("release"),
        Kind::repair("election"),
        Kind::repair("answer"),
        Kind::repair("coordinator"),
        Kind::repair("ask"),
        Kind::repair("tell"),
        Kind::repair("install"),
    ];

    #[inline]
    fn kind(&self) -> KindIndex {
        match self {
            Message::ToOffice { message, .. } | Message::ToClient { message, .. } => message.kind(),
            Message::Bully(message) => 4 + message.kind(),
            Message::Ask(_) => 7,
            Message::Tell { .. } => 8,
            Message::Install { .. } => 9,
        }
    }
}

impl Protocol for CentralElected {
    type Family = Locks;
    type Config = bully::Config;
    type Message = Message;
    type Timer = Timer;
    type Stored = Epoch;
    type Word = detector::Notice;

    fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
        let Start { me, view, arrival, stored, config, .. } = start;
        let holder = start.holder();
        let mut of_bully = out.inner();
        let bully = Bully::start(start.part(config, ()), &mut of_bully);
        let mut process = Self {
            me,
            view: view.clone(),
            is_settled: arrival == Arrival::Founding,
            bully,
            suspects: SeatSet::empty(view.len()),
            epoch: stored.copied().unwrap_or_default(),
            application: Application::Out,
            client: Client::Suspended,
            office: Office::None,
        };
        if let (Arrival::Founding, Some(coordinator)) = (arrival, process.bully.elected()) {
            if holder == Some(me) {
                process.application = Application::Inside;
            }
            process.client =
                Client::Working { coordinator, central: process.central(me, &CLIENT, holder) };
            if coordinator == me {
                process.office = Office::Open(process.central(OFFICE, &COORDINATOR, holder));
            }
        }
        if !process.is_settled {
            out.set_timer(Timer::Settled, config.answer);
        }
        process.carry_out_of_bully(&mut of_bully, out);
        process
    }

    #[inline]
    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self.application, input) {
            // The client.
            (Application::Out, Input::Command(Command::Enter)) => {
                self.application = Application::Waiting;
                self.request(out);
            }
            (Application::Inside, Input::Command(Command::Leave)) => self.leave(out),
            (_, Input::Message { message: Message::ToClient { epoch, message }, .. })
                if epoch == self.epoch =>
            {
                self.tell_client(Input::Message { from: OFFICE, message }, out);
            }
            (_, Input::Message { from, message: Message::Ask(epoch) }) => {
                self.on_ask(from, epoch, out);
            }
            (_, Input::Message { from, message: Message::Install { epoch, holder } })
                if epoch >= self.epoch =>
            {
                self.on_install(from, epoch, holder, out);
            }
            // The office.
            (_, Input::Message { from, message: Message::ToOffice { epoch, message } })
                if epoch == self.epoch =>
            {
                self.tell_office(Input::Message { from, message }, out);
            }
            (_, Input::Message { from, message: Message::Tell { epoch, inside } }) => {
                self.on_tell(from, epoch, inside, out);
            }
            // Who coordinates.
            (_, Input::Message { from, message: Message::Bully(message) }) => {
                let (epoch, is_asked) = (self.epoch, message == bully::Message::Election);
                self.tell_bully(Input::Message { from, message }, out);
                // Who asks may have come back, and a census may have missed it. The announcement
                // alone would not bring it in, and while that is fresh the bully makes no other.
                if is_asked && self.leads() && self.epoch == epoch {
                    self.begin_census(out);
                }
            }
            (_, Input::Timer(Timer::Bully(timer))) => self.tell_bully(Input::Timer(timer), out),
            (_, Input::Timer(Timer::Settled)) if !self.is_settled => {
                out.rule("is known by all to have come back");
                self.is_settled = true;
                self.request(out);
            }
            (_, Input::Word(detector::Notice::Suspects(whom))) => self.suspect(whom, out),
            (_, Input::Word(detector::Notice::Trusts(whom))) => self.trust(whom, out),
            _ => out.rule("has no use for this"),
        }
    }

    fn invariants(&self) -> Result<(), &'static str> {
        match (&self.office, &self.client) {
            (Office::Census { .. }, Client::Working { .. }) => {
                Err("it works although its census is not over")
            }
            (Office::Open(_), Client::Working { coordinator, .. }) if *coordinator != self.me => {
                Err("it keeps an office of its epoch, and works for another")
            }
            (Office::Open(_), Client::Suspended) => Err("its own office is not open for itself"),
            (Office::Open(central), Client::Working { central: client, .. }) => {
                central.invariants().and_then(|()| client.invariants())
            }
            _ => Ok(()),
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match (&self.office, &self.client, self.application) {
            (Office::Census { awaited, .. }, ..) => {
                awaited.iter().map(|seat| self.view.at(seat)).collect()
            }
            (Office::Open(central), ..) => {
                let holder = central.waits_for().into_iter();
                holder.filter(|&id| id != self.me).collect()
            }
            (_, Client::Working { coordinator, .. }, Application::Waiting) => vec![*coordinator],
            (_, Client::Suspended, Application::Waiting) => match self.bully.elected() {
                Some(leader) => vec![leader],
                None => self.bully.waits_for(),
            },
            _ => Vec::new(),
        }
    }
}

/// The client's rules.
impl CentralElected {
    /// The application is out at once. During a census the office, once it is open, is told.
    fn leave(&mut self, out: &mut Effects<Self>) {
        self.application = Application::Out;
        self.tell_client(Input::Command(Command::Leave), out);
        out.notify(Notice::Left);
    }

    fn on_ask(&mut self, from: ProcessId, epoch: Epoch, out: &mut Effects<Self>) {
        if self.outbids(from, epoch, out) {
            return;
        }
        if epoch > self.epoch {
            out.rule("takes part in the census, and in nothing older any more");
            self.begin_epoch(epoch, Office::None, out);
        } else if epoch < self.epoch {
            out.rule("knows of a later epoch, and says so");
        } else if self.client != Client::Suspended {
            return out.rule("has told already");
        }
        let inside = self.application == Application::Inside;
        out.send(from, Message::Tell { epoch: self.epoch, inside });
    }

    fn on_install(
        &mut self,
        from: ProcessId,
        epoch: Epoch,
        holder: Option<ProcessId>,
        out: &mut Effects<Self>,
    ) {
        if self.outbids(from, epoch, out) {
            return;
        }
        if epoch > self.epoch {
            out.rule("was not waited for, for it has come back");
            self.begin_epoch(epoch, Office::None, out);
        } else if self.client != Client::Suspended {
            return out.rule("has no use for this");
        }
        out.rule("is a client of the new office");
        self.work_for(from, holder, out);
    }

    fn work_for(
        &mut self,
        coordinator: ProcessId,
        holder: Option<ProcessId>,
        out: &mut Effects<Self>,
    ) {
        let central = self.central(self.me, &CLIENT, holder);
        self.client = Client::Working { coordinator, central };
        if holder == Some(self.me) && self.application != Application::Inside {
            out.rule("has left since it told");
            self.tell_client(Input::Command(Command::Leave), out);
        }
        self.request(out);
    }

    /// Asks the office, if the application wants that, and if it is known to all to live.
    fn request(&mut self, out: &mut Effects<Self>) {
        match (self.application, self.is_settled) {
            (Application::Waiting, true) => self.tell_client(Input::Command(Command::Enter), out),
            (Application::Waiting, false) => out.rule("waits until all know that it has come back"),
            _ => {}
        }
    }

    /// Does nothing while there is no office to talk to.
    fn tell_client(&mut self, input: Input<Central>, out: &mut Effects<Self>) {
        let Client::Working { coordinator, central } = &mut self.client else {
            return out.rule("waits for the office to open");
        };
        let (coordinator, epoch, mut inner) = (*coordinator, self.epoch, out.inner());
        central.on(input, &mut inner);
        let application = &mut self.application;
        out.lift(
            &mut inner,
            Lift {
                send: |_, message| Some((coordinator, Message::ToOffice { epoch, message })),
                timer: |()| Timer::Settled,
                stored: |()| None,
                notice: |notice, out: &mut Effects<Self>| match notice {
                    Notice::Entered { fence } => {
                        *application = Application::Inside;
                        out.notify(Notice::Entered { fence: epoch.fence(fence) });
                    }
                    // The application was told already.
                    Notice::Left => {}
                },
            },
        );
    }
}

/// The rules of who is elected.
impl CentralElected {
    fn leads(&self) -> bool {
        self.bully.elected() == Some(self.me)
    }

    /// A smaller one that was elected before this process came back does not know of it yet. A
    /// larger one has announced itself, and is heard of soon.
    fn outbids(&mut self, from: ProcessId, epoch: Epoch, out: &mut Effects<Self>) -> bool {
        let outbids = epoch > self.epoch && self.leads() && from < self.me;
        if outbids {
            out.rule("leads itself, and is larger: it outbids the census of a smaller one");
            self.epoch = epoch;
            self.begin_census(out);
        }
        outbids
    }

    /// Asks all who seem to live, under a new epoch.
    fn begin_census(&mut self, out: &mut Effects<Self>) {
        out.rule("begins a census under a new epoch");
        let Some(me) = self.view.seat(self.me) else { return };
        let epoch = self.epoch.next(me, self.view.len());
        let mut awaited = SeatSet::empty(self.view.len());
        for seat in self.view.others(self.me).filter_map(|id| self.view.seat(id)) {
            if !self.suspects.contains(seat) {
                awaited.insert(seat);
            }
        }
        let is_over = awaited.is_empty();
        let is_inside = self.application == Application::Inside;
        let holder = is_inside.then_some(self.me);
        self.begin_epoch(epoch, Office::Census { awaited, holder }, out);
        out.multicast(self.view.others(self.me), &Message::Ask(epoch));
        if is_over {
            self.open(out);
        }
    }

    fn begin_epoch(&mut self, epoch: Epoch, office: Office, out: &mut Effects<Self>) {
        self.epoch = epoch;
        self.client = Client::Suspended;
        self.office = office;
        out.persist(epoch);
    }

    fn on_tell(&mut self, from: ProcessId, epoch: Epoch, inside: bool, out: &mut Effects<Self>) {
        if epoch > self.epoch && self.leads() {
            out.rule("hears of a later epoch: it outbids it");
            self.epoch = epoch;
            return self.begin_census(out);
        }
        let Office::Census { awaited, holder } = &mut self.office else {
            return out.rule("has no use for this");
        };
        let Some(seat) = self.view.seat(from).filter(|_| epoch == self.epoch) else {
            return out.rule("has no use for this");
        };
        out.rule("notes who is inside");
        awaited.remove(seat);
        if inside {
            *holder = Some(from);
        }
        if awaited.is_empty() {
            self.open(out);
        }
    }

    /// All have told.
    fn open(&mut self, out: &mut Effects<Self>) {
        let Office::Census { holder, .. } = self.office else { return };
        out.rule("has heard of all who live: it opens its office");
        self.office = Office::Open(self.central(OFFICE, &COORDINATOR, holder));
        let install = Message::Install { epoch: self.epoch, holder };
        out.multicast(self.view.others(self.me), &install);
        self.work_for(self.me, holder, out);
    }

    fn tell_office(&mut self, input: Input<Central>, out: &mut Effects<Self>) {
        let Office::Open(central) = &mut self.office else {
            return out.rule("keeps no such office");
        };
        let (epoch, mut inner) = (self.epoch, out.inner());
        central.on(input, &mut inner);
        out.lift(
            &mut inner,
            Lift {
                send: |to, message| Some((to, Message::ToClient { epoch, message })),
                timer: |()| Timer::Settled,
                stored: |()| None,
                notice: |_, _: &mut Effects<Self>| {}, // An office has no application.
            },
        );
    }

    fn tell_bully(&mut self, input: Input<Bully>, out: &mut Effects<Self>) {
        let mut inner = out.inner();
        self.bully.on(input, &mut inner);
        self.carry_out_of_bully(&mut inner, out);
    }

    fn carry_out_of_bully(&mut self, inner: &mut Effects<Bully>, out: &mut Effects<Self>) {
        out.lift(
            inner,
            Lift {
                send: |to, message| Some((to, Message::Bully(message))),
                timer: Timer::Bully,
                stored: |()| None,
                notice: |notice, out: &mut Effects<Self>| {
                    let election::Notice::Elected { leader, .. } = notice else { return };
                    if leader == self.me {
                        self.begin_census(out);
                    }
                },
            },
        );
    }

    fn suspect(&mut self, whom: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(whom) else { return };
        self.suspects.insert(seat);
        if self.leads() {
            self.begin_census(out);
        } else if self.bully.elected() == Some(whom) {
            out.rule("has lost its coordinator");
            self.tell_bully(Input::Command(election::Command::Call), out);
        }
    }

    /// Who comes back calls an election: that is all that needs to be done.
    fn trust(&mut self, whom: ProcessId, out: &mut Effects<Self>) {
        let Some(seat) = self.view.seat(whom) else { return };
        out.rule("counts that one among the living again");
        self.suspects.remove(seat);
    }

    /// A client or an office, as its epoch begins; neither has anything to do at once.
    fn central(&self, me: ProcessId, part: &central::Config, holder: Option<ProcessId>) -> Central {
        let start = Start::founding(me, &self.view, part).held_by(holder);
        Central::start(start, &mut Effects::new())
    }
}

#[cfg(test)]
mod mutants;

#[cfg(test)]
mod tests;
