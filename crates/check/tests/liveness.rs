//! Liveness under weak fairness, on graphs that are drawn by hand or by chance.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use conclave_check::{
    Budget, Claim, Explored, Fingerprint, Graph, Keep, Lasso, Look, Model, Search, SearchEnd, Step,
    Successors, Worker,
};

/// States are numbers; the first is 0.
#[derive(Clone, Debug)]
struct Drawn {
    /// By state: what is marked there.
    marks: Vec<u32>,
    steps: Vec<(u32, Step, u32)>,
}

impl Model for Drawn {
    fn width(&self) -> usize {
        1
    }

    fn worker(&self) -> Box<dyn Worker + Send + '_> {
        Box::new(self)
    }
}

impl Worker for &Drawn {
    fn begin(&mut self, out: &mut Successors) {
        out.push(Step(0), &[0], Fingerprint::of_words(&[0]), None);
    }

    fn expand(&mut self, state: &[u32], _: Fingerprint, out: &mut Successors) -> Look {
        for &(_, step, to) in self.steps.iter().filter(|(from, ..)| *from == state[0]) {
            out.push(step, &[to], Fingerprint::of_words(&[to]), None);
        }
        Look { pending: self.marks[state[0] as usize], flaw: None }
    }
}

impl Drawn {
    fn graph(&self) -> Graph {
        self.explored().into_graph()
    }

    fn explored(&self) -> Explored {
        let keep = Keep { states: true, steps: true };
        let budget = Budget { states: 1_000_000, bytes: 1 << 30 };
        let search = Search { threads: 1, keep, budget };
        let explored = search.run(self, &mut |_| ControlFlow::Continue(()));
        assert_eq!(explored.outcome, SearchEnd::Complete);
        explored
    }

    fn refute(&self, claim: Claim) -> Option<Lasso> {
        let lasso = self.graph().refute(claim, is_fair, &mut || ControlFlow::Continue(()));
        let lasso = lasso.continue_value().unwrap()?;
        self.assert_real(&lasso, claim);
        Some(lasso)
    }

    /// Every arrow of a counterexample is a step, the loop closes, it is fair, and it refutes.
    fn assert_real(&self, lasso: &Lasso, claim: Claim) {
        let go = |from: u32, step: Step| {
            let all = self.steps.iter().filter(move |it| it.0 == from && it.1 == step);
            all.map(|it| it.2).collect::<BTreeSet<u32>>()
        };
        // Where labels repeat, a way is a set of states: it must be possible to close it.
        let walk = |from: &BTreeSet<u32>, steps: &[Step]| {
            steps.iter().fold(from.clone(), |at, &step| {
                at.iter().flat_map(|&state| go(state, step)).collect()
            })
        };
        let start = walk(&BTreeSet::from([0]), &lasso.stem);
        assert!(!start.is_empty(), "the stem is no way: {lasso:?}");
        let is_closed = start.iter().any(|&state| {
            walk(&BTreeSet::from([state]), &lasso.turn).contains(&state)
                && self.is_fair_turn(state, &lasso.turn, claim)
        });
        assert!(is_closed, "no loop that refutes {claim:?}: {lasso:?} in {self:?}");
    }

    /// Follows a turn by all ways at once: labels are unique in graphs that are drawn here.
    fn is_fair_turn(&self, start: u32, turn: &[Step], claim: Claim) -> bool {
        let mut owed = self.fair_steps(start);
        let mut visited = vec![start];
        let mut at = start;
        for &step in turn {
            let Some(&(_, _, to)) = self.steps.iter().find(|it| it.0 == at && it.1 == step) else {
                return false;
            };
            owed.remove(&step);
            owed = owed.intersection(&self.fair_steps(to)).copied().collect();
            visited.push(to);
            at = to;
        }
        let refutes = match claim {
            Claim::Ends(mark) => visited.iter().all(|&it| self.marks[it as usize] & mark != 0),
            Claim::Stays(mark) => visited.iter().any(|&it| self.marks[it as usize] & mark == 0),
        };
        at == start && owed.is_empty() && refutes
    }

    fn fair_steps(&self, state: u32) -> BTreeSet<Step> {
        let out = self.steps.iter().filter(|it| it.0 == state).map(|it| it.1);
        out.filter(|&step| is_fair(step)).collect()
    }
}

/// Odd steps must be taken if they stay possible.
fn is_fair(step: Step) -> bool {
    step.0 % 2 == 1
}

/// A way to a loop of so many states in all of which somebody waits.
fn planted(length: u32) -> Drawn {
    let mut steps = vec![(0, Step(2), 1)];
    steps.extend((0..length).map(|at| {
        let to = if at + 1 == length { 1 } else { at + 2 };
        (at + 1, Step(2 * at + 1), to)
    }));
    Drawn { marks: [0].into_iter().chain((0..length).map(|_| 1)).collect(), steps }
}

#[test]
fn planted_loops_of_any_length_are_found() {
    for length in [1, 2, 3, 50] {
        let lasso = planted(length).refute(Claim::Ends(1)).unwrap();
        assert_eq!((lasso.stem.len(), lasso.turn.len()), (1, length as usize), "{length}");
    }
}

#[test]
fn a_loop_is_no_counterexample_if_a_fair_step_always_leads_out_of_it() {
    for length in [2, 3, 50] {
        let mut drawn = planted(length);
        let exit = length + 1;
        drawn.marks.push(0);
        // The same step leads out of every state of the loop, so it stays possible.
        drawn.steps.extend((1..=length).map(|at| (at, Step(999), exit)));
        assert_eq!(drawn.refute(Claim::Ends(1)), None, "{length}");
        // Where it is not possible in one of them, it need never be taken.
        drawn.steps.retain(|&(from, step, _)| !(from == 2 && step == Step(999)));
        assert!(drawn.refute(Claim::Ends(1)).is_some(), "{length}");
    }
}

#[test]
fn a_step_that_nobody_has_to_take_does_not_end_a_wait() {
    let waits_and_may_go = |step| Drawn { marks: vec![1, 0], steps: vec![(0, Step(step), 1)] };
    assert_eq!(waits_and_may_go(1).refute(Claim::Ends(1)), None);
    let lasso = waits_and_may_go(2).refute(Claim::Ends(1)).unwrap();
    assert_eq!(lasso, Lasso { stem: vec![], turn: vec![] }, "it stays where it is");
}

/// Numbers by chance, the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn by_chance(seed: u64) -> Drawn {
    let chance = &mut Chance(seed);
    let states = 1 + chance.below(6);
    let marks = (0..states).map(|_| chance.below(2)).collect();
    let mut steps = Vec::new();
    for _ in 0..chance.below(12) {
        let (from, step) = (chance.below(states), Step(chance.below(6)));
        // One state, one label, one step: so that a way is told by its labels.
        if !steps.iter().any(|&(at, label, _)| at == from && label == step) {
            steps.push((from, step, chance.below(states)));
        }
    }
    Drawn { marks, steps }
}

/// Every set of states that a run can stay in for ever and visit again and again, one by one: no
/// components, no depth-first search. Whether one of them refutes the claim.
fn is_refuted_by_brute_force(drawn: &Drawn, claim: Claim) -> bool {
    let states = drawn.marks.len() as u32;
    let reachable = closure(drawn, 0, &(0..states).collect());
    (1_u32..1 << states).any(|set| {
        let inside: BTreeSet<u32> = (0..states).filter(|state| set >> state & 1 != 0).collect();
        let is_connected = inside.iter().all(|&state| closure(drawn, state, &inside) == inside);
        let within = |it: &&(u32, Step, u32)| inside.contains(&it.0) && inside.contains(&it.2);
        let taken: BTreeSet<Step> = drawn.steps.iter().filter(within).map(|it| it.1).collect();
        let mut everywhere = inside.iter().map(|&state| drawn.fair_steps(state));
        let first = everywhere.next().unwrap_or_default();
        let owed = everywhere.fold(first, |all, here| all.intersection(&here).copied().collect());
        let refutes = match claim {
            Claim::Ends(mark) => inside.iter().all(|&it| drawn.marks[it as usize] & mark != 0),
            Claim::Stays(mark) => inside.iter().any(|&it| drawn.marks[it as usize] & mark == 0),
        };
        inside.is_subset(&reachable) && is_connected && owed.is_subset(&taken) && refutes
    })
}

/// Where one can go from a state without leaving a set; nowhere is also a way.
fn closure(drawn: &Drawn, from: u32, inside: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut reached = BTreeSet::from([from]);
    loop {
        let next = drawn.steps.iter().filter(|it| reached.contains(&it.0)).map(|it| it.2);
        let next: Vec<u32> = next.filter(|to| inside.contains(to)).collect();
        let before = reached.len();
        reached.extend(next);
        if reached.len() == before {
            return reached;
        }
    }
}

#[test]
fn what_is_refuted_is_what_brute_force_refutes() {
    let mut refuted = [0, 0];
    for seed in 0..20_000 {
        let drawn = by_chance(seed);
        for (claim, count) in [Claim::Ends(1), Claim::Stays(1)].into_iter().zip(&mut refuted) {
            let is_refuted = drawn.refute(claim).is_some();
            assert_eq!(is_refuted, is_refuted_by_brute_force(&drawn, claim), "{seed}: {drawn:?}");
            *count += u32::from(is_refuted);
        }
    }
    assert!(refuted.iter().all(|count| (2_000..18_000).contains(count)), "{refuted:?}");
}

#[test]
fn a_claim_and_its_negation_never_both_hold() {
    let mut held = [0, 0];
    for seed in 0..20_000 {
        let drawn = by_chance(seed);
        // On every run the mark goes away again and again; on every run it comes and stays.
        let ends = drawn.refute(Claim::Ends(1)).is_none();
        let stays = drawn.refute(Claim::Stays(1)).is_none();
        assert!(!(ends && stays), "{seed}: {drawn:?}");
        held[0] += u32::from(ends);
        held[1] += u32::from(stays);
    }
    assert!(held.iter().all(|count| *count > 1_000), "{held:?}");
}

#[test]
fn a_search_for_loops_can_be_ended_in_the_middle_of_one() {
    let graph = planted(9_000).graph();
    let mut asked = 0;
    let ended = graph.refute(Claim::Ends(1), is_fair, &mut || {
        asked += 1;
        ControlFlow::Break(())
    });
    assert_eq!((ended, asked), (ControlFlow::Break(()), 1));
}

#[test]
fn memory_for_a_graph_is_more_than_every_step_before_and_after_it_is_sorted() {
    let many = 100;
    let all = (0..many * many).map(|it| (it / many, Step(it), it % many));
    let drawn = Drawn { marks: vec![1; many as usize], steps: all.collect() };
    let explored = drawn.explored();
    let steps = u64::from(many * many);
    // Where a step leads, and from where: as it is found. What it is, too. Then sorted, without
    // where it begins.
    assert!(explored.graph_bytes() >= steps * (12 + 8));
    assert!(explored.graph_bytes() > explored.progress.bytes);
    assert_eq!(explored.into_graph().steps() as u64, steps);
}
