//! What lints cannot see.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::layers::PURE;

/// A file is a sitting; longer ones must be split.
const LINES_MAX: usize = 900;

/// Checks every file that git knows.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let listed = Command::new("git").args(["ls-files"]).current_dir(root).output();
    let listed = listed.context("git ls-files")?;
    let files = String::from_utf8(listed.stdout)?;
    let mut flaws = Vec::new();
    for file in files.lines() {
        let path = root.join(file);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if file.ends_with(".rs") {
            check_source(file, &text, &mut flaws);
            check_spelling(file, &text, &mut flaws);
        }
        if file.ends_with(".md") {
            check_links(root, file, &text, &mut flaws);
        }
    }
    check_pages(root, &files, &mut flaws);
    if flaws.is_empty() {
        return Ok(());
    }
    bail!("{}", flaws.join("\n"))
}

fn check_source(file: &str, text: &str, flaws: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        flaws.push(format!("{file}: {lines} lines; split it, a file is a sitting"));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let is_table = line.trim_start().starts_with("//! |");
        if line.chars().count() > 100 && !is_table && !line.contains('"') && !line.contains("http")
        {
            flaws.push(format!("{file}:{number}: longer than 100 columns"));
        }
        if line.ends_with(' ') {
            flaws.push(format!("{file}:{number}: ends in a space"));
        }
    }
}

/// How an option is spelt is known to the command line alone: pure crates name settings.
fn check_spelling(file: &str, text: &str, flaws: &mut Vec<String>) {
    let is_source_of = |name: &&str| {
        let folder = name.trim_start_matches("conclave-");
        file.starts_with(&format!("crates/{folder}/src/"))
    };
    if !PURE.iter().any(is_source_of) {
        return;
    }
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(option) = option_in(line) {
            flaws.push(format!(
                "{file}:{number}: spells {option}; a pure crate names the setting instead"
            ));
        }
    }
}

/// The first option that is spelt there: two dashes, and a letter that nothing comes before.
fn option_in(line: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = line[from..].find("--").map(|at| from + at) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_begun = !line[..at].ends_with(is_word);
        let rest = &line[at + 2..];
        if is_begun && rest.starts_with(|c: char| c.is_ascii_lowercase()) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            return Some(&line[at..at + 2 + end]);
        }
        from = at + 2;
    }
    None
}

/// Links to files of the project must lead somewhere.
fn check_links(root: &Path, file: &str, text: &str, flaws: &mut Vec<String>) {
    let folder = root.join(file).parent().map_or_else(|| root.to_owned(), Path::to_owned);
    for part in text.split("](").skip(1) {
        let Some(link) = part.split(')').next() else { continue };
        let target = link.split('#').next().unwrap_or_default();
        let is_ours = !target.is_empty() && !target.contains("://");
        if is_ours && !folder.join(target).exists() {
            flaws.push(format!("{file}: the link to {target} leads nowhere"));
        }
    }
}

/// Every algorithm has its page.
fn check_pages(root: &Path, files: &str, flaws: &mut Vec<String>) {
    // Pieces that are no algorithms of their own.
    let pieces = ["testing", "rehearsal", "census", "with"];
    for file in files.lines().filter(|file| file.starts_with("crates/algorithms/src/")) {
        let path = file.trim_start_matches("crates/algorithms/src/");
        let Some((kind, name)) = path.split_once('/') else { continue };
        let name = name.split(['/', '.']).next().unwrap_or_default();
        if !["mutex", "election", "detector"].contains(&kind) || pieces.contains(&name) {
            continue;
        }
        let name = name.replace('_', "-");
        if !root.join("docs/algorithms").join(format!("{name}.md")).exists() {
            flaws.push(format!("{file}: has no page docs/algorithms/{name}.md"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_told_from_other_dashes() {
        for (line, option) in [
            ("#[error(\"leave --terms out\")]", Some("--terms")),
            ("/// See --no-fifo.", Some("--no-fifo")),
            ("//! | --- | --- |", None),
            ("let n = n--m; // a--b", None),
            ("format!(\"--{name}\")", None),
        ] {
            assert_eq!(option_in(line), option, "{line}");
        }
    }

    #[test]
    fn only_pure_crates_must_not_spell_options() {
        let flaws = |file: &str| {
            let mut flaws = Vec::new();
            check_spelling(file, "let say = \"--seed\";", &mut flaws);
            flaws.len()
        };
        assert_eq!(flaws("crates/workbench/src/search/draft.rs"), 1);
        assert_eq!(flaws("crates/sim/src/fault.rs"), 1);
        assert_eq!(flaws("crates/cli/src/lab/run.rs"), 0);
        assert_eq!(flaws("crates/workbench/tests/settings.rs"), 0);
    }
}
