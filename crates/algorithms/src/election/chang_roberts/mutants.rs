//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{does, loses, says};

use super::Message::{Elected, Election};
use super::*;
use crate::testing::trials::{Flaw, Mutant, Tried, WRONG_LEADER};

impl Tried for ChangRoberts {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let passes_on = does(|input: &Input<ChangRoberts>, done: &mut Vec<Effect<_>>| {
            let Input::Message { message: Election { id: came, .. }, .. } = input else { return };
            for effect in done {
                if let Effect::Send { message: Election { id, .. }, .. } = effect {
                    *id = *came;
                }
            }
        });
        let announces_who_began = |message: &mut _| {
            if let Elected { initiator, id } = message {
                *id = *initiator;
            }
        };
        let on_behalf = |cause: &_, _, message: &_| {
            let is_own = !matches!(cause, Input::Message { message: Elected { .. }, .. });
            matches!(message, Elected { .. }) && !is_own
        };
        let (two, three) = (Bounds::of(2, 1), Bounds::of(3, 1));
        let smaller = "who passes on the smaller of two ids elects one that is not the largest";
        let began = "who announces who began, and not who is the largest, makes that one lead";
        let silence = "an announcement that is not passed on leaves the others waiting";
        vec![
            Mutant::new(smaller, two, WRONG_LEADER, passes_on),
            Mutant::new(began, three, WRONG_LEADER, says(announces_who_began)),
            Mutant::new(silence, three, Flaw::Deadlock, loses(on_behalf)),
        ]
    }
}
