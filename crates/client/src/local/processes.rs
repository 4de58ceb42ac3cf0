//! Which processes keep a lock held: whoever has a copy of its descriptor.
//!
//! The wrapper may be long gone while something that its command started, and that left the
//! process group, still has the descriptor it inherited. `/proc` tells.

use std::collections::BTreeMap;
use std::path::Path;

use super::kernel::{GUARD, lock_positions};
use crate::Process;

/// By state file's inode and position of the lock, who holds it.
#[derive(Default)]
pub struct Processes(BTreeMap<(u64, i64), Vec<Process>>);

impl Processes {
    /// Looks through `/proc` for descriptors of files below `directory`. Processes of other users
    /// cannot be seen, unless by root.
    pub fn find(directory: &Path) -> Self {
        let mut found = Self::default();
        let Ok(entries) = std::fs::read_dir("/proc") else { return found };
        for entry in entries.flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid {
                found.look_at(pid, &entry.path(), directory);
            }
        }
        found
    }

    fn look_at(&mut self, pid: u32, process: &Path, directory: &Path) {
        let Ok(descriptors) = std::fs::read_dir(process.join("fd")) else { return };
        for descriptor in descriptors.flatten() {
            let Ok(target) = std::fs::read_link(descriptor.path()) else { continue };
            if !target.starts_with(directory) {
                continue;
            }
            let info = process.join("fdinfo").join(descriptor.file_name());
            let Ok(info) = std::fs::read_to_string(info) else { continue };
            for lock in info.lines().filter_map(held_lock) {
                let holders = self.0.entry(lock).or_default();
                if !holders.iter().any(|it| it.pid == pid) {
                    holders.push(describe(pid, process));
                }
            }
        }
    }

    /// Who is in the guard of that state file.
    pub fn in_guard_of(&self, inode: u64) -> Vec<Process> {
        self.0.get(&(inode, GUARD)).cloned().unwrap_or_default()
    }

    /// Who keeps a ticket of that state file alive.
    pub fn of(&self, inode: u64, ticket: u64) -> Vec<Process> {
        let positions = lock_positions(ticket).into_iter();
        let found = positions.filter_map(|position| self.0.get(&(inode, position))).flatten();
        let mut processes: Vec<Process> = found.cloned().collect();
        processes.sort_by_key(|it| it.pid);
        processes.dedup_by_key(|it| it.pid);
        processes
    }
}

/// Reads a line like `lock: 1: OFDLCK ADVISORY WRITE -1 fe:00:1234 5 5`: inode and first byte.
fn held_lock(line: &str) -> Option<(u64, i64)> {
    let mut words = line.strip_prefix("lock:")?.split_whitespace().skip(1);
    let (kind, _, access) = (words.next()?, words.next()?, words.next()?);
    if kind != "OFDLCK" || access != "WRITE" {
        return None;
    }
    let inode = words.nth(1)?.rsplit(':').next()?.parse().ok()?;
    Some((inode, words.next()?.parse().ok()?))
}

fn describe(pid: u32, process: &Path) -> Process {
    let read = |name: &str| std::fs::read(process.join(name)).unwrap_or_default();
    let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
    let name = String::from_utf8_lossy(&read("comm")).trim().to_owned();
    let command = if line.trim().is_empty() { name } else { line.trim().to_owned() };
    // After the name in brackets comes the state, of one letter.
    let stat = String::from_utf8_lossy(&read("stat")).into_owned();
    let state = stat.rsplit(')').next().and_then(|rest| rest.trim_start().chars().next());
    Process { pid, command, is_stopped: matches!(state, Some('T' | 't')) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_understood() {
        let line = "lock:\t1: OFDLCK ADVISORY  WRITE -1 fe:00:10117125 5 5";
        assert_eq!(held_lock(line), Some((10_117_125, 5)));
        assert_eq!(held_lock("lock:\t1: OFDLCK ADVISORY  READ -1 fe:00:1 5 5"), None);
        assert_eq!(held_lock("lock:\t1: POSIX ADVISORY  WRITE 7 fe:00:1 5 5"), None);
        assert_eq!(held_lock("pos:\t0"), None);
    }
}
