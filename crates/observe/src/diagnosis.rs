//! Why somebody still waits: who waits for whom, followed to the root.
//!
//! The edges come from the protocols themselves, which may be wrong about it. So this words the
//! reason of a verdict; the verdict itself never depends on it.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{ProcessId, Seat};

use crate::{Judge, LossCause, Time};

/// Who waits for whom, by seat.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitGraph(Vec<Vec<Seat>>);

/// The root of a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// Somebody who waits, whom it waits for, whom that one waits for, and so on.
    pub path: Vec<Seat>,
    /// Why the last of them does not help.
    pub root: Root,
}

/// Why the last of a chain of waits does not help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// It is down since then.
    Down(Time),
    /// It is paused since then.
    Paused(Time),
    /// It waits for the first: all wait for each other.
    Cycle,
    /// Its process came back without its memory, or a message to or from it was lost.
    MessageLost {
        /// When it was lost.
        at: Time,
        /// Its sender, by seat.
        from: Seat,
        /// Its receiver, by seat.
        to: Seat,
        /// What lost it.
        cause: LossCause,
    },
    /// It waits for nobody, as far as it knows.
    Unaware,
}

impl WaitGraph {
    /// From whom each waits for, by seat. To wait for oneself is not to wait.
    pub fn new(mut edges: Vec<Vec<Seat>>) -> Self {
        for (index, whom) in edges.iter_mut().enumerate() {
            whom.retain(|&seat| seat != Seat::at(index));
        }
        Self(edges)
    }

    /// The shortest chain from a process that waits to one that is down or paused; else a cycle;
    /// else a chain to one that waits for nobody. `None` if nobody who waits says whom for.
    pub fn diagnose(&self, judge: &Judge) -> Option<Diagnosis> {
        let waiting: Vec<Seat> = judge.waiting_seats();
        let chains = || waiting.iter().map(|&seat| self.chains_from(seat));
        let away = |seat: Seat| {
            let paused = judge.paused_since(seat).map(Root::Paused);
            judge.down_since(seat).map(Root::Down).or(paused)
        };
        let to_away = |tree: &Tree| tree.order.iter().copied().find(|&seat| away(seat).is_some());
        let ends = chains().filter_map(|tree| to_away(&tree).map(|end| tree.path(end)));
        if let Some(path) = ends.min_by_key(Vec::len) {
            let root = away(*path.last()?)?;
            return Some(Diagnosis { path, root });
        }
        if let Some(loss) = self.first_loss_between(&waiting, judge) {
            return Some(loss);
        }
        let cycles = chains().filter_map(|tree| {
            let first = tree.order[0];
            let closing = |&seat: &Seat| self.0[seat.index()].contains(&first);
            tree.order.iter().copied().find(closing).map(|end| tree.path(end))
        });
        if let Some(path) = cycles.min_by_key(Vec::len) {
            return Some(Diagnosis { path, root: Root::Cycle });
        }
        let tree = chains().find(|tree| tree.order.len() > 1)?;
        let end = tree.order.iter().copied().find(|&seat| self.0[seat.index()].is_empty());
        let path = tree.path(end.unwrap_or(tree.order[tree.order.len() - 1]));
        Some(Diagnosis { path, root: Root::Unaware })
    }

    /// A lost message between somebody on a chain and the one it waits for.
    fn first_loss_between(&self, waiting: &[Seat], judge: &Judge) -> Option<Diagnosis> {
        // The earliest, for nothing is ever sent again; and rather an answer than a question, for
        // that is what is waited for.
        judge.losses().iter().find_map(|&(at, from, to, cause)| {
            let between = |waiter: Seat, whom: Seat| {
                waiting.contains(&waiter) && self.0[waiter.index()].contains(&whom)
            };
            let path = if between(to, from) {
                vec![to, from]
            } else if between(from, to) {
                vec![from, to]
            } else {
                return None;
            };
            Some(Diagnosis { path, root: Root::MessageLost { at, from, to, cause } })
        })
    }

    fn chains_from(&self, first: Seat) -> Tree {
        let mut tree = Tree { order: vec![first], parent: vec![None; self.0.len()] };
        tree.parent[first.index()] = Some(first);
        let mut next = VecDeque::from([first]);
        while let Some(seat) = next.pop_front() {
            for &whom in &self.0[seat.index()] {
                if tree.parent[whom.index()].is_none() {
                    tree.parent[whom.index()] = Some(seat);
                    tree.order.push(whom);
                    next.push_back(whom);
                }
            }
        }
        tree
    }
}

/// Shortest chains from one process, nearest first.
struct Tree {
    order: Vec<Seat>,
    parent: Vec<Option<Seat>>,
}

impl Tree {
    fn path(&self, end: Seat) -> Vec<Seat> {
        let mut path = vec![end];
        let mut seat = end;
        while let Some(parent) = self.parent[seat.index()].filter(|&parent| parent != seat) {
            path.push(parent);
            seat = parent;
        }
        path.reverse();
        path
    }
}

impl Diagnosis {
    /// Each wait of the chain: who, and for whom.
    pub fn edges(&self) -> impl Iterator<Item = (Seat, Seat)> + '_ {
        let closing = match (self.root, &self.path[..]) {
            (Root::Cycle, [first, .., last]) => Some((*last, *first)),
            _ => None,
        };
        self.path.windows(2).map(|pair| (pair[0], pair[1])).chain(closing)
    }

    /// This diagnosis in one sentence.
    pub fn sentence(&self, id: impl Fn(Seat) -> ProcessId) -> String {
        let mut waits = self.edges().map(|(waiter, whom)| {
            let (waiter, whom) = (id(waiter), id(whom));
            format!("{waiter} waits for {whom}")
        });
        let chain = match (waits.next(), waits.collect::<Vec<_>>().join(", ")) {
            (None, _) => format!("{} waits", id(self.path[0])),
            (Some(first), rest) if rest.is_empty() => first,
            (Some(first), rest) => format!("{first}, {rest}"),
        };
        let last = self.path.last().map_or_else(String::new, |&seat| id(seat).to_string());
        match self.root {
            Root::Down(Time::ZERO) => {
                format!("{chain}; but {last} was down from the start and will never answer")
            }
            Root::Down(at) => {
                format!("{chain}; but {last} crashed at {at} ms and will never answer")
            }
            Root::Paused(at) => format!("{chain}; but {last} is paused since {at} ms"),
            Root::Cycle => format!("{chain}: they wait in a circle, and nobody can go first"),
            Root::MessageLost { at, from, to, cause } => {
                let (from, to) = (id(from), id(to));
                let why = match cause {
                    LossCause::Network => "the network lost it",
                    LossCause::Partition => "a partition was in the way",
                    LossCause::ReceiverDown => "its receiver was down",
                };
                format!(
                    "{chain}; but a message from {from} to {to} was lost at {at} ms ({why}), and \
                     nobody sends it again"
                )
            }
            Root::Unaware => format!("{chain}; and nothing is on its way that would change it"),
        }
    }
}
