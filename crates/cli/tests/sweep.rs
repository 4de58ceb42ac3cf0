//! The trade between completeness and accuracy of failure detectors.

use std::path::Path;
use std::process::{Command, Output};

use conclave_observe::Time;
use conclave_sim::Network;
use conclave_workbench::sweep::{Point, Sweep, Tuning};
use serde_json::Value;

const SYNC: Network = Network::Sync { bound: Time::delays(5) };
const ASYNC: Network = Network::Exponential { mean: Time::delays(5) };

fn sweep(network: Network) -> Vec<Point> {
    let sweep = Sweep {
        n: 4,
        networks: vec![network],
        bounds: vec![],
        thresholds: vec![50, 100, 300, 800],
        runs: 6,
        beat: Time::delays(10),
        until: Time::delays(600),
        seed: 1,
    };
    let mut done = Vec::new();
    let points = sweep.measure(&mut |count| done.push(count)).unwrap();
    assert_eq!((points.len(), done.len()), (14, sweep.len()));
    points
}

fn heartbeat(points: &[Point]) -> Vec<(Time, &Point)> {
    let bounds = points.iter().filter_map(|point| match point.tuning {
        Tuning::Bound(bound) => Some((bound, point)),
        Tuning::Threshold(_) => None,
    });
    bounds.collect()
}

#[test]
fn with_a_bound_that_holds_heartbeat_misses_nobody_and_never_errs() {
    let points = sweep(SYNC);
    for (bound, point) in heartbeat(&points) {
        assert_eq!((point.missed, point.deaths), (0, 18), "{bound}");
        let is_true = bound >= Time::delays(5);
        assert_eq!(point.wrong == 0, is_true, "D = {bound}: {} wrong", point.wrong);
        if is_true {
            let (beat, worst) = (Time::delays(10), bound + Time::delays(5));
            assert!(point.max.unwrap() <= beat + worst, "T + D and the last beat's delay");
        }
    }
}

#[test]
fn a_larger_bound_never_detects_faster_and_never_errs_more() {
    for network in [SYNC, ASYNC] {
        let points = sweep(network);
        for pair in heartbeat(&points).windows(2) {
            let [(less, fast), (more, slow)] = pair else { panic!("two") };
            assert!(fast.mean.unwrap() <= slow.mean.unwrap(), "{network}: {less} and {more}");
            assert!(fast.wrong >= slow.wrong, "{network}: {less} and {more}");
        }
    }
}

#[test]
fn without_a_bound_to_be_accurate_takes_time() {
    let points = sweep(ASYNC);
    let (first, last) = (&heartbeat(&points)[0].1, heartbeat(&points)[9].1);
    assert!(first.wrong_rate() > 10.0 && last.wrong == 0, "{first:?} {last:?}");
    assert!(last.mean.unwrap() > 5.0 * first.mean.unwrap(), "{first:?} {last:?}");
    let phi: Vec<&Point> = points[10..].iter().collect();
    assert!(phi.windows(2).all(|pair| pair[0].wrong > pair[1].wrong), "{phi:?}");
    assert!(phi.windows(2).all(|pair| pair[0].mean < pair[1].mean), "{phi:?}");
}

#[test]
fn all_beat_until_they_die_and_are_up_until_then() {
    for point in sweep(SYNC) {
        // 6 runs, 60 beats of 4 to 3 others each, but for who dies in the second quarter.
        assert!((3_240..=4_000).contains(&point.beats), "{}", point.beats);
        assert!(point.up > 6.0 * 0.6 * 3.25 && point.up < 6.0 * 0.6 * 3.5, "{}", point.up);
    }
}

const QUICK: &str = "-n 3 --runs 2 --for 200ms --bounds 1ms,5ms,20ms --thresholds 1,8";

fn conclave(words: &str) -> Output {
    let words = words.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_conclave")).args(words).output().unwrap()
}

fn said(words: &str) -> String {
    let output = conclave(words);
    assert!(output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_table_has_both_detectors_in_both_networks() {
    let text = said(&format!("sweep {QUICK}"));
    let tables: Vec<&str> = text.split("exponential:5ms (asynchronous)").collect();
    let [first, second] = tables[..] else { panic!("two networks:\n{text}") };
    assert!(first.contains("sync:5ms (synchronous)"), "{text}");
    for table in [first, second] {
        for words in ["D = 1 ms", "D = 5 ms", "D = 20 ms", "phi = 1 ", "phi = 8 "] {
            assert_eq!(table.matches(words).count(), 1, "{words}:\n{text}");
        }
        let rows = |name| table.lines().filter(|line| line.contains(name)).count();
        assert_eq!((rows(" heartbeat "), rows(" phi ")), (3, 2), "{text}");
    }
}

#[test]
fn a_network_that_has_a_bound_is_not_called_asynchronous() {
    let text = said("sweep --runs 1 --for 200ms --network uniform:1ms..9ms --thresholds 8");
    assert!(text.contains("uniform:1ms..9ms (synchronous: at most 9 ms)"), "{text}");
    assert!(text.contains("1 run of 200 ms, "), "{text}");
}

#[test]
fn programs_are_told_every_point() {
    let json: Value = serde_json::from_str(&said(&format!("sweep {QUICK} --json"))).unwrap();
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 10);
    let point = &points[1];
    assert_eq!((&point["network"], &point["detector"]), (&"sync:5ms".into(), &"heartbeat".into()));
    assert_eq!((&point["bound"], &point["phi"]), (&5_000_000.into(), &Value::Null));
    assert_eq!((&point["wrong_suspicions"], &point["missed_deaths"]), (&0.into(), &0.into()));
    assert!(point["time_to_detect"]["mean"].as_f64().unwrap() > 5e6, "{point}");
    assert_eq!(points[9]["phi"], 8.0);
}

#[test]
fn the_plot_has_a_panel_for_each_network_with_both_lines_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let draw = |name: &str| {
        let path = folder.path().join(name);
        let text = said(&format!("sweep {QUICK} --svg {}", path.display()));
        (text, std::fs::read_to_string(Path::new(&path)).unwrap())
    };
    let (text, svg) = draw("one.svg");
    assert_eq!((text, svg.clone()), draw("two.svg"));
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    assert_eq!(svg.matches(r#"class="panel""#).count(), 2);
    assert_eq!(svg.matches(r#"class="curve""#).count(), 4);
    // Five points in each panel, and a sample of each line.
    assert_eq!(svg.matches(r#"class="marker""#).count(), 12);
    for words in ["heartbeat, assumed bound D", "phi accrual", "mean time to detect, in ms"] {
        assert!(svg.contains(words), "{words}");
    }
}

#[test]
fn bad_input_is_answered_in_one_line_and_code_2() {
    for words in [
        "--runs 0",
        "-n 1",
        "--beat 0ms",
        "--bounds 0ms,5ms",
        "--bounds soon",
        "--thresholds 0,1",
        "--network lan",
        "--for 20ms",
        "--svg /no/such/folder/x.svg",
    ] {
        let output = conclave(&format!("sweep {words}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        assert_eq!(said.lines().count(), 1, "{words}: {said}");
        assert!(said.starts_with("conclave: ") && !said.contains("panicked"), "{words}: {said}");
    }
}

#[test]
fn what_was_never_noticed_is_in_the_picture_too() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("missed.svg");
    let words = "sweep --runs 3 --bounds 900ms,5ms --thresholds 8 --svg";
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    assert!(command.args(words.split(' ')).arg(&path).output().unwrap().status.success());
    let picture = std::fs::read_to_string(&path).unwrap();
    assert_eq!(picture.matches(">D=900: 12 of 12 missed<").count(), 2, "one in each panel");
    assert!(picture.contains(">right of it: no death was noticed<"));
}
