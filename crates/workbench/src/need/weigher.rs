//! How much memory a value takes beside its own size, as far as its serialisation shows it.

use core::ops::{Add, Sub};

use serde::Serialize;
use serde_json::{Map, Value};

/// What values keep on the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Weight {
    /// Bytes in lists, maps and texts.
    pub heap: u64,
    /// How many [sets of seats](conclave_core::SeatSet) there are: each has a bit for every seat,
    /// so that how much it takes follows from how many take part.
    pub sets: u64,
}

/// An allocation costs so much beside what is in it.
const ALLOCATION: u64 = 16;
/// What a number takes, and what is not there but could be.
const WORD: u64 = 8;
/// Containers have room for more than is in them: trees are two thirds full.
const ROOM_PERCENT: u64 = 150;

/// What `value` keeps on the heap.
pub fn weigh<T: Serialize>(value: &T) -> Weight {
    // What cannot be shown, because a key of it is no name, weighs nothing.
    of(&serde_json::to_value(value).unwrap_or_default(), Place::Inside)
}

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the value that is weighed, of which the own size is known.
    Inside,
    /// In a list, a map or a text.
    OnHeap,
}

fn of(value: &Value, place: Place) -> Weight {
    let plain = |bytes| Weight { heap: if place == Place::OnHeap { bytes } else { 0 }, sets: 0 };
    match value {
        Value::Object(fields) => of_fields(fields, place),
        Value::Array(values) => {
            let all = values.iter().map(|it| of(it, Place::OnHeap));
            let all = all.fold(Weight::default(), Weight::add);
            let room = if values.is_empty() { 0 } else { ALLOCATION };
            Weight { heap: room + all.heap * ROOM_PERCENT / 100, ..all }
        }
        Value::String(text) => plain(text.len() as u64),
        Value::Bool(_) => plain(1),
        Value::Null | Value::Number(_) => plain(WORD),
    }
}

/// A struct or a map, which look alike; or a mark of [`conclave_core`].
fn of_fields(fields: &Map<alloc::string::String, Value>, place: Place) -> Weight {
    if fields.contains_key("@seats") {
        return Weight { heap: if place == Place::OnHeap { 4 * WORD } else { 0 }, sets: 1 };
    }
    if fields.contains_key("@view") {
        return Weight::default();
    }
    // What is named by a number is an entry of a map.
    let is_map = |name: &str| name.starts_with(|letter: char| letter.is_ascii_digit());
    let field = |(name, value): (&alloc::string::String, &Value)| match is_map(name) {
        true => of(value, Place::OnHeap) + Weight { heap: WORD, sets: 0 },
        false => of(value, place),
    };
    fields.iter().map(field).fold(Weight::default(), Weight::add)
}

impl Add for Weight {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { heap: self.heap + other.heap, sets: self.sets + other.sets }
    }
}

impl Sub for Weight {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { heap: self.heap - other.heap, sets: self.sets - other.sets }
    }
}
