//! Late holders at the gates of real resources: files between processes, rows of SQLite, and a
//! server that speaks HTTP.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use conclave_client::Fence;
use conclave_client::gate::{
    FenceGate, FileGate, GateError, HttpGate, Refusal, Repeat, SqlGate, SqlRefusal, Stale,
};
use rusqlite::Connection;

/// Nobody who is late can change what a later holder has read.
#[test]
fn to_read_through_the_gate_shuts_it_behind_those_who_are_late() {
    let directory = tempfile::tempdir().unwrap();
    let gate = FileGate::open(directory.path().join("data")).unwrap();
    assert_eq!(gate.read(Fence(1)).unwrap(), None, "it reads, and makes nothing");
    assert!(!directory.path().join("data").exists());
    gate.replace(Fence(1), b"first").unwrap();
    assert_eq!(gate.read(Fence(2)).unwrap().unwrap(), b"first");
    let late = Stale { given: Fence(1), highest: Fence(2) };
    assert!(matches!(gate.replace(Fence(1), b"late"), Err(GateError::Stale(it)) if it == late));
    assert!(matches!(gate.read(Fence(1)), Err(GateError::Stale(it)) if it == late));
    assert_eq!(gate.read(Fence(2)).unwrap().unwrap(), b"first");
}

// The rule itself.

#[test]
fn a_gate_refuses_zero_and_whatever_is_lower_than_an_earlier_one_and_nothing_else() {
    // Every sequence of five fences from 0 to 4.
    for number in 0..5_u64.pow(5) {
        let mut gate = FenceGate::new();
        let mut admitted = vec![0];
        for place in 0..5 {
            let fence = number / 5_u64.pow(place) % 5;
            let highest = *admitted.iter().max().unwrap();
            let late = fence == 0 || admitted.iter().any(|earlier| *earlier > fence);
            let answer = gate.admit(Fence(fence));
            if late {
                let refused = Stale { given: Fence(fence), highest: Fence(highest) };
                assert_eq!(answer, Err(refused), "after {admitted:?}");
            } else {
                assert_eq!(answer, Ok(()), "{fence} after {admitted:?}");
                admitted.push(fence);
            }
            assert_eq!(gate.highest().0, *admitted.iter().max().unwrap(), "after {admitted:?}");
        }
    }
}

#[test]
fn a_gate_that_is_told_the_highest_fence_goes_on_from_there() {
    let mut gate = FenceGate::with_highest(Fence(9));
    assert!(gate.admit(Fence(8)).is_err());
    assert_eq!(gate.admit(Fence(9)), Ok(()));
}

#[test]
fn a_refusal_says_in_one_line_who_was_here_already() {
    let late = Stale { given: Fence(7), highest: Fence(9) };
    assert_eq!(late.to_string(), "fence 7 is late: 9 was here already");
    // Even where nobody was here: "0 is late: 0 was here already" would be nonsense.
    let nobody = Stale { given: Fence(0), highest: Fence(0) };
    assert_eq!(nobody.to_string(), "fence 0 is nobody's: no lock was ever given with it");
}

// Files.

/// A directory of its own for each test, and the file in it that is guarded.
struct Guarded {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Guarded {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report");
        Self { directory, path }
    }

    fn gate(&self) -> FileGate {
        FileGate::open(&self.path).unwrap()
    }

    fn side(&self) -> PathBuf {
        self.directory.path().join("report.fence")
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|e| name(e).into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn refused(answer: Result<(), GateError>) -> Stale {
    match answer {
        Err(GateError::Stale(stale)) => stale,
        other => panic!("a late holder got {other:?}"),
    }
}

fn assert_damaged<T: std::fmt::Debug>(answer: &Result<T, GateError>, about: &str) {
    assert!(matches!(answer, Err(GateError::Damaged { .. })), "{about}: {answer:?}");
}

/// Runs one test of this program again, in a process of its own, in which [`role`] is `role`.
fn in_another_process(test: &str, role: &str, path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("GATE_TEST_ROLE", role)
        .env("GATE_TEST_PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What this process is started for, and with which file; nothing in the test's own process.
fn role() -> Option<(String, PathBuf)> {
    Some((env::var("GATE_TEST_ROLE").ok()?, env::var_os("GATE_TEST_PATH")?.into()))
}

#[test]
fn a_late_holder_does_not_change_the_file() {
    let guarded = Guarded::new();
    let (early, later) = (guarded.gate(), guarded.gate());
    early.replace(Fence(7), b"by 7").unwrap();
    later.replace(Fence(9), b"by 9").unwrap();

    let late = Stale { given: Fence(7), highest: Fence(9) };
    assert_eq!(refused(early.replace(Fence(7), b"by 7, late")), late);
    let unreachable = early.write(Fence(7), |_| -> io::Result<()> { panic!("it is late") });
    assert_eq!(refused(unreachable), late);
    assert_eq!(guarded.text(), "by 9");
}

#[test]
fn the_same_holder_writes_a_file_again_and_again() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    gate.replace(Fence(7), b"once").unwrap();
    gate.replace(Fence(7), b"twice").unwrap();
    gate.write(Fence(7), |file| file.write_all(b"three")).unwrap();
    assert_eq!(guarded.text(), "three");
    assert_eq!(gate.highest().unwrap(), Fence(7));
}

#[test]
fn fence_zero_does_not_even_write_a_new_file() {
    let guarded = Guarded::new();
    let nobody = Stale { given: Fence(0), highest: Fence(0) };
    assert_eq!(refused(guarded.gate().replace(Fence(0), b"by nobody")), nobody);
    assert!(!guarded.path.exists());
}

#[test]
fn a_gate_that_is_opened_again_remembers() {
    let guarded = Guarded::new();
    guarded.gate().replace(Fence(u64::MAX), b"by the last").unwrap();
    assert_eq!(guarded.gate().highest().unwrap(), Fence(u64::MAX));
    refused(guarded.gate().replace(Fence(u64::MAX - 1), b"by the one before"));
    assert_eq!(guarded.text(), "by the last");
}

#[test]
fn a_thousand_writes_of_two_processes_follow_each_other_and_none_is_lost() {
    const WRITES: usize = 500;
    if let Some((name, path)) = role() {
        return write_in_turns(&name, &path, WRITES);
    }
    let guarded = Guarded::new();
    let test = "a_thousand_writes_of_two_processes_follow_each_other_and_none_is_lost";
    let mut children = ["a", "b"].map(|name| in_another_process(test, name, &guarded.path));
    for name in ["ready-a", "ready-b"] {
        while !guarded.directory.path().join(name).exists() {
            for child in &mut children {
                assert_eq!(child.try_wait().unwrap(), None, "it ended before it began");
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    for child in &mut children {
        drop(child.stdin.take()); // go
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }

    let text = guarded.text();
    let lines: Vec<(&str, u64)> = text
        .lines()
        .map(|line| line.split_once(' ').expect("a whole line"))
        .map(|(name, fence)| (name, fence.parse().unwrap()))
        .collect();
    assert_eq!(lines.len(), 2 * WRITES, "a write is lost");
    assert!(lines.is_sorted_by_key(|(_, fence)| fence), "somebody came late and was let in");
    let turns = lines.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    assert!(turns > 1, "the processes did not interleave, so this showed nothing");

    let last = lines.last().unwrap().1;
    assert_eq!(guarded.gate().highest().unwrap(), Fence(last));
    refused(guarded.gate().replace(Fence(last - 1), b"late"));
    assert_eq!(guarded.text(), text);
}

/// Appends so many lines, each with the next fence. Where the other process was faster, this one
/// is late, and tries the one after.
fn write_in_turns(name: &str, path: &Path, writes: usize) {
    let gate = FileGate::open(path).unwrap();
    fs::write(path.with_file_name(format!("ready-{name}")), "").unwrap();
    io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let mut written = 0;
    while written < writes {
        let fence = Fence(gate.highest().unwrap().0 + 1);
        let line = format!("{name} {fence}\n");
        let answer = gate.write(fence, |file| {
            // Not O_APPEND: two at once are to overwrite each other.
            file.seek(SeekFrom::End(0))?;
            file.write_all(line.as_bytes())
        });
        match answer {
            Ok(()) => written += 1,
            Err(GateError::Stale(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn many_threads_that_replace_at_once_leave_the_contents_of_the_highest_fence() {
    const THREADS: u64 = 8;
    const ROUNDS: u64 = 25;
    let guarded = Guarded::new();
    let begin = Barrier::new(usize::try_from(THREADS).unwrap());
    // Half of them share one gate: the lock must hold between threads with the same one, too.
    let shared = guarded.gate();
    let admitted: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|thread| {
                let own = guarded.gate();
                let (shared, begin) = (&shared, &begin);
                scope.spawn(move || {
                    let gate = if thread % 2 == 0 { shared } else { &own };
                    begin.wait();
                    // Thread 3 has the fences 3, 11, 19, ...
                    let fences = (0..ROUNDS).map(|round| round * THREADS + thread);
                    let admitted = fences.filter(|fence| {
                        let contents = format!("by {fence}").repeat(1000);
                        match gate.replace(Fence(*fence), contents.as_bytes()) {
                            Ok(()) => true,
                            Err(GateError::Stale(_)) => false,
                            Err(other) => panic!("{other}"),
                        }
                    });
                    admitted.count() as u64
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(admitted > 1, "only one got in, so this showed nothing");
    assert_eq!(guarded.gate().highest().unwrap(), Fence(THREADS * ROUNDS));
    assert!(guarded.text() == format!("by {}", THREADS * ROUNDS).repeat(1000));
    assert_eq!(guarded.names(), ["report", "report.fence"], "something was left behind");
}

#[test]
fn nobody_gets_in_while_another_writes() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    let (tell, told) = channel();
    thread::scope(|scope| {
        let answer = gate.write(Fence(7), |file| {
            scope.spawn(|| {
                gate.replace(Fence(9), b"by 9").unwrap();
                tell.send(()).unwrap();
            });
            let waited = told.recv_timeout(Duration::from_millis(100));
            assert_eq!(waited, Err(RecvTimeoutError::Timeout), "9 was let in too early");
            file.write_all(b"by 7, who is slow")
        });
        answer.unwrap();
        told.recv().unwrap();
    });
    assert_eq!(guarded.text(), "by 9");
}

#[test]
fn many_who_open_a_new_gate_at_once_agree_on_one_side_file() {
    let guarded = Guarded::new();
    let begin = Barrier::new(8);
    thread::scope(|scope| {
        for fence in 1..=8 {
            let (guarded, begin) = (&guarded, &begin);
            scope.spawn(move || {
                begin.wait();
                // If the side file were made twice, one of the gates would find it exchanged.
                match guarded.gate().replace(Fence(fence), b"x") {
                    Ok(()) | Err(GateError::Stale(_)) => {}
                    Err(other) => panic!("{other}"),
                }
            });
        }
    });
    assert_eq!(guarded.gate().highest().unwrap(), Fence(8));
    assert_eq!(guarded.names(), ["report", "report.fence"]);
}

#[test]
fn after_a_crash_between_fence_and_data_the_late_are_refused_and_the_holder_may_go_on() {
    if let Some((_, path)) = role() {
        let gate = FileGate::open(path).unwrap();
        let _ = gate.write(Fence(9), |_| -> io::Result<()> { std::process::exit(42) });
        return;
    }
    let guarded = Guarded::new();
    let gate = guarded.gate();
    gate.replace(Fence(7), b"by 7").unwrap();
    let test = "after_a_crash_between_fence_and_data_the_late_are_refused_and_the_holder_may_go_on";
    let crashed = in_another_process(test, "crash", &guarded.path).wait().unwrap();
    assert_eq!(crashed.code(), Some(42), "it did not end where it should");

    assert_eq!(guarded.text(), "by 7", "the crash came before the data");
    assert_eq!(gate.highest().unwrap(), Fence(9), "the fence was there before the data");
    assert_eq!(refused(gate.replace(Fence(8), b"by 8")).highest, Fence(9));
    assert_eq!(guarded.text(), "by 7");
    gate.replace(Fence(9), b"by 9, once more").unwrap();
    assert_eq!(guarded.text(), "by 9, once more");
}

#[test]
fn what_a_crashed_replace_has_left_is_no_hindrance() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    let left = guarded.directory.path().join("report.fence.new");
    fs::write(&left, "much longer than what is written next").unwrap();
    gate.replace(Fence(7), b"by 7").unwrap();
    assert_eq!(guarded.text(), "by 7");
    assert!(!left.exists(), "it was not used, so this showed nothing");
}

#[test]
fn a_damaged_side_file_is_refused_and_never_reset() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    gate.replace(Fence(9), b"by 9").unwrap();
    let good = fs::read(guarded.side()).unwrap();

    let mut damages: Vec<Vec<u8>> = vec![Vec::new(), vec![0; good.len()], vec![0; 512]];
    damages.extend((0..good.len()).map(|length| good[..length].to_vec()));
    damages.push([good.as_slice(), b"\n"].concat());
    for bit in 0..good.len() * 8 {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        damages.push(flipped);
    }
    for damaged in damages {
        let about = String::from_utf8_lossy(&damaged).into_owned();
        fs::write(guarded.side(), &damaged).unwrap();
        assert_damaged(&gate.replace(Fence(10), b"by 10"), &about);
        assert_damaged(&gate.write(Fence(10), |file| file.write_all(b"by 10")), &about);
        assert_damaged(&gate.highest(), &about);
        assert_damaged(&FileGate::open(&guarded.path), &about);
        assert_eq!(fs::read(guarded.side()).unwrap(), damaged, "it is left as it is");
        assert_eq!(guarded.text(), "by 9");
    }

    fs::write(guarded.side(), &good).unwrap();
    refused(gate.replace(Fence(8), b"by 8"));
    gate.replace(Fence(10), b"by 10").unwrap();
}

#[test]
fn a_side_file_that_was_removed_or_exchanged_is_noticed_by_an_open_gate() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    gate.replace(Fence(9), b"by 9").unwrap();
    let kept = guarded.directory.path().join("kept");
    fs::rename(guarded.side(), &kept).unwrap();
    assert_damaged(&gate.replace(Fence(8), b"by 8"), "removed");
    assert!(!guarded.side().exists(), "it was reset");

    guarded.gate(); // makes a new one, with fence 0
    assert_damaged(&gate.replace(Fence(8), b"by 8"), "exchanged");
    assert_eq!(guarded.text(), "by 9");
}

#[test]
fn a_failed_write_is_an_error_and_its_fence_counts() {
    let guarded = Guarded::new();
    let gate = guarded.gate();
    let answer = gate.write(Fence(9), |_| -> io::Result<()> { Err(io::Error::other("no ink")) });
    let error = answer.unwrap_err();
    assert!(error.to_string().starts_with("writing /"), "{error}");
    assert!(error.to_string().ends_with("/report: no ink"), "{error}");
    assert_eq!(refused(gate.replace(Fence(8), b"by 8")).highest, Fence(9));
}

#[test]
fn a_file_and_a_symbolic_link_to_it_have_one_gate() {
    let guarded = Guarded::new();
    guarded.gate().replace(Fence(9), b"by 9").unwrap();
    let link = guarded.directory.path().join("link");
    symlink("report", &link).unwrap();

    let by_link = FileGate::open(&link).unwrap();
    refused(by_link.replace(Fence(8), b"by 8"));
    by_link.replace(Fence(10), b"by 10").unwrap();
    assert_eq!(guarded.text(), "by 10");
    assert!(link.is_symlink(), "the link was replaced instead of the file");
    assert!(FileGate::open(guarded.directory.path()).is_err(), "a directory is no file");
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let guarded = Guarded::new();
    fs::write(&guarded.path, "secret").unwrap();
    fs::set_permissions(&guarded.path, fs::Permissions::from_mode(0o600)).unwrap();
    guarded.gate().replace(Fence(1), b"still secret").unwrap();
    assert_eq!(fs::metadata(&guarded.path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_exists_is_written_in_place_and_not_emptied_first() {
    let guarded = Guarded::new();
    fs::write(&guarded.path, "0123456789").unwrap();
    let kept_open = OpenOptions::new().read(true).open(&guarded.path).unwrap();
    guarded.gate().write(Fence(1), |file| file.write_all(b"abc")).unwrap();
    assert_eq!(io::read_to_string(kept_open).unwrap(), "abc3456789");
}

// Rows.

/// A table with one row, and two connections to it: the early holder's and the later one's.
struct Table {
    early: Connection,
    later: Connection,
    _directory: tempfile::TempDir,
}

impl Table {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let open = || Connection::open(directory.path().join("jobs.sqlite")).unwrap();
        let (early, later) = (open(), open());
        let table = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state TEXT NOT NULL, \
                     fence BIGINT NOT NULL DEFAULT 0)";
        early.execute_batch(table).unwrap();
        early.execute("INSERT INTO jobs (id, state) VALUES (1, 'new')", []).unwrap();
        Self { early, later, _directory: directory }
    }

    fn row(&self) -> (String, i64) {
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.later.query_row("SELECT state, fence FROM jobs WHERE id = 1", [], columns).unwrap()
    }
}

fn set_state(
    on: &Connection,
    gate: SqlGate,
    id: i64,
    state: &str,
    fence: Fence,
) -> Result<(), SqlRefusal> {
    let update = format!(
        "UPDATE jobs SET state = ?2, {} WHERE id = ?3 AND {}",
        gate.assignment("?1"),
        gate.condition("?1"),
    );
    let rows = on.execute(&update, (gate.value(fence)?, state, id)).unwrap();
    gate.admitted(rows, fence)
}

#[test]
fn a_late_update_changes_no_row_and_is_an_error() {
    for repeat in [Repeat::Allowed, Repeat::Refused] {
        let table = Table::new();
        let gate = SqlGate::new("fence", repeat);
        set_state(&table.early, gate, 1, "by 7", Fence(7)).unwrap();
        set_state(&table.later, gate, 1, "by 9", Fence(9)).unwrap();

        let late = set_state(&table.early, gate, 1, "by 7, late", Fence(7));
        assert_eq!(late, Err(SqlRefusal::NoRow { fence: Fence(7), repeat }));
        assert_eq!(table.row(), ("by 9".to_owned(), 9));
    }
}

#[test]
fn the_same_holder_updates_a_row_twice_only_where_repeats_are_allowed() {
    let table = Table::new();
    let allowed = SqlGate::new("fence", Repeat::Allowed);
    set_state(&table.early, allowed, 1, "once", Fence(7)).unwrap();
    set_state(&table.early, allowed, 1, "twice", Fence(7)).unwrap();
    set_state(&table.early, allowed, 1, "twice", Fence(7)).expect("the same values do count");
    assert_eq!(table.row(), ("twice".to_owned(), 7));

    let refused = SqlGate::new("fence", Repeat::Refused);
    let again = set_state(&table.early, refused, 1, "a third time", Fence(7)).unwrap_err();
    assert_eq!(
        again.to_string(),
        "fence 7 updated no row: it is late or has written already, or there is no such row"
    );
    assert_eq!(table.row(), ("twice".to_owned(), 7));
    set_state(&table.early, refused, 1, "by the next", Fence(8)).unwrap();
    assert_eq!(table.row(), ("by the next".to_owned(), 8));
}

#[test]
fn an_update_of_a_row_that_does_not_exist_is_no_success() {
    let table = Table::new();
    let gate = SqlGate::new("fence", Repeat::Allowed);
    let nowhere = set_state(&table.early, gate, 2, "by 7", Fence(7)).unwrap_err();
    assert_eq!(nowhere.to_string(), "fence 7 updated no row: it is late, or there is no such row");
}

#[test]
fn the_insert_for_a_row_that_may_not_exist_refuses_the_late_as_well() {
    let table = Table::new();
    let gate = SqlGate::new("jobs.fence", Repeat::Allowed);
    let insert = format!(
        "INSERT INTO jobs (id, state, fence) VALUES (?2, ?3, ?1) ON CONFLICT (id) DO UPDATE \
         SET state = excluded.state, fence = excluded.fence WHERE {}",
        gate.condition("excluded.fence"),
    );
    let upsert = |id: i64, state: &str, fence: Fence| {
        let row = (gate.value(fence).unwrap(), id, state);
        gate.admitted(table.early.execute(&insert, row).unwrap(), fence)
    };
    upsert(2, "inserted", Fence(3)).unwrap();
    upsert(1, "by 9", Fence(9)).unwrap();
    assert!(upsert(1, "by 7", Fence(7)).is_err());
    assert_eq!(table.row(), ("by 9".to_owned(), 9));
}

#[test]
fn an_update_of_anything_but_one_row_is_not_admitted() {
    let gate = SqlGate::new("fence", Repeat::Allowed);
    assert_eq!(gate.admitted(1_usize, Fence(7)), Ok(()));
    assert_eq!(gate.admitted(1_u64, Fence(7)), Ok(()));
    assert_eq!(gate.admitted(2_u64, Fence(7)), Err(SqlRefusal::NotOneRow { fence: Fence(7) }));
    // What some drivers say when they do not know.
    assert_eq!(gate.admitted(-1_i64, Fence(7)), Err(SqlRefusal::NotOneRow { fence: Fence(7) }));
}

#[test]
fn only_fences_from_one_to_the_highest_bigint_get_to_the_database() {
    let gate = SqlGate::new("fence", Repeat::Allowed);
    let highest = Fence((1 << 63) - 1);
    assert_eq!(gate.value(Fence(1)), Ok(1));
    assert_eq!(gate.value(highest), Ok(i64::MAX));
    for (fence, why) in [
        (Fence(0), SqlRefusal::Nobody),
        (Fence(1 << 63), SqlRefusal::TooHigh(Fence(1 << 63))),
        (Fence(u64::MAX), SqlRefusal::TooHigh(Fence(u64::MAX))),
    ] {
        assert_eq!(gate.value(fence), Err(why));
        assert_eq!(gate.admitted(1_u64, fence), Err(why), "bound without asking");
    }

    let table = Table::new();
    set_state(&table.early, gate, 1, "by the last", highest).unwrap();
    assert_eq!(table.row(), ("by the last".to_owned(), i64::MAX));
}

// Servers.

/// A server that stores one report: `PUT /report` writes it, `GET /report` reads it.
fn serve(gate: HttpGate) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let shared = Arc::new((gate, Mutex::new(String::new())));
    thread::spawn(move || {
        for connection in listener.incoming() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || answer(&connection.unwrap(), &shared.0, &shared.1));
        }
    });
    address
}

fn answer(connection: &TcpStream, gate: &HttpGate, report: &Mutex<String>) {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let puts = line.starts_with("PUT /report ");
    let (mut fence, mut length) = (None, 0);
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case(HttpGate::HEADER) {
            fence = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();

    let (status, text) = if puts {
        match gate.write("report", fence.as_deref(), |_| *report.lock().unwrap() = body) {
            Ok(()) => (200, "stored".to_owned()),
            Err(refusal) => (refusal.status(), refusal.to_string()),
        }
    } else {
        (200, report.lock().unwrap().clone())
    };
    let length = text.len();
    let mut connection = connection;
    write!(connection, "HTTP/1.1 {status} -\r\nContent-Length: {length}\r\n\r\n{text}").unwrap();
}

/// One request with these headers; the status and the body of the answer.
fn request(to: SocketAddr, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut text = format!("{method} /report HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut connection = TcpStream::connect(to).unwrap();
    connection.write_all(text.as_bytes()).unwrap();
    let answer = io::read_to_string(connection).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn put(to: SocketAddr, fence: Fence, body: &str) -> (u16, String) {
    let (name, value) = HttpGate::header(fence);
    request(to, "PUT", &[(name, &value)], body)
}

fn stored(at: SocketAddr) -> String {
    request(at, "GET", &[], "").1
}

#[test]
fn a_late_client_gets_412_and_what_is_stored_stays() {
    let server = serve(HttpGate::new());
    assert_eq!(put(server, Fence(7), "by 7"), (200, "stored".to_owned()));
    assert_eq!(put(server, Fence(7), "by 7, again").0, 200);
    assert_eq!(stored(server), "by 7, again");
    assert_eq!(put(server, Fence(9), "by 9").0, 200);

    let late = put(server, Fence(7), "by 7, late");
    assert_eq!(late, (412, "fence 7 is late: 9 was here already".to_owned()));
    assert_eq!(stored(server), "by 9");
}

#[test]
fn a_request_without_a_fence_gets_428_and_one_with_nonsense_400() {
    let server = serve(HttpGate::new());
    put(server, Fence(7), "by 7");
    let missing = request(server, "PUT", &[], "by whom?");
    assert_eq!(missing, (428, "the header Conclave-Fence is missing".to_owned()));
    let too_high = "18446744073709551616"; // 2^64
    for nonsense in ["", "0", "+9", "-9", "9.0", "0x9", "8, 9", "9 9", "nine", "９", too_high] {
        let answer = request(server, "PUT", &[("Conclave-Fence", nonsense)], "by nonsense");
        assert_eq!(answer.0, 400, "{nonsense:?}");
        assert_eq!(answer.1.lines().count(), 1, "{answer:?}");
    }
    assert_eq!(stored(server), "by 7");
    // As HTTP wants it: names in any case, spaces around the value.
    assert_eq!(request(server, "PUT", &[("conclave-fence", " 8 \t")], "by 8").0, 200);
    assert_eq!(stored(server), "by 8");
}

#[test]
fn a_server_forgets_when_it_starts_again_unless_it_is_told_what_it_stored() {
    let forgetful = serve(HttpGate::new());
    assert_eq!(put(forgetful, Fence(8), "by 8").0, 200);

    let told = serve(HttpGate::new().with_highest("report", Fence(9)));
    assert_eq!(put(told, Fence(8), "by 8").0, 412);
    assert_eq!(put(told, Fence(9), "by 9").0, 200);

    let twice = HttpGate::new().with_highest("report", Fence(9)).with_highest("report", Fence(4));
    assert_eq!(twice.highest("report"), Fence(9), "the lower one must not count");
}

#[test]
fn each_resource_of_a_server_has_fences_of_its_own() {
    let gate = HttpGate::new();
    assert_eq!(gate.admit("report", Some("9")), Ok(Fence(9)));
    assert_eq!(gate.admit("summary", Some("4")), Ok(Fence(4)));
    let late = Stale { given: Fence(8), highest: Fence(9) };
    assert_eq!(gate.admit("report", Some("8")), Err(Refusal::Late(late)));
    assert_eq!(gate.highest("summary"), Fence(4));
    assert_eq!(gate.highest("never written"), Fence(0));
}

#[test]
fn a_slow_write_cannot_land_after_a_later_one_and_delays_no_other_resource() {
    let gate = HttpGate::new();
    let report = Mutex::new("");
    let (tell, told) = channel();
    let (tell_other, told_other) = channel();
    thread::scope(|scope| {
        let slow = gate.write("report", Some("7"), |_| {
            scope.spawn(|| {
                gate.write("report", Some("9"), |_| *report.lock().unwrap() = "by 9").unwrap();
                tell.send(()).unwrap();
            });
            scope.spawn(|| tell_other.send(gate.admit("summary", Some("1"))).unwrap());
            let other = told_other.recv_timeout(Duration::from_secs(10));
            assert_eq!(other, Ok(Ok(Fence(1))), "another resource need not wait");
            let waited = told.recv_timeout(Duration::from_millis(100));
            assert_eq!(waited, Err(RecvTimeoutError::Timeout), "9 was let in too early");
            *report.lock().unwrap() = "by 7, who is slow";
        });
        slow.unwrap();
    });
    assert_eq!(*report.lock().unwrap(), "by 9");
}

#[test]
fn a_write_that_panics_leaves_the_gate_usable_and_its_fence_remembered() {
    let gate = HttpGate::new();
    let panics = || gate.write("report", Some("9"), |_| panic!("as it is meant to"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(gate.admit("report", Some("8")).unwrap_err().status(), 412);
    assert_eq!(gate.admit("report", Some("9")), Ok(Fence(9)));
}
