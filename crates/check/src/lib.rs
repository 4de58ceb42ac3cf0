//! Exhaustive search: everything that a protocol can do, within bounds.
//!
//! | what | where |
//! | --- | --- |
//! | proves or refutes what a protocol promises | [`check`](fn@check) |
//! | what is searched, and within which bounds | [`system::Setup`] |
//! | the search itself, which knows no protocol | [`Search`], [`Model`] |
//! | what must come, comes | [`Graph`], [`Claim`] |
//!
//! It needs no operating system. The feature `threads`, on by default, makes it search on several
//! threads and takes in the standard library for that alone.

#![no_std]

extern crate alloc;

mod check;
mod fingerprint;
mod liveness;
mod model;
mod search;
mod store;
mod sync;
pub mod system;

pub use check::{
    Conclusion, Counterexample, Fairness, Finding, Options, Refusal, check, graph, whole_graph,
};
pub use fingerprint::Fingerprint;
pub use liveness::{Claim, Graph, Lasso};
pub use model::{BoxedWorker, FlawCode, Look, Model, Step, Successors, Worker};
pub use search::{Budget, Explored, Limit, Search, SearchEnd, SearchProgress};
pub use store::{Keep, STATES_MAX};
pub use sync::Shared;
