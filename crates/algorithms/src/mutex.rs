//! Mutual exclusion: at most one process at a time.
//!
//! Every file here is one algorithm, always in the same order: the problem, the idea, what it
//! assumes, its messages, its cost, its paper; then messages, state, the transition with one arm per
//! rule, one function per rule, and one test per rule.

mod ricart_agrawala;

pub use ricart_agrawala::{Answers, RicartAgrawala};
