//! Many at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use conclave_client::{Fence, Guard, Mode, Request};

use crate::scene::{Scene, Waiting, lock, lock_named, slot};

/// Who is inside.
#[derive(Default)]
struct Room {
    writers: AtomicU32,
    readers: AtomicU32,
    last_fence: AtomicU64,
    entries: AtomicU32,
}

impl Room {
    fn enter(&self, mode: Mode, fence: Fence) {
        self.entries.fetch_add(1, Ordering::SeqCst);
        if mode == Mode::Shared {
            self.readers.fetch_add(1, Ordering::SeqCst);
        } else {
            assert_eq!(self.writers.fetch_add(1, Ordering::SeqCst), 0, "two writers are in");
            assert_eq!(self.readers.load(Ordering::SeqCst), 0, "a writer is in beside readers");
            let last = self.last_fence.swap(fence.0, Ordering::SeqCst);
            assert!(last < fence.0, "fence {fence} of a writer comes after {last}");
        }
        assert!(
            mode != Mode::Shared || self.writers.load(Ordering::SeqCst) == 0,
            "a reader is in beside a writer"
        );
    }

    fn leave(&self, mode: Mode) {
        let who = if mode == Mode::Shared { &self.readers } else { &self.writers };
        who.fetch_sub(1, Ordering::SeqCst);
    }
}

pub async fn a_crowd_is_never_in_together_and_everybody_gets_in(scene: &Scene) {
    const ROUNDS: u32 = 20;
    let room = Arc::new(Room::default());
    let mut tasks = Vec::new();
    for number in 0..3_u32 {
        let client = scene.client();
        // Two tasks of each client, since those are easily taken for one.
        for task in 0..2 {
            let (client, room) = (client.clone(), Arc::clone(&room));
            tasks.push(tokio::spawn(async move {
                for round in 0..ROUNDS {
                    let is_reader = (number + task + round).is_multiple_of(3);
                    let request = if is_reader { lock("x").shared() } else { lock("x") };
                    let guard = client.lock(&request).await.unwrap();
                    room.enter(request.mode(), guard.fence());
                    tokio::task::yield_now().await;
                    room.leave(request.mode());
                    guard.release().await.unwrap();
                }
            }));
        }
    }
    let crowd = tasks.len();
    for task in tasks {
        let ended = scene.soon("everybody in a crowd gets in", task).await;
        if let Err(error) = ended {
            std::panic::resume_unwind(error.into_panic());
        }
    }
    assert_eq!(room.entries.load(Ordering::SeqCst) as usize, crowd * ROUNDS as usize);
    scene.becomes_idle(&lock_named("x")).await;
}

/// A generator of our own (xorshift), so that a seed means the same for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// One who came and has not gone yet.
struct Member {
    mode: Mode,
    waiting: Option<Waiting<Guard>>,
    guard: Option<Guard>,
}

/// The rule, without any cleverness: look at each pair.
fn may_hold(members: &[Member], index: usize) -> bool {
    match members[index].mode {
        Mode::Slot { of } => index < of.get() as usize,
        mode => members[..index].iter().all(|it| (it.mode, mode) == (Mode::Shared, Mode::Shared)),
    }
}

pub async fn whoever_comes_and_goes_all_are_served_by_the_rule(scene: &Scene) {
    come_and_go(scene, 1, &[lock("rw"), lock("rw").shared(), lock("rw").shared()]).await;
    come_and_go(scene, 2, &[slot("s", 3)]).await;
}

async fn come_and_go(scene: &Scene, seed: u64, requests: &[Request]) {
    let resource = requests[0].resource().clone();
    let clients = [scene.client(), scene.client(), scene.client()];
    let mut random = Random(seed);
    let mut members: Vec<Member> = Vec::new();
    for step in 0..60 {
        let at = format!("{resource}, step {step} of seed {seed}");
        if members.len() == 7 || (!members.is_empty() && random.below(3) == 0) {
            let gone = members.remove(random.below(members.len()));
            match (gone.guard, gone.waiting) {
                (Some(guard), _) if random.below(2) == 0 => scene.release(guard).await,
                (Some(guard), _) => drop(guard),
                (None, Some(waiting)) => scene.cancel_anyway(waiting).await,
                (None, None) => unreachable!("{at}: everybody waits or holds"),
            }
        } else {
            let request = &requests[random.below(requests.len())];
            let waiting = scene.ask(&clients[random.below(clients.len())], request);
            members.push(Member { mode: request.mode(), waiting: Some(waiting), guard: None });
        }
        let due = (0..members.len()).filter(|it| may_hold(&members, *it)).count();
        for (index, member) in members.iter_mut().enumerate() {
            // The rule never lets anybody in behind one who waits.
            if index < due {
                if let Some(waiting) = member.waiting.take() {
                    member.guard = Some(scene.granted(waiting).await);
                }
            } else {
                let is_early = member.waiting.as_ref().is_some_and(Waiting::is_answered);
                assert!(!is_early, "{at}: somebody got in whose turn it is not");
            }
        }
        // Nobody comes before this one is seen to have come. Those who left may take a moment.
        let waiting = members.len() - due;
        scene
            .eventually(&format!("{at}: {due} hold and {waiting} wait"), async || {
                let status = scene.status(&resource).await;
                assert!(status.holders.len() <= due + 1, "{at}: too many hold, {status:?}");
                (status.holders.len(), status.waiters.len()) == (due, waiting)
            })
            .await;
        let fences: Vec<Fence> =
            members.iter().filter_map(|it| Some(it.guard.as_ref()?.fence())).collect();
        assert!(fences.is_sorted_by(|a, b| a < b), "{at}: fences {fences:?} are not in order");
    }
}

pub async fn two_who_want_the_same_locks_never_wait_for_each_other(scene: &Scene) {
    let mut tasks = Vec::new();
    for names in [["a", "b", "c"], ["c", "b", "a"]] {
        let client = scene.client();
        tasks.push(tokio::spawn(async move {
            for _ in 0..20 {
                let guards = client.lock_all(names).await.unwrap();
                let order = guards.iter().map(|it| it.resource().name.as_str());
                assert_eq!(order.collect::<Vec<_>>(), ["a", "b", "c"]);
                tokio::task::yield_now().await;
                guards.release().await.unwrap();
            }
        }));
    }
    for task in tasks {
        scene.soon("both get all locks", task).await.unwrap();
    }
    for name in ["a", "b", "c"] {
        scene.becomes_idle(&lock_named(name)).await;
    }
}
