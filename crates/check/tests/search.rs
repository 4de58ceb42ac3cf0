//! What a search says when it is ended, on a model of three levels.

use std::ops::ControlFlow;

use conclave_check::{
    Budget, Explored, Fingerprint, FlawCode, Keep, Limit, Look, Model, Search, SearchEnd, Step,
    Successors, Worker,
};

/// How many states the second level has: more than a batch.
const WIDE: u32 = 20_000;

/// A first state, from which each of [`WIDE`] is a step away, from each of which one more is.
struct Fan {
    /// Whether every step from the second level is wrong.
    steps: bool,
    /// What is wrong with states, by state.
    state: fn(u32) -> Option<FlawCode>,
}

impl Model for Fan {
    fn width(&self) -> usize {
        1
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(self)
    }
}

impl Worker for &Fan {
    fn begin(&mut self, out: &mut Successors) {
        out.push(Step(0), &[0], Fingerprint::of_words(&[0]), None);
    }

    fn expand(&mut self, state: &[u32], _: Fingerprint, out: &mut Successors) -> Look {
        let mut push =
            |to: u32, flaw| out.push(Step(to), &[to], Fingerprint::of_words(&[to]), flaw);
        match state[0] {
            0 => (1..=WIDE).for_each(|to| push(to, None)),
            from if from <= WIDE => push(from + WIDE, self.steps.then_some(1)),
            _ => {}
        }
        Look { pending: 0, flaw: (self.state)(state[0]) }
    }
}

const ENOUGH: Budget = Budget { states: 1_000_000, bytes: 1 << 30 };

/// Searches, and is stopped as soon as it is at that depth.
fn search(model: &Fan, threads: usize, budget: Budget, depth: u64) -> Explored {
    let search = Search { threads, keep: Keep::default(), budget };
    search.run(model, &mut |far| match far.depth >= depth {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })
}

#[test]
fn a_flaw_ends_its_level_and_one_of_a_state_is_nearer_than_one_of_a_step() {
    let model = Fan { steps: true, state: |it| (it == WIDE).then_some(2) };
    for threads in [1, 2, 3] {
        let found = search(&model, threads, ENOUGH, u64::MAX);
        let path = vec![Step(WIDE)];
        assert_eq!(found.outcome, SearchEnd::Flawed { flaw: 2, path, cut: None }, "{threads}");
        assert_eq!(found.progress.generated, u64::from(2 * WIDE + 1), "{threads}");
    }
}

#[test]
fn a_search_that_is_ended_in_a_level_with_a_flaw_tells_it_and_that_it_was() {
    // Which states a part of a level has depends on fingerprints, so all steps are wrong.
    let model = Fan { steps: true, state: |_| None };
    let memory = Budget { bytes: 1, ..ENOUGH };
    let stopped = search(&model, 1, ENOUGH, 2);
    assert!(stopped.progress.generated < u64::from(2 * WIDE), "{:?}", stopped.progress);
    let SearchEnd::Flawed { flaw: 1, path, cut: Some(Limit::Stopped) } = stopped.outcome else {
        panic!("{:?}", stopped.outcome);
    };
    assert_eq!(path.len(), 2);
    // Before there is a flaw, what ends it is all there is to say.
    assert_eq!(search(&model, 1, memory, 9).outcome, SearchEnd::CutShort(Limit::Memory));
}

#[test]
fn what_is_wrong_with_a_state_is_as_near_as_can_be_even_if_the_search_is_ended() {
    let model = Fan { steps: false, state: |it| (it > 0).then_some(2) };
    let ended = search(&model, 1, ENOUGH, 2);
    assert!(ended.progress.generated < u64::from(2 * WIDE), "{:?}", ended.progress);
    let SearchEnd::Flawed { flaw: 2, path, cut: None } = ended.outcome else {
        panic!("{:?}", ended.outcome);
    };
    assert_eq!(path.len(), 1);
    let whole = search(&model, 2, ENOUGH, u64::MAX);
    assert_eq!(whole.outcome, SearchEnd::Flawed { flaw: 2, path, cut: None });
}

#[test]
fn a_search_that_has_seen_all_states_is_complete_whatever_the_last_of_them_took() {
    let model = Fan { steps: false, state: |_| None };
    let states = Budget { states: 10, ..ENOUGH };
    assert_eq!(search(&model, 1, states, 9).outcome, SearchEnd::CutShort(Limit::States));
    assert_eq!(search(&model, 1, ENOUGH, 2).outcome, SearchEnd::CutShort(Limit::Stopped));
    // The third level is looked at in several batches; the end of the last is the end of all.
    let search = Search { threads: 1, keep: Keep::default(), budget: ENOUGH };
    let found = search.run(&model, &mut |far| match far.frontier {
        0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert_eq!(found.outcome, SearchEnd::Complete);
}
