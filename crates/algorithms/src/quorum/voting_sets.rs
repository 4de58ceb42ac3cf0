//! The voting sets of all members of one view.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use conclave_core::{ProcessId, Seat, View};

use super::{Construction, Flaw, all, grid, majority, nearest_plane, plane, tree};

/// The voting sets of all members of one view: `V_i` for each seat `i`.
///
/// A value that exists is a valid one: every member is in its own set, and any two sets have a
/// member in common, unless somebody [meant](Self::from_disjoint_sets) otherwise. It is cheap to
/// clone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct VotingSets {
    view: View,
    /// All sets, one after the other, each in ascending seat order. A set equal to the one before
    /// it is not written again: equal voting sets are equal values, however they were made.
    pool: Arc<[ProcessId]>,
    /// Where in `pool` the set of a seat is; one for each seat.
    spans: Arc<[Range<usize>]>,
}

/// Why a construction gives no voting sets for a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VotingSetsError {
    /// The view has no members.
    #[error("a view without members has no voting sets")]
    Empty,
    /// No projective plane is known with as many points as the view has members.
    #[error(
        "there is no known projective plane with {n} points; {} \
         (N must be q^2+q+1 with q a prime power), or take nearest-plane",
        nearest(*below, *above)
    )]
    NoPlane {
        /// The number of members.
        n: usize,
        /// The nearest possible number below `n`, if there is one.
        below: Option<usize>,
        /// The nearest possible number above `n`.
        above: usize,
    },
}

fn nearest(below: Option<usize>, above: usize) -> String {
    match below {
        Some(below) => format!("the nearest are {below} and {above}"),
        None => format!("the smallest has {above}"),
    }
}

/// K: how many are in a voting set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeSummary {
    /// The size of the smallest set.
    pub min: usize,
    /// The mean size.
    pub mean: f64,
    /// The size of the largest set.
    pub max: usize,
}

/// M: in how many voting sets a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MembershipSummary {
    /// The number for a member that is in the fewest.
    pub min: usize,
    /// The number for a member that is in the most.
    pub max: usize,
}

#[expect(clippy::len_without_is_empty, reason = "there are no voting sets of an empty view")]
impl VotingSets {
    /// The voting sets of `view` by `construction`. The same view gives the same sets, always.
    pub fn build(construction: Construction, view: &View) -> Result<Self, VotingSetsError> {
        let n = view.len();
        if n == 0 {
            return Err(VotingSetsError::Empty);
        }
        Ok(match construction {
            Construction::Grid => Self::pack(view, |seat| grid::set(n, seat)),
            Construction::Plane => {
                let line = plane::difference_set(n).ok_or_else(|| no_plane(n))?;
                Self::pack(view, |seat| plane::set(&line, n, seat))
            }
            Construction::NearestPlane => {
                let plane = nearest_plane::nearest(n).ok_or_else(|| no_plane(n))?;
                Self::pack(view, |seat| nearest_plane::set(&plane, n, seat))
            }
            Construction::Tree => Self::pack(view, |seat| tree::set(n, seat)),
            Construction::Majority => Self::pack(view, |seat| majority::set(n, seat)),
            Construction::All => Self::share(view, all::set(n)),
        })
    }

    /// The voting sets that are written out in `sets`, one for each seat, if they are voting sets.
    /// As in any set, neither order nor repetition means anything.
    pub fn from_sets(view: &View, sets: Vec<Vec<ProcessId>>) -> Result<Self, Flaw> {
        let sets = Self::written_out(view, sets)?;
        sets.check()?;
        Ok(sets)
    }

    /// As [`from_sets`](Self::from_sets), but two sets may have no member in common: to see what
    /// comes of it.
    pub fn from_disjoint_sets(view: &View, sets: Vec<Vec<ProcessId>>) -> Result<Self, Flaw> {
        let sets = Self::written_out(view, sets)?;
        match sets.check() {
            Ok(()) | Err(Flaw::Disjoint { .. }) => Ok(sets),
            Err(flaw) => Err(flaw),
        }
    }

    fn written_out(view: &View, sets: Vec<Vec<ProcessId>>) -> Result<Self, Flaw> {
        if view.is_empty() {
            return Err(Flaw::Empty);
        }
        if sets.len() != view.len() {
            return Err(Flaw::Count { sets: sets.len(), members: view.len() });
        }
        let mut seated = Vec::with_capacity(sets.len());
        for (set, &owner) in sets.into_iter().zip(view.members()) {
            let seat = |id| view.seat(id).ok_or(Flaw::Stranger { owner, stranger: id });
            let mut set = set.into_iter().map(seat).collect::<Result<Vec<Seat>, Flaw>>()?;
            set.sort_unstable();
            set.dedup();
            seated.push(set);
        }
        Ok(Self::pack(view, |seat| core::mem::take(&mut seated[seat.index()])))
    }

    /// Puts one set per seat together; each must come in ascending seat order.
    fn pack(view: &View, mut set: impl FnMut(Seat) -> Vec<Seat>) -> Self {
        let mut pool: Vec<ProcessId> = Vec::new();
        let mut spans: Vec<Range<usize>> = Vec::with_capacity(view.len());
        let (mut last, mut span) = (Vec::new(), 0..0);
        for seat in (0..view.len()).map(Seat::at) {
            let set = set(seat);
            if set != last {
                let start = pool.len();
                pool.extend(set.iter().map(|&voter| view.at(voter)));
                (last, span) = (set, start..pool.len());
            }
            spans.push(span.clone());
        }
        Self { view: view.clone(), pool: pool.into(), spans: spans.into() }
    }

    /// What [`Self::pack`] gives where all seats have the same set, without looking at each.
    fn share(view: &View, set: impl Iterator<Item = Seat>) -> Self {
        let pool: Arc<[ProcessId]> = set.map(|voter| view.at(voter)).collect();
        let spans = core::iter::repeat_n(0..pool.len(), view.len()).collect();
        Self { view: view.clone(), pool, spans }
    }

    /// The voting set of whoever sits there, in ascending seat order. Seats come from the view.
    #[inline]
    pub fn of(&self, seat: Seat) -> &[ProcessId] {
        &self.pool[self.spans[seat.index()].clone()]
    }

    /// Whose voting sets these are.
    #[inline]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How many there are: N, one for each member.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// K: how many are in a set.
    pub fn size(&self) -> SizeSummary {
        let sizes = || self.spans.iter().map(Range::len);
        SizeSummary {
            min: sizes().min().unwrap_or(0),
            mean: sizes().sum::<usize>() as f64 / self.len() as f64,
            max: sizes().max().unwrap_or(0),
        }
    }

    /// M: in how many sets a member is.
    pub fn membership(&self) -> MembershipSummary {
        let mut sets_with = vec![0; self.len()];
        for &voter in (0..self.len()).flat_map(|seat| self.of(Seat::at(seat))) {
            if let Some(seat) = self.view.seat(voter) {
                sets_with[seat.index()] += 1;
            }
        }
        MembershipSummary {
            min: sets_with.iter().copied().min().unwrap_or(0),
            max: sets_with.iter().copied().max().unwrap_or(0),
        }
    }
}

fn no_plane(n: usize) -> VotingSetsError {
    VotingSetsError::NoPlane { n, below: plane::points_below(n), above: plane::points_above(n) }
}
