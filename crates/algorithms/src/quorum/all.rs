//! All: everybody.
//!
//! **Idea.** Everyone has the same voting set, the whole view.
//!
//! **K** = **M** = N, the most expensive there is, and the measure for the others: a process asks
//! everybody, as in Ricart and Agrawala's algorithm.
//!
//! **Why any two sets intersect.** They are the same set, and it has members.
//!
//! **Paper.** G. Ricart and A. K. Agrawala, *An Optimal Algorithm for Mutual Exclusion in Computer
//! Networks*, CACM 24(1), 1981, asks like this; it is the largest case of Maekawa 1985.

use conclave_core::Seat;

/// The one set that all of `n` members share.
pub(super) fn set(n: usize) -> impl Iterator<Item = Seat> {
    (0..n).map(Seat::at)
}
