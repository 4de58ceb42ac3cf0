//! The settings of a sweep.

use alloc::format;
use alloc::string::{String, ToString};

use conclave_observe::Time;
use conclave_sim::Network;

use super::Sweep;
use crate::notation::{Notation, parse_time};
use crate::setting::access::{Many, One};
use crate::setting::{Settable, Setting, SettingError, Shape, members, phi};

/// The most processes of a sweep.
const N_MAX: u32 = 100;
/// The most runs for each point.
const RUNS_MAX: u32 = 1_000_000;

impl Settable for Sweep {
    const SETTINGS: &'static [Setting<Self>] = SETTINGS;
}

static SETTINGS: &[Setting<Sweep>] = &[
    Setting::new(
        "n",
        "How many processes take part [default: 5]",
        Shape::One("N"),
        &One::<Sweep, u32> {
            parse: |text| members(text, 2, N_MAX),
            show: ToString::to_string,
            get: |sweep| Some(sweep.n),
            set: |sweep, n| sweep.n = n,
            usual: |_| Some(Sweep::default().n),
        },
    ),
    Setting::new(
        "network",
        "How long messages take, as in a run; give it again for another panel [default: sync:5ms \
         and exponential:5ms]",
        Shape::Again("MODEL"),
        &Many::<Sweep, Network> {
            parse: |text| Ok(Network::read(text)?),
            show: ToString::to_string,
            get: |sweep| sweep.networks.clone(),
            set: |sweep, networks| {
                sweep.networks.clear();
                for network in networks {
                    if !sweep.networks.contains(&network) {
                        sweep.networks.push(network);
                    }
                }
                Ok(())
            },
            usual: |_| Sweep::default().networks,
        },
    ),
    Setting::new(
        "bounds",
        "D of heartbeat: the bounds to try [default: from 0.25 to 20 times that of the network]",
        Shape::List("TIME,TIME,..."),
        &Many::<Sweep, Time> {
            parse: |text| Ok(parse_time(text)?),
            show: time,
            get: |sweep| sweep.bounds.clone(),
            set: |sweep, bounds| {
                sweep.bounds = bounds;
                Ok(())
            },
            usual: |_| Sweep::default().bounds,
        },
    ),
    Setting::new(
        "thresholds",
        "The thresholds of phi to try, each from 0.1 to 20 [default: 0.5,1,2,3,5,8,12]",
        Shape::List("PHI,PHI,..."),
        &Many::<Sweep, u32> {
            parse: phi,
            show: |hundredths| (f64::from(*hundredths) / 100.0).to_string(),
            get: |sweep| sweep.thresholds.clone(),
            set: |sweep, thresholds| {
                sweep.thresholds = thresholds;
                Ok(())
            },
            usual: |_| Sweep::default().thresholds,
        },
    ),
    Setting::new(
        "runs",
        "How many runs for each point [default: 40]",
        Shape::One("COUNT"),
        &One::<Sweep, u32> {
            parse: |text| match text.parse()? {
                runs @ 1..=RUNS_MAX => Ok(runs),
                _ => Err(SettingError::Count { max: RUNS_MAX.into() }),
            },
            show: ToString::to_string,
            get: |sweep| Some(sweep.runs),
            set: |sweep, runs| sweep.runs = runs,
            usual: |_| Some(Sweep::default().runs),
        },
    ),
    Setting::new(
        "beat",
        "T: the time from beat to beat [default: 10ms]",
        Shape::One("TIME"),
        &One::<Sweep, Time> {
            parse: |text| Ok(parse_time(text)?),
            show: time,
            get: |sweep| Some(sweep.beat),
            set: |sweep, beat| sweep.beat = beat,
            usual: |_| Some(Sweep::default().beat),
        },
    ),
    Setting::new(
        "for",
        "How long each run is; the crash comes in its second quarter [default: 1s]",
        Shape::One("TIME"),
        &One::<Sweep, Time> {
            parse: |text| Ok(parse_time(text)?),
            show: time,
            get: |sweep| Some(sweep.until),
            set: |sweep, until| sweep.until = until,
            usual: |_| Some(Sweep::default().until),
        },
    ),
    Setting::new(
        "seed",
        "The number that decides everything random [default: 1]",
        Shape::One("SEED"),
        &One::<Sweep, u64> {
            parse: |text| Ok(text.parse()?),
            show: ToString::to_string,
            get: |sweep| Some(sweep.seed),
            set: |sweep, seed| sweep.seed = seed,
            usual: |_| Some(Sweep::default().seed),
        },
    ),
];

fn time(time: &Time) -> String {
    format!("{time}ms")
}
