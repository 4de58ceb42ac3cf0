//! What threads share, and how they work in step.
//!
//! Without the feature `threads` there is one, the caller's: nothing is locked, and nothing needs
//! an operating system. What is found is the same.

#[cfg(not(feature = "threads"))]
mod alone;
#[cfg(feature = "threads")]
mod threads;

#[cfg(not(feature = "threads"))]
pub(crate) use self::alone::{Crew, Mutex, OnceLock, RwLock, THREADS_MAX};
#[cfg(feature = "threads")]
pub(crate) use self::threads::{Crew, Mutex, OnceLock, RwLock, THREADS_MAX};

#[cfg(not(feature = "threads"))]
pub use self::alone::Shared;
#[cfg(feature = "threads")]
pub use self::threads::Shared;
