//! Sleeping until a moment of boot time: also if the machine is suspended meanwhile.

use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;

use crate::BootTime;

/// Returns when it is `moment`, or a little later.
pub async fn sleep_until(moment: BootTime) {
    // Without a timer of its own (no descriptor is left) it is looked at now and then.
    if let Ok(timer) = start(moment) {
        let _ = timer.readable().await;
    }
    while !moment.is_past() {
        tokio::time::sleep(moment.left().min(Duration::from_millis(100))).await;
    }
}

#[expect(
    deprecated,
    reason = "what it warns of, a descriptor that is closed while it is registered, an owned one cannot do; \
              its successor is unsafe to call"
)]
fn start(moment: BootTime) -> std::io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
    let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, flags)?;
    // Zero would mean never.
    let at = moment.to_duration().max(Duration::from_nanos(1));
    let at = Expiration::OneShot(TimeSpec::from(at));
    timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
    AsyncFd::new(OwnedFd::from(timer))
}
