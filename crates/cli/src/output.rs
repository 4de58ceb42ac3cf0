//! How figures are written for people.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::Path;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use anyhow::{Context, bail};
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width};
use conclave_algorithms::mutants;
use conclave_diagram::Options;
use conclave_observe::Verdict;
use conclave_observe::family::locks;
use conclave_observe::trace::{Header, Trace};
use conclave_workbench::explain;
use conclave_workbench::sentence::counted;

use crate::exit::Unwritten;
use crate::lab::words::DrawingArgs;

/// How wide a table may be that nobody looks at on a terminal.
const PAGE: u16 = 150;

/// How wide the terminal is; `None` where there is none, so that nothing has to fit.
pub fn screen() -> Option<u16> {
    let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size)?;
    size.map(|(terminal_size::Width(width), _)| width)
}

/// Prose, broken between words so that it fits; what follows the first line is indented.
pub fn wrapped(prose: &str, screen: Option<u16>, indent: &str) -> String {
    let Some(width) = screen.map(usize::from) else { return prose.into() };
    let (mut text, mut column) = (String::new(), 0);
    for word in prose.split(' ') {
        let long = word.chars().count();
        if column > indent.len() && column + 1 + long > width {
            text.push('\n');
            text.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += long;
    }
    text
}

/// A table that fits; and where not even its longest words do, side by side, a list of its rows.
pub fn shown(mut table: Table, screen: Option<u16>) -> String {
    fit(&mut table, screen.unwrap_or(PAGE));
    let text = table.to_string();
    let wide = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    match screen {
        Some(width) if wide > usize::from(width) => listed(&table, width),
        _ => text,
    }
}

/// Row by row: what its first cell says, and below it all others, each behind its head.
fn listed(table: &Table, width: u16) -> String {
    let width = width.max(2);
    let heads = table.header().into_iter().flat_map(|row| row.cell_iter().map(Cell::content));
    let heads: Vec<String> = heads.collect();
    let mut lines = Vec::new();
    for row in table.row_iter() {
        let cells = row.cell_iter().map(Cell::content).zip(&heads).enumerate();
        lines.extend(cells.filter(|(_, (cell, _))| !cell.is_empty()).map(
            |(index, (cell, head))| match index {
                0 => wrapped(&cell, Some(width), "  "),
                _ => {
                    let below = wrapped(&format!("{head}: {cell}"), Some(width - 2), "  ");
                    format!("  {}", below.replace('\n', "\n  "))
                }
            },
        ));
    }
    lines.join("\n")
}

/// Makes a table fit into so many columns, but breaks lines between words only: a number in two
/// pieces is two numbers. Where even that is too wide it stays so.
pub fn fit(table: &mut Table, width: u16) {
    // What is left free on both sides, and a line between columns, if there is one.
    let frame = 2 + usize::from(table.style().content_lines.junction.is_some());
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
    let least = longest.iter().sum::<usize>() + frame * longest.len() + 1;
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
    let end = trace.records.last().map(|record| record.event.at).unwrap_or_default();
    if let Some(from) = from.filter(|&from| from > end) {
        bail!("--svg-from {from}ms is after the end of the run; choose at most {end}ms");
    }
    let title = Some(format!(
        "{}, {}, network {}, seed {}",
        played(&trace.header),
        counted(n as u64, "process", "processes"),
        trace.header.network,
        trace.header.seed
    ));
    let delays = args.svg_delays;
    if delays && trace.header.vocabulary.family != locks::VOCABULARY.family {
        bail!("--svg-delays is for locks: {} has no critical section", trace.header.algorithm);
    }
    let options = Options { from, to, title, caption, medium: args.medium(), delays };
    write_file(path, |file| file.write_all(conclave_diagram::draw(trace, &options).as_bytes()))
}

/// What was run: the algorithm, and what is wrong with it if it was a mutant.
pub fn played(header: &Header) -> String {
    let mutant = header.options.iter().find(|(name, _)| name == "mutant");
    match mutant.and_then(|(_, name)| mutants::find(name).ok()) {
        Some(mutant) => format!("{}, but {}", header.algorithm, mutant.what),
        None => header.algorithm.clone(),
    }
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

/// Whether a file can be written there, before minutes of work are for nothing. What is there
/// stays as it is, and where nothing is, nothing is left: the command may be refused yet, or have
/// nothing to write.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    let attempt = match fs::metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() => {
            OpenOptions::new().append(true).open(path).map(drop)
        }
        // Who reads from a pipe would take it for the end if it were opened and closed.
        Ok(_) => Ok(()),
        Err(_) => match File::create_new(path) {
            Ok(_) => fs::remove_file(path),
            // A link to where nothing is yet.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        },
    };
    attempt.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file, or says which one could not be written. A file that cannot be had is bad input;
/// one that cannot be written to its end is not.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = BufWriter::new(file);
    let written = write(&mut file).and_then(|()| file.flush());
    written.with_context(|| Unwritten(path.display().to_string()))
}

/// Prints what there is to say. Whoever reads it may stop when he has seen enough: that is no
/// error, and changes nothing about what is to be written elsewhere, nor about the verdict.
pub fn say(
    words: impl FnOnce(&mut AutoStream<StdoutLock<'static>>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match words(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context(Unwritten("the output".into()))
        }
        _ => Ok(()),
    }
}

/// Prints a run event by event.
pub fn explain(trace: &Trace, out: &mut impl Write) -> std::io::Result<()> {
    explain::lines(trace).try_for_each(|line| writeln!(out, "{line}"))
}

/// Reads a text file, or says which one could not be read.
pub fn read_file(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use comfy_table::presets::UTF8_FULL_CONDENSED;

    use super::*;

    const WORDS: [&str; 4] = ["token-ring-repaired", "0.22971", "detected after, mean ms", "-"];

    /// What is between the bars, line by line.
    fn words_at(width: u16) -> (usize, Vec<String>) {
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
            let (wide, seen) = words_at(width);
            for word in WORDS.iter().flat_map(|words| words.split(' ')) {
                assert!(seen.iter().any(|it| it == word), "{word} at {width}: {seen:?}");
            }
            assert!(wide <= usize::from(width.max(53)), "{wide} at {width}");
        }
    }

    #[test]
    fn where_not_even_its_words_fit_a_table_becomes_a_list_that_does() {
        let table = || {
            let mut table = Table::new();
            table.load_style(UTF8_FULL_CONDENSED);
            table.set_header(["detector", "set to", "detected after, mean ms", "missed"]);
            table.add_row(["heartbeat", "D = 1.25 ms", "10.37", "0 of 160"]);
            table.add_row(["token-ring-repaired", "", "10.37", "0 of 160"]);
            table
        };
        let list = "heartbeat\n  set to: D = 1.25 ms\n  detected after, mean\n    ms: 10.37\n  \
                    missed: 0 of 160\ntoken-ring-repaired\n  detected after, mean\n    ms: \
                    10.37\n  missed: 0 of 160";
        assert_eq!(shown(table(), Some(22)), list);
        for screen in [Some(90), None] {
            assert!(shown(table(), screen).starts_with('┌'), "{screen:?}");
        }
    }

    #[test]
    fn prose_is_broken_between_words_on_a_terminal_and_nowhere_else() {
        let prose = "Wrong suspicions are counted for each process and second.";
        assert_eq!(wrapped(prose, None, ""), prose);
        for width in 1..70 {
            let text = wrapped(prose, Some(width), "");
            assert_eq!(text.replace('\n', " "), prose, "{width}");
            let wide = text.lines().map(str::len).max().unwrap();
            assert!(wide <= usize::from(width.max(10)), "{wide} at {width}");
        }
    }
}
