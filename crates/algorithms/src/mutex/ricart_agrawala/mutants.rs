//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::{hears, loses, says};

use super::Message::{Deferred, Reply, Request};
use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

const TWO: Bounds = Bounds::of(2, 1);

impl Tried for RicartAgrawala {
    fn mutants(entry: &Entry) -> Vec<Mutant<Self>> {
        let replies = |process: &mut RicartAgrawala, input, out: &mut Effects<_>| match input {
            Input::Message { from, message: Request(time) } => {
                out.send(from, Reply(time, Fence(0)));
            }
            _ => process.on(input, out),
        };
        let on_leaving = |cause: &_, _, _: &_| *cause == Input::Command(Command::Leave);
        let without_fence = |message: &mut _| {
            if let Reply(_, fence) = message {
                *fence = Fence(0);
            }
        };
        let takes_deferred_for_a_reply = |message: &mut _| {
            if let Deferred(time) = message {
                *message = Reply(*time, Fence(0));
            }
        };
        let keeps = "a holder that keeps no reply back lets another in";
        let oldest = "one that wants in and keeps no reply back lets two in";
        let lost = "ties that both lose let two in";
        let won = "ties that both win are a deadlock";
        let owed = "a reply that is kept back for ever is a deadlock";
        let fence = "a reply without its fence lets fences repeat";
        let mut all = vec![
            Mutant::new(keeps, TWO, TWO_HOLDERS, replies),
            Mutant::new(oldest, TWO, TWO_HOLDERS, hears(requests(|_| 0))),
            Mutant::new(lost, TWO, TWO_HOLDERS, hears(requests(|time| time - 1))),
            Mutant::new(won, TWO, Flaw::Deadlock, hears(requests(|time| time + 1))),
            Mutant::new(owed, TWO, Flaw::Deadlock, loses(on_leaving)),
            Mutant::new(fence, TWO, FENCE_FELL, says(without_fence)),
        ];
        if entry.name == DEFERRED.name {
            let claim = "one that takes deferred for a reply gets in beside the holder";
            all.push(Mutant::new(claim, TWO, TWO_HOLDERS, hears(takes_deferred_for_a_reply)));
        }
        all
    }
}

/// Requests with other stamps than they have.
fn requests(stamp: fn(u64) -> u64) -> impl Fn(&mut Message) + Clone + Send + Sync {
    move |message: &mut Message| {
        if let Request(time) = message {
            time.0 = stamp(time.0);
        }
    }
}
