//! Which name was meant.

use alloc::vec::Vec;

/// The name that differs by the fewest letters, if these are few; else one that begins like this.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const LETTERS_MOST: usize = 60;
    if name.is_empty() || name.chars().count() > LETTERS_MOST {
        return None;
    }
    let names: Vec<&str> = names.collect();
    let by_letters = names.iter().map(|&other| (letters_apart(name, other), other)).min();
    let few = name.chars().count().div_ceil(4);
    by_letters
        .filter(|&(apart, _)| apart <= few)
        .map(|(_, nearest)| nearest)
        .or_else(|| names.into_iter().find(|other| other.starts_with(name)))
}

/// How many letters must be put in, taken out or changed to make one of the other.
fn letters_apart(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut corner = core::mem::replace(&mut row[0], above + 1);
        for (index, wanted) in other.chars().enumerate() {
            let changed = corner + usize::from(letter != wanted);
            corner = row[index + 1];
            row[index + 1] = changed.min(corner + 1).min(row[index] + 1);
        }
    }
    row[row.len() - 1]
}
