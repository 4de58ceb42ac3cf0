//! The judge of voting sets: it looks at the sets alone, not at how they came about.

use alloc::vec;

use conclave_core::{ProcessId, Seat};

use super::VotingSets;

/// Why some sets are not the voting sets of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Flaw {
    /// The view has no members.
    #[error("a view without members has no voting sets")]
    Empty,
    /// There is not one set for each member.
    #[error("there are {sets} voting sets for {members} members; each member needs one")]
    Count {
        /// How many sets there are.
        sets: usize,
        /// How many members the view has.
        members: usize,
    },
    /// A set names someone who is not a member.
    #[error("the voting set of process {owner} names {stranger}, who is not a member")]
    Stranger {
        /// Whose set it is.
        owner: ProcessId,
        /// Who is not a member.
        stranger: ProcessId,
    },
    /// There is a set of someone who is not a member.
    #[error("there is a voting set of process {owner}, who is not a member")]
    NotAMember {
        /// Whose set it is.
        owner: ProcessId,
    },
    /// A process is not in its own set.
    #[error("process {owner} is not in its own voting set")]
    OwnerMissing {
        /// Whose set it is.
        owner: ProcessId,
    },
    /// Two sets have no member in common: both their owners could enter at once.
    #[error(
        "the voting sets of processes {first} and {second} have no member in common, so both could \
         enter at once"
    )]
    Disjoint {
        /// The owner of one of them.
        first: ProcessId,
        /// The owner of the other.
        second: ProcessId,
    },
}

impl VotingSets {
    /// Looks at every set and at every pair: is each owner in its own set, and do any two sets have
    /// a member in common? Owners are looked at before pairs, both in seat order.
    pub fn check(&self) -> Result<(), Flaw> {
        let view = self.view();
        let words = self.len().div_ceil(64);
        // One row of bits for each set, one bit in it for each seat.
        let mut rows = vec![0_u64; self.len() * words];
        for ((seat, &owner), row) in view.members().iter().enumerate().zip(rows.chunks_mut(words)) {
            for &id in self.of(Seat::at(seat)) {
                let voter = view.seat(id).ok_or(Flaw::Stranger { owner, stranger: id })?.index();
                row[voter / 64] |= 1 << (voter % 64);
            }
            if row[seat / 64] & 1 << (seat % 64) == 0 {
                return Err(Flaw::OwnerMissing { owner });
            }
        }
        let sets = || view.members().iter().zip(rows.chunks(words));
        for (seat, (&first, ours)) in sets().enumerate() {
            for (&second, theirs) in sets().skip(seat + 1) {
                if ours.iter().zip(theirs).all(|(ours, theirs)| ours & theirs == 0) {
                    return Err(Flaw::Disjoint { first, second });
                }
            }
        }
        Ok(())
    }
}
