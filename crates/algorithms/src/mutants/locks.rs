//! Who tampers with locks.

use alloc::boxed::Box;
use alloc::vec;

use conclave_core::mutex::{Command, Notice};
use conclave_core::tamper::{Anybody, Tamper, forgets, hears, loses, put, says, step};
use conclave_core::{Effect, Effects, Fence, Input, ProcessId, Protocol, Start};

use super::AnyTamper;
use crate::detector::with;
use crate::mutex::maekawa::deadlock_free::Message::{Fail, Inquire, Yield};
use crate::mutex::ricart_agrawala::Message::{Reply, Request};
use crate::mutex::token_ring_repaired::{Epoch, Message::Ring};
use crate::mutex::{
    Maekawa, MaekawaPlain, RicartAgrawala, TokenRing, TokenRingRepaired, maekawa, ricart_agrawala,
};
use crate::quorum::VotingSets;

/// Who is meant by that name, if it is one of a lock.
pub fn tamper(name: &str) -> Option<AnyTamper> {
    Some(match name {
        "ricart-agrawala-clock" => asker(forgets(has_replied_at_once)),
        "ricart-agrawala-ties-won" => asker(hears(|message| shift(message, |time| time - 1))),
        "ricart-agrawala-ties-lost" => asker(hears(|message| shift(message, |time| time + 1))),
        "ricart-agrawala-fence" => asker(says(without_fence)),
        "maekawa-inquire" => without(|_, _, message| *message == Inquire),
        "maekawa-yield" => without(|_, _, message| *message == Yield),
        "maekawa-fail" => without(|_, _, message| *message == Fail),
        "maekawa-second-fail" => without(|cause, to, message| {
            let is_first = matches!(cause, Input::Message { from, .. } if *from == to);
            *message == Fail && !is_first
        }),
        "maekawa-disjoint" => any(MembersDisagree),
        "token-ring-epoch" => any(minds_no_epoch),
        "token-ring-polite" => any(too_polite),
        _ => return None,
    })
}

fn any<P: Protocol>(tamper: impl Tamper<P> + 'static) -> AnyTamper {
    Box::new(Anybody::<P>::new(tamper))
}

fn asker(tamper: impl Tamper<RicartAgrawala> + 'static) -> AnyTamper {
    any(tamper)
}

/// A request that is answered at once leaves nothing behind but the risen clock, so to forget it is
/// to keep the clock still.
fn has_replied_at_once(input: &Input<RicartAgrawala>, done: &[Effect<RicartAgrawala>]) -> bool {
    matches!(input, Input::Message { message: Request(_), .. }) && !done.is_empty()
}

/// A request with another stamp than it has. Where both ask once, two requests bear the same time,
/// or times that are further apart than one.
fn shift(message: &mut ricart_agrawala::Message, stamp: fn(u64) -> u64) {
    if let Request(time) = message {
        time.0 = stamp(time.0);
    }
}

fn without_fence(message: &mut ricart_agrawala::Message) {
    if let Reply(_, fence) = message {
        *fence = Fence(0);
    }
}

/// Some messages are never sent.
fn without(
    lost: impl Fn(&Input<Maekawa>, ProcessId, &maekawa::deadlock_free::Message) -> bool
    + Clone
    + Send
    + Sync
    + 'static,
) -> AnyTamper {
    any(loses(lost))
}

/// Each takes its own word for what the voting sets are: itself alone.
#[derive(Clone)]
struct MembersDisagree;

impl Tamper<MaekawaPlain> for MembersDisagree {
    fn start(
        &self,
        start: Start<'_, MaekawaPlain>,
        out: &mut Effects<MaekawaPlain>,
    ) -> MaekawaPlain {
        let alone = |&id: &ProcessId| if id == start.me { vec![id] } else { vec![start.me, id] };
        let sets = start.view.members().iter().map(alone).collect();
        match VotingSets::from_sets(start.view, sets) {
            Ok(sets) => MaekawaPlain::start(Start { config: &sets, ..start }, out),
            Err(_) => MaekawaPlain::start(start, out),
        }
    }
}

/// Takes a token of any epoch for one of its own: tries them all, and keeps to what it minds.
fn minds_no_epoch(
    process: &mut TokenRingRepaired,
    input: Input<TokenRingRepaired>,
    out: &mut Effects<TokenRingRepaired>,
) {
    if let Input::Message { from, message: with::Message::Protocol(Ring(_, token)) } = &input {
        for epoch in (0..20).map(Epoch) {
            let message = with::Message::Protocol(Ring(epoch, token.clone()));
            let before = process.clone();
            let effects = step(process, Input::Message { from: *from, message });
            if !effects.is_empty() || *process != before {
                return put(effects, out);
            }
        }
    }
    process.on(input, out);
}

/// Passes the token on although it wants in.
fn too_polite(process: &mut TokenRing, input: Input<TokenRing>, out: &mut Effects<TokenRing>) {
    let before = process.clone();
    let effects = step(process, input.clone());
    let enters = |it: &Effect<_>| matches!(it, Effect::Notify(Notice::Entered { .. }));
    match input {
        Input::Message { message, .. } if effects.iter().any(enters) => {
            let successor = step(process, Input::Command(Command::Leave));
            for effect in successor {
                if let Effect::Send { to, .. } = effect {
                    out.send(to, message.clone());
                }
            }
            *process = before;
        }
        _ => put(effects, out),
    }
}
