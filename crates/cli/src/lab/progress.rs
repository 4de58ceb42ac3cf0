//! How far it is, for what takes longer than a second: a bar on a terminal, else a line a minute.

use std::cell::Cell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[expect(clippy::disallowed_types, reason = "a person waits in real time; the run does not see it")]
type Instant = std::time::Instant;

/// The time from line to line where there is no terminal: few enough for a log.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// Shows nothing for a second, then how far it is.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
    what: &'static str,
    next_line: Cell<Duration>,
}

impl Progress {
    /// For `total` of `what`.
    pub fn new(total: u64, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!("{{bar:30}} {{human_pos}} of {{human_len}} {what}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self { bar, since: Instant::now(), what, next_line: Cell::new(BETWEEN_LINES) }
    }

    /// For what nobody knows how long it takes: [`Progress::say`] says how far it is.
    pub fn endless(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, since: Instant::now(), what, next_line: Cell::new(BETWEEN_LINES) }
    }

    /// Shows how far it is, in words; they are asked for only when they are shown.
    pub fn say(&self, words: impl FnOnce(Duration) -> String) {
        self.show();
        let elapsed = self.since.elapsed();
        if !self.bar.is_hidden() {
            self.bar.set_message(words(elapsed));
            self.bar.tick();
        } else if elapsed >= self.next_line.get() {
            self.next_line.set(elapsed + BETWEEN_LINES);
            let (what, seconds) = (self.what, elapsed.as_secs());
            anstream::eprintln!("conclave: {what}, after {seconds} s: {}", words(elapsed));
        }
    }

    /// Shows that so many of the total are done.
    pub fn set(&self, position: u64) {
        self.show();
        self.bar.set_position(position);
    }

    /// How long it takes so far.
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn show(&self) {
        let is_long = self.since.elapsed() > Duration::from_secs(1);
        if is_long && self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
