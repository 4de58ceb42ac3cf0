//! A bar for whatever takes longer than a second, on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

#[expect(clippy::disallowed_types, reason = "a person waits in real time; the run does not see it")]
type Instant = std::time::Instant;

/// Shows nothing for a second, then how far it is.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
}

impl Progress {
    /// For `total` of `what`.
    pub fn new(total: u64, what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!("{{bar:30}} {{human_pos}} of {{human_len}} {what}, {{eta}} left");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self { bar, since: Instant::now() }
    }

    /// For what nobody knows how long it takes: it is said how far it is.
    pub fn endless() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        Self { bar, since: Instant::now() }
    }

    /// So far, in words.
    pub fn say(&self, words: impl FnOnce(Duration) -> String) {
        self.show();
        if !self.bar.is_hidden() {
            self.bar.set_message(words(self.since.elapsed()));
            self.bar.tick();
        }
    }

    /// So far.
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
