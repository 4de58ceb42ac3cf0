//! States in 128 bits.
//!
//! A state is a row of words, and its fingerprint is the sum of one contribution for each word and
//! its place. So a step that changes three words changes three contributions, however wide the
//! state is. Two different states have the same fingerprint with a probability of 2^-128, so among
//! a billion states with less than 2^-69; who wants to be certain searches exactly.

use core::hash::{Hash, Hasher};

use siphasher::sip::SipHasher13;

/// A state, or a part of one, in 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// Of a value, whatever it is. It is the same on every run of the same program, and on every
    /// machine as long as no list of `usize` is in it.
    pub fn of(value: &impl Hash) -> Self {
        let half = |salt: u64| {
            let mut hasher = Portable(SipHasher13::new());
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

/// SipHash-1-3 with lengths and the numbers of variants in 64 bits, also where a pointer has fewer.
struct Portable(SipHasher13);

impl Hasher for Portable {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.0.write_u8(number);
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.0.write_u16(number);
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.0.write_u32(number);
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0.write_u64(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.0.write_u64(number as u64);
    }

    #[inline]
    #[allow(clippy::cast_sign_loss, reason = "only its bits count")]
    fn write_isize(&mut self, number: isize) {
        self.0.write_u64(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
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
    use alloc::vec;

    use super::*;

    #[test]
    fn a_change_is_the_same_as_starting_anew() {
        let (before, after) = ([7, 0, 7, 9], [7, 5, 7, 9]);
        let mut print = Fingerprint::of_words(&before);
        print.change(1, Fingerprint::of_number(0), Fingerprint::of_number(5));
        assert_eq!(print, Fingerprint::of_words(&after));
    }

    #[test]
    fn that_of_a_value_is_the_same_everywhere_and_always() {
        let value = (7_u8, "seven", Some(-7_isize), vec![7_u16; 3], 700_u128);
        let print = Fingerprint(0x4e50_6d92_f85b_7d9d_c8fd_fb0e_1291_0231);
        assert_eq!(Fingerprint::of(&value), print);
    }

    #[test]
    fn the_place_of_a_word_matters() {
        assert_ne!(Fingerprint::of_words(&[1, 2]), Fingerprint::of_words(&[2, 1]));
        assert_ne!(Fingerprint::of_words(&[0, 0]), Fingerprint::of_words(&[0]));
    }
}
