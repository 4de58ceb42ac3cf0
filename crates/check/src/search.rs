//! Breadth first, level by level: so the first flaw that is found is one of the nearest.
//!
//! A level is worked off in batches. In each, every thread first works out the successors of its
//! share of the states, and then every thread looks up those that belong to its shards of the
//! table. What a shard takes in, it takes in in the order of the states they came from: so numbers,
//! counts and counterexamples are the same for any number of threads.

use std::ops::ControlFlow;

use crate::model::Look;
use crate::store::{Fresh, Keep, NOWHERE, SHARDS, Shard, StateId, place_of};
use crate::{FlawCode, Model, Step, Successors, Worker};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// On how many threads.
    pub threads: usize,
    /// What to keep.
    pub keep: Keep,
    /// How far.
    pub budget: Budget,
}

/// How far to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// This many states, and those that the last batch adds.
    pub states: u64,
    /// This much memory, as far as it is counted.
    pub bytes: u64,
}

/// What was found.
pub struct Explored {
    /// How it ended.
    pub outcome: Outcome,
    /// What it took.
    pub progress: Progress,
    /// How often what a proof rests on was seen, by the model's own numbers.
    pub premises: Vec<u64>,
    /// How many states were told apart by more than their fingerprints, where states are kept.
    pub collisions: u64,
    pub(crate) shards: Vec<Shard>,
}

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every state was looked at, and nothing is wrong.
    Complete,
    /// Something is wrong.
    Flawed {
        /// What.
        flaw: FlawCode,
        /// A shortest way there.
        path: Vec<Step>,
    },
    /// It was cut short, and says nothing about what it has not seen.
    CutShort(Limit),
}

/// What cut a search short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// [`Budget::states`].
    States,
    /// [`Budget::bytes`].
    Memory,
    /// Whoever watches its progress.
    Stopped,
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Different states.
    pub distinct: u64,
    /// States that were worked out, each as often as it was.
    pub generated: u64,
    /// How many states lie on the longest of all shortest ways, the first one included.
    pub depth: u64,
    /// States that are found and not expanded yet.
    pub frontier: u64,
    /// The memory that all this takes.
    pub bytes: u64,
}

/// How many states a thread expands between two look-ups.
const BATCH: usize = 1 << 13;
/// Below so many it is quicker to do it alone.
const ALONE: usize = 256;

/// A run of states of one shard.
#[derive(Clone, Copy)]
struct Slice {
    shard: usize,
    from: usize,
    to: usize,
}

/// What a thread found out.
struct Share<'m> {
    worker: Box<dyn Worker + Send + 'm>,
    out: Successors,
    looks: Vec<Look>,
}

impl Search {
    /// Searches all of it, or as far as it goes. `watch` is told how far it is, now and then, and
    /// may end it.
    pub fn run(
        &self,
        model: &dyn Model,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Explored {
        let mut run = Run {
            width: model.width(),
            keep: self.keep,
            shards: (0..SHARDS).map(|index| Shard::new(index, self.keep)).collect(),
            shares: (0..self.threads.clamp(1, SHARDS))
                .map(|_| Share {
                    worker: model.worker(),
                    out: Successors::new(model.width(), SHARDS),
                    looks: Vec::new(),
                })
                .collect(),
            progress: Progress::default(),
            nearest: None,
        };
        let outcome = run.search(self.budget, || model.bytes(), watch);
        let mut premises: Vec<u64> = Vec::new();
        for share in &run.shares {
            let more = share.worker.premises();
            premises.resize(premises.len().max(more.len()), 0);
            premises.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let collisions = run.shards.iter().map(|shard| shard.collisions).sum();
        Explored { outcome, progress: run.progress, premises, collisions, shards: run.shards }
    }
}

struct Run<'m> {
    width: usize,
    keep: Keep,
    shards: Vec<Shard>,
    shares: Vec<Share<'m>>,
    progress: Progress,
    /// The first flaw of this level: that of a state is nearer than that of a step from it.
    nearest: Option<(FlawCode, StateId, Option<Step>)>,
}

impl Run<'_> {
    fn search(
        &mut self,
        budget: Budget,
        model_bytes: impl Fn() -> usize,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Outcome {
        let first = &mut self.shares[0];
        first.out.of_parent(NOWHERE);
        first.worker.begin(&mut first.out);
        self.look_up(1);
        let mut level: Vec<Fresh> = self.shards.iter().map(|_| Fresh::default()).collect();
        while self.nearest.is_none() {
            for (shard, fresh) in self.shards.iter_mut().zip(&mut level) {
                shard.next_level(fresh);
            }
            let mut left: u64 = level.iter().map(|fresh| fresh.len() as u64).sum();
            if left == 0 {
                return Outcome::Complete;
            }
            self.progress.depth += 1;
            for batch in batches(&level, BATCH * self.shares.len()) {
                let states: usize = batch.iter().map(|slice| slice.to - slice.from).sum();
                let threads = if states < ALONE { 1 } else { self.shares.len() };
                self.expand(&level, &batch, states.div_ceil(threads));
                self.look_up(threads);
                left -= states as u64;
                self.progress.frontier = left + self.fresh();
                let waiting: usize = level.iter().map(Fresh::bytes).sum();
                let found: usize = self.shards.iter().map(Shard::bytes).sum();
                self.progress.bytes = (waiting + found + model_bytes()) as u64;
                let is_over = |limit, is_over: bool| is_over.then_some(Outcome::CutShort(limit));
                let cut = is_over(Limit::States, self.progress.distinct > budget.states)
                    .or(is_over(Limit::Memory, self.progress.bytes > budget.bytes))
                    .or(is_over(Limit::Stopped, watch(&self.progress).is_break()));
                if let (Some(cut), None) = (cut, self.nearest) {
                    return cut;
                }
            }
        }
        let (flaw, state, step) = self.nearest.expect("the loop ends with one");
        let mut path = path_to(&self.shards, state);
        path.extend(step);
        Outcome::Flawed { flaw, path }
    }

    /// Works out what follows from the states of a batch.
    fn expand(&mut self, level: &[Fresh], batch: &[Slice], share_of_each: usize) {
        let width = self.width;
        let work = |share: &mut Share<'_>, slices: Vec<Slice>| {
            share.looks.clear();
            for Slice { shard, from, to } in slices {
                let fresh = &level[shard];
                for place in from..to {
                    let words = &fresh.words[place * width..(place + 1) * width];
                    share.out.of_parent(crate::store::id_of(shard, fresh.first + place));
                    let look = share.worker.expand(words, fresh.prints[place], &mut share.out);
                    share.looks.push(look);
                }
            }
        };
        let parts = divide(batch, share_of_each);
        in_parallel(self.shares.iter_mut().zip(parts.iter().cloned()), |(share, slices)| {
            work(share, slices);
        });
        self.note_looks(level, &parts);
    }

    /// Notes what was said of the states themselves, in their order.
    fn note_looks(&mut self, level: &[Fresh], parts: &[Vec<Slice>]) {
        for (share, slices) in self.shares.iter().zip(parts) {
            let mut looks = share.looks.iter();
            for slice in slices {
                for (place, look) in (slice.from..slice.to).zip(&mut looks) {
                    if self.keep.steps {
                        self.shards[slice.shard].pending.push(look.pending);
                    }
                    let is_nearer = !matches!(self.nearest, Some((_, _, None)));
                    if let (Some(flaw), true) = (look.flaw, is_nearer) {
                        let ordinal = level[slice.shard].first + place;
                        self.nearest = Some((flaw, self.shards[slice.shard].id(ordinal), None));
                    }
                }
            }
        }
    }

    /// Looks up what was worked out, each shard on one thread.
    fn look_up(&mut self, threads: usize) {
        for share in &mut self.shares {
            self.progress.generated += std::mem::take(&mut share.out.generated);
            if let (Some(head), None) = (share.out.flawed.take(), self.nearest) {
                self.nearest = head.flaw.map(|flaw| (flaw, head.parent, Some(head.step)));
            }
        }
        let (width, shards) = (self.width, self.shards.len());
        // The buckets of one shard, of all threads in order.
        let mut buckets: Vec<Vec<_>> = (0..shards).map(|_| Vec::new()).collect();
        for share in &mut self.shares {
            for (of_shard, bucket) in buckets.iter_mut().zip(&mut share.out.buckets) {
                of_shard.push(bucket);
            }
        }
        let mut work: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for (index, pair) in self.shards.iter_mut().zip(buckets).enumerate() {
            work[index % threads].push(pair);
        }
        in_parallel(work.into_iter(), |pairs| {
            for (shard, buckets) in pairs {
                for bucket in buckets {
                    shard.take_in(bucket, width);
                }
            }
        });
        self.progress.distinct = self.shards.iter().map(|shard| shard.len() as u64).sum();
    }

    fn fresh(&self) -> u64 {
        self.shards.iter().map(|shard| shard.fresh.len() as u64).sum()
    }
}

impl Explored {
    /// A shortest way to a state.
    pub(crate) fn path_to(&self, state: StateId) -> Vec<Step> {
        path_to(&self.shards, state)
    }
}

fn path_to(shards: &[Shard], mut state: StateId) -> Vec<Step> {
    let mut path = Vec::new();
    while state != NOWHERE {
        let (shard, ordinal) = place_of(state);
        let (parent, step) = shards[shard].reached(ordinal);
        if parent != NOWHERE {
            path.push(step);
        }
        state = parent;
    }
    path.reverse();
    path
}

/// Cuts a level into runs of at most so many states.
fn batches(level: &[Fresh], size: usize) -> Vec<Vec<Slice>> {
    let whole = level
        .iter()
        .enumerate()
        .map(|(shard, fresh)| Slice { shard, from: 0, to: fresh.len() })
        .collect::<Vec<_>>();
    divide(&whole, size)
}

/// Cuts runs of states into parts of `size`, in order.
fn divide(slices: &[Slice], size: usize) -> Vec<Vec<Slice>> {
    let mut parts = vec![Vec::new()];
    let mut room = size;
    for &Slice { shard, mut from, to } in slices {
        while from < to {
            if room == 0 {
                parts.push(Vec::new());
                room = size;
            }
            let taken = room.min(to - from);
            if let Some(part) = parts.last_mut() {
                part.push(Slice { shard, from, to: from + taken });
            }
            (from, room) = (from + taken, room - taken);
        }
    }
    parts
}

/// Does the last piece of work on this thread, and each other on its own.
fn in_parallel<T: Send>(work: impl Iterator<Item = T>, each: impl Fn(T) + Sync) {
    let mut work: Vec<T> = work.collect();
    let Some(last) = work.pop() else { return };
    if work.is_empty() {
        return each(last);
    }
    std::thread::scope(|scope| {
        let each = &each;
        for piece in work {
            scope.spawn(move || each(piece));
        }
        each(last);
    });
}
