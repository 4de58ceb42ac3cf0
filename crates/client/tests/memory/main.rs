//! What the engine `memory` promises, through the public client.
//!
//! Most tests poll by hand, without any runtime: what they see depends on no schedule.

#![expect(clippy::disallowed_types, reason = "the engine's clock is told as a SystemTime")]

mod model;

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use conclave_client::{
    Client, Engine, Error, Fence, Guard, Leadership, Loss, Memory, Mode, Name, Observer, Office,
    Outcome, Patience, Request, Resource, Status, Target, Usage, blocking,
};

const SECOND: Duration = Duration::from_secs(1);

/// In real time. Nothing here takes nearly as long, even on a slow machine.
const LONG: Duration = Duration::from_secs(120);

/// A request on its way.
type Waiting<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

fn engine() -> (Memory, Client) {
    let memory = Memory::new();
    let client = Client::new(memory.clone());
    (memory, client)
}

/// Polls once.
fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// The output of a future that must not have to wait.
#[track_caller]
fn now<F: Future>(future: F) -> F::Output {
    poll(&mut pin!(future)).expect("it has to wait")
}

/// Asks with that patience, and has to wait.
#[track_caller]
fn ask(client: &Client, request: Request, patience: Patience) -> Waiting<Guard> {
    let client = client.clone();
    let mut waiting: Waiting<Guard> =
        Box::pin(async move { client.acquire_request(&request, patience).await });
    assert!(poll(&mut waiting).is_none(), "it did not have to wait");
    waiting
}

#[track_caller]
fn wait_for(client: &Client, request: Request) -> Waiting<Guard> {
    ask(client, request, Patience::Forever)
}

#[track_caller]
fn campaign(client: &Client, name: &'static str, value: &'static str) -> Waiting<Leadership> {
    let client = client.clone();
    let mut waiting: Waiting<Leadership> =
        Box::pin(async move { client.campaign(name, value).await });
    assert!(poll(&mut waiting).is_none(), "it did not have to wait");
    waiting
}

/// The guard of a request whose turn has come.
#[track_caller]
fn granted<T>(waiting: &mut Waiting<T>) -> T {
    poll(waiting).expect("it still waits").expect("it failed")
}

fn lock(name: &str) -> Request {
    Request::lock(name).unwrap()
}

fn lock_resource(name: &str) -> Resource {
    Resource::lock(Name::new(name).unwrap())
}

fn status(client: &Client, name: &str) -> Status {
    now(client.inspect(&lock_resource(name))).unwrap()
}

/// A wake-up that is missed must fail the test, not hang it.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.expect("nobody woke it")
}

/// The same for a test that blocks.
fn soon_blocking(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match is_done.recv_timeout(LONG) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("nobody woke it"),
        // Done, or failed: then it fails here too.
        _ => thread.join().unwrap(),
    }
}

/// Runs all other tasks of a current-thread runtime until they wait.
async fn let_others_run() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

// Order and modes.

#[test]
fn waiters_are_served_in_the_order_of_their_arrival() {
    let (_, client) = engine();
    let first = now(client.lock("a")).unwrap();
    let mut second = wait_for(&client, lock("a"));
    let mut third = wait_for(&client, lock("a"));
    drop(first);
    assert!(poll(&mut third).is_none());
    let second = granted(&mut second);
    assert!(poll(&mut third).is_none());
    drop(second);
    assert_eq!(granted(&mut third).fence(), Fence(3));
}

#[test]
fn locks_of_different_names_do_not_meet() {
    let (_, client) = engine();
    let a = now(client.lock("a")).unwrap();
    let b = now(client.lock("b")).unwrap();
    let leader = now(client.campaign("a", "")).unwrap();
    assert_eq!((a.fence(), b.fence(), leader.fence()), (Fence(1), Fence(1), Fence(1)));
}

#[test]
fn shared_holders_hold_together_and_an_exclusive_one_alone() {
    let (_, client) = engine();
    let reader = now(client.lock(lock("a").shared())).unwrap();
    let another = now(client.lock(lock("a").shared())).unwrap();
    let mut writer = wait_for(&client, lock("a"));
    drop(reader);
    assert!(poll(&mut writer).is_none());
    drop(another);
    let writer = granted(&mut writer);
    let mut late_reader = wait_for(&client, lock("a").shared());
    drop(writer);
    let _late_reader = granted(&mut late_reader);
}

#[test]
fn a_newcomer_never_passes_a_waiter() {
    let (_, client) = engine();
    let reader = now(client.lock(lock("a").shared())).unwrap();
    let mut writer = wait_for(&client, lock("a"));
    let mut newcomer = wait_for(&client, lock("a").shared());
    let busy = now(client.try_lock(lock("a").shared())).unwrap_err();
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
    drop(reader);
    assert!(poll(&mut newcomer).is_none());
    drop(granted(&mut writer));
    let _newcomer = granted(&mut newcomer);
}

#[test]
fn a_semaphore_has_as_many_holders_as_slots() {
    let (_, client) = engine();
    let slot = lock("a").slots(2).unwrap();
    let first = now(client.lock(&slot)).unwrap();
    let _second = now(client.lock(&slot)).unwrap();
    let mut third = wait_for(&client, slot.clone());
    let mut fourth = wait_for(&client, slot);
    drop(first);
    assert!(poll(&mut fourth).is_none());
    assert_eq!(granted(&mut third).fence(), Fence(3));
    // That one is gone again.
    let _fourth = granted(&mut fourth);
}

#[test]
fn locks_and_semaphores_of_one_name_do_not_mix_while_in_use() {
    let (_, client) = engine();
    let guard = now(client.lock(lock("a").shared())).unwrap();
    let error = now(client.lock(lock("a").slots(2).unwrap())).unwrap_err();
    let two = 2.try_into().unwrap();
    assert!(
        matches!(error, Error::Mismatch { ours: Usage::Semaphore(it), theirs: Usage::Lock, .. }
            if it == two),
        "{error}"
    );
    drop(guard);
    let guard = now(client.lock(lock("a").slots(2).unwrap())).unwrap();
    let error = now(client.try_lock(lock("a").slots(3).unwrap())).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    let error = now(client.try_lock("a")).unwrap_err();
    assert!(matches!(error, Error::Mismatch { .. }), "{error}");
    drop(guard);
    let _guard = now(client.lock("a")).unwrap();
}

#[test]
fn fences_go_on_when_everybody_has_left() {
    let (_, client) = engine();
    for expected in 1..=3 {
        assert_eq!(now(client.lock("a")).unwrap().fence(), Fence(expected));
        assert!(status(&client, "a").is_idle());
    }
    assert_eq!(status(&client, "a").last_fence, Fence(3));
}

// Letting go.

#[test]
fn release_reports_and_lets_the_next_in() {
    let (_, client) = engine();
    let first = now(client.lock("a")).unwrap();
    let mut second = wait_for(&client, lock("a"));
    now(first.release()).unwrap();
    let _second = granted(&mut second);
}

#[test]
fn a_release_that_is_never_polled_still_lets_go() {
    let (_, client) = engine();
    let guard = now(client.lock("a")).unwrap();
    drop(guard.release());
    let _next = now(client.try_lock("a")).unwrap();
}

#[test]
fn a_cancelled_waiter_leaves_the_queue_to_those_behind() {
    let (_, client) = engine();
    let _reader = now(client.lock(lock("a").shared())).unwrap();
    let writer = wait_for(&client, lock("a"));
    let mut behind = wait_for(&client, lock("a").shared());
    drop(writer);
    let _behind = granted(&mut behind);
    assert_eq!(status(&client, "a").waiters, []);
}

#[test]
fn a_grant_that_nobody_took_is_let_go() {
    let (_, client) = engine();
    let first = now(client.lock("a")).unwrap();
    let second = wait_for(&client, lock("a"));
    let mut third = wait_for(&client, lock("a"));
    drop(first);
    assert_eq!(status(&client, "a").holders[0].fence, Fence(2));
    drop(second);
    assert_eq!(granted(&mut third).fence(), Fence(3));
}

#[test]
fn a_request_that_is_never_polled_never_arrives() {
    let (_, client) = engine();
    drop(client.lock("a"));
    assert_eq!(status(&client, "a").version, 0);
}

#[tokio::test]
async fn dropping_a_guard_inside_a_runtime_does_not_block() {
    let (_, client) = engine();
    let guard = client.lock("a").await.unwrap();
    let waiter = tokio::spawn({
        let client = client.clone();
        async move { client.lock("a").await.unwrap().fence() }
    });
    let_others_run().await;
    drop(guard);
    assert_eq!(soon(waiter).await.unwrap(), Fence(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_on_many_threads_exclude_each_other_and_none_is_forgotten() {
    let (_, client) = engine();
    let inside = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (client, inside) = (client.clone(), Arc::clone(&inside));
            tokio::spawn(async move {
                for _ in 0..200 {
                    let guard = client.lock("a").await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    guard.release().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        soon(task).await.unwrap();
    }
    assert_eq!(status(&client, "a").last_fence, Fence(8 * 200));
}

// Time, and the three outcomes.

#[test]
fn without_patience_a_taken_lock_is_busy_and_says_who_has_it() {
    let (memory, client) = engine();
    memory.advance(5 * SECOND);
    let _guard = now(client.lock(lock("a").labelled("backup").unwrap())).unwrap();
    let version = status(&client, "a").version;
    let error = now(client.try_lock("a")).unwrap_err();
    assert!(error.is_not_acquired());
    let Error::Busy { holders, .. } = error else { panic!("{error}") };
    assert_eq!(holders.len(), 1);
    assert_eq!((holders[0].label.as_str(), holders[0].host.as_str()), ("backup", "memory"));
    assert_eq!(holders[0].pid, std::process::id());
    assert_eq!(holders[0].since, SystemTime::UNIX_EPOCH + 5 * SECOND);
    assert_eq!(status(&client, "a").version, version, "a look is no change");
}

#[test]
fn a_wait_times_out_by_the_clock_of_the_engine_and_leaves_the_queue() {
    let (memory, client) = engine();
    let guard = now(client.lock("a")).unwrap();
    let mut waiting = ask(&client, lock("a"), Patience::AtMost(10 * SECOND));
    memory.advance(9 * SECOND);
    assert!(poll(&mut waiting).is_none());
    memory.advance(SECOND);
    assert_eq!(status(&client, "a").waiters, [], "before anybody polls");
    let error = poll(&mut waiting).unwrap().unwrap_err();
    assert_eq!(error.outcome(), Outcome::NotDone);
    assert!(matches!(error, Error::TimedOut { waited, .. } if waited == 10 * SECOND), "{error}");
    drop(guard);
    assert_eq!(now(client.try_lock("a")).unwrap().fence(), Fence(2));
}

#[test]
fn a_grant_in_time_stays_granted_however_late_it_is_polled() {
    let (memory, client) = engine();
    let guard = now(client.lock("a")).unwrap();
    let mut waiting = ask(&client, lock("a"), Patience::AtMost(SECOND));
    drop(guard);
    memory.advance(10 * SECOND);
    let _guard = granted(&mut waiting);
}

#[test]
fn deadlines_within_one_step_come_each_in_its_time() {
    let (memory, client) = engine();
    let _reader = now(client.lock(lock("a").shared())).unwrap();
    let mut writer = ask(&client, lock("a"), Patience::AtMost(SECOND));
    let mut reader = ask(&client, lock("a").shared(), Patience::AtMost(2 * SECOND));
    memory.advance(5 * SECOND);
    assert!(matches!(poll(&mut writer), Some(Err(Error::TimedOut { .. }))));
    let _reader = granted(&mut reader);
    let since = status(&client, "a").holders[1].owner.since;
    assert_eq!(since, SystemTime::UNIX_EPOCH + SECOND);
    assert_eq!(memory.now(), SystemTime::UNIX_EPOCH + 5 * SECOND);
}

#[test]
fn nobody_is_let_in_at_the_moment_at_which_its_own_time_is_up() {
    let (memory, client) = engine();
    let _reader = now(client.lock(lock("a").shared())).unwrap();
    let mut writer = ask(&client, lock("a"), Patience::AtMost(SECOND));
    let mut reader = ask(&client, lock("a").shared(), Patience::AtMost(SECOND));
    memory.advance(SECOND);
    assert!(matches!(poll(&mut writer), Some(Err(Error::TimedOut { .. }))));
    assert!(matches!(poll(&mut reader), Some(Err(Error::TimedOut { .. }))));
}

#[test]
fn the_longest_patience_is_no_overflow() {
    let (memory, client) = engine();
    memory.advance(SECOND);
    let guard = now(client.lock("a")).unwrap();
    let mut waiting = ask(&client, lock("a"), Patience::AtMost(Duration::MAX));
    memory.advance(1_000_000 * SECOND);
    drop(guard);
    let _guard = granted(&mut waiting);
}

#[test]
fn an_engine_out_of_reach_leaves_the_outcome_unknown() {
    let (memory, client) = engine();
    memory.set_reachable(false);
    let error = now(client.try_lock("a")).unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    let mut limited = ask(&client, lock("a"), Patience::AtMost(SECOND));
    let mut patient = wait_for(&client, lock("a"));
    memory.advance(SECOND);
    assert!(matches!(poll(&mut limited), Some(Err(Error::Unknown { .. }))));
    assert!(poll(&mut patient).is_none());
    memory.set_reachable(true);
    // Nothing is left of the two that gave up: not even a fence.
    assert_eq!(granted(&mut patient).fence(), Fence(1));
}

#[test]
fn what_was_sent_to_an_engine_out_of_reach_arrives_in_order() {
    let (memory, client) = engine();
    memory.set_reachable(false);
    let mut first = wait_for(&client, lock("a"));
    let mut second = wait_for(&client, lock("a"));
    let dropped = wait_for(&client, lock("a"));
    drop(dropped);
    memory.set_reachable(true);
    assert!(poll(&mut second).is_none());
    assert_eq!(granted(&mut first).fence(), Fence(1));
    assert_eq!(granted(&mut second).fence(), Fence(2));
}

#[test]
fn an_unknown_request_in_the_queue_is_cleaned_up_when_the_engine_is_back() {
    let (memory, client) = engine();
    let guard = now(client.lock("a")).unwrap();
    let mut limited = ask(&client, lock("a"), Patience::AtMost(SECOND));
    let mut behind = wait_for(&client, lock("a"));
    memory.set_reachable(false);
    // The first waiter has the lock now, and does not hear of it.
    assert_eq!(memory.lose("a"), 1);
    assert!(guard.is_lost());
    assert!(poll(&mut limited).is_none());
    memory.advance(SECOND);
    assert_eq!(status(&client, "a").holders[0].fence, Fence(2), "it may have taken effect");
    memory.set_reachable(true);
    // Even before the caller looks.
    assert_eq!(granted(&mut behind).fence(), Fence(3));
    assert!(matches!(poll(&mut limited), Some(Err(Error::Unknown { .. }))));
}

#[test]
fn a_grant_that_was_lost_before_it_was_told_says_so() {
    let (memory, client) = engine();
    let _first = now(client.lock("a")).unwrap();
    let mut second = wait_for(&client, lock("a"));
    memory.set_reachable(false);
    assert_eq!(memory.lose("a"), 1);
    assert_eq!(memory.lose("a"), 1);
    memory.set_reachable(true);
    assert_eq!(granted(&mut second).loss(), Some(Loss::Expired));
}

#[test]
fn a_release_that_cannot_reach_the_engine_is_unknown_and_takes_effect_later() {
    let (memory, client) = engine();
    let released = now(client.lock("a")).unwrap();
    let dropped = now(client.lock("b")).unwrap();
    memory.set_reachable(false);
    assert!(matches!(now(released.release()), Err(Error::Unknown { .. })));
    drop(dropped);
    assert_eq!(status(&client, "a").holders.len(), 1);
    assert_eq!(status(&client, "b").holders.len(), 1);
    memory.set_reachable(true);
    assert!(status(&client, "a").is_idle());
    assert!(status(&client, "b").is_idle());
}

#[test]
fn a_record_waits_for_the_engine_to_be_back() {
    let (memory, client) = engine();
    let guard = now(client.lock("a")).unwrap();
    memory.set_reachable(false);
    {
        let mut record = pin!(guard.record(b"x"));
        assert!(poll(&mut record).is_none());
        assert_eq!(status(&client, "a").value, None);
        memory.set_reachable(true);
        poll(&mut record).expect("it still waits").unwrap();
    }
    assert_eq!(status(&client, "a").value.unwrap().bytes, b"x");
    memory.set_reachable(false);
    let mut record = pin!(guard.record(b"y"));
    assert!(poll(&mut record).is_none());
    memory.lose("a");
    memory.set_reachable(true);
    assert!(matches!(poll(&mut record), Some(Err(Error::Lost { .. }))));
    assert_eq!(status(&client, "a").value.unwrap().bytes, b"x");
}

// Losses.

#[test]
fn losing_a_lock_tells_all_holders_and_lets_the_next_in() {
    let (memory, client) = engine();
    let one = now(client.lock(lock("a").shared())).unwrap();
    let two = now(client.lock(lock("a").shared())).unwrap();
    let other = now(client.campaign("a", "")).unwrap();
    let mut next = wait_for(&client, lock("a"));
    assert_eq!(memory.lose("a"), 2);
    assert_eq!((one.loss(), two.loss()), (Some(Loss::Expired), Some(Loss::Expired)));
    assert!(!other.is_lost(), "an election of the same name is something else");
    let next = granted(&mut next);
    assert!(!next.is_lost());
    // What the losers do now does not touch the new holder.
    assert!(matches!(now(one.record(b"x")), Err(Error::Lost { loss: Loss::Expired, .. })));
    assert!(matches!(now(one.release()), Err(Error::Lost { loss: Loss::Expired, .. })));
    drop(two);
    assert!(status(&client, "a").is_current(next.fence()));
    assert_eq!(status(&client, "a").value, None);
}

#[test]
fn losing_what_nobody_holds_does_nothing() {
    let (memory, client) = engine();
    assert_eq!((memory.lose("a"), memory.lose_leader("a"), memory.lose("")), (0, 0, 0));
    assert_eq!(status(&client, "a").version, 0);
}

#[tokio::test]
async fn a_holder_that_waits_for_its_loss_is_woken() {
    let (memory, client) = engine();
    let guard = client.lock("a").await.unwrap();
    let signal = guard.loss_watch();
    let task = tokio::spawn(async move { (guard.lost().await, guard.is_lost()) });
    let_others_run().await;
    memory.lose("a");
    assert_eq!(soon(task).await.unwrap(), (Loss::Expired, true));
    assert_eq!((signal.is_lost(), signal.loss()), (true, Some(Loss::Expired)));
    assert_eq!(signal.lost().await, Loss::Expired);
}

#[test]
fn revoking_takes_the_lock_by_force_and_writes_it_down() {
    let (memory, client) = engine();
    let guard = now(client.lock(lock("a").labelled("backup").unwrap())).unwrap();
    let mut next = wait_for(&client, lock("a"));
    memory.advance(SECOND);
    let before = now(memory.revoke(&lock_resource("a"), &Target::Holders, "the operator")).unwrap();
    assert_eq!(before.holders[0].owner.label, "backup");
    assert_eq!(guard.loss(), Some(Loss::Forced));
    assert!(matches!(now(guard.release()), Err(Error::Lost { loss: Loss::Forced, .. })));
    assert_eq!(granted(&mut next).fence(), Fence(2));
    let audit = memory.audit();
    assert_eq!(audit.len(), 1);
    for part in ["after 1s", "the operator", "backup", "fence 1"] {
        assert!(audit[0].contains(part), "{part:?} is missing in {:?}", audit[0]);
    }
    now(memory.revoke(&lock_resource("b"), &Target::Holders, "the operator")).unwrap();
    assert!(memory.audit()[1].contains("nobody"));
}

// Looking.

#[test]
fn inspection_shows_holders_waiters_and_values() {
    let (memory, client) = engine();
    let idle = status(&client, "a");
    assert!(idle.is_idle());
    assert_eq!((idle.last_fence, idle.version), (Fence(0), 0));
    let guard = now(client.lock("a")).unwrap();
    now(guard.record(b"cursor 7")).unwrap();
    memory.advance(SECOND);
    let _waiting = wait_for(&client, lock("a").shared().labelled("report").unwrap());
    let seen = status(&client, "a");
    assert_eq!(seen.holder().unwrap().fence, guard.fence());
    assert_eq!(seen.waiters.len(), 1);
    assert_eq!(seen.waiters[0].mode, Mode::Shared);
    assert_eq!(seen.waiters[0].owner.label, "report");
    assert_eq!(seen.waiters[0].owner.since, SystemTime::UNIX_EPOCH + SECOND);
    // The next holder finds what the last one kept.
    drop(guard);
    let value = status(&client, "a").value.unwrap();
    assert_eq!((value.fence, value.bytes.as_slice()), (Fence(1), b"cursor 7".as_slice()));
}

#[test]
fn the_list_has_what_was_used_and_not_what_was_looked_at() {
    let (memory, client) = engine();
    drop(now(client.lock("b")).unwrap());
    let _a = now(client.lock("a")).unwrap();
    assert!(poll(&mut memory.changed(&lock_resource("c"), 0)).is_none());
    let list = now(memory.list()).unwrap();
    let names: Vec<_> = list.iter().map(|it| it.as_ref().unwrap().resource.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test]
async fn every_change_is_announced() {
    let (memory, client) = engine();
    let resource = lock_resource("a");
    let mut held = None;
    for step in 0..6 {
        let version = client.inspect(&resource).await.unwrap().version;
        let task = tokio::spawn({
            let (memory, resource) = (memory.clone(), resource.clone());
            async move { memory.changed(&resource, version).await }
        });
        let_others_run().await;
        assert!(!task.is_finished(), "nothing has changed yet in step {step}");
        match (step, held.take()) {
            (0, _) => held = Some(client.lock("a").await.unwrap()),
            (1, Some(guard)) => {
                guard.record(b"x").await.unwrap();
                held = Some(guard);
            }
            (2, guard) => {
                // Even a waiter that comes and goes.
                drop(wait_for(&client, lock("a")));
                held = guard;
            }
            (3, Some(guard)) => guard.release().await.unwrap(),
            (4, _) => held = Some(client.lock("a").await.unwrap()),
            (5, _guard) => assert_eq!(memory.lose("a"), 1),
            _ => unreachable!(),
        }
        soon(task).await.unwrap().unwrap();
        now(memory.changed(&resource, version)).unwrap();
    }
}

// Elections.

fn see(observer: &mut Observer) -> Office {
    now(observer.next()).unwrap()
}

fn sees_nothing(observer: &mut Observer) -> bool {
    poll(&mut pin!(observer.next())).is_none()
}

#[track_caller]
fn assert_elected(office: &Office, expected_fence: Fence, expected_value: &str) {
    let Office::Elected { fence, value, .. } = office else { panic!("{office:?}") };
    assert_eq!((*fence, value.as_slice()), (expected_fence, expected_value.as_bytes()));
}

#[test]
fn observers_see_an_office_from_its_first_moment_to_its_resignation() {
    let (_, client) = engine();
    let mut observer = client.observe("primary").unwrap();
    assert_eq!(see(&mut observer), Office::Vacant);
    let leader = now(client.campaign("primary", "db1")).unwrap();
    assert_elected(&see(&mut observer), Fence(1), "db1");
    now(leader.proclaim(b"db1, warm")).unwrap();
    assert_elected(&see(&mut observer), Fence(1), "db1, warm");
    let mut next = campaign(&client, "primary", "db2");
    assert!(sees_nothing(&mut observer), "a candidate is no news");
    now(leader.resign()).unwrap();
    assert_eq!(see(&mut observer), Office::Resigned { fence: Fence(1) });
    assert_elected(&see(&mut observer), Fence(2), "db2");
    let next = granted(&mut next);
    now(next.resign()).unwrap();
    assert_eq!(see(&mut observer), Office::Resigned { fence: Fence(2) });
    // Too short to be seen.
    drop(now(client.campaign("primary", "db3")).unwrap());
    assert!(sees_nothing(&mut observer), "that it is vacant was said");
    let _fourth = now(client.campaign("primary", "db4")).unwrap();
    assert_elected(&see(&mut observer), Fence(4), "db4");
}

#[test]
fn a_leader_that_is_lost_or_dropped_did_not_resign() {
    let (memory, client) = engine();
    let mut observer = client.observe("primary").unwrap();
    let lost = now(client.campaign("primary", "db1")).unwrap();
    assert_elected(&see(&mut observer), Fence(1), "db1");
    assert_eq!(memory.lose_leader("primary"), 1);
    assert_eq!(see(&mut observer), Office::Vacant);
    assert!(matches!(now(lost.proclaim(b"still me")), Err(Error::Lost { .. })));
    assert!(matches!(now(lost.resign()), Err(Error::Lost { .. })));
    assert!(sees_nothing(&mut observer), "nobody resigns from what it lost");
    let dropped = now(client.campaign("primary", "db2")).unwrap();
    assert_elected(&see(&mut observer), Fence(2), "db2");
    let mut next = campaign(&client, "primary", "db3");
    drop(dropped);
    assert_elected(&see(&mut observer), Fence(3), "db3");
    assert_eq!(granted(&mut next).fence(), Fence(3));
}

#[test]
fn a_candidate_that_withdraws_never_leads() {
    let (_, client) = engine();
    let leader = now(client.campaign("primary", "db1")).unwrap();
    let withdrawn = campaign(&client, "primary", "db2");
    let mut next = campaign(&client, "primary", "db3");
    drop(withdrawn);
    now(leader.resign()).unwrap();
    assert_eq!(granted(&mut next).fence(), Fence(2));
}

#[test]
fn a_resignation_that_cannot_reach_the_engine_is_seen_later() {
    let (memory, client) = engine();
    let mut observer = client.observe("primary").unwrap();
    let leader = now(client.campaign("primary", "db1")).unwrap();
    assert_elected(&see(&mut observer), Fence(1), "db1");
    memory.set_reachable(false);
    assert!(matches!(now(leader.resign()), Err(Error::Unknown { .. })));
    assert!(sees_nothing(&mut observer));
    memory.set_reachable(true);
    assert_eq!(see(&mut observer), Office::Resigned { fence: Fence(1) });
}

#[tokio::test]
async fn an_observer_that_waits_is_woken() {
    let (_, client) = engine();
    let mut observer = client.observe("primary").unwrap();
    let task = tokio::spawn(async move {
        let vacant = observer.next().await.unwrap();
        (vacant, observer.next().await.unwrap())
    });
    let_others_run().await;
    let _leader = client.campaign("primary", "db1").await.unwrap();
    let (vacant, elected) = soon(task).await.unwrap();
    assert_eq!(vacant, Office::Vacant);
    assert_elected(&elected, Fence(1), "db1");
}

// Several locks.

#[test]
fn several_locks_are_taken_in_the_order_of_their_names() {
    let (_, client) = engine();
    let b = now(client.lock("b")).unwrap();
    let mut all = Box::pin(client.lock_all(["c", "b", "a"]));
    assert!(poll(&mut all).is_none());
    assert_eq!(status(&client, "a").holders.len(), 1, "a comes before b");
    assert!(status(&client, "c").is_idle(), "c comes after b");
    drop(b);
    let all = poll(&mut all).expect("it still waits").unwrap();
    let names: Vec<_> = all.iter().map(|it| it.resource().name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    now(all.release()).unwrap();
    assert!(["a", "b", "c"].iter().all(|name| status(&client, name).is_idle()));
}

#[test]
fn several_locks_given_up_half_way_are_all_let_go() {
    let (_, client) = engine();
    let _b = now(client.lock("b")).unwrap();
    let mut all = Box::pin(client.lock_all(["a", "b"]));
    assert!(poll(&mut all).is_none());
    drop(all);
    assert!(status(&client, "a").is_idle());
    assert_eq!(status(&client, "b").waiters, []);
}

#[test]
fn one_lost_among_several_is_reported_and_the_others_are_let_go() {
    let (memory, client) = engine();
    let all = now(client.lock_all(["a", "b", "c"])).unwrap();
    assert!(!all.is_lost());
    memory.lose("b");
    assert!(all.is_lost());
    let error = now(all.release()).unwrap_err();
    assert!(matches!(&error, Error::Lost { resource, .. } if *resource == lock_resource("b")));
    assert!(status(&client, "a").is_idle() && status(&client, "c").is_idle());
}

#[test]
fn the_same_lock_twice_in_one_call_is_refused() {
    let (_, client) = engine();
    let error = now(client.lock_all([lock("b"), lock("a"), lock("b").shared()])).unwrap_err();
    assert!(matches!(&error, Error::Twice(it) if *it == lock_resource("b")), "{error}");
    assert_eq!(status(&client, "a").version, 0, "nothing was taken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_who_want_the_same_locks_in_opposite_orders_never_block_each_other() {
    let (_, client) = engine();
    let want = |names: [&'static str; 2]| {
        let client = client.clone();
        tokio::spawn(async move {
            for _ in 0..1000 {
                let all = client.lock_all(names).await.unwrap();
                tokio::task::yield_now().await;
                drop(all);
            }
        })
    };
    let (one, other) = (want(["a", "b"]), want(["b", "a"]));
    soon(one).await.unwrap();
    soon(other).await.unwrap();
    assert_eq!(status(&client, "a").last_fence, Fence(2000));
    assert_eq!(status(&client, "b").last_fence, Fence(2000));
}

// Without async.

#[test]
fn the_blocking_front_waits_for_its_turn() {
    soon_blocking(|| {
        let client = blocking::Client::new(Memory::new());
        let first = client.lock("a").unwrap();
        let waiter = std::thread::spawn({
            let client = client.clone();
            move || client.lock("a").unwrap().fence()
        });
        while client.inspect(&lock_resource("a")).unwrap().waiters.is_empty() {
            std::thread::yield_now();
        }
        assert!(matches!(client.try_lock("a"), Err(Error::Busy { .. })));
        first.record(b"x").unwrap();
        first.release().unwrap();
        assert_eq!(waiter.join().unwrap(), Fence(2));
        assert_eq!(client.list().unwrap().len(), 1);
    });
}

#[test]
fn the_blocking_front_times_out_by_the_clock_of_the_engine() {
    soon_blocking(|| {
        let memory = Memory::new();
        let client = blocking::Client::new(memory.clone());
        let _guard = client.lock("a").unwrap();
        let waiter = std::thread::spawn({
            let client = client.clone();
            move || client.lock_timeout("a", SECOND).unwrap_err()
        });
        while client.inspect(&lock_resource("a")).unwrap().waiters.is_empty() {
            std::thread::yield_now();
        }
        memory.advance(SECOND);
        assert!(matches!(waiter.join().unwrap(), Error::TimedOut { .. }));
    });
}

#[test]
fn the_blocking_front_leads_observes_and_hears_of_losses() {
    soon_blocking(|| {
        let memory = Memory::new();
        let client = blocking::Client::new(memory.clone());
        let mut offices = client.observe("primary").unwrap();
        assert_eq!(offices.next().unwrap().unwrap(), Office::Vacant);
        let leader = client.campaign("primary", "db1").unwrap();
        assert_elected(&offices.next().unwrap().unwrap(), Fence(1), "db1");
        leader.proclaim(b"db1, warm").unwrap();
        assert_elected(&offices.next().unwrap().unwrap(), Fence(1), "db1, warm");
        leader.resign().unwrap();
        assert_eq!(offices.next().unwrap().unwrap(), Office::Resigned { fence: Fence(1) });
        let guard = client.lock("a").unwrap();
        let loser = std::thread::spawn(move || guard.wait_lost());
        assert_eq!(memory.lose("a"), 1);
        assert_eq!(loser.join().unwrap(), Loss::Expired);
        let guard = client.lock("a").unwrap();
        client.revoke(&lock_resource("a"), &Target::Holders, "test").unwrap();
        assert_eq!(guard.loss(), Some(Loss::Forced));
    });
}

#[test]
fn a_blocking_guard_may_be_dropped_inside_a_runtime() {
    let client = blocking::Client::new(Memory::new());
    let guard = client.lock("a").unwrap();
    drop(client);
    // The guard is the last one that has the runtime of the blocking front.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(guard) });
}
