//! One rule broken, where a search sees it; `tests/election_mutants.rs` has the rest.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::forgets;

use super::*;
use crate::testing::trials::{Mutant, TWO_IN_A_TERM, Tried};

impl Tried for Chubby {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let voted = |input: &_, _: &[_]| {
            matches!(input, Input::Message { message: Message::VoteRequest(_), .. })
        };
        let claim = "a server that forgets its vote gives it twice in a term";
        let bounds = Bounds::of(3, 1).by(2).up_to(1, 0);
        vec![Mutant::new(claim, bounds, TWO_IN_A_TERM, forgets(voted))]
    }
}
