//! Claims about traces that nobody thought of: random ones, and what is left of one that was
//! damaged.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use conclave_core::{ProcessId, Promises, Seat};

use super::json_test::{ASK, LEAVE, LEFT, enter, everything_trace, header, judge, record, sent};
use super::*;
use crate::{JudgeOrdering, LossCause, MessageId, Said, Side, What};

#[test]
fn a_random_trace_that_is_written_is_read_back_the_same() {
    let (mut served, mut families) = ([0; family::ALL.len()], [0; family::ALL.len()]);
    for seed in 0..1_200 {
        let trace = random_trace(seed);
        assert_eq!(read(&write(&trace)).as_ref(), Ok(&trace), "seed {seed}");
        judge(&trace);
        let of = family::ALL.iter().position(|&it| it == trace.header.vocabulary).unwrap();
        served[of] += trace.judge(JudgeOrdering::No).served();
        families[of] += 1;
    }
    let [entries, decisions, ..] = served;
    assert!(entries > 1_000 && decisions > 500, "or nothing much was tested: {served:?}");
    assert!(families.into_iter().all(|runs| runs > 150), "{families:?}");
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
    let vocabulary = chance.one_of(family::ALL);
    let mut flying: Vec<(MessageId, Seat, u8)> = Vec::new();
    let (mut at, mut fence, mut counts) = (0, 0, vec![0; members]);
    let mut records = Vec::new();
    for _ in 0..chance.below(300) {
        at += chance.next() % 3 * 500_000;
        let seat = Seat::at(chance.below(members));
        let other = Seat::at(chance.below(members));
        let flight = chance.below(flying.len().max(1));
        let heard = flying.get(flight).is_some_and(|flight| !places[flight.1.index()].down);
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
                let (message, to, _) = flying[flight];
                seat = message.from();
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
                let (message, to, kind) = flying.remove(flight);
                seat = to;
                What::Received { message, from: message.from(), kind }
            }
            _ if place.down => continue,
            9 | 10 if vocabulary != &family::locks::VOCABULARY => {
                any_word(vocabulary, other, &mut chance)
            }
            9 | 10 if place.asked => {
                *place = Place { inside: true, ..Place::default() };
                fence += 1;
                enter(fence)
            }
            9 | 10 if place.inside && chance.one_in(2) => LEAVE,
            9 | 10 if place.inside => {
                place.inside = false;
                LEFT
            }
            9 | 10 => {
                place.asked = true;
                ASK
            }
            11 if chance.one_in(4) => {
                *place = Place { down: true, ..Place::default() };
                What::Crashed
            }
            12 => chance.one_of(&[What::Paused, What::Resumed, What::TimerFired]),
            13 => What::WaitsFor { whom: other },
            _ => {
                let count = &mut counts[seat.index()];
                *count += 1 + chance.next() % 3;
                let (message, kind) = (MessageId::new(seat, *count), chance.one_of(&[0, 1, 2]));
                flying.push((message, other, kind));
                text = Some(format!("\"{count}\"\t\u{2028}"));
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
        vocabulary,
        promises: any_promises(vocabulary, &mut chance),
        members,
        options: options.collect(),
        repeats_from: records.get(from).is_some_and(is_step).then_some(from as u64),
        is_stuck: records.len().is_multiple_of(2),
        starts: Vec::new(),
        ..header()
    };
    Trace { header, records }
}

/// Anything that can be said where anything can follow anything.
fn any_word(vocabulary: &'static Vocabulary, whom: Seat, chance: &mut Chance) -> What {
    let word = chance.one_of(vocabulary.words);
    let mut said = Said { whom: word.whom.map(|_| whom), ..Said::new(word) };
    for (number, _) in said.numbers.iter_mut().zip(word.numbers) {
        *number = chance.next() % 4;
    }
    said.what()
}

fn any_promises(vocabulary: &Vocabulary, chance: &mut Chance) -> Promises {
    let promises = vocabulary.promises.iter().zip(0..).filter(|_| chance.one_in(2));
    promises.fold(Promises::NONE, |all, (_, number)| all.and(Promises::number(number)))
}
