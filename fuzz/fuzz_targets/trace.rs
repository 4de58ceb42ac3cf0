//! Any text, read as a trace. What is no trace is refused in one line; what is one is the same when
//! it was written and read again, and can be judged and drawn.

#![no_main]

use conclave_diagram::Options;
use conclave_observe::trace::{Record, Trace, json};
use conclave_observe::{Ending, JudgeOrdering};
use libfuzzer_sys::{Corpus, fuzz_target};

/// A vector clock per message costs as much as there are members.
const MEMBERS_JUDGED_MAX: usize = 64;
/// Drawing is much slower than reading.
const RECORDS_DRAWN_MAX: usize = 200;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    // What is not text never gets as far as a parser, and a corpus is to be read by people.
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    on_text(text);
    Corpus::Keep
});

fn on_text(text: &str) {
    match json::read(text) {
        Ok(trace) => {
            let written = json::write(&trace);
            assert_eq!(json::read(&written).as_ref(), Ok(&trace), "written as {written}");
            judge(&trace);
            draw(&trace);
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.contains(char::is_control), "an error is one line: {said:?}");
        }
    }
}

fn judge(trace: &Trace) {
    let is_small = trace.header.members.len() <= MEMBERS_JUDGED_MAX;
    let ordering = if is_small { JudgeOrdering::Yes } else { JudgeOrdering::No };
    for ending in [Ending::Quiet, Ending::Finished] {
        let report = trace.judge(ordering).finish(ending);
        assert_eq!(
            report.end,
            trace.records.last().map(|record| record.event.at).unwrap_or_default()
        );
    }
}

fn draw(trace: &Trace) {
    if trace.records.len() <= RECORDS_DRAWN_MAX {
        let picture = conclave_diagram::draw(trace, &Options::default());
        assert!(picture.trim_end().ends_with("</svg>"));
        // A window from the middle, as --svg-from and --svg-to ask for.
        let time = |record: &Record| record.event.at;
        let from = trace.records.get(trace.records.len() / 3).map(time);
        let to = trace.records.last().map(time);
        let options = Options { from, to, ..Options::default() };
        conclave_diagram::draw(trace, &options);
    }
}
