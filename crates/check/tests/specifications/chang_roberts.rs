//! The election of Chang and Roberts on a ring, as `ChangRoberts.tla` of the TLA+ examples
//! specifies it, with the ids of its `MCChangRoberts`: along the ring they are 1 to N. Everyone
//! may start it or not, so there are 2^N states to begin with. The smallest id wins.

use conclave_check::{Fingerprint, FlawCode, Look, Model, Step, Successors, Worker};

/// Somebody has won, and not all others have lost, or it is not the smallest that started.
pub const CORRECTNESS: FlawCode = 0;
/// A value is none that its variable may have.
pub const TYPE_OK: FlawCode = 1;

/// A ring of so many nodes.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    pub nodes: usize,
    pub rules: Rules,
}

/// Whose rules nodes keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rules {
    Published,
    /// A candidate passes on a smaller id and stays a candidate.
    NobodyGivesUp,
    /// A candidate passes on larger ids, too.
    LargerIdsPass,
}

// A node is a word: the ids that wait for it (one bit each), whether it has begun, whether it
// starts an election, and what it knows of the outcome.
const BEGUN: u32 = 1 << 16;
const INITIATOR: u32 = 1 << 17;
const OUTCOME: u32 = 3 << 18;
const CANDIDATE: u32 = 0 << 18;
const LOST: u32 = 1 << 18;
const WON: u32 = 2 << 18;

/// What can happen to a node: it begins, or receives an id.
const KINDS: usize = 17;

impl Ring {
    /// The steps that a node can take, by what it receives; it begins with none.
    fn enabled(self, state: &[u32], mut each: impl FnMut(usize, Option<usize>)) {
        for (node, &word) in state.iter().enumerate() {
            if word & BEGUN == 0 {
                each(node, None);
                continue;
            }
            (0..self.nodes).filter(|id| word >> id & 1 == 1).for_each(|id| each(node, Some(id)));
        }
    }

    /// Does a step. The id of a node is its place.
    fn apply(self, state: &mut [u32], node: usize, received: Option<usize>) {
        let successor = (node + 1) % self.nodes;
        let Some(id) = received else {
            state[node] |= BEGUN;
            if state[node] & INITIATOR != 0 {
                state[successor] |= 1 << node;
            }
            return;
        };
        state[node] &= !(1 << id);
        let is_lost = state[node] & OUTCOME == LOST;
        if is_lost || id < node {
            if !is_lost && self.rules != Rules::NobodyGivesUp {
                state[node] = state[node] & !OUTCOME | LOST;
            }
            state[successor] |= 1 << id;
        } else if id == node {
            state[node] = state[node] & !OUTCOME | WON;
        } else if self.rules == Rules::LargerIdsPass {
            state[successor] |= 1 << id;
        }
    }

    fn flaw(self, state: &[u32]) -> Option<FlawCode> {
        let known = ((1 << self.nodes) - 1) | BEGUN | INITIATOR | OUTCOME;
        if state.iter().any(|&word| word & !known != 0 || word & OUTCOME == OUTCOME) {
            return Some(TYPE_OK);
        }
        let is_initiator = |word: u32| word & INITIATOR != 0;
        let is_correct = |(node, &word): (usize, &u32)| {
            let others = || state.iter().enumerate().filter(move |&(other, _)| other != node);
            word & OUTCOME != WON
                || is_initiator(word)
                    && others().all(|(_, &other)| other & OUTCOME == LOST)
                    && others().all(|(id, &other)| !is_initiator(other) || id > node)
        };
        (!state.iter().enumerate().all(is_correct)).then_some(CORRECTNESS)
    }
}

/// Somebody who works out steps, and a state to do it in.
pub struct Walker {
    ring: Ring,
    next: Vec<u32>,
}

impl Model for Ring {
    fn width(&self) -> usize {
        self.nodes
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(Walker { ring: *self, next: Vec::new() })
    }
}

impl Worker for Walker {
    fn begin(&mut self, out: &mut Successors) {
        for initiators in 0..1 << self.ring.nodes {
            let node = |node| match initiators >> node & 1 {
                0 => LOST,
                _ => INITIATOR | CANDIDATE,
            };
            let words: Vec<u32> = (0..self.ring.nodes).map(node).collect();
            out.push(Step(initiators), &words, Fingerprint::of_words(&words), None);
        }
    }

    fn expand(&mut self, state: &[u32], _: Fingerprint, out: &mut Successors) -> Look {
        let Self { ring, next } = self;
        ring.enabled(state, |node, received| {
            next.clear();
            next.extend_from_slice(state);
            ring.apply(next, node, received);
            let number = node * KINDS + received.map_or(0, |id| id + 1);
            let step = Step(u32::try_from(number).expect("rings are small"));
            out.push(step, next, Fingerprint::of_words(next), None);
        });
        Look { pending: 0, flaw: ring.flaw(state) }
    }
}
