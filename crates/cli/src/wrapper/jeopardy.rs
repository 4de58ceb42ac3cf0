//! Saying that a lock may soon be lost.

use std::time::SystemTime;

use conclave_client::utc;

use super::{LockWatch, say};

/// Says on standard error when the servers no longer answer, and when they do again: once each.
#[derive(Debug, Default)]
pub struct Jeopardy {
    is_told: bool,
}

impl Jeopardy {
    /// Says it if it has changed. `title` is what the lock is called.
    pub fn tell(&mut self, title: &str, watch: &dyn LockWatch) {
        let is_in_jeopardy = watch.is_in_jeopardy();
        if is_in_jeopardy == self.is_told {
            return;
        }
        self.is_told = is_in_jeopardy;
        if !is_in_jeopardy {
            return say(&format!("{title} is safe again: answered again"));
        }
        let until = watch.deadline().map_or_else(String::new, |deadline| {
            let left = deadline.left();
            let moment = utc(SystemTime::now() + left);
            format!("; it is held until {moment}, in {:.1} s", left.as_secs_f64())
        });
        say(&format!("{title} in jeopardy: no answer{until}"));
    }
}
