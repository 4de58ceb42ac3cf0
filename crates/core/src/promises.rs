//! What an algorithm keeps, as long as it gets what it needs: what a judge holds it to.

/// What an algorithm keeps, by what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Promises {
    /// Mutual exclusion: never two holders, and every entry has a higher fence than all before it.
    Mutex {
        /// Every request is granted.
        liveness: bool,
        /// Requests are granted in the order in which they happened.
        ordering: bool,
    },
    /// Election: whoever takes part decides or crashes.
    Election {
        /// Who is elected has the largest id of all that are up, and in the end all agree.
        largest: bool,
        /// At most one is elected in a term.
        terms: bool,
        /// At most one leads at any time, also where terms differ, as long as no clock drifts more
        /// than is allowed for.
        one_at_a_time: bool,
    },
    /// Failure detection: the dead are suspected, and nobody else is.
    Detector,
}

impl Promises {
    /// Whether requests are granted in the order in which they happened.
    pub const fn ordering(self) -> bool {
        matches!(self, Self::Mutex { ordering: true, .. })
    }

    /// The same, as far as a judge goes by it: whoever waits in vain is seen without a promise.
    #[must_use]
    pub const fn as_judged(self) -> Self {
        match self {
            Self::Mutex { ordering, .. } => Self::Mutex { liveness: true, ordering },
            other => other,
        }
    }

    /// Whether everybody who waits is served.
    pub const fn liveness(self) -> bool {
        !matches!(self, Self::Mutex { liveness: false, .. })
    }
}
