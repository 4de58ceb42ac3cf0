//! What is told of a run event by event is what happened.

use conclave_observe::trace::Trace;
use conclave_observe::{Part, What};
use conclave_sim::Recording;
use conclave_workbench::draft::Draft;
use conclave_workbench::explain;

fn trace(algorithm: &str, said: &[(&str, &str)]) -> Trace {
    let mut draft = Draft::named(algorithm).unwrap();
    for (name, value) in said {
        draft.say(name, value).unwrap();
    }
    let mut plan = draft.plan().unwrap();
    plan.recording = Recording::Everything;
    plan.run(&mut |_| {}).unwrap().trace()
}

/// By step: the rules that fired, and the kinds of what was sent.
fn steps(trace: &Trace) -> Vec<(String, Vec<String>)> {
    let mut steps: Vec<(String, Vec<String>)> = Vec::new();
    for record in &trace.records {
        match record.event.what {
            What::Sent { kind, .. } => {
                let name = trace.header.kinds[usize::from(kind)].name.to_string();
                steps.last_mut().unwrap().1.push(name);
            }
            what if what.part() != Part::Deed => {
                steps.push((record.rules.join("; "), Vec::new()));
            }
            _ => {}
        }
    }
    steps
}

#[test]
fn maekawa_does_what_its_rules_say_and_says_what_it_does() {
    let said = [("n", "9"), ("network", "uniform:1ms..9ms"), ("seed", "3")];
    let claims = [
        ("asks for the vote back", "inquire"),
        ("yields", "yield"),
        ("to fail (Sanders)", "fail"),
        ("says fail", "fail"),
        ("votes for the candidate", "grant"),
    ];
    let steps = steps(&trace("maekawa", &said));
    for (words, kind) in claims {
        let with_words = steps.iter().filter(|(rules, _)| rules.contains(words)).count();
        assert!(with_words > 0, "nobody {words}");
        for (rules, sent) in steps.iter().filter(|(rules, _)| rules.contains(words)) {
            assert!(sent.iter().any(|it| it == kind), "`{rules}` sends {sent:?}");
        }
        let is_told =
            |rules: &str| claims.iter().any(|(words, its)| *its == kind && rules.contains(words));
        for (rules, sent) in steps.iter().filter(|(_, sent)| sent.iter().any(|it| it == kind)) {
            let is_grant_after_all = kind == "grant" && rules.contains("votes for the best");
            assert!(is_told(rules) || is_grant_after_all, "`{rules}` sends {sent:?}");
        }
    }
}

#[test]
fn what_its_receiver_misses_is_told_when_and_where_it_would_have_arrived() {
    let trace = trace("bully", &[("n", "5"), ("dead", "5")]);
    let lines: Vec<String> = explain::lines(&trace).collect();
    let missed: Vec<&str> =
        lines.iter().map(|it| it.trim()).filter(|it| it.contains("is lost")).collect();
    let line = |at, from| {
        format!("{at}  5  misses Election from {from}, which is lost: its receiver is down")
    };
    let expected = [line(1, 1), line(2, 2), line(2, 3), line(2, 4)];
    assert_eq!(missed, expected, "{lines:#?}");
}

#[test]
fn what_is_lost_as_it_is_sent_is_told_with_its_sending() {
    let said = [("n", "2"), ("loss", "0.5"), ("seed", "2"), ("patience", "20ms")];
    let trace = trace("ricart-agrawala", &said);
    let lines: Vec<String> = explain::lines(&trace).collect();
    let lost = lines.iter().position(|it| it.contains("is lost")).expect("half of them are lost");
    assert!(lines[lost].contains("-> that is lost on its way to"), "{}", lines[lost]);
    assert!(lines[lost - 1].contains("-> Re"), "{lines:#?}");
}
