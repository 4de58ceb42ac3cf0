//! Parts of states, each kept once: a state is a row of their numbers.
//!
//! A step changes one process and a few channels, and there are far fewer different processes and
//! channels than states. So each is kept once, and what a process does about an input is worked out
//! once, however many states it is a part of.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hash, Hasher};

use smallvec::SmallVec;

use crate::sync::RwLock;
use crate::{Fingerprint, Shared};

/// The number of a part.
pub(crate) type PartId = u32;

/// A part, and what is worth knowing of it.
#[derive(Debug)]
pub(crate) struct Part<T, I> {
    pub(crate) value: T,
    pub(crate) print: Fingerprint,
    pub(crate) info: I,
}

/// All parts of one sort, shared by all threads.
pub(crate) struct Table<T, I> {
    /// So many can be told apart.
    most: PartId,
    inner: RwLock<Inner<T, I>>,
}

struct Inner<T, I> {
    parts: Vec<Arc<Part<T, I>>>,
    ids: Map<Fingerprint, SmallVec<[PartId; 1]>>,
}

/// Tells what is worth knowing of parts, whatever they are.
pub(crate) trait Source<I>: Shared {
    /// Adds all parts that are not known yet.
    fn tell(&self, known: &mut Vec<Hot<I>>);
}

/// What one thread knows of a table, so that it need not ask.
pub(crate) struct Mirror<'a, I> {
    parts: Vec<Hot<I>>,
    source: &'a dyn Source<I>,
}

/// What steps look at again and again, side by side; the part itself lies elsewhere.
#[derive(Debug)]
pub(crate) struct Hot<I> {
    pub(crate) print: Fingerprint,
    pub(crate) info: I,
}

impl<T: Hash + Eq, I> Table<T, I> {
    pub(crate) fn of_at_most(most: PartId) -> Self {
        Self { most, inner: RwLock::new(Inner { parts: Vec::new(), ids: Map::default() }) }
    }

    /// The number of a part; it is taken in if it is new.
    ///
    /// # Panics
    ///
    /// If there is no number left: to go on with one that means something else would be a proof of
    /// nothing.
    pub(crate) fn id(&self, value: T, info: impl FnOnce(&T) -> I) -> PartId {
        let print = Fingerprint::of(&value);
        if let Some(id) = self.read(|inner| inner.find(print, &value)) {
            return id;
        }
        let info = info(&value);
        let mut inner = self.inner.write();
        if let Some(id) = inner.find(print, &value) {
            return id;
        }
        let id = PartId::try_from(inner.parts.len()).ok().filter(|&id| id < self.most);
        let id = id.expect("no search has room for so many parts of states");
        inner.parts.push(Arc::new(Part { value, print, info }));
        inner.ids.entry(print).or_default().push(id);
        id
    }

    /// The part of that number.
    pub(crate) fn part(&self, id: PartId) -> Arc<Part<T, I>> {
        self.read(|inner| Arc::clone(&inner.parts[id as usize]))
    }

    pub(crate) fn len(&self) -> usize {
        self.read(|inner| inner.parts.len())
    }

    fn read<R>(&self, what: impl FnOnce(&Inner<T, I>) -> R) -> R {
        what(&self.inner.read())
    }

    /// An estimate: what lies behind pointers is not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * (size_of::<Part<T, I>>() + 2 * size_of::<usize>() + 3 * size_of::<u64>())
    }
}

impl<T: Eq, I> Inner<T, I> {
    fn find(&self, print: Fingerprint, value: &T) -> Option<PartId> {
        let same = self.ids.get(&print)?;
        same.iter().copied().find(|&id| self.parts[id as usize].value == *value)
    }
}

impl<T, I> Source<I> for Table<T, I>
where
    T: Hash + Eq + Send + Sync,
    I: Clone + Send + Sync,
{
    fn tell(&self, known: &mut Vec<Hot<I>>) {
        let hot = |part: &Arc<Part<T, I>>| Hot { print: part.print, info: part.info.clone() };
        self.read(|inner| known.extend(inner.parts[known.len()..].iter().map(hot)));
    }
}

impl<'a, I> Mirror<'a, I> {
    pub(crate) fn of(source: &'a dyn Source<I>) -> Self {
        Self { parts: Vec::new(), source }
    }

    /// The part of that number.
    #[inline]
    pub(crate) fn part(&mut self, id: PartId) -> &Hot<I> {
        if id as usize >= self.parts.len() {
            self.catch_up();
        }
        &self.parts[id as usize]
    }

    #[cold]
    fn catch_up(&mut self) {
        self.source.tell(&mut self.parts);
    }
}

/// A map from numbers, of which the order is never asked for.
#[expect(clippy::disallowed_types, reason = "looked up, never iterated")]
pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Hashes a few numbers, quickly: what they are, nobody chose to do harm.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "both halves go in")]
    fn write_u64(&mut self, number: u64) {
        let wide = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (wide >> 64) as u64 ^ wide as u64;
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "half of a fingerprint is enough here")]
    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
