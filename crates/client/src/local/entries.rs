//! The entries of a queue, read at once. Most of them are looked at only to see that they do not
//! matter, so they stay where they were read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::layout::{Damage, Glance, QueueEntry};

/// Blocks of zeros are places where nobody was, or is any more.
#[derive(Default)]
pub struct Entries(Vec<[u8; QueueEntry::SIZE]>);

impl Entries {
    /// Takes in the first `count` entries, given the first of them.
    pub fn read(
        &mut self,
        file: &File,
        count: usize,
        first: &[u8; QueueEntry::SIZE],
    ) -> io::Result<Result<(), Damage>> {
        self.0.resize(count, [0; QueueEntry::SIZE]);
        match &mut self.0[..] {
            [] => {}
            [only] => *only = *first,
            all => {
                let all = all.as_flattened_mut();
                let length = read_up_to(file, all, QueueEntry::offset(0))?;
                // What was never written is not there: its writer died first.
                all[length..].fill(0);
            }
        }
        Ok(self.0.iter().try_for_each(|block| QueueEntry::check(block).map(drop)))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What matters of an entry, if there is one.
    pub fn glance(&self, index: usize) -> Option<Glance> {
        self.0.get(index).and_then(Glance::at)
    }

    /// All of them, and where they are.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Glance)> {
        self.0.iter().enumerate().filter_map(|(index, block)| Some((index, Glance::at(block)?)))
    }

    pub fn get(&self, index: usize) -> Option<QueueEntry> {
        self.0.get(index).and_then(QueueEntry::copy)
    }

    /// Puts an entry there, at most one place behind the last.
    pub fn set(&mut self, index: usize, entry: &QueueEntry) {
        if index == self.0.len() {
            self.0.push(*entry.encode());
        } else {
            self.0[index] = *entry.encode();
        }
    }

    pub fn clear(&mut self, index: usize) {
        self.0[index] = [0; QueueEntry::SIZE];
    }

    /// Where the next one may go.
    pub fn free_place(&self) -> usize {
        let free = self.0.iter().position(|block| Glance::at(block).is_none());
        free.unwrap_or(self.0.len())
    }

    /// Forgets empty places behind the last entry.
    pub fn trim(&mut self) {
        while self.0.last().is_some_and(|block| Glance::at(block).is_none()) {
            self.0.pop();
        }
    }
}

/// Reads what is there: less than asked for at the end of the file.
fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
