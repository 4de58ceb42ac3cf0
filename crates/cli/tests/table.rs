//! The table: every figure that the algorithms' papers and textbooks fix is met exactly.

use conclave_algorithms::catalogue::{self, Claim, DETECTORS, MUTEXES, Measure, Size};
use conclave_algorithms::quorum::Construction;
use conclave_core::View;
use conclave_observe::Time;
use conclave_testkit::known;
use conclave_workbench::experiment;
use conclave_workbench::plan::Plan;

const SIZES: [u32; 6] = [4, 9, 13, 25, 49, 100];

/// What must hold, by algorithm: if a cell is dropped from the catalogue, this list says so.
const CLAIMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known/claimed_costs.txt");

#[test]
fn every_exact_cell_equals_its_formula() {
    for entry in MUTEXES {
        for n in SIZES {
            let cells = experiment::measure(entry, n, Construction::Grid).unwrap();
            let exact_cells = || cells.iter().filter(|cell| cell.is_exact());
            for cell in exact_cells() {
                assert!(cell.holds(), "{cell:?}");
            }
            let costs = entry.costs.iter().filter(|cost| cost.is_exact()).count();
            assert_eq!(exact_cells().count(), costs, "{}", entry.name);
        }
    }
}

#[test]
fn what_costs_must_be_is_known() {
    let claims = catalogue::all().map(|entry| {
        let claimed = entry.costs.iter().filter(|cost| cost.claim != Claim::Quoted);
        let words = claimed.map(|cost| match cost.claim {
            Claim::AtMost => format!("{} at most {}", cost.measure, cost.formula),
            _ => format!("{} {}", cost.measure, cost.formula),
        });
        format!("{}: {}", entry.name, words.collect::<Vec<_>>().join("; "))
    });
    known::lines(CLAIMED, &claims.collect::<Vec<_>>());
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
