//! Voting sets: whom a process must ask before it enters.
//!
//! **Problem.** A process `i` asks only the members of its voting set `V_i`, and a member votes for
//! one candidate at a time. That keeps two processes apart exactly when any two voting sets have a
//! member in common: that member would have to vote twice. Beyond this every process is in its own
//! set (its own vote costs no message), and work is fair when all sets have the same size `K` and
//! every member is in the same number `M` of them.
//!
//! | construction | N | K | M |
//! | --- | --- | --- | --- |
//! | [`Grid`](Construction::Grid) | any | 2S-1 for N = S^2 | = K |
//! | [`Plane`](Construction::Plane) | q^2+q+1, q a prime power | q+1, the optimum | = K |
//! | [`NearestPlane`](Construction::NearestPlane) | any | at most q+2 of the nearest plane | uneven |
//! | [`Tree`](Construction::Tree) | any | at most floor(log2 N)+1 | 1 to N |
//! | [`Majority`](Construction::Majority) | any | floor(N/2)+1 | = K |
//! | [`All`](Construction::All) | any | N | = K |
//!
//! Each file here is one construction: the idea, K and M, and why any two sets intersect.
//!
//! **Paper.** M. Maekawa, *A sqrt(N) Algorithm for Mutual Exclusion in Decentralized Systems*, ACM
//! TOCS 3(2), 1985: the four conditions above, and the bound of [`optimum`].

mod all;
mod check;
mod field;
mod grid;
mod majority;
mod nearest_plane;
mod own;
mod plane;
mod tree;
mod voting_sets;

#[cfg(test)]
mod quorum_test;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

pub use check::Flaw;
pub use own::{OwnSets, ParseOwnSetsError};
pub use voting_sets::{MembershipSummary, SizeSummary, VotingSets, VotingSetsError};

/// How voting sets are constructed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Construction {
    /// The own row and the own column of a square.
    Grid,
    /// A line of a finite projective plane.
    Plane,
    /// A line of the plane that is nearest in size, mended where it does not fit.
    NearestPlane,
    /// A path from the root of a binary tree to a leaf.
    Tree,
    /// More than half of the members.
    Majority,
    /// Every set has all members.
    All,
}

impl Construction {
    /// Every construction, in the order in which they are listed to people.
    pub const ALL: &'static [Self] =
        &[Self::Grid, Self::Plane, Self::NearestPlane, Self::Tree, Self::Majority, Self::All];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Plane => "plane",
            Self::NearestPlane => "nearest-plane",
            Self::Tree => "tree",
            Self::Majority => "majority",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Construction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Construction {
    type Err = UnknownConstruction;

    fn from_str(name: &str) -> Result<Self, UnknownConstruction> {
        let found = Self::ALL.iter().find(|construction| construction.name() == name);
        found.copied().ok_or_else(|| UnknownConstruction(name.into()))
    }
}

/// No construction of voting sets has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is no construction of voting sets; choose one of {names}", names = names())]
pub struct UnknownConstruction(pub String);

fn names() -> String {
    Construction::ALL.iter().map(|each| each.name()).collect::<Vec<_>>().join(", ")
}

/// The size that no voting sets of `n` members can stay below if all have one size and work is
/// shared evenly: (1 + sqrt(4n-3)) / 2.
///
/// The K members of one set are in K sets each, the own one counted every time: at most K(K-1)+1
/// sets can have a member in common with it, and all `n` must. A projective plane reaches it.
pub fn optimum(n: usize) -> f64 {
    (1.0 + libm::sqrt((4 * n.max(1) - 3) as f64)) / 2.0
}
