//! What can be searched: anything whose states are rows of words.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::{Fingerprint, Shared};

/// A system whose states are rows of equally many words.
///
/// A search asks it from several threads, each through a worker of its own.
pub trait Model: Shared {
    /// How many words a state has.
    fn width(&self) -> usize;

    /// Somebody who works out steps, on one thread, and may keep what was worked out before.
    ///
    /// Behind a pointer, so that the search is compiled once for all models; a call for each state
    /// is little beside its successors.
    fn worker(&self) -> BoxedWorker<'_>;

    /// How much memory it keeps itself, beside the states that are found.
    fn bytes(&self) -> usize {
        0
    }
}

/// A worker who can go to the thread that works with it.
#[cfg(feature = "threads")]
pub type BoxedWorker<'a> = Box<dyn Worker + Send + 'a>;
/// A worker for the one thread that there is.
#[cfg(not(feature = "threads"))]
pub type BoxedWorker<'a> = Box<dyn Worker + 'a>;

/// Works out the states that a system begins in, and those that follow from one.
pub trait Worker {
    /// All states to begin with.
    fn begin(&mut self, out: &mut Successors);

    /// All states that are one step away, in an order that depends on the state alone.
    fn expand(&mut self, state: &[u32], print: Fingerprint, out: &mut Successors) -> Look;

    /// How often what a proof rests on was seen, by this worker so far.
    fn premises(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// What is to be said of a state itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Who waits for something that must come: one bit each, below [`CUT_OFF`](Self::CUT_OFF).
    pub pending: u32,
    /// What is wrong with it.
    pub flaw: Option<FlawCode>,
}

impl Look {
    /// The bit of `pending` that says: something must be done here, and lies beyond what is
    /// searched. What comes after such a state is not known, so nothing is left undone there.
    pub const CUT_OFF: u32 = 1 << 31;
}

/// What is wrong, by the model's own numbers.
pub type FlawCode = u8;

/// A step, by the model's own numbers: what happened, so that the same from the same state leads
/// to the same state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Step(pub u32);

/// States that were worked out, sorted by the part of the table that they belong to.
#[derive(Debug)]
pub struct Successors {
    width: usize,
    parent: u32,
    /// How many were put in since it was made.
    pub(crate) generated: u64,
    /// The first with a flaw.
    pub(crate) flawed: Option<Head>,
    pub(crate) buckets: Vec<Bucket>,
}

/// The states of one part of the table.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) heads: Vec<Head>,
    pub(crate) words: Vec<u32>,
}

/// What is known of a state before it is looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) print: Fingerprint,
    pub(crate) parent: u32,
    pub(crate) step: Step,
    pub(crate) flaw: Option<FlawCode>,
}

/// A state that was worked out, taken out again.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) step: Step,
    pub(crate) words: Vec<u32>,
    pub(crate) print: Fingerprint,
    pub(crate) flaw: Option<FlawCode>,
}

impl Successors {
    pub(crate) fn new(width: usize, shards: usize) -> Self {
        let buckets = (0..shards).map(|_| Bucket::default()).collect();
        Self { width, parent: 0, generated: 0, flawed: None, buckets }
    }

    pub(crate) fn of_parent(&mut self, parent: u32) {
        self.parent = parent;
    }

    /// Puts in a state that `step` leads to, and what is wrong with that step.
    #[inline]
    pub fn push(&mut self, step: Step, words: &[u32], print: Fingerprint, flaw: Option<FlawCode>) {
        debug_assert_eq!(words.len(), self.width, "all states are equally wide");
        let shards = self.buckets.len();
        let bucket = &mut self.buckets[print.shard(shards)];
        let head = Head { print, parent: self.parent, step, flaw };
        if flaw.is_some() && self.flawed.is_none() {
            self.flawed = Some(head);
        }
        bucket.heads.push(head);
        bucket.words.extend_from_slice(words);
        self.generated += 1;
    }

    /// Takes out all that were put in.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Taken> {
        let width = self.width;
        let buckets: Vec<Bucket> = self.buckets.iter_mut().map(core::mem::take).collect();
        buckets.into_iter().flat_map(move |Bucket { heads, words }| {
            let words: Vec<Vec<u32>> = words.chunks_exact(width).map(<[u32]>::to_vec).collect();
            heads.into_iter().zip(words).map(|(head, words)| {
                let Head { print, step, flaw, .. } = head;
                Taken { step, words, print, flaw }
            })
        })
    }

    /// Counts a state that is not looked at, because it lies beyond what is searched.
    #[inline]
    pub fn pass_over(&mut self) {
        self.generated += 1;
    }
}
