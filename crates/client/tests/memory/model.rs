//! The engine `memory` against a model that is too simple to be wrong.

use std::pin::Pin;

use conclave_client::{Client, Error, Fence, Guard, Memory, Mode, Request};

use super::{now, poll};

/// A request on its way.
type Waiting = Pin<Box<dyn Future<Output = Result<Guard, Error>>>>;

fn lock() -> Request {
    Request::lock("a").unwrap()
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

/// One request, as the model sees it and as the engine does.
struct Member {
    mode: Mode,
    /// Given out by the model.
    fence: Option<Fence>,
    /// Until it was polled as ready.
    waiting: Option<Waiting>,
    guard: Option<Guard>,
}

/// The rule, without any cleverness: look at each pair.
fn may_hold(members: &[Member], index: usize) -> bool {
    match members[index].mode {
        Mode::Slot { of } => index < of.get() as usize,
        mode => members[..index].iter().all(|it| (it.mode, mode) == (Mode::Shared, Mode::Shared)),
    }
}

fn run_against_the_model(seed: u64, modes: &[Request]) {
    let client = Client::new(Memory::new());
    let resource = lock().resource().clone();
    let mut random = Random(seed);
    let mut members: Vec<Member> = Vec::new();
    let mut last_fence = 0;
    for step in 0..400 {
        let at = format!("seed {seed}, step {step}");
        let chosen = random.below(members.len().max(1));
        match random.below(4) {
            // Somebody leaves: a waiter, a holder, or one that was granted and does not know.
            0 | 1 if !members.is_empty() => {
                let gone = members.remove(chosen);
                if let Some(guard) = gone.guard.filter(|_| random.below(2) == 0) {
                    now(guard.release()).expect(&at);
                }
            }
            _ if members.len() < 8 => {
                let request = modes[random.below(modes.len())].clone();
                let (mode, client) = (request.mode(), client.clone());
                let mut waiting: Waiting = Box::pin(async move { client.lock(request).await });
                let guard = poll(&mut waiting).map(|it| it.expect(&at));
                let waiting = guard.is_none().then_some(waiting);
                members.push(Member { mode, fence: None, waiting, guard });
            }
            _ => {}
        }
        for index in 0..members.len() {
            if members[index].fence.is_none() && may_hold(&members, index) {
                last_fence += 1;
                members[index].fence = Some(Fence(last_fence));
            }
        }
        // Some hear of their turn late.
        for member in &mut members {
            if let Some(waiting) = member.waiting.as_mut().filter(|_| random.below(2) == 0) {
                let answer = poll(waiting).map(|it| it.expect(&at));
                assert_eq!(answer.is_some(), member.fence.is_some(), "{at}");
                if answer.is_some() {
                    (member.waiting, member.guard) = (None, answer);
                }
            }
            if let Some(guard) = &member.guard {
                assert_eq!(Some(guard.fence()), member.fence, "{at}");
                assert!(!guard.is_lost(), "{at}");
            }
        }
        let seen = now(client.inspect(&resource)).unwrap();
        let holders: Vec<Fence> = seen.holders.iter().map(|it| it.fence).collect();
        let expected: Vec<Fence> = members.iter().filter_map(|it| it.fence).collect();
        assert_eq!(holders, expected, "{at}");
        let waiters: Vec<Mode> = seen.waiters.iter().map(|it| it.mode).collect();
        let expected = members.iter().filter(|it| it.fence.is_none()).map(|it| it.mode);
        assert_eq!(waiters, expected.collect::<Vec<_>>(), "{at}");
        assert_eq!(seen.last_fence, Fence(last_fence), "{at}");
    }
    assert!(last_fence > 25, "seed {seed} tested next to nothing: {last_fence} grants");
}

#[test]
fn random_sequences_agree_with_the_model() {
    for seed in 1..=100 {
        run_against_the_model(seed, &[lock(), lock().shared()]);
        run_against_the_model(seed, &[lock(), lock().shared(), lock().shared()]);
        for of in 1..=4 {
            run_against_the_model(seed, &[lock().slots(of).unwrap()]);
        }
    }
}
