//! Rules of locks, broken once, and the property that notices: those that all locks have in common,
//! those that take voting sets of a certain shape, and those that too small bounds miss. Every
//! other rule is broken beside its algorithm, in `src/mutex/ALGORITHM/mutants.rs`.
//!
//! A mutant is the real process in the hands of somebody who tampers with what it hears, says or
//! remembers; an exhaustive search that knows no algorithm then finds two holders, a fence that
//! fell, or a deadlock. The bounds are the smallest at which it is found, and at the same bounds
//! the process that is left alone passes.

mod checked;

use std::fmt::Debug;
use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, Seating, Shelf, Timing, Visitor};
use conclave_algorithms::mutex::{
    Lamport, Maekawa, MaekawaPlain, RestingTokenRing, RicartAgrawala, TokenRing, maekawa,
    ricart_agrawala,
};
use conclave_algorithms::quorum::{self, Construction, VotingSets};
use conclave_check::Finding;
use conclave_check::system::Flaw::{self, Deadlock};
use conclave_check::system::{Channels, Premise};
use conclave_core::mutex::{Command, Locks, Mutex, Notice};
use conclave_core::{
    Effect, Effects, Fence, Input, Message, ProcessId, Protocol, Seat, Start, View,
};
use conclave_observe::family::locks;
use conclave_testkit::mutant::{Held, Nobody, Tamper, forgets, held, loses, put, says, step};

const TWO_HOLDERS: Flaw = Flaw::Breach(locks::TWO_HOLDERS);
const FENCE_FELL: Flaw = Flaw::Breach(locks::FENCE_FELL);

// What all algorithms have in common: at N=2 with one request each, whatever breaks is seen.

/// Hands a mutant of every algorithm that is live by itself to a search.
struct Catch<T> {
    view: View,
    tamper: T,
}

/// A way to tamper with any algorithm.
trait TamperWithAny: Clone + Send + Sync + 'static {
    fn on<P: Mutex>(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>);
}

impl<T: TamperWithAny> Visitor<Locks> for Catch<T> {
    type Output = Option<Flaw>;

    fn visit<P>(self, entry: &'static Entry, configs: Vec<P::Config>) -> Option<Flaw>
    where
        P: Listed<Family = Locks>,
    {
        let clients = entry.clients(&self.view);
        let bounds = Bounds { view: self.view, clients, configs, requests: 1, fifo: true };
        let tamper = self.tamper;
        bounds.passes::<P>();
        bounds.search(move |process: &mut P, input, out: &mut _| tamper.on(process, input, out))
    }
}

fn catch_two(entry: &Entry, tamper: impl TamperWithAny) -> Option<Flaw> {
    let view = entry.view_of(&View::dense(1, 2)).unwrap();
    let seating = Seating {
        view: &view,
        construction: Construction::Grid,
        own_sets: None,
        timing: Timing::of(Duration::from_millis(1)),
    };
    Locks::visit(entry, &seating, Catch { view: view.clone(), tamper }).unwrap()
}

/// In a search a timer runs out at any time, which is not what those who need synchrony need.
fn live() -> impl Iterator<Item = &'static Entry> {
    let is_live = |entry: &&Entry| entry.serves_everybody() && !entry.needs.synchrony;
    catalogue::MUTEXES.iter().copied().filter(is_live)
}

/// Lets go of the lock as it enters, and tells its application nothing of it.
#[derive(Clone)]
struct LetsGoTooSoon;

impl TamperWithAny for LetsGoTooSoon {
    fn on<P: Mutex>(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        if input == Input::Command(Command::Leave) {
            return out.notify(Notice::Left);
        }
        let mut effects = step(process, input);
        if effects.iter().any(|it| matches!(it, Effect::Notify(Notice::Entered { .. }))) {
            effects.extend(step(process, Input::Command(Command::Leave)));
        }
        effects.retain(|it| *it != Effect::Notify(Notice::Left));
        put(effects, out);
    }
}

#[test]
fn whoever_lets_go_before_it_leaves_lets_another_in() {
    for entry in live() {
        assert_eq!(catch_two(entry, LetsGoTooSoon), Some(TWO_HOLDERS), "{}", entry.name);
    }
}

/// Never sends one kind of message.
#[derive(Clone)]
struct NeverSends(&'static str);

impl TamperWithAny for NeverSends {
    fn on<P: Mutex>(&self, process: &mut P, input: Input<P>, out: &mut Effects<P>) {
        let name = |message: &P::Message| P::Message::KINDS[usize::from(message.kind())].name;
        loses(|_, _, message| name(message) == self.0)(process, input, out);
    }
}

#[test]
fn without_any_one_kind_of_message_there_is_a_deadlock_but_for_those_that_are_mere_news() {
    for entry in live() {
        for kind in entry.kinds {
            let is_news = matches!(kind.name, "queued" | "deferred");
            let expected = (!is_news).then_some(Deadlock);
            let found = catch_two(entry, NeverSends(kind.name));
            assert_eq!(found, expected, "{} without {}", entry.name, kind.name);
        }
    }
}

// Token rings.

/// Everybody takes itself for the first member of the ring.
#[derive(Clone)]
struct EverybodyMints;

impl<P: Mutex<Config = ()>> Tamper<P> for EverybodyMints {
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P {
        let seat = start.view.seat(start.me).unwrap().index();
        let mut ring = start.view.members().to_vec();
        ring.rotate_left(seat);
        P::start(Start { view: &View::new(ring).unwrap(), ..start }, out)
    }
}

#[test]
fn two_tokens_let_two_in() {
    ring(2).catches::<TokenRing>(TWO_HOLDERS, EverybodyMints);
    ring(2).catches::<RestingTokenRing>(TWO_HOLDERS, EverybodyMints);
}

// Lamport.

#[test]
fn lamport_without_fifo_channels_lets_two_in() {
    let bounds = ring(2);
    bounds.passes::<Lamport>();
    let found = Bounds { fifo: false, ..bounds }.search::<Lamport>(Nobody);
    assert_eq!(found, Some(TWO_HOLDERS));
}

// Ricart-Agrawala.

fn asking(n: u32, answers: ricart_agrawala::Answers) -> Bounds<ricart_agrawala::Answers> {
    Bounds::new(View::dense(1, n), answers)
}

fn plainly(n: u32) -> Bounds<ricart_agrawala::Answers> {
    asking(n, ricart_agrawala::Answers::Replies)
}

/// A request that is answered at once leaves nothing behind but the risen clock, so to forget it is
/// to keep the clock still. With two processes and FIFO channels the reply comes before the request
/// that should not have been older, and all is well.
#[test]
fn a_clock_that_does_not_rise_on_receipt_lets_two_in() {
    use ricart_agrawala::Message::Request;
    let replied = |input: &_, done: &[_]| {
        matches!(input, Input::Message { message: Request(_), .. }) && !done.is_empty()
    };
    plainly(2).again(2).misses::<RicartAgrawala>(forgets(replied));
    let reordering = Bounds { fifo: false, ..plainly(2) };
    reordering.catches::<RicartAgrawala>(TWO_HOLDERS, forgets(replied));
    plainly(3).catches::<RicartAgrawala>(TWO_HOLDERS, forgets(replied));
}

#[test]
fn a_reply_that_counts_twice_lets_two_in() {
    use ricart_agrawala::Message::Reply;
    let counts_twice = |process: &mut RicartAgrawala, input: Input<_>, out: &mut Effects<_>| {
        process.on(input.clone(), out);
        if let Input::Message { message: Reply(..), .. } = input {
            process.on(input, out);
        }
    };
    plainly(2).again(2).misses(counts_twice);
    plainly(3).catches(TWO_HOLDERS, counts_twice);
}

// Maekawa, plain: with voting sets that do not let it deadlock, there is something to break.

/// Both ask 1, and 2 asks itself as well.
fn one_arbiter() -> Bounds<VotingSets> {
    Bounds::voting(&[&[1], &[1, 2]])
}

#[test]
fn maekawa_with_voting_sets_that_share_no_member_cannot_be_built() {
    let sets = [1, 2].map(|id| vec![ProcessId(id)]).to_vec();
    let refused = VotingSets::from_sets(&View::dense(1, 2), sets);
    let (first, second) = (ProcessId(1), ProcessId(2));
    assert_eq!(refused, Err(quorum::Flaw::Disjoint { first, second }));
}

/// Each takes its own word for what the voting sets are: itself alone.
#[derive(Clone)]
struct MembersDisagree;

impl<P: Mutex<Config = VotingSets>> Tamper<P> for MembersDisagree {
    fn start(&self, start: Start<'_, P>, out: &mut Effects<P>) -> P {
        let alone = |&id: &ProcessId| if id == start.me { vec![id] } else { vec![start.me, id] };
        let sets = start.view.members().iter().map(alone).collect();
        let sets = VotingSets::from_sets(start.view, sets).unwrap();
        P::start(Start { config: &sets, ..start }, out)
    }
}

#[test]
fn voting_sets_that_members_do_not_agree_on_let_two_in() {
    one_arbiter().catches::<MaekawaPlain>(TWO_HOLDERS, MembersDisagree);
    one_arbiter().catches::<Maekawa>(TWO_HOLDERS, MembersDisagree);
}

#[test]
fn a_voter_that_forgets_its_vote_lets_two_in() {
    use maekawa::{deadlock_free, plain};
    let voted_plainly = |input: &_, _: &[_]| {
        matches!(input, Input::Message { message: plain::Message::Request, .. })
    };
    let voted = |input: &_, _: &[_]| {
        matches!(input, Input::Message { message: deadlock_free::Message::Request(_), .. })
    };
    one_arbiter().catches::<MaekawaPlain>(TWO_HOLDERS, forgets(voted_plainly));
    one_arbiter().catches::<Maekawa>(TWO_HOLDERS, forgets(voted));
}

#[test]
fn a_vote_or_a_release_of_plain_maekawa_without_its_fence_lets_fences_repeat() {
    use maekawa::plain::Message::{Release, Reply};
    let vote = |message: &mut _| {
        if let Reply(fence) = message {
            *fence = Fence(0);
        }
    };
    let release = |message: &mut _| {
        if let Release(fence) = message {
            *fence = Fence(0);
        }
    };
    one_arbiter().catches::<MaekawaPlain>(FENCE_FELL, says(vote));
    one_arbiter().catches::<MaekawaPlain>(FENCE_FELL, says(release));
}

// Maekawa, deadlock-free.

#[test]
fn a_vote_or_a_release_without_its_fence_lets_fences_repeat() {
    use maekawa::deadlock_free::Message::{Grant, Release};
    let vote = |message: &mut _| {
        if let Grant(_, fence) = message {
            *fence = Fence(0);
        }
    };
    let release = |message: &mut _| {
        if let Release(fence) = message {
            *fence = Fence(0);
        }
    };
    one_arbiter().catches::<Maekawa>(FENCE_FELL, says(vote));
    one_arbiter().catches::<Maekawa>(FENCE_FELL, says(release));
}

#[test]
fn a_voter_that_inquires_and_does_not_wait_for_the_yield_lets_two_in() {
    use maekawa::deadlock_free::Message::{Inquire, Yield};
    let takes_back = |process: &mut Maekawa, input, out: &mut Effects<_>| {
        for effect in step(process, input) {
            put([effect.clone()], out);
            if let Effect::Send { to: from, message: Inquire, .. } = effect {
                process.on(Input::Message { from, message: Yield }, out);
            }
        }
    };
    Bounds::voting(&[&[1, 2], &[2]]).catches(TWO_HOLDERS, takes_back);
}

#[test]
fn a_candidate_that_yields_a_vote_and_counts_on_it_lets_two_in() {
    use maekawa::deadlock_free::Message::{Inquire, Yield};
    let keeps = |process: &mut Maekawa, input, out: &mut Effects<_>| match input {
        Input::Message { from, message: Inquire } => out.send(from, Yield),
        _ => process.on(input, out),
    };
    Bounds::voting(&[&[1, 2], &[2]]).catches(TWO_HOLDERS, keeps);
}

/// The correction that Sanders made in 1987, taken out again. Two processes do not need it, nor
/// three with the usual voting sets; three with others do, and so do four with the usual ones.
#[test]
fn without_the_second_fail_of_sanders_there_is_a_deadlock() {
    use maekawa::deadlock_free::Message::Fail;
    let second = |cause: &Input<Maekawa>, to, message: &_| {
        let is_first = matches!(cause, Input::Message { from, .. } if *from == to);
        *message == Fail && !is_first
    };
    for bounds in all_of_two() {
        bounds.again(2).misses(loses(second));
    }
    Bounds::grid(3).again(2).misses(loses(second));
    Bounds::voting(&[&[1, 2, 3], &[1, 2, 3], &[1, 2, 3]]).misses(loses(second));

    Bounds::voting(&[&[1, 2, 3], &[2, 3], &[3]]).catches(Deadlock, loses(second));
    let three_of_four = vec![Seat(1), Seat(2), Seat(3)];
    Bounds { clients: three_of_four, ..Bounds::grid(4) }.catches(Deadlock, loses(second));
}

/// Without FIFO channels an `inquire` can overtake the `grant` that it is about. Nobody gets in who
/// should not, but the vote is never given back. It takes three.
#[test]
fn maekawa_without_fifo_channels_deadlocks() {
    for bounds in all_of_two() {
        Bounds { fifo: false, ..bounds.again(2) }.misses::<Maekawa>(Nobody);
    }
    let bounds = Bounds::voting(&[&[1, 2, 3], &[2, 3], &[3]]);
    bounds.passes::<Maekawa>();
    let found = Bounds { fifo: false, ..bounds }.search::<Maekawa>(Nobody);
    assert_eq!(found, Some(Deadlock));
}

/// All voting sets that two processes can have.
fn all_of_two() -> [Bounds<VotingSets>; 3] {
    [[&[1][..], &[1, 2]], [&[1, 2], &[2]], [&[1, 2], &[1, 2]]].map(|sets| Bounds::voting(&sets))
}

// The bounds of a search.

/// Who asks, how often, and over what channels.
struct Bounds<C> {
    view: View,
    clients: Vec<Seat>,
    /// By seat.
    configs: Vec<C>,
    requests: u8,
    fifo: bool,
}

fn ring(n: u32) -> Bounds<()> {
    Bounds::new(View::dense(1, n), ())
}

impl Bounds<VotingSets> {
    fn voting(sets: &[&[u32]]) -> Self {
        let view = View::dense(1, u32::try_from(sets.len()).unwrap());
        let set = |set: &&[u32]| set.iter().copied().map(ProcessId).collect();
        let sets = VotingSets::from_sets(&view, sets.iter().map(set).collect()).unwrap();
        Self::new(view, sets)
    }

    fn grid(n: u32) -> Self {
        let view = View::dense(1, n);
        let sets = VotingSets::build(Construction::Grid, &view).unwrap();
        Self::new(view, sets)
    }
}

impl<C: Clone + Debug> Bounds<C> {
    /// Everybody asks once, over FIFO channels.
    fn new(view: View, config: C) -> Self {
        let clients = (0..view.len()).map(Seat::at).collect();
        let configs = vec![config; view.len()];
        Self { view, clients, configs, requests: 1, fifo: true }
    }

    /// So often.
    fn again(self, requests: u8) -> Self {
        Self { requests, ..self }
    }

    /// The mutant has that flaw, and the process that is left alone has none.
    #[track_caller]
    fn catches<P: Mutex<Config = C>>(&self, flaw: Flaw, tamper: impl Tamper<P> + 'static) {
        self.passes::<P>();
        assert_eq!(self.search(tamper), Some(flaw));
    }

    /// These bounds are too small for the mutant.
    #[track_caller]
    fn misses<P: Mutex<Config = C>>(&self, tamper: impl Tamper<P> + 'static) {
        assert_eq!(self.search(tamper), None);
    }

    /// The process that is left alone has no flaw, though there is something to get wrong.
    #[track_caller]
    fn passes<P: Mutex<Config = C>>(&self) {
        let found = self.run::<P>(Nobody);
        assert_eq!(checked::flaw(&found), None);
        for premise in [Premise::TwoWait, Premise::Finished] {
            assert!(found.seen(premise) > 0, "{premise:?} never happens");
        }
    }

    fn search<P: Mutex<Config = C>>(&self, tamper: impl Tamper<P> + 'static) -> Option<Flaw> {
        checked::flaw(&self.run::<P>(tamper))
    }

    fn run<P: Mutex<Config = C>>(&self, tamper: impl Tamper<P> + 'static) -> Finding {
        let channels = if self.fifo { Channels::Fifo } else { Channels::Unordered };
        let (clients, asks) = (self.clients.clone(), self.requests);
        checked::Bounds { clients, asks, channels, ..checked::Bounds::new(self.view.clone()) }
            .find::<Held<P>>(&held(&self.configs, tamper), checked::LOCK)
    }
}
