//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{hears, put, says, step};

use super::Message::{Acknowledge, Release, Request};
use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

impl Tried for Lamport {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let boasts = |process: &mut Lamport, input, out: &mut Effects<_>| {
            for effect in step(process, input) {
                if let Effect::Send { to, message: Request(Timestamp(time)), .. } = effect {
                    out.send(to, Acknowledge(Timestamp(time + 1), Fence(0)));
                }
                put([effect], out);
            }
        };
        let stands_still = |message: &mut _| {
            if let Acknowledge(time, _) = message {
                *time = Timestamp(0);
            }
        };
        let does_not_queue = |process: &mut Lamport, input: Input<_>, out: &mut Effects<_>| {
            process.on(input.clone(), out);
            if let Input::Message { from, message: Request(time) } = input {
                process.on(Input::Message { from, message: Release(time, Fence(0)) }, out);
            }
        };
        let takes_others_for_younger = |message: &mut _| {
            if let Request(time) = message {
                time.0 += 1;
            }
        };
        let without_fence = |message: &mut _| {
            if let Release(_, fence) = message {
                *fence = Fence(0);
            }
        };
        let two = Bounds::of(2, 1);
        let unasked = "an acknowledgement that nobody asked for lets two in";
        let early = "an acknowledgement that is not later than its request is none";
        let queue = "one that acknowledges and does not queue lets two in";
        let order = "queues that are not ordered alike let two in";
        let fence = "a release without its fence lets fences repeat";
        vec![
            Mutant::new(unasked, two, TWO_HOLDERS, boasts),
            Mutant::new(early, two, Flaw::Deadlock, says(stands_still)),
            Mutant::new(queue, two, TWO_HOLDERS, does_not_queue),
            Mutant::new(order, two, TWO_HOLDERS, hears(takes_others_for_younger)),
            Mutant::new(fence, two, FENCE_FELL, says(without_fence)),
        ]
    }
}
