//! Breadth first, level by level: so the first flaw that is found is one of the nearest.
//!
//! A level is worked off in batches. In each, every thread first works out the successors of its
//! share of the states, and then every thread looks up those that belong to its shards of the
//! table. What a shard takes in, it takes in in the order of the states they came from: so numbers,
//! counts and counterexamples are the same for any number of threads.
//!
//! For that the level in which a flaw is found is worked off to its end: how much of it a batch
//! holds depends on the threads, and what is wrong with a state is a step nearer than what is wrong
//! with a step from another one of its level, even if it is found later. If a budget or a watcher
//! ends the search before, the flaw that was found is told nevertheless; but then counts depend on
//! where that was, and so does which flaw it is, unless it is one of a state.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::model::{Bucket, Look};
use crate::store::{Fresh, Keep, NOWHERE, SHARDS, STATES_MAX, Shard, StateId, id_of, place_of};
use crate::sync::{Crew, Mutex, RwLock, THREADS_MAX};
use crate::{BoxedWorker, FlawCode, Model, Step, Successors};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// On how many threads; without the feature `threads` there is one.
    pub threads: usize,
    /// What to keep of each state.
    pub keep: Keep,
    /// How many states and how much memory it may take.
    pub budget: Budget,
}

/// How far to search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// This many states, and those that the last batch adds; at most [`STATES_MAX`].
    pub states: u64,
    /// This much memory, as far as it is counted.
    pub bytes: u64,
}

/// What a search found.
pub struct Explored {
    /// How the search ended.
    pub outcome: SearchEnd,
    /// How many states there were, and what they took.
    pub progress: SearchProgress,
    /// How often what a proof rests on was seen, by the model's own numbers.
    pub premises: Vec<u64>,
    /// How many states were told apart by more than their fingerprints, where states are kept.
    pub collisions: u64,
    pub(crate) shards: Vec<Shard>,
}

/// How a search ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SearchEnd {
    /// Every state was looked at, and nothing is wrong.
    Complete,
    /// Something is wrong.
    Flawed {
        /// What is wrong, by the model's own number.
        flaw: FlawCode,
        /// A way there: a shortest one, unless the search was cut short.
        path: Vec<Step>,
        /// What ended the search while a nearer flaw could still have been found.
        cut: Option<Limit>,
    },
    /// It was cut short, and says nothing about what it has not seen.
    CutShort(Limit),
}

/// What cut a search short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// It would have had more than [`Budget::states`].
    States,
    /// It would have taken more than [`Budget::bytes`].
    Memory,
    /// Whoever watches its progress told it to stop.
    Stopped,
}

/// How far a search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SearchProgress {
    /// How many different states were found.
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

/// What a thread works with while states are worked out.
struct Share<'m> {
    worker: BoxedWorker<'m>,
    out: Successors,
    looks: Vec<Look>,
    /// Whose turn it is to be expanded by this thread.
    slices: Vec<Slice>,
}

impl Search {
    /// Searches all of it, or as far as it goes. `watch` is told how far it is, now and then, and
    /// may end it.
    pub fn run(
        &self,
        model: &dyn Model,
        watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
    ) -> Explored {
        let threads = self.threads.clamp(1, THREADS_MAX);
        let share = || Share {
            worker: model.worker(),
            out: Successors::new(model.width(), SHARDS),
            looks: Vec::new(),
            slices: Vec::new(),
        };
        let bench = Bench {
            width: model.width(),
            shares: (0..threads).map(|_| Mutex::new(share())).collect(),
            shards: (0..SHARDS).map(|it| Mutex::new(Shard::new(it, self.keep))).collect(),
            level: (0..SHARDS).map(|_| RwLock::new(Fresh::default())).collect(),
            found: (0..SHARDS).map(|_| (0..threads).map(|_| Mutex::default()).collect()).collect(),
        };
        let (mut progress, mut nearest) = (SearchProgress::default(), None);
        let expand = |thread| bench.expand(thread);
        let look_up = |thread| bench.look_up_own(thread);
        let cut = Crew::led_by(threads, &[&expand, &look_up], |crew| {
            let mut run = Run { bench: &bench, crew, keep: self.keep, progress, nearest };
            let states = self.budget.states.min(STATES_MAX);
            let cut = run.search(Budget { states, ..self.budget }, || model.bytes(), watch);
            (progress, nearest) = (run.progress, run.nearest);
            cut
        });
        let mut premises: Vec<u64> = Vec::new();
        for share in &bench.shares {
            let more = share.lock().worker.premises();
            premises.resize(premises.len().max(more.len()), 0);
            premises.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let shards: Vec<Shard> = bench.shards.into_iter().map(Mutex::into_inner).collect();
        let outcome = match (nearest, cut) {
            (Some((flaw, state, step)), cut) => {
                let mut path = path_to(&shards, state);
                path.extend(step);
                // Nothing in its level is nearer than what is wrong with a state of it.
                SearchEnd::Flawed { flaw, path, cut: cut.filter(|_| step.is_some()) }
            }
            (None, Some(limit)) => SearchEnd::CutShort(limit),
            (None, None) => SearchEnd::Complete,
        };
        let collisions = shards.iter().map(|shard| shard.collisions).sum();
        Explored { outcome, progress, premises, collisions, shards }
    }
}

/// What all threads work at. Each lock is for whoever's turn it is, and nobody ever waits for one:
/// all expand first, and then all look up.
struct Bench<'m> {
    width: usize,
    /// What each thread works with, by thread.
    shares: Vec<Mutex<Share<'m>>>,
    shards: Vec<Mutex<Shard>>,
    /// By shard: the states that are being expanded.
    level: Vec<RwLock<Fresh>>,
    /// By shard, and by the thread that worked them out: states to be looked up.
    found: Vec<Vec<Mutex<Bucket>>>,
}

impl Bench<'_> {
    /// Works out what follows from the states of a share, and puts it where it is looked up.
    fn expand(&self, thread: usize) {
        let Share { worker, out, looks, slices } = &mut *self.shares[thread].lock();
        looks.clear();
        for &Slice { shard, from, to } in slices.iter() {
            let fresh = self.level[shard].read();
            for place in from..to {
                let words = &fresh.words[place * self.width..(place + 1) * self.width];
                out.of_parent(id_of(shard, fresh.first + place));
                looks.push(worker.expand(words, fresh.prints[place], out));
            }
        }
        self.hand_over(thread, out);
    }

    fn hand_over(&self, thread: usize, out: &mut Successors) {
        for (shard, bucket) in self.found.iter().zip(&mut out.buckets) {
            core::mem::swap(&mut *shard[thread].lock(), bucket);
        }
    }

    /// Looks up what belongs to the shards of a thread.
    fn look_up_own(&self, thread: usize) {
        (thread..SHARDS).step_by(self.shares.len()).for_each(|shard| self.look_up(shard));
    }

    /// Takes in what belongs to a shard, in the order of those who worked it out.
    fn look_up(&self, shard: usize) {
        let mut table = self.shards[shard].lock();
        for bucket in &self.found[shard] {
            table.take_in(&mut bucket.lock(), self.width);
        }
    }
}

/// Who leads the others through a search.
struct Run<'b, 'm> {
    bench: &'b Bench<'m>,
    crew: &'b Crew<'b>,
    keep: Keep,
    progress: SearchProgress,
    /// The first flaw of this level: that of a state is nearer than that of a step from it.
    nearest: Option<(FlawCode, StateId, Option<Step>)>,
}

impl Run<'_, '_> {
    /// Searches to the end, or to that of the level in which a flaw is found; or says what ended it
    /// before.
    fn search(
        &mut self,
        budget: Budget,
        model_bytes: impl Fn() -> usize,
        watch: &mut dyn FnMut(&SearchProgress) -> ControlFlow<()>,
    ) -> Option<Limit> {
        let bench = self.bench;
        {
            let Share { worker, out, .. } = &mut *bench.shares[0].lock();
            out.of_parent(NOWHERE);
            worker.begin(out);
            bench.hand_over(0, out);
        }
        (0..SHARDS).for_each(|shard| bench.look_up(shard));
        self.tally();
        while self.nearest.is_none() {
            let mut sizes = Vec::new();
            for (shard, level) in bench.shards.iter().zip(&bench.level) {
                let mut level = level.write();
                shard.lock().next_level(&mut level);
                sizes.push(level.len());
            }
            let mut left = sizes.iter().sum::<usize>() as u64;
            if left == 0 {
                return None;
            }
            self.progress.depth += 1;
            for batch in batches(&sizes, BATCH * bench.shares.len()) {
                let states: usize = batch.iter().map(|slice| slice.to - slice.from).sum();
                self.work_off(&batch, states);
                left -= states as u64;
                self.progress.frontier = left + self.sum(|shard| shard.fresh.len());
                let read = |it: &RwLock<Fresh>| it.read().bytes();
                let waiting: usize = bench.level.iter().map(read).sum();
                let taken = self.sum(Shard::bytes);
                self.progress.bytes = taken + (waiting + model_bytes()) as u64;
                let is_over = |limit, is_over: bool| is_over.then_some(limit);
                let cut = is_over(Limit::States, self.progress.distinct > budget.states)
                    .or(is_over(Limit::Memory, self.progress.bytes > budget.bytes))
                    .or(is_over(Limit::Stopped, watch(&self.progress).is_break()));
                // At the end of a level with a flaw, or of all of them, nothing is left to be cut.
                let is_done = self.progress.frontier == 0 || left == 0 && self.nearest.is_some();
                if cut.is_some() && !is_done {
                    return cut;
                }
            }
        }
        None
    }

    /// Has the states of a batch expanded, and what follows from them looked up.
    fn work_off(&mut self, batch: &[Slice], states: usize) {
        let bench = self.bench;
        let is_alone = states < ALONE;
        let threads = if is_alone { 1 } else { bench.shares.len() };
        let mut parts = divide(batch, states.div_ceil(threads)).into_iter();
        for share in &bench.shares {
            let mut share = share.lock();
            share.slices = parts.next().unwrap_or_default();
            share.looks.clear();
        }
        if is_alone {
            bench.expand(0);
            (0..SHARDS).for_each(|shard| bench.look_up(shard));
        } else {
            self.crew.work();
        }
        for share in &bench.shares {
            self.note_looks(&share.lock());
        }
        self.tally();
    }

    /// Notes what was said of the states themselves, in their order.
    fn note_looks(&mut self, share: &Share<'_>) {
        let mut looks = share.looks.iter();
        for slice in &share.slices {
            let mut shard = self.bench.shards[slice.shard].lock();
            let level = &self.bench.level[slice.shard];
            let first = level.read().first;
            for (place, look) in (slice.from..slice.to).zip(&mut looks) {
                if self.keep.steps {
                    shard.pending.push(look.pending);
                }
                let is_nearer = !matches!(self.nearest, Some((_, _, None)));
                if let (Some(flaw), true) = (look.flaw, is_nearer) {
                    self.nearest = Some((flaw, shard.id(first + place), None));
                }
            }
        }
    }

    /// Counts what was worked out and found, and looks for what is wrong with it.
    fn tally(&mut self) {
        for share in &self.bench.shares {
            let out = &mut share.lock().out;
            self.progress.generated += core::mem::take(&mut out.generated);
            if let (Some(head), None) = (out.flawed.take(), self.nearest) {
                self.nearest = head.flaw.map(|flaw| (flaw, head.parent, Some(head.step)));
            }
        }
        self.progress.distinct = self.sum(Shard::len);
    }

    fn sum(&self, of: impl Fn(&Shard) -> usize) -> u64 {
        self.bench.shards.iter().map(|shard| of(&shard.lock()) as u64).sum()
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

/// Cuts a level, of which the sizes are known by shard, into runs of at most so many states.
fn batches(level: &[usize], size: usize) -> Vec<Vec<Slice>> {
    let whole = level.iter().enumerate().map(|(shard, &to)| Slice { shard, from: 0, to });
    divide(&whole.collect::<Vec<_>>(), size)
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
