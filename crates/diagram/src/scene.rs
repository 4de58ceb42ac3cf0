//! What is in a picture and where, before it becomes SVG: the stage that tests look at.
//!
//! Everything says both what it stands for, in the words and times of the trace, and where it is
//! drawn. Whatever reaches beyond the window is cut at the edge of the plot.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use conclave_core::{KindIndex, Seat};
use conclave_observe::trace::{Trace, brief};
use conclave_observe::{BarSort, LockName, LossCause, MarkSort, MessageId, Said, Side, Time};

use crate::Options;
use crate::geometry::{Area, Direction, Point, Px, Room};
use crate::style;

/// A picture of a run: everything that is drawn, in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// How wide it is.
    pub width: Px,
    /// How high it is.
    pub height: Px,
    /// How wide it is shown: a slide is drawn small and shown large, so that all of it is large.
    pub shown: Px,
    /// The name of the picture.
    pub title: String,
    /// The picture in words, for whoever cannot see it.
    pub description: String,
    /// The part of the run that it shows: all that happens from the first time to the second.
    pub window: (Time, Time),
    /// The run, cut into pieces one below the other; a short run is one piece.
    pub strips: Vec<Strip>,
    /// Samples of what is drawn; their texts are among the labels.
    pub legend: Vec<LegendEntry>,
    /// All that is written.
    pub labels: Vec<Label>,
}

/// A piece of a run that is drawn from left to right, with its own time axis. Between one strip and
/// the next nothing happens; what lasts that long is cut at the edges of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strip {
    /// All that happens from the first time to the second.
    pub window: (Time, Time),
    /// How long nothing happened before it, since the strip above, if that is long.
    pub quiet_before: Option<Time>,
    /// Where lifelines, bars and arrows are.
    pub plot: Area,
    /// The marks of the time axis.
    pub ticks: Vec<Tick>,
    /// One per process, in the order of seats.
    pub lifelines: Vec<Lifeline>,
    /// Waiting and holding; taking part in an election, and leading.
    pub bars: Vec<Bar>,
    /// Messages, in the order in which they were sent.
    pub arrows: Vec<Arrow>,
    /// Crashes and returns, then what processes are told, ask for and suspect.
    pub marks: Vec<Mark>,
    /// Partitions, one band per process.
    pub bands: Vec<Band>,
    /// Where a partition runs between two neighbours.
    pub walls: Vec<Wall>,
    /// Where there is more than one holder, or more than one leader.
    pub clashes: Vec<ClashBand>,
    /// Timers, as thin bars below the lifelines.
    pub timers: Vec<TimerBar>,
    /// Delays, if they were asked for.
    pub brackets: Vec<Bracket>,
    /// Messages to oneself.
    pub own: Vec<OwnLoop>,
    /// Quiet stretches, drawn shorter than they are.
    pub folds: Vec<Fold>,
    /// Who waits for whom at the end of the run.
    pub waits: Vec<Wait>,
    /// The loop in which the run ends, if it does.
    pub repeat: Option<Repeat>,
}

/// A mark of the time axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tick {
    /// The time that it marks.
    pub at: Time,
    /// How far to the right it is drawn.
    pub x: Px,
}

/// The line along which a process lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lifeline {
    /// The process whose line it is, by seat.
    pub seat: Seat,
    /// How far down it is drawn.
    pub y: Px,
    /// Its pieces: none while the process is down.
    pub strokes: Vec<Stroke>,
}

/// A piece of a lifeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stroke {
    /// Where it begins.
    pub left: Px,
    /// Where it ends.
    pub right: Px,
    /// Whether the process is paused, so that the line is dotted.
    pub is_paused: bool,
}

/// What a process does for a while, as far as its application knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BarKind {
    /// What it does, such as waiting or holding.
    pub sort: &'static BarSort,
    /// Of which lock, where there are several.
    pub lock: LockName,
    /// The first number of the word that began it, such as a fence.
    pub number: u64,
}

impl BarKind {
    /// What the word begins.
    pub fn of(sort: &'static BarSort, said: &Said) -> Self {
        Self { sort, lock: said.lock, number: said.numbers[0] }
    }

    /// Whether its number stands on it.
    pub(crate) fn is_numbered(&self) -> bool {
        self.sort.number.is_some() && (self.number > 0 || self.sort.is_numbered_from_0)
    }

    /// What stands on it, if anything does.
    pub(crate) fn label(&self) -> Option<String> {
        let number = self.is_numbered().then(|| brief::fence(self.number));
        match (self.lock.0, number) {
            (0, number) => number,
            (lock, Some(number)) => Some(format!("lock {lock} {number}")),
            (lock, None) => Some(format!("lock {lock}")),
        }
    }
}

/// A bar on a lifeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bar {
    /// The process on whose lifeline it lies, by seat.
    pub seat: Seat,
    /// What the process does meanwhile.
    pub kind: BarKind,
    /// Since when, in the trace.
    pub from: Time,
    /// Until when, if the trace tells.
    pub to: Option<Time>,
    /// The rectangle that it fills.
    pub area: Area,
}

/// Why a process does nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AbsenceKind {
    /// It crashed, and has not returned.
    Down,
    /// It stopped for a while.
    Paused,
}

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// It arrived at its receiver.
    Received {
        /// When it arrived.
        at: Time,
    },
    /// It did not arrive.
    Lost {
        /// What lost it.
        cause: LossCause,
    },
    /// The trace does not tell: it was on its way when the trace ended.
    InFlight,
}

/// A message, or one more copy of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arrow {
    /// The message's number in the trace.
    pub message: MessageId,
    /// Which of the trace's kinds of messages it is.
    pub kind: KindIndex,
    /// Its sender, by seat.
    pub from: Seat,
    /// Its receiver, by seat.
    pub to: Seat,
    /// When it was sent.
    pub sent: Time,
    /// What became of it.
    pub fate: Fate,
    /// Whether the network made it by duplicating another.
    pub is_copy: bool,
    /// Whether it is one of many that are sent for ever, so that it is drawn faintly.
    pub is_background: bool,
    /// What it says, in full.
    pub text: String,
    /// Where its drawn part begins: at its sender, or at the edge of the plot.
    pub tail: Point,
    /// Where its drawn part ends: at its receiver, where it was lost, or at the edge of the plot.
    pub head: Point,
    /// Whether it began before the plot does.
    pub enters: bool,
    /// Whether it ends after the plot does.
    pub leaves: bool,
    /// How far its middle is bent aside, so that it does not hide another with the same ends.
    pub bow: Px,
}

/// Something that happens to a process at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// The process that it happens to, by seat.
    pub seat: Seat,
    /// When it happens.
    pub at: Time,
    /// What happens, and how that is drawn.
    pub kind: MarkKind,
    /// Where its middle is drawn.
    pub place: Point,
}

/// What a mark stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkKind {
    /// A crash: a cross.
    Crash,
    /// A return: a ring.
    Return,
    /// Another process took the name of one that crashed: a ring.
    Replace,
    /// Its application asks for something or is told something.
    Said {
        /// What is asked for or told.
        said: Said,
        /// How such a mark looks.
        sort: &'static MarkSort,
    },
}

impl MarkKind {
    /// What a legend calls marks of its kind; nothing, if every one of them is labelled.
    pub(crate) fn meaning(self) -> Option<&'static str> {
        Some(match self {
            Self::Crash | Self::Return | Self::Replace => return None,
            Self::Said { sort, .. } => sort.meaning,
        })
    }
}

/// A process is on one side of a partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Band {
    /// The partition's number, as in the trace.
    pub partition: u16,
    /// The process, by seat.
    pub seat: Seat,
    /// On which side.
    pub side: Side,
    /// When the partition begins.
    pub from: Time,
    /// Until when, if the trace tells.
    pub to: Option<Time>,
    /// The rectangle that it fills.
    pub area: Area,
}

/// Where a partition runs between two neighbouring lifelines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wall {
    /// The partition's number, as in the trace.
    pub partition: u16,
    /// Where it begins.
    pub left: Point,
    /// How far to the right it reaches.
    pub right: Px,
}

/// What must not be: an interval with more than one holder or leader, or what a judge found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClashBand {
    /// What is wrong: "two holders".
    pub words: String,
    /// Whom it is about.
    pub holders: Vec<Seat>,
    /// When it begins to be so.
    pub from: Time,
    /// Until when, if the trace tells.
    pub to: Option<Time>,
    /// Where: from the uppermost of their bars to the lowest.
    pub area: Area,
}

/// A timer, from its setting until it runs out or is cancelled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimerBar {
    /// The process that set it, by seat.
    pub seat: Seat,
    /// What it is called.
    pub name: String,
    /// When it was set.
    pub from: Time,
    /// Until when, if the trace tells.
    pub to: Option<Time>,
    /// Whether it ran out; otherwise it was cancelled, or is still set.
    pub runs_out: bool,
    /// How far below its lifeline it is: others are set at the same time.
    pub row: usize,
    /// The rectangle that it fills.
    pub area: Area,
}

/// What a bracket measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DelaySort {
    /// From the request to the entry of one who is alone all the time: the client delay.
    Client,
    /// From the leaving of one to the entry of another that waited: the synchronisation delay.
    Sync,
}

/// A bracket over a delay that ends with an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bracket {
    /// Who entered.
    pub seat: Seat,
    /// What it measures.
    pub sort: DelaySort,
    /// Since when.
    pub from: Time,
    /// When it entered.
    pub to: Time,
    /// Where it begins.
    pub left: Point,
    /// How far to the right it reaches.
    pub right: Px,
    /// Whether it began before the strip does.
    pub is_open: bool,
}

/// All that a process says to itself at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnLoop {
    /// The process that speaks to itself, by seat.
    pub seat: Seat,
    /// When that happens.
    pub at: Time,
    /// What it says to itself, in words.
    pub words: String,
    /// Where its lifeline is then.
    pub place: Point,
}

/// A stretch of time in which nothing is to be seen, drawn shorter than it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fold {
    /// Its first moment.
    pub from: Time,
    /// Its last moment.
    pub to: Time,
    /// Where it begins.
    pub left: Px,
    /// Where it ends.
    pub right: Px,
}

impl Fold {
    /// Where the strip begins and ends that is torn out of the picture, its teeth included: nothing
    /// is to be seen there of what it crosses.
    pub fn tear(&self) -> (Px, Px) {
        let middle = (self.left + self.right).half();
        (middle - style::TEAR_HALF - style::TOOTH, middle + style::TEAR_HALF + style::TOOTH)
    }
}

/// A process says that it waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The process that waits, by seat.
    pub waiter: Seat,
    /// The process that it waits for, by seat.
    pub whom: Seat,
    /// Whether it is part of a cycle: a deadlock.
    pub is_in_cycle: bool,
    /// Where the arrow begins.
    pub tail: Point,
    /// Where it ends.
    pub head: Point,
    /// How far to the right it swings.
    pub apex: Px,
}

/// The part of a run that comes again and again, for ever: between two lines across all processes,
/// with an arrow above that leads from the second back to the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeat {
    /// When it begins for the first time.
    pub from: Time,
    /// When it ends for the first time.
    pub to: Time,
    /// Where it begins, or the edge of the plot.
    pub left: Px,
    /// Where it ends, or the edge of the plot.
    pub right: Px,
    /// Whether its beginning is in the picture.
    pub begins: bool,
    /// Whether its end is in the picture.
    pub ends: bool,
}

impl Repeat {
    /// Where its lines are, as far as they are in the picture.
    pub fn edges(&self) -> impl Iterator<Item = Px> + use<> {
        let edges = [(self.begins, self.left), (self.ends, self.right)];
        edges.into_iter().filter(|(is_seen, _)| *is_seen).map(|(_, x)| x)
    }
}

/// A sample of something that is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LegendEntry {
    /// The kind of thing that it is a sample of.
    pub sample: Sample,
    /// The middle of its left side.
    pub place: Point,
}

/// What a legend explains.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sample {
    /// Messages of that kind.
    Kind(KindIndex),
    /// Messages of that kind, where they are drawn faintly.
    Background(KindIndex),
    /// A bar of that sort, such as waiting or holding.
    Bar(&'static BarSort),
    /// A small mark.
    Mark(MarkKind),
    /// A message that does not arrive.
    Lost,
    /// A copy that the network made.
    Copy,
    /// A process that pauses.
    Paused,
    /// A timer that runs out.
    Timer,
    /// A bracket.
    Delay(DelaySort),
    /// A message to oneself.
    Own,
    /// A folded stretch.
    Fold,
}

/// A text of the picture, and the room that it takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// What it is about.
    pub role: LabelRole,
    /// What is written.
    pub text: String,
    /// The room that it takes.
    pub room: Room,
    /// Where in that room it stands, should it turn out to be narrower.
    pub anchor: Anchor,
    /// The size of its font.
    pub size: Px,
}

/// What a label is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LabelRole {
    /// The whole picture.
    Title,
    /// What is not drawn.
    Notice,
    /// A lifeline: which process it belongs to.
    Process,
    /// A mark of the time axis.
    Tick,
    /// The unit of time.
    Axis,
    /// The length of a folded stretch.
    Fold,
    /// A partition: who is on which side.
    Partition,
    /// Too many holders, or leaders.
    Clash,
    /// The number of a holder or the term of a leader, on its bar.
    Fence,
    /// That number, beside a bar that is too short for it.
    FenceAside,
    /// A crash, a return or a pause.
    Mark,
    /// What a small mark stands for.
    Note,
    /// A point of that curve, by its index.
    Curve(KindIndex),
    /// The message of an arrow.
    Message {
        /// In which strip.
        strip: usize,
        /// Which of its arrows.
        arrow: usize,
    },
    /// What a timer is called.
    Timer,
    /// How long a delay is.
    Delay,
    /// What a process says to itself.
    Own,
    /// Who waits for whom.
    WaitsFor,
    /// The loop in which the run ends.
    Repeat,
    /// An entry of the legend.
    Legend,
    /// What is to be said below the picture.
    Caption,
}

/// Where a text stands in its room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
}

impl Scene {
    /// Decides what is drawn of a trace, and where.
    pub fn of(trace: &Trace, options: &Options) -> Self {
        crate::layout::lay_out(trace, options)
    }

    /// The picture as SVG.
    pub fn to_svg(&self) -> String {
        crate::svg::write(self)
    }
}

impl Label {
    /// A text whose room is centred there and runs in that direction.
    pub(crate) fn tilted(
        role: LabelRole,
        text: String,
        size: Px,
        center: Point,
        direction: Direction,
    ) -> Self {
        let half_width = crate::text::width(&text, size).half();
        let room = Room { center, direction, half_width, half_height: size.scaled(6, 10) };
        Self { role, text, room, anchor: Anchor::Middle, size }
    }

    /// A text whose middle is there.
    pub(crate) fn centred(role: LabelRole, text: String, size: Px, center: Point) -> Self {
        Self::tilted(role, text, size, center, Direction::RIGHT)
    }

    /// A text that begins there; `start` is the middle of its left side.
    pub(crate) fn beginning(role: LabelRole, text: String, size: Px, start: Point) -> Self {
        let center = Point::new(start.x + crate::text::width(&text, size).half(), start.y);
        Self { anchor: Anchor::Start, ..Self::centred(role, text, size, center) }
    }
}
