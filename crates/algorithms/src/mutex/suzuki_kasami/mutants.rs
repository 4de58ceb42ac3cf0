//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{does, forgets, says};

use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

impl Tried for SuzukiKasami {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let sent = |_: &_, done: &[_]| {
            let is_privilege =
                |it: &_| matches!(it, Effect::Send { message: Message::Privilege(..), .. });
            done.iter().any(is_privilege)
        };
        let in_vain = |input: &_, done: &[Effect<Self>]| {
            matches!(input, Input::Message { message: Message::Request(_), .. }) && done.is_empty()
        };
        let forgets_the_queue = |message: &mut _| {
            if let Message::Privilege(privilege, _) = message {
                for &id in &privilege.queue {
                    // Whoever is dropped from the queue counts as served.
                    privilege.served[id.0 as usize - 1] += 1;
                }
                privilege.queue.clear();
            }
        };
        let knows_no_numbers = does(|_: &Input<Self>, done: &mut Vec<Effect<_>>| {
            for effect in done {
                if let Effect::Send { message: Message::Request(number), .. } = effect {
                    *number = 1;
                }
            }
        });
        let without_fence = |message: &mut _| {
            if let Message::Privilege(_, fence) = message {
                *fence = Fence(0);
            }
        };
        let two = Bounds::of(2, 1);
        vec![
            Mutant::new(
                "one that keeps the privilege that it sends lets two in",
                two,
                TWO_HOLDERS,
                forgets(sent),
            ),
            Mutant::new(
                "a holder that forgets a request lets the privilege rest for ever",
                two,
                Flaw::Deadlock,
                forgets(in_vain),
            ),
            Mutant::new(
                "a privilege whose queue is dropped on the way leaves somebody waiting",
                Bounds::of(3, 1),
                Flaw::Deadlock,
                says(forgets_the_queue),
            ),
            Mutant::new(
                "a request with an old number is taken for one that was served",
                Bounds::of(2, 2),
                Flaw::Deadlock,
                knows_no_numbers,
            ),
            Mutant::new(
                "a privilege without its fence lets fences repeat",
                two,
                FENCE_FELL,
                says(without_fence),
            ),
        ]
    }
}
