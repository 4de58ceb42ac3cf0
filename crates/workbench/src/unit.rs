//! Numbers and times, as people read them.

use alloc::format;
use alloc::string::{String, ToString};

use conclave_observe::Time;
use conclave_observe::measure::Histogram;
use conclave_sim::Network;

/// What times are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Message delays: every message takes one.
    Delays,
    /// Nanoseconds of the run's own time; people are shown milliseconds.
    Nanoseconds,
}

impl Unit {
    /// What the times of that network are counted in.
    pub fn of(network: Network) -> Self {
        match network {
            Network::Unit => Unit::Delays,
            _ => Unit::Nanoseconds,
        }
    }

    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Delays => "delay",
            Unit::Nanoseconds => "ns",
        }
    }

    /// Its name for people.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Delays => "delays",
            Unit::Nanoseconds => "ms",
        }
    }

    /// The word for one of it, where people read.
    pub fn one(self) -> &'static str {
        match self {
            Unit::Delays => "delay",
            Unit::Nanoseconds => "ms",
        }
    }

    /// That time, for people, with its unit: `1 delay`, `2.5 delays`, `7 ms`.
    pub fn show(self, time: Time) -> String {
        let count = number(time.in_delays());
        let word = if count == "1" { self.one() } else { self.word() };
        format!("{count} {word}")
    }

    /// Nanoseconds as a number of this unit.
    pub fn count(self, nanoseconds: f64) -> f64 {
        match self {
            Unit::Delays => nanoseconds / Time::delays(1).0 as f64,
            Unit::Nanoseconds => nanoseconds,
        }
    }
}

/// A number with as many digits as a reader wants.
pub fn number(value: f64) -> String {
    let rounded = format!("{value:.3}");
    let trimmed = rounded.trim_end_matches('0').trim_end_matches('.');
    if trimmed == "-0" { "0".into() } else { trimmed.into() }
}

/// Mean and percentiles, with their unit; `none` if there are none.
pub fn spread(histogram: &Histogram, unit: Unit, none: &str) -> String {
    let (Some(mean), Some(p50), Some(p99), Some(max)) =
        (histogram.mean(), histogram.percentile(50), histogram.percentile(99), histogram.max())
    else {
        return none.into();
    };
    let show = |time: Time| number(time.in_delays());
    format!(
        "mean {}, p50 {}, p99 {}, max {}",
        number(mean / Time::DELAY.0 as f64),
        show(p50),
        show(p99),
        unit.show(max)
    )
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_unit_and_one_of_it_is_singular() {
        let times = [0, 1, 2].map(|count| Unit::Delays.show(Time::delays(count)));
        assert_eq!(times, ["0 delays", "1 delay", "2 delays"]);
        assert_eq!(Unit::Delays.show(Time(2_500_000)), "2.5 delays");
        assert_eq!(Unit::Nanoseconds.show(Time(1_000_000)), "1 ms");
    }
}
