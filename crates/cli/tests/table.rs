//! The table: every figure that the algorithms' papers and textbooks fix is met exactly.

use std::collections::BTreeMap;

use conclave_algorithms::catalogue::{DETECTORS, MUTEXES, Measure, Size};
use conclave_algorithms::quorum::Construction;
use conclave_core::View;
use conclave_observe::Time;
use conclave_workbench::experiment;
use conclave_workbench::plan::Plan;

const SIZES: [u32; 6] = [4, 9, 13, 25, 49, 100];

/// What is exact, by algorithm: if a cell is dropped from the catalogue, this list says so.
const EXACT: &[(&str, &str)] = &[
    ("central", "enter; leave; client delay; delay of leave; sync delay"),
    (
        "central-queued",
        "enter; leave; client delay; delay of leave; sync delay; enter, having waited",
    ),
    (
        "token-ring",
        "enter; leave; client delay; client delay, shortest; client delay, longest; idle, per lap; \
         delay of leave; sync delay; sync delay, shortest; sync delay, longest; saturated, per entry",
    ),
    (
        "token-ring-repaired",
        "enter; leave; client delay; client delay, shortest; client delay, longest; delay of leave; \
         sync delay; sync delay, shortest; sync delay, longest",
    ),
    ("central-elected", "enter; leave; client delay; delay of leave"),
    ("token-ring-resting", "enter; leave; client delay; idle, per lap; delay of leave"),
    ("lamport", "enter; leave; client delay; delay of leave; sync delay"),
    ("ricart-agrawala", "enter; leave; client delay; delay of leave; sync delay"),
    (
        "ricart-agrawala-deferred",
        "enter; leave; client delay; delay of leave; sync delay; enter, last of all at once",
    ),
    ("maekawa-plain", "enter; leave; client delay; delay of leave; sync delay"),
    ("maekawa", "enter; leave; client delay; delay of leave; sync delay"),
];

#[test]
fn every_exact_cell_equals_its_formula() {
    let mut exact: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in MUTEXES {
        for n in SIZES {
            let cells = experiment::measure(entry, n, Construction::Grid).unwrap();
            let exact_cells = cells.iter().filter(|cell| cell.exact);
            if n == SIZES[0] {
                exact.insert(entry.name, exact_cells.clone().map(|it| it.measure.name()).collect());
            }
            for cell in exact_cells {
                assert!(cell.holds(), "{cell:?}");
            }
            let costs = entry.costs.iter().filter(|cost| cost.exact).count();
            assert_eq!(cells.iter().filter(|cell| cell.exact).count(), costs, "{}", entry.name);
        }
    }
    for (name, measures) in EXACT {
        assert_eq!(exact[name].join("; "), *measures, "{name}");
    }
    assert_eq!(exact.len(), EXACT.len(), "a line for every algorithm");
}

#[test]
fn figures_hold_for_other_voting_sets_too() {
    for entry in MUTEXES.iter().filter(|entry| entry.needs.voting_sets) {
        for (construction, n) in
            [(Construction::Plane, 13), (Construction::Majority, 12), (Construction::All, 6)]
        {
            for cell in experiment::measure(entry, n, construction).unwrap() {
                assert!(cell.holds(), "{cell:?}");
            }
        }
    }
}

#[test]
fn figures_hold_for_very_few_too() {
    for entry in MUTEXES {
        for n in [2, 3] {
            for cell in experiment::measure(entry, n, Construction::Grid).unwrap() {
                assert!(cell.holds(), "{cell:?}");
            }
        }
    }
}

#[test]
fn deadlock_free_maekawa_stays_below_the_quoted_cost() {
    let entry = MUTEXES.iter().find(|entry| entry.name == "maekawa").unwrap();
    for n in SIZES {
        let cells = experiment::measure(entry, n, Construction::Grid).unwrap();
        let cell = cells.iter().find(|cell| cell.measure == Measure::Saturated).unwrap();
        let (measured, quoted) = (cell.measured.unwrap(), cell.expected.unwrap());
        assert!(measured > 0.0 && measured <= quoted, "{cell:?}");
    }
}

#[test]
fn detectors_send_what_they_are_said_to_cost() {
    for entry in DETECTORS {
        let cost = entry.costs.iter().find(|cost| cost.measure == Measure::Beats).unwrap();
        for n in [2_u32, 5, 9] {
            let sent = |beats: u32| {
                let mut plan = Plan::new(entry, View::dense(1, n));
                let beat = plan.timing.beat();
                plan.until = Time::of(beats * beat + beat / 2);
                plan.run(&mut |_| {}).unwrap().outcome.report.bandwidth.sent()
            };
            let expected = (cost.value)(Size { n: n.into(), k: n.into() });
            assert_eq!((sent(6) - sent(2)) as f64, 4.0 * expected, "{} with {n}", entry.name);
        }
    }
}
