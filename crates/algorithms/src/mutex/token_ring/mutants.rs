//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::says;

use super::*;
use crate::testing::trials::{FENCE_FELL, Mutant, Tried};

impl Tried for TokenRing {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let claim = "a token without its fence lets fences repeat";
        let without_fence = |Message::Token(fence): &mut _| *fence = Fence(0);
        vec![Mutant::new(claim, Bounds::of(2, 1), FENCE_FELL, says(without_fence))]
    }
}
