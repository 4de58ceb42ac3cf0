//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::{forgets, loses, says};

use super::Message::{Call, Token};
use super::*;
use crate::testing::trials::{FENCE_FELL, Flaw, Mutant, Tried};

impl Tried for RestingTokenRing {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let without_fence = |message: &mut _| {
            if let Token(fence) = message {
                *fence = Fence(0);
            }
        };
        let in_vain = |input: &_, done: &[_]| {
            matches!(input, Input::Message { message: Call, .. }) && done.is_empty()
        };
        let on_behalf =
            |cause: &_, _, message: &_| matches!(cause, Input::Message { .. }) && *message == Call;
        let (two, three) = (Bounds::of(2, 1), Bounds::of(3, 1));
        let fence = "a token without its fence lets fences repeat";
        let call = "a holder that forgets a call lets the token rest for ever";
        let passed = "a call that is not passed on never meets the token";
        vec![
            Mutant::new(fence, two, FENCE_FELL, says(without_fence)),
            Mutant::new(call, two, Flaw::Deadlock, forgets(in_vain)),
            Mutant::new(passed, three, Flaw::Deadlock, loses(on_behalf)),
        ]
    }
}
