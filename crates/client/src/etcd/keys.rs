//! What is called how in the store.
//!
//! The queue of `NAME` is all keys `NAME/<lease in hex>...`, in the order in which they were
//! created: that is the layout of Go's `concurrency.Mutex` and `Election`, and of `etcdctl lock`
//! and `etcdctl elect`. So they and we stand in one queue. There, one lease has one key, and asks
//! once; ours has another key for each request: `NAME/<lease>-<number>`, and `L` behind it for an
//! election. A number is used again when nothing of its last request is left.
//!
//! A `/` in a name is escaped: else lock `a` would wait for the keys of lock `a/b`. No name is
//! empty, so what begins with `/` is free for what belongs to no queue:
//!
//! | key, behind the prefix | value |
//! | --- | --- |
//! | `NAME/<lease>-<n>` | mode and owner, as JSON |
//! | `NAME/<lease>-<n>L` | what the leader publishes |
//! | `/conclave/owner/NAME/<lease>-<n>L` | the owner of that, as JSON; gone with the lease |
//! | `/conclave/gone/NAME/<lease>-<n>` | nothing: the key was removed while a request for it may still be on its way; gone with the lease |
//! | `/conclave/value/NAME` | what a holder keeps with its lock: fence, new line, bytes |
//! | `/conclave/resigned/NAME` | the fence of the leader that last resigned |
//! | `/conclave/audit/<time>-...` | who took what away from whom |

use std::num::NonZeroU32;
use std::time::{Duration, SystemTime};

use conclave_core::Fence;
use serde::{Deserialize, Serialize};

use crate::{Kind, Mode, Name, Owner, Request, Resource, Value};

/// Begins the keys that belong to no queue.
const OURS: &str = "/conclave/";

/// All keys of one engine begin with this.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: String,
}

/// Keys from one to before another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

impl Range {
    /// All keys that begin so.
    pub fn prefix(start: impl Into<Vec<u8>>) -> Self {
        let start = start.into();
        let mut end = start.clone();
        while let Some(last) = end.pop() {
            if last < u8::MAX {
                end.push(last + 1);
                break;
            }
        }
        if end.is_empty() {
            // What etcd calls "to the end of all keys".
            end.push(0);
        }
        Self { start, end }
    }
}

impl Keys {
    /// With `prefix` and a slash before every name; with none, names come first.
    pub fn new(prefix: &str) -> Self {
        let slash = if prefix.is_empty() || prefix.ends_with('/') { "" } else { "/" };
        Self { prefix: format!("{prefix}{slash}") }
    }

    /// The keys of all who hold or wait, under that name. Others' too, deeper ones too.
    pub fn queue(&self, name: &Name) -> Range {
        Range::prefix(format!("{}{}/", self.prefix, escape(name.as_str())))
    }

    /// A key of our own in the queue.
    pub fn entry(&self, resource: &Resource, lease: i64, number: u64) -> Vec<u8> {
        let name = escape(resource.name.as_str());
        let kind = letter(resource.kind);
        format!("{}{name}/{lease:x}-{number:x}{kind}", self.prefix).into()
    }

    /// Whose key this is, as far as the queue of `name` is concerned. `None` if it lies deeper, in
    /// the queue of another name.
    pub fn read_entry(&self, name: &Name, key: &[u8]) -> Option<Place> {
        let rest = key.strip_prefix(&self.queue(name).start[..])?;
        if rest.contains(&b'/') {
            return None;
        }
        Some(std::str::from_utf8(rest).map_or(Place::Foreign, Place::read))
    }

    /// The name in whose queue a key stands, if it is one of a queue.
    pub fn read_name(&self, key: &[u8]) -> Option<Name> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        let (name, entry) = rest.rsplit_once('/')?;
        let is_entry = !matches!(Place::read(entry), Place::Foreign);
        // Deeper ones are of somebody with another prefix.
        if !is_entry || name.contains('/') {
            return None;
        }
        Name::new(unescape(name)?).ok()
    }

    /// All keys of this engine, and with no prefix all keys there are.
    pub fn all(&self) -> Range {
        Range::prefix(self.prefix.clone())
    }

    pub fn value(&self, name: &Name) -> Vec<u8> {
        self.ours("value", name)
    }

    /// The keys of all values that holders keep.
    pub fn values(&self) -> Range {
        Range::prefix(format!("{}{OURS}value/", self.prefix))
    }

    /// Whose value lies under that key.
    pub fn read_value_name(&self, key: &[u8]) -> Option<Name> {
        let start = self.values().start;
        let name = std::str::from_utf8(key.strip_prefix(&start[..])?).ok()?;
        Name::new(unescape(name)?).ok()
    }

    pub fn resigned(&self, name: &Name) -> Vec<u8> {
        self.ours("resigned", name)
    }

    /// Where the owner of a key of an election is told.
    pub fn owner(&self, name: &Name, entry: &[u8]) -> Vec<u8> {
        let mut key = self.owners(name).start;
        key.extend(&entry[self.queue(name).start.len()..]);
        key
    }

    /// Marks that a key of the queue is gone for good.
    pub fn tombstone(&self, name: &Name, entry: &[u8]) -> Vec<u8> {
        let mut key = self.ours("gone", name);
        key.push(b'/');
        key.extend(&entry[self.queue(name).start.len()..]);
        key
    }

    /// The owners of all candidates of that name.
    pub fn owners(&self, name: &Name) -> Range {
        let mut key = self.ours("owner", name);
        key.push(b'/');
        Range::prefix(key)
    }

    pub fn audit(&self, now: SystemTime, lease: i64, number: u64) -> Vec<u8> {
        let now = milliseconds(now);
        format!("{}{OURS}audit/{now:013}-{lease:x}-{number:x}", self.prefix).into()
    }

    /// A key that nobody uses, to be read when nothing but an answer is wanted.
    pub fn nothing(&self) -> Vec<u8> {
        format!("{}{OURS}", self.prefix).into()
    }

    fn ours(&self, what: &str, name: &Name) -> Vec<u8> {
        format!("{}{OURS}{what}/{}", self.prefix, escape(name.as_str())).into()
    }
}

/// Whose key it is, by the last part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// One of our requests.
    Ours(Kind),
    /// Of Go's recipes: alone in the queue, whatever it is for.
    Theirs,
    /// Of no lock at all.
    Foreign,
}

impl Place {
    fn read(text: &str) -> Self {
        let is_hex = |text: &str| {
            let digits = text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
            (1..=16).contains(&text.len()) && digits
        };
        match text.split_once('-') {
            None if is_hex(text) => Self::Theirs,
            Some((lease, number)) if is_hex(lease) => match number.strip_suffix('L') {
                Some(number) if is_hex(number) => Self::Ours(Kind::Election),
                None if is_hex(number) => Self::Ours(Kind::Lock),
                _ => Self::Foreign,
            },
            _ => Self::Foreign,
        }
    }
}

/// What tells a leader's key. No digit, as `e` would be.
fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Election => "L",
        Kind::Lock => "",
    }
}

fn escape(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

/// `None` for what [`escape`] never makes.
fn unescape(text: &str) -> Option<String> {
    let name = text.replace("%2F", "/").replace("%25", "%");
    (escape(&name) == text).then_some(name)
}

/// Who stands in the queue, and how: the value of a lock's key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entrant {
    /// `x`, `s`, or the number of slots.
    mode: String,
    label: String,
    host: String,
    pid: u32,
    /// In milliseconds since 1970.
    since: u64,
}

impl Entrant {
    pub fn new(request: &Request, host: &str, now: SystemTime) -> Self {
        let mode = match request.mode {
            Mode::Exclusive => "x".to_owned(),
            Mode::Shared => "s".to_owned(),
            Mode::Slot { of } => of.to_string(),
        };
        let (label, host) = (request.label.clone(), host.to_owned());
        Self { mode, label, host, pid: std::process::id(), since: milliseconds(now) }
    }

    pub fn encode(&self) -> Vec<u8> {
        // Texts and numbers cannot fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// `None` for a value that is none of ours.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// What is not understood is taken for the mode that goes together with nobody.
    pub fn mode(&self) -> Mode {
        match (&*self.mode, self.mode.parse::<NonZeroU32>()) {
            ("s", _) => Mode::Shared,
            (_, Ok(of)) => Mode::Slot { of },
            _ => Mode::Exclusive,
        }
    }

    pub fn owner(self) -> Owner {
        let since = SystemTime::UNIX_EPOCH + Duration::from_millis(self.since.min(1 << 48));
        Owner { label: self.label, host: self.host, pid: self.pid, since }
    }
}

/// Somebody who stands in the queue and said nothing of itself.
pub fn stranger(key: &[u8]) -> Owner {
    let label = format!("the owner of the key {}", String::from_utf8_lossy(key));
    Owner { label, host: String::new(), pid: 0, since: SystemTime::UNIX_EPOCH }
}

/// What a holder keeps with its lock.
pub fn encode_value(fence: Fence, bytes: &[u8]) -> Vec<u8> {
    [format!("{fence}\n").as_bytes(), bytes].concat()
}

/// `None` for what somebody else put there.
pub fn decode_value(stored: &[u8]) -> Option<Value> {
    let end = stored.iter().position(|byte| *byte == b'\n')?;
    let fence = std::str::from_utf8(&stored[..end]).ok()?.parse().ok()?;
    Some(Value { fence: Fence(fence), bytes: stored[end + 1..].to_vec() })
}

fn milliseconds(moment: SystemTime) -> u64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn keys_are_those_of_the_recipe_of_go() {
        let keys = Keys::new("");
        let nightly = Resource::lock(name("nightly"));
        assert_eq!(text(&keys.queue(&nightly.name).start), "nightly/");
        assert_eq!(text(&keys.entry(&nightly, 0x694d_8a1b, 10)), "nightly/694d8a1b-a");
        let keys = Keys::new("/team/locks");
        assert_eq!(text(&keys.entry(&nightly, 1, 1)), "/team/locks/nightly/1-1");
    }

    #[test]
    fn every_name_comes_back_and_no_two_share_a_queue() {
        let keys = Keys::new("p");
        let names =
            ["a", "a/b", "a%2Fb", "%", "/", "..", "a b", "Grüße", "nul\0inside", "conclave"];
        for one in names {
            let resource = Resource::election(name(one));
            let entry = keys.entry(&resource, 77, 3);
            assert_eq!(keys.read_name(&entry), Some(name(one)), "{one}");
            for other in names {
                let place = keys.read_entry(&name(other), &entry);
                let expected = (one == other).then_some(Place::Ours(Kind::Election));
                assert_eq!(place, expected, "{one} in the queue of {other}");
            }
        }
    }

    #[test]
    fn what_is_no_key_of_a_lock_is_told_from_what_is() {
        let keys = Keys::new("");
        let place = |key: &str| keys.read_entry(&name("x"), key.as_bytes());
        assert_eq!(place("x/694d"), Some(Place::Theirs));
        assert_eq!(place("x/694d-1"), Some(Place::Ours(Kind::Lock)));
        assert_eq!(place("x/694d-1L"), Some(Place::Ours(Kind::Election)));
        for foreign in ["x/", "x/config", "x/694D", "x/-1", "x/694d-", "x/694d-L", "x/694d-1-1"] {
            assert_eq!(place(foreign), Some(Place::Foreign), "{foreign}");
        }
        assert_eq!(place("x/y/694d"), None, "a lock of another prefix");
        assert_eq!(keys.read_name(b"/conclave/value/x"), None);
        assert_eq!(keys.read_name(b"/conclave/owner/x/694d-1L"), None);
    }

    #[test]
    fn a_prefix_is_the_range_of_all_that_begins_so() {
        assert_eq!(Range::prefix("a/").end, b"a0");
        assert_eq!(Range::prefix(vec![b'a', 0xff]).end, b"b");
        assert_eq!(Range::prefix("").end, [0]);
    }

    #[test]
    fn garbage_is_no_entrant_and_an_unknown_mode_is_exclusive() {
        assert_eq!(Entrant::decode(b"garbage"), None);
        assert_eq!(Entrant::decode(b""), None);
        let request = Request::lock("x").unwrap().slots(4).unwrap().labelled("me").unwrap();
        let entrant = Entrant::new(&request, "here", SystemTime::UNIX_EPOCH);
        let back = Entrant::decode(&entrant.encode()).unwrap();
        assert_eq!(back, entrant);
        assert_eq!(back.mode(), request.mode);
        assert_eq!(Entrant { mode: "new".into(), ..back }.mode(), Mode::Exclusive);
    }

    #[test]
    fn a_value_comes_back_with_its_fence() {
        let stored = encode_value(Fence(7), b"a\nb");
        assert_eq!(decode_value(&stored), Some(Value { fence: Fence(7), bytes: b"a\nb".to_vec() }));
        assert_eq!(decode_value(b"garbage"), None);
        assert_eq!(decode_value(b"x\ny"), None);
    }
}
