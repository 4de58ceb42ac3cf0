//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{forgets, loses, says};

use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

impl Tried for Raymond {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let sent = |_: &_, done: &[_]| {
            let is_privilege =
                |it: &_| matches!(it, Effect::Send { message: Message::Privilege(_), .. });
            done.iter().any(is_privilege)
        };
        let in_vain = |input: &_, done: &[Effect<Self>]| {
            matches!(input, Input::Message { message: Message::Request, .. }) && done.is_empty()
        };
        let on_behalf = |cause: &Input<Self>, _, message: &_| {
            let is_asked = matches!(cause, Input::Message { message: Message::Request, .. });
            is_asked && *message == Message::Request
        };
        let behind_it = |cause: &Input<Self>, _, message: &_| {
            let has_left = *cause == Input::Command(Command::Leave);
            has_left && *message == Message::Request
        };
        let without_fence = |message: &mut _| {
            if let Message::Privilege(fence) = message {
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
                "a request that is not passed on never meets the privilege",
                Bounds::of(4, 1),
                Flaw::Deadlock,
                loses(on_behalf),
            ),
            Mutant::new(
                "a privilege that no request follows leaves those behind it in the queue waiting",
                Bounds::of(3, 1),
                Flaw::Deadlock,
                loses(behind_it),
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
