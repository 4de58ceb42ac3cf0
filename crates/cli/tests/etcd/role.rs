//! What runs under the locks: a family of two that leaves a stamp of boot time every 20 ms and
//! watches for itself that nobody else runs.
//!
//! The stamps come from this program, started anew in the part of a stamper. That nobody else runs
//! is seen by a file that the family has locked by flock(2): the kernel keeps it so until the last
//! of them is dead.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use conclave_client::BootTime;

use super::{World, eventually};

/// Where a stamper writes.
const STAMPS: &str = "CONCLAVE_TEST_STAMPS";
/// No stamper lives longer, whatever happened to its test.
const STAMPS_MAX: u32 = 4000;

#[test]
#[ignore = "no test: the part of a process that tests start"]
fn stamper() {
    let Some(path) = std::env::var_os(STAMPS) else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    for _ in 0..STAMPS_MAX {
        let line = format!("{}\n", BootTime::now().to_duration().as_nanos());
        file.write_all(line.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a family does when it gets TERM.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    /// It ends.
    Polite,
    /// It goes on.
    Deaf,
}

impl World {
    /// A script for `sh`: the family `who`, under the lock `name`. It leaves `who.pid`,
    /// `who.child`, `who.guard`, `who.fence` and `who.stamps`, and a line in `overlaps` if somebody
    /// else runs.
    pub fn family(&self, name: &str, who: &str, manners: Manners) -> String {
        let here = self.directory.path().display();
        let this = std::env::current_exe().unwrap();
        let stamper = format!(
            "{STAMPS}={here}/{who}.stamps exec {} role::stamper --exact --ignored --nocapture",
            this.display()
        );
        let trap = if manners == Manners::Deaf { "trap '' TERM;" } else { "" };
        format!(
            "{trap} exec >/dev/null 8>>{here}/{name}.oracle; \
             flock -n 8 || echo {who} >>{here}/overlaps; \
             echo $CONCLAVE_GUARD >{here}/{who}.guard; echo $CONCLAVE_FENCE >{here}/{who}.fence; \
             ({stamper}) & echo $! >{here}/{who}.child; echo $$ >{here}/{who}.pid; {stamper}"
        )
    }

    /// When the family `who` was seen, in order.
    pub fn stamps(&self, who: &str) -> Vec<BootTime> {
        let text = self.read(&format!("{who}.stamps"));
        let stamp = |line: &str| BootTime::since_start(Duration::from_nanos(line.parse().unwrap()));
        let mut stamps: Vec<_> = text.lines().map(stamp).collect();
        stamps.sort();
        stamps
    }

    /// Waits until both of the family run.
    pub fn wait_for_family(&self, who: &str) {
        eventually(&format!("the family {who}"), || {
            (self.stamps(who).len() > 4).then_some(()).filter(|()| self.number(who, "pid") > 0)
        });
    }

    /// A number that the family `who` has left.
    pub fn number(&self, who: &str, what: &str) -> i32 {
        self.wait_for_file(&format!("{who}.{what}")).parse().unwrap()
    }

    /// The last of `first` was seen before anybody of `second` was, and nobody ever ran beside
    /// somebody else.
    pub fn assert_apart(&self, first: &str, second: &str) {
        let (last, next) = (self.stamps(first).pop().unwrap(), self.stamps(second)[0]);
        assert!(last < next, "{first} was seen at {last:?}, and {second} at {next:?}");
        assert!(self.number(first, "fence") < self.number(second, "fence"));
        assert_eq!(self.read("overlaps"), "", "they ran while somebody else did");
    }
}
