//! Exhaustive search: everything that a protocol can do, within bounds.
//!
//! | what | where |
//! | --- | --- |
//! | proves or refutes what a protocol promises | [`check`](fn@check) |
//! | what is searched, and within which bounds | [`system::Setup`] |
//! | the search itself, which knows no protocol | [`Search`], [`Model`] |
//! | what must come, comes | [`Graph`], [`Claim`] |

mod check;
mod fingerprint;
mod liveness;
mod model;
mod search;
mod store;
pub mod system;

pub use check::{
    Counterexample, Fairness, Finding, Options, Refusal, Verdict, check, graph, whole_graph,
};
pub use fingerprint::Fingerprint;
pub use liveness::{Claim, Graph, Lasso};
pub use model::{FlawCode, Look, Model, Step, Successors, Worker};
pub use search::{Budget, Explored, Limit, Outcome, Progress, Search};
pub use store::{Keep, STATES_MAX};
