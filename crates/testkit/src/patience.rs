//! Waiting for something that happens in real time, but not for ever.

use std::time::Duration;

#[expect(clippy::disallowed_types, reason = "servers and hosts run in real time")]
pub(crate) type Instant = std::time::Instant;

const PAUSE: Duration = Duration::from_millis(20);

/// Asks again and again, until there is an answer or the time is over.
pub(crate) fn wait_for<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}
