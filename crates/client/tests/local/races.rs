//! The engine `local` where two things happen at once: each test makes one unlucky moment last.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use conclave_client::{Error, Fence, Loss, Name, Request, Resource, Target};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::{World, lock, soon};

impl World {
    fn audit_log(&self) -> PathBuf {
        self.directory.path().join("audit.log")
    }
}

/// Changes a block of 256 bytes of the state file.
fn change(file: &std::fs::File, offset: u64, change: impl FnOnce(&mut [u8; 256])) {
    let mut block = [0; 256];
    file.read_exact_at(&mut block, offset).unwrap();
    change(&mut block);
    let sum = crc32fast::hash(&block[..252]);
    block[252..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&block, offset).unwrap();
}

/// What a revocation does to the first entry.
fn revoke_by_hand(file: &std::fs::File) {
    change(file, 4352, |entry| entry[29] = 1);
}

fn use_up_the_block(file: &std::fs::File) {
    change(file, 4096, |counters| counters.copy_within(32..40, 24));
}

/// The counters of the very first moment, under another boot id.
fn pretend_restart(file: &std::fs::File) {
    change(file, 4096, |counters| {
        counters.fill(0);
        counters[..16].fill(7);
    });
}

/// Locks or unlocks the state's guard, as soon as nobody else has it.
pub fn set_guard(file: &std::fs::File, kind: i32) {
    let range = libc::flock {
        l_type: i16::try_from(kind).unwrap(),
        l_whence: 0,
        l_start: 1 << 40,
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLKW(&range)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_tasks_with_one_guard_do_not_let_others_into_the_state() {
    let world = World::new();
    // What leads publishes without a sync: the more often they meet.
    let reader = || Request::election("x", "").unwrap().shared();
    let guard = Arc::new(world.client.lock(reader()).await.unwrap());
    let over = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for _ in 0..2 {
        let (guard, over) = (Arc::clone(&guard), Arc::clone(&over));
        writers.push(tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                guard.record(b"value").await.unwrap();
                tokio::task::yield_now().await;
            }
        }));
    }
    let mut others = Vec::new();
    for _ in 0..2 {
        let client = world.stranger();
        others.push(tokio::spawn(async move {
            let mut fences = Vec::new();
            for _ in 0..3000 {
                fences.push(client.lock(reader()).await.unwrap().fence());
            }
            fences
        }));
    }
    let mut fences = Vec::new();
    for other in others {
        fences.extend(other.await.unwrap());
    }
    over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
    fences.sort_unstable();
    let count = fences.len();
    fences.dedup();
    assert_eq!(fences.len(), count, "no fence is given out twice");
}

#[tokio::test]
async fn a_copy_of_a_descriptor_keeps_nothing_but_the_hold_that_it_was_made_of() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let copy = guard.by_descriptor().unwrap().descriptor().try_clone_to_owned().unwrap();
    guard.release().await.unwrap();
    let next = world.client.lock("x").await.unwrap();
    // As if its process had died: closed, not unlocked.
    next.by_descriptor().unwrap().abandon();
    drop(next);
    let free = world.stranger().lock_timeout("x", Duration::from_secs(2)).await;
    assert!(free.is_ok(), "nobody has a copy of the second hold: {free:?}");
    drop(copy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_lost_the_lock_on_the_way_to_the_state_writes_no_value() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    let state = world.state();
    set_guard(&state, libc::F_WRLCK);
    let late = tokio::spawn(async move { guard.record(b"late").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    revoke_by_hand(&state);
    set_guard(&state, libc::F_UNLCK);
    let late = soon(late).await.unwrap();
    assert!(matches!(late, Err(Error::Lost { loss: Loss::Forced, .. })), "{late:?}");
    assert_eq!(world.client.inspect(&lock("x")).await.unwrap().value, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_forced_who_was_not_put_down_before() {
    let world = World::new();
    let over = Arc::new(AtomicBool::new(false));
    let (client, told) = (world.stranger(), Arc::clone(&over));
    let looper = tokio::spawn(async move {
        let mut forced = Vec::new();
        while !told.load(Ordering::SeqCst) {
            let guard = client.lock("x").await.unwrap();
            let fence = guard.fence();
            tokio::time::sleep(Duration::from_micros(300)).await;
            if guard.release().await.is_err() {
                forced.push(fence);
            }
        }
        forced
    });
    let mut found = 0;
    while found < 50 {
        let before =
            world.client.engine().revoke(&lock("x"), &Target::Holders, "root").await.unwrap();
        found += before.holders.len();
    }
    over.store(true, Ordering::SeqCst);
    let forced = soon(looper).await.unwrap();
    let audit = std::fs::read_to_string(world.audit_log()).unwrap();
    for fence in forced {
        let line = format!("root forces lock x: fence {fence} of");
        assert!(audit.contains(&line), "fence {fence} was taken away");
    }
}

#[tokio::test]
async fn a_holder_hears_of_a_revocation_whose_author_was_killed_before_its_last_word() {
    let world = World::new();
    let guard = world.client.lock("x").await.unwrap();
    std::fs::write(world.audit_log(), "somebody forces lock x: fence 1\n").unwrap();
    // The watch has seen the first word, and that nothing had happened yet.
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(!guard.is_lost());
    revoke_by_hand(&world.state());
    assert_eq!(soon(guard.lost()).await, Loss::Forced);
}

#[tokio::test]
async fn a_lock_that_was_taken_away_before_its_taker_was_told_of_it_is_lost() {
    let world = World::new();
    world.stranger().lock("x").await.unwrap().release().await.unwrap();
    use_up_the_block(&world.state());
    // Granted on another thread, while its own task sleeps.
    let mut wait = Box::pin(world.client.lock("x"));
    std::future::poll_fn(|context| {
        assert!(wait.as_mut().poll(context).is_pending(), "it needs a sync");
        Poll::Ready(())
    })
    .await;
    let stranger = world.stranger();
    while stranger.inspect(&lock("x")).await.unwrap().holders.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stranger.engine().revoke(&lock("x"), &Target::Holders, "root").await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let guard = wait.await.unwrap();
    assert_eq!(soon(guard.lost()).await, Loss::Forced);
}

#[tokio::test]
async fn what_a_killed_process_of_the_same_number_left_is_not_in_the_way() {
    let world = World::new();
    for number in 0..300 {
        let left = format!(".new-{}-{number:x}", std::process::id());
        std::fs::write(world.directory.path().join(left), "").unwrap();
    }
    assert_eq!(world.client.lock("x").await.unwrap().fence(), Fence(1));
}

#[tokio::test]
async fn an_election_whose_values_were_both_torn_by_a_loss_of_power_goes_on() {
    let world = World::new();
    let leader = world.client.campaign("e", "first").await.unwrap();
    leader.proclaim(b"second").await.unwrap();
    drop(leader);
    // Neither was synced: half of each did not make it to the disk.
    world.state().write_all_at(&[9; 8], 1024 + 32).unwrap();
    world.state().write_all_at(&[9; 8], 2560 + 32).unwrap();
    pretend_restart(&world.state());
    let leader = world.stranger().campaign("e", "third").await.unwrap();
    assert_eq!(leader.fence(), Fence(1025));
    let status = world.client.inspect(&Resource::election(Name::new("e").unwrap())).await.unwrap();
    assert_eq!(status.value.unwrap().bytes, b"third");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_is_being_written_is_not_taken_for_damage() {
    let world = World::new();
    world.client.lock("x").await.unwrap().release().await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let (state, told) = (world.state(), Arc::clone(&over));
    // What happens once for 1,024 grants happens here all the time.
    let writer = std::thread::spawn(move || {
        let mut block = [0; 512];
        state.read_exact_at(&mut block, 0).unwrap();
        let mut bound = 1024_u64;
        while !told.load(Ordering::SeqCst) {
            bound += 1;
            block[16..24].copy_from_slice(&bound.to_le_bytes());
            let sum = crc32fast::hash(&block[..508]);
            block[508..].copy_from_slice(&sum.to_le_bytes());
            set_guard(&state, libc::F_WRLCK);
            state.write_all_at(&block, 0).unwrap();
            set_guard(&state, libc::F_UNLCK);
        }
    });
    let mut seen = Ok(());
    for _ in 0..50_000 {
        seen = seen.and(world.client.inspect(&lock("x")).await.map(drop));
    }
    over.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    assert!(seen.is_ok(), "{seen:?}");
}
