//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::loses;

use super::Message::{Elected, First, Second};
use super::*;
use crate::testing::trials::{DISAGREEMENT, Flaw, Mutant, Tried};

impl Tried for Peterson {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let takes_any_value_for_its_own =
            |process: &mut Peterson, mut input: Input<_>, out: &mut Effects<_>| {
                if let Input::Message { message: First(value), .. } = &mut input
                    && let Role::Active { value: own, .. } = process.role
                {
                    *value = own;
                }
                process.on(input, out);
            };
        let seconds = |_: &Input<Peterson>, _, message: &_| matches!(message, Second(_));
        let relayed = |cause: &Input<Peterson>, _, message: &_| {
            let came = matches!(cause, Input::Message { message: First(_), .. });
            came && matches!(message, First(_))
        };
        let announced = |cause: &Input<Peterson>, _, message: &_| {
            let came = matches!(cause, Input::Message { message: Elected(_), .. });
            came && matches!(message, Elected(_))
        };
        let two = Bounds::of(2, 1);
        vec![
            Mutant::new(
                "one that takes any value for its own makes two lead",
                two,
                DISAGREEMENT,
                takes_any_value_for_its_own,
            ),
            Mutant::new(
                "without the second message no round comes to its end",
                two,
                Flaw::Deadlock,
                loses(seconds),
            ),
            Mutant::new(
                "a value that is not relayed never comes home",
                two,
                Flaw::Deadlock,
                loses(relayed),
            ),
            Mutant::new(
                "an announcement that is not passed on leaves the others waiting",
                Bounds::of(3, 1),
                Flaw::Deadlock,
                loses(announced),
            ),
        ]
    }
}
