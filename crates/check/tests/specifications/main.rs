//! Public specifications as oracles: their authors say how many states they have, and a search of
//! the same, written down anew as rows of words, must find exactly as many.

mod chang_roberts;
mod lamport;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use conclave_check::{
    Budget, Explored, Fingerprint, FlawCode, Keep, Look, Model, Search, SearchEnd, Step,
    Successors, Worker,
};

const FINGERPRINTS: Keep = Keep { states: false, steps: false };
const STATES: Keep = Keep { states: true, steps: false };

fn search<M: Model>(model: &M, threads: usize, keep: Keep) -> Explored {
    let budget = Budget { states: 10_000_000, bytes: 1 << 32 };
    Search { threads, keep, budget }.run(model, &mut |_| ControlFlow::Continue(()))
}

/// Different states, those that were worked out, levels.
fn counts(explored: &Explored) -> [u64; 3] {
    let progress = explored.progress;
    [progress.distinct, progress.generated, progress.depth]
}

/// The same counts on any number of threads, and exactly those.
fn assert_counts<M: Model>(model: &M, published: [u64; 3]) {
    for (threads, keep) in [(1, FINGERPRINTS), (2, FINGERPRINTS), (1, STATES), (2, STATES)] {
        let explored = search(model, threads, keep);
        assert_eq!(explored.outcome, SearchEnd::Complete, "{threads} threads, {keep:?}");
        assert_eq!(counts(&explored), published, "{threads} threads, {keep:?}");
        assert_eq!(explored.collisions, 0, "{threads} threads, {keep:?}");
    }
}

/// The flaw of a mutant, and the way there: the same on any number of threads.
fn flaw_of<M: Model>(model: &M) -> (FlawCode, Vec<Step>) {
    let found = [1, 2, 3].map(|threads| match search(model, threads, STATES).outcome {
        SearchEnd::Flawed { flaw, path, cut: None } => (flaw, path),
        other => panic!("{threads} threads: {other:?}"),
    });
    assert_eq!(found[0], found[1], "one thread and two");
    assert_eq!(found[0], found[2], "one thread and three");
    let [first, ..] = found;
    first
}

#[test]
fn lamport_has_the_published_number_of_states() {
    assert_counts(&lamport::Rules::Published, lamport::PUBLISHED);
}

/// Plays a way from the first state, and says what is wrong with each state on it.
fn flaws_along(rules: lamport::Rules, path: &[Step]) -> Vec<Option<FlawCode>> {
    let mut state = lamport::State::FIRST;
    let mut flaws = vec![state.flaw()];
    for &step in path {
        let mut taken = None;
        rules.enabled(&state, |event| taken = taken.or((event.step() == step).then_some(event)));
        state = rules.after(&state, taken.expect("a step on the way can be taken"));
        flaws.push(state.flaw());
    }
    flaws
}

/// How many steps away the nearest flawed state is: by plain sets, level by level.
fn distance_of_flaw(rules: lamport::Rules) -> usize {
    let mut seen = BTreeSet::from([lamport::State::FIRST]);
    let mut level = vec![lamport::State::FIRST];
    for distance in 0.. {
        if level.iter().any(|state| state.flaw().is_some()) {
            return distance;
        }
        assert!(!level.is_empty(), "{rules:?} has no flaw");
        let mut next = Vec::new();
        for state in &level {
            rules.enabled(state, |event| {
                let after = rules.after(state, event);
                if after.is_within_bounds() && seen.insert(after) {
                    next.push(after);
                }
            });
        }
        level = next;
    }
    unreachable!("the states are finite");
}

/// A shortest way has so many steps, and ends at its only flawed state.
fn assert_two_enter(rules: lamport::Rules, steps: usize) {
    let (flaw, path) = flaw_of(&rules);
    assert_eq!((flaw, path.len()), (lamport::MUTEX, steps), "{rules:?}: {path:?}");
    assert_eq!(distance_of_flaw(rules), steps, "{rules:?}");
    let flaws = flaws_along(rules, &path);
    let (last, before) = flaws.split_last().expect("there is a first state");
    assert_eq!(*last, Some(lamport::MUTEX));
    assert!(before.iter().all(Option::is_none), "{flaws:?}");
}

#[test]
fn lamport_needs_the_order_of_ids_where_times_are_equal() {
    // Two requests, each received by two and acknowledged by both, and two entries.
    assert_two_enter(lamport::Rules::BothWinTies, 12);
}

#[test]
fn lamport_needs_the_acknowledgements() {
    // Two requests, and two entries of who has heard of nobody else.
    assert_two_enter(lamport::Rules::WithoutAcknowledgements, 4);
}

/// The original, and what is taken for a flaw lies deep: all clocks are at their end, and nothing
/// is under way.
struct AllClocksAtTheirEnd;

const AT_THEIR_END: FlawCode = 100;

impl Model for AllClocksAtTheirEnd {
    fn width(&self) -> usize {
        lamport::WIDTH
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(Self)
    }
}

impl Worker for AllClocksAtTheirEnd {
    fn begin(&mut self, out: &mut Successors) {
        lamport::Rules::Published.begin(out);
    }

    fn expand(&mut self, words: &[u32], print: Fingerprint, out: &mut Successors) -> Look {
        let look = lamport::Rules::Published.expand(words, print, out);
        let state = lamport::State(words.try_into().expect("all states are equally wide"));
        let is_at_end = state.clocks() == [lamport::MOST; 3] && state.is_quiet();
        Look { flaw: look.flaw.or(is_at_end.then_some(AT_THEIR_END)), ..look }
    }
}

#[test]
fn a_deep_flaw_is_found_by_the_same_way_on_any_number_of_threads() {
    let (flaw, path) = flaw_of(&AllClocksAtTheirEnd);
    assert_eq!(flaw, AT_THEIR_END);
    assert_eq!(flaws_along(lamport::Rules::Published, &path), vec![None; path.len() + 1]);
    let widest = widest_level(&AllClocksAtTheirEnd);
    assert!(widest > 20_000, "several threads share each of several batches: {widest}");
}

/// How many states waited at most.
fn widest_level<M: Model>(model: &M) -> u64 {
    let mut widest = 0;
    let budget = Budget { states: 10_000_000, bytes: 1 << 32 };
    Search { threads: 1, keep: FINGERPRINTS, budget }.run(model, &mut |progress| {
        widest = widest.max(progress.frontier);
        ControlFlow::Continue(())
    });
    widest
}

#[test]
fn three_in_a_ring_have_the_published_number_of_states() {
    let ring = chang_roberts::Ring { nodes: 3, rules: chang_roberts::Rules::Published };
    assert_counts(&ring, [137, 227, 10]);
}

#[test]
fn five_in_a_ring_have_as_many_states_as_the_specification_with_five() {
    let ring = chang_roberts::Ring { nodes: 5, rules: chang_roberts::Rules::Published };
    let explored = search(&ring, 1, STATES);
    assert_eq!(explored.progress.distinct, 5_455);
    assert_counts(&ring, counts(&explored));
}

#[test]
fn a_winner_needs_that_others_give_up() {
    let ring = chang_roberts::Ring { nodes: 3, rules: chang_roberts::Rules::NobodyGivesUp };
    assert_eq!(flaw_of(&ring).0, chang_roberts::CORRECTNESS);
}

#[test]
fn a_winner_needs_that_larger_ids_are_held_back() {
    let ring = chang_roberts::Ring { nodes: 3, rules: chang_roberts::Rules::LargerIdsPass };
    assert_eq!(flaw_of(&ring).0, chang_roberts::CORRECTNESS);
}
