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
        // One open file may keep hundreds of tickets.
        let mut described = None;
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
                    holders.push(described.get_or_insert_with(|| describe(pid, process)).clone());
                }
            }
        }
    }

    /// Who has the latch of that state file.
    pub fn in_latch_of(&self, inode: u64) -> Vec<Process> {
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

/// A process, told from all others of this run of the kernel: its number may be used again, or mean
/// another one in another namespace, but not with the same moment of its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Started {
    pub pid: u32,
    /// In ticks of the kernel since its own start; zero if it is not known.
    pub at: u64,
}

impl Started {
    /// The process that calls this, and when it was started.
    pub fn own() -> Self {
        let pid = std::process::id();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        Self { pid, at: state_and_start(&stat).map_or(0, |(_, at)| at) }
    }

    /// Whether it is stopped, by SIGSTOP or Ctrl-Z. `false` if that cannot be told. One that a
    /// debugger holds does not count: whoever traces a process stops it all the time.
    pub fn is_stopped(self) -> bool {
        if self.at == 0 || self.pid == std::process::id() {
            return false;
        }
        let stat = std::fs::read(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        state_and_start(&String::from_utf8_lossy(&stat)) == Some(('T', self.at))
    }
}

/// From `/proc/PID/stat`. The second field is a name in brackets, which may have any characters;
/// after it come the state, of one letter, and as the 20th the moment of the start.
fn state_and_start(stat: &str) -> Option<(char, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
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
    let state = state_and_start(&String::from_utf8_lossy(&read("stat")));
    Process { pid, command, is_stopped: matches!(state, Some(('T' | 't', _))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_whatever_it_is_called() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(state_and_start(&format!("7 (a) b) {rest}")), Some(('S', 4711)));
        assert_eq!(state_and_start("7 (a"), None);
        let own = Started::own();
        assert!(own.at > 0 && !own.is_stopped());
    }

    #[test]
    fn one_that_is_stopped_is_told_from_another_of_the_same_number() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let process = Started { pid, at: state_and_start(&stat()).unwrap().1 };
        assert!(!process.is_stopped());
        let number = nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap());
        nix::sys::signal::kill(number, nix::sys::signal::Signal::SIGSTOP).unwrap();
        while !stat().contains(" T ") {
            std::thread::yield_now();
        }
        assert!(process.is_stopped());
        assert!(!Started { pid, at: process.at + 1 }.is_stopped());
        assert!(!Started { pid, at: 0 }.is_stopped(), "it did not say when it started");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_stopped());
    }

    #[test]
    fn the_kernels_line_is_understood() {
        let line = "lock:\t1: OFDLCK ADVISORY  WRITE -1 fe:00:10117125 5 5";
        assert_eq!(held_lock(line), Some((10_117_125, 5)));
        assert_eq!(held_lock("lock:\t1: OFDLCK ADVISORY  READ -1 fe:00:1 5 5"), None);
        assert_eq!(held_lock("lock:\t1: POSIX ADVISORY  WRITE 7 fe:00:1 5 5"), None);
        assert_eq!(held_lock("pos:\t0"), None);
    }
}
