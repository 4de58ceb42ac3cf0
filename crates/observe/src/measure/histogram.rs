//! Percentiles of durations, in bounded memory.

use alloc::collections::BTreeMap;

use crate::Time;

/// Durations, counted in buckets that are at most 1/64 wide in relation to their values.
///
/// A percentile is the longest duration seen in its bucket, so it is one that did occur; where all
/// durations of a bucket are the same, as in a network of equal delays, it is exact.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    buckets: BTreeMap<u32, Bucket>,
    count: u64,
    sum: u128,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Bucket {
    count: u64,
    longest: Time,
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, duration: Time) {
        let bucket = self.buckets.entry(bucket_of(duration)).or_default();
        bucket.count += 1;
        bucket.longest = bucket.longest.max(duration);
        self.count += 1;
        self.sum += u128::from(duration.0);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean in nanoseconds, exact but for the division; `None` without any.
    #[allow(clippy::cast_precision_loss, reason = "a mean is printed with few digits")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The longest; `None` without any.
    pub fn max(&self) -> Option<Time> {
        self.buckets.last_key_value().map(|(_, bucket)| bucket.longest)
    }

    /// The duration that `percent` in a hundred did not exceed; `None` without any.
    pub fn percentile(&self, percent: u64) -> Option<Time> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut below = 0;
        self.buckets.values().find_map(|bucket| {
            below += bucket.count;
            (below >= rank).then_some(bucket.longest)
        })
    }
}

/// Small values have a bucket each; larger ones share it with those that agree in the highest 7
/// bits.
fn bucket_of(duration: Time) -> u32 {
    let bits = 64 - duration.0.leading_zeros();
    let shift = bits.saturating_sub(7);
    #[allow(clippy::cast_possible_truncation, reason = "at most 7 bits are left")]
    let mantissa = (duration.0 >> shift) as u32;
    shift << 7 | mantissa
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn percentiles_are_within_a_64th_of_the_sorted_list() {
        let mut values: Vec<u64> = (0..10_000_u64).map(|i| i * i * 7_919 % 1_000_003).collect();
        let mut histogram = Histogram::default();
        for &value in &values {
            histogram.record(Time(value));
        }
        values.sort_unstable();
        for percent in [1, 25, 50, 75, 90, 99, 100] {
            let rank = (values.len() as u64 * percent).div_ceil(100);
            let exact = values[usize::try_from(rank).unwrap() - 1];
            let got = histogram.percentile(percent).unwrap().0;
            assert!(got >= exact && got - exact <= exact / 64, "p{percent}: {got} for {exact}");
            assert!(values.binary_search(&got).is_ok(), "a percentile must have occurred");
        }
        assert_eq!(histogram.max().unwrap().0, *values.last().unwrap());
    }

    #[test]
    fn whole_delays_are_told_exactly() {
        let mut histogram = Histogram::default();
        for delays in [2, 2, 2, 7] {
            histogram.record(Time::delays(delays));
        }
        assert_eq!(histogram.percentile(50), Some(Time::delays(2)));
        assert_eq!(histogram.percentile(99), Some(Time::delays(7)));
        assert_eq!(histogram.mean(), Some(3_250_000.0));
    }

    #[test]
    fn nothing_counted_is_nothing_told() {
        let empty = Histogram::default();
        assert_eq!((empty.mean(), empty.max(), empty.percentile(50)), (None, None, None));
    }

    #[test]
    fn the_whole_range_of_times_fits() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 127, 128, u64::MAX] {
            histogram.record(Time(value));
        }
        assert_eq!(histogram.max(), Some(Time(u64::MAX)));
        assert_eq!(histogram.percentile(1), Some(Time(0)));
    }
}
