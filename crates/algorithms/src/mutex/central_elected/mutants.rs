//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Fence;
use conclave_testkit::mutant::says;

use super::*;
use crate::detector::with;
use crate::testing::trials::{FENCE_FELL, Mutant, Tried};

impl Tried for CentralElectedByHeartbeat {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let without_fence = |message: &mut _| {
            if let with::Message::Protocol(Message::ToClient { message, .. }) = message
                && let central::Message::Grant(fence) = message
            {
                *fence = Fence(0);
            }
        };
        let claim = "a grant without its fence lets fences repeat";
        let bounds = Bounds::of(2, 1).sync(1).beat(2);
        vec![Mutant::new(claim, bounds, FENCE_FELL, says(without_fence))]
    }
}
