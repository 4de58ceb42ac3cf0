//! What tests need beside the simulator and the checker: the same state machines between real
//! processes, and in the hands of somebody who tampers with them; real servers, several hosts on
//! one machine, and a line between client and server that can be slow, frozen or cut.
//!
//! Small on purpose. A dependency of tests only.

pub mod certificates;
pub mod hosts;
pub mod known;
pub mod mutant;
pub mod proxy;
pub mod seeds;
pub mod servers;
pub mod tcp;
pub mod words;

mod left_out;
mod nursery;
mod patience;
mod ports;
