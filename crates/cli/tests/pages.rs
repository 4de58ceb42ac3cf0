//! The README and every page of `docs` print what the program prints.
//!
//! A `console` block holds commands of the lab and, below each, its output, of which `...` stands
//! for lines that are left out and `? CODE` for the exit code. A `text` block that begins with `#
//! NAME.scenario` is a file that commands of its page read. A row of a table with a command and,
//! behind it, a verdict is a promise, too. A picture of `docs/images` that a command of its page
//! draws is what is drawn; `cargo xtask fix` draws it anew. Commands that hold locks are not run:
//! what they print has times and process numbers in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Parser;
use clap::error::ErrorKind;
use conclave_cli::cli::Cli;
use conclave_testkit::known;
use conclave_testkit::words::words;
use conclave_workbench::bundled::{Bundled, SCENARIOS};

/// Commands whose output is the same on every machine.
const OF_THE_LAB: [&str; 9] = [
    "algorithms",
    "run",
    "check",
    "table",
    "sweep",
    "voting-sets",
    "trace",
    "scenarios",
    "mutants",
];

const VERDICTS: [&str; 4] = ["ok", "violated", "deadlock", "stalled"];

struct Page {
    name: String,
    text: String,
}

/// A block between fences: its kind, and its lines.
struct Block<'a> {
    kind: &'a str,
    lines: Vec<&'a str>,
}

#[test]
fn what_pages_print_is_what_the_program_prints() {
    let mut replayed = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        let directory = tempfile::tempdir().unwrap();
        let blocks = page.blocks();
        for block in blocks.iter().filter(|block| block.kind == "text") {
            if let Some((name, text)) = scenario(block) {
                std::fs::write(directory.path().join(name), text).unwrap();
            }
        }
        for block in blocks.iter().filter(|block| block.kind == "console") {
            for (command, expected) in commands(block) {
                let Some(words) = lab_command(command) else { continue };
                replayed += 1;
                let output = run(&words, directory.path());
                if let Err(line) = compare(expected, &output) {
                    wrong.push(format!("{}: {command}\n  is not printed: {line}", page.name));
                }
            }
        }
        wrong.extend(page.pictures().filter_map(|picture| {
            let drawn = std::fs::read_to_string(directory.path().join(picture)).ok()?;
            let file = root().join("docs/images").join(picture);
            let is_old = std::fs::read_to_string(&file).is_ok_and(|old| old == drawn);
            if !is_old && known::is_update() {
                std::fs::write(&file, &drawn).unwrap();
                return None;
            }
            (!is_old).then(|| format!("{}: {picture} is drawn otherwise now", page.name))
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(replayed > 30, "the pages are there: {replayed}");
}

#[test]
fn verdicts_in_tables_are_those_of_the_command_beside_them() {
    let mut replayed = 0;
    let directory = tempfile::tempdir().unwrap();
    for page in pages() {
        for row in page.text.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            for pair in cells.windows(2) {
                let Some(words) = code(pair[0]).and_then(lab_command) else { continue };
                let Some(verdict) = pair[1].strip_prefix('`').and_then(|it| it.split('`').next())
                else {
                    continue;
                };
                if !VERDICTS.contains(&verdict) {
                    continue;
                }
                replayed += 1;
                let said = String::from_utf8(run(&words, directory.path()).stdout).unwrap();
                let is_said = said.lines().any(|line| {
                    let mut words = line.split([' ', ':']).filter(|word| !word.is_empty());
                    words.next() == Some("verdict") && words.next() == Some(verdict)
                });
                assert!(is_said, "{}: {row}\n{said}", page.name);
            }
        }
    }
    assert!(replayed > 9, "the table of faults is there: {replayed}");
}

#[test]
fn commands_that_pages_name_exist() {
    let mut named = 0;
    for page in pages() {
        // Every second part is between backticks, once the fences of blocks have an even number.
        for text in page.text.replace("```", "``").split('`').skip(1).step_by(2) {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let has_gaps = text.split(' ').any(|word| word == "..." || is_placeholder(word));
            let Some(words) = lab_command(&text).filter(|_| !has_gaps) else { continue };
            named += 1;
            let words = ["conclave".to_owned()].into_iter().chain(words);
            if let Err(error) = Cli::try_parse_from(words) {
                // Prose may leave a value out, as in `conclave run --replay`.
                let is_short = matches!(
                    error.kind(),
                    ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue
                );
                assert!(is_short, "{}: {text}\n{error}", page.name);
            }
        }
    }
    assert!(named > 60, "{named}");
}

/// `FILE`, `ALGORITHM`, `N`: words for what a reader puts in their place.
fn is_placeholder(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README and all that is below `docs`.
fn pages() -> Vec<Page> {
    let root = root();
    let mut files = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let (inner, outer): (Vec<PathBuf>, Vec<PathBuf>) = paths.partition(|path| path.is_dir());
        folders.extend(inner);
        files
            .extend(outer.into_iter().filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    files.sort();
    let page = |path: &PathBuf| Page {
        name: path.strip_prefix(&root).unwrap().display().to_string(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    files.iter().map(page).collect()
}

impl Page {
    /// The pictures it shows, by name. Those that its own commands draw are compared.
    fn pictures(&self) -> impl Iterator<Item = &str> {
        let links = self.text.split("](../images/").skip(1);
        links.filter_map(|link| link.split(')').next())
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<Block<'_>> = None;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(kind), None) => open = Some(Block { kind, lines: Vec::new() }),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(line),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block does not end", self.name);
        blocks
    }
}

/// The name and the text of a scenario.
fn scenario<'a>(block: &Block<'a>) -> Option<(&'a str, String)> {
    let name = block.lines.first()?.strip_prefix("# ")?.split(':').next()?;
    name.ends_with(".scenario").then(|| (name, block.lines.join("\n")))
}

/// Each command of a block, and what is printed below it.
fn commands<'a>(block: &Block<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for &line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, output))) => output.push(line),
            (None, None) => {}
        }
    }
    commands
}

/// The words of a command of the lab, without the program itself.
fn lab_command(text: &str) -> Option<Vec<String>> {
    let rest = text.strip_prefix("conclave ").or(text.strip_prefix("cargo run --release -- "))?;
    let words = words(rest);
    OF_THE_LAB.contains(&words.first()?.as_str()).then_some(words)
}

/// What a cell holds that is nothing but code.
fn code(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`').filter(|code| !code.contains('`'))
}

fn run(words: &[String], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    command.args(words).current_dir(directory).output().unwrap()
}

/// Every line of the page must be printed, in this order. Only `...` lets lines pass.
fn compare(expected: Vec<&str>, output: &Output) -> Result<(), String> {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8(said).unwrap();
    let code = format!("? {}", output.status.code().expect("it ends by itself"));
    let expects_code = expected.iter().any(|line| line.starts_with("? "));
    let mut said = said.lines().chain(expects_code.then_some(&*code)).peekable();
    let mut may_skip = false;
    for line in expected {
        if line == "..." {
            may_skip = true;
            continue;
        }
        while may_skip && said.peek().is_some_and(|&it| it != line) {
            said.next();
        }
        if said.next() != Some(line) {
            return Err(line.to_owned());
        }
        may_skip = false;
    }
    match said.next() {
        Some(more) if !may_skip => Err(format!("the end, but: {more}")),
        _ => Ok(()),
    }
}

/// The hash of all that happened, as it is printed.
fn hash(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().find(|line| line.trim_start().starts_with("trace hash"))?;
    line.split_whitespace().last().map(ToOwned::to_owned)
}

/// What pages tell of an algorithm can be run by name: `conclave run --scenario NAME`.
#[test]
fn every_story_of_the_pages_is_a_scenario_that_comes_with_the_program() {
    let here = Path::new(".");
    let of_bundled = |it: &Bundled| {
        hash(&run(&["run", "--scenario", it.name].map(ToOwned::to_owned), here).stdout)
    };
    let bundled: Vec<Option<String>> = SCENARIOS.iter().map(of_bundled).collect();
    assert!(bundled.iter().all(Option::is_some), "each is run");
    let (mut stories, mut left_out) = (0, Vec::new());
    for page in pages().iter().filter(|page| page.name.starts_with("docs/algorithms/")) {
        let directory = tempfile::tempdir().unwrap();
        let blocks = page.blocks();
        for (name, text) in blocks.iter().filter_map(scenario) {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let consoles = blocks.iter().filter(|block| block.kind == "console");
        for (command, _) in consoles.flat_map(commands) {
            let Some(words) = lab_command(command).filter(|words| words[0] == "run") else {
                continue;
            };
            stories += 1;
            if !bundled.contains(&hash(&run(&words, directory.path()).stdout)) {
                left_out.push(format!("{}: {command}", page.name));
            }
        }
    }
    assert!(left_out.is_empty(), "{}", left_out.join("\n"));
    assert!(stories > 30, "the pages have stories: {stories}");
}

/// What the index of `docs/algorithms` says that every page has.
#[test]
fn every_page_of_an_algorithm_has_a_run_and_something_to_try() {
    let mut pages = 0;
    let is_meant = |page: &Page| {
        page.name.starts_with("docs/algorithms/") && !page.name.ends_with("README.md")
    };
    for page in self::pages().into_iter().filter(is_meant) {
        pages += 1;
        let is_run = |command: &&str| {
            lab_command(command).is_some_and(|words| words[0] == "run" || words[0] == "voting-sets")
        };
        let blocks = page.blocks();
        let consoles = blocks.iter().filter(|block| block.kind == "console");
        let runs = consoles.flat_map(commands).map(|(command, _)| command);
        assert!(runs.filter(is_run).count() > 0, "{}: no run", page.name);
        let (_, tried) = page
            .text
            .split_once("## What to try\n")
            .unwrap_or_else(|| panic!("{}: nothing to try", page.name));
        let tried = tried.split("\n## ").next().unwrap_or(tried);
        assert!(tried.contains("`conclave "), "{}: nothing to try", page.name);
    }
    assert!(pages >= 16, "{pages}");
}
