//! What applications ask for and are told, in the words of a family.

use alloc::string::String;
use core::fmt;
use core::hash::{Hash, Hasher};

use conclave_core::{ProcessId, Promises, Seat};

use crate::What;

/// Something that an application asked for or was told: one word of its family, and what belongs to
/// it.
#[derive(Clone, Copy)]
pub struct Said {
    /// Which word of the family it is.
    pub word: &'static Word,
    /// Which lock it is about, where there are several; 0 where there is one.
    pub lock: LockName,
    /// Whom it speaks of, if the word speaks of somebody.
    pub whom: Option<Seat>,
    /// As many numbers as the word has, and zeros.
    pub numbers: [u64; 2],
}

/// The name of a lock, in a run that has many: a small number in the lab.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LockName(pub u32);

/// A word of a family.
pub struct Word {
    /// As it stands in a trace.
    pub name: &'static str,
    /// No other word of the family has this number.
    pub code: u8,
    /// Whether an application asks for it, or is told it.
    pub is_asked: bool,
    /// What a trace calls the process that it speaks of, if it speaks of one.
    pub whom: Option<&'static str>,
    /// What a trace calls its numbers; two at most.
    pub numbers: &'static [&'static str],
    /// A sentence whose subject is the process: "enters with fence 3".
    pub sentence: Tell,
    /// How it is said in a run that is explained step by step, where it stands out: "IN, with fence
    /// 3".
    pub step: Tell,
    /// How it is drawn.
    pub picture: Picture,
    /// What somebody who plans a run calls the moments at which it is said.
    pub moments: &'static [Moment],
}

/// A moment in the life of a process that a plan can name: `crash 2 on entering`.
#[derive(Debug)]
pub struct Moment {
    /// Its name, which no other moment of the family has.
    pub name: &'static str,
    /// Of whom the word has to speak.
    pub whose: Whose,
}

/// Of whom a word has to speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whose {
    /// It may speak of anybody, or of nobody.
    Anybodys,
    /// It must speak of the process that it is said to.
    Own,
    /// It must speak of another process.
    Others,
}

impl Whose {
    /// Whether what was said to that process speaks of such a one.
    pub fn is_met(self, said: &Said, seat: Seat) -> bool {
        match self {
            Self::Anybodys => true,
            Self::Own => said.whom == Some(seat),
            Self::Others => said.whom != Some(seat),
        }
    }
}

/// Puts something that was said into words; the seat is that of the process whose application said
/// or heard it.
pub type Tell = fn(&Said, Seat, &Names<'_>) -> String;

/// Who sits where, for those who put it into words.
pub type Names<'a> = dyn Fn(Seat) -> ProcessId + 'a;

/// How a word is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Whether it is left out: a question that is drawn by its answer.
    pub is_hidden: bool,
    /// The bars that it begins and ends.
    pub bars: &'static [BarChange],
    /// The mark that it leaves at that moment, if it does.
    pub mark: fn(&Said, Seat) -> Option<&'static MarkSort>,
}

/// How a word changes what lasts at a process: a bar in a picture.
#[derive(Clone, Copy, Debug)]
pub enum BarChange {
    /// That sort of bar begins, if it has not begun yet.
    Begins(&'static BarSort),
    /// It begins anew: the last one ends.
    BeginsAnew(&'static BarSort),
    /// A bar of that sort ends.
    Ends(&'static BarSort),
    /// It begins if the word speaks of the process itself, and ends otherwise.
    IsItself(&'static BarSort),
}

/// Something that lasts at a process, and is drawn as a bar.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct BarSort {
    /// What it is called, also in a legend: "holding".
    pub name: &'static str,
    /// What those are called who have it: "holders".
    pub who: &'static str,
    /// What the first number of its word is called in a legend, if it is written on the bar unless
    /// it is 0: "fence". With `is_numbered_from_0`, a 0 is written too.
    pub number: Option<&'static str>,
    /// Whether a number 0 is written too.
    pub is_numbered_from_0: bool,
    /// Whether it is solid, as what is had; otherwise hollow, as what is waited for.
    pub is_solid: bool,
    /// Whether it is drawn over others.
    pub is_in_front: bool,
    /// Whether two processes must not have it at once.
    pub exclusion: Exclusion,
}

/// Whether two processes must not have a bar of one sort at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Exclusion {
    /// They may have it at once.
    None,
    /// They must not, not even for a moment.
    Always,
    /// They must not for longer than a moment; who is paused does not count. Where this promise is
    /// not made, that holds only among those with the same first number, if it is not 0.
    IfPromised(Promises),
}

/// Something that is seen of a process at one moment.
#[derive(Debug)]
pub struct MarkSort {
    /// The outline that is drawn.
    pub shape: Shape,
    /// How it is filled.
    pub fill: Fill,
    /// What it means, in a legend.
    pub meaning: &'static str,
    /// What is written beside it.
    pub words: Tell,
}

/// The shape of a mark.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    /// An upright square.
    Square,
    /// A square on its tip.
    Diamond,
    /// A triangle that points down.
    TriangleDown,
    /// A triangle that points up.
    TriangleUp,
    /// A small filled circle.
    Dot,
}

/// How a mark is filled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fill {
    /// Filled with a dark colour.
    Solid,
    /// Only outlined.
    Hollow,
    /// In the colour of what is alarming.
    Alarming,
}

impl Word {
    /// Something to ask for, of nobody and without numbers, that is not drawn.
    pub const fn asked(name: &'static str, code: u8, sentence: Tell) -> Self {
        let (is_asked, whom, numbers, picture) = (true, None, [].as_slice(), Picture::HIDDEN);
        let step = sentence;
        Self { name, code, is_asked, whom, numbers, sentence, step, picture, moments: &[] }
    }

    /// Something to be told, of nobody and without numbers, that is not drawn.
    pub const fn told(name: &'static str, code: u8, sentence: Tell, step: Tell) -> Self {
        Self { is_asked: false, step, ..Self::asked(name, code, sentence) }
    }

    /// This word, said of a process; `whom` is what a trace calls it.
    #[must_use]
    pub const fn of(self, whom: &'static str) -> Self {
        Self { whom: Some(whom), ..self }
    }

    /// This word, with numbers; these are their names in a trace.
    #[must_use]
    pub const fn with(self, numbers: &'static [&'static str]) -> Self {
        Self { numbers, ..self }
    }

    /// This word, at moments that a plan can name.
    #[must_use]
    pub const fn at(self, moments: &'static [Moment]) -> Self {
        Self { moments, ..self }
    }

    /// This word, drawn as these bars.
    #[must_use]
    pub const fn bars(self, bars: &'static [BarChange]) -> Self {
        Self { picture: Picture { bars, is_hidden: false, ..self.picture }, ..self }
    }

    /// This word, drawn as this mark.
    #[must_use]
    pub const fn marked(self, mark: fn(&Said, Seat) -> Option<&'static MarkSort>) -> Self {
        Self { picture: Picture { mark, is_hidden: false, ..self.picture }, ..self }
    }
}

impl Moment {
    /// A moment of that name: whenever the word is said.
    pub const fn new(name: &'static str) -> Self {
        Self { name, whose: Whose::Anybodys }
    }
}

impl Picture {
    /// A word that is not drawn.
    pub const HIDDEN: Self = Self { is_hidden: true, bars: &[], mark: |_, _| None };
}

impl PartialEq for MarkSort {
    fn eq(&self, other: &Self) -> bool {
        self.meaning == other.meaning
    }
}

impl Eq for MarkSort {}

impl Hash for MarkSort {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning.hash(state);
    }
}

impl BarChange {
    /// The sort of bar that changes.
    pub const fn sort(self) -> &'static BarSort {
        match self {
            Self::Begins(sort)
            | Self::BeginsAnew(sort)
            | Self::Ends(sort)
            | Self::IsItself(sort) => sort,
        }
    }
}

impl Said {
    /// That word, about nobody and without numbers.
    pub const fn new(word: &'static Word) -> Self {
        Self { word, lock: LockName(0), whom: None, numbers: [0; 2] }
    }

    /// This, with one number.
    #[must_use]
    pub const fn with(self, number: u64) -> Self {
        Self { numbers: [number, 0], ..self }
    }

    /// This, with two numbers.
    #[must_use]
    pub const fn with_both(self, one: u64, other: u64) -> Self {
        Self { numbers: [one, other], ..self }
    }

    /// This, said of that process.
    #[must_use]
    pub const fn of(self, whom: Seat) -> Self {
        Self { whom: Some(whom), ..self }
    }

    /// This, said about that lock.
    #[must_use]
    pub const fn about(self, lock: LockName) -> Self {
        Self { lock, ..self }
    }

    /// As something that happens: it is asked for or told, as the word has it.
    pub const fn what(self) -> What {
        if self.word.is_asked { What::Asked(self) } else { What::Told(self) }
    }
}

impl PartialEq for Said {
    fn eq(&self, other: &Self) -> bool {
        let all = |said: &Self| (said.word.code, said.lock, said.whom, said.numbers);
        all(self) == all(other)
    }
}

impl Eq for Said {}

impl Hash for Said {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.word.code, self.lock, self.whom, self.numbers).hash(state);
    }
}

impl fmt::Debug for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = f.debug_struct(self.word.name);
        if self.lock != LockName::default() {
            said.field("lock", &self.lock.0);
        }
        if let (Some(field), Some(whom)) = (self.word.whom, self.whom) {
            said.field(field, &whom.0);
        }
        for (field, number) in self.word.numbers.iter().zip(self.numbers) {
            said.field(field, &number);
        }
        said.finish()
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
