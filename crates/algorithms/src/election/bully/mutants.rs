//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::loses;

use super::*;
use crate::testing::trials::{DISAGREEMENT, Mutant, Tried, WRONG_LEADER};

impl Tried for Bully {
    fn mutants(_: &Entry) -> Vec<Mutant<Self>> {
        let answers = |_: &Input<Bully>, _, message: &_| *message == Message::Answer;
        let told = |_: &Input<Bully>, to, message: &_| {
            *message == Message::Coordinator && to == ProcessId(1)
        };
        let bounds = Bounds::of(2, 1).sync(1);
        let silent = "a process that does not answer is taken for dead";
        let untold = "a leader that does not tell all smaller ones leaves one without";
        vec![
            Mutant::new(silent, bounds, WRONG_LEADER, loses(answers)),
            Mutant::new(untold, bounds, DISAGREEMENT, loses(told)),
        ]
    }
}
