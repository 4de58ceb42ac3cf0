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

    /// So far.
    pub fn set(&self, position: u64) {
        let is_long = self.since.elapsed() > Duration::from_secs(1);
        if is_long && self.bar.is_hidden() && std::io::stderr().is_terminal() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
