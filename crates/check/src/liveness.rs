//! What must come, comes: liveness under weak fairness, on the whole graph.
//!
//! A run may go on for ever without what is waited for. That refutes an algorithm only if the run
//! is *fair*: nothing that can be done from some point on, without a break, is left undone for
//! ever. A message that stays in flight arrives, a timer that stays set runs out, a holder leaves.
//! Nobody has to ask for anything, and no fault has to happen. Doing nothing for ever is a run,
//! too; it is fair where nothing has to be done.
//!
//! **How it is decided.** A run that goes on for ever stays, from some point on, in one strongly
//! connected component of the states in which somebody waits, and can be taken to visit all of it:
//! that makes no more steps left undone. So there is a fair run in which that one waits for ever
//! exactly if there is such a component in which every fair step either is taken within it or
//! cannot be taken in one of its states. Only steps that were really found are looked at; that a
//! state *has* a step means that the step was found from it.
//!
//! Where a bound cuts off something that must be done, what comes after is not known: a run through
//! such a state refutes nothing.
//!
//! A counterexample is a stem from the beginning to the component, and a closed walk through it
//! that takes, or sees disabled, every fair step: each arrow of both is a step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::store::{Edge, SHARDS, Shard, StateId, place_of};
use crate::{Explored, Look, Step};

/// Every state that was found, and every step between them.
pub struct Graph {
    explored: Explored,
    /// Where the steps of a state begin; one more than there are states.
    first: Vec<usize>,
    steps: Vec<(Step, StateId)>,
}

/// A run without an end: what leads to the loop, and one turn of the loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lasso {
    /// From the beginning to where the loop begins.
    pub stem: Vec<Step>,
    /// Once around. Without a step, nothing has to happen any more, and nothing does.
    pub turn: Vec<Step>,
}

/// What is claimed of one mark of the states, on every fair run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// Whenever it is there, it goes away later.
    Ends(u32),
    /// It comes, and then stays for ever. Nothing that [`Ends`](Self::Ends) does.
    Stays(u32),
}

impl Explored {
    /// Sorts all steps by where they begin. The search must have kept them.
    pub fn into_graph(mut self) -> Graph {
        let rows = self.shards.iter().map(Shard::len).max().unwrap_or(0);
        let mut first = vec![0; rows * SHARDS + 1];
        for edge in self.shards.iter().flat_map(|shard| &shard.edges) {
            first[edge.from as usize + 1] += 1;
        }
        for place in 1..first.len() {
            first[place] += first[place - 1];
        }
        let mut next = first.clone();
        let mut steps = vec![(Step(0), 0); first.last().copied().unwrap_or(0)];
        for shard in &mut self.shards {
            for Edge { from, step, to } in std::mem::take(&mut shard.edges) {
                let place = &mut next[from as usize];
                steps[*place] = (step, to);
                *place += 1;
            }
        }
        Graph { explored: self, first, steps }
    }
}

impl Graph {
    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Every step, with the numbers of the states that it leads from and to: from 0 on, and 0 is
    /// where it all begins.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Step, usize)> + '_ {
        // Rows of shards have gaps where a shard has fewer states than another.
        let mut numbers = vec![usize::MAX; self.first.len()];
        for (number, state) in self.states().enumerate() {
            numbers[state as usize] = number;
        }
        let root = self.states().find(|&state| self.explored.path_to(state).is_empty());
        let root = root.map_or(0, |state| numbers[state as usize]);
        let named = move |state: StateId| match numbers[state as usize] {
            number if number == root => 0,
            0 => root,
            number => number,
        };
        self.states().flat_map(move |from| {
            let from_named = named(from);
            let out: Vec<_> =
                self.out(from).iter().map(|&(step, to)| (from_named, step, named(to))).collect();
            out
        })
    }

    /// What was found beside the steps.
    pub fn explored(&self) -> &Explored {
        &self.explored
    }

    /// A fair run on which the claim does not hold, if there is one; of all, one with a short stem.
    /// Which steps must be taken if they stay possible is said by `is_fair`.
    pub fn refute(&self, claim: Claim, is_fair: impl Fn(Step) -> bool) -> Option<Lasso> {
        let mut nearest: Option<(usize, Vec<StateId>, StateId)> = None;
        let is_inside = |state| match claim {
            _ if self.marks(state) & Look::CUT_OFF != 0 => false,
            Claim::Ends(mark) => self.marks(state) & mark != 0,
            Claim::Stays(_) => true,
        };
        let begins = |state: StateId| match claim {
            Claim::Ends(_) => true,
            Claim::Stays(mark) => self.marks(state) & mark == 0,
        };
        self.components(is_inside, |component| {
            if !component.iter().any(|&state| begins(state)) || !self.is_fair(component, &is_fair) {
                return;
            }
            let starts = component.iter().copied().filter(|&state| begins(state));
            let starts = starts.map(|state| (self.depth(state), state));
            if let Some((depth, start)) = starts.min()
                && nearest.as_ref().is_none_or(|(least, ..)| depth < *least)
            {
                nearest = Some((depth, component.to_vec(), start));
            }
        });
        let (_, mut component, start) = nearest?;
        component.sort_unstable();
        let stem = self.explored.path_to(start);
        Some(Lasso { stem, turn: self.turn(&component, start, &is_fair) })
    }

    fn marks(&self, state: StateId) -> u32 {
        let (shard, ordinal) = place_of(state);
        self.explored.shards[shard].pending[ordinal]
    }

    fn depth(&self, state: StateId) -> usize {
        self.explored.path_to(state).len()
    }

    fn out(&self, state: StateId) -> &[(Step, StateId)] {
        &self.steps[self.first[state as usize]..self.first[state as usize + 1]]
    }

    fn states(&self) -> impl Iterator<Item = StateId> + '_ {
        let shards = self.explored.shards.iter();
        shards.flat_map(|shard| (0..shard.len()).map(|ordinal| shard.id(ordinal)))
    }

    /// Whether a run that stays in this component can leave no fair step undone. A component of one
    /// state that no step leads back to is a run that does nothing.
    fn is_fair(&self, component: &[StateId], is_fair: &impl Fn(Step) -> bool) -> bool {
        if let [state] = *component {
            // By far the most: whatever must be done leads away, or back to where it began.
            return self.out(state).iter().all(|&(step, to)| to == state || !is_fair(step));
        }
        let inside: BTreeSet<StateId> = component.iter().copied().collect();
        // In how many states it can be taken, and whether it is taken without leaving.
        let mut obligations: BTreeMap<Step, (usize, bool)> = BTreeMap::new();
        for &state in component {
            let mut seen = BTreeSet::new();
            for &(step, to) in self.out(state).iter().filter(|(step, _)| is_fair(*step)) {
                let (states, is_taken) = obligations.entry(step).or_default();
                *states += usize::from(seen.insert(step));
                *is_taken |= inside.contains(&to);
            }
        }
        obligations.values().all(|&(states, is_taken)| is_taken || states < component.len())
    }

    /// A closed walk from `start` that leaves no fair step undone.
    fn turn(
        &self,
        component: &[StateId],
        start: StateId,
        is_fair: &impl Fn(Step) -> bool,
    ) -> Vec<Step> {
        let fair_steps = |state: StateId| -> BTreeSet<Step> {
            self.out(state).iter().map(|(step, _)| *step).filter(|&step| is_fair(step)).collect()
        };
        let mut turn = Vec::new();
        let mut here = start;
        let mut owed = fair_steps(start);
        while !owed.is_empty() {
            let pays =
                |step: Step, to: StateId| owed.contains(&step) || !owed.is_subset(&fair_steps(to));
            let Some(way) = self.way(component, here, pays) else { break };
            for (step, to) in way {
                owed.remove(&step);
                let possible = fair_steps(to);
                owed.retain(|step| possible.contains(step));
                turn.push(step);
                here = to;
            }
        }
        if here != start {
            let way = self.way(component, here, |_, to| to == start);
            turn.extend(way.into_iter().flatten().map(|(step, _)| step));
        }
        turn
    }

    /// A shortest way within a component, to the first step that is wanted.
    fn way(
        &self,
        component: &[StateId],
        from: StateId,
        is_wanted: impl Fn(Step, StateId) -> bool,
    ) -> Option<Vec<(Step, StateId)>> {
        let mut reached: BTreeMap<StateId, (StateId, Step)> = BTreeMap::new();
        let mut frontier = VecDeque::from([from]);
        while let Some(state) = frontier.pop_front() {
            for &(step, to) in self.out(state) {
                if component.binary_search(&to).is_err() {
                    continue;
                }
                if is_wanted(step, to) {
                    let mut way = vec![(step, to)];
                    let mut at = state;
                    while at != from {
                        let (before, step) = reached[&at];
                        way.push((step, at));
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                if to != from && !reached.contains_key(&to) {
                    reached.insert(to, (state, step));
                    frontier.push_back(to);
                }
            }
        }
        None
    }

    /// Strongly connected components of the states inside (Tarjan 1972), without recursion: a path
    /// can be as long as there are states.
    fn components(&self, is_inside: impl Fn(StateId) -> bool, mut each: impl FnMut(&[StateId])) {
        const UNSEEN: u32 = 0;
        const DONE: u32 = u32::MAX;
        let mut number = vec![UNSEEN; self.first.len()];
        let mut lowest = vec![0_u32; self.first.len()];
        let (mut stack, mut path, mut count) = (Vec::new(), Vec::<(StateId, usize)>::new(), 0);
        for root in self.states() {
            if number[root as usize] != UNSEEN || !is_inside(root) {
                continue;
            }
            path.push((root, 0));
            while let Some((state, place)) = path.pop() {
                let here = state as usize;
                if place == 0 {
                    count += 1;
                    (number[here], lowest[here]) = (count, count);
                    stack.push(state);
                }
                let mut steps = self.out(state)[place..].iter().enumerate();
                let deeper = steps.find_map(|(more, &(_, to))| {
                    let there = to as usize;
                    if number[there] == UNSEEN {
                        return is_inside(to).then_some((place + more, to));
                    }
                    if number[there] != DONE {
                        lowest[here] = lowest[here].min(number[there]);
                    }
                    None
                });
                if let Some((at, to)) = deeper {
                    path.push((state, at + 1));
                    path.push((to, 0));
                    continue;
                }
                if lowest[here] == number[here] {
                    let from = stack.iter().rposition(|&other| other == state).unwrap_or(0);
                    each(&stack[from..]);
                    for other in stack.drain(from..) {
                        number[other as usize] = DONE;
                    }
                }
                if let Some(&(parent, _)) = path.last() {
                    let parent = parent as usize;
                    lowest[parent] = lowest[parent].min(lowest[here]);
                }
            }
        }
    }
}
