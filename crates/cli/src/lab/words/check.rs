//! The words of `conclave check`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use conclave_check::system::{SEARCHED_MEMBERS_MAX, TimeModel};
use conclave_core::ProcessId;
use conclave_workbench::search::{TICK, draft};
use conclave_workbench::setting::{self, SettingError};

use super::{CheckSettings, DrawingArgs, Format, MemoryArgs};

/// `conclave check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Its name, as `conclave algorithms` lists it
    #[arg(required_unless_present = "all")]
    pub algorithm: Option<String>,
    /// Check every algorithm within the bounds it is known for, and print one table
    #[arg(long, conflicts_with_all = ["algorithm", "n", "ids", "requests", "askers", "time", "no_fifo", "crashes", "crash_loses", "returns", "losses", "duplications", "terms", "timeouts", "unfair", "symmetry", "trace", "svg", "dump", "explain"])]
    pub all: bool,
    /// With --all: leave out what takes more than a few seconds
    #[arg(long)]
    pub quick: bool,
    /// With --all: how to write the table
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub format: Format,
    /// How many processes take part; they are 1 to N [default: 3]
    #[arg(short, value_name = "N", value_parser = few)]
    pub n: Option<u32>,
    /// Their ids instead, in ring order
    #[arg(long, value_name = "ID,ID,...", value_delimiter = ',', value_parser = setting::id, conflicts_with = "n")]
    pub ids: Option<Vec<ProcessId>>,
    /// What the processes are told, 1ms being a tick
    #[command(flatten)]
    pub settings: CheckSettings,
    /// How often each asks for the lock, or calls an election [default: 2 for a lock, 1 for an
    /// election]
    #[arg(long, value_name = "COUNT")]
    pub requests: Option<u8>,
    /// Who asks or calls [default: everybody]
    #[arg(long, value_name = "ID,ID,...", value_delimiter = ',', value_parser = setting::id)]
    pub askers: Option<Vec<ProcessId>>,
    /// How time passes: async (a timer may run out as soon as it is set) or sync:D (in ticks of
    /// 1ms; a message takes at most D, a timer runs out at its tick) [default: what the algorithm
    /// needs]
    #[arg(long, value_name = "MODEL", value_parser = time)]
    pub time: Option<TimeModel>,
    /// Let messages of one channel overtake each other
    #[arg(long)]
    pub no_fifo: bool,
    /// At most so many processes die
    #[arg(help_heading = "Faults", long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    pub crashes: u8,
    /// Let messages that the dead sent and that have not arrived be lost, all or some: as if they
    /// had died in the middle of a step
    #[arg(help_heading = "Faults", long)]
    pub crash_loses: bool,
    /// At most so many of the dead come back
    #[arg(help_heading = "Faults", long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    pub returns: u8,
    /// At most so many messages are lost
    #[arg(help_heading = "Faults", long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    pub losses: u8,
    /// At most so many messages arrive twice
    #[arg(help_heading = "Faults", long, value_name = "COUNT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    pub duplications: u8,
    /// Check only what must never happen, not what must happen eventually
    #[arg(help_heading = "Judging", long)]
    pub safety: bool,
    /// Look at terms up to this one only, for algorithms that go on by themselves; it needs
    /// --safety, as nobody knows what comes after
    #[arg(help_heading = "Judging", long, value_name = "TERM", requires = "safety")]
    pub terms: Option<u64>,
    /// Let at most so many timers run out in all, for the same algorithms; it needs --safety, too
    #[arg(help_heading = "Judging", long, value_name = "COUNT", requires = "safety")]
    pub timeouts: Option<u8>,
    /// Do not assume that this happens eventually if it stays possible
    #[arg(
        help_heading = "Judging",
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        conflicts_with = "safety"
    )]
    pub unfair: Vec<Unfair>,
    /// Count states that differ only in who is who as one, where ids mean nothing; it needs
    /// --safety
    #[arg(help_heading = "Search", long, requires = "safety", conflicts_with = "dump")]
    pub symmetry: bool,
    /// Keep whole states instead of fingerprints of 128 bits
    #[arg(help_heading = "Search", long)]
    pub exact: bool,
    /// On how many threads [default: one for each core]
    #[arg(help_heading = "Search", long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub threads: Option<u8>,
    /// Give up after that many states
    #[arg(help_heading = "Search", long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_states: Option<u64>,
    /// How much memory it may take
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Give up after that time, e.g. 30s or 10m
    #[arg(help_heading = "Search", long, value_name = "TIME", default_value = "10m", value_parser = crate::service::words::duration)]
    pub max_time: Duration,
    /// Print the counterexample event by event, with the rule that fired
    #[arg(help_heading = "Output", long, conflicts_with = "json")]
    pub explain: bool,
    /// Write the counterexample as lines of JSON; `conclave run --replay FILE` takes it again
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Where to draw the counterexample, and what of it
    #[command(flatten)]
    pub drawing: DrawingArgs,
    /// Write all states and steps as a labelled graph (Aldebaran's AUT) that other tools read
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(help_heading = "Output", long)]
    pub json: bool,
}

/// What may be left undone for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Unfair {
    /// A message on its way arrives
    Arrivals,
    /// A timer that is set runs out
    Timers,
    /// A holder leaves
    Leaves,
    /// Time passes by one tick
    Ticks,
}

impl From<Unfair> for draft::Unfair {
    fn from(unfair: Unfair) -> Self {
        match unfair {
            Unfair::Arrivals => Self::Arrivals,
            Unfair::Timers => Self::Timers,
            Unfair::Leaves => Self::Leaves,
            Unfair::Ticks => Self::Ticks,
        }
    }
}

/// One place is for a coordinator.
const FEW: u32 = 30;
const _: () = assert!((FEW as usize) < SEARCHED_MEMBERS_MAX);

fn few(text: &str) -> Result<u32, SettingError> {
    setting::members(text, 1, FEW)
}

fn time(text: &str) -> Result<TimeModel, String> {
    if text == "async" {
        return Ok(TimeModel::Async);
    }
    let bound = text.strip_prefix("sync:").and_then(|bound| bound.parse::<u16>().ok());
    match bound.filter(|bound| (1..=1_000).contains(bound)) {
        Some(bound) => Ok(TimeModel::Sync { bound, tick: TICK }),
        None => Err("time is `async`, or `sync:D` with 1 to 1000 ticks, e.g. sync:1".into()),
    }
}
