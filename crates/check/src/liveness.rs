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

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

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

/// Who is asked, now and then, whether to go on.
struct Patience<'a> {
    /// How often nobody was asked since the last time.
    passed: u32,
    ask: &'a mut dyn FnMut() -> ControlFlow<()>,
}

impl Patience<'_> {
    /// A few milliseconds of work lie between two questions.
    const EVERY: u32 = 1 << 13;

    fn ask(&mut self) -> ControlFlow<()> {
        self.passed += 1;
        if self.passed < Self::EVERY {
            return ControlFlow::Continue(());
        }
        self.passed = 0;
        (self.ask)()
    }
}

impl Explored {
    /// Sorts all steps by where they begin. The search must have kept them.
    pub fn into_graph(self) -> Graph {
        let graph = self.try_into_graph(&mut || ControlFlow::Continue(()));
        graph.continue_value().expect("nobody ends it")
    }

    /// Sorts all steps as [`into_graph`](Self::into_graph) does, unless `watch`, which is asked now
    /// and then, ends it.
    pub(crate) fn try_into_graph(
        mut self,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Graph> {
        self.shards.iter_mut().for_each(Shard::close);
        // One place further on than where they end up: as steps are put in, each place moves to
        // where the next one began.
        let mut first = vec![0; self.numbers() + 2];
        for shard in &self.shards {
            watch()?;
            shard.edges.iter().for_each(|edge| first[edge.from as usize + 2] += 1);
        }
        for place in 1..first.len() {
            first[place] += first[place - 1];
        }
        let mut steps = vec![(Step(0), 0); first.last().copied().unwrap_or(0)];
        for shard in &mut self.shards {
            watch()?;
            for Edge { from, step, to } in core::mem::take(&mut shard.edges) {
                let place = &mut first[from as usize + 1];
                steps[*place] = (step, to);
                *place += 1;
            }
        }
        first.pop();
        ControlFlow::Continue(Graph { explored: self, first, steps })
    }

    /// How much memory it takes at most to make a [`Graph`] of it and to [`refute`](Graph::refute)
    /// claims about that, what is kept of the search included.
    pub fn graph_bytes(&self) -> u64 {
        /// Beside the steps, by state: its number and the lowest, its places on the stack, on the
        /// path (two numbers), in its component, and in the nearest.
        const NUMBERS: usize = 7;
        let sum = |of: fn(&Shard) -> usize| self.shards.iter().map(of).sum::<usize>();
        let steps = sum(|shard| shard.edges.len()) * size_of::<(Step, StateId)>();
        let graph = sum(Shard::closed_bytes) + self.numbers() * size_of::<usize>() + steps;
        let refuting = self.numbers() * NUMBERS * size_of::<StateId>();
        (graph + refuting.max(sum(Shard::bytes_of_edges))) as u64
    }

    /// How many numbers states have. There are gaps where a shard has fewer states than another.
    fn numbers(&self) -> usize {
        self.shards.iter().map(Shard::len).max().unwrap_or(0) * SHARDS
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
    /// Which steps must be taken if they stay possible is said by `is_fair`. `watch` is asked now
    /// and then, and may end it: then it says what was found until then, or breaks.
    pub fn refute(
        &self,
        claim: Claim,
        is_fair: impl Fn(Step) -> bool,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Option<Lasso>> {
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
        let mut patience = Patience { passed: 0, ask: watch };
        let end = self.components(is_inside, &mut patience, |component, patience| {
            if !component.iter().any(|&state| begins(state))
                || !self.is_fair(component, &is_fair, patience)?
            {
                return ControlFlow::Continue(());
            }
            let starts = component.iter().copied().filter(|&state| begins(state));
            let starts = starts.map(|state| (self.depth(state), state));
            if let Some((depth, start)) = starts.min()
                && nearest.as_ref().is_none_or(|(least, ..)| depth < *least)
            {
                nearest = Some((depth, component.to_vec(), start));
            }
            ControlFlow::Continue(())
        });
        let Some((_, mut component, start)) = nearest else {
            return end.map_continue(|()| None);
        };
        component.sort_unstable();
        let stem = self.explored.path_to(start);
        let turn = self.turn(&component, start, &is_fair);
        ControlFlow::Continue(Some(Lasso { stem, turn }))
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
    fn is_fair(
        &self,
        component: &[StateId],
        is_fair: &impl Fn(Step) -> bool,
        patience: &mut Patience<'_>,
    ) -> ControlFlow<(), bool> {
        if let [state] = *component {
            // By far the most: whatever must be done leads away, or back to where it began.
            let mut out = self.out(state).iter();
            return ControlFlow::Continue(out.all(|&(step, to)| to == state || !is_fair(step)));
        }
        let mut inside = component.to_vec();
        inside.sort_unstable();
        // In how many states it can be taken, and whether it is taken without leaving.
        let mut obligations: BTreeMap<Step, (usize, bool)> = BTreeMap::new();
        for &state in component {
            patience.ask()?;
            let mut seen = BTreeSet::new();
            for &(step, to) in self.out(state).iter().filter(|(step, _)| is_fair(*step)) {
                let (states, is_taken) = obligations.entry(step).or_default();
                *states += usize::from(seen.insert(step));
                *is_taken = *is_taken || inside.binary_search(&to).is_ok();
            }
        }
        let mut all = obligations.values();
        ControlFlow::Continue(all.all(|&(states, is_taken)| is_taken || states < component.len()))
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
    fn components(
        &self,
        is_inside: impl Fn(StateId) -> bool,
        patience: &mut Patience<'_>,
        mut each: impl FnMut(&[StateId], &mut Patience<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        const UNSEEN: u32 = 0;
        const DONE: u32 = u32::MAX;
        let mut number = vec![UNSEEN; self.first.len()];
        let mut lowest = vec![0_u32; self.first.len()];
        // As long as they can become: what they do not fill takes no memory.
        let mut stack = Vec::with_capacity(self.first.len());
        let mut path: Vec<(StateId, u32)> = Vec::with_capacity(self.first.len());
        let mut count = 0;
        for root in self.states() {
            if number[root as usize] != UNSEEN || !is_inside(root) {
                continue;
            }
            path.push((root, 0));
            while let Some((state, place)) = path.pop() {
                patience.ask()?;
                let here = state as usize;
                if place == 0 {
                    count += 1;
                    (number[here], lowest[here]) = (count, count);
                    stack.push(state);
                }
                let mut steps = (place..).zip(&self.out(state)[place as usize..]);
                let deeper = steps.find_map(|(at, &(_, to))| {
                    let there = to as usize;
                    if number[there] == UNSEEN {
                        return is_inside(to).then_some((at, to));
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
                    each(&stack[from..], patience)?;
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
        ControlFlow::Continue(())
    }
}
