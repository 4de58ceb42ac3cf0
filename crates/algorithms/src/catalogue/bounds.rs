//! Within which bounds an algorithm is searched.

/// A search of all that an algorithm can do, as large as it is worth its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// How many take part, beside a coordinator.
    pub n: u32,
    /// How often each asks, or calls.
    pub requests: u8,
    /// How many of them do: the first ones; `None` for all.
    pub askers: Option<u32>,
    /// Whether messages of one channel can overtake each other.
    pub is_unordered: bool,
    /// In how many ticks a message has arrived; `None` where time is not counted.
    pub sync: Option<u16>,
    /// From beat to beat, in ticks, where there are beats.
    pub beat: Option<u16>,
    /// How many processes may die.
    pub crashes: u8,
    /// Whether what the dead had sent can be lost with them.
    pub is_lossy: bool,
    /// How many of the dead come back.
    pub returns: u8,
    /// How many messages are lost.
    pub losses: u8,
    /// Terms up to this one, where they would grow for ever.
    pub terms: Option<u64>,
    /// How many timers run out in all, where they would for ever.
    pub timeouts: Option<u8>,
    /// Whether only what must never happen is asked, and not what must happen eventually.
    pub is_safety: bool,
    /// Whether it is known to be refuted: it shows where the algorithm ends.
    pub is_refuted: bool,
    /// Whether it takes minutes, and is left out where that is too long.
    pub is_large: bool,
    /// Whether it is known that the usual budget ends it: the table says how far it comes.
    pub is_beyond: bool,
}

impl Bounds {
    /// So many processes that ask so often, with FIFO channels and without faults or time.
    pub const fn of(n: u32, requests: u8) -> Self {
        Self {
            n,
            requests,
            askers: None,
            is_unordered: false,
            sync: None,
            beat: None,
            crashes: 0,
            is_lossy: false,
            returns: 0,
            losses: 0,
            terms: None,
            timeouts: None,
            is_safety: false,
            is_refuted: false,
            is_large: false,
            is_beyond: false,
        }
    }

    /// These bounds, where only the first so many processes ask.
    #[must_use]
    pub const fn by(self, askers: u32) -> Self {
        Self { askers: Some(askers), ..self }
    }

    /// These bounds, with channels that keep no order.
    #[must_use]
    pub const fn unordered(self) -> Self {
        Self { is_unordered: true, ..self }
    }

    /// These bounds, in ticks, where a message has arrived in so many.
    #[must_use]
    pub const fn sync(self, bound: u16) -> Self {
        Self { sync: Some(bound), ..self }
    }

    /// These bounds, with so many ticks from beat to beat.
    #[must_use]
    pub const fn beat(self, ticks: u16) -> Self {
        Self { beat: Some(ticks), ..self }
    }

    /// These bounds, where so many die.
    #[must_use]
    pub const fn crashes(self, crashes: u8) -> Self {
        Self { crashes, ..self }
    }

    /// These bounds, where what the dead had sent and has not arrived can be lost with them.
    #[must_use]
    pub const fn lossy(self) -> Self {
        Self { is_lossy: true, ..self }
    }

    /// These bounds, where so many of the dead come back.
    #[must_use]
    pub const fn returns(self, returns: u8) -> Self {
        Self { returns, ..self }
    }

    /// These bounds, where so many messages are lost.
    #[must_use]
    pub const fn losses(self, losses: u8) -> Self {
        Self { losses, ..self }
    }

    /// These bounds, for safety alone: so many terms, and so many timers that run out.
    #[must_use]
    pub const fn up_to(self, terms: u64, timeouts: u8) -> Self {
        Self { terms: Some(terms), timeouts: Some(timeouts), ..self }
    }

    /// These bounds, for safety alone.
    #[must_use]
    pub const fn safely(self) -> Self {
        Self { is_safety: true, ..self }
    }

    /// These bounds, for a search that is known to be refuted.
    #[must_use]
    pub const fn refuted(self) -> Self {
        Self { is_refuted: true, ..self }
    }

    /// These bounds, for a search that takes minutes.
    #[must_use]
    pub const fn large(self) -> Self {
        Self { is_large: true, ..self }
    }

    /// These bounds, for a search that takes more than the usual budget.
    #[must_use]
    pub const fn beyond(self) -> Self {
        Self { is_large: true, is_beyond: true, ..self }
    }
}
