//! Who tampers with elections.

use alloc::boxed::Box;
use alloc::vec::Vec;

use conclave_core::tamper::{Anybody, Tamper, does, persists_nothing};
use conclave_core::{Due, Effect, Effects, Input, Protocol, Start};

use super::AnyTamper;
use crate::election::chang_roberts::Message::Election;
use crate::election::chubby::Timer::{Lease, Promise, Renew};
use crate::election::{Bully, ChangRoberts, Chubby, bully};

/// Who is meant by that name, if it is one of an election.
pub fn tamper(name: &str) -> Option<AnyTamper> {
    Some(match name {
        "chang-roberts-smaller" => any(does(passes_smaller_on)),
        "bully-hasty" => any(Hasty),
        "bully-answers-once" => any(does(answers_once)),
        "chubby-forgets" => any(persists_nothing::<Chubby>()),
        "chubby-promise" => any(PromisesLess),
        "chubby-late" => any(does(looks_late)),
        _ => return None,
    })
}

fn any<P: Protocol>(tamper: impl Tamper<P> + 'static) -> AnyTamper {
    Box::new(Anybody::<P>::new(tamper))
}

fn passes_smaller_on(input: &Input<ChangRoberts>, done: &mut Vec<Effect<ChangRoberts>>) {
    let Input::Message { message: Election { id: came, .. }, .. } = input else { return };
    for effect in done {
        if let Effect::Send { message: Election { id, .. }, .. } = effect {
            *id = *came;
        }
    }
}

/// Waits for an answer half as long as it can take: D, if T is 2D.
#[derive(Clone)]
struct Hasty;

impl Tamper<Bully> for Hasty {
    fn start(&self, start: Start<'_, Bully>, out: &mut Effects<Bully>) -> Bully {
        let config = bully::Config { answer: start.config.answer / 2, ..*start.config };
        Bully::start(Start { config: &config, ..start }, out)
    }
}

/// As one copy of the notes has it: who calls an election because it is asked answers, and whoever
/// asks after that hears nothing.
fn answers_once(input: &Input<Bully>, done: &mut Vec<Effect<Bully>>) {
    let is_asked = matches!(input, Input::Message { message: bully::Message::Election, .. });
    let is_only_answer = matches!(done[..], [Effect::Send { message: bully::Message::Answer, .. }]);
    if is_asked && is_only_answer {
        done.clear();
    }
}

/// With a promise of half a lease, whoever promised is free while its master still leads.
#[derive(Clone)]
struct PromisesLess;

impl Tamper<Chubby> for PromisesLess {
    fn on(&self, process: &mut Chubby, input: Input<Chubby>, out: &mut Effects<Chubby>) {
        let half = process.lease() / 2;
        let promises_less = does(move |_: &Input<Chubby>, done: &mut Vec<Effect<Chubby>>| {
            for effect in done {
                if let Effect::SetTimer { timer: Promise, due } = effect {
                    *due = Due::at(half);
                }
            }
        });
        promises_less(process, input, out);
    }
}

/// The clock of a master is so slow that its first renewal comes after the promises have run out:
/// nothing has to be lost.
fn looks_late(_: &Input<Chubby>, done: &mut Vec<Effect<Chubby>>) {
    for effect in done {
        if let Effect::SetTimer { timer: Lease(_) | Renew, due } = effect {
            *due = match *due {
                Due::Deadline(after) => Due::Deadline(5 * after),
                Due::Within { after, at_most } => {
                    Due::Within { after: 5 * after, at_most: 5 * at_most }
                }
            };
        }
    }
}
