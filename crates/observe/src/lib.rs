//! The judge: it watches what happens from outside, and never steers.
//!
//! Everything here reads [`Event`]s and nothing else: no protocol's inside, no option of the run.
//! So the same judge can sit beside a simulator, a search, a network driver or a recorded trace.
//!
//! | what | where | question |
//! | --- | --- | --- |
//! | safety | [`property::MutualExclusion`] | are there ever two holders? |
//! | fences | [`property::Fences`] | does every entry get a higher number than all before it? |
//! | ordering | [`property::Ordering`] | is a request granted before another that it happened before? |
//! | liveness | [`property::Waiting`] | who still waits, and who was overtaken how often? |
//! | elections | [`family::elections::ElectionPanel`] | is the right one elected, only one, by all, in the end? |
//! | detection | [`property::Detection`] | are the dead suspected, and nobody else? |
//! | clocks | [`property::ClockCondition`] | do logical clocks grow with what happened? |
//! | measures | [`measure`] | what did it cost? |
//! | trace | [`trace`] | what happened, event by event? |

#![no_std]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod family;
pub mod measure;
pub mod property;
pub mod trace;

mod diagnosis;
mod event;
mod fingerprint;
mod judge;
mod said;
mod time;
mod verdict;

pub use diagnosis::{Diagnosis, Root, WaitGraph};
pub use event::{Event, LossCause, MessageId, Part, Side, What};
pub use family::{AnyMemory, Breach, Brief, Memory, Observed, Panel, Spoken, Vocabulary, Wrong};
pub use fingerprint::Fingerprint;
pub use judge::{Judge, JudgeOrdering, MessageNumbers, Report};
pub use said::{
    BarChange, BarSort, Exclusion, Fill, LockName, MarkSort, Moment, Names, Picture, Said, Shape,
    Tell, Whose, Word,
};
pub use time::Time;
pub use verdict::{Ending, Verdict};
