//! All that is seen, said and judged of one family of protocols, from one place.
//!
//! A runner, a trace and a drawing know no family. They see [`Said`]s, and ask the family's
//! [`Vocabulary`] what these mean: how they are written, told and drawn, and who judges them.

pub mod detectors;
pub mod elections;
pub mod locks;
pub mod processes;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Debug;
use core::hash::{Hash, Hasher};

use conclave_core::{Family, ProcessId, Promises, Protocol, Renaming, Seat, View};

use crate::{Ending, Event, JudgeOrdering, Moment, Said, Time, Verdict, What, Word};

/// What is seen, said and judged of one family.
#[derive(Debug)]
pub struct Vocabulary {
    /// The family's name, as it stands in a trace.
    pub family: &'static str,
    /// What its applications ask for and are told.
    pub words: &'static [&'static Word],
    /// What its members may promise; the place is the number of the promise.
    pub promises: &'static [&'static str],
    /// What its judge can find broken.
    pub breaches: &'static [Breach],
    /// What must come eventually: "everybody who waits is eventually served".
    pub eventually: &'static str,
    /// Who judges a run.
    pub judge: fn(&Brief<'_>) -> Box<dyn Panel>,
    /// Who watches a search.
    pub memory: fn(&Brief<'_>) -> Box<dyn AnyMemory>,
    /// What a picture says of what it shows, by what was said in it.
    pub summary: fn(&[(Seat, Said)]) -> String,
    /// Whether a proof rests on it that two wait at once.
    pub is_contended: bool,
    /// Whether a word is what somebody waited for.
    pub serves: fn(&Said) -> bool,
    /// Whether a proof without a crash shows that somebody is served.
    pub serves_without_crash: bool,
    /// Who looks, as a trace is read, whether what is said there can follow what was said before;
    /// `None` where anything can follow anything.
    pub coherence: Option<fn(usize) -> Box<dyn Coherence>>,
}

/// The families there are.
pub const ALL: &[&Vocabulary] =
    &[&locks::VOCABULARY, &elections::VOCABULARY, &detectors::VOCABULARY, &processes::VOCABULARY];

/// Whether what is said in a trace can follow what was said before.
pub trait Coherence {
    /// Takes in an event; `Err` says what is wrong with it, as a sentence whose subject is the
    /// process. In the beginning, before anything but starts has happened, more is possible.
    fn on(&mut self, event: &Event, is_beginning: bool) -> Result<(), &'static str>;
}

/// A family that can be watched: its commands and notices as words, and back.
pub trait Spoken: Family {
    /// Its words, and all that goes with them.
    const VOCABULARY: &'static Vocabulary;

    /// A command, as a word.
    fn asked(command: &Self::Command, view: &View) -> Said;

    /// A notice, as a word; `None` if it speaks of somebody who takes no part.
    fn told(notice: &Self::Notice, view: &View) -> Option<Said>;

    /// The command that was seen as this: how a recorded run is taken again.
    fn command(said: &Said, view: &View) -> Option<Self::Command>;
}

/// A protocol of a family that can be watched.
pub trait Observed: Protocol<Family: Spoken> {}

impl<P: Protocol<Family: Spoken>> Observed for P {}

/// What a judge is told before a run.
#[derive(Clone, Copy, Debug)]
pub struct Brief<'a> {
    /// Who takes part, by seat.
    pub ids: &'a [ProcessId],
    /// What the algorithm promises.
    pub promises: Promises,
    /// Whether happened-before is judged, where there is such a property.
    pub ordering: JudgeOrdering,
}

/// Something that is wrong for some time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// From when on it is wrong.
    pub at: Time,
    /// Until when; to the end, if there is no such time.
    pub until: Option<Time>,
    /// Whom it is about.
    pub seats: Vec<Seat>,
    /// What, in a word or two.
    pub words: &'static str,
}

/// The judge of one family: its properties and measures of one run.
pub trait Panel: Debug {
    /// Takes in an event other than a sending or a receipt.
    fn on(&mut self, event: &Event);

    /// Whether it wants to see sendings and receipts as well.
    fn wants_messages(&self) -> bool {
        false
    }

    /// Takes in a sending or a receipt, if it wants to.
    fn on_message(&mut self, _: &Event) {}

    /// Whether it wants to know when all is quiet.
    fn wants_quiet(&self) -> bool {
        false
    }

    /// Takes in that no message is in flight that belongs to a call. Says whether something is over
    /// by that.
    fn on_quiet(&mut self, _: Time) -> bool {
        false
    }

    /// The run is over.
    fn on_end(&mut self, _: Time) {}

    /// How many wait for something.
    fn waiting(&self) -> usize;

    /// The seats of those who wait.
    fn waiting_seats(&self) -> Vec<Seat>;

    /// Whether somebody has what others wait for, and so has all the time it wants.
    fn is_occupied(&self) -> bool {
        false
    }

    /// Whether this event is progress for those who wait.
    fn is_progress(&self, what: &What) -> bool;

    /// How many times somebody got what it wanted.
    fn served(&self) -> u64;

    /// Whether nothing that comes could make the verdict better.
    fn has_seen_enough(&self) -> bool;

    /// What is wrong with the run that ended so, if something is.
    fn verdict(&self, ending: Ending) -> Option<Verdict>;

    /// Each way in which a promise was broken, in words, and how often: more than once only if the
    /// run went on after the first time.
    fn violations(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What is wrong, where a picture can point at it and does not see it by itself.
    fn wrongs(&self) -> Vec<Wrong> {
        Vec::new()
    }

    /// The panel itself, for those who know which it is.
    fn as_any(&self) -> &dyn Any;

    /// A copy of this panel.
    fn boxed(&self) -> Box<dyn Panel>;
}

impl Clone for Box<dyn Panel> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// What of the past decides whether what comes is right: all that a search must remember.
///
/// The same properties as a [`Panel`]'s, without times, counters and measures: so that two pasts
/// which allow the same futures are equal, and there are finitely many.
pub trait Memory: Clone + Eq + Hash + Debug + Send + Sync + 'static {
    /// Takes in that something happened; when, is not asked.
    fn on(&mut self, seat: Seat, what: What);

    /// Whether it wants to know when all is quiet.
    fn wants_quiet(&self) -> bool {
        false
    }

    /// Takes in that no message is in flight that belongs to a call.
    fn on_quiet(&mut self) {}

    /// Takes in that time passes.
    fn on_tick(&mut self) {}

    /// The first promise that was broken, if one was.
    fn broken(&self) -> Option<Breach>;

    /// Who waits for something that must come, beside those whose applications know that they wait.
    fn pending(&self) -> Vec<Seat> {
        Vec::new()
    }

    /// This memory, with every process renamed; `None` where names decide what is right.
    fn renamed(&self, _: &Renaming) -> Option<Self> {
        None
    }
}

/// A [`Memory`], of whichever family.
pub trait AnyMemory: Debug + Send + Sync {
    /// As [`Memory::on`]: takes in that something happened.
    fn on(&mut self, seat: Seat, what: What);
    /// As [`Memory::wants_quiet`]: whether it wants to know when all is quiet.
    fn wants_quiet(&self) -> bool;
    /// As [`Memory::on_quiet`]: takes in that all is quiet.
    fn on_quiet(&mut self);
    /// As [`Memory::on_tick`]: takes in that time passes.
    fn on_tick(&mut self);
    /// As [`Memory::broken`]: the first promise that was broken, if one was.
    fn broken(&self) -> Option<Breach>;
    /// As [`Memory::pending`]: who waits, beside those whose applications know it.
    fn pending(&self) -> Vec<Seat>;
    /// As [`Memory::renamed`]: this memory, with every process renamed.
    fn renamed(&self, names: &Renaming) -> Option<Box<dyn AnyMemory>>;
    /// The memory itself, for those who compare it.
    fn as_any(&self) -> &dyn Any;
    /// A copy of this memory.
    fn boxed(&self) -> Box<dyn AnyMemory>;
    /// Whether both remember the same.
    fn is_same(&self, other: &dyn AnyMemory) -> bool;
    /// Takes in what it remembers.
    fn hash_into(&self, state: &mut dyn Hasher);
}

impl<M: Memory> AnyMemory for M {
    fn on(&mut self, seat: Seat, what: What) {
        Memory::on(self, seat, what);
    }

    fn wants_quiet(&self) -> bool {
        Memory::wants_quiet(self)
    }

    fn on_quiet(&mut self) {
        Memory::on_quiet(self);
    }

    fn on_tick(&mut self) {
        Memory::on_tick(self);
    }

    fn broken(&self) -> Option<Breach> {
        Memory::broken(self)
    }

    fn pending(&self) -> Vec<Seat> {
        Memory::pending(self)
    }

    fn renamed(&self, names: &Renaming) -> Option<Box<dyn AnyMemory>> {
        Memory::renamed(self, names).map(|renamed| Box::new(renamed) as Box<dyn AnyMemory>)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn AnyMemory> {
        Box::new(self.clone())
    }

    fn is_same(&self, other: &dyn AnyMemory) -> bool {
        other.as_any().downcast_ref::<Self>() == Some(self)
    }

    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}

impl Clone for Box<dyn AnyMemory> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl PartialEq for Box<dyn AnyMemory> {
    fn eq(&self, other: &Self) -> bool {
        (**self).is_same(&**other)
    }
}

impl Eq for Box<dyn AnyMemory> {}

impl Hash for Box<dyn AnyMemory> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash_into(state);
    }
}

/// A promise that can be broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Breach {
    /// No other of the family has this number.
    pub code: u8,
    /// What is promised: "at most one is in".
    pub promise: &'static str,
    /// What was found: "two holders".
    pub finding: &'static str,
    /// Any one of these must have been promised; none, if all of the family keep it.
    pub follows_from: Promises,
    /// Whether it can be found only where time passes.
    pub needs_time: bool,
}

impl Breach {
    /// Whether it is looked for where these promises are made.
    pub fn is_judged(&self, promises: Promises) -> bool {
        self.follows_from == Promises::NONE || promises.keeps_any(self.follows_from)
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.family == other.family
    }
}

impl Eq for Vocabulary {}

impl Vocabulary {
    /// All moments that a plan can name, in the order of the words.
    pub fn moments(&self) -> impl Iterator<Item = &'static Moment> + '_ {
        self.words.iter().flat_map(|word| word.moments)
    }

    /// The moment of that name, and at which word it is.
    pub fn moment(&self, name: &str) -> Option<(&'static Word, &'static Moment)> {
        let moments = |word: &&'static Word| {
            let word: &'static Word = word;
            word.moments.iter().map(move |moment| (word, moment))
        };
        self.words.iter().flat_map(moments).find(|(_, moment)| moment.name == name)
    }

    /// The word of that name.
    pub fn word(&self, name: &str) -> Option<&'static Word> {
        self.words.iter().copied().find(|word| word.name == name)
    }
}
