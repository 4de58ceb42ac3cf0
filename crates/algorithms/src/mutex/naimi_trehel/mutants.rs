//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{forgets, loses, says};

use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, TWO_HOLDERS, Tried};

impl Tried for NaimiTrehel {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let sent = |_: &_, done: &[_]| {
            let is_token = |it: &_| matches!(it, Effect::Send { message: Message::Token(_), .. });
            done.iter().any(is_token)
        };
        let in_vain = |input: &_, done: &[Effect<Self>]| {
            matches!(input, Input::Message { message: Message::Request(_), .. }) && done.is_empty()
        };
        let on_behalf = |cause: &Input<Self>, _, message: &_| {
            let is_asked = matches!(cause, Input::Message { message: Message::Request(_), .. });
            is_asked && matches!(message, Message::Request(_))
        };
        let stays_root = |process: &mut Self, input: Input<_>, out: &mut Effects<_>| {
            let was_root = process.last.is_none();
            let is_request = matches!(input, Input::Message { message: Message::Request(_), .. });
            process.on(input, out);
            if was_root && is_request {
                process.last = None;
            }
        };
        let without_fence = |message: &mut _| {
            if let Message::Token(fence) = message {
                *fence = Fence(0);
            }
        };
        let (two, three) = (Bounds::of(2, 1), Bounds::of(3, 1));
        vec![
            Mutant::new(
                "one that keeps the token that it sends lets two in",
                two,
                TWO_HOLDERS,
                forgets(sent),
            ),
            Mutant::new(
                "a root that forgets who is next lets the token rest for ever",
                two,
                Flaw::Deadlock,
                forgets(in_vain),
            ),
            Mutant::new(
                "a request that is not passed on never meets the root",
                three,
                Flaw::Deadlock,
                loses(on_behalf),
            ),
            Mutant::new(
                "a root that is asked and does not turn its pointer enters without the token",
                Bounds::of(2, 2),
                TWO_HOLDERS,
                stays_root,
            ),
            Mutant::new(
                "a token without its fence lets fences repeat",
                two,
                FENCE_FELL,
                says(without_fence),
            ),
        ]
    }
}
