//! The table of settings: what is shown is understood again, and the order of words means nothing.

use conclave_algorithms::catalogue::{self, Entry, Setting as Timer};
use conclave_core::{ProcessId, View};
use conclave_observe::Time;
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::Plan;
use conclave_workbench::scenario::Scenario;
use conclave_workbench::setting::{self, SETTINGS, Settable, Setting, Shape};
use conclave_workbench::sweep::Sweep;
use conclave_workbench::table::TablePlan;

/// A value of each setting that is not the usual one, and an algorithm that has use for it.
const UNUSUAL: &[(&str, &str, &[&str])] = &[
    ("lamport", "n", &["7"]),
    ("lamport", "ids", &["3", "1", "4"]),
    ("maekawa", "voting-sets", &["majority"]),
    ("lamport", "network", &["uniform:1ms..9ms"]),
    ("bully", "mutant", &["bully-hasty"]),
    ("lamport", "no-fifo", &[""]),
    ("lamport", "workload", &["think:3ms"]),
    ("lamport", "entries", &["77"]),
    ("lamport", "hold", &["2.5ms"]),
    ("bully", "initiators", &["3", "4@2.5ms"]),
    ("lamport-clocks", "steps", &["1>2@3ms", "2@1ms"]),
    ("bully", "bound", &["3ms"]),
    ("bully", "answer-timeout", &["7ms"]),
    ("bully", "announcement-timeout", &["9ms"]),
    ("bully", "skip-dead", &[""]),
    ("heartbeat", "beat", &["4ms"]),
    ("phi", "phi", &["2.5"]),
    ("chubby", "lease", &["30ms"]),
    ("zookeeper", "session", &["50ms"]),
    ("bully", "for", &["123ms"]),
    ("chubby", "ask-every", &["6ms"]),
    ("bully", "dead", &["5", "4"]),
    ("bully", "crash", &["1@3ms", "2@4ms", "4 on electing", "5 on elected #2"]),
    ("bully", "return", &["1@9ms"]),
    ("bully", "replace", &["2@9ms"]),
    ("bully", "pause", &["3@1ms..2ms"]),
    ("bully", "partition", &["1,2>3@1ms..2ms", "1/2@1ms..2ms,held"]),
    ("bully", "slow", &["3=4x", "2=1.5x"]),
    ("bully", "drift", &["2=1.3"]),
    ("bully", "loss", &["0.25"]),
    ("bully", "duplicate", &["0.5", "answer 5>3 #1"]),
    ("bully", "drop", &["answer 4>3 #1", "answer 4>3 #2"]),
    ("bully", "delay", &["answer 5>4 #1 by 7ms"]),
    ("bully", "hurry", &["election 3>5 #1"]),
    ("bully", "intervene", &["3:crash:4", "9:lose:3.7"]),
    ("lamport", "clock", &["2 101"]),
    ("lamport", "holder", &["3"]),
    ("lamport", "patience", &["8ms"]),
    ("lamport", "max-events", &["99"]),
    ("lamport", "max-time", &["88ms"]),
    ("lamport", "go-on", &[""]),
    ("lamport", "seed", &["9"]),
];

fn entry(name: &str) -> &'static Entry {
    catalogue::find(name).expect("the catalogue has it")
}

fn setting(name: &str) -> &'static Setting {
    setting::find(name).expect("the table has it")
}

fn owned(values: &[&str]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

#[test]
fn a_value_that_is_set_is_shown_as_it_was_said_and_is_no_longer_usual() {
    for &(algorithm, name, values) in UNUSUAL {
        let mut plan = Plan::new(entry(algorithm), View::dense(1, 5));
        let setting = setting(name);
        assert!(setting.check_fit(plan.entry).is_ok(), "{name}");
        assert!(setting.is_usual(&plan), "{name} of a plan of which nothing was said");
        let said = if setting.shape == Shape::Switch { Vec::new() } else { owned(values) };
        setting.set(&mut plan, &owned(values)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(setting.values(&plan), said, "{name}");
        assert!(!setting.is_usual(&plan), "{name}");
    }
}

#[test]
fn no_setting_is_left_untested() {
    let named = |setting: &&Setting| UNUSUAL.iter().any(|(_, name, _)| *name == setting.name);
    let left: Vec<_> = SETTINGS.iter().filter(|it| !named(it)).map(|it| it.name).collect();
    // Where it is usual, it is judged: see `the_order_of_grants_is_judged_if_it_is_asked_for`.
    assert_eq!(left, ["ordering"]);
    let mut names: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SETTINGS.len(), "a name is used once");
}

#[test]
fn the_order_of_grants_is_judged_if_it_is_asked_for() {
    let mut draft = Draft::named("lamport").unwrap();
    draft.say("n", "40").unwrap();
    assert!(!draft.plan().unwrap().said().contains(&("ordering", None)));
    draft.say("ordering", "").unwrap();
    assert!(draft.plan().unwrap().said().contains(&("ordering", None)));
}

#[test]
fn every_time_that_members_agree_on_has_one_row() {
    for timer in Timer::ALL {
        let rows = SETTINGS.iter().filter(|it| is_for(it, timer)).count();
        assert_eq!(rows, 1, "{timer:?}");
    }
}

/// Everything that can be said of one algorithm at once.
fn sayings(entry: &'static Entry) -> Vec<(&'static str, &'static [&'static str])> {
    let fits = |name: &str| setting(name).group.is_some() && setting(name).check_fit(entry).is_ok();
    let all = UNUSUAL.iter().filter(|(_, name, _)| fits(name) && *name != "ids");
    // Messages and events have names that only their own algorithm knows; these are written last.
    // So have mutants.
    let known = |algorithm: &str, values: &'static [&'static str]| match algorithm == entry.name {
        true => values,
        false => &values[..values.iter().take_while(|value| !value.contains(' ')).count()],
    };
    let all = all.filter(|(of, name, _)| *name != "mutant" || *of == entry.name);
    let all = all.map(|&(algorithm, name, values)| (name, known(algorithm, values)));
    all.filter(|(_, values)| !values.is_empty()).collect()
}

fn draft(entry: &'static Entry, said: &[(&str, &[&str])]) -> Draft {
    let mut draft = Draft::new(entry);
    for (name, values) in said {
        values.iter().for_each(|value| draft.say(name, value).expect("it is a value"));
    }
    draft
}

#[test]
fn a_plan_does_not_depend_on_the_order_in_which_things_were_said() {
    for entry in catalogue::all() {
        let mut said = sayings(entry);
        // Who is dead from the start neither crashes nor calls.
        said.retain(|(name, _)| *name != "dead");
        let first = draft(entry, &said).plan().expect(entry.name);
        for _ in 0..said.len() {
            said.rotate_left(1);
            let again = draft(entry, &said).plan().expect(entry.name);
            assert_eq!(format!("{again:?}"), format!("{first:?}"));
        }
    }
}

#[test]
fn what_nobody_said_follows_from_what_was_said_and_from_nothing_else() {
    for entry in catalogue::all() {
        // Each alone, so that all others have to follow from it; but only the dead come back.
        let said = sayings(entry);
        for said in said.iter().filter(|(name, _)| *name != "return" && *name != "replace") {
            let name = said.0;
            let plan = draft(entry, core::slice::from_ref(said)).plan().expect(name);
            let mut settled = plan.clone();
            SETTINGS.iter().filter(|it| it.name != name).for_each(|it| it.settle(&mut settled));
            assert_eq!(format!("{plan:?}"), format!("{settled:?}"), "{} {name}", entry.name);
        }
    }
}

#[test]
fn a_scenario_and_a_setting_do_not_say_the_same() {
    let scenario: Scenario = "n 3\nhold 2ms\nloss 0.1\nrequest 2@0ms".parse().unwrap();
    for (name, value, says) in [
        ("n", "3", "leave `n` or `ids` out"),
        ("ids", "3", "leave `n` or `ids` out"),
        ("hold", "2ms", "leave `hold` out"),
        ("loss", "0.1", "leave `loss` out"),
        ("entries", "3", "leave `entries` out"),
    ] {
        let mut draft = Draft::named("lamport").unwrap();
        draft.play(scenario.clone());
        draft.plan().unwrap();
        draft.say(name, value).unwrap();
        let error = draft.plan().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn faults_of_a_scenario_and_of_settings_add_up() {
    let mut draft = Draft::named("lamport").unwrap();
    draft.play("n 3\nrequest 2@0ms\ncrash 1@4ms".parse().unwrap());
    draft.say("crash", "2@5ms").unwrap();
    let plan = draft.plan().unwrap();
    let who: Vec<_> = plan.faults.crashes.iter().map(|crash| crash.process).collect();
    assert_eq!((who, plan.entries), (vec![ProcessId(1), ProcessId(2)], 1));
}

#[test]
fn what_is_no_setting_or_no_value_is_refused() {
    let mut draft = Draft::named("lamport").unwrap();
    assert_eq!(draft.say("speed", "3").unwrap_err().to_string(), "there is no setting `speed`");
    let error = draft.say("hold", "soon").unwrap_err().to_string();
    assert!(error.starts_with("`soon` is not a time"), "{error}");
    draft.say("beat", "3ms").unwrap();
    let error = draft.plan().unwrap_err().to_string();
    assert_eq!(error, "lamport has no use for `beat`; it takes no timers");
}

/// Says of each setting what its meaning calls the default; gives back how many could be said.
fn check_defaults<P: Settable>() -> usize {
    let mut checked = 0;
    for setting in P::SETTINGS {
        let said = setting.meaning.split("[default: ").nth(1);
        let Some(said) = said.map(|it| it.trim_end_matches(']')) else { continue };
        let between = if matches!(setting.shape, Shape::List(_)) { "," } else { " and " };
        let values: Vec<String> = said.split(between).map(str::to_owned).collect();
        if values.iter().all(|value| setting.check(value).is_ok()) {
            let mut plan = P::default();
            setting.set(&mut plan, &values).unwrap();
            assert!(setting.is_usual(&plan), "{}: {said} is not the default", setting.name);
            checked += 1;
        }
    }
    checked
}

fn is_for(setting: &Setting, timer: Timer) -> bool {
    matches!(setting.fits, setting::Fits::Timer(it) if it == timer)
}

#[test]
fn the_defaults_that_are_told_are_those_that_hold() {
    assert_eq!(check_defaults::<Sweep>(), 7, "all but the bounds, which follow the network");
    assert_eq!(check_defaults::<TablePlan>(), 3);
}

#[test]
fn what_a_sweep_or_a_table_shows_of_itself_can_be_said_again() {
    let networks = ["unit", "uniform:1ms..2ms"].map(str::to_owned);
    let mut sweep = Sweep::default();
    let network = Sweep::SETTINGS.iter().find(|it| it.name == "network").unwrap();
    network.set(&mut sweep, &networks).unwrap();
    sweep.bounds = vec![Time::delays(3)];
    let mut again = Sweep::default();
    for setting in Sweep::SETTINGS {
        let values = setting.values(&sweep);
        if !values.is_empty() {
            setting.set(&mut again, &values).unwrap();
        }
    }
    assert_eq!(again, sweep);
}
