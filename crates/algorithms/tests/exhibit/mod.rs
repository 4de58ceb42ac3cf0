//! A mutant on show: where it is found, that it is found nowhere below, and how it is drawn.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use conclave_algorithms::catalogue::Promises;
use conclave_algorithms::mutants::Mutant;
use conclave_check::system::{Channels, Flaw, Premise, TimeModel};
use conclave_check::{Counterexample, Fairness, Finding};
use conclave_core::election::Election;
use conclave_core::mutex::{Locks, Mutex};
use conclave_core::{Protocol, View};
use conclave_diagram::{Options, draw};
use conclave_observe::family::locks::Seen;
use conclave_observe::trace::{Header, Record, Trace, json};
use conclave_observe::{Ending, JudgeOrdering, Verdict, Vocabulary, What, family};
use conclave_testkit::mutant::{Held, Nobody, Tamper, held};

use crate::checked::{self, Bounds, LOCK, Used};

/// A mutant, and what is claimed of it.
pub struct Exhibit {
    /// By its name its files are called.
    pub mutant: &'static Mutant,
    /// The smallest at which it is found.
    pub bounds: Bounds,
    /// At which the process that is left alone has no flaw: the same, unless it is them that break
    /// the rule.
    pub healed: Bounds,
    pub flaw: Flaw,
    /// How many lead there, and how many around.
    pub steps: (usize, Option<usize>),
    pub hunt: Hunt,
}

/// Checks the mutant, or the process that is left alone, within bounds.
pub type Hunt = Box<dyn Fn(&Bounds, In) -> Finding>;

/// In whose hands a process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum In {
    Tampering,
    Nobodys,
}

/// A lock that is tampered with.
pub fn lock<P: Mutex>(
    config: impl Fn(&View) -> P::Config + 'static,
    tamper: impl Tamper<P> + 'static,
) -> Hunt {
    hunt::<P>(LOCK, config, tamper)
}

/// An election that is tampered with.
pub fn election<P: Election<Config: 'static>>(
    promises: Promises,
    config: P::Config,
    tamper: impl Tamper<P> + 'static,
) -> Hunt {
    hunt::<P>(promises, move |_| config.clone(), tamper)
}

fn hunt<P: Protocol<Family: Used>>(
    promises: Promises,
    config: impl Fn(&View) -> P::Config + 'static,
    tamper: impl Tamper<P> + 'static,
) -> Hunt {
    Box::new(move |bounds, hands| {
        let configs = vec![config(&bounds.view); bounds.view.len()];
        let configs = match hands {
            In::Tampering => held(&configs, tamper.clone()),
            In::Nobodys => held(&configs, Nobody),
        };
        bounds.find::<Held<P>>(&configs, promises)
    })
}

impl Exhibit {
    /// It is found there, and nowhere below; the process that is left alone is as promised; the
    /// judge says the same of the trace; and trace and picture are those that are kept.
    pub fn is_as_claimed(&self) {
        let finding = self.find();
        let counterexample = finding.counterexample.as_ref().unwrap_or_else(|| {
            panic!("{}: not found in {:?}", self.mutant.name, finding.progress);
        });
        assert_eq!((counterexample.flaw, counterexample.steps), (self.flaw, self.steps));
        let trace = self.trace(counterexample);
        self.judge(&trace, counterexample);
        let text = json::write(&trace);
        kept(&format!("{}.jsonl", self.mutant.name), &text);
        let drawn = draw(&counterexample.told.timed(trace.clone()), &self.drawing());
        kept(&format!("{}.svg", self.mutant.name), &drawn);
        assert_eq!(json::read(&text).map(|trace| json::write(&trace)), Ok(text));
        for smaller in self.smaller() {
            let found = (self.hunt)(&smaller, In::Tampering);
            assert_eq!(checked::flaw(&found), None, "{}: also at {smaller:?}", self.mutant.name);
        }
        let left_alone = self.leave_alone();
        assert_eq!(checked::flaw(&left_alone), None, "{}: {left_alone:?}", self.mutant.name);
        assert!(left_alone.seen(Premise::Served) > 0, "{}: {left_alone:?}", self.mutant.name);
    }

    pub fn find(&self) -> Finding {
        (self.hunt)(&self.bounds, In::Tampering)
    }

    pub fn leave_alone(&self) -> Finding {
        (self.hunt)(&self.healed, In::Nobodys)
    }

    /// One less of each bound. How long messages take matters only to those who need a bound.
    pub fn smaller(&self) -> Vec<Bounds> {
        smaller(&self.bounds, self.mutant.entry.needs.synchrony)
    }

    /// What happened, as every runner writes it.
    fn trace(&self, counterexample: &Counterexample) -> Trace {
        let header = Header {
            algorithm: self.mutant.entry.name.into(),
            seed: 0,
            network: time(self.bounds.time),
            members: self.bounds.view.members().to_vec(),
            kinds: self.mutant.entry.kinds.iter().copied().map(Into::into).collect(),
            vocabulary: self.vocabulary(),
            promises: self.mutant.entry.promises,
            options: Vec::new(),
            repeats_from: counterexample.told.repeats_from,
            is_stuck: false,
            starts: vec![],
        };
        Trace { header, records: counterexample.told.records.clone() }
    }

    /// The judge of all other runs agrees with the checker.
    fn judge(&self, trace: &Trace, counterexample: &Counterexample) {
        let judge = trace.judge(JudgeOrdering::No);
        let waiting = judge.waiting();
        let (ending, expected) = match self.flaw {
            Flaw::Deadlock => (Ending::Quiet, Verdict::Deadlock),
            Flaw::Stalled => (Ending::Quiet, Verdict::Stalled),
            Flaw::Starved => (trace.endless().expect("it has no end"), Verdict::Starved),
            _ => (Ending::Stopped, Verdict::Violated),
        };
        assert_eq!(judge.finish(ending).verdict, expected, "{}", self.mutant.name);
        if self.flaw == Flaw::Starved {
            assert!(waiting > 0, "{}: somebody waits at the end", self.mutant.name);
            closes(trace, counterexample);
        }
    }

    fn drawing(&self) -> Options {
        let caption = format!("{}: {}", self.mutant.what, words(self.flaw));
        let title = format!("{}, but {}", self.mutant.entry.name, self.mutant.what);
        let caption = vec![caption, self.bounds_in_words()];
        Options { title: Some(title), caption, ..Options::default() }
    }

    /// Its line in the table.
    pub fn row(&self) -> String {
        let (found, left_alone) = (self.find(), self.leave_alone());
        let counterexample = found.counterexample.expect("it is found");
        let steps = match counterexample.steps {
            (steps, None) => steps.to_string(),
            (stem, Some(0)) => format!("{stem}, and then nothing for ever"),
            (stem, Some(turn)) => format!("{stem}, and then {turn} for ever"),
        };
        let (name, algorithm) = (self.mutant.name, self.mutant.entry.name);
        let (states, alone) = (found.progress.distinct, left_alone.progress.distinct);
        format!(
            "| {} | {} | [`{algorithm}`](algorithms/{}.md) | {} | {} | {steps} | {states} | \
             {alone} | [picture](gallery/{name}.svg), [trace](gallery/{name}.jsonl) |\n",
            self.mutant.what,
            self.mutant.rule,
            page(algorithm),
            self.bounds_in_words(),
            words(counterexample.flaw),
        )
    }

    fn vocabulary(&self) -> &'static Vocabulary {
        let all = family::ALL.iter().copied();
        all.into_iter().find(|it| it.family == self.mutant.entry.family).expect("it is one of them")
    }

    pub fn bounds_in_words(&self) -> String {
        let Bounds { view, clients, asks, channels, time: model, faults, ends, options, .. } =
            &self.bounds;
        let verb = if self.mutant.entry.is_of::<Locks>() { "ask" } else { "call" };
        let clients: Vec<String> = clients.iter().map(|&seat| view.at(seat).to_string()).collect();
        let who = match clients.len() == view.len() {
            true => "all".to_owned(),
            false => match clients.split_last() {
                Some((last, [])) => last.clone(),
                Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
                None => "nobody".to_owned(),
            },
        };
        let often = match asks {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            more => format!("{more} times"),
        };
        let s = if clients.len() == 1 && who != "all" { "s" } else { "" };
        let mut words = format!("N = {}; {who} {verb}{s} {often}; {}", view.len(), time(*model));
        if *channels == Channels::Unordered {
            words += "; channels that reorder";
        }
        let mut counted = |count: u64, one: &str, many: &str| match count {
            0 => {}
            1 => write!(words, "; 1 {one}").unwrap(),
            more => write!(words, "; {more} {many}").unwrap(),
        };
        counted(faults.crashes.into(), "crash", "crashes");
        counted(faults.returns.into(), "return", "returns");
        counted(faults.losses.into(), "loss", "losses");
        counted(ends.timeouts.unwrap_or(0).into(), "timer that runs out", "timers that run out");
        counted(ends.terms.unwrap_or(0), "term", "terms");
        if options.fairness != Fairness::ALL {
            words += match options.fairness {
                Fairness { leaves: false, .. } => "; nobody has to leave",
                _ => "; no message has to arrive",
            };
        }
        words
    }
}

/// One less of each bound.
fn smaller(bounds: &Bounds, counts_time: bool) -> Vec<Bounds> {
    let mut all = Vec::new();
    let mut less = |change: &dyn Fn(&mut Bounds) -> Option<()>| {
        let mut smaller = bounds.clone();
        all.extend(change(&mut smaller).map(|()| smaller));
    };
    less(&|it| {
        let members = it.view.members().split_last().map(|(_, rest)| rest.to_vec())?;
        it.view = View::new(members).ok().filter(|view| !view.is_empty())?;
        it.clients.retain(|seat| seat.index() < it.view.len());
        Some(())
    });
    for place in 0..bounds.clients.len() {
        less(&|it| {
            it.clients.remove(place);
            Some(())
        });
    }
    less(&|it| it.asks.checked_sub(1).map(|asks| it.asks = asks));
    less(&|it| (it.channels == Channels::Unordered).then(|| it.channels = Channels::Fifo));
    if counts_time {
        less(&|it| match &mut it.time {
            TimeModel::Sync { bound, .. } => (*bound > 1).then(|| *bound -= 1),
            time => {
                *time = TimeModel::Sync { bound: 1, tick: checked::TICK };
                Some(())
            }
        });
    }
    less(&|it| it.faults.crashes.checked_sub(1).map(|less| it.faults.crashes = less));
    less(&|it| it.faults.returns.checked_sub(1).map(|less| it.faults.returns = less));
    less(&|it| it.faults.losses.checked_sub(1).map(|less| it.faults.losses = less));
    less(&|it| it.ends.timeouts?.checked_sub(1).map(|less| it.ends.timeouts = Some(less)));
    less(&|it| it.ends.terms?.checked_sub(1).map(|less| it.ends.terms = Some(less)));
    all
}

/// What is on its way when the loop begins is on its way when it ends, and whoever waits throughout
/// is not served in between.
fn closes(trace: &Trace, counterexample: &Counterexample) {
    let Some(from) = counterexample.told.repeats_from else { return };
    let from = usize::try_from(from).unwrap();
    let (stem, turn) = trace.records.split_at(from);
    assert_eq!(turn.is_empty(), counterexample.steps.1 == Some(0));
    assert_eq!(in_flight(stem), in_flight(&trace.records));
    let entered = |record: &Record| matches!(Seen::of(record.event.what), Seen::Entered { .. });
    assert!(!turn.iter().any(entered), "whoever waits is not served");
}

/// What was sent and has not arrived: from whom, to whom, what, how often.
fn in_flight(records: &[Record]) -> BTreeMap<(u32, u32, String), usize> {
    let mut sent = BTreeMap::new();
    for record in records {
        let text = || record.text.clone().unwrap_or_default();
        match record.event.what {
            What::Sent { message, to, .. } => {
                sent.insert(message, (record.event.seat.0, to.0, text()));
            }
            What::Received { message, .. } | What::Lost { message, .. } => {
                sent.remove(&message);
            }
            _ => {}
        }
    }
    let mut counts = BTreeMap::new();
    for what in sent.into_values() {
        *counts.entry(what).or_insert(0) += 1;
    }
    counts
}

fn time(model: TimeModel) -> String {
    match model {
        TimeModel::Async => "async".to_owned(),
        TimeModel::Sync { bound, .. } => format!("sync:{bound}"),
    }
}

fn words(flaw: Flaw) -> &'static str {
    match flaw {
        Flaw::Breach(breach) => breach.finding,
        Flaw::Deadlock => "a deadlock",
        Flaw::Stalled => "nothing happens any more, after a fault",
        Flaw::Invariant => "an invariant is broken",
        Flaw::Starved => "somebody waits for ever",
    }
}

/// The page of an algorithm; both forms of Maekawa share one.
fn page(algorithm: &str) -> &str {
    algorithm.strip_suffix("-plain").unwrap_or(algorithm)
}

/// The files of the gallery.
pub fn files() -> BTreeSet<String> {
    let files = std::fs::read_dir(directory()).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery")
}

/// Compares a file of the gallery, or writes it if `CONCLAVE_UPDATE` is set.
pub fn kept(name: &str, text: &str) {
    let file = directory().join(name);
    if std::env::var_os("CONCLAVE_UPDATE").is_some() {
        return std::fs::write(&file, text).unwrap();
    }
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(old == text, "{name} is not what is found now; CONCLAVE_UPDATE=1 rewrites it");
}
