//! A family of protocols that nothing else knows: a cloakroom with a server, two guests and two
//! named cupboards, which several may look into and one alone may change.
//!
//! It brings its commands, notices, words, bar, property and judge, all in this file. It is run,
//! searched, taken again, told and drawn by the same runners and tools as all others.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use conclave_check::system::{Ask, Bounds, Channels, Faults, Flaw, Setup as Searched, Users};
use conclave_check::system::{TimeModel, Told};
use conclave_check::{Budget, Conclusion as Proof, Fairness, Finding, Options, check};
use conclave_core::{
    Effect, Effects, Family, Input, Kind, KindIndex, Message, NoWord, ProcessId, Promises,
    Protocol, Seat, Start, View,
};
use conclave_observe::trace::{Header, Record, Trace, TraceKind, json};
use conclave_observe::{
    BarChange, BarSort, Breach, Ending, Event, Exclusion, JudgeOrdering, LockName, Memory, Panel,
    Said, Spoken, Time, Verdict, Vocabulary, What, Word,
};
use conclave_sim::{
    Application, Clocks, Desk, Outcome, Recording, Replay, Setup, replay, simulate,
};
use conclave_testkit::mutant::{Hands, Mutant, Tamper, forgets};
use conclave_workbench::explain;

// What its applications say and hear.

enum Cupboards {}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Command {
    Open(LockName, Mode),
    Shut(LockName),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Notice {
    Opened(LockName, Mode),
    IsShut(LockName),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Mode {
    Look,
    Change,
}

impl Family for Cupboards {
    const NAME: &'static str = "cupboard";
    type Command = Command;
    type Notice = Notice;
    type Opening = ();
}

// How that is written, told and drawn.

static OPENING: Word = Word::asked("opening", 1, |said, _, _| {
    format!("wants to {} cupboard {}", mode(said), said.lock.0)
})
.with(&["changes"]);

static OPENED: Word = Word::told(
    "opened",
    2,
    |said, _, _| format!("may {} cupboard {}", mode(said), said.lock.0),
    |said, _, _| format!("OPEN: cupboard {}, to {}", said.lock.0, mode(said)),
)
.with(&["changes"])
.bars(&[BarChange::BeginsAnew(&OPEN)]);

static SHUTTING: Word =
    Word::asked("shutting", 3, |said, _, _| format!("is done with cupboard {}", said.lock.0));

static SHUT: Word = Word::told(
    "shut",
    4,
    |said, _, _| format!("has shut cupboard {}", said.lock.0),
    |said, _, _| format!("SHUT: cupboard {}", said.lock.0),
)
.bars(&[BarChange::Ends(&OPEN)]);

static OPEN: BarSort = BarSort {
    name: "open",
    who: "open doors",
    number: None,
    is_numbered_from_0: false,
    is_solid: true,
    is_in_front: false,
    exclusion: Exclusion::None,
};

fn mode(said: &Said) -> &'static str {
    if said.numbers[0] == 1 { "change" } else { "look into" }
}

const DISTURBED: Breach = Breach {
    code: 0,
    promise: "who changes a cupboard is alone at it",
    finding: "one changes what another has open",
    follows_from: Promises::NONE,
    needs_time: false,
};

static VOCABULARY: Vocabulary = Vocabulary {
    family: Cupboards::NAME,
    words: &[&OPENING, &OPENED, &SHUTTING, &SHUT],
    promises: &[],
    breaches: &[DISTURBED],
    eventually: "every door is opened eventually",
    judge: |_| Box::new(Doors::default()),
    memory: |_| Box::new(Doors::default()),
    summary: |said| {
        let opened = said.iter().filter(|(_, said)| said.word.code == OPENED.code).count();
        format!("{opened} doors opened")
    },
    is_contended: true,
    serves: |said| said.word.code == OPENED.code,
    serves_without_crash: true,
    coherence: None,
};

impl Spoken for Cupboards {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn asked(command: &Command, _: &View) -> Said {
        match *command {
            Command::Open(lock, mode) => {
                Said::new(&OPENING).about(lock).with(u64::from(mode == Mode::Change))
            }
            Command::Shut(lock) => Said::new(&SHUTTING).about(lock),
        }
    }

    fn told(notice: &Notice, _: &View) -> Option<Said> {
        Some(match *notice {
            Notice::Opened(lock, mode) => {
                Said::new(&OPENED).about(lock).with(u64::from(mode == Mode::Change))
            }
            Notice::IsShut(lock) => Said::new(&SHUT).about(lock),
        })
    }

    fn command(said: &Said, _: &View) -> Option<Command> {
        let mode = if said.numbers[0] == 1 { Mode::Change } else { Mode::Look };
        match said.word.code {
            1 => Some(Command::Open(said.lock, mode)),
            3 => Some(Command::Shut(said.lock)),
            _ => None,
        }
    }
}

// Its property: by cupboard, who has it open and how.

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Doors {
    open: BTreeMap<LockName, Vec<(Seat, bool)>>,
    waiting: Vec<(Seat, LockName)>,
    opened: u64,
    is_broken: bool,
}

impl Doors {
    fn take_in(&mut self, seat: Seat, what: &What) {
        let Some(said) = what.said() else { return };
        let open = self.open.entry(said.lock).or_default();
        match said.word.code {
            1 => self.waiting.push((seat, said.lock)),
            2 => {
                let changes = said.numbers[0] == 1;
                self.is_broken |= open.iter().any(|&(_, other)| changes || other);
                open.push((seat, changes));
                self.waiting.retain(|it| *it != (seat, said.lock));
                self.opened += 1;
            }
            4 => open.retain(|&(other, _)| other != seat),
            _ => {}
        }
    }
}

impl Panel for Doors {
    fn on(&mut self, event: &Event) {
        self.take_in(event.seat, &event.what);
    }

    fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn waiting_seats(&self) -> Vec<Seat> {
        self.waiting.iter().map(|&(seat, _)| seat).collect()
    }

    fn is_progress(&self, what: &What) -> bool {
        what.said().is_some_and(|said| said.word.code == OPENED.code)
    }

    fn served(&self) -> u64 {
        self.opened
    }

    fn has_seen_enough(&self) -> bool {
        self.is_broken
    }

    fn verdict(&self, _: Ending) -> Option<Verdict> {
        self.is_broken.then_some(Verdict::Violated)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Panel> {
        Box::new(self.clone())
    }
}

impl Memory for Doors {
    fn on(&mut self, seat: Seat, what: What) {
        self.take_in(seat, &what);
        // A search must not tell pasts apart by how much was done in them.
        self.opened = 0;
    }

    fn broken(&self) -> Option<Breach> {
        self.is_broken.then_some(DISTURBED)
    }
}

// A protocol of the family, with two roles.

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Cloakroom {
    /// By cupboard: who has it open, and who waits.
    Keeper(BTreeMap<LockName, Queue>),
    Guest {
        keeper: ProcessId,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Queue {
    open: Vec<(ProcessId, Mode)>,
    waiting: VecDeque<(ProcessId, Mode)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Keeper,
    Guest(ProcessId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Words {
    Please(LockName, Mode),
    Here(LockName, Mode),
    Thanks(LockName),
}

impl Message for Words {
    const KINDS: &'static [Kind] =
        &[Kind::enter("please"), Kind::enter("here"), Kind::leave("thanks")];

    fn kind(&self) -> KindIndex {
        match self {
            Self::Please(..) => 0,
            Self::Here(..) => 1,
            Self::Thanks(_) => 2,
        }
    }
}

impl Protocol for Cloakroom {
    type Family = Cupboards;
    type Config = Role;
    type Message = Words;
    type Timer = ();
    type Stored = ();
    type Word = NoWord;

    fn start(start: Start<'_, Self>, _: &mut Effects<Self>) -> Self {
        match *start.config {
            Role::Keeper => Self::Keeper(BTreeMap::new()),
            Role::Guest(keeper) => Self::Guest { keeper },
        }
    }

    fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
        match (self, input) {
            (Self::Guest { keeper }, Input::Command(Command::Open(lock, mode))) => {
                out.rule("asks the keeper");
                out.send(*keeper, Words::Please(lock, mode));
            }
            (Self::Guest { .. }, Input::Message { message: Words::Here(lock, mode), .. }) => {
                out.notify(Notice::Opened(lock, mode));
            }
            (Self::Guest { keeper }, Input::Command(Command::Shut(lock))) => {
                out.send(*keeper, Words::Thanks(lock));
                out.notify(Notice::IsShut(lock));
            }
            (Self::Keeper(queues), Input::Message { from, message }) => match message {
                Words::Please(lock, mode) => {
                    let queue = queues.entry(lock).or_default();
                    queue.waiting.push_back((from, mode));
                    queue.serve(lock, out);
                }
                Words::Thanks(lock) => {
                    let queue = queues.entry(lock).or_default();
                    queue.open.retain(|&(guest, _)| guest != from);
                    queue.serve(lock, out);
                }
                Words::Here(..) => {}
            },
            _ => {}
        }
    }

    fn waits_for(&self) -> Vec<ProcessId> {
        match self {
            Self::Guest { keeper } => vec![*keeper],
            Self::Keeper(_) => Vec::new(),
        }
    }
}

impl Queue {
    fn serve(&mut self, lock: LockName, out: &mut Effects<Cloakroom>) {
        while let Some(&(guest, mode)) = self.waiting.front() {
            let is_changed = self.open.iter().any(|&(_, other)| other == Mode::Change);
            if is_changed || (mode == Mode::Change && !self.open.is_empty()) {
                return;
            }
            out.rule("gives the key to the next");
            self.waiting.pop_front();
            self.open.push((guest, mode));
            out.send(guest, Words::Here(lock, mode));
        }
    }
}

// Who uses it: both look into the first cupboard, and then change the second.

const FIRST: LockName = LockName(1);
const SECOND: LockName = LockName(2);
const VISITS: [(LockName, Mode); 2] = [(FIRST, Mode::Look), (SECOND, Mode::Change)];

struct Guests {
    view: View,
    left: usize,
}

impl Guests {
    fn visit(&self, seat: Seat, visit: usize, desk: &mut Desk<Command>) {
        if let Some(&(lock, mode)) = VISITS.get(visit) {
            desk.order(seat, Command::Open(lock, mode), Time::ZERO);
        }
    }
}

impl Application<Cupboards> for Guests {
    fn begin(&mut self, desk: &mut Desk<Command>) {
        for seat in (1..self.view.len()).map(Seat::at) {
            self.visit(seat, 0, desk);
        }
    }

    fn on_notice(&mut self, seat: Seat, notice: &Notice, desk: &mut Desk<Command>) {
        match *notice {
            Notice::Opened(lock, _) => desk.order(seat, Command::Shut(lock), Time::DELAY),
            Notice::IsShut(lock) => {
                self.left -= 1;
                let visit = VISITS.iter().position(|&(other, _)| other == lock).unwrap();
                self.visit(seat, visit + 1, desk);
            }
        }
    }

    fn on_crash(&mut self, _: Seat) {}

    fn on_return(&mut self, _: Seat, _: &mut Desk<Command>) {}

    fn awaits_quiet(&self) -> bool {
        false
    }

    fn on_quiet(&mut self, _: &mut Desk<Command>) {}

    fn is_done(&self, _: Time) -> bool {
        self.left == 0
    }
}

/// The same guests in a search: the how many of its visits each is at, and how far.
struct AnyGuests;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Guest {
    visit: usize,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    Outside,
    Waiting,
    Inside,
}

impl Users<Cupboards> for AnyGuests {
    type State = Guest;

    fn first(&self, seat: Seat) -> Guest {
        let visit = if seat == Seat(0) { VISITS.len() } else { 0 };
        Guest { visit, stage: Stage::Outside }
    }

    fn asks(&self, guest: &Guest) -> Option<Ask<Command>> {
        let &(lock, mode) = VISITS.get(guest.visit)?;
        match guest.stage {
            Stage::Outside => Some(Ask { command: Command::Open(lock, mode), is_due: false }),
            Stage::Waiting => None,
            Stage::Inside => Some(Ask { command: Command::Shut(lock), is_due: true }),
        }
    }

    fn asked(&self, guest: &mut Guest) {
        if guest.stage == Stage::Outside {
            guest.stage = Stage::Waiting;
        }
    }

    fn told(&self, guest: &mut Guest, notice: &Notice) {
        *guest = match notice {
            Notice::Opened(..) => Guest { stage: Stage::Inside, ..*guest },
            Notice::IsShut(_) => Guest { visit: guest.visit + 1, stage: Stage::Outside },
        };
    }

    fn crashed(&self, _: &mut Guest) {}

    fn waits(&self, guest: &Guest) -> bool {
        guest.stage == Stage::Waiting
    }

    fn is_done(&self, guest: &Guest) -> bool {
        guest.visit == VISITS.len()
    }
}

// The tools that know nothing of it.

fn view() -> View {
    View::dense(0, 3)
}

/// A configuration for each seat.
fn roles() -> Vec<Role> {
    vec![Role::Keeper, Role::Guest(ProcessId(0)), Role::Guest(ProcessId(0))]
}

fn run<P>(configs: &[P::Config]) -> Outcome
where
    P: Protocol<Family = Cupboards>,
{
    let view = view();
    let setup = Setup::<P> { recording: Recording::Everything, ..Setup::new(&view, configs) };
    simulate(&setup, Guests { view: view.clone(), left: 4 }, &mut |_| {})
}

fn trace(records: Vec<Record>, network: &str) -> Trace {
    let header = Header {
        algorithm: "cloakroom".into(),
        seed: 1,
        network: network.into(),
        members: view().members().to_vec(),
        kinds: Words::KINDS.iter().copied().map(TraceKind::from).collect(),
        vocabulary: &VOCABULARY,
        promises: Promises::NONE,
        options: Vec::new(),
        repeats_from: None,
        is_stuck: false,
        starts: vec![],
    };
    Trace { header, records }
}

fn take_again<P>(configs: &[P::Config], trace: &Trace, clocks: Clocks<'_>) -> Outcome
where
    P: Protocol<Family = Cupboards>,
{
    let (view, openings) = (view(), &[]);
    let ordering = JudgeOrdering::No;
    let setup =
        Replay::<P> { view: &view, configs, openings, tamper: None, clocks, ordering, show: None };
    replay(&setup, trace).unwrap()
}

fn search<P>(configs: &[P::Config]) -> Finding
where
    P: Protocol<Family = Cupboards>,
{
    let view = view();
    let setup = Searched::<P, AnyGuests> {
        view: &view,
        configs,
        vocabulary: &VOCABULARY,
        promises: Promises::NONE,
        openings: &[],
        client: AnyGuests,
        channels: Channels::Fifo,
        time: TimeModel::Async,
        faults: Faults::default(),
        check_invariants: true,
        tamper: None,
        tells_renewals: true,
        crash_loses: false,
        passes_over_stalls: false,
        expected_kinds: 0b111,
        bounds: Bounds::default(),
        interchangeable: Vec::new(),
    };
    let options = Options {
        threads: 1,
        budget: Budget { states: 1 << 20, bytes: 1 << 30 },
        is_exact: true,
        liveness: true,
        fairness: Fairness::ALL,
    };
    check(&setup, &options, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn it_runs_and_is_judged_told_drawn_written_and_taken_again() {
    let outcome = run::<Cloakroom>(&roles());
    assert_eq!(outcome.report.verdict, Verdict::Ok);
    let doors = outcome.report.of::<Doors>().unwrap();
    assert_eq!(doors.opened, 4, "two guests at two cupboards");

    let trace = trace(outcome.records, "unit");
    let told = explain::lines(&trace).collect::<Vec<_>>().join("\n");
    assert!(told.contains("wants to look into cupboard 1: it asks the keeper"), "{told}");
    assert!(told.contains("-> OPEN: cupboard 2, to change"), "{told}");

    let picture = conclave_diagram::draw(&trace, &conclave_diagram::Options::default());
    assert!(picture.contains(r#"class="open""#) && picture.contains("lock 2"), "{picture}");
    assert!(picture.contains("4 doors opened"), "{picture}");

    let text = json::write(&trace);
    assert!(text.contains(r#""event":"opened","lock":2,"changes":1"#), "{text}");
    assert_eq!(json::read_of(&text, &[&VOCABULARY]).unwrap(), trace);
    let unknown = json::read(&text).unwrap_err().to_string();
    assert!(unknown.contains("`family` is `cupboard`"), "{unknown}");

    let again = take_again::<Cloakroom>(&roles(), &trace, Clocks::Running(&[]));
    assert_eq!(again.report.fingerprint, outcome.report.fingerprint);
}

#[test]
fn a_search_proves_what_it_promises() {
    let finding = search::<Cloakroom>(&roles());
    assert_eq!(finding.verdict, Proof::Proved);
    assert_eq!(finding.liveness, Some(true));
    assert!(finding.progress.distinct > 100, "{}", finding.progress.distinct);
}

#[test]
fn a_keeper_that_forgets_whom_it_gave_a_key_is_caught_by_the_familys_own_property() {
    let tamper = forgets(|input: &Input<Cloakroom>, _: &[Effect<Cloakroom>]| {
        matches!(input, Input::Message { message: Words::Please(..), .. })
    });
    let hands: Vec<_> = roles().into_iter().map(|role| (role, Hands(tamper.clone()))).collect();
    let finding = find_mutant(&hands);
    assert_eq!(finding.verdict, Proof::Refuted(Flaw::Breach(DISTURBED)));
}

fn find_mutant<T: Tamper<Cloakroom> + 'static>(
    configs: &[<Mutant<Cloakroom, Hands<T>> as Protocol>::Config],
) -> Finding {
    let finding = search::<Mutant<Cloakroom, Hands<T>>>(configs);
    if let Some(found) = &finding.counterexample {
        let Told { records, .. } = found.told.clone();
        let trace = trace(records, "async");
        let again = take_again::<Mutant<Cloakroom, Hands<T>>>(configs, &trace, Clocks::Absent);
        assert_eq!(again.report.verdict, Verdict::Violated, "the real processes do it too");
        let picture = conclave_diagram::draw(&trace, &conclave_diagram::Options::default());
        assert!(picture.contains(r#"class="open""#));
    }
    finding
}
