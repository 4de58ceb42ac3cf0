//! A finished run in words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::{ProcessId, Seat};
use conclave_observe::family::elections::ElectionPanel;
use conclave_observe::family::locks::LockPanel;
use conclave_observe::family::processes::ProcessPanel;
use conclave_observe::property::{
    ClockCondition, Detection, LargestId, NoOrder, OneAtATime, Ordering, Turns,
};
use conclave_observe::{Ending, Report, Time, Verdict};

use crate::plan::Done;

/// What came of it, in one sentence that a student understands.
pub fn reason(done: &Done) -> String {
    let id = |seat: Seat| done.view.at(seat);
    let report = &done.outcome.report;
    if let Some(judged) = judged(report, done.plan.promises_order(), id) {
        return judged;
    }
    if let Some(words) = uncalled(done) {
        return words;
    }
    let diagnosis = done.outcome.diagnosis.as_ref();
    let words = diagnosis.map_or_else(|| ended(report, id), |diagnosis| diagnosis.sentence(id));
    match minority(done) {
        Some((up, all)) => {
            let are = plural(up as u64, "is", "are");
            format!("only {up} of {all} {are} up, which is no majority; {words}")
        }
        None => words,
    }
}

/// Why nobody was elected, if it is that all who were to call had died by then.
fn uncalled(done: &Done) -> Option<String> {
    let report = &done.outcome.report;
    let is_over = report.verdict == Verdict::Ok && report.elections()?.decisions == 0;
    let (came, never) = done.calls();
    if !is_over || !came.is_empty() || never.is_empty() {
        return None;
    }
    let names: Vec<String> = never.iter().map(|(id, _)| id.to_string()).collect();
    let were = plural(never.len() as u64, "was", "were");
    Some(format!("nobody was elected: {} {were} to call, and had died by then", names.join(", ")))
}

/// How many are up of how many, if they are too few to elect anybody.
fn minority(done: &Done) -> Option<(usize, usize)> {
    let report = &done.outcome.report;
    if report.verdict != Verdict::Stalled || !done.plan.entry.needs.majority {
        return None;
    }
    let voters = done.plan.entry.clients(&done.view);
    let up = voters.iter().filter(|seat| report.crashed[seat.index()].is_none()).count();
    (2 * up <= voters.len()).then_some((up, voters.len()))
}

/// The sentence of a report by itself; `None` where only a diagnosis can tell more.
pub fn judged(
    report: &Report,
    promises_order: bool,
    id: impl Fn(Seat) -> ProcessId,
) -> Option<String> {
    if let Some(broken) = report.locks().and_then(|locks| lock(locks, promises_order, &id)) {
        return Some(broken);
    }
    if let Some(broken) = report.elections().and_then(|it| election(it, &id)) {
        return Some(broken);
    }
    if let Some(wrong) = report.detection().and_then(|it| detection(it, report, &id)) {
        return Some(wrong);
    }
    if let Some(wrong) = report.processes().and_then(|it| process(it, &id)) {
        return Some(wrong);
    }
    if let Some(forever) = report.forever.as_ref().filter(|forever| forever.is_anyone()) {
        let names: Vec<_> = forever.seats().iter().map(|&seat| id(seat).to_string()).collect();
        let (names, since) = (names.join(", "), forever.since());
        let (wait, them) = match forever.seats().len() {
            1 => ("waits", "it"),
            _ => ("wait", "them"),
        };
        return Some(match report.ending {
            Ending::Rests => format!("{names} {wait} for ever: nothing more has to happen"),
            _ => format!(
                "{names} {wait} for ever: all that happens from {since} ms on comes again and \
                 again, and never serves {them}"
            ),
        });
    }
    if let Some(starved) = report.locks().and_then(|locks| locks.waiting.starved()) {
        let (who, times) = (id(starved.seat), counted(starved.overtaken, "time", "times"));
        return Some(format!("{who} was passed {times} by requests made later"));
    }
    None
}

/// Which promise a lock broke.
fn lock(locks: &LockPanel, promises_order: bool, id: impl Fn(Seat) -> ProcessId) -> Option<String> {
    if let Some(broken) = locks.exclusion.broken() {
        let (entered, inside, at) = (id(broken.entered), id(broken.inside), broken.at);
        return Some(format!("{entered} entered at {at} ms while {inside} was still in"));
    }
    if let Some(fell) = locks.fences.broken() {
        let (who, at, before, got) = (id(fell.seat), fell.at, fell.before, fell.got);
        return Some(format!("{who} entered at {at} ms with fence {got}, after fence {before}"));
    }
    let first = locks.ordering.as_ref().and_then(Ordering::first);
    if let Some(first) = first.filter(|_| promises_order) {
        let (granted, passed, at) = (id(first.granted), id(first.passed), first.at);
        return Some(format!(
            "{granted} entered at {at} ms before {passed}, whose request had happened before its own"
        ));
    }
    None
}

/// Which promise an election broke.
fn election(elections: &ElectionPanel, id: impl Fn(Seat) -> ProcessId) -> Option<String> {
    if let Some(wrong) = elections.largest.as_ref().and_then(LargestId::broken) {
        let (who, leader, at) = (id(wrong.seat), id(wrong.leader), wrong.at);
        let took = if who == leader {
            format!("{who} took itself for the leader at {at} ms")
        } else {
            format!("{who} took {leader} for the leader at {at} ms")
        };
        return Some(match wrong.larger.map(&id) {
            Some(larger) => format!("{took}, while {larger}, which is larger, was up throughout"),
            None => format!("{took}, which was down throughout"),
        });
    }
    if let Some(split) = elections.agreement.broken() {
        let belief = |(seat, leader): (Seat, Option<Seat>)| match leader {
            Some(leader) => format!("{} believes that {} leads", id(seat), id(leader)),
            None => format!("{} knows no leader", id(seat)),
        };
        let (one, other) = (belief(split.one), belief(split.other));
        return Some(format!("the election was over at {} ms, but {one} and {other}", split.at));
    }
    if let Some(two) = elections.per_term.broken() {
        let (told, first, second) = (id(two.told), id(two.first), id(two.second));
        let (at, term) = (two.at, two.term);
        return Some(format!(
            "{told} was told at {at} ms that {second} leads in term {term}, in which {first} does"
        ));
    }
    if let Some(two) = elections.one_at_a_time.as_ref().and_then(OneAtATime::broken) {
        let (first, second, at) = (id(two.first), id(two.second), two.at);
        return Some(format!("{second} led from {at} ms on while {first} still did"));
    }
    if let Some(stale) = elections.versions.broken() {
        let (who, at, got, before) = (id(stale.seat), stale.at, stale.got, stale.before);
        return Some(format!(
            "{who} answered at {at} ms with version {got}, after {before} had been told"
        ));
    }
    Some(match elections.register.broken()? {
        NoOrder::Both(one, other) => {
            format!("the values {one} and {other} were each seen after the other")
        }
        NoOrder::FromNowhere(value) => format!("the value {value} was read before it was written"),
    })
}

/// Which promise a detector broke.
fn detection(
    detection: &Detection,
    report: &Report,
    id: impl Fn(Seat) -> ProcessId,
) -> Option<String> {
    if let Some(wrong) = detection.first_wrong() {
        let (who, whom, at) = (id(wrong.seat), id(wrong.whom), wrong.at);
        return Some(format!("{who} suspected {whom} at {at} ms, although it was up"));
    }
    let (who, whom) = detection.missed().next()?;
    let death = match report.crashed[whom.index()] {
        Some(Time::ZERO) => "was down from the start".into(),
        Some(at) => format!("died at {at} ms"),
        None => "died".into(),
    };
    Some(format!("{} has not noticed that {} {death}", id(who), id(whom)))
}

/// Which promise a bare process broke.
fn process(processes: &ProcessPanel, id: impl Fn(Seat) -> ProcessId) -> Option<String> {
    if let Some(wrong) = processes.turns.as_ref().and_then(Turns::broken) {
        return Some(format!("{} printed the same word twice, at {} ms", id(wrong.seat), wrong.at));
    }
    if let Some(silent) = processes.silent() {
        return Some(format!("{} got a message and printed nothing", id(silent)));
    }
    let wrong = processes.clocks.as_ref().and_then(ClockCondition::broken)?;
    let (earlier, later) = (id(wrong.earlier.0), id(wrong.later.0));
    let (before, after) = (wrong.earlier.1.text(), wrong.later.1.text());
    Some(match wrong.happened_before {
        true => format!(
            "the event of {later} at {} ms shows {after}, and one of {earlier} that happened before \
             it shows {before}, which is not less",
            wrong.at
        ),
        false => format!(
            "the event of {later} at {} ms shows {after} and one of {earlier} {before}, although \
             neither happened before the other",
            wrong.at
        ),
    })
}

/// What there is to say when nothing went wrong, or nobody knows why.
pub fn ended(report: &Report, id: impl Fn(Seat) -> ProcessId) -> String {
    if let Some(elections) = report.elections() {
        return ended_election(report, elections, id);
    }
    if let Some(detection) = report.detection().filter(|_| report.verdict == Verdict::Ok) {
        return match detection.deaths() {
            _ if is_nobody_left(report) => "nobody is left who could notice a death".into(),
            0 => "nobody died, and nobody was suspected".into(),
            _ => "every death was noticed, and nobody else was suspected".into(),
        };
    }
    if let Some(processes) = report.processes().filter(|_| report.verdict == Verdict::Ok) {
        return match &processes.clocks {
            Some(_) => "the clocks agree with what happened before what".into(),
            None => "every message that arrived was answered by a word, by turns".into(),
        };
    }
    let entries =
        counted(report.locks().map_or(0, |locks| locks.delays.entries()), "entry", "entries");
    match (report.verdict, report.ending) {
        (Verdict::Ok, Ending::Finished) => format!("{entries}, one at a time"),
        (Verdict::Ok, Ending::Rests) => "nothing more has to happen, and nobody waits".into(),
        (Verdict::Ok, Ending::Repeats) => {
            "its last part comes again and again, and nobody waits in all of it".into()
        }
        (Verdict::Ok, _) => format!("{entries}, and nobody is left who could ask"),
        (Verdict::Budget, _) => {
            format!("the limit came first, after {entries}; nothing is shown by that")
        }
        _ => still_waiting(report),
    }
}

/// Whether all are down in the end.
pub fn is_nobody_left(report: &Report) -> bool {
    report.crashed.iter().all(Option::is_some)
}

fn ended_election(
    report: &Report,
    elections: &ElectionPanel,
    id: impl Fn(Seat) -> ProcessId,
) -> String {
    let decisions = elections.decisions;
    match (report.verdict, elections.leader()) {
        (Verdict::Ok, Some(leader)) => match report.crashed[leader.index()] {
            None => format!("{} leads, and all that are up know it", id(leader)),
            Some(at) => {
                format!("{} was elected and died at {at} ms; nobody called again", id(leader))
            }
        },
        (Verdict::Ok, None) if decisions == 0 => {
            "nobody was elected, and nobody asked for it".into()
        }
        (Verdict::Ok, None) => "nobody is left who could lead".into(),
        (Verdict::Budget, _) => "the limit came first; nothing is shown by that".into(),
        _ => {
            let count = elections.deciding.undecided() as u64;
            format!("{count} still {} no leader", plural(count, "knows", "know"))
        }
    }
}

/// What there is to say of a trace that is not a whole run.
pub fn cut_off(report: &Report) -> String {
    format!("the trace ends before the run does: {}", still_waiting(report))
}

fn still_waiting(report: &Report) -> String {
    let count = report.waiting() as u64;
    format!("{count} still {}", plural(count, "waits", "wait"))
}

/// The number, and the word for that many.
pub fn counted(count: u64, one: &'static str, many: &'static str) -> String {
    format!("{count} {}", plural(count, one, many))
}

/// The word for that many.
pub fn plural(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}
