//! Tree: a path from the root to a leaf.
//!
//! **Idea.** The members are laid into a binary tree, level by level: the root first, below seat i
//! the seats 2i+1 and 2i+2. A voting set is a path from the root to a leaf; that of i goes through
//! i, and below i always to the left.
//!
//! **K** is at most the height of the tree, floor(log2 N) + 1: far below the bound of
//! [`optimum`](super::optimum), because work is not shared. **M** = N for the root, which is in
//! every set, and less from level to level.
//!
//! **Why any two sets intersect.** Every path begins at the root.
//!
//! The paper goes on where this stops: if a member on the path does not answer, the paths from both
//! of its children take its place. Maekawa's algorithm has no word for a voter that is down, so
//! here the death of the root blocks everybody.
//!
//! **Paper.** D. Agrawal, A. El Abbadi, *An Efficient and Fault-Tolerant Solution for Distributed
//! Mutual Exclusion*, ACM TOCS 9(1), 1991.

use alloc::vec::Vec;

use conclave_core::Seat;

/// The set of `seat` among `n` members.
pub(super) fn set(n: usize, seat: Seat) -> Vec<Seat> {
    let parent = |&at: &usize| (at > 0).then(|| (at - 1) / 2);
    let left = |at: &usize| Some(2 * at + 1).filter(|&child| child < n);
    let mut set: Vec<usize> = core::iter::successors(Some(seat.index()), parent).collect();
    set.reverse();
    set.extend(core::iter::successors(left(&seat.index()), left));
    set.into_iter().map(Seat::at).collect()
}
