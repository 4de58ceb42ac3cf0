//! What a message says, as people read it.
//!
//! A trace keeps a message as its type spells it, because a replay compares that. Whoever shows it
//! to people leaves out what only the program needs: braces, `Some`, numbers made of two.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// With the names of fields: `Election { initiator: p3, id: p80 }` is `Election(initiator p3, id
/// p80)`. What is not spelt like that stays as it is.
pub fn plain(text: &str) -> String {
    shown(text, Names::Kept)
}

/// Without them: `Election(p3, p80)`.
pub fn brief(text: &str) -> String {
    shown(text, Names::LeftOut)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Kept,
    LeftOut,
}

fn shown(text: &str, names: Names) -> String {
    let mut reader = Reader { rest: text, names };
    let shown = reader.value(0).filter(|_| reader.rest.is_empty());
    shown.map_or_else(|| text.to_string(), Shown::whole)
}

/// Deeper than that nothing is nested that anybody reads.
const DEPTH_MOST: usize = 8;

/// A value; with the name of its type, if it has named fields.
struct Shown {
    head: Option<String>,
    text: String,
}

impl Shown {
    fn whole(self) -> String {
        match self.head {
            Some(head) => format!("{head}({})", self.text),
            None => self.text,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    names: Names,
}

impl<'a> Reader<'a> {
    /// A word, and what is in its brackets; `None` if it is spelt in another way.
    fn value(&mut self, depth: usize) -> Option<Shown> {
        if depth > DEPTH_MOST {
            return None;
        }
        let head = self.word();
        if self.take("(") {
            let inner = self.list(")", |reader| reader.value(depth + 1))?;
            return Some(self.call(head, inner));
        }
        if self.take(" { ") {
            let fields = self.list(" }", |reader| reader.field(depth + 1))?;
            return Some(Shown { head: Some(head.into()), text: fields.join(", ") });
        }
        (!head.is_empty()).then(|| Shown { head: None, text: number(head) })
    }

    fn field(&mut self, depth: usize) -> Option<String> {
        let name = self.word();
        let value = self.take(": ").then(|| self.value(depth))??.whole();
        let is_said = value.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
        let is_named = self.names == Names::Kept && !is_said;
        Some(if is_named { format!("{name} {value}") } else { value })
    }

    /// A word with a list: what has a name only because the program wants one goes without it.
    fn call(&self, head: &str, mut inner: Vec<Shown>) -> Shown {
        let single = if inner.len() == 1 { inner.pop() } else { None };
        let text = match (head, single) {
            ("Some", Some(value)) => value.whole(),
            ("Term", Some(value)) => format!("term {}", value.whole()),
            ("Epoch", Some(value)) => format!("epoch {}", value.whole()),
            ("Version", Some(value)) => version(&value.text),
            // A message of a part, in the hands of the whole.
            (_, Some(part)) if part.head.is_some() && self.names == Names::LeftOut => part.whole(),
            (_, Some(value)) => format!("{head}({})", value.whole()),
            (_, None) => {
                let inner: Vec<String> = inner.into_iter().map(|it| it.text).collect();
                format!("{head}({})", inner.join(", "))
            }
        };
        Shown { head: None, text }
    }

    fn list<T>(&mut self, end: &str, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        loop {
            items.push(item(self)?);
            if self.take(end) {
                return Some(items);
            }
            if !self.take(", ") {
                return None;
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let is_part = |letter: char| letter.is_alphanumeric() || "_#.-".contains(letter);
        let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

/// A version as the term in which it was written, and its number in that term.
fn version(number: &str) -> String {
    match number.parse::<u64>() {
        Ok(version) => format!("v{}.{}", version >> 32, version & 0xffff_ffff),
        Err(_) => format!("v{number}"),
    }
}

/// A number of two parts as two: so are fences that an epoch is part of.
fn number(word: &str) -> String {
    match word.strip_prefix('#').map(str::parse) {
        Some(Ok(number)) => fence(number),
        _ if word == "None" => "none".to_string(),
        _ => word.to_string(),
    }
}

/// A fence as it is read: `#7`, or `#3.7` for the seventh of the third epoch.
pub fn fence(number: u64) -> String {
    const BITS: u32 = 40;
    match number >> BITS {
        0 => format!("#{number}"),
        epoch => format!("#{epoch}.{}", number & ((1 << BITS) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_the_program_needs_is_left_out() {
        for (text, with_names, without) in [
            (
                "Election { initiator: p3, id: p80 }",
                "Election(initiator p3, id p80)",
                "Election(p3, p80)",
            ),
            (
                "Vote(Term(2), Register { version: Version(4294967297), value: 7 })",
                "Vote(term 2, version v1.1, value 7)",
                "Vote(term 2, v1.1, 7)",
            ),
            (
                "Place(1, Place { number: 2, watched: Some(1) })",
                "Place(1, number 2, watched 1)",
                "Place(1, 2, 1)",
            ),
            (
                "Place { number: 2, watched: None }",
                "Place(number 2, watched none)",
                "Place(2, none)",
            ),
            (
                "Protocol(Tell { epoch: Epoch(4), inside: false })",
                "Protocol(Tell(epoch 4, inside false))",
                "Tell(epoch 4, false)",
            ),
            ("Token(#4398046511105)", "Token(#4.1)", "Token(#4.1)"),
            ("Reply(4, #1)", "Reply(4, #1)", "Reply(4, #1)"),
            ("Yield", "Yield", "Yield"),
        ] {
            assert_eq!((plain(text), brief(text)), (with_names.into(), without.into()));
        }
    }

    #[test]
    fn what_is_spelt_in_another_way_stays_as_it_is() {
        for text in
            ["", "(", "a {", "Set({1, 2})", "Say(\"a, b\")", "x)", "[1, 2]", "A { b }", "ä ö"]
        {
            assert_eq!((plain(text), brief(text)), (text.into(), text.into()));
        }
        let deep = "S(".repeat(10_000);
        assert_eq!(plain(&deep), deep);
    }
}
