//! Majority: more than half of the members.
//!
//! **Idea.** A voting set is the own seat and the seats that follow it on the ring, until there are
//! more than half.
//!
//! **K** = floor(N/2)+1. **M** = K: a member is in its own set and in those of the K-1 seats before
//! it. Any majority would do, but only turning the same one around the ring shares the work evenly.
//!
//! **Why any two sets intersect.** Two sets have 2K > N places between them and there are only N
//! members to fill them, so somebody is in both.
//!
//! **Paper.** R. H. Thomas, *A Majority Consensus Approach to Concurrency Control for Multiple Copy
//! Databases*, ACM TODS 4(2), 1979.

use alloc::vec::Vec;

use conclave_core::Seat;

/// The set of `seat` among `n` members.
pub(super) fn set(n: usize, seat: Seat) -> Vec<Seat> {
    let start = seat.index();
    let end = start + n / 2 + 1;
    // What goes past the last seat continues at the first one.
    let wrapped = 0..end.saturating_sub(n);
    wrapped.chain(start..end.min(n)).map(Seat::at).collect()
}
