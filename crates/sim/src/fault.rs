//! What goes wrong, and when.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use conclave_core::{Kind, ProcessId, View};
use conclave_observe::{Time, Vocabulary};

use crate::{CrashOn, Deed, MessageFault, MessageName};

/// All faults of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultPlan {
    /// Processes that are down from the start.
    pub dead: Vec<ProcessId>,
    /// Processes that die.
    pub crashes: Vec<Crash>,
    /// Processes that come back.
    pub returns: Vec<Return>,
    /// Processes whose place another takes, under the same name.
    pub replacements: Vec<Return>,
    /// Processes that stop for a while.
    pub pauses: Vec<Pause>,
    /// Links that are cut for a while.
    pub partitions: Vec<Partition>,
    /// Processes that need longer for each step.
    pub slow: Vec<Slow>,
    /// Single messages that do not arrive as others do.
    pub messages: Vec<MessageFault>,
    /// Processes that die when something happens to them.
    pub crashes_on: Vec<CrashOn>,
    /// Clocks that run too fast or too slow.
    pub drifts: Vec<Drift>,
    /// How likely the network is to lose a message.
    pub loss: Probability,
    /// How likely the network is to deliver a message twice.
    pub duplicate: Probability,
}

/// `3@40ms`: the process dies, and its memory with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crash {
    /// The process that dies.
    pub process: ProcessId,
    /// When it dies.
    pub at: Time,
}

/// `3@90ms`: the process starts anew under its old name, without its memory but for what it
/// persisted; or another process takes its name, that knows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Return {
    /// The process that comes back, or whose name is taken.
    pub process: ProcessId,
    /// When it is back.
    pub at: Time,
}

/// `2@10ms..30ms`: the process does nothing for a while; what arrives meanwhile waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// The process that pauses.
    pub process: ProcessId,
    /// When it stops.
    pub from: Time,
    /// When it goes on.
    pub until: Time,
}

/// `1,2/3,4,5@10ms..30ms`: what is sent or would arrive between the two sides is lost. With `>`
/// for `/` only what goes from the first side to the second is. With `,held` behind it, it is
/// not lost, but waits until the partition is healed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Partition {
    /// The processes on the first side.
    pub left: Vec<ProcessId>,
    /// The processes on the second side.
    pub right: Vec<ProcessId>,
    /// Whether messages from right to left still pass.
    pub one_way: bool,
    /// When the partition begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// What becomes of messages that would cross it.
    pub crossing: Crossing,
}

/// What becomes of messages that would cross a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Crossing {
    /// They are lost.
    #[default]
    Lost,
    /// They wait: the channel is reliable, only late. When the partition is healed, those that had
    /// been on their way arrive, and those that were sent meanwhile go on their way.
    Held,
}

/// `3=4x`: process 3 needs four times as long for each step.
///
/// What a message takes on its way includes what its receiver needs to take it in. So a process
/// that is `k` times as slow needs `k - 1` [typical](crate::Network::typical) delays more for each
/// input, whether it is a message, a command or a timer; one after the other, as they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slow {
    /// Who.
    pub process: ProcessId,
    thousandths: u32,
}

impl Slow {
    /// A process that is `times` as slow; `None` if that is not above 1, and at most 1000.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between one and a thousand"
    )]
    pub fn new(process: ProcessId, times: f64) -> Option<Self> {
        let is_sane = (1.001..=1000.0).contains(&times);
        is_sane.then(|| Self { process, thousandths: libm::round(times * 1e3) as u32 })
    }

    /// How much longer each of its steps takes where messages typically take that long.
    pub fn extra(self, typical: Time) -> Time {
        let extra = u128::from(typical.0) * u128::from(self.thousandths - 1_000) / 1_000;
        Time(u64::try_from(extra).unwrap_or(u64::MAX))
    }
}

/// `2=1.3`: the clock of process 2 runs 1.3 times as fast as time does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drift {
    /// The process whose clock it is.
    pub process: ProcessId,
    /// How fast its clock runs; 1 is right.
    pub rate: Rate,
}

/// How fast a clock runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    millionths: u64,
}

/// A number from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Probability(f64);

/// A fault that cannot happen: of a process that takes no part, or at a time when it makes no
/// sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultError {
    /// Nobody of that name.
    #[error("{fault}: there is no process {process}; the processes are {members}")]
    Unknown {
        /// The fault, as it was written.
        fault: String,
        /// The process that it names.
        process: ProcessId,
        /// Who takes part, in words.
        members: String,
    },
    /// A return of somebody who is not away.
    #[error("{fault}: process {process} is not down at that time; let it crash first")]
    NotDown {
        /// The fault, as it was written.
        fault: String,
        /// The process that it names.
        process: ProcessId,
    },
    /// Two pauses of one process at the same time.
    #[error("pause {first} and pause {second} overlap; give one pause from the first to the last")]
    PausesOverlap {
        /// The one that begins first.
        first: Pause,
        /// The one that begins before the first is over.
        second: Pause,
    },
    /// One process that is slow twice.
    #[error("process {process} is said to be slow twice; say it once")]
    SlowTwice {
        /// Who.
        process: ProcessId,
    },
    /// Two rates for one clock.
    #[error("the clock of process {process} is given two rates; give it one")]
    DriftsTwice {
        /// The process whose clock it is.
        process: ProcessId,
    },
    /// A message that crosses no network.
    #[error("{fault}: what {process} says to itself crosses no network; name another receiver")]
    ToItself {
        /// The fault, as it was written.
        fault: String,
        /// The process that is both sender and receiver.
        process: ProcessId,
    },
    /// Two things that are done to one message.
    #[error("{fault}: {first} names the same message; one thing can be done to it")]
    MessageTwice {
        /// The fault, as it was written.
        fault: String,
        /// What was said first.
        first: String,
    },
    /// A message that the algorithm does not send.
    #[error("{fault}: {algorithm} has no message `{kind}`; it has {kinds}", kind = .kind.escape_debug())]
    NoSuchKind {
        /// The fault, as it was written.
        fault: String,
        /// Of which algorithm.
        algorithm: &'static str,
        /// The name that no kind of message has.
        kind: String,
        /// What there is.
        kinds: String,
    },
    /// An event that the family does not name.
    #[error("{fault}: {algorithm} has no event `{moment}`; it has {moments}", moment = .moment.escape_debug())]
    NoSuchMoment {
        /// The fault, as it was written.
        fault: String,
        /// Of which algorithm.
        algorithm: &'static str,
        /// The name that no event has.
        moment: String,
        /// What there is.
        moments: String,
    },
    /// A crash of somebody who is away already.
    #[error("{fault}: process {process} is down already at that time; let it return first")]
    AlreadyDown {
        /// The fault, as it was written.
        fault: String,
        /// The process that it names.
        process: ProcessId,
    },
}

impl FaultError {
    /// The fault that is to blame, as it is written.
    pub fn fault(&self) -> Option<String> {
        match self {
            Self::Unknown { fault, .. }
            | Self::NotDown { fault, .. }
            | Self::AlreadyDown { fault, .. }
            | Self::ToItself { fault, .. }
            | Self::MessageTwice { fault, .. }
            | Self::NoSuchKind { fault, .. }
            | Self::NoSuchMoment { fault, .. } => Some(fault.clone()),
            Self::PausesOverlap { second, .. } => Some(format!("pause {second}")),
            Self::SlowTwice { .. } | Self::DriftsTwice { .. } => None,
        }
    }
}

impl FaultPlan {
    /// A plan in which nothing goes wrong.
    pub const NONE: Self = Self {
        dead: Vec::new(),
        crashes: Vec::new(),
        returns: Vec::new(),
        replacements: Vec::new(),
        pauses: Vec::new(),
        partitions: Vec::new(),
        slow: Vec::new(),
        messages: Vec::new(),
        crashes_on: Vec::new(),
        drifts: Vec::new(),
        loss: Probability(0.0),
        duplicate: Probability(0.0),
    };

    /// Whether every fault is one of the view's, and can happen.
    pub fn check(&self, view: &View) -> Result<(), FaultError> {
        for (fault, processes) in self.named() {
            if let Some(&process) = processes.iter().find(|&&id| view.seat(id).is_none()) {
                let members = ids_of(view);
                return Err(FaultError::Unknown { fault, process, members });
            }
        }
        if let Some(drift) = self.drifts.iter().find(|drift| view.seat(drift.process).is_none()) {
            let (fault, process) = (format!("drift {drift}"), drift.process);
            return Err(FaultError::Unknown { fault, process, members: ids_of(view) });
        }
        for (index, drift) in self.drifts.iter().enumerate() {
            if self.drifts[..index].iter().any(|other| other.process == drift.process) {
                return Err(FaultError::DriftsTwice { process: drift.process });
            }
        }
        for (index, slow) in self.slow.iter().enumerate() {
            if self.slow[..index].iter().any(|other| other.process == slow.process) {
                return Err(FaultError::SlowTwice { process: slow.process });
            }
        }
        self.check_pauses()?;
        self.check_messages()?;
        self.check_order()
    }

    /// A process is paused once at a time.
    fn check_pauses(&self) -> Result<(), FaultError> {
        let mut pauses = self.pauses.clone();
        pauses.sort_by_key(|pause| (pause.process, pause.from));
        let overlap =
            |pair: &&[Pause]| pair[0].process == pair[1].process && pair[1].from < pair[0].until;
        match pauses.windows(2).find(overlap) {
            Some(pair) => Err(FaultError::PausesOverlap { first: pair[0], second: pair[1] }),
            None => Ok(()),
        }
    }

    fn named(&self) -> impl Iterator<Item = (String, Vec<ProcessId>)> + '_ {
        let dead = self.dead.iter().map(|&id| (format!("dead {id}"), vec![id]));
        let crashes = self.crashes.iter().map(|it| (format!("crash {it}"), vec![it.process]));
        let replacements =
            self.replacements.iter().map(|it| (format!("replace {it}"), vec![it.process]));
        let returns = self.returns.iter().map(|it| (format!("return {it}"), vec![it.process]));
        let pauses = self.pauses.iter().map(|it| (format!("pause {it}"), vec![it.process]));
        let partitions = self.partitions.iter().map(|it| {
            (format!("partition {it}"), it.left.iter().chain(&it.right).copied().collect())
        });
        let messages = self.messages.iter().map(|it| {
            let MessageName { from, to, .. } = it.message;
            (it.label(), vec![from, to])
        });
        let crashes_on = self.crashes_on.iter().map(|it| (format!("crash {it}"), vec![it.process]));
        let at_times = dead.chain(crashes).chain(returns).chain(replacements).chain(pauses);
        let slow = self.slow.iter().map(|it| (format!("slow {it}"), vec![it.process]));
        at_times.chain(partitions).chain(slow).chain(messages).chain(crashes_on)
    }

    /// One thing is done to a message, and it crosses the network.
    fn check_messages(&self) -> Result<(), FaultError> {
        for (index, fault) in self.messages.iter().enumerate() {
            let MessageName { from, to, .. } = fault.message;
            if from == to {
                return Err(FaultError::ToItself { fault: fault.label(), process: from });
            }
            let is_same = |other: &&MessageFault| other.message == fault.message;
            if let Some(other) = self.messages[..index].iter().find(is_same) {
                let (first, fault) = (other.label(), fault.label());
                return Err(FaultError::MessageTwice { first, fault });
            }
        }
        Ok(())
    }

    /// Whether every message and every moment that is named is one of that algorithm.
    pub fn check_names(
        &self,
        algorithm: &'static str,
        kinds: &[Kind],
        vocabulary: &Vocabulary,
    ) -> Result<(), FaultError> {
        let is_kind = |name: &str| kinds.iter().any(|kind| kind.name == name);
        if let Some(fault) = self.messages.iter().find(|it| !is_kind(&it.message.kind)) {
            let kinds = listed(kinds.iter().map(|kind| kind.name));
            let (fault, kind) = (fault.label(), fault.message.kind.clone());
            return Err(FaultError::NoSuchKind { fault, algorithm, kind, kinds });
        }
        let is_moment = |it: &&CrashOn| vocabulary.moment(&it.moment).is_some();
        match self.crashes_on.iter().find(|it| !is_moment(it)) {
            Some(crash) => Err(FaultError::NoSuchMoment {
                fault: format!("crash {crash}"),
                algorithm,
                moment: crash.moment.clone(),
                moments: listed(vocabulary.moments().map(|moment| moment.name)),
            }),
            None => Ok(()),
        }
    }

    /// Whether some message takes another time than the network says.
    pub fn shifts_messages(&self) -> bool {
        self.messages.iter().any(|it| matches!(it.deed, Deed::Delay(_) | Deed::Hurry))
    }

    /// Whether every message arrives exactly once, as far as the network is concerned.
    pub fn delivers_once(&self) -> bool {
        let arrives_once = |it: &MessageFault| matches!(it.deed, Deed::Delay(_) | Deed::Hurry);
        self.partitions.iter().all(|it| it.crossing == Crossing::Held)
            && self.loss.is_zero()
            && self.duplicate.is_zero()
            && self.messages.iter().all(arrives_once)
    }

    /// Crashes and returns of one process must come by turns. At the same time it crashes first,
    /// because that is the order in which the world does them.
    fn check_order(&self) -> Result<(), FaultError> {
        let dead = self.dead.iter().map(|&id| (id, Time::ZERO, true, format!("dead {id}")));
        let crashes =
            self.crashes.iter().map(|it| (it.process, it.at, true, format!("crash {it}")));
        let returns =
            self.returns.iter().map(|it| (it.process, it.at, false, format!("return {it}")));
        let replacements =
            self.replacements.iter().map(|it| (it.process, it.at, false, format!("replace {it}")));
        let mut turns: Vec<_> = dead.chain(crashes).chain(returns).chain(replacements).collect();
        // When somebody dies who dies at an event is seen only as it happens.
        turns.retain(|turn| !self.crashes_on.iter().any(|it| it.process == turn.0));
        turns.sort_by_key(|&(process, at, is_crash, _)| (process, at, !is_crash));
        let mut down = None;
        for (process, _, is_crash, fault) in turns {
            match (is_crash, down == Some(process)) {
                (true, true) => return Err(FaultError::AlreadyDown { fault, process }),
                (false, false) => return Err(FaultError::NotDown { fault, process }),
                (true, false) => down = Some(process),
                (false, true) => down = None,
            }
        }
        Ok(())
    }

    /// How fast each clock runs, by seat.
    pub fn rates(&self, view: &View) -> Vec<Rate> {
        let mut rates = vec![Rate::REAL; view.len()];
        for drift in &self.drifts {
            if let Some(seat) = view.seat(drift.process) {
                rates[seat.index()] = drift.rate;
            }
        }
        rates
    }

    /// When the last planned fault has begun and ended.
    pub fn last_moment(&self) -> Time {
        let moments = self.crashes.iter().map(|it| it.at);
        let moments = moments.chain(self.returns.iter().chain(&self.replacements).map(|it| it.at));
        let ends = self.pauses.iter().map(|it| it.until);
        let ends = ends.chain(self.partitions.iter().map(|it| it.until));
        moments.chain(ends).max().unwrap_or_default()
    }

    /// Every fault of the plan, as it is written; but for drifts, which are there all the time.
    pub fn labels(&self) -> Vec<String> {
        let mut labels: Vec<String> = self.named().map(|(label, _)| label).collect();
        labels.extend((!self.loss.is_zero()).then(|| format!("loss {}", self.loss)));
        labels.extend((!self.duplicate.is_zero()).then(|| format!("duplicate {}", self.duplicate)));
        labels
    }
}

impl Rate {
    /// As fast as time.
    pub const REAL: Self = Self { millionths: 1_000_000 };

    /// A clock that runs `rate` times as fast as time; `None` if that is not from 0.001 to 1000.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between a thousandth and a thousand"
    )]
    pub fn new(rate: f64) -> Option<Self> {
        let is_sane = (0.001..=1000.0).contains(&rate);
        is_sane.then(|| Self { millionths: libm::round(rate * 1e6) as u64 })
    }

    /// What a clock of this rate shows at that time, in nanoseconds.
    #[inline]
    pub(crate) fn clock_at(self, now: Time) -> u64 {
        if self == Self::REAL {
            return now.0;
        }
        let shows = u128::from(now.0) * u128::from(self.millionths) / 1_000_000;
        u64::try_from(shows).unwrap_or(u64::MAX)
    }

    /// How long it really takes until a clock of this rate has gone on by `after`.
    pub(crate) fn real(self, after: Time) -> Time {
        if self == Self::REAL {
            return after;
        }
        let real = u128::from(after.0) * 1_000_000 / u128::from(self.millionths);
        Time(u64::try_from(real).unwrap_or(u64::MAX))
    }
}

impl Probability {
    /// `value`, if it is one.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Whether it never happens.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// Whether it happens, given 64 random bits.
    #[inline]
    #[allow(clippy::cast_precision_loss, reason = "53 of the bits are used, which are exact")]
    pub(crate) fn happens(self, bits: u64) -> bool {
        ((bits >> 11) as f64) < self.0 * (1_u64 << 53) as f64
    }
}

/// The ids of a view in few words: `1 to 9`, or one by one where they do not follow each other.
pub fn ids_of(view: &View) -> String {
    let members = view.members();
    let is_row = members.windows(2).all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
    match (members.first(), members.last()) {
        (Some(first), Some(last)) if view.len() > 2 && is_row => format!("{first} to {last}"),
        _ => join(members),
    }
}

/// `request, reply and release`; `none` if there is nothing.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_last() {
        None => "none".into(),
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

fn join(ids: &[ProcessId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl fmt::Display for Rate {
    #[allow(clippy::cast_precision_loss, reason = "it has few digits")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.millionths as f64 / 1e6)
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.process, self.rate)
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}ms", self.process, self.at)
    }
}

impl fmt::Display for Return {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}ms", self.process, self.at)
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}ms..{}ms", self.process, self.from, self.until)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.one_way { '>' } else { '/' };
        let (left, right) = (join(&self.left), join(&self.right));
        let crossing = match self.crossing {
            Crossing::Lost => "",
            Crossing::Held => ",held",
        };
        write!(f, "{left}{sign}{right}@{}ms..{}ms{crossing}", self.from, self.until)
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}x", self.process, f64::from(self.thousandths) / 1e3)
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether processes can crash and return at these times.
    fn plan(crashes: &[(u32, u64)], returns: &[(u32, u64)]) -> Result<(), FaultError> {
        let moment = |&(process, at): &(u32, u64)| (ProcessId(process), Time::delays(at));
        let crashes = crashes.iter().map(moment).map(|(process, at)| Crash { process, at });
        let returns = returns.iter().map(moment).map(|(process, at)| Return { process, at });
        let (crashes, returns) = (crashes.collect(), returns.collect());
        FaultPlan { crashes, returns, ..FaultPlan::default() }.check(&View::dense(1, 3))
    }

    #[test]
    fn a_fault_of_a_stranger_says_who_there_is() {
        let crashes = vec![Crash { process: ProcessId(12), at: Time::delays(4) }];
        let plan = FaultPlan { crashes, ..FaultPlan::default() };
        let error = plan.check(&View::dense(1, 9)).unwrap_err().to_string();
        assert_eq!(error, "crash 12@4ms: there is no process 12; the processes are 1 to 9");
    }

    #[test]
    fn crash_and_return_come_by_turns() {
        assert_eq!(plan(&[(1, 5), (2, 1), (1, 20)], &[(1, 10)]), Ok(()));
        assert!(plan(&[(1, 5)], &[(1, 4)]).is_err());
        assert!(plan(&[(1, 5), (1, 6)], &[]).is_err());
        assert!(plan(&[], &[(2, 4)]).is_err());
    }

    #[test]
    fn at_the_same_time_a_crash_comes_before_a_return() {
        assert_eq!(plan(&[(1, 5)], &[(1, 5)]), Ok(()));
        let error = plan(&[(1, 3), (1, 9)], &[(1, 9)]).unwrap_err().to_string();
        assert_eq!(
            error,
            "crash 1@9ms: process 1 is down already at that time; let it return first"
        );
    }

    #[test]
    fn a_process_is_paused_once_at_a_time() {
        let plan = |pauses: &[(u32, u64, u64)]| {
            let pause = |&(process, from, until): &(u32, u64, u64)| Pause {
                process: ProcessId(process),
                from: Time::delays(from),
                until: Time::delays(until),
            };
            let pauses = pauses.iter().map(pause).collect();
            FaultPlan { pauses, ..FaultPlan::default() }.check(&View::dense(1, 3))
        };
        assert_eq!(plan(&[(1, 5, 9), (2, 6, 7), (1, 1, 5)]), Ok(()));
        assert!(plan(&[(1, 5, 9), (1, 1, 6)]).is_err());
    }

    #[test]
    fn a_probability_happens_as_often_as_it_says() {
        let mut stream = crate::Stream::new(1, "test");
        let tenth = Probability::new(0.1).unwrap();
        let happened = (0..100_000).filter(|_| tenth.happens(stream.bits())).count();
        assert!((9_500..10_500).contains(&happened), "{happened}");
        let (never, always) = (Probability::new(0.0).unwrap(), Probability::new(1.0).unwrap());
        assert!(!never.happens(0) && always.happens(u64::MAX));
    }
}
