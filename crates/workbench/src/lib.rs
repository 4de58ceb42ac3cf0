//! The bench that everybody works at: runs and searches of any algorithm of the catalogue, planned,
//! carried out, and put into words.
//!
//! The command line, a page in a browser and programs use it alike. So it knows no terminal, no
//! file, no thread and no clock: what it is asked comes in as values, and what it says goes out as
//! values and sentences.
//!
//! | module | what |
//! | --- | --- |
//! | [`plan`] | a run: all that decides it, and carrying it out |
//! | [`setting`] | the one table of what can be said of a run in a word and a value |
//! | [`draft`] | what was said of a run, and the plan that follows from it |
//! | [`notation`] | how times, networks, workloads and faults are written |
//! | [`bundled`] | the scenarios that come with the program |
//! | [`scenario`] | who takes part, who asks when and what goes wrong, in one text |
//! | [`need`] | how much memory a run needs, before it begins |
//! | [`stepping`] | a run taken one event at a time, by whoever watches it |
//! | [`account`] | what is told of a run: figures in words, and the same for programs |
//! | [`sentence`] | what came of a run, in one sentence |
//! | [`explain`] | a run, event by event |
//! | [`recorded`] | runs that were recorded, judged again |
//! | [`search`] | everything that an algorithm can do, within bounds |
//! | [`experiment`], [`figure`], [`table`] | measured figures beside the expected ones |
//! | [`sweep`] | what failure detectors trade |
//! | [`unit`](mod@unit) | numbers and times, as people read them |

#![no_std]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

extern crate alloc;

pub mod account;
pub mod bundled;
pub mod draft;
pub mod experiment;
pub mod explain;
pub mod family;
pub mod figure;
pub mod need;
pub mod notation;
pub mod plan;
pub mod recorded;
pub mod scenario;
pub mod search;
pub mod sentence;
pub mod setting;
pub mod show;
pub mod stepping;
pub mod sweep;
pub mod table;
pub mod unit;
pub mod voting_picture;
