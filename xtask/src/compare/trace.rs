//! Two traces of the same plan, event by event.
//!
//! Builds may number messages differently, spell the key of that number differently, raise the
//! version of the format, and tell more than before. What happened must be the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::Difference;

/// What is compared of the first line: what was run, and how it ended. What the algorithm is for
/// and promises follows from its name, which kinds of messages there are is seen in the records,
/// and what processes were told in what they do.
const HEADER_KEYS: [&str; 6] = ["algorithm", "members", "seed", "network", "repeats_from", "stuck"];

/// What is compared of a record beside the number of its message.
const RECORD_KEYS: [&str; 18] = [
    "at",
    "process",
    "event",
    "from",
    "to",
    "kind",
    "copy",
    "cause",
    "fence",
    "partition",
    "side",
    "whom",
    "leader",
    "term",
    "version",
    "value",
    "text",
    "rules",
];

/// The spellings of the key under which a message's number stands; the first is ours.
const MESSAGE_KEYS: [&str; 4] = ["message", "message_id", "number", "id"];

/// Brings the lines of one trace into a form that does not depend on the build.
#[derive(Default)]
pub struct Normaliser {
    /// Every message's place in the order of first appearance, which is that of sending, by its
    /// sender and its number as they are written: numbers may be each sender's own.
    places: BTreeMap<(String, String), u64>,
    /// Keys of records that are known here neither as an event's field nor as a message's number.
    pub unknown_keys: BTreeSet<String>,
}

impl Normaliser {
    /// The fields of the first line that are compared.
    pub fn header(&self, line: &str) -> Map<String, Value> {
        let mut fields = fields(line);
        fields.retain(|key, value| HEADER_KEYS.contains(&&**key) && says_something(value));
        fields
    }

    /// The fields of a record that are compared, with the message's place for its number, which may
    /// be anything that JSON has: `17`, `"3:17"`, `[3,17]`.
    ///
    /// Lines must come in the order of the trace.
    pub fn record(&mut self, line: &str) -> Map<String, Value> {
        let mut normal = Map::new();
        let fields = fields(line);
        let sender = fields.get("from").or(fields.get("process")).map(Value::to_string);
        let sender = sender.unwrap_or_default();
        for (key, value) in fields {
            if MESSAGE_KEYS.contains(&&*key) {
                normal.insert(MESSAGE_KEYS[0].to_owned(), self.place(&sender, &value).into());
            } else if !RECORD_KEYS.contains(&&*key) {
                self.unknown_keys.insert(key);
            } else if says_something(&value) {
                normal.insert(key, value);
            }
        }
        normal
    }

    fn place(&mut self, sender: &str, number: &Value) -> u64 {
        let next = self.places.len() as u64;
        *self.places.entry((sender.to_owned(), number.to_string())).or_insert(next)
    }
}

/// The fields of a line. One that is no object is kept whole, under a key that is always compared.
fn fields(line: &str) -> Map<String, Value> {
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::from_iter([("kind".to_owned(), line.into())]),
    }
}

/// Whether a field is there at all: a writer may leave out what is not the case, or say so.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// What came of comparing two traces.
pub struct Compared {
    /// How many records were equal.
    pub events: u64,
    /// The first that was not.
    pub difference: Option<Difference>,
    /// Keys that were left out of the comparison.
    pub unknown_keys: BTreeSet<String>,
}

/// Compares line by line, up to the first difference.
pub fn compare(old: &str, new: &str) -> Compared {
    let (mut normal_old, mut normal_new) = (Normaliser::default(), Normaliser::default());
    let (mut old, mut new) = (old.lines(), new.lines());
    let mut difference = None;
    let mut events = 0;
    for number in 1.. {
        let (old_line, new_line) = (old.next(), new.next());
        if old_line.is_none() && new_line.is_none() {
            break;
        }
        let is_equal = match (old_line, new_line) {
            (Some(old), Some(new)) if number == 1 => {
                normal_old.header(old) == normal_new.header(new)
            }
            (Some(old), Some(new)) => normal_old.record(old) == normal_new.record(new),
            _ => false,
        };
        if !is_equal {
            difference = Some(difference_at(number, old_line, new_line));
            break;
        }
        events += u64::from(number > 1);
    }
    normal_old.unknown_keys.append(&mut normal_new.unknown_keys);
    Compared { events, difference, unknown_keys: normal_old.unknown_keys }
}

fn difference_at(number: u64, old: Option<&str>, new: Option<&str>) -> Difference {
    let shown = |line: Option<&str>| line.unwrap_or("(the trace has ended)").to_owned();
    Difference { what: format!("line {number} of the trace"), old: shown(old), new: shown(new) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"{"conclave_trace":1,"algorithm":"lamport","seed":1,"network":"unit","promises_order":true,"members":[1,2],"kinds":[]}
{"at":0,"process":1,"event":"sent","message":1,"to":2,"kind":"request"}
{"at":0,"process":2,"event":"sent","message":2,"to":1,"kind":"request"}
{"at":1,"process":2,"event":"received","message":1,"from":1,"kind":"request"}
{"at":2,"process":1,"event":"entered","fence":7}
"#;

    /// What the new build writes of the same run: other numbers under another key, another version,
    /// more to read.
    const NEW: &str = r#"{"conclave_trace":2,"algorithm":"lamport","seed":1,"network":"unit","promises_order":true,"members":[1,2],"stuck":false,"seats":2}
{"at":0,"process":1,"event":"sent","id":[0,1],"to":2,"kind":"request","copy":false}
{"at":0,"process":2,"event":"sent","id":[1,1],"to":1,"kind":"request","state":"x"}
{"at":1,"process":2,"event":"received","id":[0,1],"from":1,"kind":"request"}
{"at":2,"process":1,"event":"entered","fence":7}
"#;

    /// The number of the first line that differs.
    fn first_difference(old: &str, new: &str) -> Option<String> {
        compare(old, new).difference.map(|it| it.what)
    }

    fn line(number: u64) -> Option<String> {
        Some(format!("line {number} of the trace"))
    }

    fn without_last_line(text: &str) -> String {
        let lines: Vec<&str> = text.lines().collect();
        lines[..lines.len() - 1].join("\n")
    }

    #[test]
    fn numbers_of_messages_may_be_anything() {
        let compared = compare(OLD, NEW);
        assert!(compared.difference.is_none());
        assert_eq!(compared.events, 4);
        let as_text = NEW.replace("[0,1]", "\"1:1\"").replace("[1,1]", "\"2:1\"");
        assert_eq!(first_difference(OLD, &as_text), None);
    }

    #[test]
    fn keys_that_were_left_out_are_told() {
        assert_eq!(compare(OLD, NEW).unknown_keys, BTreeSet::from(["state".to_owned()]));
    }

    #[test]
    fn another_message_that_arrives_differs() {
        let other = NEW.replace("\"received\",\"id\":[0,1]", "\"received\",\"id\":[1,1]");
        assert_eq!(first_difference(OLD, &other), line(4));
    }

    #[test]
    fn a_number_that_a_sender_gives_twice_differs() {
        let by_one = |text: &str| {
            text.replace("\"process\":2,\"event\":\"sent\"", "\"process\":1,\"event\":\"sent\"")
        };
        assert_eq!(first_difference(&by_one(OLD), &by_one(NEW)), None);
        let twice = by_one(NEW).replace("[1,1]", "[0,1]");
        assert_eq!(first_difference(&by_one(OLD), &twice), line(3));
    }

    #[test]
    fn senders_may_number_alone() {
        let alone = NEW.replace("[0,1]", "1").replace("[1,1]", "1");
        assert_eq!(first_difference(OLD, &alone), None);
    }

    #[test]
    fn swapped_events_differ() {
        let mut lines: Vec<&str> = NEW.lines().collect();
        lines.swap(1, 2);
        assert_eq!(first_difference(OLD, &lines.join("\n")), line(2));
    }

    #[test]
    fn a_changed_field_differs() {
        for (from, to) in [
            ("\"fence\":7", "\"fence\":8"),
            ("\"at\":2", "\"at\":3"),
            (",\"fence\":7", ""),
            ("\"fence\":7", "\"fence\":7,\"rules\":[\"enters\"]"),
        ] {
            assert_eq!(first_difference(OLD, &NEW.replace(from, to)), line(5), "{from} to {to}");
        }
    }

    #[test]
    fn a_trace_that_ends_early_differs() {
        assert_eq!(first_difference(OLD, &without_last_line(NEW)), line(5));
        assert_eq!(first_difference(&without_last_line(OLD), NEW), line(5));
        assert_eq!(first_difference(OLD, ""), line(1));
    }

    #[test]
    fn a_line_that_cannot_be_read_differs() {
        assert_eq!(first_difference(OLD, &NEW.replace("\"fence\":7}", "\"fence\":7")), line(5));
    }

    #[test]
    fn another_verdict_of_the_header_differs() {
        for (from, to) in [("\"stuck\":false", "\"stuck\":true"), ("[1,2],", "[2,1],")] {
            assert_eq!(first_difference(OLD, &NEW.replace(from, to)), line(1), "{from} to {to}");
        }
    }
}
