//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{does, forgets, hears, loses, says};

use super::Message::{Reply, Request};
use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

impl Tried for RoucairolCarvalho {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let replies = |process: &mut RoucairolCarvalho, input, out: &mut Effects<_>| match input {
            Input::Message { from, message: Request(_) } => out.send(from, Reply(Fence(0))),
            _ => process.on(input, out),
        };
        let gave_back = |input: &_, done: &[_]| {
            matches!(input, Input::Message { message: Request(_), .. }) && !done.is_empty()
        };
        let asks_again = does(|input: &Input<Self>, done: &mut Vec<Effect<_>>| {
            if let Input::Message { message: Request(_), .. } = input {
                done.retain(|it| !matches!(it, Effect::Send { message: Request(_), .. }));
            }
        });
        let on_leaving = |cause: &_, _, _: &_| *cause == Input::Command(Command::Leave);
        let takes_all_for_younger = |message: &mut _| {
            if let Request(time) = message {
                time.0 += 100;
            }
        };
        let without_fence = |message: &mut _| {
            if let Reply(fence) = message {
                *fence = Fence(0);
            }
        };
        let (two, again) = (Bounds::of(2, 1), Bounds::of(2, 2));
        vec![
            Mutant::new(
                "a holder that keeps no reply back lets another in",
                two,
                TWO_HOLDERS,
                replies,
            ),
            Mutant::new(
                "one that replies and keeps the permission lets two in",
                again,
                TWO_HOLDERS,
                forgets(gave_back),
            ),
            Mutant::new(
                "one that gives a permission back and does not ask for it again waits for ever",
                Bounds::of(3, 2),
                Flaw::Deadlock,
                asks_again,
            ),
            Mutant::new(
                "a reply that is kept back for ever is a deadlock",
                two,
                Flaw::Deadlock,
                loses(on_leaving),
            ),
            Mutant::new(
                "two that both take the other for younger wait for each other",
                two,
                Flaw::Deadlock,
                hears(takes_all_for_younger),
            ),
            Mutant::new(
                "a reply without its fence lets fences repeat",
                two,
                FENCE_FELL,
                says(without_fence),
            ),
        ]
    }
}
