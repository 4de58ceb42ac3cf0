//! What an algorithm is expected to cost: formulas, which never see a run.

use core::fmt;

/// What one measure of an algorithm is expected to cost, and what a run must show of it.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The quantity that the formula is about.
    pub measure: Measure,
    /// As it is written.
    pub formula: &'static str,
    /// As it is computed.
    pub value: fn(Size) -> f64,
    /// What a run must show of it.
    pub claim: Claim,
}

/// What a run must show of an expected cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// A run must show exactly this.
    Exact,
    /// A run must show this or less.
    AtMost,
    /// Nothing: it is what the literature quotes, to be looked at beside what is measured.
    Quoted,
}

/// The size of a system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size {
    /// Processes that ask for the lock.
    pub n: f64,
    /// The mean size of a voting set.
    pub k: f64,
}

/// What can be measured of an algorithm, in messages or delays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Measure {
    /// Messages to enter, of a lone entry.
    Enter,
    /// Messages to enter, of an entry that had to wait for another.
    EnterHavingWaited,
    /// Messages to enter once more, while nobody else wanted in meanwhile.
    EnterAgain,
    /// Messages to enter, of the last one when everybody asks at once.
    EnterLast,
    /// Messages to leave, of a lone entry.
    Leave,
    /// Messages to enter and to leave, of a lone entry; a multicast counts as one.
    Transmissions,
    /// Messages per lap while nobody wants in.
    IdleLap,
    /// Messages per entry when everybody asks at once, and again.
    Saturated,
    /// From the request to the entry, alone; the mean.
    ClientDelay,
    /// The shortest of these.
    ClientDelayMin,
    /// The longest of these.
    ClientDelayMax,
    /// How long leaving keeps the caller.
    LeaveDelay,
    /// From one holder's leaving to the next one's entry; the mean.
    SyncDelay,
    /// The shortest of these.
    SyncDelayMin,
    /// The longest of these.
    SyncDelayMax,
    /// Entries per message delay when everybody asks at once, and again, and holds for one delay.
    Throughput,
    /// Messages per entry that the busiest process handles, at the same time.
    LoadMax,
    /// Messages per entry that a process handles on average, at the same time.
    LoadMean,
    /// Messages of an election, when the one that calls it is the best placed.
    ElectionBest,
    /// As [`ElectionBest`](Self::ElectionBest), when the process known to be dead is not asked.
    ElectionBestSkipping,
    /// Messages of an election, when the one that calls it is the worst placed.
    ElectionWorst,
    /// Messages of an election that everybody calls at once; the mean over all placements.
    ElectionMean,
    /// The most of these.
    ElectionMost,
    /// From the call of an election to the last process knowing its result, when the one that
    /// calls it is the best placed.
    TurnaroundBest,
    /// As [`TurnaroundBest`](Self::TurnaroundBest), when the process known to be dead is not asked.
    TurnaroundBestSkipping,
    /// From the call of an election to the last process knowing its result, when the one that
    /// calls it is the worst placed.
    TurnaroundWorst,
    /// Messages of an election with one candidate alone.
    ElectionLone,
    /// From its call to the last process knowing its result.
    TurnaroundLone,
    /// Messages per round by which a leader stays in office.
    Renewal,
    /// How many are woken when the leader dies.
    Herd,
    /// Messages of a detector from one beat of a process to its next.
    Beats,
    /// Messages for each that an application asks for.
    PerSending,
}

impl Measure {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Enter => "enter",
            Measure::EnterHavingWaited => "enter, having waited",
            Measure::EnterAgain => "enter, again",
            Measure::EnterLast => "enter, last of all at once",
            Measure::Leave => "leave",
            Measure::Transmissions => "enter + leave, multicast as one",
            Measure::IdleLap => "idle, per lap",
            Measure::Saturated => "saturated, per entry",
            Measure::ClientDelay => "client delay",
            Measure::ClientDelayMin => "client delay, shortest",
            Measure::ClientDelayMax => "client delay, longest",
            Measure::LeaveDelay => "delay of leave",
            Measure::SyncDelay => "sync delay",
            Measure::SyncDelayMin => "sync delay, shortest",
            Measure::SyncDelayMax => "sync delay, longest",
            Measure::Throughput => "throughput",
            Measure::LoadMax => "load, busiest",
            Measure::LoadMean => "load, mean",
            Measure::ElectionBest => "election, best",
            Measure::ElectionBestSkipping => "election, best, the dead struck first",
            Measure::ElectionWorst => "election, worst",
            Measure::ElectionMean => "election, all start, mean",
            Measure::ElectionMost => "election, all start, most",
            Measure::TurnaroundBest => "turnaround, best",
            Measure::TurnaroundBestSkipping => "turnaround, best, the dead struck first",
            Measure::TurnaroundWorst => "turnaround, worst",
            Measure::ElectionLone => "election, lone candidate",
            Measure::TurnaroundLone => "turnaround, lone candidate",
            Measure::Renewal => "renewal, per round",
            Measure::Herd => "woken by the leader's death",
            Measure::Beats => "beats per T",
            Measure::PerSending => "per sending",
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Cost {
    /// A figure that a run must show.
    pub const fn exactly(measure: Measure, formula: &'static str, value: fn(Size) -> f64) -> Self {
        Self { measure, formula, value, claim: Claim::Exact }
    }

    /// A figure that no run may exceed.
    pub const fn at_most(measure: Measure, formula: &'static str, value: fn(Size) -> f64) -> Self {
        Self { measure, formula, value, claim: Claim::AtMost }
    }

    /// Whether a run must show exactly this.
    pub const fn is_exact(&self) -> bool {
        matches!(self.claim, Claim::Exact)
    }

    /// A figure that the literature quotes.
    pub const fn quoted(measure: Measure, formula: &'static str, value: fn(Size) -> f64) -> Self {
        Self { measure, formula, value, claim: Claim::Quoted }
    }
}

/// What lecture notes say of a cost, and why it differs from what is measured, if it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The lecture notes that say so.
    pub document: Document,
    /// The quantity that the notes speak of.
    pub measure: Measure,
    /// The figure or formula that the notes give.
    pub figure: &'static str,
    /// Why it differs; `None` where it does not.
    pub differs: Option<&'static str>,
}

/// Four sets of lecture notes that give figures; they disagree with each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Document {
    /// "Coordination, part 2".
    Coordination,
    /// "Mutual Exclusion (Mutex) and Election".
    MutexAndElection,
    /// Slides: "Mutual Exclusion within Distributed Systems".
    Slides,
    /// "Week 1 - Leader Election", whose second half is mutual exclusion.
    WeekOne,
}

impl Document {
    /// A letter for narrow columns.
    pub const fn letter(self) -> char {
        match self {
            Document::Coordination => 'A',
            Document::MutexAndElection => 'B',
            Document::Slides => 'C',
            Document::WeekOne => 'D',
        }
    }

    /// The title that the notes bear.
    pub const fn title(self) -> &'static str {
        match self {
            Document::Coordination => "Coordination, part 2",
            Document::MutexAndElection => "Mutual Exclusion (Mutex) and Election",
            Document::Slides => "Mutual Exclusion within Distributed Systems (slides)",
            Document::WeekOne => "Week 1 - Leader Election",
        }
    }

    /// All four, in the order of their letters.
    pub const ALL: [Self; 4] =
        [Self::Coordination, Self::MutexAndElection, Self::Slides, Self::WeekOne];
}

impl Remark {
    /// The notes say what is measured.
    pub const fn agrees(document: Document, measure: Measure, figure: &'static str) -> Self {
        Self { document, measure, figure, differs: None }
    }

    /// The notes say something else, for this reason.
    pub const fn differs(
        document: Document,
        measure: Measure,
        figure: &'static str,
        why: &'static str,
    ) -> Self {
        Self { document, measure, figure, differs: Some(why) }
    }
}
