//! Voting sets as a picture: the square of a grid with the row and the column of one process, and
//! for all others who is in whose set.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use conclave_algorithms::quorum::{Construction, Flaw, VotingSets};
use conclave_core::{ProcessId, Seat};

use crate::notation::Voting;
use crate::unit::number;

/// More sets than that would be a picture that nobody can read.
pub const SETS_MAX: usize = 100;

/// The side of a cell, and the room around all of them.
const CELL: usize = 32;
const MARGIN: usize = 24;
const TITLE: usize = 34;
const LINE: usize = 20;

/// How a cell looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Whoever is not in the set.
    Out,
    /// Whoever is in it.
    In,
    /// Whose set it is.
    Owner,
    /// Whoever is in one of two sets that share nobody.
    Wrong,
}

/// Draws the voting sets, as SVG. Of a grid, the set of `of` is shown; of others all are, and that
/// one is framed.
pub fn draw(voting: &Voting, sets: &VotingSets, of: ProcessId) -> String {
    let seat = sets.view().seat(of).unwrap_or(Seat(0));
    match voting {
        // Three are not laid into a square.
        Voting::By(Construction::Grid) if sets.len() != 3 => grid(sets, seat),
        _ => matrix(voting, sets, seat),
    }
}

fn grid(sets: &VotingSets, of: Seat) -> String {
    let n = sets.len();
    let side = (1..).find(|side| side * side >= n).unwrap_or(1);
    let (owner, set) = (sets.view().at(of), sets.of(of));
    let mut picture = Picture::new(side, n.div_ceil(side));
    picture.title(&format!("The voting set of {owner} in a grid of {n}"));
    for (index, &id) in sets.view().members().iter().enumerate() {
        let look = match set.contains(&id) {
            _ if id == owner => Look::Owner,
            true => Look::In,
            false => Look::Out,
        };
        picture.cell(index % side, index / side, look, &id.to_string());
    }
    let members: Vec<String> = set.iter().map(ToString::to_string).collect();
    picture.caption(&format!("V{owner} = {{{}}}: its row and its column", members.join(", ")));
    picture.properties(sets);
    picture.finish()
}

fn matrix(voting: &Voting, sets: &VotingSets, of: Seat) -> String {
    let members = sets.view().members();
    let disjoint = match sets.check() {
        Err(Flaw::Disjoint { first, second }) => Some((first, second)),
        _ => None,
    };
    let name = match voting {
        Voting::By(construction) => construction.name(),
        Voting::Own(_) => "own",
    };
    let mut picture = Picture::new(members.len() + 1, members.len() + 1);
    picture.title(&format!("Voting sets ({name}): who is in whose"));
    for (place, id) in members.iter().enumerate() {
        picture.label(place + 1, 0, &id.to_string());
        picture.label(0, place + 1, &format!("V{id}"));
    }
    for (row, &owner) in members.iter().enumerate() {
        let set = sets.of(Seat::at(row));
        let is_wrong = disjoint.is_some_and(|(one, other)| owner == one || owner == other);
        for (column, id) in members.iter().enumerate() {
            let look = match set.contains(id) {
                true if is_wrong => Look::Wrong,
                true if *id == owner => Look::Owner,
                true => Look::In,
                false => Look::Out,
            };
            picture.cell(column + 1, row + 1, look, "");
        }
    }
    picture.frame(1, of.index() + 1, members.len());
    picture.caption("A row is a voting set; filled are those who are in it.");
    if let Some((first, second)) = disjoint {
        picture.caption(&format!("V{first} and V{second} share nobody: both could enter at once."));
    }
    picture.properties(sets);
    picture.finish()
}

struct Picture {
    body: String,
    columns: usize,
    rows: usize,
    captions: usize,
    widest: usize,
}

impl Picture {
    fn new(columns: usize, rows: usize) -> Self {
        Self { body: String::new(), columns, rows, captions: 0, widest: 0 }
    }

    fn write(&mut self, line: core::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "  {line}");
    }

    fn place(column: usize, row: usize) -> (usize, usize) {
        (MARGIN + column * CELL, MARGIN + TITLE + row * CELL)
    }

    fn title(&mut self, text: &str) {
        self.widest = self.widest.max(text.chars().count() * 9);
        self.write(format_args!(
            r#"<text class="title" x="{MARGIN}" y="{}">{text}</text>"#,
            MARGIN + 12
        ));
    }

    fn cell(&mut self, column: usize, row: usize, look: Look, text: &str) {
        let (x, y) = Self::place(column, row);
        let class = match look {
            Look::Out => "out",
            Look::In => "in",
            Look::Owner => "owner",
            Look::Wrong => "wrong",
        };
        self.write(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{CELL}" height="{CELL}"/>"#
        ));
        if !text.is_empty() {
            let (x, y, class) = (x + CELL / 2, y + CELL / 2 + 5, format!("on-{class}"));
            self.write(format_args!(r#"<text class="id {class}" x="{x}" y="{y}">{text}</text>"#));
        }
    }

    fn label(&mut self, column: usize, row: usize, text: &str) {
        let (x, y) = Self::place(column, row);
        let (x, y) = (x + CELL / 2, y + CELL / 2 + 5);
        self.write(format_args!(r#"<text class="id" x="{x}" y="{y}">{text}</text>"#));
    }

    fn frame(&mut self, column: usize, row: usize, columns: usize) {
        let ((x, y), width) = (Self::place(column, row), columns * CELL);
        self.write(format_args!(
            r#"<rect class="frame" x="{x}" y="{y}" width="{width}" height="{CELL}"/>"#
        ));
    }

    fn caption(&mut self, text: &str) {
        self.widest = self.widest.max(text.chars().count() * 7);
        self.captions += 1;
        let (x, y) = Self::place(0, self.rows);
        let y = y + self.captions * LINE;
        self.write(format_args!(r#"<text class="caption" x="{x}" y="{y}">{text}</text>"#));
    }

    fn properties(&mut self, sets: &VotingSets) {
        let (size, membership) = (sets.size(), sets.membership());
        let range = |min: usize, max: usize| match min == max {
            true => min.to_string(),
            false => format!("{min} to {max}"),
        };
        let (sizes, member) = (range(size.min, size.max), range(membership.min, membership.max));
        let mean = number(size.mean);
        self.caption(&format!("K, the size of a set: {sizes}, mean {mean}."));
        self.caption(&format!("M, the sets that one is in: {member}."));
    }

    fn finish(self) -> String {
        let (right, bottom) = Self::place(self.columns, self.rows);
        let width = right.max(MARGIN + self.widest) + MARGIN;
        let height = bottom + self.captions * LINE + MARGIN;
        let body = self.body;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
  <style>
    text {{ font: 13px sans-serif; fill: #222 }}
    .title {{ font-size: 16px; font-weight: bold }}
    .id {{ text-anchor: middle }}
    rect {{ stroke: #777; stroke-width: 1 }}
    .out {{ fill: #fff }}
    .in {{ fill: #9ecae1 }}
    .owner {{ fill: #08519c }}
    .wrong {{ fill: #d94801 }}
    .on-owner {{ fill: #fff; font-weight: bold }}
    .frame {{ fill: none; stroke: #08519c; stroke-width: 3 }}
    .paper {{ fill: #fff; stroke: none }}
    @media (prefers-color-scheme: dark) {{
      text {{ fill: #ddd }}
      .out, .paper {{ fill: #1b1b1b }}
      .in {{ fill: #2b5c80 }}
      .owner {{ fill: #9ecae1 }}
      .on-owner {{ fill: #111 }}
      .frame {{ stroke: #9ecae1 }}
    }}
  </style>
  <rect class="paper" x="0" y="0" width="{width}" height="{height}"/>
{body}</svg>
"#
        )
    }
}

#[cfg(test)]
mod tests {
    use conclave_core::View;

    use super::*;

    fn count(picture: &str, class: &str) -> usize {
        picture.matches(&format!(r#"<rect class="{class}""#)).count()
    }

    #[test]
    fn a_grid_marks_the_row_and_the_column_of_one() {
        let view = View::dense(1, 36);
        let voting = Voting::By(Construction::Grid);
        let sets = VotingSets::build(Construction::Grid, &view).unwrap();
        let picture = draw(&voting, &sets, ProcessId(14));
        assert_eq!((count(&picture, "owner"), count(&picture, "in")), (1, 10));
        assert_eq!(count(&picture, "out"), 36 - 11);
        assert!(picture.contains("V14 = {2, 8, 13, 14, 15, 16, 17, 18, 20, 26, 32}"), "{picture}");
    }

    #[test]
    fn others_show_every_set_and_those_that_share_nobody_are_seen() {
        let view = View::dense(1, 7);
        let sets = VotingSets::build(Construction::Plane, &view).unwrap();
        let picture = draw(&Voting::By(Construction::Plane), &sets, ProcessId(3));
        assert_eq!((count(&picture, "owner"), count(&picture, "in")), (7, 14));
        assert_eq!((count(&picture, "frame"), count(&picture, "wrong")), (1, 0));
        let own: conclave_algorithms::quorum::OwnSets =
            "disjoint/1:1,2/2:1,2,3/3:3,4/4:3,4,1".parse().unwrap();
        let sets = own.build(&View::dense(1, 4)).unwrap();
        let picture = draw(&Voting::Own(own), &sets, ProcessId(1));
        assert_eq!(count(&picture, "wrong"), 4, "V1 and V3");
        assert!(picture.contains("V1 and V3 share nobody"), "{picture}");
    }
}
