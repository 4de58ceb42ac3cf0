//! Histories that the judge of bare processes must accept, and others that it must reject.

use conclave_core::ProcessId;

use super::*;
use crate::{JudgeOrdering, Memory, MessageId, Time};

const P: Seat = Seat(0);
const Q: Seat = Seat(1);

/// Something that happens at a process.
#[derive(Clone, Copy)]
enum Line {
    Works(Seat, u64),
    /// The only message that there is.
    Sends(u64),
    Receives(u64),
}

fn readings(is_vector: bool, counts: [u64; 4]) -> [u64; 4] {
    // The vectors of p's work, p's sending, q's work and q's receipt, as they should be.
    let right = [[1, 0], [2, 0], [0, 1], [2, 2]];
    match is_vector {
        true => core::array::from_fn(|at| match counts[at] {
            0 => Reading::vector(right[at]).0,
            other => other,
        }),
        false => counts,
    }
}

/// p works and sends, q works and receives: what the judge of a run and that of a search say of
/// these readings.
fn judged(is_vector: bool, counts: [u64; 4]) -> (Option<WrongPair>, Option<Breach>) {
    let [work, send, other, receive] = readings(is_vector, counts);
    let lines =
        [Line::Works(P, work), Line::Sends(send), Line::Works(Q, other), Line::Receives(receive)];
    let strong = if is_vector { STRONG_CLOCK_CONDITION } else { CLOCK_CONDITION };
    let (ids, promises) = ([ProcessId(1), ProcessId(2)], CLOCK_CONDITION.and(strong));
    let brief = Brief { ids: &ids, promises, ordering: JudgeOrdering::No };
    let (mut panel, mut memory) = (ProcessPanel::new(&brief), ProcessMemory::new(&brief));
    let message = MessageId::new(P, 1);
    for line in lines {
        let (seat, cause, said, deed) = match line {
            Line::Works(seat, clock) => {
                (seat, Said::new(&WORKING).what(), Said::new(&WORKED).with(clock), None)
            }
            Line::Sends(clock) => {
                let sent = What::Sent { message, to: Q, kind: 0, copy: false };
                let said = Said::new(&SENT).of(Q).with_both(clock, 1);
                (P, Said::new(&SENDING).of(Q).what(), said, Some(sent))
            }
            Line::Receives(clock) => {
                let received = What::Received { message, from: P, kind: 0 };
                (Q, received, Said::new(&RECEIVED).of(P).with_both(clock, 1), None)
            }
        };
        for what in [Some(cause), Some(said.what()), deed].into_iter().flatten() {
            let event = Event { at: Time::ZERO, seat, what };
            match what {
                What::Sent { .. } | What::Received { .. } => panel.on_message(&event),
                _ => {
                    panel.on(&event);
                    Memory::on(&mut memory, seat, what);
                }
            }
        }
    }
    let broken = panel.clocks.unwrap().broken();
    (broken.map(|it| (it.earlier.0, it.later.0, it.happened_before)), Memory::broken(&memory))
}

/// Where the two events were, and whether one happened before the other.
type WrongPair = (Seat, Seat, bool);

#[test]
fn clocks_that_grow_with_what_happened_are_right() {
    assert_eq!(judged(false, [1, 2, 1, 3]), (None, None));
    assert_eq!(judged(false, [1, 2, 7, 8]), (None, None), "they need not be as small as they can");
    assert_eq!(judged(true, [0; 4]), (None, None));
}

#[test]
fn a_receipt_that_is_not_later_than_its_sending_is_caught() {
    let wrong = (Some((P, Q, true)), Some(NOT_LESS));
    assert_eq!(judged(false, [1, 2, 1, 2]), wrong);
    assert_eq!(judged(true, [0, 0, 0, Reading::vector([0, 2]).0]), wrong);
}

#[test]
fn an_event_that_is_not_later_than_the_one_before_is_caught() {
    assert_eq!(judged(false, [2, 2, 1, 3]), (Some((P, P, true)), Some(NOT_LESS)));
}

#[test]
fn of_vectors_a_smaller_one_must_have_happened_before() {
    // q's own work shows that it knows of p's, and it does not.
    let wrong = (Some((P, Q, false)), Some(LESS_FOR_NOTHING));
    assert_eq!(judged(true, [0, 0, Reading::vector([1, 1]).0, 0]), wrong);
    assert_eq!(judged(false, [1, 2, 3, 4]), (None, None), "of Lamport's clocks it need not");
}

#[test]
fn relations_are_those_of_what_happened_whatever_clocks_show() {
    use crate::property::Relation::{After, Before, Concurrent};
    let brief = Brief {
        ids: &[ProcessId(1), ProcessId(2)],
        promises: CLOCK_CONDITION,
        ordering: JudgeOrdering::No,
    };
    let mut panel = ProcessPanel::new(&brief);
    for (seat, clock) in [(P, 1), (P, 1), (Q, 9)] {
        for said in [Said::new(&WORKING), Said::new(&WORKED).with(clock)] {
            panel.on(&Event { at: Time::ZERO, seat, what: said.what() });
        }
    }
    let clocks = panel.clocks.unwrap();
    let [one, two, other] = clocks.events() else { panic!("three events") };
    assert_eq!((one.relation(two), two.relation(one)), (Before, After));
    assert_eq!((one.relation(other), other.relation(two)), (Concurrent, Concurrent));
    assert_eq!((one.number, two.number, other.number), (1, 2, 1));
}

#[test]
fn a_message_about_which_nothing_is_printed_is_seen_at_the_end() {
    let brief = Brief { ids: &[ProcessId(1)], promises: TURNS, ordering: JudgeOrdering::No };
    let mut panel = ProcessPanel::new(&brief);
    let what = What::Received { message: MessageId::new(P, 1), from: P, kind: 0 };
    panel.on_message(&Event { at: Time::ZERO, seat: P, what });
    assert_eq!(panel.silent(), None, "it may still print");
    panel.on_end(Time::ZERO);
    assert_eq!(panel.silent(), Some(P));
    assert_eq!(panel.verdict(Ending::Quiet), Some(Verdict::Violated));
}
