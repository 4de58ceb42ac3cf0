//! Mutants by name: each an algorithm with one rule taken away or changed, or without one thing
//! that it assumes. They are what the gallery shows, and what `conclave mutants` lists.
//!
//! The algorithms have no switches for this. Whoever [tampers](conclave_core::tamper) with one sits
//! between it and its runner.

mod elections;
mod locks;

use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;

use conclave_core::Protocol;
use conclave_core::tamper::Anybody;

use crate::catalogue::{Entry, nearest};
use crate::election::{bully, chang_roberts, chubby};
use crate::mutex::{lamport, maekawa, ricart_agrawala, token_ring, token_ring_repaired};

/// An algorithm with one rule taken away or changed, or without one thing that it assumes.
#[derive(Clone, Copy, Debug)]
pub struct Mutant {
    /// What it is called.
    pub name: &'static str,
    /// Of which algorithm it is one.
    pub entry: &'static Entry,
    /// What it does, or does not.
    pub what: &'static str,
    /// What is broken by that.
    pub rule: &'static str,
    /// Smallest bounds within which a search catches it: names and values, as `conclave check` is
    /// told them; a switch has no value.
    pub caught: &'static [(&'static str, &'static str)],
    /// How that is broken.
    pub breaks: Breaks,
    /// Whether lecture notes have it so: a slip.
    pub is_slip: bool,
}

/// What a mutant breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Breaks {
    /// A rule of the algorithm: somebody tampers with its processes.
    Rule,
    /// The order of channels.
    Order,
    /// The bound on how long messages take.
    Bound,
    /// That holders leave eventually. Only a search can show that.
    Leaves,
    /// That messages arrive eventually. Only a search can show that.
    Arrivals,
}

/// There is no mutant of that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "there is no mutant `{}`; {}`conclave mutants` lists all of them",
    .name.escape_debug(), .nearest.map(|it| alloc::format!("did you mean {it}? ")).unwrap_or_default()
)]
pub struct NoSuchMutant {
    /// The name.
    pub name: String,
    /// The one that it is near to.
    pub nearest: Option<&'static str>,
}

/// The mutant of that name.
pub fn find(name: &str) -> Result<&'static Mutant, NoSuchMutant> {
    MUTANTS.iter().find(|mutant| mutant.name == name).ok_or_else(|| NoSuchMutant {
        name: name.into(),
        nearest: nearest(name, MUTANTS.iter().map(|mutant| mutant.name)),
    })
}

impl Mutant {
    /// Who tampers with the processes; `None` if nobody does, or if they are not of that type.
    pub fn tamper<P: Protocol>(&self) -> Option<Anybody<P>> {
        let tamper = locks::tamper(self.name).or_else(|| elections::tamper(self.name))?;
        tamper.downcast::<Anybody<P>>().ok().map(|tamper| *tamper)
    }
}

impl PartialEq for Mutant {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Mutant {}

/// Somebody who tampers with processes of one type, whichever that is.
type AnyTamper = Box<dyn Any>;

/// A row with what most have in common.
const fn broken(
    name: &'static str,
    entry: &'static Entry,
    what: &'static str,
    rule: &'static str,
    caught: &'static [(&'static str, &'static str)],
) -> Mutant {
    Mutant { name, entry, what, rule, caught, breaks: Breaks::Rule, is_slip: false }
}

/// All of them, in the order of the gallery.
pub const MUTANTS: &[Mutant] = &[
    broken(
        "ricart-agrawala-clock",
        &ricart_agrawala::PLAIN,
        "the clock does not rise on receipt",
        "a request is younger than all that were answered before it",
        &[("n", "2"), ("requests", "1"), ("no-fifo", "")],
    ),
    broken(
        "ricart-agrawala-ties-won",
        &ricart_agrawala::PLAIN,
        "ties are broken without ids: the other goes first",
        "of two requests with the same time that of the smaller id is older",
        &[("n", "2"), ("requests", "1")],
    ),
    broken(
        "ricart-agrawala-ties-lost",
        &ricart_agrawala::PLAIN,
        "ties are broken without ids: the other waits",
        "of two requests with the same time that of the smaller id is older",
        &[("n", "2"), ("requests", "1")],
    ),
    broken(
        "ricart-agrawala-fence",
        &ricart_agrawala::PLAIN,
        "replies carry no fence",
        "a reply tells the highest fence that its sender knows",
        &[("n", "2"), ("requests", "1")],
    ),
    Mutant {
        breaks: Breaks::Order,
        ..broken(
            "lamport-unordered",
            &lamport::ENTRY,
            "an acknowledgement overtakes a request",
            "channels are FIFO",
            &[("n", "2"), ("requests", "1")],
        )
    },
    broken(
        "maekawa-inquire",
        &maekawa::deadlock_free::ENTRY,
        "nobody inquires",
        "a voter asks its candidate for the vote back when an older request comes",
        &[("n", "2"), ("requests", "1")],
    ),
    broken(
        "maekawa-yield",
        &maekawa::deadlock_free::ENTRY,
        "nobody yields",
        "who knows that it cannot win yet gives the vote back",
        &[("n", "2"), ("requests", "1")],
    ),
    broken(
        "maekawa-fail",
        &maekawa::deadlock_free::ENTRY,
        "nobody is told to fail",
        "a voter tells the younger request that it must wait",
        &[("n", "2"), ("requests", "1")],
    ),
    broken(
        "maekawa-second-fail",
        &maekawa::deadlock_free::ENTRY,
        "only who comes is told to fail, not who is overtaken",
        "a queued request that is overtaken by an older one is told to fail, too",
        &[("n", "4"), ("askers", "2,3,4"), ("requests", "1")],
    ),
    Mutant {
        is_slip: true,
        ..broken(
            "maekawa-disjoint",
            &maekawa::plain::ENTRY,
            "each has a voting set of its own",
            "any two voting sets share a member",
            &[("n", "2"), ("requests", "1")],
        )
    },
    broken(
        "chang-roberts-smaller",
        &chang_roberts::PLAIN,
        "the smaller of two ids is passed on",
        "a larger id takes the place of a smaller one",
        &[("n", "2"), ("askers", "1")],
    ),
    broken(
        "bully-hasty",
        &bully::ENTRY,
        "an answer is waited for D, not 2D",
        "T is at least 2D",
        &[("n", "2"), ("askers", "1")],
    ),
    Mutant {
        breaks: Breaks::Bound,
        ..broken(
            "bully-async",
            &bully::ENTRY,
            "messages take any time",
            "messages take at most D",
            &[("n", "2"), ("askers", "1")],
        )
    },
    Mutant {
        is_slip: true,
        ..broken(
            "bully-answers-once",
            &bully::ENTRY,
            "who has called an election answers nobody any more",
            "an election message from a smaller one is always answered",
            &[("n", "2")],
        )
    },
    broken(
        "chubby-forgets",
        &chubby::ENTRY,
        "a vote is not persisted",
        "a server votes once per term, in all its lives",
        &[
            ("n", "3"),
            ("askers", "1,3"),
            ("time", "async"),
            ("crashes", "1"),
            ("returns", "1"),
            ("timeouts", "1"),
            ("terms", "1"),
            ("safety", ""),
        ],
    ),
    broken(
        "chubby-promise",
        &chubby::ENTRY,
        "a promise lasts half as long as the lease",
        "a promise outlasts the lease that it gives",
        &[
            ("n", "3"),
            ("askers", "1,2"),
            ("losses", "2"),
            ("timeouts", "4"),
            ("terms", "2"),
            ("time", "sync:1"),
            ("safety", ""),
        ],
    ),
    broken(
        "chubby-late",
        &chubby::ENTRY,
        "a master's clock runs five times too slowly: it looks at its lease too late",
        "a lease ends before the promises that it rests on",
        &[
            ("n", "3"),
            ("askers", "1,2"),
            ("timeouts", "2"),
            ("terms", "2"),
            ("time", "sync:1"),
            ("safety", ""),
        ],
    ),
    broken(
        "token-ring-epoch",
        &token_ring_repaired::ENTRY,
        "a new token is made, and an old one is taken, too",
        "a token of an older epoch is taken by nobody",
        &[("n", "2"), ("requests", "1"), ("beat", "2ms"), ("crashes", "1"), ("returns", "1")],
    ),
    broken(
        "token-ring-polite",
        &token_ring::ENTRY,
        "who waits passes the token on",
        "who wants in keeps the token that comes by",
        &[("n", "2"), ("askers", "1"), ("requests", "1")],
    ),
    Mutant {
        breaks: Breaks::Leaves,
        ..broken(
            "fairness-leaves",
            &token_ring_repaired::ENTRY,
            "a holder stays in",
            "holders leave eventually",
            &[("n", "2"), ("requests", "1"), ("beat", "2ms")],
        )
    },
    Mutant {
        breaks: Breaks::Arrivals,
        ..broken(
            "fairness-arrivals",
            &ricart_agrawala::PLAIN,
            "a message stays on its way",
            "messages arrive eventually",
            &[("n", "2"), ("askers", "1"), ("requests", "1")],
        )
    },
];
