//! The engine `local`, within one process: order, modes, fences, cancelling, loss.

mod actor;
mod crowd;
mod directory;
mod races;
mod runtimes;
mod several;
mod stopped;

use std::num::NonZeroU32;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conclave_client::{
    Client, Error, Fence, Local, Loss, Mode, Name, Office, Outcome, Patience, Request, Resource,
    Target, Usage, blocking,
};
use tempfile::TempDir;

/// Long enough for anything that is going to happen.
const LONG: Duration = Duration::from_secs(120);

/// Long enough for what must not happen to have been seen.
const SHORT: Duration = Duration::from_millis(60);

struct World {
    directory: TempDir,
    client: Client,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let client = Client::new(Local::open(directory.path()).unwrap());
        Self { directory, client }
    }

    /// Another engine on the same directory, as another process would have.
    fn stranger(&self) -> Client {
        Client::new(Local::open(self.directory.path()).unwrap())
    }

    fn state_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|it| it == "lock")).collect()
    }

    fn state_file(&self) -> PathBuf {
        let [file] = &self.state_files()[..] else { panic!("one lock, one file") };
        file.clone()
    }

    /// The only state file, opened.
    fn state(&self) -> std::fs::File {
        std::fs::File::options().read(true).write(true).open(self.state_file()).unwrap()
    }
}

fn lock(name: &str) -> Resource {
    Resource::lock(Name::new(name).unwrap())
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it happens")
}

async fn waiters(client: &Client, name: &str, count: usize) {
    soon(async {
        while client.inspect(&lock(name)).await.unwrap().waiters.len() != count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn only_one_holds_and_fences_grow() {
    let world = World::new();
    let first = world.client.lock("x").await.unwrap();
    assert_eq!(first.fence(), Fence(1));
    let refused = world.stranger().try_lock("x").await.unwrap_err();
    assert!(matches!(&refused, Error::Busy { holders, .. } if holders.len() == 1));
    assert_eq!(refused.outcome(), Outcome::NotDone);
    first.release().await.unwrap();
    for fence in 2..5000 {
        let guard = world.client.try_lock("x").await.unwrap();
        assert_eq!(guard.fence(), Fence(fence), "beyond the block that was reserved, too");
    }
}

#[tokio::test]
async fn a_timed_out_call_has_left_the_queue() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let refused = world.stranger().lock_timeout("x", SHORT).await.unwrap_err();
    assert!(matches!(refused, Error::TimedOut { .. }), "{refused}");
    assert_eq!(refused.outcome(), Outcome::NotDone);
    let status = world.client.inspect(&lock("x")).await.unwrap();
    assert_eq!((status.holders.len(), status.waiters.len()), (1, 0));
    drop(holder);
    assert!(world.stranger().try_lock("x").await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_are_served_in_the_order_in_which_they_came() {
    let world = World::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let holder = world.client.lock("x").await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (client, order) = (world.stranger(), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let guard = client.lock("x").await.unwrap();
            order.lock().unwrap().push((number, guard.fence()));
        }));
        waiters(&world.client, "x", number + 1).await;
    }
    drop(holder);
    for task in tasks {
        soon(task).await.unwrap();
    }
    let order = order.lock().unwrap().clone();
    let expected: Vec<_> = (0..20).map(|number| (number, Fence(number as u64 + 2))).collect();
    assert_eq!(order, expected);
}

/// One who takes the lock again and again, from a thread of its own, until told to stop.
struct Looper {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<u32>,
}

impl Looper {
    fn start(world: &World, request: Request, hold: Duration) -> Self {
        let engine = Local::open(world.directory.path()).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let (started, has_started) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let client = blocking::Client::new(engine);
            let mut count = 0;
            while !told.load(Ordering::SeqCst) {
                let guard = client.lock(&request).unwrap();
                std::thread::sleep(hold);
                count += 1;
                drop(guard);
                let _ = started.send(());
            }
            count
        });
        has_started.recv_timeout(LONG).unwrap();
        Self { stop, thread }
    }

    fn stop(self) -> u32 {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap()
    }
}

/// The fence that a request which comes now must get if nobody passes it, and the one that it got.
/// The first is `None` if it did not have to wait, or not long enough to be seen.
async fn wait_and_watch(world: &World) -> (Option<Fence>, Fence) {
    let client = world.stranger();
    let request = Request::lock("x").unwrap().labelled("waiter").unwrap();
    let waiter = tokio::spawn(async move { client.lock(request).await.unwrap().fence() });
    let mut expected = None;
    while !waiter.is_finished() {
        let status = world.client.inspect(&lock("x")).await.unwrap();
        let ahead = status.waiters.iter().position(|it| it.owner.label == "waiter");
        if let Some(ahead) = ahead {
            expected = Some(Fence(status.last_fence.0 + ahead as u64 + 1));
            break;
        }
        tokio::task::yield_now().await;
    }
    (expected, soon(waiter).await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_who_locks_in_a_loop_is_passed_by_each_waiter_in_turn() {
    let world = World::new();
    let looper = Looper::start(&world, Request::lock("x").unwrap(), Duration::from_millis(5));
    let mut waited = 0;
    while waited < 10 {
        let (expected, granted) = soon(wait_and_watch(&world)).await;
        if let Some(expected) = expected {
            waited += 1;
            assert_eq!(granted, expected, "nobody came in between");
        }
    }
    assert!(looper.stop() >= waited, "each waited for a turn of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overlapping_readers_delay_a_writer_by_at_most_one_hold() {
    let world = World::new();
    let reader = Request::lock("x").unwrap().shared();
    let readers: Vec<Looper> = (7..10)
        .map(|ms| Looper::start(&world, reader.clone(), Duration::from_millis(ms)))
        .collect();
    let mut waited = 0;
    while waited < 10 {
        let (expected, granted) = soon(wait_and_watch(&world)).await;
        if let Some(expected) = expected {
            waited += 1;
            // No reader was let in after the writer came: it waited for those inside, and they
            // hold once.
            assert_eq!(granted, expected, "no reader came in between");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let reads: u32 = readers.into_iter().map(Looper::stop).sum();
    assert!(reads >= waited, "each waited for a reader of its own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_wait_leaves_the_queue_and_the_next_one_moves_up() {
    let world = World::new();
    let holder = world.client.lock("x").await.unwrap();
    let second = tokio::spawn({
        let client = world.stranger();
        async move { client.lock("x").await.map(drop) }
    });
    waiters(&world.client, "x", 1).await;
    let third = tokio::spawn({
        let client = world.stranger();
        async move { client.lock("x").await.unwrap().fence() }
    });
    waiters(&world.client, "x", 2).await;
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    waiters(&world.client, "x", 1).await;
    drop(holder);
    assert_eq!(soon(third).await.unwrap(), Fence(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_share_but_none_passes_a_waiting_writer() {
    let world = World::new();
    let reader = || Request::lock("x").unwrap().shared();
    let first = world.client.lock(reader()).await.unwrap();
    let second = world.stranger().try_lock(reader()).await.unwrap();
    assert!(second.fence() > first.fence());
    let writer = tokio::spawn({
        let client = world.stranger();
        async move { client.lock("x").await.unwrap() }
    });
    waiters(&world.client, "x", 1).await;
    let late = world.stranger().try_lock(reader()).await.unwrap_err();
    assert!(matches!(late, Error::Busy { .. }));
    let late = tokio::spawn({
        let client = world.stranger();
        async move { client.lock(reader()).await.unwrap() }
    });
    waiters(&world.client, "x", 2).await;
    drop(first);
    tokio::time::sleep(SHORT).await;
    assert!(!writer.is_finished(), "one reader is still there");
    drop(second);
    let writer = soon(writer).await.unwrap();
    assert!(!late.is_finished());
    let fence = writer.fence();
    drop(writer);
    assert!(soon(late).await.unwrap().fence() > fence);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_has_so_many_places_and_any_that_becomes_free_will_do() {
    let world = World::new();
    let slot = || Request::lock("x").unwrap().slots(3).unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(world.stranger().try_lock(slot()).await.unwrap());
    }
    assert!(world.client.try_lock(slot()).await.unwrap_err().is_not_acquired());
    let mut waiting = Vec::new();
    for number in 1..=3 {
        let client = world.stranger();
        waiting.push(tokio::spawn(async move { client.lock(slot()).await.unwrap() }));
        waiters(&world.client, "x", number).await;
    }
    // In another order than they came, and while the ones that got a place keep it.
    let mut served = Vec::new();
    for (place, task) in [1, 0, 0].into_iter().zip(waiting) {
        drop(held.remove(place));
        served.push(soon(task).await.unwrap());
    }
    let three = NonZeroU32::new(3).unwrap();
    let refused = world.client.try_lock("x").await.unwrap_err();
    assert!(
        matches!(refused, Error::Mismatch { theirs: Usage::Semaphore(it), .. } if it == three),
        "{refused}"
    );
    let status = world.client.inspect(&lock("x")).await.unwrap();
    assert!(status.holders.iter().all(|it| it.mode == Mode::Slot { of: three }));
    drop(served);
    assert!(world.client.try_lock("x").await.is_ok(), "once nobody uses it so any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_never_overlap() {
    let world = World::new();
    let (inside, total) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..16 {
        let (client, inside) = (world.stranger(), Arc::clone(&inside));
        let total = Arc::clone(&total);
        tasks.push(tokio::spawn(async move {
            let mut last = Fence(0);
            for _ in 0..50 {
                let guard = client.lock("x").await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "alone");
                assert!(guard.fence() > last);
                last = guard.fence();
                tokio::task::yield_now().await;
                inside.fetch_sub(1, Ordering::SeqCst);
                total.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    for task in tasks {
        soon(task).await.unwrap();
    }
    assert_eq!(total.load(Ordering::SeqCst), 800);
    let status = world.client.inspect(&lock("x")).await.unwrap();
    assert_eq!(status.last_fence, Fence(800), "one fence for each");
}

#[tokio::test]
async fn a_thousand_waits_that_time_out_leave_no_threads_behind() {
    let world = World::new();
    let _holder = world.client.lock("x").await.unwrap();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let stranger = world.stranger();
    let wait = Duration::from_micros(100);
    let _ = stranger.lock_timeout("x", wait).await;
    let before = threads();
    for _ in 0..1000 {
        assert!(stranger.lock_timeout("x", wait).await.is_err());
    }
    // Other tests of this process come and go meanwhile; a leak would be a thousand.
    assert!(threads() < before + 100, "{} threads, {before} before", threads());
}

#[tokio::test]
async fn what_is_taken_away_by_force_is_told_and_put_down() {
    let world = World::new();
    let guard = world.client.lock(Request::lock("x").unwrap().labelled("me").unwrap()).await;
    let guard = guard.unwrap();
    let waiter = tokio::spawn({
        let client = world.stranger();
        async move { client.lock("x").await.unwrap().fence() }
    });
    waiters(&world.client, "x", 1).await;
    let before =
        world.stranger().engine().revoke(&lock("x"), &Target::Holders, "root").await.unwrap();
    assert_eq!(before.holders[0].owner.label, "me");
    assert_eq!(soon(guard.lost()).await, Loss::Forced);
    assert_eq!(soon(waiter).await.unwrap(), Fence(2), "though the first has not let go");
    let status = world.client.inspect(&lock("x")).await.unwrap();
    assert!(!status.is_current(Fence(1)) && status.holders[0].revoked, "it is still to be seen");
    let audit = std::fs::read_to_string(world.directory.path().join("audit.log")).unwrap();
    assert_eq!(audit.lines().count(), 2, "{audit}");
    assert!(audit.contains("root forced lock x: fence 1 of me (pid "), "{audit}");
    assert!(matches!(guard.record(b"late").await, Err(Error::Lost { .. })));
    assert!(matches!(guard.release().await, Err(Error::Lost { loss: Loss::Forced, .. })));
}

#[tokio::test]
async fn a_removed_state_file_is_a_loss_not_a_second_holder_unawares() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    std::fs::remove_file(world.state_file()).unwrap();
    assert_eq!(soon(guard.lost()).await, Loss::StateGone);
    assert!(matches!(guard.release().await, Err(Error::Lost { .. })));
    assert!(world.client.try_lock("x").await.is_ok(), "with a new file");
}

#[tokio::test]
async fn an_idle_descriptor_of_a_removed_file_is_not_used_again() {
    let world = World::new();
    world.client.lock("x").await.unwrap().release().await.unwrap();
    std::fs::remove_file(world.state_file()).unwrap();
    let other = world.stranger().try_lock("x").await.unwrap();
    assert!(world.client.try_lock("x").await.is_err(), "the other one has it");
    drop(other);
}

#[tokio::test]
async fn after_a_restart_the_next_fence_is_above_all_that_were_reserved() {
    let world = World::new();
    for _ in 0..3 {
        world.client.lock("x").await.unwrap().release().await.unwrap();
    }
    pretend_restart(&world);
    assert_eq!(world.client.lock("x").await.unwrap().fence(), Fence(1025));
    assert_eq!(world.client.lock("x").await.unwrap().fence(), Fence(1026), "and then one by one");
    pretend_restart(&world);
    assert_eq!(world.stranger().lock("x").await.unwrap().fence(), Fence(2049));
}

/// What a loss of power can do: everything that was not synced is as old as can be. Here the
/// counters of the very first moment, under another boot id.
fn pretend_restart(world: &World) {
    let file = world.state();
    let mut summary = [0; 256];
    summary[..16].copy_from_slice(&[7; 16]);
    let sum = crc32fast::hash(&summary[..252]);
    summary[252..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&summary, 4096).unwrap();
}

#[tokio::test]
async fn a_damaged_or_foreign_file_is_refused_and_left_as_it_is() {
    type Spoil = fn(&mut Vec<u8>);
    let spoilers: [(&str, Spoil); 6] = [
        ("empty", Vec::clear),
        ("foreign", |it| *it = b"not ours".repeat(2000)),
        ("short", |it| it.truncate(5000)),
        ("header", |it| it[16] ^= 1),
        ("version", |it| it[8] = 9),
        ("counters", |it| it[4096 + 24] ^= 1),
    ];
    for (what, spoil) in spoilers {
        let world = World::new();
        world.client.lock("x").await.unwrap().release().await.unwrap();
        let path = world.state_file();
        let mut bytes = std::fs::read(&path).unwrap();
        spoil(&mut bytes);
        std::fs::write(&path, &bytes).unwrap();
        let refused = world.stranger().try_lock("x").await.unwrap_err();
        assert!(
            matches!(&refused, Error::Damaged { path: it, .. } if *it == path),
            "{what}: {refused}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}");
    }
}

#[tokio::test]
async fn whatever_is_in_the_file_the_answer_is_a_lock_or_damage() {
    let world = World::new();
    world.client.lock("x").await.unwrap().record(b"value").await.unwrap();
    let path = world.state_file();
    let whole = std::fs::read(&path).unwrap();
    let mut random: u64 = 88_172_645_463_325_252;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % limit as u64).unwrap()
    };
    let (mut damaged, mut fine) = (0, 0);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..=below(4) {
            // Mostly where something is written; often with a checksum that fits.
            let at = [0, 1024, 2560, 4096, 4352][below(5)] + below(64);
            bytes[at] = [0, 1, 255, u8::try_from(below(256)).unwrap()][below(4)];
        }
        if below(2) == 0 {
            for (start, length) in [(0, 512), (4096, 256), (4352, 256)] {
                let end = start + length - 4;
                let sum = crc32fast::hash(&bytes[start..end]);
                bytes[end..end + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let stranger = world.stranger();
        let answers =
            [stranger.inspect(&lock("x")).await.map(drop), stranger.try_lock("x").await.map(drop)];
        for answer in answers {
            match answer {
                Ok(()) => fine += 1,
                Err(Error::Damaged { .. }) => damaged += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(damaged > 500 && fine > 500, "{damaged} damaged, {fine} fine");
}

#[tokio::test]
async fn a_file_of_another_lock_is_refused() {
    let world = World::new();
    world.client.lock("x").await.unwrap().release().await.unwrap();
    let x = world.state_file();
    world.client.lock("y").await.unwrap().release().await.unwrap();
    let y = world.state_files().into_iter().find(|it| *it != x).unwrap();
    std::fs::copy(&x, &y).unwrap();
    let refused = world.stranger().try_lock("y").await.unwrap_err();
    assert!(matches!(refused, Error::Damaged { what: "it is the state of another lock", .. }));
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let world = World::new();
    world.client.lock("x").await.unwrap().release().await.unwrap();
    let path = world.state_file();
    let elsewhere = world.directory.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(matches!(world.stranger().try_lock("x").await, Err(Error::Io { .. })));
}

#[tokio::test]
async fn a_recorded_value_stays_when_its_writer_is_gone() {
    let world = World::new();
    for round in 0..5_u8 {
        let guard = world.client.lock("x").await.unwrap();
        guard.record(&[round; 1024]).await.unwrap();
        let value = world.stranger().inspect(&lock("x")).await.unwrap().value.unwrap();
        assert_eq!((value.fence, &value.bytes[..]), (guard.fence(), &[round; 1024][..]));
    }
    let guard = world.client.lock("x").await.unwrap();
    assert!(matches!(guard.record(&[0; 1025]).await, Err(Error::ValueTooLong(1025))));
}

#[tokio::test]
async fn a_value_torn_by_a_loss_of_power_falls_back_to_the_one_before() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    guard.record(b"first").await.unwrap();
    guard.record(b"second").await.unwrap();
    drop(guard);
    // The second record lies at the even place. Half of it did not make it to the disk.
    let file = world.state();
    file.write_all_at(&[9; 8], 1024 + 32).unwrap();
    assert!(world.stranger().inspect(&lock("x")).await.is_err(), "while the machine runs: damage");
    pretend_restart(&world);
    drop(world.stranger().lock("x").await.unwrap());
    let value = world.stranger().inspect(&lock("x")).await.unwrap().value.unwrap();
    assert_eq!(value.bytes, b"first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_see_who_leads_who_resigns_and_who_just_goes() {
    let world = World::new();
    let watcher = world.stranger();
    let mut observer = watcher.observe("e").unwrap();
    assert_eq!(soon(observer.next()).await.unwrap(), Office::Vacant);
    let leader = world.client.campaign("e", "one").await.unwrap();
    let seen = soon(observer.next()).await.unwrap();
    assert!(matches!(&seen, Office::Elected { fence: Fence(1), value, .. } if value == b"one"));
    leader.proclaim(b"uno").await.unwrap();
    let seen = soon(observer.next()).await.unwrap();
    assert!(matches!(&seen, Office::Elected { fence: Fence(1), value, .. } if value == b"uno"));
    let next = tokio::spawn({
        let client = world.stranger();
        async move { client.campaign("e", "two").await.unwrap() }
    });
    leader.resign().await.unwrap();
    assert_eq!(soon(observer.next()).await.unwrap(), Office::Resigned { fence: Fence(1) });
    let next = soon(next).await.unwrap();
    let seen = soon(observer.next()).await.unwrap();
    assert!(matches!(&seen, Office::Elected { fence: Fence(2), value, .. } if value == b"two"));
    drop(next);
    assert_eq!(soon(observer.next()).await.unwrap(), Office::Vacant);
    assert!(world.client.try_lock("e").await.is_ok(), "a lock of that name is another thing");
}

#[tokio::test]
async fn all_is_listed_and_what_cannot_be_read_is_an_error_in_its_place() {
    let world = World::new();
    let guard = world.client.lock(Request::lock("a/b").unwrap().labelled("me").unwrap()).await;
    let guard = guard.unwrap();
    let waiting = world.stranger();
    let mut wait = Box::pin(waiting.lock("a/b"));
    assert!(tokio::time::timeout(SHORT, &mut wait).await.is_err());
    std::fs::write(world.directory.path().join("strange.lock"), "?").unwrap();
    let mut listed = world.stranger().engine().list().await.unwrap();
    listed.sort_by_key(Result::is_err);
    let [Ok(status), Err(Error::Damaged { .. })] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(status.resource, lock("a/b"));
    let holder = status.holder().unwrap();
    assert_eq!((holder.fence, holder.owner.label.as_str()), (guard.fence(), "me"));
    let own = std::process::id();
    assert_eq!(holder.processes.iter().map(|it| it.pid).collect::<Vec<_>>(), [own]);
    assert_eq!(status.waiters[0].owner.pid, own);
}

#[tokio::test]
async fn an_abandoned_lock_stays_held_as_long_as_a_copy_of_its_descriptor_is_open() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let copy = guard.by_descriptor().unwrap().descriptor().try_clone_to_owned().unwrap();
    guard.by_descriptor().unwrap().abandon();
    drop(guard);
    assert!(world.stranger().try_lock("x").await.unwrap_err().is_not_acquired());
    drop(copy);
    let free = world.stranger().lock_timeout("x", LONG).await;
    assert!(free.is_ok(), "the watch may have had it in its hands for a moment");
}

#[tokio::test]
async fn a_keeper_keeps_the_lock_held_until_it_lets_go_whoever_has_a_copy() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let keeper = guard.by_descriptor().unwrap().keeper().unwrap();
    let copy = keeper.descriptor().try_clone_to_owned().unwrap();
    let mut waiter = Box::pin({
        let client = world.stranger();
        async move { client.lock("x").await.unwrap().fence() }
    });
    drop(guard);
    assert!(tokio::time::timeout(SHORT, &mut waiter).await.is_err(), "the holder is gone");
    assert!(world.stranger().try_lock("x").await.unwrap_err().is_not_acquired());
    keeper.release().unwrap();
    assert_eq!(soon(waiter).await, Fence(2), "though the copy is open");
    drop(copy);
}

#[tokio::test]
async fn a_closed_keeper_leaves_the_lock_to_copies_of_it() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let keeper = guard.by_descriptor().unwrap().keeper().unwrap();
    let copy = keeper.descriptor().try_clone_to_owned().unwrap();
    drop(keeper);
    drop(guard);
    assert!(world.stranger().try_lock("x").await.unwrap_err().is_not_acquired());
    drop(copy);
    assert!(world.stranger().try_lock("x").await.is_ok());
}

#[tokio::test]
async fn locks_taken_together_are_all_let_go_when_one_cannot_be_had() {
    let world = World::new();
    let slots = Request::lock("b").unwrap().slots(2).unwrap();
    let _other = world.stranger().lock(&slots).await.unwrap();
    let refused = world.client.lock_all(["a", "b"]).await.unwrap_err();
    assert!(matches!(refused, Error::Mismatch { .. }));
    assert!(world.stranger().try_lock("a").await.is_ok());
}

#[tokio::test]
async fn patience_without_end_needs_no_end_of_time() {
    let world = World::new();
    let request = Request::lock("x").unwrap();
    let guard = world.client.acquire_request(&request, Patience::AtMost(Duration::MAX)).await;
    assert!(guard.is_ok());
}

#[tokio::test]
async fn who_may_write_to_the_directory_may_take_part() {
    use std::os::unix::fs::PermissionsExt;
    for (directory, file) in [(0o700, 0o600), (0o770, 0o660), (0o1777, 0o666)] {
        let world = World::new();
        let permissions = std::fs::Permissions::from_mode(directory);
        std::fs::set_permissions(world.directory.path(), permissions).unwrap();
        world.client.lock("x").await.unwrap().release().await.unwrap();
        let mode = std::fs::metadata(world.state_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, file, "{directory:o}");
    }
}

#[tokio::test]
async fn one_that_is_stopped_in_the_guard_is_named() {
    use nix::fcntl::{FcntlArg, fcntl};
    let world = World::new();
    drop(world.client.lock("x").await.unwrap());
    let file = world.state();
    let guard = nix::libc::flock {
        l_type: i16::try_from(nix::libc::F_WRLCK).unwrap(),
        l_whence: 0,
        l_start: 1 << 40,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(&file, FcntlArg::F_OFD_SETLK(&guard)).unwrap();
    let refused = world.stranger().inspect(&lock("x")).await.unwrap_err();
    let Error::Stuck { processes, .. } = &refused else { panic!("{refused}") };
    assert_eq!(processes.iter().map(|it| it.pid).collect::<Vec<_>>(), [std::process::id()]);
    drop(file);
    assert!(world.stranger().inspect(&lock("x")).await.is_ok());
}
