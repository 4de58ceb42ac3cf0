//! How much memory a run needs, before it begins.
//!
//! Nobody declares it. Two small trials (`trial.rs`) of the same plan are run, with 32 and 64
//! processes, and what they keep is weighed: states by what is serialised (`weigher.rs`) of them,
//! messages and timers by their number and the size of their types, recorded events one by one.
//! How that grew from the first trial to the second says how it goes on. So a new algorithm is
//! weighed like all others.

mod trial;
mod weigher;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_algorithms::catalogue::SeatingError;
use conclave_core::detector::Detectors;
use conclave_observe::JudgeOrdering;
use conclave_sim::Recording;

use crate::plan::Plan;
use crate::setting::NamesSettings;
use trial::Trial;

/// The memory that a run, or a search, may take unless it is said otherwise.
pub const MEMORY_MAX: u64 = 8 << 30;

/// So many processes fit into [that much](MUCH), whatever they do, as long as nothing is recorded.
const FEW: usize = 256;
const MUCH: u64 = 1 << 29;
/// What the judge and the simulator keep of each process, in tables by seat.
const TABLES_PER_PROCESS: f64 = 512.0;
/// Containers grow ahead of what is in them; the queue of messages to a power of two.
const SLACK: f64 = 1.25;
const SLACK_OF_QUEUE: f64 = 2.0;

/// How much memory a run needs, in bytes, by what takes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Need {
    /// The states of the processes, their timers, and what they are told at first.
    pub processes: f64,
    /// The messages on their way, at their most.
    pub messages: f64,
    /// The vector clocks by which order is judged.
    pub clocks: f64,
    /// What is recorded of the run, in bytes.
    pub records: f64,
}

/// A run that needs more memory than there is for it.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum NeedError {
    /// It does not fit.
    #[error(
        "{name} with {n} processes needs about {} of memory, most of it for {what}, and may take \
         {}; {instead}, or raise `max-memory`",
        size(*needed),
        size(*limit as f64)
    )]
    TooMuch {
        /// The name of the algorithm.
        name: &'static str,
        /// How many ask or take part.
        n: usize,
        /// How much it needs.
        needed: f64,
        /// What takes most of it.
        what: &'static str,
        /// How much there is for it.
        limit: u64,
        /// What would fit.
        instead: String,
    },
    /// Nobody can be seated like that.
    #[error(transparent)]
    Seating(#[from] SeatingError),
}

impl NamesSettings for NeedError {
    fn settings(&self) -> Vec<&'static str> {
        Vec::from(["max-memory"])
    }
}

impl Plan {
    /// Whether it fits into so many bytes; if not, one line says why, and how many processes would.
    pub fn check_memory(&self, limit: u64) -> Result<(), NeedError> {
        let n = self.clients.len();
        if n <= FEW && limit >= MUCH && self.recording == Recording::Nothing {
            return Ok(());
        }
        let forecast = Forecast::of(self)?;
        let need = forecast.need(n);
        if need.total() <= limit as f64 {
            return Ok(());
        }
        Err(NeedError::TooMuch {
            name: self.entry.name,
            n,
            needed: need.total(),
            what: need.most(),
            limit,
            instead: forecast.instead(limit),
        })
    }

    /// How much memory it needs.
    pub fn need(&self) -> Result<Need, SeatingError> {
        Ok(Forecast::of(self)?.need(self.clients.len()))
    }
}

impl Need {
    /// All of it together, in bytes.
    pub fn total(&self) -> f64 {
        self.processes + self.messages + self.clocks + self.records
    }

    /// What takes most of it.
    fn most(&self) -> &'static str {
        let parts = [
            (self.processes, "the states of the processes"),
            (self.messages, "messages on their way"),
            (self.clocks, "the vector clocks that judge the order"),
            (self.records, "what is recorded"),
        ];
        parts.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).map_or("", |it| it.1)
    }
}

/// What two trials say of a larger run.
struct Forecast<'a> {
    plan: &'a Plan,
    small: Trial,
    large: Trial,
}

impl<'a> Forecast<'a> {
    fn of(plan: &'a Plan) -> Result<Self, SeatingError> {
        let (small, large) = Trial::sizes(plan);
        Ok(Self { plan, small: Trial::run(plan, small)?, large: Trial::run(plan, large)? })
    }

    /// What a run of that many would need.
    fn need(&self, n: usize) -> Need {
        let members = n as f64;
        let sets = if n > 128 { members / 8.0 } else { 0.0 };
        let share = self.plan.share(n);
        let messages = share * self.grown(n, |it| it.messages);
        let timers = self.grown(n, |it| it.timers) * self.large.bytes_per_timer;
        let states = share * self.grown(n, |it| it.heap) + self.grown(n, |it| it.sets) * sets;
        let votes = self.grown(n, |it| it.votes);
        let fixed = members * (self.large.bytes_per_process + TABLES_PER_PROCESS);
        let judged = members * if self.plan.entry.is_of::<Detectors>() { sets } else { 0.0 };
        let clocks = match self.plan.ordering {
            // Copies of one multicast share a clock.
            JudgeOrdering::Yes => (messages / 2.0 + 2.0 * members) * 8.0 * members,
            JudgeOrdering::No => 0.0,
        };
        Need {
            processes: SLACK * (states + timers) + votes + fixed + judged,
            messages: SLACK_OF_QUEUE * messages * self.large.bytes_per_message(),
            clocks,
            records: self.records(n),
        }
    }

    /// What a run of that many would record. Whoever shows a trace copies it first.
    fn records(&self, n: usize) -> f64 {
        if self.plan.recording == Recording::Nothing {
            return 0.0;
        }
        let copies = 2.0;
        copies * self.grown(n, |it| it.records) * self.plan.length(n)
    }

    /// What this part of a trial becomes when `n` take part: it goes on as it grew.
    fn grown(&self, n: usize, part: fn(&Trial) -> f64) -> f64 {
        let (small, large) = (part(&self.small), part(&self.large));
        if large == 0.0 || n as f64 == self.large.n {
            return large;
        }
        let times = self.large.n / self.small.n;
        let exponent = libm::log(large / small.max(1.0)) / libm::log(times);
        large * libm::pow(n as f64 / self.large.n, steady(exponent).max(0.0))
    }

    /// What would fit.
    fn instead(&self, limit: u64) -> String {
        let fits = |n: usize| self.need(n).total() <= limit as f64;
        let (mut fitting, mut too_many) = (0, self.plan.clients.len());
        while fitting + 1 < too_many {
            let middle = usize::midpoint(fitting, too_many);
            *(if fits(middle) { &mut fitting } else { &mut too_many }) = middle;
        }
        match fitting {
            0 => "let it be shorter, or record nothing".into(),
            _ => format!("choose at most {fitting} processes"),
        }
    }
}

/// An exponent without what comes of N - 1 in the place of N.
fn steady(exponent: f64) -> f64 {
    let half = libm::round(2.0 * exponent) / 2.0;
    if (exponent - half).abs() < 0.1 { half } else { exponent }
}

/// A number of bytes, as people read it.
fn size(bytes: f64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes / 1024.0, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = usize::from(value < 9.95 && value != libm::floor(value));
    format!("{value:.digits$} {}", UNITS[unit])
}
