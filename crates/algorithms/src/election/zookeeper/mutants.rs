//! One rule broken, where a search sees it; `tests/election_mutants.rs` has the rest.

use alloc::vec;
use alloc::vec::Vec;

use conclave_core::Effect;
use conclave_testkit::mutant::{put, step};

use super::Message::{Ack, NewLeader};
use super::*;
use crate::catalogue;
use crate::testing::trials::{Mutant, TWO_IN_A_TERM, Tried};

impl Tried for ZooKeeper {
    fn mutants(_: &catalogue::Entry) -> Vec<Mutant<Self>> {
        let acknowledges_itself = |process: &mut ZooKeeper, input, out: &mut Effects<_>| {
            for effect in step(process, input) {
                put([effect.clone()], out);
                if let Effect::Send { to: from, message: NewLeader(epoch), .. } = effect {
                    process.on(Input::Message { from, message: Ack(epoch) }, out);
                }
            }
        };
        let claim = "a claimant that does not wait for a majority is one of two in its epoch";
        let bounds = Bounds::of(2, 1).up_to(1, 2);
        vec![Mutant::new(claim, bounds, TWO_IN_A_TERM, acknowledges_itself)]
    }
}
