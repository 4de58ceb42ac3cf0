//! What timers are set to: all times of a run that the members agreed on.

use core::time::Duration;

/// Times that the members agreed on. Each algorithm takes what it needs; all follow from `bound`
/// unless they are given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timing {
    /// D: how long a message takes at most, as far as the members believe.
    pub bound: Duration,
    /// T of the bully: how long an answer is waited for.
    pub answer: Option<Duration>,
    /// T' of the bully: how long the announcement is waited for, after an answer.
    pub announcement: Option<Duration>,
    /// Whether the bully strikes the dead coordinator from the list of those it asks.
    pub skip_dead: bool,
    /// T of detectors: the time from beat to beat.
    pub beat: Option<Duration>,
    /// How suspicious the accrual detector must be, in powers of ten; in hundredths.
    pub phi_hundredths: u32,
    /// How long a master leads without hearing from a majority again.
    pub lease: Option<Duration>,
    /// After how long without a word the store closes a session.
    pub session: Option<Duration>,
}

/// Which of these times an algorithm takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Setting {
    /// It takes [`Timing::bound`].
    Bound,
    /// It takes [`Timing::answer`].
    Answer,
    /// It takes [`Timing::announcement`].
    Announcement,
    /// It takes [`Timing::skip_dead`].
    SkipDead,
    /// It takes [`Timing::beat`].
    Beat,
    /// It takes [`Timing::phi_hundredths`].
    Phi,
    /// It takes [`Timing::lease`].
    Lease,
    /// It takes [`Timing::session`].
    Session,
}

impl Setting {
    /// All settings, in the order in which they are listed to people.
    pub const ALL: [Self; 8] = [
        Self::Bound,
        Self::Answer,
        Self::Announcement,
        Self::SkipDead,
        Self::Beat,
        Self::Phi,
        Self::Lease,
        Self::Session,
    ];
}

impl Timing {
    /// All times as they follow from the bound.
    pub const fn of(bound: Duration) -> Self {
        Self {
            bound,
            answer: None,
            announcement: None,
            skip_dead: false,
            beat: None,
            phi_hundredths: 800,
            lease: None,
            session: None,
        }
    }

    /// T of the bully: an election and its answer, unless it is given.
    pub fn answer(&self) -> Duration {
        self.answer.unwrap_or(2 * self.bound)
    }

    /// T' of the bully: five transmissions, unless it is given.
    pub fn announcement(&self) -> Duration {
        self.announcement.unwrap_or(5 * self.bound)
    }

    /// T of detectors: ten transmissions, unless it is given.
    pub fn beat(&self) -> Duration {
        self.beat.unwrap_or(10 * self.bound)
    }

    /// The lease of a master: twenty transmissions, unless it is given.
    pub fn lease(&self) -> Duration {
        self.lease.unwrap_or(20 * self.bound)
    }

    /// The session of a store: thirty transmissions, unless it is given.
    pub fn session(&self) -> Duration {
        self.session.unwrap_or(30 * self.bound)
    }
}
