//! A server that refuses late holders.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use conclave_core::Fence;
use thiserror::Error;

use super::{FenceGate, Stale};

/// Guards what a server stores: clients send their fence in the header `Conclave-Fence`.
///
/// ```
/// use conclave_client::{Fence, gate::HttpGate};
///
/// // The client:
/// let (name, value) = HttpGate::header(Fence(7));
/// assert_eq!((name, value.as_str()), ("Conclave-Fence", "7"));
///
/// // The server:
/// let gate = HttpGate::new();
/// let mut stored = "";
/// gate.write("report", Some("9"), |_| stored = "by 9")?;
///
/// let refusal = gate.write("report", Some("7"), |_| stored = "by 7").unwrap_err();
/// assert_eq!(refusal.status(), 412);
/// assert_eq!(refusal.to_string(), "fence 7 is late: 9 was here already");
/// assert_eq!(stored, "by 9");
/// # Ok::<(), conclave_client::gate::Refusal>(())
/// ```
///
/// # It forgets
///
/// The gate is in memory. **A server that is started again has forgotten every fence**, and would
/// let a late holder in. So store the fence together with what was written, and begin with it:
/// [`with_highest`](Self::with_highest). A server with a database uses a
/// [`SqlGate`](super::SqlGate) for the write, and this one only for the header and the answers.
/// Likewise, two servers with one store behind them have two memories: the store must check.
///
/// It never forgets while it runs, so it grows with the number of resources. Give it names of
/// resources that exist, not whatever path a client makes up.
#[derive(Debug, Default)]
pub struct HttpGate {
    /// Each resource has its own lock: a slow write delays only writes to the same resource.
    resources: Mutex<BTreeMap<String, Arc<Mutex<FenceGate>>>>,
}

/// Why a request is refused: what to answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The request has no fence. Answer 428, Precondition Required.
    #[error("the header {} is missing", HttpGate::HEADER)]
    Missing,
    /// The header is no fence. Answer 400, Bad Request.
    // The value is not repeated: it is the client's text, and has no business in a log.
    #[error("the header {} is not one whole number from 1 to {}", HttpGate::HEADER, u64::MAX)]
    Malformed,
    /// Somebody with a higher fence was here already. Answer 412, Precondition Failed.
    #[error(transparent)]
    Late(#[from] Stale),
}

impl Refusal {
    /// The status code to answer with. The body is this error's text.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Missing => 428,
            Self::Malformed => 400,
            Self::Late(_) => 412,
        }
    }
}

impl HttpGate {
    /// The name of the header. As every header's, it may come in other cases.
    pub const HEADER: &'static str = "Conclave-Fence";

    /// A gate that has admitted nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins with a fence that was stored earlier. Of several for one resource the highest counts.
    ///
    /// ```
    /// use conclave_client::{Fence, gate::HttpGate};
    ///
    /// let stored = [("report", Fence(9)), ("summary", Fence(4))];
    /// let gate = stored
    ///     .into_iter()
    ///     .fold(HttpGate::new(), |gate, (name, fence)| gate.with_highest(name, fence));
    /// assert_eq!(gate.admit("report", Some("8")).unwrap_err().status(), 412);
    /// ```
    #[must_use]
    pub fn with_highest(self, resource: &str, stored: Fence) -> Self {
        let gate = self.gate_of(resource);
        let mut gate = locked(&gate);
        *gate = FenceGate::with_highest(gate.highest().max(stored));
        drop(gate);
        self
    }

    /// For a client: the name and the value of the header.
    pub fn header(fence: Fence) -> (&'static str, String) {
        (Self::HEADER, fence.to_string())
    }

    /// Checks the fence and writes, in one step: until `write` returns, nobody else writes to this
    /// resource. `write` is given the fence, to store it with the data.
    ///
    /// `header` is the header's value, if there is one. If a request has it twice, give both with a
    /// comma between them, as HTTP says; that is refused.
    ///
    /// The fence stays remembered if `write` fails or panics: whoever comes later than a failed
    /// write is still later. `write` must not write to the same resource through the gate: it
    /// would wait for itself.
    ///
    /// # Errors
    /// If the header is missing, malformed or late. `write` is not called then.
    pub fn write<T>(
        &self,
        resource: &str,
        header: Option<&str>,
        write: impl FnOnce(Fence) -> T,
    ) -> Result<T, Refusal> {
        // First the header, so that a bad request leaves no trace in the table.
        let fence = parse(header)?;
        let gate = self.gate_of(resource);
        let mut gate = locked(&gate);
        gate.admit(fence)?;
        Ok(write(fence))
    }

    /// Checks the fence only.
    ///
    /// When this returns, a higher fence may already be on its way. Call it while you hold the
    /// lock under which you write (in `async` code, an asynchronous mutex), or use
    /// [`write`](Self::write).
    ///
    /// # Errors
    /// If the header is missing, malformed or late.
    pub fn admit(&self, resource: &str, header: Option<&str>) -> Result<Fence, Refusal> {
        self.write(resource, header, |fence| fence)
    }

    /// The highest fence admitted so far; 0 if there was none.
    pub fn highest(&self, resource: &str) -> Fence {
        let gate = locked(&self.resources).get(resource).cloned();
        gate.map_or(Fence(0), |gate| locked(&gate).highest())
    }

    fn gate_of(&self, resource: &str) -> Arc<Mutex<FenceGate>> {
        let mut resources = locked(&self.resources);
        if let Some(gate) = resources.get(resource) {
            return Arc::clone(gate);
        }
        Arc::clone(resources.entry(resource.to_owned()).or_default())
    }
}

/// A panic of somebody's `write` leaves nothing half done here: the fence is remembered before.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Digits only. Rust's own parser would also take `+7`.
fn parse(header: Option<&str>) -> Result<Fence, Refusal> {
    let text = header.ok_or(Refusal::Missing)?.trim_matches([' ', '\t']);
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::Malformed);
    }
    match text.parse() {
        // No lock is ever given with fence 0, so that no honest client sends it.
        Ok(0) | Err(_) => Err(Refusal::Malformed),
        Ok(number) => Ok(Fence(number)),
    }
}
