//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use conclave_core::{Due, Effect};
use conclave_testkit::mutant::does;

use super::*;
use crate::testing::trials::{Mutant, Tried, WRONG_SUSPICION};

impl Tried for Heartbeat {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let hasty = does(|_: &Input<Heartbeat>, done: &mut Vec<Effect<_>>| {
            for effect in done {
                if let Effect::SetTimer { timer: Timer::Silence(_), due } = effect {
                    *due = Due::at(Duration::from_millis(2));
                }
            }
        });
        let claim = "who suspects after T alone suspects the living";
        let bounds = Bounds::of(2, 0).sync(1).beat(2);
        vec![Mutant::new(claim, bounds, WRONG_SUSPICION, hasty)]
    }
}
