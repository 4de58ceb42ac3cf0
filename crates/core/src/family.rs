//! What a protocol is for, as far as its application and those who watch it can see.

use core::fmt::Debug;
use core::hash::Hash;

use crate::{ProcessId, Protocol};

/// A family of protocols that can stand in for each other: they are asked for the same, and say the
/// same to their applications. [Locks](crate::mutex::Locks),
/// [elections](crate::election::Elections) and [detectors](crate::detector::Detectors) are three.
///
/// Workloads, judges, drawings and drivers are written once for a family. Whoever adds one brings
/// its words here, and what is promised in them to the judge; nothing that exists changes for it.
pub trait Family: Sized + 'static {
    /// What it is called, e.g. in a trace.
    const NAME: &'static str;
    /// What an application can ask for.
    type Command: Clone + Debug + Eq + Hash + Send + Sync;
    /// What an application is told.
    type Notice: Clone + Debug + Eq + Hash + Send + Sync;
    /// What is known already as a system begins, beside who takes part: by default, nothing.
    type Opening: Clone + Debug + Default + Send + Sync;

    /// What the application of `me` counts as told before anything happens.
    fn told_at_first(_: &Self::Opening, _me: ProcessId) -> Option<Self::Notice> {
        None
    }
}

/// What an application can ask a `P` for.
pub type CommandOf<P> = <<P as Protocol>::Family as Family>::Command;

/// What an application is told by a `P`.
pub type NoticeOf<P> = <<P as Protocol>::Family as Family>::Notice;

/// What is known already as a system of `P`s begins.
pub type OpeningOf<P> = <<P as Protocol>::Family as Family>::Opening;
