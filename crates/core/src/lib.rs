//! The vocabulary that every other crate speaks.
//!
//! A distributed algorithm is a value that turns an input into effects: `p = (S, s0, M, ->)`, a set
//! of states, a first state, messages, and a transition `S x M -> S x 2^(P x M)`. [`Protocol`] is
//! that sentence in Rust. A simulator, an exhaustive search and a network driver are three readers
//! of it; none of them needs to know which algorithm it drives.
//!
//! This crate is `no_std`: no clock, socket, thread, random number or hash map can even be named.

#![no_std]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod clock;
pub mod detector;
pub mod election;
pub mod mutex;
pub mod process;
pub mod tamper;

mod effects;
mod family;
mod fence;
mod host;
mod id;
mod input;
mod message;
mod promises;
mod protocol;
mod renaming;
mod seat_set;
#[cfg(feature = "serde")]
mod show;
mod view;

pub use effects::{Due, Effect, Effects, Lift};
pub use family::{CommandOf, Family, NoticeOf, OpeningOf};
pub use fence::{Fence, HighestFence};
pub use host::{Environment, Host};
pub use id::{ProcessId, Seat};
pub use input::{Input, NoWord};
#[cfg(feature = "serde")]
pub use message::Portable;
pub use message::{Kind, KindIndex, Message, Phase};
pub use promises::Promises;
pub use protocol::{Arrival, Protocol, Start};
pub use renaming::{Renaming, Symmetry};
pub use seat_set::SeatSet;
pub use view::{DuplicateId, View};
