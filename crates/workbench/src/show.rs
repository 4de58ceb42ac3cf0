//! The state of a process, as data that a trace can keep and a page can show.

use alloc::string::{String, ToString};

use conclave_core::{Seat, View};
use serde::Serialize;
use serde_json::{Map, Value};

/// The state as JSON, with ids in the place of seats. Fields are in alphabetical order, so that
/// equal states have equal texts.
pub fn show<P: Serialize>(process: &P, view: &View) -> String {
    // It can fail only for a key that is no name; that is then seen in the place of the state.
    let state = serde_json::to_value(process).unwrap_or_else(|error| error.to_string().into());
    named(state, view).unwrap_or_default().to_string()
}

/// The value with ids in place of seats; `None` for what is not worth showing.
fn named(value: Value, view: &View) -> Option<Value> {
    let id = |seat: &Value| {
        let seat = seat.as_u64().and_then(|seat| u32::try_from(seat).ok());
        seat.map_or(Value::Null, |seat| view.at(Seat(seat)).0.into())
    };
    match value {
        Value::Object(fields) => match marked(&fields) {
            Some(("@seat", seat)) => Some(id(seat)),
            Some(("@seats", Value::Array(seats))) => Some(seats.iter().map(id).collect()),
            Some(("@view", _)) => None,
            _ => {
                let named = |(name, value)| Some((name, named(value, view)?));
                Some(Value::Object(fields.into_iter().filter_map(named).collect()))
            }
        },
        Value::Array(values) => {
            Some(values.into_iter().filter_map(|value| named(value, view)).collect())
        }
        plain => Some(plain),
    }
}

/// The one field of that object, if it has no other.
fn marked(fields: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut fields = fields.iter();
    let (name, value) = fields.next()?;
    fields.next().is_none().then_some((name, value))
}
