//! It goes by what its clock shows, and a search has none: `tests/detector_mutants` breaks its
//! rules.

use alloc::vec::Vec;

use super::*;
use crate::testing::trials::{Mutant, Tried};

impl Tried for Phi {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        Vec::new()
    }
}
