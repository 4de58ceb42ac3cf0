//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::does;

use super::*;
use crate::detector::with;
use crate::testing::trials::{Mutant, Tried, WRONG_LEADER};

impl Tried for ChangRobertsRepaired {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        use chang_roberts::Message::Election;
        use with::Message::Protocol;
        let passes_on = does(|input: &Input<Self>, done: &mut Vec<Effect<_>>| {
            let Input::Message { message: Protocol(Message::Ring(_, came)), .. } = input else {
                return;
            };
            for effect in done {
                if let Effect::Send {
                    message: Protocol(Message::Ring(_, Election { id, .. })), ..
                } = effect
                    && let Election { id: came, .. } = came
                {
                    *id = *came;
                }
            }
        });
        let claim = "who passes on the smaller of two ids elects one that is not the largest";
        let bounds = Bounds::of(2, 1).sync(1).beat(2);
        vec![Mutant::new(claim, bounds, WRONG_LEADER, passes_on)]
    }
}
