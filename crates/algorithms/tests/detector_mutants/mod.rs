//! Rules that detectors hang on, each broken once.

use std::time::Duration;

use conclave_algorithms::catalogue::Promises;
use conclave_algorithms::detector::{Heartbeat, Phi, heartbeat, phi};
use conclave_core::detector::Detector;
use conclave_core::{Due, Effect, Effects, Input, ProcessId, Protocol, Start, View};
use conclave_observe::{Report, Time, Verdict};
use conclave_sim::{Crash, DetectorApplication, FaultPlan, Network, Setup, simulate};
use conclave_testkit::mutant::{Held, Tamper, does, forgets};

use super::storm::TIMING;
use super::{Configs, all, caught, is_well};

/// From when on one of three dies, and for how long after its death the others are watched.
struct Watch {
    death: Time,
    watched: Time,
}

#[track_caller]
fn detector_catch<P: Detector>(
    config: &P::Config,
    watch: &Watch,
    tamper: impl Tamper<P> + 'static,
    wrong: impl Fn(&Report) -> bool,
) {
    let run = |seed, configs: &Configs<'_, Held<P>>| {
        let view = View::dense(1, 3);
        let configs = configs(&view);
        let at = watch.death + Time::delays(seed);
        let crash = Crash { process: ProcessId(2), at };
        let faults = FaultPlan { crashes: vec![crash], ..FaultPlan::NONE };
        let setup = Setup::<Held<P>> {
            network: Network::Sync { bound: Time::DELAY },
            faults: &faults,
            seed,
            promises: Promises::NONE,
            check_invariants: false,
            ..Setup::new(&view, &configs)
        };
        let application = DetectorApplication::new(at + watch.watched);
        simulate(&setup, application, &mut |_| {}).report
    };
    caught(1..=20, &all(config), tamper, run, wrong, is_well);
}

#[track_caller]
fn heartbeat_catch(tamper: impl Tamper<Heartbeat> + 'static, wrong: impl Fn(&Report) -> bool) {
    let watch = Watch { death: Time::ZERO, watched: Time::delays(60) };
    detector_catch(&heartbeat::Config::new(&TIMING), &watch, tamper, wrong);
}

/// What it has to learn it has learnt when one dies, and then there are 2 T to notice it.
#[track_caller]
fn phi_catch(tamper: impl Tamper<Phi> + 'static, wrong: impl Fn(&Report) -> bool) {
    let beat = Time::of(TIMING.beat());
    let watch = Watch { death: Time(5 * beat.0), watched: Time(2 * beat.0) };
    detector_catch(&phi::Config::new(&TIMING), &watch, tamper, wrong);
}

fn suspects_the_living(report: &Report) -> bool {
    report.verdict == Verdict::Violated && report.detection().unwrap().wrong() > 0
}

/// A death goes unnoticed, and nobody was suspected who lived.
fn misses_the_dead(report: &Report) -> bool {
    let detection = report.detection().unwrap();
    report.verdict == Verdict::Violated && detection.wrong() == 0 && detection.missed().count() > 0
}

#[test]
pub fn who_suspects_after_t_alone_suspects_the_living() {
    let hasty = does(|_: &Input<Heartbeat>, done: &mut Vec<Effect<_>>| {
        for effect in done {
            if let Effect::SetTimer { timer: heartbeat::Timer::Silence(_), due } = effect {
                *due = Due::at(TIMING.beat());
            }
        }
    });
    heartbeat_catch(hasty, suspects_the_living);
}

#[test]
fn who_never_suspects_misses_the_dead() {
    let trusting = |process: &mut Heartbeat, input, out: &mut Effects<Heartbeat>| {
        if !matches!(input, Input::Timer(heartbeat::Timer::Silence(_))) {
            process.on(input, out);
        }
    };
    heartbeat_catch(trusting, misses_the_dead);
    let trusting = |process: &mut Phi, input, out: &mut Effects<Phi>| {
        if !matches!(input, Input::Timer(phi::Timer::Silence(_))) {
            process.on(input, out);
        }
    };
    phi_catch(trusting, misses_the_dead);
}

/// Three beats that happened to be regular make it nervous.
#[test]
fn phi_without_a_least_deviation_suspects_the_living() {
    #[derive(Clone)]
    struct Nervous;
    impl Tamper<Phi> for Nervous {
        fn start(&self, start: Start<'_, Phi>, out: &mut Effects<Phi>) -> Phi {
            let config = phi::Config { deviation_min: Duration::ZERO, ..*start.config };
            Phi::start(Start { config: &config, ..start }, out)
        }
    }
    phi_catch(Nervous, suspects_the_living);
}

/// It goes on allowing for what it allowed for at its start, when it knew nothing.
#[test]
pub fn phi_that_does_not_learn_from_beats_misses_the_dead_for_longer() {
    let learns = |input: &Input<Phi>, _: &[_]| {
        matches!(input, Input::Message { message: phi::Message::Beat, .. })
    };
    phi_catch(forgets(learns), misses_the_dead);
}
