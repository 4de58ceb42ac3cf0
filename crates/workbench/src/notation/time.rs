//! Times as people write them.

use alloc::borrow::ToOwned;
use alloc::string::String;

use conclave_observe::Time;

/// A text that is not a time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "`{0}` is not a time; write 40ms, 1.5ms, 300us, 20ns or 2s (a bare number is milliseconds, which are message delays in the unit network)"
)]
pub struct ParseTimeError(pub String);

/// Reads `40ms`, `1.5ms`, `300us`, `20ns`, `2s`; a bare number is milliseconds, that is message
/// delays in the unit network.
pub fn parse_time(text: &str) -> Result<Time, ParseTimeError> {
    let wrong = || ParseTimeError(text.to_owned());
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let nanoseconds_per_unit: u64 = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "" | "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || digits.ends_with('.') {
        return Err(wrong());
    }
    let mut total =
        whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(nanoseconds_per_unit));
    let mut scale = nanoseconds_per_unit;
    for digit in fraction.bytes() {
        // Finer than a nanosecond is finer than this world's time.
        scale = if scale.is_multiple_of(10) { scale / 10 } else { return Err(wrong()) };
        total = total.and_then(|total| total.checked_add(u64::from(digit - b'0') * scale));
    }
    total.map(Time).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, nanoseconds) in [
            ("40ms", 40_000_000),
            ("1.5ms", 1_500_000),
            ("0.25us", 250),
            ("20ns", 20),
            ("2s", 2_000_000_000),
            ("7", 7_000_000),
            ("0", 0),
        ] {
            assert_eq!(parse_time(text), Ok(Time(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in ["", "ms", "-1ms", "1.ms", ".5ms", "1.5ns", "1h", "4 ms", "99999999999999999s"]
        {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }
}
