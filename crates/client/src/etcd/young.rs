//! Holds that are too young to be watched over.
//!
//! Most locks are held for a moment. A watch for each of them would cost more than it brings, and
//! so would a task and a timer. One task looks after all young holds, as long as there are any.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use conclave_core::Fence;

use super::Core;
use super::hold::{Watching, revision_of};
use super::mirror::InUse;
use super::place::Place;
use crate::{BootTime, LossSignal, Name};

/// Who holds something for longer than this, and half of it at most, is told at once when it is
/// taken away; before, at the next renewal.
const SHORT: Duration = Duration::from_millis(50);

/// All young holds of an engine.
#[derive(Default)]
pub struct Young {
    /// In order of age.
    holds: VecDeque<Hold>,
    is_tended: bool,
}

struct Hold {
    /// When it is old enough.
    due: BootTime,
    name: Name,
    key: Vec<u8>,
    fence: Fence,
    loss: LossSignal,
    watching: Weak<Mutex<Watching>>,
}

impl Young {
    /// Watches over the key of `place` if it is still held after a while.
    pub fn add(place: &Place, fence: Fence, loss: &LossSignal, watching: &Arc<Mutex<Watching>>) {
        let core = &place.core;
        let hold = Hold {
            due: BootTime::now().plus(SHORT),
            name: place.resource.name.clone(),
            key: place.key.clone(),
            fence,
            loss: loss.clone(),
            watching: Arc::downgrade(watching),
        };
        let mut young = core.young.lock().unwrap_or_else(PoisonError::into_inner);
        young.holds.push_back(hold);
        if !std::mem::replace(&mut young.is_tended, true) {
            core.runtime.spawn(tend(Arc::downgrade(core)));
        }
    }

    /// Those who are old enough. Nobody tends the others any more when there are none.
    fn grown_up(&mut self) -> Vec<Hold> {
        let count = self.holds.iter().take_while(|it| it.due.is_past()).count();
        let grown_up = self.holds.drain(..count).collect();
        self.is_tended = !self.holds.is_empty();
        grown_up
    }
}

async fn tend(core: Weak<Core>) {
    loop {
        tokio::time::sleep(SHORT / 2).await;
        let Some(core) = core.upgrade() else { return };
        let mut young = core.young.lock().unwrap_or_else(PoisonError::into_inner);
        let (grown_up, goes_on) = (young.grown_up(), young.is_tended);
        drop(young);
        for hold in grown_up {
            hold.watch(&core);
        }
        if !goes_on {
            return;
        }
    }
}

impl Hold {
    fn watch(&self, core: &Arc<Core>) {
        let Some(watching) = self.watching.upgrade() else { return };
        let mut watching = watching.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*watching, Watching::NotYet) {
            let mirror = InUse::of(core, &self.name);
            mirror.watch_over(&self.key, revision_of(self.fence), &self.loss);
            *watching = Watching::Now(mirror);
        }
    }
}
