//! Claims about traces that nobody thought of: random ones, and what is left of one that was
//! damaged.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{Fence, ProcessId, Promises, Seat};

use super::json_test::{everything_trace, header, judge, record, sent};
use super::*;
use crate::{JudgeOrdering, LossCause, MessageId, Side, What};

#[test]
fn a_random_trace_that_is_written_is_read_back_the_same() {
    let mut entries = 0;
    for seed in 0..300 {
        let trace = random_trace(seed);
        assert_eq!(read(&write(&trace)).as_ref(), Ok(&trace), "seed {seed}");
        judge(&trace);
        entries += trace.judge(JudgeOrdering::No).entries();
    }
    assert!(entries > 1_000, "or nothing much was tested: {entries}");
}

#[test]
fn whatever_is_done_to_a_text_it_is_refused_in_one_line_or_can_be_judged() {
    let mut texts: Vec<String> = (0..32).map(|seed| write(&random_trace(seed))).collect();
    texts.push(write(&everything_trace()));
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..4_000 {
        let mut chance = Chance(seed);
        let whole = chance.below(texts.len());
        let text = mutated(&texts[whole], &mut chance);
        match read(&text) {
            Ok(trace) => {
                accepted += 1;
                judge(&trace);
                assert_eq!(read(&write(&trace)), Ok(trace), "seed {seed}");
            }
            Err(error) => {
                refused += 1;
                let told = error.to_string();
                assert!(told.starts_with("line ") && told.contains("; "), "seed {seed}: {told}");
                assert!(!told.contains(char::is_control), "seed {seed}: {told}");
            }
        }
    }
    assert!(accepted > 300 && refused > 300, "{accepted} accepted, {refused} refused");
}

/// Splitmix64: as much chance as a test needs.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// One or two changes: of a byte, of the order of lines, or of a number.
fn mutated(text: &str, chance: &mut Chance) -> String {
    let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    for _ in 0..=chance.below(2) {
        let (row, other) = (chance.below(lines.len()), chance.below(lines.len()));
        let column = chance.below(lines[row].len().max(1));
        match chance.below(10) {
            0 => lines.swap(row, other),
            1 => lines.insert(row, lines[other].clone()),
            2 if lines.len() > 1 => drop(lines.remove(row)),
            3 => lines[row].truncate(column),
            4 => lines[row].insert(column, chance.one_of(b"{}[]\",:0123456789-e.\\ntrs\x01\xff")),
            5 if !lines[row].is_empty() => drop(lines[row].remove(column)),
            _ => {
                let digits = lines[row].iter_mut().filter(|byte| byte.is_ascii_digit());
                let mut digits: Vec<&mut u8> = digits.collect();
                if !digits.is_empty() {
                    let index = chance.below(digits.len());
                    *digits[index] = chance.one_of(b"0123456789");
                }
            }
        }
    }
    String::from_utf8_lossy(&lines.join(&b'\n')).into_owned()
}

/// A run that holds together, of processes that do whatever they like, whenever they can.
fn random_trace(seed: u64) -> Trace {
    #[derive(Clone, Copy, Default)]
    struct Place {
        down: bool,
        asked: bool,
        inside: bool,
    }

    let mut chance = Chance(seed);
    let members = 1 + chance.below(6);
    let mut places = vec![Place::default(); members];
    let mut flying: Vec<(u64, Seat, Seat, u8)> = Vec::new();
    let (mut at, mut message, mut fence) = (0, 0, 0);
    let mut records = Vec::new();
    for _ in 0..chance.below(300) {
        at += chance.next() % 3 * 500_000;
        let seat = Seat::at(chance.below(members));
        let other = Seat::at(chance.below(members));
        let flight = chance.below(flying.len().max(1));
        let heard = flying.get(flight).is_some_and(|flight| !places[flight.2.index()].down);
        let place = &mut places[seat.index()];
        let partition = u16::try_from(chance.below(3)).unwrap();
        let (mut seat, mut text) = (seat, None);
        let what = match chance.below(16) {
            0 if place.down => {
                place.down = false;
                What::Returned
            }
            1 => What::Cut { partition, side: chance.one_of(&[Side::Left, Side::Right]) },
            2 => What::Healed { partition },
            3 | 4 if !flying.is_empty() => {
                let (id, from, to, _) = flying[flight];
                seat = from;
                let message = MessageId(id);
                if chance.one_in(2) {
                    flying.push(flying[flight]);
                    What::Duplicated { message, to }
                } else {
                    flying.remove(flight);
                    let causes =
                        [LossCause::Network, LossCause::Partition, LossCause::ReceiverDown];
                    What::Lost { message, to, cause: chance.one_of(&causes) }
                }
            }
            5..=8 if heard => {
                let (id, from, to, kind) = flying.remove(flight);
                seat = to;
                What::Received { message: MessageId(id), from, kind }
            }
            _ if place.down => continue,
            9 | 10 if place.asked => {
                *place = Place { inside: true, ..Place::default() };
                fence += 1;
                What::Entered { fence: Fence(fence) }
            }
            9 | 10 if place.inside && chance.one_in(2) => What::Leaving,
            9 | 10 if place.inside => {
                place.inside = false;
                What::Left
            }
            9 | 10 => {
                place.asked = true;
                What::Requested
            }
            11 if chance.one_in(4) => {
                *place = Place { down: true, ..Place::default() };
                What::Crashed
            }
            12 => chance.one_of(&[What::Paused, What::Resumed, What::TimerFired]),
            13 => What::WaitsFor { whom: other },
            _ => {
                message += 1 + chance.next() % 3;
                let kind = chance.one_of(&[0, 1, 2]);
                flying.push((message, seat, other, kind));
                text = Some(format!("\"{message}\"\t\u{2028}"));
                sent(message, other.0, kind, chance.one_in(2))
            }
        };
        let rules = (0..chance.below(6) / 4).map(|rule| format!("rule {rule}").into()).collect();
        records.push(Record { text, rules, ..record(at, seat.0, what) });
    }
    let first = u32::try_from(chance.below(100)).unwrap();
    let members = (0..members).map(|seat| ProcessId(first + Seat::at(seat * 7 % 13).0)).collect();
    let options = (0..chance.below(3)).map(|index| (format!("o{index}"), "\"".repeat(index)));
    let from = chance.below(records.len().max(1));
    let is_step = |record: &Record| begins_a_loop(&record.event);
    let header = Header {
        seed: chance.next(),
        promises: any_promises(&mut chance),
        members,
        options: options.collect(),
        repeats_from: records.get(from).is_some_and(is_step).then_some(from as u64),
        is_stuck: records.len().is_multiple_of(2),
        ..header()
    };
    Trace { header, records }
}

fn any_promises(chance: &mut Chance) -> Promises {
    match chance.one_of(&[0, 1, 2]) {
        0 => Promises::Mutex { liveness: true, ordering: chance.one_in(2) },
        1 => Promises::Election {
            largest: chance.one_in(2),
            terms: chance.one_in(2),
            one_at_a_time: chance.one_in(2),
        },
        _ => Promises::Detector,
    }
}
