//! Grid: the own row and the own column.
//!
//! **Idea.** The members are laid row by row into a square of S = ceil(sqrt N) columns. A voting
//! set is everybody in the own row or the own column.
//!
//! **K** = 2S-1 for N = S^2; fewer where the last row is ragged: at most S in a row and S in a
//! column. **M** = K, member by member: j is in the set of i when they share a row or a column, and
//! then i is in the set of j.
//!
//! **Why any two sets intersect.** Take i in row r and j in another row s (in the same row both
//! sets hold that row). Only the last row can be ragged, so one of the two rows is full, say r. It
//! has a seat in the column of j, and that seat is in the row of i and in the column of j. In a
//! full square they meet twice, which is what the plane saves.
//!
//! **N = 3** is not laid into a square: {1,2}, {2,3}, {3,1}, the triangle. Any two sides meet in a
//! corner, K = M = 2, and three requests at once can deadlock plain Maekawa.
//!
//! **Paper.** Maekawa 1985, as the simple way beside the plane. Ragged rows and the triangle are
//! ours.

use alloc::vec::Vec;

use conclave_core::Seat;

/// The set of `seat` among `n` members.
pub(super) fn set(n: usize, seat: Seat) -> Vec<Seat> {
    let me = seat.index();
    if n == 3 {
        let mut side = [me, (me + 1) % 3];
        side.sort_unstable();
        return side.map(Seat::at).into();
    }
    let columns = n.saturating_sub(1).isqrt() + 1;
    let (row, column) = (me / columns, me % columns);
    let row_start = row * columns;
    let row_end = (row_start + columns).min(n);
    let above = (column..row_start).step_by(columns);
    let below = (me + columns..n).step_by(columns);
    above.chain(row_start..row_end).chain(below).map(Seat::at).collect()
}
