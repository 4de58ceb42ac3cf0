//! Every scenario that comes with the program shows what it promises to show.

use conclave_algorithms::catalogue;
use conclave_workbench::account;
use conclave_workbench::bundled::{self, Bundled, SCENARIOS};
use conclave_workbench::draft::Draft;
use conclave_workbench::plan::Done;
use conclave_workbench::scenario::Scenario;

fn run(name: &str, scenario: &Scenario) -> Done {
    let algorithm = scenario.algorithm.unwrap_or_else(|| panic!("{name} names no algorithm"));
    let mut draft = Draft::named(algorithm).unwrap();
    draft.play(scenario.clone());
    let plan = draft.plan().unwrap_or_else(|error| panic!("{name}: {error}"));
    plan.run(&mut |_| {}).unwrap()
}

/// What it promises and does not show.
fn unmet(Bundled { name, .. }: &Bundled, scenario: &Scenario) -> Vec<String> {
    let done = run(name, scenario);
    let mut unmet = account::unmet(&done, &scenario.expects);
    let idle = done.outcome.faults.iter().filter(|fault| fault.count == 0);
    unmet.extend(idle.map(|fault| format!("{} never fired", fault.label)));
    unmet
}

#[test]
fn each_shows_what_it_promises() {
    let mut wrong = Vec::new();
    for bundled in SCENARIOS {
        let scenario =
            bundled.scenario().unwrap_or_else(|error| panic!("{}: {error}", bundled.name));
        let is_said = |name: &str| scenario.expects.iter().any(|it| it.name == name);
        assert!(is_said("verdict") || is_said("leader"), "{} promises nothing", bundled.name);
        wrong.extend(
            unmet(bundled, &scenario).into_iter().map(|it| format!("{}: {it}", bundled.name)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(SCENARIOS.len() > 50, "they are there: {}", SCENARIOS.len());
}

#[test]
fn a_promise_that_is_not_kept_is_noticed() {
    for (name, promise, instead) in [
        ("golden-bully", "leader 32", "leader 12"),
        ("golden-chang-roberts", "messages 15", "messages 16"),
        ("golden-maekawa-deadlock", "verdict deadlock", "verdict ok"),
        ("golden-maekawa-deadlock", "verdict deadlock", "ending deadlock"),
        ("adversary-lost-reply", "drop reply 2>1 #1", "drop reply 2>1 #9"),
    ] {
        let bundled = bundled::find(name).unwrap();
        let text = bundled.text.replace(promise, instead);
        assert_ne!(text, bundled.text, "{name} promises {promise}");
        assert!(!unmet(bundled, &text.parse().unwrap()).is_empty(), "{name}: {instead}");
    }
}

#[test]
fn each_says_in_its_first_line_what_is_to_be_seen() {
    for bundled in SCENARIOS {
        let line = bundled.text.lines().next().unwrap_or_default();
        assert!(line.starts_with("# ") && line.ends_with('.'), "{}: {line}", bundled.name);
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(bundled.name.chars().all(is_name), "{} can be told from a file", bundled.name);
        assert!(catalogue::find(bundled.name).is_err(), "{} is an algorithm", bundled.name);
    }
}

#[test]
fn an_unknown_name_is_refused_with_a_near_one() {
    let error = bundled::find("golden-buly").unwrap_err().to_string();
    let expected = "there is no scenario `golden-buly`; did you mean golden-bully? \
                    `conclave scenarios` lists all of them";
    assert_eq!(error, expected);
    let error = bundled::find("?").unwrap_err().to_string();
    assert_eq!(error, "there is no scenario `?`; `conclave scenarios` lists all of them");
}
