//! How figures are written for people.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, bail};
use conclave_diagram::Options;
use conclave_observe::measure::Histogram;
use conclave_observe::trace::Trace;
use conclave_observe::{Time, Verdict};
use conclave_sim::Network;

use crate::cli::DrawingArgs;

/// What times are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Message delays: every message takes one.
    Delays,
    /// Nanoseconds of the run's own time; people are shown milliseconds.
    Nanoseconds,
}

impl Unit {
    /// What the times of that network are counted in.
    pub fn of(network: Network) -> Self {
        match network {
            Network::Unit => Unit::Delays,
            _ => Unit::Nanoseconds,
        }
    }

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Delays => "delay",
            Unit::Nanoseconds => "ns",
        }
    }

    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Delays => "delays",
            Unit::Nanoseconds => "ms",
        }
    }

    /// The word for one of it, where people read.
    pub fn one(self) -> &'static str {
        match self {
            Unit::Delays => "delay",
            Unit::Nanoseconds => "ms",
        }
    }

    /// Nanoseconds as a number of this unit.
    pub fn count(self, nanoseconds: f64) -> f64 {
        match self {
            Unit::Delays => nanoseconds / Time::delays(1).0 as f64,
            Unit::Nanoseconds => nanoseconds,
        }
    }
}

/// A number with as many digits as a reader wants.
pub fn number(value: f64) -> String {
    let rounded = format!("{value:.3}");
    let trimmed = rounded.trim_end_matches('0').trim_end_matches('.');
    if trimmed == "-0" { "0".into() } else { trimmed.into() }
}

/// Mean and percentiles, in milliseconds or delays; `none` if there are none.
pub fn spread(histogram: &Histogram, none: &str) -> String {
    let (Some(mean), Some(p50), Some(p99), Some(max)) =
        (histogram.mean(), histogram.percentile(50), histogram.percentile(99), histogram.max())
    else {
        return none.into();
    };
    let show = |time: Time| number(time.in_delays());
    format!(
        "mean {}, p50 {}, p99 {}, max {}",
        number(mean / Time::DELAY.0 as f64),
        show(p50),
        show(p99),
        show(max)
    )
}

/// The colour of a verdict; none of it is seen where there is no terminal.
pub fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Ok => AnsiColor::Green,
        Verdict::Budget => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(colour.into()))
}

/// Draws a trace into a file, if that was asked for.
pub fn draw(
    trace: &Trace,
    args: &DrawingArgs,
    n: usize,
    caption: Vec<String>,
) -> anyhow::Result<()> {
    let Some(path) = &args.svg else { return Ok(()) };
    let (from, to) = (args.svg_from, args.svg_to);
    let title = Some(format!(
        "{}, {n} processes, network {}, seed {}",
        trace.header.algorithm, trace.header.network, trace.header.seed
    ));
    let options = Options { from, to, title, caption };
    write_file(path, |file| file.write_all(conclave_diagram::draw(trace, &options).as_bytes()))
}

/// Whether there is anything between the two ends.
pub fn check_window(args: &DrawingArgs) -> anyhow::Result<()> {
    match (args.svg_from, args.svg_to) {
        (Some(from), Some(to)) if from >= to => {
            bail!("--svg-from {from}ms is not before --svg-to {to}ms")
        }
        _ => Ok(()),
    }
}

/// Whether a file can be written there; what it holds stays as it is.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    let attempt = OpenOptions::new().append(true).create(true).open(path);
    attempt.map(drop).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file, or says which one could not be written.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let attempt = || {
        let mut file = BufWriter::new(File::create(path)?);
        write(&mut file)?;
        file.flush()
    };
    attempt().with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a text file, or says which one could not be read.
pub fn read_file(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
