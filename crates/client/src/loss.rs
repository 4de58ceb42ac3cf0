//! Word to a holder that it no longer is one.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// Why a lock was lost while somebody held it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Loss {
    /// Somebody took it away by force.
    Forced,
    /// The state that the lock lives in was removed or replaced under its holder.
    StateGone,
    /// The session with the engine ran out.
    Expired,
    /// The holder itself ended its session with the engine.
    Closed,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forced => "it was taken away by force",
            Self::StateGone => "its state file was removed or replaced",
            Self::Expired => "its session expired",
            Self::Closed => "its session was closed",
        })
    }
}

/// Set once, by an engine; seen by any number of [watchers](Self::watch), as a flag or as a future.
#[derive(Clone, Default, Debug)]
pub struct LossSignal(Arc<Shared>);

/// Tells whether a lock was lost, to whoever is not its holder: a task that does the work, say.
#[derive(Clone, Debug)]
pub struct LossWatch(LossSignal);

#[derive(Default, Debug)]
struct Shared {
    loss: OnceLock<Loss>,
    told: Notify,
}

impl LossSignal {
    /// Says that the lock is lost. Only the first word counts.
    pub fn raise(&self, loss: Loss) {
        if self.0.loss.set(loss).is_ok() {
            self.0.told.notify_waiters();
        }
    }

    /// A handle that can see the loss, and cannot cause one.
    pub fn watch(&self) -> LossWatch {
        LossWatch(self.clone())
    }

    /// Whether the lock is lost, and why.
    pub fn get(&self) -> Option<&Loss> {
        self.0.loss.get()
    }

    /// Waits until the lock is lost; for ever if it never is.
    pub async fn wait(&self) -> Loss {
        loop {
            let mut told = std::pin::pin!(self.0.told.notified());
            // Listen first, look second: what is raised in between is not missed.
            told.as_mut().enable();
            if let Some(loss) = self.get() {
                return loss.clone();
            }
            told.await;
        }
    }
}

impl LossWatch {
    /// Whether the lock is lost.
    pub fn is_lost(&self) -> bool {
        self.0.get().is_some()
    }

    /// Why the lock was lost, if it was.
    pub fn loss(&self) -> Option<Loss> {
        self.0.get().cloned()
    }

    /// Waits until the lock is lost; for ever if it never is.
    pub async fn lost(&self) -> Loss {
        self.0.wait().await
    }
}
