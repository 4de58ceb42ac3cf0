//! States in 128 bits.
//!
//! A state is a row of words, and its fingerprint is the sum of one contribution for each word and
//! its place. So a step that changes three words changes three contributions, however wide the
//! state is. Two different states have the same fingerprint with a probability of 2^-128, so among
//! a billion states with less than 2^-69; who wants to be certain searches exactly.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A state, or a part of one, in 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// Of a value, whatever it is. It is the same on every run of the same program.
    pub fn of(value: &impl Hash) -> Self {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u64(salt);
            value.hash(&mut hasher);
            hasher.finish()
        };
        Self(u128::from(half(0)) << 64 | u128::from(half(1)))
    }

    /// Of a state whose words are plain numbers.
    pub fn of_words(words: &[u32]) -> Self {
        let mut sum = Self::default();
        for (place, &word) in words.iter().enumerate() {
            sum.add(place, Self::of_number(word));
        }
        sum
    }

    /// Of a number. It is not mixed: that happens where it is put at a place.
    #[inline]
    pub fn of_number(number: u32) -> Self {
        let word = u128::from(number);
        Self(word << 96 | word)
    }

    /// Adds what stands at a place.
    #[inline]
    pub fn add(&mut self, place: usize, part: Self) {
        self.0 = self.0.wrapping_add(part.at(place));
    }

    /// Another part stands at a place.
    #[inline]
    pub fn change(&mut self, place: usize, from: Self, to: Self) {
        self.0 = self.0.wrapping_add(to.at(place)).wrapping_sub(from.at(place));
    }

    /// The contribution of a part at a place: an odd factor of that place is undone by no other.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "one half, and then the other")]
    fn at(self, place: usize) -> u128 {
        let factor = mix(place as u64 + 1) | 1;
        let (high, low) = ((self.0 >> 64) as u64, self.0 as u64);
        u128::from(mix(high ^ factor)) << 64 | u128::from(mix(low.wrapping_add(factor)))
    }

    /// Which of so many parts of a table it belongs to.
    #[inline]
    pub(crate) fn shard(self, shards: usize) -> usize {
        (self.0 >> 96) as usize % shards
    }
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of the argument.
#[inline]
const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_the_same_as_starting_anew() {
        let (before, after) = ([7, 0, 7, 9], [7, 5, 7, 9]);
        let mut print = Fingerprint::of_words(&before);
        print.change(1, Fingerprint::of_number(0), Fingerprint::of_number(5));
        assert_eq!(print, Fingerprint::of_words(&after));
    }

    #[test]
    fn the_place_of_a_word_matters() {
        assert_ne!(Fingerprint::of_words(&[1, 2]), Fingerprint::of_words(&[2, 1]));
        assert_ne!(Fingerprint::of_words(&[0, 0]), Fingerprint::of_words(&[0]));
    }
}
