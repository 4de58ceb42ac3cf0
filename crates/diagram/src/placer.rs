//! Finds room for labels: they never overlap one another, and cross as little else as possible.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::geometry::{Point, Px, Room, px};
use crate::scene::Label;

/// What it costs a label to be crossed by an arrow.
const CROSSED_BY_ARROW: usize = 100;
/// What it costs a label to lie on a lifeline or the like.
const CROSSED_BY_LINE: usize = 70;
/// A label that costs more than that is better left out.
const COST_MOST: usize = 240;

/// The room that is taken, and the labels placed so far.
pub(crate) struct Placer {
    /// How wide the picture is.
    width: Px,
    labels: Vec<Label>,
    /// Where no label may be: other labels, bars, crosses.
    taken: Shelf,
    /// Where labels would rather not be.
    arrows: Shelf,
    lines: Shelf,
}

impl Placer {
    /// For a picture that wide.
    pub fn new(width: Px) -> Self {
        let [taken, arrows, lines] = [(); 3].map(|()| Shelf::default());
        Self { width, labels: Vec::new(), taken, arrows, lines }
    }

    /// No label may be there.
    pub fn take(&mut self, room: Room) {
        self.taken.put(room);
    }

    /// An arrow goes along that path.
    pub fn take_arrow(&mut self, path: &[Point], thickness: Px) {
        self.arrows.put_path(path, thickness);
    }

    /// A lifeline goes along that path, or something else that a label may cover if it must.
    pub fn take_line(&mut self, path: &[Point], thickness: Px) {
        self.lines.put_path(path, thickness);
    }

    /// Places a label where nothing else can be: the caller knows that the room is free.
    pub fn put(&mut self, label: Label) {
        self.taken.put(label.room);
        self.labels.push(label);
    }

    /// Places the first of these for which there is room.
    pub fn put_first(&mut self, candidates: impl IntoIterator<Item = Label>) -> bool {
        let found = candidates.into_iter().find(|label| self.has_room(&label.room));
        found.map(|label| self.put(label)).is_some()
    }

    /// Places the cheapest of these for which there is room, each given with what its place costs
    /// in itself; none, if all are too expensive.
    pub fn put_best(&mut self, candidates: impl IntoIterator<Item = (usize, Label)>) -> bool {
        let priced = candidates.into_iter().filter_map(|(price, label)| {
            let cost = price + self.crossings(&label.room);
            (cost <= COST_MOST && self.has_room(&label.room)).then_some((cost, label))
        });
        let best = priced.min_by_key(|&(cost, _)| cost);
        best.map(|(_, label)| self.put(label)).is_some()
    }

    fn has_room(&self, room: &Room) -> bool {
        let (left, right) = room.sides();
        left >= Px::ZERO && right <= self.width && self.taken.is_free(room)
    }

    fn crossings(&self, room: &Room) -> usize {
        let arrows = self.arrows.count(room, COST_MOST / CROSSED_BY_ARROW + 1);
        let lines = self.lines.count(room, COST_MOST / CROSSED_BY_LINE + 1);
        arrows * CROSSED_BY_ARROW + lines * CROSSED_BY_LINE
    }

    /// The label that was placed last.
    pub fn last(&self) -> Option<&Label> {
        self.labels.last()
    }

    /// All labels, in the order in which they were placed.
    pub fn finish(self) -> Vec<Label> {
        self.labels
    }
}

/// Rooms sorted into cells, so that only neighbours are compared.
#[derive(Default)]
struct Shelf {
    /// Each with its owner: several rooms may belong to one thing.
    rooms: Vec<(usize, Room)>,
    cells: BTreeMap<(i64, i64), Vec<usize>>,
    owners: usize,
}

const CELL: Px = px(64);

impl Shelf {
    fn put(&mut self, room: Room) {
        self.owners += 1;
        self.put_piece(room);
    }

    /// Piece by piece, so that a long slanted line is only in the cells that it passes.
    fn put_path(&mut self, path: &[Point], thickness: Px) {
        self.owners += 1;
        for (from, to) in path.iter().zip(path.iter().skip(1)) {
            let pieces = from.distance(*to).holds(CELL) + 1;
            let stop = |piece: i64| from.towards(*to, piece * 100 / pieces);
            for piece in 0..pieces {
                self.put_piece(Room::line(stop(piece), stop(piece + 1), thickness));
            }
        }
    }

    fn put_piece(&mut self, room: Room) {
        for cell in cells(&room) {
            self.cells.entry(cell).or_default().push(self.rooms.len());
        }
        self.rooms.push((self.owners, room));
    }

    /// How many things overlap this room; it stops counting at `most`, because where a thousand
    /// arrows cross, the fourth decides nothing any more.
    fn count(&self, room: &Room, most: usize) -> usize {
        let mut found = Vec::new();
        let near = cells(room).filter_map(|cell| self.cells.get(&cell)).flatten();
        for &(owner, other) in near.map(|&index| &self.rooms[index]) {
            if !found.contains(&owner) && room.overlaps(&other) {
                found.push(owner);
            }
            if found.len() == most {
                break;
            }
        }
        found.len()
    }

    fn is_free(&self, room: &Room) -> bool {
        self.count(room, 1) == 0
    }
}

/// The cells that a room touches, and perhaps some around its corners.
fn cells(room: &Room) -> impl Iterator<Item = (i64, i64)> + use<> {
    let ((left, right), (top, bottom)) = (room.sides(), room.ends());
    let rows = top.holds(CELL)..=bottom.holds(CELL);
    (left.holds(CELL)..=right.holds(CELL))
        .flat_map(move |column| rows.clone().map(move |row| (column, row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Area;
    use crate::scene::LabelRole;

    fn label(text: &str, x: i64, y: i64) -> Label {
        Label::centred(LabelRole::Mark, text.into(), px(12), Point::new(px(x), px(y)))
    }

    fn wide(left: i64, right: i64) -> Room {
        Area { left: px(left), top: px(0), right: px(right), bottom: px(20) }.room()
    }

    fn at(x: i64, y: i64) -> Point {
        Point::new(px(x), px(y))
    }

    #[test]
    fn what_lies_in_several_cells_or_pieces_counts_once() {
        let mut shelf = Shelf::default();
        shelf.put(wide(0, 1_000));
        assert_eq!(shelf.count(&wide(10, 900), 9), 1);
        assert_eq!(shelf.count(&wide(990, 2_000), 9), 1);
        assert_eq!(shelf.count(&wide(1_001, 2_000), 9), 0);
        shelf.put_path(&[at(0, 0), at(500, 10), at(1_000, 20)], px(1));
        assert_eq!(shelf.count(&wide(10, 900), 9), 2);
        assert_eq!(shelf.count(&wide(10, 900), 1), 1, "it stops there");
    }

    #[test]
    fn a_slanted_line_is_only_where_it_passes() {
        let mut shelf = Shelf::default();
        shelf.put_path(&[at(0, 0), at(1_000, 1_000)], px(1));
        assert!(shelf.is_free(&Room::square(at(800, 200), px(50))));
        assert!(!shelf.is_free(&Room::square(at(480, 500), px(50))));
        assert!(shelf.cells.len() < 60, "of 256 cells");
    }

    #[test]
    fn a_label_moves_on_to_where_there_is_room() {
        let mut placer = Placer::new(px(400));
        assert!(placer.put_first([label("one", 100, 100)]));
        assert!(placer.put_first([label("two", 105, 103), label("two", 105, 130)]));
        assert!(
            !placer.put_first([label("three", 110, 103)]),
            "nowhere is better than over another"
        );
        assert!(!placer.put_first([label("five", 395, 50)]), "nor beyond the edge");
        let places: Vec<Px> = placer.finish().iter().map(|label| label.room.center.y).collect();
        assert_eq!(places, [px(100), px(130)]);
    }

    #[test]
    fn a_label_prefers_not_to_be_crossed_and_gives_up_where_too_much_crosses_it() {
        let mut placer = Placer::new(px(400));
        let line = |y: i64| [at(0, y), at(300, y)];
        placer.take_arrow(&line(100), px(1));
        assert!(placer.put_best([(0, label("here", 100, 100)), (50, label("here", 100, 150))]));
        for y in [198, 200, 202] {
            placer.take_arrow(&line(y), px(1));
        }
        assert!(!placer.put_best([(0, label("there", 100, 200))]));
        assert_eq!(placer.finish()[0].room.center.y, px(150));
    }
}
