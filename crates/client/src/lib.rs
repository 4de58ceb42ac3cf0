//! A lock that only one holds, and a leader that only one is.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), conclave_client::Error> {
//! use conclave_client::Client;
//!
//! let client = Client::local()?; // this machine only, no server
//! let guard = client.lock("nightly").await?;
//! // Only one of me runs. Whatever I write, I write with guard.fence().
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```
//!
//! | want | call |
//! | --- | --- |
//! | a lock | [`Client::lock`], [`try_lock`](Client::try_lock), [`lock_timeout`](Client::lock_timeout) |
//! | readers together, writers alone | [`Request::shared`] |
//! | at most so many at once | [`Request::slots`] |
//! | several locks without deadlock | [`Client::lock_all`] |
//! | one leader | [`Client::campaign`], [`Leadership::resign`], [`Client::observe`] |
//! | to be told where the locks live | [`Client::at`], [`At`] |
//! | no `async` | [`blocking`] |
//! | tests of your own code | [`Memory`]: a clock that you move, locks that you lose |
//! | a resource that refuses late holders | [`gate`] |
//!
//! # Engines
//!
//! A lock lives in an [`Engine`], each of which is a feature of this crate. [`Local`], the default,
//! needs no server and is for the processes of **one machine**; `Etcd` (feature `etcd`) is for all
//! machines that reach the same servers of etcd; [`Memory`] is for the tasks of one process. All
//! have the same guards, the same fences and the same order: first come, first served.
//!
//! # What is promised, and what is not
//!
//! Two exclusive holders never overlap unless the earlier one lost its lock, and then its guard
//! says so. No lock can stop a process that was asleep when that happened from waking up and
//! writing: that is what the [`Fence`] is for. It grows with every grant, over every crash; a
//! resource that remembers the highest it has seen ([`gate`]) refuses whoever comes late.
//!
//! # Versions
//!
//! Rust 1.88 or later; raising that is a minor release. Semantic versioning: within a major
//! version nothing that compiles stops compiling. Enums marked `non_exhaustive` may grow.

#![expect(clippy::disallowed_types, reason = "outside of the lab: this crate lives in real time")]

pub mod blocking;
pub mod gate;

mod at;
mod boot_time;
mod client;
mod engine;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod guard;
#[cfg(feature = "local")]
mod local;
mod loss;
#[cfg(feature = "memory")]
mod memory;
mod name;
mod observer;
#[cfg(any(feature = "memory", feature = "etcd"))]
mod order;
mod request;
mod status;
mod tenure;
#[cfg(any(feature = "local", feature = "etcd"))]
mod threads;
mod utc;

pub use at::{At, AtError, engine_of};
pub use boot_time::BootTime;
pub use client::Client;
pub use conclave_core::Fence;
pub use engine::{Answer, ByDescriptor, Engine, Hold, Keeper, Patience};
pub use error::{Error, Outcome, Usage};
#[cfg(all(feature = "etcd", feature = "planted-bugs"))]
#[doc(hidden)]
pub use etcd::PlantedBug;
#[cfg(feature = "etcd")]
pub use etcd::{Etcd, EtcdOptions};
pub use guard::{Guard, Guards, Leadership};
#[cfg(feature = "local")]
pub use local::{Local, LocalOptions};
pub use loss::{Loss, LossSignal, LossWatch};
#[cfg(feature = "memory")]
pub use memory::Memory;
pub use name::{Kind, NAME_MAX, Name, NameError, Resource};
pub use observer::{Observer, Office};
pub use request::{LABEL_MAX, Mode, Request, VALUE_MAX};
pub use status::{Evicted, Holder, Owner, Process, Status, Target, Value, Waiter};
pub use tenure::{Standing, Tenure};
pub use utc::utc;

/// What the page for programs shows must compile.
#[cfg(all(doctest, feature = "local", feature = "memory"))]
#[doc = include_str!("../../../docs/locks/rust.md")]
struct PageForPrograms;
