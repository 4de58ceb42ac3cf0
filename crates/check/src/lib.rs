//! Exhaustive search.
mod check;
mod fingerprint;
mod liveness;
mod model;
mod search;
mod store;
pub mod system;

pub use check::{Counterexample, Fairness, Finding, Options, Verdict, check, graph};
pub use fingerprint::Fingerprint;
pub use liveness::{Claim, Graph, Lasso};
pub use model::{FlawCode, Look, Model, Step, Successors, Worker};
pub use search::{Budget, Explored, Limit, Outcome, Progress, Search};
pub use store::Keep;
