//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::loses;

use super::Message::{Elected, Probe, Reply};
use super::*;
use crate::testing::trials::{DISAGREEMENT, Flaw, Mutant, Tried, WRONG_LEADER};

impl Tried for HirschbergSinclair {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let lets_smaller_ones_pass =
            |process: &mut HirschbergSinclair, input, out: &mut Effects<_>| match input {
                Input::Message { message: Probe { id, way, hops: 2.. }, .. } if id < process.me => {
                    out.send(process.neighbour(way), Probe { id, way, hops: 2 });
                }
                Input::Message { message: Probe { id, way, .. }, .. } if id < process.me => {
                    let way = way.reversed();
                    out.send(process.neighbour(way), Reply { id, way });
                }
                _ => process.on(input, out),
            };
        let does_not_wake = |process: &mut Self, input: Input<_>, out: &mut Effects<_>| {
            let is_asleep = process.role == Role::Bystander;
            match input {
                Input::Message { message: Probe { id, .. }, .. }
                    if is_asleep && id < process.me => {}
                _ => process.on(input, out),
            }
        };
        let replies = |_: &Input<Self>, _, message: &_| matches!(message, Reply { .. });
        let announced = |cause: &Input<Self>, _, message: &_| {
            let came = matches!(cause, Input::Message { message: Elected(_), .. });
            came && matches!(message, Elected(_))
        };
        let two = Bounds::of(2, 1);
        vec![
            Mutant::new(
                "who lets the probe of a smaller one pass lets it be elected",
                two,
                WRONG_LEADER,
                lets_smaller_ones_pass,
            ),
            Mutant::new(
                "one that swallows a probe and does not ask itself leaves the other waiting",
                two.by(1),
                Flaw::Deadlock,
                does_not_wake,
            ),
            Mutant::new(
                "without replies there is no second phase",
                two,
                Flaw::Deadlock,
                loses(replies),
            ),
            Mutant::new(
                "an announcement that is not passed on leaves the others without a leader",
                Bounds::of(3, 1),
                DISAGREEMENT,
                loses(announced),
            ),
        ]
    }
}
