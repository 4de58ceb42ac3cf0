//! A running hash of all that happened.

use core::hash::Hasher;

use crate::{Event, What};

/// A hash of a run, taken as it goes: two runs with the same fingerprint did the same.
///
/// One multiplication per event and per word of a message, so that it can always be on. It tells
/// runs apart that differ by accident, not by malice.
///
/// Events and contents are hashed side by side, so that neither waits for the other's product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fingerprint {
    events: u64,
    contents: u64,
}

impl Fingerprint {
    /// Of a run in which nothing has happened yet.
    pub const fn new() -> Self {
        // The digits of pi: any odd constants without structure would do.
        Self { events: 0x243f_6a88_85a3_08d3, contents: 0x4528_21e6_38d0_1377 }
    }

    /// Takes in an event. What a message says is taken in by hashing it into the fingerprint.
    #[inline(always)]
    pub fn event(&mut self, event: &Event) {
        let Event { at, seat, what } = *event;
        let place = u64::from(seat.0);
        let (word, tag) = match what {
            // The channel is taken in with the sending; a receipt adds when it was.
            What::Received { message, .. } => (message.number(), 1),
            What::Sent { message, to, copy, .. } => {
                (message.number() << 1 | u64::from(copy), u64::from(to.0) << 8 | 2)
            }
            What::Asked(said) | What::Told(said) => {
                let [one, other] = said.numbers;
                let whom = said.whom.map_or(0, |seat| u64::from(seat.0) + 1);
                let about = u64::from(said.lock.0) << 32 | whom;
                let tag = (other << 20 ^ about) << 16 | u64::from(said.word.code) << 8 | 3;
                (one, tag)
            }
            What::Lost { message, to, cause } => {
                (message.number(), (u64::from(to.0) << 8 | cause as u64) << 8 | 7)
            }
            What::Duplicated { message, to } => (message.number(), u64::from(to.0) << 8 | 8),
            What::TimerFired => (0, 9),
            What::Crashed => (0, 10),
            What::Returned => (0, 11),
            What::Paused => (0, 12),
            What::Resumed => (0, 13),
            What::Cut { partition, side } => (u64::from(partition), (side as u64) << 8 | 14),
            What::Healed { partition } => (u64::from(partition), 15),
            What::WaitsFor { whom } => (u64::from(whom.0), 16),
            What::Replaced => (0, 17),
        };
        // An odd factor spreads the word over all bits, apart from those that the time moves.
        let word = word.wrapping_mul(0x082e_fa98_ec4e_6c89);
        self.events = mix(self.events, at.0.wrapping_add(word), place << 40 ^ tag);
    }
}

#[inline]
fn mix(hash: u64, a: u64, b: u64) -> u64 {
    const A: u64 = 0x1319_8a2e_0370_7345;
    const B: u64 = 0xa409_3822_299f_31d1;
    let product = u128::from(hash ^ a ^ A) * u128::from(b ^ B);
    #[allow(clippy::cast_possible_truncation, reason = "both halves are folded into one word")]
    {
        (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(23)
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        mix(self.events, self.contents, 0)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.contents = mix(self.contents, u64::from_le_bytes(word), chunk.len() as u64);
        }
    }

    #[inline]
    fn write_u8(&mut self, i: u8) {
        self.write_u64(u64::from(i));
    }

    #[inline]
    fn write_u32(&mut self, i: u32) {
        self.write_u64(u64::from(i));
    }

    #[inline]
    fn write_u64(&mut self, i: u64) {
        self.contents = mix(self.contents, i, 0);
    }

    #[inline]
    fn write_usize(&mut self, i: usize) {
        self.write_u64(i as u64);
    }

    /// Which variant of an enum it is: a small number, that the words which follow spread.
    #[inline]
    #[allow(clippy::cast_sign_loss, reason = "it is hashed, not counted with")]
    fn write_isize(&mut self, i: isize) {
        self.contents = self.contents.rotate_left(11).wrapping_add(i as u64);
    }
}
