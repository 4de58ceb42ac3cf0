//! Randomness, all of it from one seed.

use conclave_observe::Time;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers for one purpose.
///
/// Each purpose has its own, so that one more draw for the network does not change what the
/// workload does: two algorithms under the same seed see the same requests.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `purpose` under `seed`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        // FNV-1a: any fixed function of the name will do, as long as it stays the same.
        let name = purpose.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ name))
    }

    /// Any 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 if there is none. Its bias is at most `bound` / 2^64.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the high half of the product is below bound"
    )]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A time from `low` to `high`, both included, all equally likely.
    #[inline]
    pub fn between(&mut self, low: Time, high: Time) -> Time {
        low + Time(self.below((high - low).0.saturating_add(1)))
    }

    /// A time that is exponentially distributed around `mean`; never 0.
    #[inline]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is positive, and a delay of centuries saturates"
    )]
    pub fn exponential(&mut self, mean: Time) -> Time {
        // 53 bits, so that every value is exact; never 0, so that the logarithm is finite.
        let uniform = ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        Time(((-libm::log(uniform) * mean.0 as f64) as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_stream_is_part_of_the_contract_and_never_changes() {
        let mut stream = Stream::new(1, "network");
        let drawn = [stream.bits(), stream.below(1_000), stream.exponential(Time(1_000_000)).0];
        assert_eq!(drawn, [667_914_309_046_425_831, 120, 609_052]);
    }

    #[test]
    fn streams_of_different_purposes_differ() {
        assert_ne!(Stream::new(1, "network").bits(), Stream::new(1, "workload").bits());
        assert_ne!(Stream::new(1, "network").bits(), Stream::new(2, "network").bits());
    }

    #[test]
    fn an_exponential_time_has_the_mean_that_was_asked_for() {
        let mut stream = Stream::new(7, "test");
        let sum: u64 = (0..100_000).map(|_| stream.exponential(Time(1_000_000)).0).sum();
        assert!((990_000..1_010_000).contains(&(sum / 100_000)), "mean {}", sum / 100_000);
    }

    #[test]
    fn a_uniform_time_stays_within_both_ends_and_reaches_them() {
        let mut stream = Stream::new(7, "test");
        let drawn: Vec<Time> = (0..1_000).map(|_| stream.between(Time(3), Time(6))).collect();
        assert_eq!(drawn.iter().min(), Some(&Time(3)));
        assert_eq!(drawn.iter().max(), Some(&Time(6)));
    }
}
