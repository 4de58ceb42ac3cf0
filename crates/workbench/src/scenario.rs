//! A run written down: who takes part, who asks when, what goes wrong.
//!
//! One statement a line, in the [notation](crate::notation) of settings; `#` begins a comment:
//!
//! ```text
//! ids 3, 5, 6, 12, 32, 80      # or: n 6
//! network unit
//! channels fifo                # or: any
//! hold 10ms
//! clock 32 101                 # what its logical clock shows first
//! holder 5                     # who is in from the start
//! request 32@0ms
//! request 80@3ms hold 2ms
//! call 6@0ms                   # of an election
//! dead 80                      # from the start
//! crash 3@40ms
//! return 3@90ms
//! replace 3@90ms               # by another process of the same id
//! pause 2@10ms..30ms
//! partition 1,2/3,4,5@10ms..30ms
//! drift 2=1.3
//! loss 0.05
//! duplicate 0.01
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str::FromStr;

use conclave_core::clock::Timestamp;
use conclave_core::{DuplicateId, ProcessId, View};
use conclave_observe::Time;
use conclave_sim::{ChannelOrder, FaultPlan, Network, Probability, ScriptedRequest};

use crate::notation::{Notation, parse_time};
use crate::setting::MEMBERS_MAX;

/// A run written down. What it does not say is said by settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scenario {
    /// Who takes part.
    pub view: Option<View>,
    /// How long messages take.
    pub network: Option<Network>,
    /// Whether channels keep the order.
    pub order: Option<ChannelOrder>,
    /// How long holders stay in.
    pub hold: Option<Time>,
    /// What logical clocks show first, where it is not 0.
    pub clocks: Vec<(ProcessId, Timestamp)>,
    /// Who is in from the start.
    pub holder: Option<ProcessId>,
    /// Who asks, and when; in order of time.
    pub requests: Vec<ScriptedRequest>,
    /// Who calls an election, and when; in order of time.
    pub calls: Vec<(ProcessId, Time)>,
    /// What goes wrong.
    pub faults: FaultPlan,
}

/// A text that is no scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseScenarioError {
    /// A line that is wrong by itself.
    #[error("line {line}: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
}

impl Scenario {
    /// The first process that is named and takes no part in `view`, with what it is named for.
    pub fn stranger(&self, view: &View) -> Option<(&'static str, ProcessId)> {
        let requests = self.requests.iter().map(|request| ("request", request.process));
        let clocks = self.clocks.iter().map(|&(process, _)| ("clock", process));
        let holder = self.holder.iter().map(|&process| ("holder", process));
        requests.chain(clocks).chain(holder).find(|&(_, process)| view.seat(process).is_none())
    }

    fn take(&mut self, statement: &str) -> Result<(), String> {
        let (word, rest) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
        let rest = rest.trim();
        match word {
            "n" => once(&mut self.view, word, dense_view(rest)?),
            "ids" => once(&mut self.view, word, named_view(rest)?),
            "network" => once(&mut self.network, word, read(rest)?),
            "channels" => once(&mut self.order, word, channel_order(rest)?),
            "hold" => once(&mut self.hold, word, duration(rest)?),
            "holder" => once(&mut self.holder, word, process(rest)?),
            "clock" => {
                let clock = clock(rest)?;
                if self.clocks.iter().any(|&(process, _)| process == clock.0) {
                    return Err(format!("the clock of process {} is set twice", clock.0));
                }
                self.clocks.push(clock);
                Ok(())
            }
            "request" => append(&mut self.requests, request(rest)?),
            "call" => append(&mut self.calls, call(rest)?),
            "dead" => append(&mut self.faults.dead, process(rest)?),
            "replace" => append(&mut self.faults.replacements, read(rest)?),
            "drift" => append(&mut self.faults.drifts, read(rest)?),
            "crash" => append(&mut self.faults.crashes, read(rest)?),
            "return" => append(&mut self.faults.returns, read(rest)?),
            "pause" => append(&mut self.faults.pauses, read(rest)?),
            "partition" => append(&mut self.faults.partitions, read(rest)?),
            "loss" => assign(&mut self.faults.loss, word, read(rest)?),
            "duplicate" => assign(&mut self.faults.duplicate, word, read(rest)?),
            _ => Err(format!(
                "`{word}` is not a statement; there are n, ids, network, channels, hold, clock, \
                 holder, request, call, dead, crash, return, replace, pause, partition, drift, \
                 loss and duplicate"
            )),
        }
    }
}

impl FromStr for Scenario {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Self, ParseScenarioError> {
        let mut scenario = Self::default();
        // Some editors begin a file with a mark that nobody sees.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, statement) in (1..).zip(text.lines()) {
            let statement = statement.split('#').next().unwrap_or_default().trim();
            if !statement.is_empty() {
                let wrong = |reason| ParseScenarioError::Line { line, reason };
                scenario.take(statement).map_err(wrong)?;
            }
        }
        scenario.calls.sort_by_key(|&(_, at)| at);
        scenario.requests.sort_by_key(|request| request.at);
        Ok(scenario)
    }
}

fn once<T>(place: &mut Option<T>, word: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("`{word}` says again what was said before; say it once")),
    }
}

fn append<T>(list: &mut Vec<T>, value: T) -> Result<(), String> {
    list.push(value);
    Ok(())
}

fn assign(place: &mut Probability, word: &str, value: Probability) -> Result<(), String> {
    let mut said = (!place.is_zero()).then_some(*place);
    *place = value;
    once(&mut said, word, value)
}

fn read<T: Notation<Error: ToString>>(text: &str) -> Result<T, String> {
    T::read(text).map_err(|error| error.to_string())
}

fn duration(text: &str) -> Result<Time, String> {
    parse_time(text).map_err(|error| error.to_string())
}

fn process(text: &str) -> Result<ProcessId, String> {
    let text = text.trim();
    match text.parse() {
        Ok(id) => Ok(ProcessId(id)),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("`{text}` is no id; ids are from 0 to {}", u32::MAX - 1))
        }
        Err(_) => Err(format!("`{text}` is not a process; write its id, e.g. 3")),
    }
}

fn dense_view(text: &str) -> Result<View, String> {
    match text.parse() {
        Ok(n @ 1..=MEMBERS_MAX) => Ok(View::dense(1, n)),
        _ => Err(format!("`{text}` is not a number of processes from 1 to {MEMBERS_MAX}")),
    }
}

fn named_view(text: &str) -> Result<View, String> {
    let ids = text.split(',').map(process).collect::<Result<Vec<_>, _>>()?;
    View::new(ids).map_err(|error: DuplicateId| error.to_string())
}

fn channel_order(text: &str) -> Result<ChannelOrder, String> {
    match text {
        "fifo" => Ok(ChannelOrder::Fifo),
        "any" => Ok(ChannelOrder::Any),
        _ => Err(format!("`{text}` is not an order of channels; write fifo or any")),
    }
}

fn clock(text: &str) -> Result<(ProcessId, Timestamp), String> {
    let wrong = || format!("`{text}` is not PROCESS COUNT, e.g. clock 32 101");
    let (id, time) = text.split_once(char::is_whitespace).ok_or_else(wrong)?;
    // Clocks count on from here: half of their range is left for that.
    let time: u32 = time.trim().parse().map_err(|_| wrong())?;
    Ok((process(id)?, Timestamp(time.into())))
}

fn call(text: &str) -> Result<(ProcessId, Time), String> {
    let wrong = || format!("`{text}` is not PROCESS@TIME, e.g. call 3@0ms");
    let (id, at) = text.split_once('@').ok_or_else(wrong)?;
    Ok((process(id)?, duration(at)?))
}

fn request(text: &str) -> Result<ScriptedRequest, String> {
    let wrong = || format!("`{text}` is not PROCESS@TIME or PROCESS@TIME hold TIME, e.g. 3@0ms");
    let mut words = text.split_whitespace();
    let (id, at) = words.next().and_then(|word| word.split_once('@')).ok_or_else(wrong)?;
    let (process, at) = (process(id)?, duration(at)?);
    let hold = match (words.next(), words.next(), words.next()) {
        (None, ..) => None,
        (Some("hold"), Some(hold), None) => Some(duration(hold)?),
        _ => return Err(wrong()),
    };
    Ok(ScriptedRequest { process, at, hold })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn every_statement_is_understood() {
        let text = "# all of them\n\
            ids 3, 5, 6\nnetwork uniform:1ms..2ms\nchannels any\nhold 10ms\nclock 5 101\n\
            holder 6\nrequest 5@4ms hold 2ms # late\nrequest 3@0ms\ncrash 3@40ms\n\
            call 6@2ms\ncall 3@1ms\ndead 6\nreplace 6@9ms\ndrift 5=1.3\nreturn 3@90ms\n\
            pause 5@10ms..30ms\npartition 3/5,6@1ms..2ms\nloss 0.05\n\
            duplicate 0.01\n";
        let scenario: Scenario = text.parse().unwrap();
        assert_eq!(scenario.view, Some(View::new([3, 5, 6].map(ProcessId)).unwrap()));
        assert_eq!(scenario.order, Some(ChannelOrder::Any));
        assert_eq!(scenario.clocks, [(ProcessId(5), Timestamp(101))]);
        assert_eq!(scenario.holder, Some(ProcessId(6)));
        let asked: Vec<_> = scenario.requests.iter().map(|it| (it.process.0, it.hold)).collect();
        assert_eq!(asked, [(3, None), (5, Some(Time::delays(2)))], "in order of time");
        let calls: Vec<_> = scenario.calls.iter().map(|(process, _)| process.0).collect();
        assert_eq!((calls, scenario.faults.drifts.len()), (vec![3, 6], 1));
        assert_eq!(scenario.faults.labels().len(), 8);
    }

    #[test]
    fn a_scenario_need_not_say_who_asks() {
        let scenario: Scenario = "n 3\ncrash 2@5ms".parse().unwrap();
        assert!(scenario.requests.is_empty() && scenario.calls.is_empty());
    }

    #[test]
    fn a_wrong_line_is_named_with_what_would_be_right() {
        for (text, says) in [
            ("request 3", "line 1: `3` is not PROCESS@TIME"),
            ("request 3@0ms\nids 1,2,1", "line 2: process 1 is named twice"),
            ("n 0", "line 1: `0` is not a number of processes"),
            ("n 3\nids 1,2", "line 2: `ids` says again"),
            ("network lan", "line 1: `lan` is not a network"),
            ("channels lifo", "line 1: `lifo` is not an order"),
            ("clock 3", "line 1: `3` is not PROCESS COUNT"),
            ("loss 0.1\nloss 0.2", "line 2: `loss` says again"),
            ("clock 3 1\nclock 3 2", "line 2: the clock of process 3 is set twice"),
            ("request 3@0ms hold", "line 1: `3@0ms hold` is not"),
            ("explode 3@4ms", "line 1: `explode` is not a statement"),
            ("ids 1, 4294967296", "line 1: `4294967296` is no id; ids are from 0 to 4294967294"),
        ] {
            let error = text.parse::<Scenario>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{text:?} gave {error:?}");
        }
    }
}
