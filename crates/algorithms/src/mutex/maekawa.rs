//! Maekawa 1985: ask only your voting set. Any two voting sets share a voter, who votes for one.

pub mod deadlock_free;
pub mod plain;

pub use deadlock_free::Maekawa;
pub use plain::MaekawaPlain;
