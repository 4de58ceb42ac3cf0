//! Every rule that an election, a detector or a composed lock hangs on, broken once, and the judge
//! that notices.
//!
//! The algorithms have no switches for this: a mutant is the real process in the hands of somebody
//! who tampers with what it hears, says or remembers. It must be caught within so many seeds, and
//! with the seed that catches it the process that is left alone passes.

#![allow(clippy::cast_possible_truncation, reason = "what is drawn is small")]

mod detector_mutants;
mod storm;

use std::collections::BTreeSet;
use std::time::Duration;

use conclave_algorithms::catalogue::{self, Entry, Listed, SERVER, Seating, Visitor};
use conclave_algorithms::detector::{heartbeat, phi, with};
use conclave_algorithms::election::{
    Bully, ChangRoberts, ChangRobertsRepaired, Chubby, ZooKeeper, bully, chang_roberts,
    chang_roberts_repaired, chubby, zookeeper,
};
use conclave_algorithms::mutex::{
    CentralElectedByHeartbeat, TokenRingRepaired, central_elected, token_ring_repaired,
};
use conclave_algorithms::quorum::Construction;
use conclave_core::election::{Election, Term};
use conclave_core::mutex::Mutex;
use conclave_core::{Due, Effect, Effects, Family, Input, ProcessId, Protocol, Seat, Start, View};
use conclave_observe::family::elections::ElectionPanel;
use conclave_observe::{Report, Time, Verdict};
use conclave_sim::{
    Call, ChannelOrder, Crash, ElectionApplication, FaultPlan, Limits, MutexApplication, Network,
    Pause, Return, Setup, Stream, Workload, simulate,
};
use conclave_testkit::mutant::{
    Held, Nobody, Tamper, does, forgets, hears, held, loses, persists_nothing, put, says, step,
};
use storm::{Storm, TIMING};

/// What each knows before it starts, by seat, whoever takes part.
type Configs<'a, P> = dyn Fn(&View) -> Vec<<P as Protocol>::Config> + 'a;

/// All know the same.
fn all<C: Clone>(config: &C) -> impl Fn(&View) -> Vec<C> {
    |view| vec![config.clone(); view.len()]
}

/// A mutant is caught by one of so many seeds, and that seed passes with the real one.
#[track_caller]
fn caught<P: Protocol>(
    mut seeds: impl Iterator<Item = u64>,
    configs: &Configs<'_, P>,
    tamper: impl Tamper<P> + 'static,
    run: impl Fn(u64, &Configs<'_, Held<P>>) -> Report,
    wrong: impl Fn(&Report) -> bool,
    passes: impl Fn(u64, &Report) -> bool,
) {
    let mutant = move |view: &View| held(&configs(view), tamper.clone());
    let seed = seeds.find(|&seed| wrong(&run(seed, &mutant)));
    let seed = seed.expect("the mutant is not caught");
    println!("caught by seed {seed}");
    let real = run(seed, &|view: &View| held(&configs(view), Nobody));
    assert!(passes(seed, &real), "seed {seed}, and nobody tampers: {}", real.verdict);
}

fn is_well(_: u64, report: &Report) -> bool {
    report.verdict == Verdict::Ok
}

fn elections(report: &Report) -> &ElectionPanel {
    report.elections().unwrap()
}

fn two_in_a_term(report: &Report) -> bool {
    elections(report).per_term.broken().is_some()
}

fn two_at_a_time(report: &Report) -> bool {
    elections(report).one_at_a_time.as_ref().is_some_and(|it| it.broken().is_some())
}

/// A value that was acknowledged is lost, or one that was overwritten is read.
fn value_lost(report: &Report) -> bool {
    elections(report).versions.broken().is_some() || elections(report).register.broken().is_some()
}

fn not_the_largest(report: &Report) -> bool {
    elections(report).largest.as_ref().is_some_and(|it| it.broken().is_some())
}

fn no_agreement(report: &Report) -> bool {
    elections(report).agreement.broken().is_some()
}

fn stuck(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Deadlock | Verdict::Stalled)
}

fn two_holders(report: &Report) -> bool {
    report.locks().unwrap().exclusion.broken().is_some()
}

// Elections in rings, and the bully: small systems whose messages take at most 1.

/// Who takes part, who calls, who dies.
struct Small {
    view: View,
    order: ChannelOrder,
    network: Network,
    faults: FaultPlan,
    calls: Vec<Call>,
    seed: u64,
}

fn small(seed: u64, deaths: bool, order: ChannelOrder) -> Small {
    let stream = &mut Stream::new(seed, "small");
    let n = 2 + stream.below(5);
    let mut ids: Vec<u32> = (1..=n as u32).collect();
    let mut ring = Vec::new();
    while !ids.is_empty() {
        ring.push(ProcessId(ids.swap_remove(stream.below(ids.len() as u64) as usize)));
    }
    let network = match stream.below(2) {
        0 => Network::Unit,
        _ => Network::Sync { bound: Time::DELAY },
    };
    let mut faults = FaultPlan::NONE;
    let dying = if deaths { stream.below(n) as u32 } else { 0 };
    for process in (0..dying).map(|below| ProcessId(n as u32 - below)) {
        match stream.below(2) {
            0 => faults.dead.push(process),
            _ => {
                let at = stream.between(Time::ZERO, Time::delays(8));
                faults.crashes.push(Crash { process, at });
            }
        }
    }
    let view = View::new(ring).unwrap();
    let calls = (0..=stream.below(4)).map(|_| {
        let caller = ProcessId(1 + stream.below(n - u64::from(dying)) as u32);
        let at = stream.between(Time::ZERO, Time::delays(6));
        Call { seat: view.seat(caller).unwrap(), at }
    });
    let calls = calls.collect();
    Small { view, order, network, faults, calls, seed }
}

impl Small {
    fn run<P: Election>(&self, entry: &Entry, configs: &Configs<'_, P>) -> Report {
        let configs = configs(&self.view);
        let setup = Setup::<P> {
            network: self.network,
            order: self.order,
            faults: &self.faults,
            seed: self.seed,
            limits: Limits {
                events: 50_000,
                time: Time::delays(2_000),
                patience: Time::delays(500),
            },
            promises: entry.promises,
            check_invariants: false,
            ..Setup::new(&self.view, &configs)
        };
        let (clients, calls) = (entry.clients(&self.view), self.calls.clone());
        let until = self.faults.last_moment();
        let application = ElectionApplication::new(&self.view, clients, calls, until, self.seed);
        simulate(&setup, application, &mut |_| {}).report
    }
}

/// A mutant of an election in small systems, in which some may die.
#[track_caller]
fn small_catch<P: Election>(
    entry: &Entry,
    config: &P::Config,
    deaths: bool,
    tamper: impl Tamper<P> + 'static,
    wrong: impl Fn(&Report) -> bool,
) {
    let run = |seed, configs: &Configs<'_, Held<P>>| {
        small(seed, deaths, ChannelOrder::Fifo).run::<Held<P>>(entry, configs)
    };
    caught(1..=200, &all(config), tamper, run, wrong, is_well);
}

const RINGS: [(&Entry, chang_roberts::Variant); 3] = [
    (&chang_roberts::PLAIN, chang_roberts::Variant::Plain),
    (&chang_roberts::SUPPRESS, chang_roberts::Variant::Suppress),
    (&chang_roberts::NAIVE, chang_roberts::Variant::Naive),
];

#[test]
fn who_passes_on_the_smaller_of_two_ids_elects_one_that_is_not_the_largest() {
    use chang_roberts::Message::Election;
    let passes_on = does(|input: &Input<ChangRoberts>, done: &mut Vec<Effect<_>>| {
        let Input::Message { message: Election { id: came, .. }, .. } = input else { return };
        for effect in done {
            if let Effect::Send { message: Election { id, .. }, .. } = effect {
                *id = *came;
            }
        }
    });
    for (entry, variant) in RINGS {
        small_catch(entry, &variant, false, passes_on.clone(), not_the_largest);
    }
}

#[test]
fn who_announces_who_began_and_not_who_is_the_largest_makes_that_one_lead() {
    use chang_roberts::Message::Elected;
    let mistakes = |message: &mut _| {
        if let Elected { initiator, id } = message {
            *id = *initiator;
        }
    };
    for (entry, variant) in RINGS {
        let tamper = says::<ChangRoberts>(mistakes);
        small_catch(entry, &variant, false, tamper, not_the_largest);
    }
}

#[test]
fn an_announcement_that_is_not_passed_on_leaves_the_others_waiting() {
    let on_behalf = |cause: &Input<ChangRoberts>, _, message: &_| {
        use chang_roberts::Message::Elected;
        let is_own = !matches!(cause, Input::Message { message: Elected { .. }, .. });
        matches!(message, Elected { .. }) && !is_own
    };
    for (entry, variant) in RINGS {
        small_catch(entry, &variant, false, loses(on_behalf), stuck);
    }
}

#[test]
fn without_order_a_participant_of_the_plain_ring_waits_for_ever_but_not_of_the_naive_one() {
    let verdicts = |entry: &'static Entry, variant| {
        let configs = move |view: &View| vec![variant; view.len()];
        let run = move |seed, order| small(seed, false, order).run::<ChangRoberts>(entry, &configs);
        let stuck_with = move |order| (1..=2_000).any(|seed| stuck(&run(seed, order)));
        [ChannelOrder::Fifo, ChannelOrder::Any].map(stuck_with)
    };
    let [(plain, by_flag), _, (naive, by_nothing)] = RINGS;
    assert_eq!(verdicts(plain, by_flag), [false, true]);
    assert_eq!(verdicts(naive, by_nothing), [false, false]);
}

#[test]
fn a_repaired_ring_whose_detector_says_nothing_waits_for_the_dead() {
    use with::Timer::Detector;
    let deaf = |process: &mut ChangRobertsRepaired, input, out: &mut Effects<_>| {
        if !matches!(input, Input::Timer(Detector(heartbeat::Timer::Silence(_)))) {
            process.on(input, out);
        }
    };
    let config = ((), heartbeat::Config::new(&TIMING));
    small_catch(&chang_roberts_repaired::ENTRY, &config, true, deaf, stuck);
}

fn bully() -> bully::Config {
    bully::Config::new(&TIMING)
}

#[test]
fn a_bully_that_waits_for_less_than_2d_leads_beside_a_larger_one() {
    #[derive(Clone)]
    struct Hasty;
    impl Tamper<Bully> for Hasty {
        fn start(&self, start: Start<'_, Bully>, out: &mut Effects<Bully>) -> Bully {
            let config = bully::Config { answer: Duration::from_micros(1_900), ..*start.config };
            Bully::start(Start { config: &config, ..start }, out)
        }
    }
    small_catch(&bully::ENTRY, &bully(), true, Hasty, not_the_largest);
}

#[test]
fn a_bully_that_answers_only_on_calling_is_taken_for_dead() {
    let answers_once = does(|_: &Input<Bully>, done: &mut Vec<Effect<_>>| {
        let answer = |effect: &Effect<_>| {
            matches!(effect, Effect::Send { message: bully::Message::Answer, .. })
        };
        if done.iter().all(answer) {
            done.clear();
        }
    });
    small_catch(&bully::ENTRY, &bully(), true, answers_once, not_the_largest);
}

#[test]
fn a_bully_that_does_not_tell_all_smaller_ones_leaves_one_without_a_leader() {
    let forgets_one = |_: &Input<Bully>, to, message: &_| {
        *message == bully::Message::Coordinator && to == ProcessId(1)
    };
    small_catch(&bully::ENTRY, &bully(), true, loses(forgets_one), no_agreement);
}

#[test]
fn a_bully_that_does_not_call_again_waits_for_the_dead_for_ever() {
    let gives_up = |process: &mut Bully, input: Input<Bully>, out: &mut Effects<Bully>| {
        if input != Input::Timer(bully::Timer::Announcement) {
            process.on(input, out);
        }
    };
    small_catch(&bully::ENTRY, &bully(), true, gives_up, stuck);
}

// Elections by majority, which must bear anything.

#[track_caller]
fn storm_catch<P: Election>(
    entry: &Entry,
    configs: &Configs<'_, P>,
    seeds: u64,
    tamper: impl Tamper<P> + 'static,
    wrong: impl Fn(&Report) -> bool,
) {
    let run = |seed, configs: &Configs<'_, Held<P>>| {
        let storm = Storm::draw(entry, seed);
        storm.strike::<Held<P>>(entry, &configs(&storm.view)).report
    };
    // Where it does not settle, it may take longer than any run until all know of one leader.
    let is_late = |seed, report: &Report| {
        report.verdict == Verdict::Budget && !Storm::draw(entry, seed).settles
    };
    let passes = |seed, report: &Report| is_well(seed, report) || is_late(seed, report);
    caught(1..=seeds, configs, tamper, run, wrong, passes);
}

#[track_caller]
fn chubby_catch(
    seeds: u64,
    tamper: impl Tamper<Chubby> + 'static,
    wrong: impl Fn(&Report) -> bool,
) {
    let config = chubby::Config { lease: TIMING.lease() };
    storm_catch(&chubby::ENTRY, &all(&config), seeds, tamper, wrong);
}

#[test]
fn a_vote_that_is_not_persisted_is_given_twice() {
    let votes = does(|_: &Input<Chubby>, done: &mut Vec<Effect<_>>| {
        for effect in done {
            if let Effect::Persist(stored) = effect {
                (stored.term, stored.vote) = (Term::NONE, None);
            }
        }
    });
    chubby_catch(300, votes, two_in_a_term);
    chubby_catch(300, persists_nothing(), value_lost);
}

/// Also hears what it hears from those whose ids are next to the sender's.
fn hears_thrice<P: Protocol>(
    is_doubled: impl Fn(&P::Message) -> bool + Clone,
) -> impl Fn(&mut P, Input<P>, &mut Effects<P>) + Clone {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        if let Input::Message { from, message } = &input
            && is_doubled(message)
        {
            for from in [from.0 + 1, from.0.wrapping_sub(1)].map(ProcessId) {
                process.on(Input::Message { from, message: message.clone() }, out);
            }
        }
        process.on(input, out);
    }
}

#[test]
fn a_master_without_a_majority_leads_beside_another() {
    let votes = hears_thrice(|message: &_| matches!(message, chubby::Message::Vote(..)));
    chubby_catch(300, votes.clone(), two_in_a_term);
    chubby_catch(300, votes, two_at_a_time);
}

#[test]
fn a_lease_that_no_majority_renews_lasts_into_the_next() {
    let promises = hears_thrice(|message: &_| matches!(message, chubby::Message::Renewed(..)));
    chubby_catch(300, promises, two_at_a_time);
}

#[test]
fn a_vote_of_an_earlier_term_counts_for_nothing() {
    use chubby::Message::Vote;
    let any_term = |process: &mut Chubby, input: Input<Chubby>, out: &mut Effects<Chubby>| {
        if let Input::Message { from, message: Vote(_, has) } = input {
            for term in (1..60).map(Term) {
                process.on(Input::Message { from, message: Vote(term, has) }, out);
            }
        } else {
            process.on(input, out);
        }
    };
    chubby_catch(2_000, any_term, |report| report.verdict == Verdict::Violated);
}

/// What timers are set to is tampered with.
fn promises_for(
    change: impl Fn(Duration) -> Duration + Clone + Send + Sync,
) -> impl Fn(&mut Chubby, Input<Chubby>, &mut Effects<Chubby>) + Clone {
    does(move |_: &Input<Chubby>, done: &mut Vec<Effect<_>>| {
        for effect in done {
            if let Effect::SetTimer { timer: chubby::Timer::Promise, due } = effect
                && let Due::Within { after, at_most } = due
            {
                (*after, *at_most) = (change(*after), change(*at_most));
            }
        }
    })
}

#[test]
fn a_promise_that_is_not_kept_lets_another_lead_while_the_lease_lasts() {
    chubby_catch(300, promises_for(|promise| promise / 4), two_at_a_time);
}

/// Counts a lease as twice as long as others promise.
#[derive(Clone)]
struct LongLease;

impl Tamper<Chubby> for LongLease {
    fn start(&self, start: Start<'_, Chubby>, out: &mut Effects<Chubby>) -> Chubby {
        let config = chubby::Config { lease: 2 * start.config.lease };
        Chubby::start(Start { config: &config, ..start }, out)
    }

    fn on(&self, process: &mut Chubby, input: Input<Chubby>, out: &mut Effects<Chubby>) {
        promises_for(|promise| promise / 2)(process, input, out);
    }
}

#[test]
fn a_lease_that_is_longer_than_what_was_promised_lasts_into_the_next() {
    chubby_catch(300, LongLease, two_at_a_time);
}

/// A mutant of a master that sleeps for long enough that another is elected, and wakes up. Nothing
/// else goes wrong.
#[track_caller]
fn sleep_catch(tamper: impl Tamper<Chubby> + 'static, wrong: impl Fn(&Report) -> bool) {
    let entry = &chubby::ENTRY;
    let run = |seed, configs: &Configs<'_, Held<Chubby>>| {
        let view = View::dense(1, 3);
        let configs = configs(&view);
        let stream = &mut Stream::new(seed, "sleep");
        let from = stream.between(Time::delays(5), Time::delays(30));
        let until = from + stream.between(Time::delays(20), Time::delays(90));
        let pauses = vec![Pause { process: ProcessId(1), from, until }];
        let faults = FaultPlan { pauses, ..FaultPlan::NONE };
        let setup = Setup::<Held<Chubby>> {
            network: Network::Sync { bound: Time::DELAY },
            faults: &faults,
            seed,
            promises: entry.promises,
            check_invariants: false,
            ..Setup::new(&view, &configs)
        };
        let calls = vec![Call { seat: Seat(0), at: Time::ZERO }];
        let (clients, end) = (entry.clients(&view), until + Time::delays(100));
        let application = ElectionApplication::new(&view, clients, calls, end, seed);
        simulate(&setup, application.asking_every(Time::DELAY), &mut |_| {}).report
    };
    let config = chubby::Config { lease: TIMING.lease() };
    caught(1..=200, &all(&config), tamper, run, wrong, is_well);
}

#[test]
fn a_master_that_wakes_up_and_looks_at_its_lease_too_late_leads_beside_the_next() {
    let looks_late = does(|_: &Input<Chubby>, done: &mut Vec<Effect<_>>| {
        for effect in done {
            if let Effect::SetTimer { due: Due::Deadline(lease), .. } = effect {
                *lease *= 3;
            }
        }
    });
    sleep_catch(looks_late, two_at_a_time);
}

#[test]
fn a_master_that_does_not_step_down_leads_beside_the_next() {
    let stays = |process: &mut Chubby, input: Input<Chubby>, out: &mut Effects<Chubby>| {
        if !matches!(input, Input::Timer(chubby::Timer::Lease(_))) {
            put(step(process, input), out);
        }
    };
    chubby_catch(300, stays, two_at_a_time);
}

#[test]
fn a_write_that_is_acknowledged_before_a_majority_has_it_is_lost() {
    let stored = hears_thrice(|message: &_| matches!(message, chubby::Message::Stored(..)));
    chubby_catch(300, stored, value_lost);
}

#[test]
fn a_new_master_that_ignores_what_its_voters_have_loses_it() {
    let alone = |message: &mut _| {
        if let chubby::Message::Vote(_, has) = message {
            *has = chubby::Register::default();
        }
    };
    chubby_catch(300, hears(alone), value_lost);
}

const LINES: [(&Entry, zookeeper::Watch); 2] = [
    (&zookeeper::PLAIN, zookeeper::Watch::NextLower),
    (&zookeeper::HERD, zookeeper::Watch::Lowest),
];

/// A store, and candidates in its line.
fn line(watch: zookeeper::Watch) -> impl Fn(&View) -> Vec<zookeeper::Config> {
    move |view| {
        let seating =
            Seating { view, construction: Construction::Grid, own_sets: None, timing: TIMING };
        let session = TIMING.session();
        let config = |part| zookeeper::Config { part, session, watch };
        let (store, candidate) = (zookeeper::Part::Store, zookeeper::Part::Candidate(SERVER));
        seating.roles(config(store), config(candidate))
    }
}

#[track_caller]
fn zookeeper_catch(seeds: u64, tamper: &(impl Tamper<ZooKeeper> + 'static)) {
    for (entry, watch) in LINES {
        storm_catch(entry, &line(watch), seeds, tamper.clone(), two_in_a_term);
    }
}

#[test]
fn an_acknowledgement_that_is_not_persisted_is_given_twice() {
    let forgotten = does(|_: &Input<ZooKeeper>, done: &mut Vec<Effect<_>>| {
        for effect in done {
            if let Effect::Persist(stored) = effect {
                (stored.epoch, stored.claimant) = (Term::NONE, None);
            }
        }
    });
    zookeeper_catch(1_000, &forgotten);
}

#[test]
fn who_acknowledges_two_claims_in_an_epoch_gives_it_two_leaders() {
    let acknowledges = |_: &Input<ZooKeeper>, done: &[Effect<_>]| {
        let ack = |effect: &Effect<_>| {
            matches!(effect, Effect::Send { message: zookeeper::Message::Ack(_), .. })
        };
        done.iter().any(ack)
    };
    zookeeper_catch(1_000, &forgets(acknowledges));
}

#[test]
fn a_claim_that_no_majority_confirms_has_a_rival_in_its_epoch() {
    zookeeper_catch(
        1_000,
        &hears_thrice(|message: &_| matches!(message, zookeeper::Message::Ack(_))),
    );
}

/// Whose session ends, in a line that is quiet.
#[derive(Clone, Copy)]
enum Victim {
    /// The first in line, which leads. It stays dead.
    Leader,
    /// Another. It comes back, to the end of the line.
    Bystander,
}

/// A mutant of the line itself. Acknowledgements see to it that no epoch has two leaders, whoever
/// claims; the line, that somebody claims in the end, and nobody while the first in it lives.
#[track_caller]
fn line_catch(
    (entry, watch): (&Entry, zookeeper::Watch),
    victim: Victim,
    tamper: impl Tamper<ZooKeeper> + 'static,
    wrong: impl Fn(&Report) -> bool + Copy,
) {
    let run = |seed, configs: &Configs<'_, Held<ZooKeeper>>| {
        let stream = &mut Stream::new(seed, "line");
        let n = 3 + stream.below(4) as u32;
        let view = entry.view_of(&View::dense(1, n)).unwrap();
        let configs = configs(&view);
        let mut faults = FaultPlan::NONE;
        let at = stream.between(Time::delays(40), Time::delays(80));
        // Where all messages take 1, the first to ask is the first in line.
        let process = match victim {
            Victim::Leader => ProcessId(1),
            Victim::Bystander => ProcessId(2 + stream.below(u64::from(n) - 1) as u32),
        };
        faults.crashes.push(Crash { process, at });
        if let Victim::Bystander = victim {
            let at = at + stream.between(Time(1), Time::delays(60));
            faults.returns.push(Return { process, at });
        }
        let setup = Setup::<Held<ZooKeeper>> {
            faults: &faults,
            seed,
            limits: Limits {
                events: 100_000,
                time: Time::delays(2_000),
                patience: Time::delays(500),
            },
            promises: entry.promises,
            check_invariants: false,
            ..Setup::new(&view, &configs)
        };
        let until = faults.last_moment() + Time::delays(100);
        let clients = entry.clients(&view);
        let application = ElectionApplication::new(&view, clients, Vec::new(), until, seed);
        simulate(&setup, application, &mut |_| {}).report
    };
    let passes = |seed, report: &Report| is_well(seed, report) && !wrong(report);
    caught(1..=20, &line(watch), tamper, run, wrong, passes);
}

/// More than one has led, though the first in line was never away.
fn is_deposed(report: &Report) -> bool {
    elections(report).per_term.terms() > 1
}

#[test]
fn who_is_woken_and_claims_without_reading_its_place_deposes_a_leader_that_lives() {
    use zookeeper::Message::{Gone, Place};
    let believes = |message: &mut _| {
        if let Gone(session) = *message {
            *message = Place(session, zookeeper::Place { number: 0, watched: None });
        }
    };
    line_catch(LINES[0], Victim::Bystander, hears(believes), is_deposed);
}

/// As in notes that have the line mirrored: its end is where one leads. Only who comes back, in a
/// second session, is tampered with: at the start all are newcomers, and there is nobody to depose.
#[test]
fn where_the_highest_number_claims_every_newcomer_deposes_the_leader() {
    use zookeeper::Message::{Create, Place};
    let last_leads = does(|input: &Input<ZooKeeper>, done: &mut Vec<Effect<_>>| {
        let Input::Message { message: Create(2..), .. } = input else { return };
        for effect in done {
            if let Effect::Send { message: Place(_, place), .. } = effect {
                place.watched = None;
            }
        }
    });
    for line in LINES {
        line_catch(line, Victim::Bystander, last_leads.clone(), is_deposed);
    }
}

#[test]
fn who_watches_nobody_takes_the_dead_leader_for_the_first_in_line_for_ever() {
    use zookeeper::Message::{Place, Pong};
    let never_looks = |message: &mut _| {
        if let Place(_, place) | Pong(_, _, place) = message
            && place.number > 1
        {
            place.watched = Some(1);
        }
    };
    for line in LINES {
        line_catch(line, Victim::Leader, hears(never_looks), stuck);
    }
}

#[test]
fn where_all_watch_the_lowest_a_death_wakes_all_of_them() {
    #[derive(Clone)]
    struct Herd;
    impl Tamper<ZooKeeper> for Herd {
        fn start(&self, start: Start<'_, ZooKeeper>, out: &mut Effects<ZooKeeper>) -> ZooKeeper {
            let config = zookeeper::Config { watch: zookeeper::Watch::Lowest, ..*start.config };
            ZooKeeper::start(Start { config: &config, ..start }, out)
        }
    }
    line_catch(LINES[0], Victim::Leader, Herd, |report| report.bandwidth.herd() > 1);
}

// Locks that are repaired after a crash.

#[track_caller]
fn lock_catch<P: Mutex>(
    config: &P::Config,
    tamper: impl Tamper<P> + 'static,
    wrong: impl Fn(&Report) -> bool,
) {
    fn of<P: Mutex>(seed: u64, configs: &Configs<'_, P>) -> Report {
        let stream = &mut Stream::new(seed, "lock");
        let n = 2 + stream.below(5) as u32;
        let view = View::dense(1, n);
        let configs = configs(&view);
        let mut faults = FaultPlan::NONE;
        let mut left: Vec<u32> = (1..=n).collect();
        for _ in 0..=stream.below(u64::from(n) - 1) {
            let process = ProcessId(left.swap_remove(stream.below(left.len() as u64) as usize));
            let at = stream.between(Time::ZERO, Time::delays(80));
            faults.crashes.push(Crash { process, at });
        }
        let order = if stream.below(2) == 0 { ChannelOrder::Fifo } else { ChannelOrder::Any };
        let setup = Setup::<P> {
            network: Network::Sync { bound: Time::DELAY },
            order,
            faults: &faults,
            seed,
            limits: Limits {
                events: 1_000_000,
                time: Time::delays(100_000),
                patience: Time::delays(1_000),
            },
            check_invariants: false,
            ..Setup::new(&view, &configs)
        };
        let hold = Time(1 + stream.below(20) * Time::DELAY.0);
        let clients = (0..n).map(Seat).collect();
        let entries = 20 * u64::from(n);
        let workload = Workload::Contend;
        let application =
            MutexApplication::new(workload, &view, clients, entries, hold, None, seed);
        simulate(&setup, application, &mut |_| {}).report
    }
    caught(1..=2_000, &all(config), tamper, of::<Held<P>>, wrong, is_well);
}

/// Takes what is of any epoch for one of its own: tries them all, and keeps to what it minds.
fn minds_no_epoch<P: Protocol>(
    in_epoch: impl Fn(&P::Message, u64) -> Option<P::Message> + Clone,
) -> impl Fn(&mut P, Input<P>, &mut Effects<P>) + Clone {
    move |process: &mut P, input: Input<P>, out: &mut Effects<P>| {
        if let Input::Message { from, message } = &input {
            for epoch in 0..200 {
                let Some(message) = in_epoch(message, epoch) else { break };
                let before = process.clone();
                let input = Input::Message { from: *from, message };
                let effects = step(process, input);
                if !effects.is_empty() || *process != before {
                    return put(effects, out);
                }
            }
        }
        process.on(input, out);
    }
}

#[test]
fn a_token_without_an_epoch_is_one_of_two() {
    use token_ring_repaired::{Epoch, Message::Ring};
    let config = (token_ring_repaired::Config::new(&TIMING), heartbeat::Config::new(&TIMING));
    let tamper = minds_no_epoch::<TokenRingRepaired>(|message, epoch| match message {
        with::Message::Protocol(Ring(_, token)) => {
            Some(with::Message::Protocol(Ring(Epoch(epoch), token.clone())))
        }
        _ => None,
    });
    lock_catch(&config, tamper, two_holders);
}

fn central() -> (bully::Config, heartbeat::Config) {
    (bully(), heartbeat::Config::new(&TIMING))
}

#[test]
fn a_grant_without_an_epoch_lets_two_in() {
    use central_elected::{Epoch, Message::ToClient};
    let tamper = minds_no_epoch::<CentralElectedByHeartbeat>(|message, epoch| match message {
        with::Message::Protocol(ToClient { message, .. }) => {
            let (epoch, message) = (Epoch(epoch), message.clone());
            Some(with::Message::Protocol(ToClient { epoch, message }))
        }
        _ => None,
    });
    lock_catch(&central(), tamper, |report| report.verdict == Verdict::Violated);
}

#[test]
fn a_census_that_is_not_told_who_is_inside_lets_two_in() {
    let denies = |message: &mut with::Message<_, _>| {
        if let with::Message::Protocol(central_elected::Message::Tell { inside, .. }) = message {
            *inside = false;
        }
    };
    lock_catch(&central(), says::<CentralElectedByHeartbeat>(denies), two_holders);
}

#[test]
fn an_install_that_forgets_the_holder_keeps_all_others_out_for_ever() {
    let forgets = |message: &mut with::Message<_, _>| {
        if let with::Message::Protocol(central_elected::Message::Install { holder, .. }) = message {
            *holder = None;
        }
    };
    lock_catch(&central(), says::<CentralElectedByHeartbeat>(forgets), stuck);
}

// No algorithm is without: those that a search can take have a list beside them.

/// A mutant of each algorithm that no search can take, because it reads a clock.
const MUTANTS: [(&Entry, fn()); 1] = [(
    &phi::ENTRY,
    detector_mutants::phi_that_does_not_learn_from_beats_misses_the_dead_for_longer,
)];

/// Whether it does.
struct ReadsClock;

impl<F: Family> Visitor<F> for ReadsClock {
    type Output = bool;

    fn visit<P: Listed<Family = F>>(self, _: &'static Entry, _: Vec<P::Config>) -> bool {
        P::READS_CLOCK
    }
}

#[test]
fn whatever_no_search_can_take_has_a_mutant_here() {
    let reads_clock = |entry: &&Entry| {
        let view = &entry.view_of(&View::dense(1, 1)).unwrap();
        let seating =
            Seating { view, construction: Construction::Grid, own_sets: None, timing: TIMING };
        catalogue::visit(entry, &seating, ReadsClock).unwrap()
    };
    let all: BTreeSet<_> = catalogue::all().filter(reads_clock).map(|entry| entry.name).collect();
    assert_eq!(MUTANTS.iter().map(|(entry, _)| entry.name).collect::<BTreeSet<_>>(), all);
}
