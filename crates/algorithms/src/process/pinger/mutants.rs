//! Every rule that a promise hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{does, forgets};

use super::*;
use crate::testing::trials::{Mutant, OUT_OF_TURN, Tried};

impl Tried for Pinger {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let is_ping = |input: &Input<Self>| matches!(input, Input::Message { .. });
        let stays = forgets(move |input: &Input<Self>, _: &[Effect<Self>]| is_ping(input));
        let begins_with_ping = does(|_: &Input<Self>, done: &mut Vec<Effect<Self>>| {
            for effect in done {
                if let Effect::Notify(Notice::Printed(print)) = effect {
                    *print = match *print {
                        Print::Pong => Print::Ping,
                        Print::Ping => Print::Pong,
                    };
                }
            }
        });
        // Steps are messages and work by turns, so that of three two are pings.
        let bounds = Bounds::of(2, 3);
        vec![
            Mutant::new("who stays in its state prints pong for ever", bounds, OUT_OF_TURN, stays),
            Mutant::new(
                "who takes one state for the other begins with ping",
                Bounds::of(2, 1),
                OUT_OF_TURN,
                begins_with_ping,
            ),
        ]
    }
}
