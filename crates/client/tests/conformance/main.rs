//! What every engine promises, as claims that are tested on each of them in the same words.
//!
//! - [`claims`]: the claims, and the list of all of them;
//! - [`world`]: what an engine brings along to be tested;
//! - [`scene`]: what the claims are written with;
//! - one module per engine, with a test for every claim;
//! - [`broken`]: engines that are broken in one way each, and the claims that notice.
//!
//! A new engine is a [`world::World`] and a call of `test_every_claim`.

mod claims;
mod other_process;
mod scene;
mod world;

mod broken;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "local")]
mod local;
mod memory;
