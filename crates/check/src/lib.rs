//! Exhaustive search.
mod fingerprint;
mod model;
mod search;
mod store;

pub use fingerprint::Fingerprint;
pub use model::{FlawCode, Look, Model, Step, Successors, Worker};
pub use search::{Budget, Explored, Limit, Outcome, Progress, Search};
pub use store::Keep;
