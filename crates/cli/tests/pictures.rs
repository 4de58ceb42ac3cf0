//! The pictures of the README and of `docs` are what the commands beside them draw.
//! `CONCLAVE_UPDATE=1 cargo test -p conclave-cli --test pictures` draws them anew: look at them.

use std::path::Path;
use std::process::Command;

use conclave_algorithms::catalogue::{DETECTORS, ELECTIONS, MUTEXES};

const BULLY: &str = "run bully --ids 3,5,6,12,32,80 --dead 80 --initiators 6";

/// Each picture, and the command that draws it.
const PICTURES: [(&str, &str, &str); 9] = [
    ("bully", BULLY, ""),
    ("bully-hasty", BULLY, "--answer-timeout 1ms"),
    ("bully-reused-id", BULLY, "--replace 80@2.5ms"),
    ("bully-asynchronous", BULLY, "--network exponential:1ms --seed 2"),
    ("chang-roberts", "run chang-roberts --ids 3,32,5,80,6,12", "--initiators 3"),
    (
        "chubby-drift",
        "run chubby -n 3 --partition 1/3@5ms..200ms --partition 1/2@30ms..200ms --drift 2=1.3",
        "--for 200ms --svg-from 25ms",
    ),
    ("detectors", "sweep", ""),
    ("lamport-without-fifo", "run lamport -n 2", "--no-fifo --network uniform:1ms..20ms --seed 2"),
    ("maekawa-plain-deadlock", "run maekawa-plain", "-n 3"),
];

#[test]
fn every_picture_of_a_page_is_what_its_command_draws() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    let drawn = tempfile::tempdir().unwrap();
    let is_update = std::env::var_os("CONCLAVE_UPDATE").is_some();
    for (name, command, options) in PICTURES {
        let file = format!("{name}.svg");
        let (new, kept) = (drawn.path().join(&file), folder.join(&file));
        let words = command.split_whitespace().chain(options.split_whitespace());
        let output = Command::new(env!("CARGO_BIN_EXE_conclave"))
            .args(words)
            .arg("--svg")
            .arg(&new)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let new = std::fs::read_to_string(&new).unwrap_or_else(|error| panic!("{error}: {said}"));
        if is_update {
            std::fs::write(&kept, &new).unwrap();
        }
        let old = std::fs::read_to_string(&kept).unwrap();
        assert!(old == new, "{file} is not what `conclave {command} {options}` draws");
    }
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let is_here = PICTURES.iter().any(|(name, ..)| file == format!("{name}.svg"));
        assert!(is_here || is_drawn_by_a_page(&file), "nobody knows how {file} was drawn");
    }
}

/// Whether a page of an algorithm has the command in a block that is run; it is compared there.
fn is_drawn_by_a_page(file: &str) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms");
    let mut pages = std::fs::read_dir(folder).unwrap().map(|page| page.unwrap().path());
    pages.any(|page| {
        let text = std::fs::read_to_string(page).unwrap();
        let mut commands = text.lines().filter(|line| line.starts_with("$ conclave "));
        commands.any(|line| line.contains(&format!("--svg {file}")))
    })
}

/// How wide a picture may be: as wide as a page.
const PAGE: f64 = 1_700.0;

/// How wide a picture says that it is.
fn width(svg: &str) -> f64 {
    let (_, rest) = svg.split_once(" width=\"").expect("a picture says how wide it is");
    rest.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn every_picture_of_the_pages_fits_a_page() {
    if std::env::var_os("CONCLAVE_UPDATE").is_some() {
        // Other tests are writing them.
        return;
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut seen = 0;
    for folder in ["images", "gallery"] {
        for file in std::fs::read_dir(docs.join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|it| it == "svg") {
                let wide = width(&std::fs::read_to_string(&path).unwrap());
                assert!(wide <= PAGE, "{} is {wide} wide", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 35, "{seen} pictures");
}

#[test]
fn the_usual_run_of_every_algorithm_fits_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.svg");
    let draw = |words: &str| {
        let words = words.split(' ');
        let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
        let output = command.arg("run").args(words).arg("--svg").arg(&file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let svg = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}: {said}"));
        std::fs::remove_file(&file).unwrap();
        width(&svg)
    };
    for entry in MUTEXES.iter().chain(ELECTIONS).chain(DETECTORS) {
        let wide = draw(entry.name);
        assert!(wide <= PAGE, "{} is {wide} wide", entry.name);
    }
    for words in ["ricart-agrawala -n 3", "ricart-agrawala -n 5", "maekawa -n 9"] {
        let (page, scroll) = (draw(words), draw(&format!("{words} --svg-scroll")));
        assert!(page <= PAGE && scroll > PAGE, "{words}: {page}, in one row {scroll}");
    }
}

#[test]
fn a_counterexample_is_drawn_with_its_timers_and_kept_without() {
    let folder = tempfile::tempdir().unwrap();
    let [svg, trace] = ["found.svg", "found.jsonl"].map(|name| folder.path().join(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    let words = "check bully -n 2 --time async --svg";
    command.args(words.split(' ')).arg(&svg).arg("--trace").arg(&trace);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let [svg, trace] = [svg, trace].map(|path| std::fs::read_to_string(path).expect(&said));
    assert!(svg.contains(r#"class="timer""#) && svg.contains(">answer<"), "{svg}");
    assert!(!trace.contains(r#""after""#) && !trace.contains("starts"), "{trace}");
}

#[test]
fn delays_are_drawn_of_locks_and_refused_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.svg");
    let run = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
        let words = words.split(' ');
        command.arg("run").args(words).arg("--svg-delays").arg("--svg").arg(&file).output().unwrap()
    };
    assert!(run("ricart-agrawala -n 3").status.success());
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.contains(">sync 1<") && svg.contains(r#"class="delay""#));
    let refused = run("bully -n 3");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("--svg-delays is for locks: bully has no critical section"), "{said}");
}
