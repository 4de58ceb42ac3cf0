//! What does not hang on the voting sets; `tests/mutants.rs` has the rest.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::forgets;

use super::*;
use crate::testing::trials::{Mutant, TWO_HOLDERS, Tried};

impl Tried for MaekawaPlain {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let voted =
            |input: &_, _: &[_]| matches!(input, Input::Message { message: Message::Request, .. });
        let claim = "a voter that forgets its vote lets two in";
        vec![Mutant::new(claim, Bounds::of(2, 1), TWO_HOLDERS, forgets(voted))]
    }
}
