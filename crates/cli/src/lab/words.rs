//! The words of the lab.

use std::error::Error;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use conclave_algorithms::quorum::OwnSets;
use conclave_core::ProcessId;
use conclave_diagram::Medium;
use conclave_observe::Time;
use conclave_workbench::notation::{self, Voting, parse_time};
use conclave_workbench::setting::{self, MEMBERS_MAX, SettingError};
use conclave_workbench::sweep::Sweep;
use conclave_workbench::table::TablePlan;

mod check;
mod settings;

use super::memory::MemoryArgs;
pub use check::{CheckArgs, Unfair};
pub use settings::{CheckSettings, RunSettings, Said, SettingsOf};

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the algorithms: messages, needs and problems; or all there is to say of one
    Algorithms(AlgorithmsArgs),
    /// Simulate one algorithm, judge the run and measure it
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// List the mutants: algorithms with one rule broken, which must be caught
    #[command(after_help = MUTANTS_EXAMPLES)]
    Mutants(MutantsArgs),
    /// List the scenarios that come with the program, or print one
    #[command(after_help = SCENARIOS_EXAMPLES)]
    Scenarios(ScenariosArgs),
    /// Search all that an algorithm can do, and prove or refute what it promises
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArgs>),
    /// Measure every algorithm beside its formula
    #[command(after_help = TABLE_EXAMPLES)]
    Table(TableArgs),
    /// Measure what failure detectors trade: how soon they notice for how rarely they err
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArgs),
    /// Construct voting sets, or read your own, check them and draw them
    #[command(after_help = SETS_EXAMPLES)]
    VotingSets(VotingSetsArgs),
    /// Read a recorded run, judge it again and draw it
    Trace(TraceArgs),
}

const RUN_EXAMPLES: &str = "Examples:
  conclave run ricart-agrawala -n 9 --entries 90
  conclave run maekawa -n 13 --voting-sets plane --network exponential:3ms --seed 7
  conclave run central -n 3 --crash 0@4ms        everybody waits for a dead coordinator
  conclave run lamport -n 2 --no-fifo --network uniform:1ms..20ms --seed 2
  conclave run ricart-agrawala --loss 0.05 --svg lost.svg
  conclave run ricart-agrawala --scenario FILE --explain
  conclave run --scenario golden-bully           one of `conclave scenarios`
  conclave run ricart-agrawala -n 3 --drop 'reply 2>3 #1'     this message is lost
  conclave run central -n 3 --crash '2 on entering'           it dies as it gets the lock
  conclave run chang-roberts --ids 3,32,5,80,6,12 --initiators 3
  conclave run bully --ids 3,5,6,12,32,80 --dead 80 --initiators 6
  conclave run chubby -n 5 --crash 1@40ms --drift 2=1.3
  conclave run heartbeat -n 5 --crash 3@40ms
  conclave run maekawa-plain -n 3 --trace run.jsonl
  conclave run --replay run.jsonl --explain      the same steps again, by the real processes

Times are written 40ms, 1.5ms, 300us, 2s; a bare number is milliseconds. In the unit network every
message takes one delay, which is shown as 1 and written as 1ms.";

const MUTANTS_EXAMPLES: &str = "Examples:
  conclave mutants
  conclave mutants bully-hasty                           which rule it breaks, and how to see it
  conclave run bully --mutant bully-hasty --explain
  conclave check maekawa --mutant maekawa-second-fail -n 4 --askers 2,3,4 --svg deadlock.svg";

const SCENARIOS_EXAMPLES: &str = "Examples:
  conclave scenarios
  conclave run --scenario golden-bully --explain
  conclave scenarios golden-bully > mine.scenario        to be changed, and run as a file";

const CHECK_EXAMPLES: &str = "Examples:
  conclave check ricart-agrawala -n 3 --requests 2
  conclave check maekawa-plain --explain          its shortest deadlock, step by step
  conclave check lamport -n 2 --no-fifo --svg two-holders.svg
  conclave check bully -n 3 --crashes 1 --returns 1
  conclave check bully -n 2 --time async --trace wrong.jsonl
  conclave check token-ring -n 3 --unfair leaves  what is owed to fairness
  conclave check chubby --safety --terms 3 --timeouts 2
  conclave check --all --quick

What is bounded is the work: how often each asks, how many faults happen. Exit codes: 0 proved, 2
bad input, 10 violated, 11 deadlock, 12 starved, 13 stalled, 14 budget, 15 vacuous (nothing is
wrong, but something that a proof rests on never happened).";

const TABLE_EXAMPLES: &str = "Examples:
  conclave table
  conclave table --kind election
  conclave table -n 4,9,16 --format markdown
  conclave table --json";

const SWEEP_EXAMPLES: &str = "Examples:
  conclave sweep
  conclave sweep --runs 200 --svg trade.svg
  conclave sweep --network exponential:5ms --network uniform:1ms..9ms --thresholds 1,4,8
  conclave sweep --bounds 2ms,5ms,20ms --json

Every point is measured in the same runs, in each of which one process crashes. Times are written as
in `conclave run`.";

const SETS_EXAMPLES: &str = "Examples:
  conclave voting-sets grid -n 36 --svg grid.svg --of 14
  conclave voting-sets plane -n 13
  conclave voting-sets file:sets.txt --svg sets.svg

A file has one set a line, e.g. `3: 3, 1`, of process 3. Sets that share nobody are refused, unless
a line `disjoint` says that this is meant.";

/// `conclave algorithms`
#[derive(Debug, Args)]
pub struct AlgorithmsArgs {
    /// Tell all of this one: what it promises, needs and costs, what a crash does, its source
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// `conclave run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Its name, as `conclave algorithms` lists it
    #[arg(required_unless_present_any = ["replay", "scenario"])]
    pub algorithm: Option<String>,
    /// Take a recorded run again with the real processes, step by step, and refuse it if they do
    /// anything else
    #[arg(long, value_name = "FILE", conflicts_with = "algorithm")]
    pub replay: Option<PathBuf>,
    /// What decides the run
    #[command(flatten)]
    pub settings: RunSettings,
    /// How much memory it may take
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Print the run event by event, with the rule that fired
    #[arg(help_heading = "Output", long, conflicts_with = "json")]
    pub explain: bool,
    /// Print figures by process, too
    #[arg(help_heading = "Output", long, conflicts_with = "json")]
    pub stats: bool,
    /// Write every event as a line of JSON
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Write into the trace, after each step of a process, its state and timers
    #[arg(help_heading = "Output", long, requires = "trace", conflicts_with = "replay")]
    pub states: bool,
    /// Where to draw, and what
    #[command(flatten)]
    pub drawing: DrawingArgs,
    /// Print JSON, for programs
    #[arg(help_heading = "Output", long)]
    pub json: bool,
}

/// Where to draw a run, and which part of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct DrawingArgs {
    /// Draw the run, or the counterexample, as a space-time diagram
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw it from that time on
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "svg")]
    pub svg_from: Option<Time>,
    /// Draw it up to that time
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "svg")]
    pub svg_to: Option<Time>,
    /// Draw it in one row, however wide, instead of in rows that fit a page
    #[arg(long, requires = "svg")]
    pub svg_scroll: bool,
    /// Draw it as a slide: 16 to 9, in type that is read from the last row
    #[arg(long, requires = "svg", conflicts_with = "svg_scroll")]
    pub svg_slide: bool,
    /// Draw brackets over the client delay and the synchronisation delay of every entry
    #[arg(long, requires = "svg")]
    pub svg_delays: bool,
}

impl DrawingArgs {
    /// What the picture is for.
    pub fn medium(&self) -> Medium {
        match (self.svg_scroll, self.svg_slide) {
            (true, _) => Medium::Scroll,
            (_, true) => Medium::Slide,
            (false, false) => Medium::Page,
        }
    }
}

/// `conclave mutants`
#[derive(Debug, Args)]
pub struct MutantsArgs {
    /// Say more of this one
    pub name: Option<String>,
    /// For programs
    #[arg(long)]
    pub json: bool,
}

/// `conclave scenarios`
#[derive(Debug, Args)]
pub struct ScenariosArgs {
    /// Print the text of this one
    pub name: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// `conclave table`
#[derive(Debug, Args)]
pub struct TableArgs {
    /// What is measured
    #[command(flatten)]
    pub settings: SettingsOf<TablePlan>,
    /// How much memory it may take
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// How to write it
    #[arg(help_heading = "Output", long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub format: Format,
    /// Print JSON, for programs
    #[arg(help_heading = "Output", long)]
    pub json: bool,
}

/// `conclave sweep`
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// What is measured
    #[command(flatten)]
    pub settings: SettingsOf<Sweep>,
    /// How much memory it may take
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// Plot the points as a picture
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(help_heading = "Output", long)]
    pub json: bool,
}

/// How to write a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// A table for people
    Text,
    /// A table for documents
    Markdown,
    /// A table for papers
    Latex,
    /// A table for spreadsheets
    Csv,
}

/// `conclave voting-sets`
#[derive(Debug, Args)]
pub struct VotingSetsArgs {
    /// How they are made: grid, plane, nearest-plane, tree, majority or all; or your own:
    /// file:PATH, or own:1:1,2/2:2,3/3:3,1
    #[arg(value_name = "NAME", value_parser = voting)]
    pub voting: Voting,
    /// For how many processes [default: 9, or those whose sets there are]
    #[arg(short, value_name = "N", value_parser = voters)]
    pub n: Option<u32>,
    /// Draw them: the square of a grid, for others who is in whose set
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Whose set is marked in the picture [default: the one in the middle]
    #[arg(long, value_name = "ID", value_parser = setting::id, requires = "svg")]
    pub of: Option<ProcessId>,
    /// Print JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// `conclave trace`
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// A file that `conclave run --trace` wrote
    pub file: PathBuf,
    /// Print it event by event, with the rule that fired
    #[arg(long)]
    pub explain: bool,
    /// Where to draw, and what
    #[command(flatten)]
    pub drawing: DrawingArgs,
}

/// What `file:PATH` says, as one text; all else is left as it is.
fn read_sets(text: &str) -> Result<String, String> {
    let Some(path) = text.strip_prefix("file:") else { return Ok(text.to_owned()) };
    let written =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let sets = written.parse::<OwnSets>().map_err(|error| format!("{path}: {error}"))?;
    Ok(format!("own:{sets}"))
}

fn voting(text: &str) -> Result<Voting, Box<dyn Error + Send + Sync>> {
    Ok(notation::read::<Voting>(&read_sets(text)?)?)
}

fn voters(text: &str) -> Result<u32, SettingError> {
    setting::members(text, 1, MEMBERS_MAX)
}
