//! What tests found before, written down in files that people review: numbers of states, hashes of
//! runs, tables of pages.
//!
//! A test compares; with `CONCLAVE_UPDATE=1`, which `cargo xtask fix` sets, it rewrites instead,
//! and the difference is the review.

use std::path::Path;

/// Whether files are to be rewritten.
pub fn is_update() -> bool {
    std::env::var_os("CONCLAVE_UPDATE").is_some()
}

/// Compares `found` with the lines of a file, but for those that begin with `#`, which are for its
/// readers.
///
/// # Panics
///
/// If they differ, unless the file is to be rewritten.
#[track_caller]
pub fn lines(file: impl AsRef<Path>, found: &[String]) {
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    let head: Vec<&str> = old.lines().take_while(|line| line.starts_with('#')).collect();
    let new = head.into_iter().chain(found.iter().map(String::as_str));
    text(file, &old, &new.map(|line| format!("{line}\n")).collect::<String>());
}

/// Compares `found` with what stands in a page between the lines `<!-- NAME: ... -->`, which may
/// say more, and `<!-- end of NAME -->`.
///
/// # Panics
///
/// If they differ, unless the page is to be rewritten; and if the page has no such place.
#[track_caller]
pub fn part(page: impl AsRef<Path>, name: &str, found: &[String]) {
    let old = std::fs::read_to_string(&page).unwrap();
    let place = place(&old, name);
    let (begin, end) = place.unwrap_or_else(|| panic!("no place for {name}"));
    let found: String = found.iter().map(|line| format!("{line}\n")).collect();
    text(page, &old, &format!("{}\n{found}\n{}", &old[..begin], &old[end..]));
}

/// The rows of the table that stands there now, each with its cells.
pub fn rows(page: &str, name: &str) -> Vec<Vec<String>> {
    let Some((begin, end)) = place(page, name) else { return Vec::new() };
    let rows = page[begin..end].lines().filter(|line| line.starts_with("| "));
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().into()).collect();
    rows.skip(2).map(cells).collect()
}

/// From behind the first marker to the second.
fn place(page: &str, name: &str) -> Option<(usize, usize)> {
    let marker = page.find(&format!("<!-- {name}:"))?;
    let begin = marker + page[marker..].find('\n')? + 1;
    let end = page.find(&format!("<!-- end of {name} -->"))?;
    (begin <= end).then_some((begin, end))
}

#[track_caller]
fn text(file: impl AsRef<Path>, old: &str, new: &str) {
    if old == new {
        return;
    }
    let file = file.as_ref();
    if is_update() {
        std::fs::write(file, new).unwrap();
        return;
    }
    let lines = |one: &str, other: &str, sign: char| -> String {
        let only = one.lines().filter(|line| !other.lines().any(|it| it == *line));
        only.map(|line| format!("{sign} {line}\n")).collect()
    };
    let (gone, come) = (lines(old, new, '-'), lines(new, old, '+'));
    panic!("{} is not what was found; cargo xtask fix\n{gone}{come}", file.display());
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "above\n<!-- costs: made -->\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n\
                        <!-- end of costs -->\nbelow\n";

    #[test]
    fn rows_are_those_below_the_heads_between_the_markers() {
        assert_eq!(rows(PAGE, "costs"), [["1", "2"]]);
        assert_eq!(rows(PAGE, "index"), Vec::<Vec<String>>::new());
    }

    #[test]
    fn what_is_the_same_passes_and_what_differs_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("page.md");
        std::fs::write(&page, PAGE).unwrap();
        let found = |last: &str| ["| a | b |", "| --- | --- |", last].map(String::from);
        part(&page, "costs", &found("| 1 | 2 |"));
        let other = std::panic::catch_unwind(|| part(&page, "costs", &found("| 1 | 3 |")));
        assert_eq!(other.is_err(), !is_update());
        let list = folder.path().join("list.txt");
        std::fs::write(&list, "# what it is\none\n").unwrap();
        lines(&list, &["one".into()]);
    }
}
