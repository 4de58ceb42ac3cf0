//! The table itself. Its order is the order in which a command says its options.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_algorithms::catalogue::Setting as Timer;
use conclave_algorithms::mutants::{self, Breaks, Mutant};
use conclave_algorithms::quorum::Construction;
use conclave_core::clock::Timestamp;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_core::process::Processes;
use conclave_core::{ProcessId, View};
use conclave_observe::{JudgeOrdering, Time};
use conclave_sim::{
    AfterViolation, ChannelOrder, Deed, Drift, FaultPlan, Intervention, Limits, MessageFault,
    Network, Partition, Pause, Probability, Return, ScriptedStep, Slow, Workload,
};

use crate::family::Playable;
use crate::notation::{
    Death, Doubling, Notation, Voting, parse_time, read_delay, read_drop, read_hurry,
};

use super::access;
use super::{Fits, Group, MEMBERS_MAX, Setting, SettingError, Shape, Spoken};
use crate::plan::{EVENTS_MAX, Plan};

type Switch = access::Switch<Plan>;
type One<T> = access::One<Plan, T>;
type Many<T> = access::Many<Plan, T>;

/// How many events a run of a mutant may take unless it is said otherwise.
const MUTANT_EVENTS_MAX: u64 = 1_000_000;

/// A row with what most rows have in common.
const ROW: Setting = Setting {
    name: "",
    meaning: "",
    shape: Shape::Switch,
    group: Some(Group::Run),
    fits: Fits::All,
    is_recorded: false,
    follows: false,
    spoken: Spoken::IfUnusual,
    access: &Switch { get: |_| false, set: |_, _| {}, usual: |_| false },
};

/// One of the times that members agree on. All but the first follow from it if nobody says them.
macro_rules! timer {
    ($timer:ident, $field:ident, $name:literal, $meaning:literal) => {
        Setting {
            name: $name,
            meaning: $meaning,
            shape: Shape::One("TIME"),
            group: Some(Group::Timers),
            fits: Fits::Timer(Timer::$timer),
            is_recorded: true,
            access: &One {
                parse: long_enough,
                show: time,
                get: |plan| plan.timing.$field.map(Time::of),
                set: |plan, time| plan.timing.$field = Some(time.as_duration()),
                usual: |_| None,
            },
            ..ROW
        }
    };
}

/// Something that goes wrong as often as it is said.
macro_rules! faults {
    ($type:ty, $field:ident, $name:literal, $value:literal, $meaning:literal) => {
        Setting {
            name: $name,
            meaning: $meaning,
            shape: Shape::Again($value),
            group: Some(Group::Faults),
            access: &Many::<$type> {
                parse: read,
                show: ToString::to_string,
                get: |plan| plan.faults.$field.clone(),
                set: |plan, faults| {
                    plan.faults.$field.extend(faults);
                    Ok(())
                },
                usual: |_| Vec::new(),
            },
            ..ROW
        }
    };
}

/// How likely the network is to do that.
macro_rules! probability {
    ($field:ident, $name:literal, $meaning:literal) => {
        Setting {
            name: $name,
            meaning: $meaning,
            shape: Shape::One("P"),
            group: Some(Group::Faults),
            access: &One {
                parse: read::<Probability>,
                show: ToString::to_string,
                get: |plan| Some(plan.faults.$field),
                set: |plan, probability| plan.faults.$field = probability,
                usual: |_| Some(Probability::default()),
            },
            ..ROW
        }
    };
}

/// What happens to single messages.
macro_rules! message {
    ($read:ident, $deed:expr, $name:literal, $value:literal, $meaning:literal) => {
        Setting {
            name: $name,
            meaning: $meaning,
            shape: Shape::Again($value),
            group: Some(Group::Faults),
            access: &Many::<MessageFault> {
                parse: |text| Ok($read(text)?),
                show: ToString::to_string,
                get: |plan| these(plan, $deed),
                set: |plan, faults| {
                    plan.faults.messages.extend(faults);
                    Ok(())
                },
                usual: |_| Vec::new(),
            },
            ..ROW
        }
    };
}

/// Every setting of a run.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "n",
        meaning: "How many processes take part; they are 1 to N [default: 5]",
        shape: Shape::One("N"),
        spoken: Spoken::When(is_dense),
        access: &One {
            parse: |text| members(text, 1, MEMBERS_MAX).map(|n| View::dense(1, n)),
            show: |view| view.len().to_string(),
            get: |plan| Some(plan.clients.clone()),
            set: |plan, view| plan.clients = view,
            usual: |_| Some(View::dense(1, 5)),
        },
        ..ROW
    },
    Setting {
        name: "ids",
        meaning: "Their ids instead, in ring order",
        shape: Shape::List("ID,ID,..."),
        spoken: Spoken::When(|plan| !is_dense(plan)),
        access: &Many {
            parse: id,
            show: ToString::to_string,
            get: |plan| plan.clients.members().to_vec(),
            set: |plan, ids| {
                plan.clients = View::new(ids)?;
                Ok(())
            },
            usual: |_| View::dense(1, 5).members().to_vec(),
        },
        ..ROW
    },
    Setting {
        name: "voting-sets",
        meaning: "How voting sets are made: grid, plane, nearest-plane, tree, majority or all; or \
                  your own, e.g. own:1:1,2/2:2,3/3:3,1, or file:PATH [default: grid]",
        shape: Shape::One("NAME"),
        fits: Fits::VotingSets,
        is_recorded: true,
        access: &One {
            parse: read::<Voting>,
            show: ToString::to_string,
            get: |plan| Some(Voting::of(plan)),
            set: |plan, voting| match voting {
                Voting::By(construction) => {
                    (plan.construction, plan.own_sets) = (construction, None);
                }
                Voting::Own(own_sets) => plan.own_sets = Some(own_sets),
            },
            usual: |_| Some(Voting::By(Construction::Grid)),
        },
        ..ROW
    },
    Setting {
        name: "network",
        meaning: "How long messages take: unit, sync:D, uniform:A..B or exponential:M [default: unit]",
        shape: Shape::One("MODEL"),
        spoken: Spoken::Always,
        access: &One {
            parse: read::<Network>,
            show: ToString::to_string,
            get: |plan| Some(plan.network),
            set: |plan, network| plan.network = network,
            usual: |_| Some(Network::Unit),
        },
        ..ROW
    },
    Setting {
        name: "mutant",
        meaning: "Run a mutant of it: one rule is broken, as `conclave mutants` lists them",
        shape: Shape::One("NAME"),
        is_recorded: true,
        access: &One {
            parse: |name| Ok(mutants::find(name)?),
            show: |mutant: &&Mutant| mutant.name.to_string(),
            get: |plan| plan.mutant,
            set: |plan, mutant| {
                plan.mutant = Some(mutant);
                // A mutant may serve nobody and go on for ever, where no fault wears patience out.
                plan.limits.events = plan.limits.events.min(MUTANT_EVENTS_MAX);
                match mutant.breaks {
                    Breaks::Order => plan.order = ChannelOrder::Any,
                    Breaks::Bound if plan.network == Network::Unit => {
                        plan.network = Network::Exponential { mean: Time::DELAY };
                    }
                    _ => {}
                }
            },
            usual: |_| None,
        },
        ..ROW
    },
    Setting {
        name: "no-fifo",
        meaning: "Let messages of one channel overtake each other",
        access: &Switch {
            get: |plan| plan.order == ChannelOrder::Any,
            set: |plan, is_any| {
                plan.order = if is_any { ChannelOrder::Any } else { ChannelOrder::Fifo };
            },
            usual: |_| false,
        },
        ..ROW
    },
    Setting {
        name: "workload",
        meaning: "Who asks when: one (each alone), contend (all at once, and again), think:M (each \
                  after M on average) or greedy:ID:M (that one at once, always; the others think) \
                  [default: contend]",
        shape: Shape::One("NAME"),
        fits: Fits::Family(Locks::PROFILE),
        spoken: Spoken::Always,
        access: &One {
            parse: read::<Workload>,
            show: ToString::to_string,
            get: |plan| Some(plan.workload.clone()),
            set: |plan, workload| plan.workload = workload,
            usual: |_| Some(Workload::Contend),
        },
        ..ROW
    },
    Setting {
        name: "entries",
        meaning: "How many entries in all [default: 4 for each process, 1 if each asks alone]",
        shape: Shape::One("COUNT"),
        fits: Fits::Family(Locks::PROFILE),
        follows: true,
        spoken: Spoken::Always,
        access: &One {
            parse: count,
            show: ToString::to_string,
            get: |plan| Some(plan.entries),
            set: |plan, entries| plan.entries = entries,
            usual: |plan| Some(plan.default_entries()),
        },
        ..ROW
    },
    Setting {
        name: "hold",
        meaning: "How long a holder stays in [default: 1ms]",
        shape: Shape::One("TIME"),
        fits: Fits::Family(Locks::PROFILE),
        access: &One {
            parse: duration,
            show: time,
            get: |plan| Some(plan.hold),
            set: |plan, hold| plan.hold = hold,
            usual: |_| Some(Time::DELAY),
        },
        ..ROW
    },
    Setting {
        name: "initiators",
        meaning: "Who calls an election, and when if not at the start [default: the first that is up]",
        shape: Shape::List("ID[@TIME],..."),
        group: Some(Group::Elections),
        fits: Fits::Family(Elections::PROFILE),
        follows: true,
        // Who has no callers begins by itself, and there is no word for nobody.
        spoken: Spoken::When(|plan| !plan.calls.is_empty() && plan.calls != plan.default_calls()),
        access: &Many {
            parse: call,
            show: |&(id, at)| match at {
                Time::ZERO => id.to_string(),
                _ => format!("{id}@{at}ms"),
            },
            get: |plan| plan.calls.clone(),
            set: |plan, calls| {
                plan.calls = calls;
                Ok(())
            },
            usual: Plan::default_calls,
        },
        ..ROW
    },
    Setting {
        name: "steps",
        meaning: "Who takes which step, and when if not at the start: 1>2 sends from 1 to 2, 1 is a \
                  step that 1 does alone [default: some at random]",
        shape: Shape::List("ID[>ID][@TIME],..."),
        fits: Fits::Family(Processes::PROFILE),
        access: &Many::<ScriptedStep> {
            parse: read,
            show: ToString::to_string,
            get: |plan| plan.steps.clone(),
            set: |plan, steps| {
                plan.steps = steps;
                Ok(())
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    Setting {
        name: "bound",
        meaning: "D: how long a message takes at most, as the members believe [default: as the \
                  network says]",
        shape: Shape::One("TIME"),
        group: Some(Group::Timers),
        fits: Fits::Timer(Timer::Bound),
        is_recorded: true,
        follows: true,
        access: &One {
            parse: long_enough,
            show: time,
            get: |plan| Some(Time::of(plan.timing.bound)),
            set: |plan, bound| plan.timing.bound = bound.as_duration(),
            usual: |plan| Some(plan.network.typical()),
        },
        ..ROW
    },
    timer!(
        Answer,
        answer,
        "answer-timeout",
        "T of the bully: how long an answer is waited for [default: 2 D]"
    ),
    timer!(
        Announcement,
        announcement,
        "announcement-timeout",
        "T' of the bully: how long the announcement is waited for after an answer [default: 5 D]"
    ),
    Setting {
        name: "skip-dead",
        meaning: "Let the bully strike the dead coordinator from those it asks",
        group: Some(Group::Timers),
        fits: Fits::Timer(Timer::SkipDead),
        is_recorded: true,
        access: &Switch {
            get: |plan| plan.timing.skip_dead,
            set: |plan, is_skipped| plan.timing.skip_dead = is_skipped,
            usual: |_| false,
        },
        ..ROW
    },
    timer!(Beat, beat, "beat", "T of detectors: the time from beat to beat [default: 10 D]"),
    Setting {
        name: "phi",
        meaning: "The threshold of the accrual detector, from 0.1 to 20 [default: 8]",
        shape: Shape::One("PHI"),
        group: Some(Group::Timers),
        fits: Fits::Timer(Timer::Phi),
        is_recorded: true,
        access: &One {
            parse: phi,
            show: |hundredths| (f64::from(*hundredths) / 100.0).to_string(),
            get: |plan| Some(plan.timing.phi_hundredths),
            set: |plan, hundredths| plan.timing.phi_hundredths = hundredths,
            usual: |_| Some(800),
        },
        ..ROW
    },
    timer!(
        Lease,
        lease,
        "lease",
        "How long a master leads without a word from a majority [default: 20 D]"
    ),
    timer!(
        Session,
        session,
        "session",
        "After how long without a word the store closes a session [default: 30 D]"
    ),
    Setting {
        name: "for",
        meaning: "Go on at least that long [default: until the last fault can be noticed]",
        shape: Shape::One("TIME"),
        group: Some(Group::Elections),
        fits: Fits::Endless,
        follows: true,
        access: &One {
            parse: duration,
            show: time,
            get: |plan| Some(plan.until),
            set: |plan, until| plan.until = until,
            usual: |plan| Some(plan.default_until()),
        },
        ..ROW
    },
    Setting {
        name: "ask-every",
        meaning: "Let every process read or write the value that leaders keep, with that mean time \
                  in between",
        shape: Shape::One("TIME"),
        group: Some(Group::Elections),
        fits: Fits::Values(Elections::PROFILE),
        access: &One {
            parse: long_enough,
            show: time,
            get: |plan| plan.asks_every,
            set: |plan, mean| plan.asks_every = Some(mean),
            usual: |_| None,
        },
        ..ROW
    },
    Setting {
        name: "dead",
        meaning: "Who is down from the start",
        shape: Shape::AgainList("ID,ID,..."),
        group: Some(Group::Faults),
        access: &Many {
            parse: id,
            show: ToString::to_string,
            get: |plan| plan.faults.dead.clone(),
            set: |plan, dead| {
                plan.faults.dead.extend(dead);
                Ok(())
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    Setting {
        name: "crash",
        meaning: "Let a process die, e.g. 3@40ms, or when something happens to it: '2 on entering'",
        shape: Shape::Again("ID@TIME"),
        group: Some(Group::Faults),
        access: &Many::<Death> {
            parse: read,
            show: ToString::to_string,
            get: |plan| {
                let FaultPlan { crashes, crashes_on, .. } = &plan.faults;
                let at = crashes.iter().copied().map(Death::At);
                at.chain(crashes_on.iter().cloned().map(Death::On)).collect()
            },
            set: |plan, deaths| {
                for death in deaths {
                    match death {
                        Death::At(crash) => plan.faults.crashes.push(crash),
                        Death::On(crash) => plan.faults.crashes_on.push(crash),
                    }
                }
                Ok(())
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    faults!(
        Return,
        returns,
        "return",
        "ID@TIME",
        "Let a crashed process come back, with only what it persisted, e.g. 3@90ms"
    ),
    faults!(
        Return,
        replacements,
        "replace",
        "ID@TIME",
        "Let another process take the place of a crashed one, under the same id, e.g. 3@90ms"
    ),
    faults!(
        Pause,
        pauses,
        "pause",
        "ID@FROM..UNTIL",
        "Let a process do nothing for a while, e.g. 2@10ms..30ms"
    ),
    faults!(
        Partition,
        partitions,
        "partition",
        "IDS/IDS@FROM..UNTIL",
        "Lose what goes between two groups for a while, e.g. 1,2/3,4,5@10ms..30ms; 1>2 cuts one \
         way, and with ,held behind it what would cross waits until it is healed"
    ),
    faults!(
        Slow,
        slow,
        "slow",
        "ID=TIMES",
        "Let a process need so many times as long for each step, e.g. 3=4x"
    ),
    probability!(loss, "loss", "Lose messages with that probability"),
    Setting {
        name: "duplicate",
        meaning: "Deliver messages twice with that probability, or this one: 'request 2>3 #1'",
        shape: Shape::Again("P"),
        group: Some(Group::Faults),
        access: &Many::<Doubling> {
            parse: read,
            show: ToString::to_string,
            get: |plan| {
                let chance = plan.faults.duplicate;
                let chance = (!chance.is_zero()).then_some(Doubling::Chance(chance));
                let these = these(plan, Deed::Duplicate).into_iter().map(Doubling::This);
                chance.into_iter().chain(these).collect()
            },
            set: |plan, doublings| {
                let mut chances = 0;
                for doubling in doublings {
                    match doubling {
                        Doubling::Chance(chance) => {
                            chances += 1;
                            plan.faults.duplicate = chance;
                        }
                        Doubling::This(fault) => plan.faults.messages.push(fault),
                    }
                }
                if chances > 1 { Err(SettingError::TwoChances) } else { Ok(()) }
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    message!(
        read_drop,
        Deed::Drop,
        "drop",
        "KIND FROM>TO #COUNT",
        "Lose this message, e.g. 'request 2>3 #1' for the first request from 2 to 3"
    ),
    message!(
        read_delay,
        Deed::Delay(Time::ZERO),
        "delay",
        "KIND FROM>TO #COUNT by TIME",
        "Let this message take that much longer, e.g. 'request 2>3 #1 by 5ms'"
    ),
    message!(
        read_hurry,
        Deed::Hurry,
        "hurry",
        "KIND FROM>TO #COUNT",
        "Let this message take no time, e.g. 'request 2>3 #1'"
    ),
    Setting {
        is_recorded: true,
        ..faults!(
            Drift,
            drifts,
            "drift",
            "ID=RATE",
            "Let a clock run too fast or too slow, e.g. 2=1.3"
        )
    },
    Setting {
        name: "intervene",
        meaning: "Do something before the event of that number: crash, return, pause or resume a \
                  process, lose or deliver a message, e.g. 12:crash:3",
        shape: Shape::Again("EVENT:ACT:WHOM"),
        group: Some(Group::Faults),
        is_recorded: true,
        access: &Many::<Intervention> {
            parse: read,
            show: ToString::to_string,
            get: |plan| plan.interventions.clone(),
            set: |plan, interventions| {
                plan.interventions.extend(interventions);
                plan.interventions.sort_by_key(|intervention| intervention.before);
                Ok(())
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    Setting {
        name: "clock",
        meaning: "What a logical clock shows first, where it is not 0, e.g. 32 101",
        shape: Shape::Again("ID COUNT"),
        group: None,
        fits: Fits::Family(Locks::PROFILE),
        is_recorded: true,
        access: &Many {
            parse: clock,
            show: |(id, count)| format!("{id} {count}"),
            get: |plan| plan.clocks.clone(),
            set: |plan, clocks| {
                plan.clocks.extend(clocks);
                Ok(())
            },
            usual: |_| Vec::new(),
        },
        ..ROW
    },
    Setting {
        name: "holder",
        meaning: "Who is in from the start",
        shape: Shape::One("ID"),
        group: None,
        fits: Fits::Family(Locks::PROFILE),
        is_recorded: true,
        access: &One {
            parse: |text| text.parse().map(ProcessId).map_err(|_| SettingError::Holder),
            show: ToString::to_string,
            get: |plan| plan.holder,
            set: |plan, holder| plan.holder = Some(holder),
            usual: |_| None,
        },
        ..ROW
    },
    Setting {
        name: "patience",
        meaning: "Give up when nobody has entered for that long after a fault [default: 1000 delays \
                  per process]",
        shape: Shape::One("TIME"),
        group: Some(Group::Judging),
        follows: true,
        access: &One {
            parse: duration,
            show: time,
            get: |plan| Some(plan.limits.patience),
            set: |plan, patience| plan.limits.patience = patience,
            usual: |plan| Some(plan.default_patience()),
        },
        ..ROW
    },
    Setting {
        name: "max-events",
        meaning: "Give up after that many events",
        shape: Shape::One("COUNT"),
        group: Some(Group::Judging),
        access: &One {
            parse: count,
            show: ToString::to_string,
            get: |plan| Some(plan.limits.events),
            set: |plan, events| plan.limits.events = events,
            usual: |_| Some(EVENTS_MAX),
        },
        ..ROW
    },
    Setting {
        name: "max-time",
        meaning: "Give up at that time",
        shape: Shape::One("TIME"),
        group: Some(Group::Judging),
        access: &One {
            parse: duration,
            show: time,
            get: |plan| Some(plan.limits.time),
            set: |plan, time| plan.limits.time = time,
            usual: |_| Some(Limits::NONE.time),
        },
        ..ROW
    },
    Setting {
        name: "go-on",
        meaning: "Do not stop at the first violation, but count all of them",
        group: Some(Group::Judging),
        access: &Switch {
            get: |plan| plan.after_violation == AfterViolation::GoOn,
            set: |plan, goes_on| {
                plan.after_violation =
                    if goes_on { AfterViolation::GoOn } else { AfterViolation::Stop };
            },
            usual: |_| false,
        },
        ..ROW
    },
    Setting {
        name: "ordering",
        meaning: "Judge the order of grants also above 32 processes, where that is expensive",
        group: Some(Group::Judging),
        fits: Fits::Family(Locks::PROFILE),
        follows: true,
        spoken: Spoken::When(|plan| plan.ordering != plan.default_ordering()),
        access: &Switch {
            get: |plan| plan.ordering == JudgeOrdering::Yes,
            set: |plan, is_judged| {
                plan.ordering = if is_judged { JudgeOrdering::Yes } else { JudgeOrdering::No };
            },
            usual: |plan| plan.default_ordering() == JudgeOrdering::Yes,
        },
        ..ROW
    },
    Setting {
        name: "seed",
        meaning: "The number that decides everything random [default: 1]",
        shape: Shape::One("SEED"),
        spoken: Spoken::Always,
        access: &One {
            parse: |text| Ok(text.parse()?),
            show: ToString::to_string,
            get: |plan| Some(plan.seed),
            set: |plan, seed| plan.seed = seed,
            usual: |_| Some(1),
        },
        ..ROW
    },
];

/// Those single messages to which the like is done.
fn these(plan: &Plan, deed: Deed) -> Vec<MessageFault> {
    let is_alike = |it: &&MessageFault| it.deed.word() == deed.word();
    plan.faults.messages.iter().filter(is_alike).cloned().collect()
}

/// Whether ids are 1 to N.
fn is_dense(plan: &Plan) -> bool {
    u32::try_from(plan.clients.len()).is_ok_and(|n| plan.clients == View::dense(1, n))
}

fn read<T: Notation<Error: Into<SettingError>>>(text: &str) -> Result<T, SettingError> {
    T::read(text).map_err(Into::into)
}

fn duration(text: &str) -> Result<Time, SettingError> {
    Ok(parse_time(text)?)
}

/// Long enough that a quarter of it is still something.
fn long_enough(text: &str) -> Result<Time, SettingError> {
    match parse_time(text)? {
        time if time >= Time(1_000) => Ok(time),
        _ => Err(SettingError::TimeTooShort),
    }
}

fn time(time: &Time) -> String {
    format!("{time}ms")
}

fn count(text: &str) -> Result<u64, SettingError> {
    match text.parse()? {
        0 => Err(SettingError::Count { max: u64::MAX }),
        count => Ok(count),
    }
}

/// A number of processes within that range.
pub fn members(text: &str, min: u32, max: u32) -> Result<u32, SettingError> {
    match text.parse() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        _ => Err(SettingError::Members { min, max }),
    }
}

/// The name of a process.
pub fn id(text: &str) -> Result<ProcessId, SettingError> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().map(ProcessId).map_err(|_| match is_number {
        true => SettingError::IdTooLarge,
        false => SettingError::Id,
    })
}

/// `3`, at the start, or `3@20ms`.
fn call(text: &str) -> Result<(ProcessId, Time), SettingError> {
    match text.split_once('@') {
        Some((who, at)) => {
            let at = parse_time(at)?;
            Ok((id(who)?, at))
        }
        None => Ok((id(text)?, Time::ZERO)),
    }
}

/// A threshold in hundredths, so that it is a whole number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is at most 2000")]
pub fn phi(text: &str) -> Result<u32, SettingError> {
    match text.parse::<f64>() {
        Ok(phi) if (0.1..=20.0).contains(&phi) => Ok(libm::round(phi * 100.0) as u32),
        _ => Err(SettingError::Phi),
    }
}

fn clock(text: &str) -> Result<(ProcessId, Timestamp), SettingError> {
    let parse = || {
        let (id, count) = text.split_once(' ')?;
        // Clocks count on from here: half of their range is left for that.
        let count: u32 = count.parse().ok()?;
        Some((ProcessId(id.parse().ok()?), Timestamp(count.into())))
    };
    parse().ok_or(SettingError::Clock)
}
