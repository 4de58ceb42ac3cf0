//! The states that were found: which there are, how each was reached first, where steps lead.
//!
//! The table is cut into shards by fingerprint, and each shard belongs to one thread while states
//! are looked up. So no thread waits for another, and what is found does not depend on how many
//! there are.

use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hash, Hasher};

use hashbrown::hash_map::Entry;

use crate::model::Bucket;
use crate::{Fingerprint, Step};

/// How many parts the table has: as many threads can work on it.
pub(crate) const SHARDS: usize = 16;

/// The number of a state; those of one shard are `SHARDS` apart.
pub(crate) type StateId = u32;

/// How many states can be told apart at most. There are a few more numbers than that: the last
/// batch of a search adds some, and shards are not equally full.
pub const STATES_MAX: u64 = 4_000_000_000;

/// The state before the first.
pub(crate) const NOWHERE: StateId = u32::MAX;

/// A fingerprint without the padding that a 128-bit number needs.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key([u32; 4]);

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) << 32 | u64::from(self.0[1]));
    }
}

impl From<Fingerprint> for Key {
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "part by part")]
    fn from(print: Fingerprint) -> Self {
        let part = |shift: u32| (print.0 >> shift) as u32;
        Self([part(0), part(32), part(64), part(96)])
    }
}

/// Takes a part of a fingerprint for its hash: it is as good as any.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("a key hashes one number");
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[expect(clippy::disallowed_types, reason = "asked whether it holds a state, never iterated")]
type Visited = hashbrown::HashMap<Key, u32, BuildHasherDefault<AsItIs>>;

/// What to keep beside the fingerprints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Keep {
    /// The states themselves, so that two with the same fingerprint are told apart.
    pub states: bool,
    /// Every step, and who waits in every state: what liveness is judged by.
    pub steps: bool,
}

/// A step between two states that were found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: StateId,
    pub(crate) step: Step,
    pub(crate) to: StateId,
}

/// A part of the table.
pub(crate) struct Shard {
    index: usize,
    keep: Keep,
    visited: Visited,
    /// By which step, from which state, a state was reached first.
    reached: Vec<(StateId, Step)>,
    /// All states, if they are kept.
    words: Vec<u32>,
    /// Who waits, by state, as far as states were expanded.
    pub(crate) pending: Vec<u32>,
    pub(crate) edges: Vec<Edge>,
    /// States that were found since the level began.
    pub(crate) fresh: Fresh,
    /// How many states were told apart by more than their fingerprints.
    pub(crate) collisions: u64,
}

/// States that wait to be expanded; their numbers follow each other.
#[derive(Default)]
pub(crate) struct Fresh {
    pub(crate) first: usize,
    pub(crate) prints: Vec<Fingerprint>,
    pub(crate) words: Vec<u32>,
}

impl Shard {
    pub(crate) fn new(index: usize, keep: Keep) -> Self {
        Self {
            index,
            keep,
            visited: Visited::default(),
            reached: Vec::new(),
            words: Vec::new(),
            pending: Vec::new(),
            edges: Vec::new(),
            fresh: Fresh::default(),
            collisions: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.reached.len()
    }

    pub(crate) fn id(&self, ordinal: usize) -> StateId {
        id_of(self.index, ordinal)
    }

    /// How this state was reached first.
    pub(crate) fn reached(&self, ordinal: usize) -> (StateId, Step) {
        self.reached[ordinal]
    }

    /// Looks up all states of a bucket, and takes in those that are new.
    pub(crate) fn take_in(&mut self, bucket: &mut Bucket, width: usize) {
        let states = bucket.words.chunks_exact(width);
        for (head, words) in bucket.heads.iter().zip(states) {
            let ordinal = self.find_or_insert(head.print, words, (head.parent, head.step));
            if self.keep.steps && head.parent != NOWHERE {
                let to = self.id(ordinal);
                self.edges.push(Edge { from: head.parent, step: head.step, to });
            }
        }
        bucket.heads.clear();
        bucket.words.clear();
    }

    #[inline]
    fn find_or_insert(
        &mut self,
        print: Fingerprint,
        words: &[u32],
        reached: (StateId, Step),
    ) -> usize {
        let mut key = print;
        loop {
            match self.visited.entry(key.into()) {
                Entry::Occupied(known) => {
                    let ordinal = *known.get() as usize;
                    let place = ordinal * words.len();
                    if !self.keep.states || self.words[place..place + words.len()] == *words {
                        return ordinal;
                    }
                    // Another state has this fingerprint: the next one is free, or its own.
                    self.collisions += 1;
                    key = Fingerprint(key.0.wrapping_add(1));
                }
                Entry::Vacant(place) => {
                    let ordinal = self.reached.len();
                    place.insert(u32::try_from(ordinal).expect("the budget of states is smaller"));
                    self.reached.push(reached);
                    if self.keep.states {
                        self.words.extend_from_slice(words);
                    }
                    self.fresh.prints.push(print);
                    self.fresh.words.extend_from_slice(words);
                    return ordinal;
                }
            }
        }
    }

    /// Hands over what is to be expanded next, for what was: its memory is used again.
    pub(crate) fn next_level(&mut self, level: &mut Fresh) {
        core::mem::swap(&mut self.fresh, level);
        self.fresh.first = self.len();
        self.fresh.prints.clear();
        self.fresh.words.clear();
    }

    /// Lets go of what takes to find states: all are found.
    pub(crate) fn close(&mut self) {
        self.visited = Visited::default();
        self.words = Vec::new();
        self.fresh = Fresh::default();
    }

    /// How much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        // A bucket and its control byte; a table is never more than seven eighths full.
        let buckets = (self.visited.capacity() * 8 / 7).next_power_of_two();
        buckets * (size_of::<(Key, u32)>() + 1)
            + self.words.capacity() * size_of::<u32>()
            + self.fresh.bytes()
            + self.bytes_of_edges()
            + self.closed_bytes()
    }

    pub(crate) fn bytes_of_edges(&self) -> usize {
        self.edges.capacity() * size_of::<Edge>()
    }

    /// How much memory it takes, beside its steps, once it is closed.
    pub(crate) fn closed_bytes(&self) -> usize {
        self.reached.capacity() * size_of::<(StateId, Step)>()
            + self.pending.capacity() * size_of::<u32>()
    }
}

impl Fresh {
    pub(crate) fn len(&self) -> usize {
        self.prints.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.prints.capacity() * size_of::<Fingerprint>() + self.words.capacity() * size_of::<u32>()
    }
}

/// The number of a state, from where it is kept.
#[allow(clippy::cast_possible_truncation, reason = "the budget of states is smaller")]
pub(crate) fn id_of(shard: usize, ordinal: usize) -> StateId {
    (ordinal * SHARDS + shard) as StateId
}

/// Where a state is kept, from its number.
pub(crate) fn place_of(id: StateId) -> (usize, usize) {
    (id as usize % SHARDS, id as usize / SHARDS)
}
