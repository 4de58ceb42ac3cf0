//! Every algorithm has its page, and the index of the pages says what the catalogue says.

use std::path::PathBuf;

use conclave_algorithms::catalogue::Measure::{
    ClientDelay, ElectionBest, ElectionLone, ElectionMean, ElectionMost, ElectionWorst, Enter,
    Leave, Saturated, SyncDelay, TurnaroundBest, TurnaroundLone, TurnaroundWorst,
};
use conclave_algorithms::catalogue::{self, Entry, Measure, Shelf};
use conclave_algorithms::quorum::Construction;
use conclave_cli::lab::needs;
use conclave_core::election::Elections;
use conclave_core::mutex::Locks;
use conclave_testkit::known;
use conclave_workbench::experiment;
use conclave_workbench::figure::Figure;
use conclave_workbench::unit::number;

/// The page of an algorithm, or of several.
struct Page {
    file: String,
    title: String,
    /// As the page gives them, up to where it says where the code is.
    names: Vec<String>,
}

fn folder() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms").into()
}

fn pages() -> Vec<Page> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    files.filter_map(|path| page(path.file_name()?.to_str()?)).collect()
}

/// A page begins with its title and, in the next paragraph, the names.
fn page(file: &str) -> Option<Page> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let mut paragraphs = text.split("\n\n");
    let title = paragraphs.next()?.strip_prefix("# ")?.to_owned();
    let names = paragraphs.next().filter(|paragraph| paragraph.starts_with("Name"))?;
    let names = names.split("Code:").next()?.split('`').skip(1).step_by(2);
    let names = names.map(String::from).filter(|name| catalogue::find(name).is_ok()).collect();
    Some(Page { file: file.into(), title, names })
}

fn page_of<'a>(pages: &'a [Page], entry: &Entry) -> &'a Page {
    let has_it = |page: &&Page| page.names.iter().any(|name| name == entry.name);
    let found: Vec<&Page> = pages.iter().filter(has_it).collect();
    assert_eq!(found.len(), 1, "pages in docs/algorithms that have `{}` as a name", entry.name);
    found[0]
}

fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

fn table(heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    let heads: Vec<String> = heads.iter().map(|&head| head.into()).collect();
    let line = format!("|{}", " --- |".repeat(heads.len()));
    [row(&heads), line].into_iter().chain(rows.map(|cells| row(&cells))).collect()
}

/// One row for each page, in the order of the catalogue.
fn index(pages: &[Page]) -> Vec<String> {
    let mut seen = Vec::new();
    let rows = catalogue::all().filter_map(|entry| {
        let Page { file, title, names } = page_of(pages, entry);
        let is_first = !seen.contains(file);
        seen.push(file.clone());
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        is_first.then(|| vec![format!("[{title}]({file})"), names.join(", "), entry.summary.into()])
    });
    table(&["page", "names", "in one sentence"], rows)
}

/// The two sizes that the pages speak of.
const SIZES: [u32; 2] = [9, 100];

/// The first of these measures that there is, for each of these sizes; once, if it is the same.
fn cell(entry: &Entry, figures: &[Vec<Figure>; 2], measures: &[Measure]) -> String {
    let shown = figures.each_ref().map(|figures| {
        let figure = figures.iter().find(|figure| measures.contains(&figure.measure))?;
        let nothing = if entry.serves_everybody() { "" } else { "deadlock" };
        Some(figure.measured.map_or(nothing.into(), number))
    });
    match shown {
        [Some(small), Some(large)] if small == large => small,
        [Some(small), Some(large)] => format!("{small} / {large}"),
        _ => String::new(),
    }
}

/// The head of a column, and what an algorithm has there in words.
type Words<'a> = (&'a str, fn(&Entry) -> String);

fn costs<F: Shelf>(
    pages: &[Page],
    columns: &[(&str, &[Measure])],
    last: Option<Words<'_>>,
) -> Vec<String> {
    let heads = columns.iter().map(|(head, _)| *head).chain(last.map(|(head, _)| head));
    let heads: Vec<&str> = ["algorithm"].into_iter().chain(heads).collect();
    let rows = F::ENTRIES.iter().map(|entry| {
        let measure = |n| experiment::measure(entry, n, Construction::Grid).unwrap();
        let figures = SIZES.map(measure);
        let name = format!("[`{}`]({})", entry.name, page_of(pages, entry).file);
        let cells = columns.iter().map(|&(_, measures)| cell(entry, &figures, measures));
        [name].into_iter().chain(cells).chain(last.map(|(_, words)| words(entry))).collect()
    });
    table(&heads, rows)
}

#[test]
fn the_index_of_the_algorithms_is_that_of_the_catalogue() {
    let (readme, pages) = (folder().join("README.md"), pages());
    known::part(&readme, "index", &index(&pages));
    let columns: [(&str, &[Measure]); 5] = [
        ("enter", &[Enter]),
        ("leave", &[Leave]),
        ("client delay", &[ClientDelay]),
        ("sync delay", &[SyncDelay]),
        ("saturated", &[Saturated]),
    ];
    known::part(&readme, "costs of locks", &costs::<Locks>(&pages, &columns, None));
    let columns: [(&str, &[Measure]); 6] = [
        ("messages, best", &[ElectionBest, ElectionLone]),
        ("worst", &[ElectionWorst]),
        ("all start, mean", &[ElectionMean]),
        ("most", &[ElectionMost]),
        ("turnaround, best", &[TurnaroundBest, TurnaroundLone]),
        ("worst", &[TurnaroundWorst]),
    ];
    let last: Words<'_> = ("needs", needs);
    known::part(&readme, "costs of elections", &costs::<Elections>(&pages, &columns, Some(last)));
}
