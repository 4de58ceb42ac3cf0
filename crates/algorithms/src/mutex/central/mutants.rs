//! Every rule that safety or progress hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use conclave_testkit::mutant::{forgets, hears, says};

use super::Message::{Grant, Queued, Release, Request};
use super::*;
use crate::testing::trials::{FENCE_FELL, Mutant, TWO_HOLDERS, Tried};

const TWO: Bounds = Bounds::of(2, 1);

impl Tried for Central {
    fn mutants(entry: &Entry) -> Vec<Mutant<Self>> {
        let granted = |input: &_, done: &[_]| {
            matches!(input, Input::Message { message: Request, .. }) && !done.is_empty()
        };
        let grants_nothing = |message: &mut _| {
            if let Grant(fence) = message {
                *fence = Fence(0);
            }
        };
        let releases_nothing = |message: &mut _| {
            if let Release(fence) = message {
                *fence = Fence(0);
            }
        };
        let takes_queued_for_a_grant = |message: &mut _| {
            if let Queued(_) = message {
                *message = Grant(Fence(0));
            }
        };
        let forgets_whom = "a coordinator that forgets whom it granted lets two in";
        let grant = "a grant without its fence lets fences repeat";
        let release = "a release without its fence lets fences repeat";
        let mut all = vec![
            Mutant::new(forgets_whom, TWO, TWO_HOLDERS, forgets(granted)),
            Mutant::new(grant, TWO, FENCE_FELL, says(grants_nothing)),
            Mutant::new(release, TWO, FENCE_FELL, says(releases_nothing)),
        ];
        if entry.name == QUEUED.name {
            let claim = "a client that takes queued for a grant gets in beside the holder";
            all.push(Mutant::new(claim, TWO, TWO_HOLDERS, hears(takes_queued_for_a_grant)));
        }
        all
    }
}
