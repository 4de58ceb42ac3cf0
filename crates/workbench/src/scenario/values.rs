//! The values of statements that no setting has in the same words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use conclave_core::clock::Timestamp;
use conclave_core::{DuplicateId, ProcessId, View};
use conclave_observe::Time;
use conclave_sim::{ChannelOrder, ScriptedRequest};

use crate::notation::{Notation, parse_time};
use crate::setting::MEMBERS_MAX;

pub fn read<T: Notation<Error: ToString>>(text: &str) -> Result<T, String> {
    T::read(text).map_err(|error| error.to_string())
}

pub fn duration(text: &str) -> Result<Time, String> {
    parse_time(text).map_err(|error| error.to_string())
}

pub fn process(text: &str) -> Result<ProcessId, String> {
    let text = text.trim();
    match text.parse() {
        Ok(id) => Ok(ProcessId(id)),
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(format!("`{text}` is no id; ids are from 0 to {}", u32::MAX - 1))
        }
        Err(_) => Err(format!("`{text}` is not a process; write its id, e.g. 3")),
    }
}

pub fn dense_view(text: &str) -> Result<View, String> {
    match text.parse() {
        Ok(n @ 1..=MEMBERS_MAX) => Ok(View::dense(1, n)),
        _ => Err(format!("`{text}` is not a number of processes from 1 to {MEMBERS_MAX}")),
    }
}

pub fn named_view(text: &str) -> Result<View, String> {
    let ids = text.split(',').map(process).collect::<Result<Vec<_>, _>>()?;
    View::new(ids).map_err(|error: DuplicateId| error.to_string())
}

pub fn channel_order(text: &str) -> Result<ChannelOrder, String> {
    match text {
        "fifo" => Ok(ChannelOrder::Fifo),
        "any" => Ok(ChannelOrder::Any),
        _ => Err(format!("`{text}` is not an order of channels; write fifo or any")),
    }
}

pub fn clock(text: &str) -> Result<(ProcessId, Timestamp), String> {
    let wrong = || format!("`{text}` is not PROCESS COUNT, e.g. clock 32 101");
    let (id, time) = text.split_once(char::is_whitespace).ok_or_else(wrong)?;
    // Clocks count on from here: half of their range is left for that.
    let time: u32 = time.trim().parse().map_err(|_| wrong())?;
    Ok((process(id)?, Timestamp(time.into())))
}

pub fn call(text: &str) -> Result<(ProcessId, Time), String> {
    let wrong = || format!("`{text}` is not PROCESS@TIME, e.g. call 3@0ms");
    let (id, at) = text.split_once('@').ok_or_else(wrong)?;
    Ok((process(id)?, duration(at)?))
}

pub fn request(text: &str) -> Result<ScriptedRequest, String> {
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
