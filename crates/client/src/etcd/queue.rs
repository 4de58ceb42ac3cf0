//! The queue of one name, as the store has it.
//!
//! Who created its key first is first. Locks and elections of one name are kept apart, though their
//! keys stand side by side; a key of somebody else's recipe stands in the way of both, and both in
//! its way.

use std::collections::BTreeMap;

use conclave_core::Fence;
use conclave_etcd_api::KeyValue;

use super::keys::{Entrant, Keys, Place, stranger};
use super::session::fence_of;
use crate::order::{Before, usage};
use crate::{Holder, Kind, Mode, Name, Owner, Status, Usage, Value, Waiter};

/// Everybody in the queue of one name.
#[derive(Clone, Default)]
pub struct Queue {
    /// By the revision that created their key.
    entries: BTreeMap<i64, Entry>,
    by_key: BTreeMap<Vec<u8>, i64>,
}

/// One who holds or waits.
#[derive(Clone)]
pub struct Entry {
    pub key: Vec<u8>,
    pub place: Place,
    pub mode: Mode,
    value: Vec<u8>,
}

impl Entry {
    /// Whether it stands in the queue of locks, or of elections.
    fn is_of(&self, kind: Kind) -> bool {
        match self.place {
            Place::Ours(own) => own == kind,
            Place::Theirs | Place::Foreign => true,
        }
    }

    fn owner(&self, owners: &BTreeMap<Vec<u8>, Entrant>) -> Owner {
        let told = match self.place {
            Place::Ours(Kind::Lock) => Entrant::decode(&self.value),
            Place::Ours(Kind::Election) => owners.get(&self.key).cloned(),
            Place::Theirs | Place::Foreign => None,
        };
        told.map_or_else(|| stranger(&self.key), Entrant::owner)
    }
}

impl Queue {
    /// Those among `found` that stand in the queue of `name`.
    pub fn read(keys: &Keys, name: &Name, found: &[KeyValue]) -> Self {
        let mut queue = Self::default();
        for it in found {
            queue.put(keys, name, it);
        }
        queue
    }

    /// A key was created or changed.
    pub fn put(&mut self, keys: &Keys, name: &Name, it: &KeyValue) {
        let Some(place) = keys.read_entry(name, &it.key) else { return };
        let mode = match place {
            Place::Ours(Kind::Lock) => {
                Entrant::decode(&it.value).map_or(Mode::Exclusive, |entrant| entrant.mode())
            }
            _ => Mode::Exclusive,
        };
        let entry = Entry { key: it.key.clone(), place, mode, value: it.value.clone() };
        let before = self.by_key.insert(it.key.clone(), it.create_revision);
        if let Some(before) = before.filter(|before| *before != it.create_revision) {
            // Deleted and created again under the same name: somebody new, at the end.
            self.entries.remove(&before);
        }
        self.entries.insert(it.create_revision, entry);
    }

    /// A key is gone. Whether it stood here.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        let Some(revision) = self.by_key.remove(key) else { return false };
        self.entries.remove(&revision);
        true
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.by_key.contains_key(key)
    }

    /// Everybody of one kind, first come first.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (Fence, &Entry)> {
        let all = self.entries.iter().filter(move |(_, entry)| entry.is_of(kind));
        all.map(|(revision, entry)| (fence_of(*revision), entry))
    }

    /// Those of one kind whose turn it is: they hold.
    pub fn granted(&self, kind: Kind) -> impl Iterator<Item = (Fence, &Entry)> {
        let mut before = Before::default();
        self.of(kind).take_while(move |(_, entry)| {
            let is_let_in = before.lets_in(entry.mode);
            before.add(entry.mode);
            is_let_in
        })
    }

    /// Whether a newcomer in that mode would hold at once.
    pub fn would_let_in(&self, kind: Kind, mode: Mode) -> bool {
        let mut before = Before::default();
        self.of(kind).for_each(|(_, entry)| before.add(entry.mode));
        before.lets_in(mode)
    }

    /// Somebody before `key` (or anybody, if it is not there) who uses the name in another way.
    pub fn mismatch(&self, kind: Kind, mode: Mode, key: &[u8]) -> Option<Usage> {
        let before = self.of(kind).take_while(|(_, entry)| entry.key != key);
        before.map(|(_, entry)| usage(entry.mode)).find(|theirs| *theirs != usage(mode))
    }

    /// A key before `key` that is no lock's.
    pub fn foreign(&self, key: &[u8]) -> Option<&Entry> {
        let before = self.entries.values().take_while(|entry| entry.key != key);
        let mut before = before.into_iter();
        before.find(|entry| entry.place == Place::Foreign)
    }

    /// Fills in who holds and who waits, and what a leader publishes.
    pub fn describe(&self, status: &mut Status, owners: &BTreeMap<Vec<u8>, Entrant>) {
        let kind = status.resource.kind;
        let granted = self.granted(kind).count();
        for (place, (fence, entry)) in self.of(kind).enumerate() {
            let (owner, mode) = (entry.owner(owners), entry.mode);
            if place >= granted {
                status.waiters.push(Waiter { owner, mode, processes: Vec::new() });
                continue;
            }
            if kind == Kind::Election {
                status.value = Some(Value { fence, bytes: entry.value.clone() });
            }
            let (revoked, processes) = (false, Vec::new());
            status.holders.push(Holder { owner, mode, fence, revoked, processes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    struct World {
        keys: Keys,
        name: Name,
        queue: Queue,
        revision: i64,
    }

    impl World {
        fn new() -> Self {
            let name = Name::new("x").unwrap();
            Self { keys: Keys::new(""), name, queue: Queue::default(), revision: 10 }
        }

        fn put(&mut self, key: &str, value: &[u8]) -> &mut Self {
            self.revision += 1;
            let kv = KeyValue {
                key: key.as_bytes().to_vec(),
                value: value.to_vec(),
                create_revision: self.revision,
                mod_revision: self.revision,
                ..KeyValue::default()
            };
            self.queue.put(&self.keys, &self.name, &kv);
            self
        }

        fn ask(&mut self, key: &str, request: &Request) -> &mut Self {
            let entrant = Entrant::new(request, "here", std::time::SystemTime::UNIX_EPOCH);
            self.put(key, &entrant.encode())
        }

        fn granted(&self, kind: Kind) -> Vec<String> {
            let all = self.queue.granted(kind);
            all.map(|(_, it)| String::from_utf8_lossy(&it.key).into_owned()).collect()
        }
    }

    fn lock() -> Request {
        Request::lock("x").unwrap()
    }

    #[test]
    fn who_created_its_key_first_holds() {
        let mut world = World::new();
        world.ask("x/b-1", &lock()).ask("x/a-1", &lock());
        assert_eq!(world.granted(Kind::Lock), ["x/b-1"]);
        assert!(world.queue.delete(b"x/b-1"));
        assert_eq!(world.granted(Kind::Lock), ["x/a-1"]);
        assert!(!world.queue.delete(b"x/b-1"));
    }

    #[test]
    fn a_key_that_is_used_again_stands_at_the_end() {
        let mut world = World::new();
        world.put("x/a", b"").ask("x/b-1", &lock());
        // Its deletion was not seen, only that it is there again.
        world.put("x/a", b"");
        assert_eq!(world.granted(Kind::Lock), ["x/b-1"]);
    }

    #[test]
    fn a_value_written_later_changes_no_place() {
        let mut world = World::new();
        world.ask("x/a-1", &lock()).ask("x/b-1", &lock());
        let kv = KeyValue {
            key: b"x/a-1".to_vec(),
            create_revision: 11,
            mod_revision: 20,
            ..KeyValue::default()
        };
        world.queue.put(&world.keys, &world.name, &kv);
        assert_eq!(world.granted(Kind::Lock), ["x/a-1"]);
    }

    #[test]
    fn locks_and_elections_of_one_name_are_kept_apart_but_for_strangers() {
        let mut world = World::new();
        world.ask("x/a-1", &lock()).put("x/b-1L", b"me").put("x/c", b"").put("x/d-1L", b"you");
        assert_eq!(world.granted(Kind::Lock), ["x/a-1"]);
        assert_eq!(world.granted(Kind::Election), ["x/b-1L"]);
        world.queue.delete(b"x/b-1L");
        assert_eq!(
            world.granted(Kind::Election),
            ["x/c"],
            "their key is before the second of ours"
        );
    }

    #[test]
    fn readers_go_together_and_never_past_a_writer() {
        let mut world = World::new();
        world.ask("x/1-1", &lock().shared()).ask("x/2-1", &lock().shared());
        world.ask("x/3-1", &lock()).ask("x/4-1", &lock().shared());
        assert_eq!(world.granted(Kind::Lock), ["x/1-1", "x/2-1"]);
        assert!(!world.queue.would_let_in(Kind::Lock, Mode::Shared));
        world.queue.delete(b"x/3-1");
        assert_eq!(world.granted(Kind::Lock), ["x/1-1", "x/2-1", "x/4-1"]);
    }

    #[test]
    fn garbage_is_an_exclusive_lock_and_a_foreign_key_is_named() {
        let mut world = World::new();
        world.put("x/1-1", b"garbage").ask("x/2-1", &lock().shared());
        assert_eq!(world.granted(Kind::Lock), ["x/1-1"]);
        assert!(world.queue.foreign(b"x/2-1").is_none());
        world.put("x/config", b"").ask("x/3-1", &lock());
        assert_eq!(world.queue.foreign(b"x/3-1").unwrap().key, b"x/config");
        assert!(world.queue.foreign(b"x/2-1").is_none(), "it is behind that one");
    }

    #[test]
    fn another_use_of_the_name_ahead_is_a_mismatch() {
        let mut world = World::new();
        world.ask("x/1-1", &lock().slots(2).unwrap()).ask("x/2-1", &lock());
        let theirs = world.queue.mismatch(Kind::Lock, Mode::Exclusive, b"x/2-1");
        assert_eq!(theirs, Some(usage(lock().slots(2).unwrap().mode)));
        let slots = lock().slots(2).unwrap().mode;
        assert_eq!(world.queue.mismatch(Kind::Lock, slots, b"x/1-1"), None);
    }
}
