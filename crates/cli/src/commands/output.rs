//! How figures are written for people.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, bail};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};
use conclave_diagram::Options;
use conclave_observe::measure::Histogram;
use conclave_observe::trace::Trace;
use conclave_observe::{Time, Verdict};
use conclave_sim::Network;

use crate::cli::DrawingArgs;
use crate::sentence::counted;

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

    /// That time, for people, with its unit: `1 delay`, `2.5 delays`, `7 ms`.
    pub fn show(self, time: Time) -> String {
        let count = number(time.in_delays());
        let word = if count == "1" { self.one() } else { self.word() };
        format!("{count} {word}")
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

/// Mean and percentiles, with their unit; `none` if there are none.
pub fn spread(histogram: &Histogram, unit: Unit, none: &str) -> String {
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
        unit.show(max)
    )
}

/// As wide as the terminal; as wide as a wide page where there is none.
pub fn terminal_width() -> u16 {
    const PAGE: u16 = 150;
    if !std::io::stdout().is_terminal() {
        return PAGE;
    }
    terminal_size::terminal_size().map_or(PAGE, |(terminal_size::Width(width), _)| width)
}

/// Makes a table fit into so many columns, but breaks lines between words only: a number in two
/// pieces is two numbers. Where even that is too wide it stays so.
pub fn fit(table: &mut Table, width: u16) {
    /// A border, and what is left free on both sides.
    const FRAME: usize = 3;
    let mut longest: Vec<usize> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (index, cell) in row.cell_iter().enumerate() {
            let words = cell.content();
            let word = words.split_whitespace().map(|word| word.chars().count()).max();
            if longest.len() <= index {
                longest.push(0);
            }
            longest[index] = longest[index].max(word.unwrap_or(0));
        }
    }
    let least = longest.iter().sum::<usize>() + FRAME * longest.len() + 1;
    let least = u16::try_from(least).unwrap_or(u16::MAX);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width.max(least));
    for (column, word) in table.column_iter_mut().zip(longest) {
        let word = u16::try_from(word + 2).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(word)));
    }
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
        "{}, {}, network {}, seed {}",
        trace.header.algorithm,
        counted(n as u64, "process", "processes"),
        trace.header.network,
        trace.header.seed
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

#[cfg(test)]
mod tests {
    use comfy_table::presets::UTF8_FULL_CONDENSED;

    use super::*;

    const WORDS: [&str; 4] = ["token-ring-repaired", "0.22971", "detected after, mean ms", "-"];

    /// What is between the bars, line by line.
    fn shown(width: u16) -> (usize, Vec<String>) {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        table.set_header(["detector", "set to", "a head of several words", "n"]);
        table.add_row(WORDS);
        fit(&mut table, width);
        let text = table.to_string();
        let wide = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let cells = text.split(['│', '┆', '\n']).map(|cell| cell.trim().to_owned());
        (wide, cells.flat_map(|cell| cell.split(' ').map(Into::into).collect::<Vec<_>>()).collect())
    }

    #[test]
    fn a_table_breaks_between_words_and_never_inside_one() {
        for width in 1..=90 {
            let (wide, seen) = shown(width);
            for word in WORDS.iter().flat_map(|words| words.split(' ')) {
                assert!(seen.iter().any(|it| it == word), "{word} at {width}: {seen:?}");
            }
            assert!(wide <= usize::from(width.max(53)), "{wide} at {width}");
        }
    }

    #[test]
    fn a_time_has_its_unit_and_one_of_it_is_singular() {
        let times = [0, 1, 2].map(|count| Unit::Delays.show(Time::delays(count)));
        assert_eq!(times, ["0 delays", "1 delay", "2 delays"]);
        assert_eq!(Unit::Delays.show(Time(2_500_000)), "2.5 delays");
        assert_eq!(Unit::Nanoseconds.show(Time(1_000_000)), "1 ms");
    }
}
