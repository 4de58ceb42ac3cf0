//! A run written down: who takes part, who asks when, what goes wrong.
//!
//! One statement a line, in the [notation](crate::notation) of settings; `#` begins a comment:
//!
//! ```text
//! algorithm ricart-agrawala    # what it is played by, unless somebody says otherwise
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
//! slow 3=4x
//! drift 2=1.3
//! loss 0.05
//! duplicate 0.01
//! drop request 32>80 #1        # the first request from 32 to 80
//! delay reply 80>32 #2 by 5ms
//! duplicate reply 3>32 #1
//! hurry request 80>3 #1
//! crash 3 on entering #2       # as it enters for the second time
//! bound 5ms                    # and so on: every setting, by its name
//! expect verdict stalled       # what is to come of it: a line of the account
//! ```
//!
//! A `#` with a number behind it, within a statement, is no comment.

mod values;

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;

use conclave_algorithms::catalogue;
use conclave_core::clock::Timestamp;
use conclave_core::{ProcessId, View};
use conclave_observe::Time;
use conclave_sim::{ChannelOrder, FaultPlan, MessageFault, Network, Probability, ScriptedRequest};

use crate::notation::{Death, Doubling, read_delay, read_drop, read_hurry};
use crate::setting::{self, Shape};
use values::{
    call, channel_order, clock, dense_view, duration, named_view, process, read, request,
};

/// A run written down. What it does not say is said by settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scenario {
    /// What it is played by, unless somebody says otherwise.
    pub algorithm: Option<&'static str>,
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
    /// Settings beside all these, in the order in which they are said.
    pub settings: Vec<Stated>,
    /// What is to come of it.
    pub expects: Vec<Expected>,
    /// Each thing that goes wrong as it is written, and in which line.
    pub places: Vec<(String, usize)>,
}

/// A setting, as a scenario says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stated {
    /// The name of the setting.
    pub name: &'static str,
    /// Its value; empty if it has none.
    pub value: String,
    /// In which line, from 1.
    pub line: usize,
}

/// What is to come of a run: a line of its account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The name of the line: `verdict`, `leader`, `messages`.
    pub name: String,
    /// How it begins.
    pub text: String,
}

/// A text that is no scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseScenarioError {
    /// A line that is wrong by itself.
    #[error("line {line}: {reason}")]
    Line {
        /// The number of the line, from 1.
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

    /// Whether it says that setting in so many words.
    pub fn says(&self, name: &str) -> bool {
        self.settings.iter().any(|stated| stated.name == name)
    }

    /// The line that says that fault.
    pub(crate) fn line_of(&self, fault: &str) -> Option<usize> {
        self.places.iter().find(|(place, _)| place == fault).map(|&(_, line)| line)
    }

    fn take(&mut self, line: usize, statement: &str) -> Result<(), String> {
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
            "algorithm" => once(&mut self.algorithm, word, algorithm(rest)?),
            "expect" => append(&mut self.expects, expected(rest)?),
            _ => self.take_fault(line, word, rest),
        }
    }

    fn take_fault(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        let Self { faults, places, .. } = self;
        let mut at = |fault: &dyn Display| places.push((format!("{word} {fault}"), line));
        match word {
            "dead" => noted(&mut faults.dead, process(rest)?, &mut at),
            "replace" => noted(&mut faults.replacements, read(rest)?, &mut at),
            "drift" => noted(&mut faults.drifts, read(rest)?, &mut at),
            "return" => noted(&mut faults.returns, read(rest)?, &mut at),
            "pause" => noted(&mut faults.pauses, read(rest)?, &mut at),
            "slow" => noted(&mut faults.slow, read(rest)?, &mut at),
            "partition" => noted(&mut faults.partitions, read(rest)?, &mut at),
            "crash" => match read(rest)? {
                Death::At(crash) => noted(&mut faults.crashes, crash, &mut at),
                Death::On(crash) => noted(&mut faults.crashes_on, crash, &mut at),
            },
            "loss" => assign(&mut faults.loss, word, read(rest)?),
            "duplicate" => match read(rest)? {
                Doubling::Chance(chance) => assign(&mut faults.duplicate, word, chance),
                Doubling::This(message) => noted(&mut faults.messages, message, &mut at),
            },
            "drop" | "delay" | "hurry" => {
                noted(&mut faults.messages, message(word, rest)?, &mut at)
            }
            _ => self.take_setting(line, word, rest),
        }
    }

    /// What no statement of its own says can be said as a setting, by its name.
    fn take_setting(&mut self, line: usize, word: &str, rest: &str) -> Result<(), String> {
        let Some(setting) = setting::find(word).filter(|setting| setting.group.is_some()) else {
            return Err(unknown(word));
        };
        let is_list = matches!(setting.shape, Shape::List(_) | Shape::AgainList(_));
        let is_once = matches!(setting.shape, Shape::Switch | Shape::One(_) | Shape::List(_));
        if is_once && self.says(word) {
            return Err(format!("`{word}` says again what was said before; say it once"));
        }
        let values = rest.split(|c| is_list && c == ',').map(str::trim);
        for value in values {
            setting.check(value).map_err(|error| format!("`{word}`: {error}"))?;
            self.settings.push(Stated { name: setting.name, value: value.to_owned(), line });
        }
        Ok(())
    }
}

fn unknown(word: &str) -> String {
    format!(
        "`{word}` is not a statement; there are n, ids, network, channels, hold, clock, holder, \
         request, call, dead, crash, return, replace, pause, partition, slow, drift, loss, \
         duplicate, drop, delay, hurry, algorithm and expect, and settings by their names, e.g. \
         bound 5ms"
    )
}

fn algorithm(name: &str) -> Result<&'static str, String> {
    catalogue::find(name).map(|entry| entry.name).map_err(|error| error.to_string())
}

fn message(word: &str, rest: &str) -> Result<MessageFault, String> {
    let read = match word {
        "drop" => read_drop,
        "delay" => read_delay,
        _ => read_hurry,
    };
    read(rest).map_err(|error| error.to_string())
}

fn expected(text: &str) -> Result<Expected, String> {
    let parts = text.split_once(char::is_whitespace);
    let (name, text) = parts.ok_or_else(|| {
        format!("`{text}` is not NAME TEXT, a line of the account, e.g. expect verdict deadlock")
    })?;
    Ok(Expected { name: name.to_owned(), text: text.trim().to_owned() })
}

/// The statement of a line, without its comment. What counts is no comment: `#1`.
fn statement(line: &str) -> &str {
    let is_comment = |&(at, _): &(usize, &str)| {
        let behind = line[at + 1..].chars().next();
        line[..at].trim().is_empty() || !behind.is_some_and(|c| c.is_ascii_digit())
    };
    let end = line.match_indices('#').find(is_comment).map_or(line.len(), |(at, _)| at);
    line[..end].trim()
}

impl FromStr for Scenario {
    type Err = ParseScenarioError;

    fn from_str(text: &str) -> Result<Self, ParseScenarioError> {
        let mut scenario = Self::default();
        // Some editors begin a file with a mark that nobody sees.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, statement) in (1..).zip(text.lines()) {
            let statement = self::statement(statement);
            if !statement.is_empty() {
                let wrong = |reason| ParseScenarioError::Line { line, reason };
                scenario.take(line, statement).map_err(wrong)?;
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

/// Adds something that goes wrong, and where that is said.
fn noted<T: Display>(
    list: &mut Vec<T>,
    value: T,
    at: &mut dyn FnMut(&dyn Display),
) -> Result<(), String> {
    at(&value);
    append(list, value)
}

fn assign(place: &mut Probability, word: &str, value: Probability) -> Result<(), String> {
    let mut said = (!place.is_zero()).then_some(*place);
    *place = value;
    once(&mut said, word, value)
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
            duplicate 0.01\ndrop request 3>5 #1\ndelay reply 5>3 #2 by 5ms # late\n\
            duplicate reply 6>3\nhurry request 5>6 #3\ncrash 5 on entering #2\n\
            algorithm lamport\nvoting-sets grid\nexpect verdict ok: all\n";
        let scenario: Scenario = text.parse().unwrap();
        assert_eq!(scenario.view, Some(View::new([3, 5, 6].map(ProcessId)).unwrap()));
        assert_eq!(scenario.order, Some(ChannelOrder::Any));
        assert_eq!(scenario.clocks, [(ProcessId(5), Timestamp(101))]);
        assert_eq!(scenario.holder, Some(ProcessId(6)));
        let asked: Vec<_> = scenario.requests.iter().map(|it| (it.process.0, it.hold)).collect();
        assert_eq!(asked, [(3, None), (5, Some(Time::delays(2)))], "in order of time");
        let calls: Vec<_> = scenario.calls.iter().map(|(process, _)| process.0).collect();
        assert_eq!((calls, scenario.faults.drifts.len()), (vec![3, 6], 1));
        assert_eq!(scenario.faults.labels().len(), 13);
        let messages: Vec<_> = scenario.faults.messages.iter().map(MessageFault::label).collect();
        let expected = [
            "drop request 3>5 #1",
            "delay reply 5>3 #2 by 5ms",
            "duplicate reply 6>3 #1",
            "hurry request 5>6 #3",
        ];
        assert_eq!(messages, expected);
        assert_eq!(scenario.line_of("crash 5 on entering #2"), Some(25));
        assert_eq!(scenario.algorithm, Some("lamport"));
        assert!(scenario.says("voting-sets") && !scenario.says("bound"));
        assert_eq!(
            (&*scenario.expects[0].name, &*scenario.expects[0].text),
            ("verdict", "ok: all")
        );
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
            ("drop request 2", "line 1: `request 2` is not KIND FROM>TO #COUNT"),
            ("delay request 2>3 #1", "line 1: `request 2>3 #1` is not KIND FROM>TO #COUNT by"),
            ("drop request 2>3 #1 now", "line 1: `request 2>3 #1 now` is not"),
            ("crash 2 when entering", "line 1: `2 when entering` is not PROCESS@TIME, e.g."),
            ("duplicate often", "line 1: `often` is not a probability"),
            ("bound soon", "line 1: `bound`: "),
            ("bound 5ms\nbound 6ms", "line 2: `bound` says again"),
            ("algorithm lampart", "line 1: "),
            ("expect deadlock", "line 1: `deadlock` is not NAME TEXT"),
            ("ids 1, 4294967296", "line 1: `4294967296` is no id; ids are from 0 to 4294967294"),
        ] {
            let error = text.parse::<Scenario>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{text:?} gave {error:?}");
        }
    }
}
