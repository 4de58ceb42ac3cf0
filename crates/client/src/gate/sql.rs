//! A row that refuses late holders.

use conclave_core::Fence;
use thiserror::Error;

use super::NOBODY;

/// Guards one row of a database: the fence is a column of the row, and every `UPDATE` compares it.
///
/// The comparison is part of the statement that writes, so the database does both in one step. To
/// `SELECT` the fence first and `UPDATE` afterwards would leave a gap for a late holder.
///
/// ```sql
/// ALTER TABLE jobs ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
///
/// UPDATE jobs SET state = $2, fence = $1 WHERE id = $3 AND fence <= $1;
/// ```
///
/// The gate writes the two pieces with the fence in them, turns the fence into a number for the
/// database, and reads the count of updated rows. That count is all the answer there is: a late
/// `UPDATE` is no error for the database, it just changes nothing. Whoever forgets to look takes
/// that for success.
///
/// ```
/// use conclave_client::{Fence, gate::{Repeat, SqlGate}};
///
/// let gate = SqlGate::new("fence", Repeat::Allowed);
/// let update = format!(
///     "UPDATE jobs SET state = $2, {} WHERE id = $3 AND {}",
///     gate.assignment("$1"),
///     gate.condition("$1"),
/// );
/// assert_eq!(update, "UPDATE jobs SET state = $2, fence = $1 WHERE id = $3 AND fence <= $1");
///
/// let fence = Fence(7);
/// let bound_to_1 = gate.value(fence)?;
/// # fn execute(_: &str, _: i64) -> u64 { 1 }
/// let rows = execute(&update, bound_to_1);
/// gate.admitted(rows, fence)?; // zero rows is an error
/// # Ok::<(), conclave_client::gate::SqlRefusal>(())
/// ```
///
/// # Details that matter
///
/// - *`OR`*: it binds weaker than `AND`. Write `WHERE (id = $2 OR ...) AND fence <= $1`.
/// - *`NULL`*: a fence that is `NULL` admits nobody. Declare the column `NOT NULL DEFAULT 0`.
/// - *Several rows*: each row would decide for itself, and a late holder could change some of them.
///   Give them one guard row. In one transaction update the guard row first, check
///   [`admitted`](Self::admitted), then write the others; roll back on an error.
/// - *A row that may not exist yet*: `INSERT INTO jobs ... ON CONFLICT (id) DO UPDATE SET ...,
///   fence = excluded.fence WHERE jobs.fence <= excluded.fence`. The condition is that of a gate
///   on the column `jobs.fence`, with `excluded.fence` for a placeholder.
/// - *Deleting the row* forgets its fence. Mark it as deleted instead.
/// - *MySQL* counts rows whose values changed, so that a holder which writes the same values twice
///   gets zero. Ask for the rows that were found (`CLIENT_FOUND_ROWS`).
///
/// # Quoting
///
/// The texts given here go into the statement as they are. They are `&'static str`: part of the
/// program, and so never what a user has typed. Only the fence's number varies, and that is bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqlGate {
    column: &'static str,
    repeat: Repeat,
}

/// Whether the same fence may write again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeat {
    /// `fence <= $1`: a holder may write as often as it likes. The usual choice.
    Allowed,
    /// `fence < $1`: one write for each fence, a second one by the same holder is refused. For a
    /// write that must not be done twice, for instance one that is sent again because its answer
    /// got lost.
    Refused,
}

/// Why a write into a row does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SqlRefusal {
    /// No row was updated. The row's fence is higher, or there is no such row: the database does
    /// not say which. With [`Repeat::Refused`] it may also be the holder's own second write.
    #[error("fence {fence} updated no row: {}, or there is no such row", late(*.repeat))]
    NoRow {
        /// The fence that was refused.
        fence: Fence,
        /// What the gate says to a second write.
        repeat: Repeat,
    },
    /// The statement updated several rows, or the driver could not tell how many. It is not known
    /// whether all that should have been written was: roll back.
    #[error("fence {fence} did not update exactly one row, which is all that a gate can guard")]
    NotOneRow {
        /// The fence it was written with.
        fence: Fence,
    },
    /// The fence was 0, which no holder ever has.
    #[error("{NOBODY}")]
    Nobody,
    /// The fence is 2^63 or more. As a `BIGINT` it would be negative, below every other.
    #[error("fence {0} does not fit into a BIGINT")]
    TooHigh(Fence),
}

fn late(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Allowed => "it is late",
        Repeat::Refused => "it is late or has written already",
    }
}

impl SqlGate {
    /// A gate on this column. A quoted or qualified name will do: `"Fence"`, `jobs.fence`.
    pub const fn new(column: &'static str, repeat: Repeat) -> Self {
        Self { column, repeat }
    }

    /// For the `SET` clause: `fence = $1`.
    pub fn assignment(&self, placeholder: &'static str) -> String {
        format!("{} = {placeholder}", self.column)
    }

    /// For the `WHERE` clause, after an `AND`: `fence <= $1`, or `fence < $1` if repeats are
    /// refused.
    pub fn condition(&self, placeholder: &'static str) -> String {
        format!("{} {} {placeholder}", self.column, self.comparison())
    }

    /// What stands between the column and the fence, for whoever builds statements otherwise.
    pub const fn comparison(&self) -> &'static str {
        match self.repeat {
            Repeat::Allowed => "<=",
            Repeat::Refused => "<",
        }
    }

    /// The number to bind. Never bind a fence that did not go through here: fence 0 would pass a
    /// row that nobody has written yet.
    ///
    /// # Errors
    /// If it is fence 0, or too high for a `BIGINT`.
    pub fn value(&self, fence: Fence) -> Result<i64, SqlRefusal> {
        if fence == Fence(0) {
            return Err(SqlRefusal::Nobody);
        }
        i64::try_from(fence.0).map_err(|_| SqlRefusal::TooHigh(fence))
    }

    /// Whether the write took place, from the count of rows that the driver reports as updated.
    ///
    /// # Errors
    /// If it was not exactly one, or if the fence is none that [`value`](Self::value) allows.
    pub fn admitted(
        &self,
        rows_updated: impl TryInto<u64>,
        fence: Fence,
    ) -> Result<(), SqlRefusal> {
        self.value(fence)?;
        // Drivers count in different types; some say -1 where they do not know.
        match rows_updated.try_into() {
            Ok(1) => Ok(()),
            Ok(0) => Err(SqlRefusal::NoRow { fence, repeat: self.repeat }),
            _ => Err(SqlRefusal::NotOneRow { fence }),
        }
    }
}
