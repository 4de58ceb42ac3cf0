//! Following who leads.

use std::collections::VecDeque;
use std::sync::Arc;

use conclave_core::Fence;

use crate::{Engine, Error, Owner, Resource, Status};

/// What an observer sees. Fences only grow from one [`Elected`](Self::Elected) of a leader to that
/// of the next; a leader whose office was shorter than a look may be missed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Office {
    /// Nobody leads: no leader was elected yet, or the last one is gone.
    Vacant,
    /// Somebody leads, or the leader published another value.
    Elected {
        /// The number that proves it.
        fence: Fence,
        /// What the leader publishes.
        value: Vec<u8>,
        /// Who leads: label, process, machine.
        owner: Owner,
    },
    /// The leader gave up its office; it is vacant until the next `Elected`.
    Resigned {
        /// The number of the office that ended.
        fence: Fence,
    },
}

/// Follows one election.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), conclave_client::Error> {
/// use conclave_client::{Client, Memory, Office};
///
/// let client = Client::new(Memory::new());
/// let mut observer = client.observe("primary")?;
/// assert_eq!(observer.next().await?, Office::Vacant);
/// let leader = client.campaign("primary", "db1:5432").await?;
/// assert!(matches!(observer.next().await?, Office::Elected { value, .. } if value == b"db1:5432"));
/// leader.resign().await?;
/// assert!(matches!(observer.next().await?, Office::Resigned { .. }));
/// # Ok(())
/// # }
/// ```
pub struct Observer {
    engine: Arc<dyn Engine>,
    resource: Resource,
    /// The version of the last status seen.
    version: Option<u64>,
    /// What was last told.
    told: Option<Office>,
    /// What is seen but not told yet.
    pending: VecDeque<Office>,
}

impl Observer {
    pub(crate) fn new(engine: Arc<dyn Engine>, resource: Resource) -> Self {
        Self { engine, resource, version: None, told: None, pending: VecDeque::new() }
    }

    /// The next thing that happens; at first, how things are. Nothing is lost when the future is
    /// dropped.
    ///
    /// # Errors
    /// If the engine cannot be used.
    pub async fn next(&mut self) -> Result<Office, Error> {
        loop {
            if let Some(office) = self.pending.pop_front() {
                self.told = Some(office.clone());
                return Ok(office);
            }
            if let Some(version) = self.version {
                self.engine.changed(&self.resource, version).await?;
            }
            let status = self.engine.inspect(&self.resource).await?;
            self.version = Some(status.version);
            self.see(&status);
        }
    }

    /// Compares what is with what was told.
    fn see(&mut self, status: &Status) {
        let now = office(status);
        if self.told.as_ref() == Some(&now) {
            return;
        }
        if let Some(Office::Elected { fence: before, .. }) = self.told {
            let goes_on = matches!(now, Office::Elected { fence, .. } if fence == before);
            if !goes_on && status.resigned == Some(before) {
                self.pending.push_back(Office::Resigned { fence: before });
            }
        }
        let is_news = self.pending.is_empty() || now != Office::Vacant;
        // A resignation says already that the office is vacant; it need not be said twice.
        let resigned_before = matches!(self.told, Some(Office::Resigned { .. }));
        if is_news && !(resigned_before && now == Office::Vacant) {
            self.pending.push_back(now);
        }
    }
}

fn office(status: &Status) -> Office {
    let Some(holder) = status.holder() else { return Office::Vacant };
    let value = status.value.as_ref().filter(|value| value.fence == holder.fence);
    Office::Elected {
        fence: holder.fence,
        value: value.map(|value| value.bytes.clone()).unwrap_or_default(),
        owner: holder.owner.clone(),
    }
}
