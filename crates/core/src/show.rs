//! Seats in the state of a process, for those who look at it from outside.
//!
//! People know processes by their ids, and a seat alone does not know whose it is. So it is marked
//! as one, and whoever knows the view can put the id in its place: `{"@seat":0}` and
//! `{"@seats":[0,2]}`. Who takes part is known to all, and would only be in the way: a view is
//! `{"@view":null}`.

use serde::{Serialize, Serializer};

use crate::{Seat, SeatSet, View};

impl Serialize for Seat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("@seat", self.0)])
    }
}

impl Serialize for SeatSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let seats: alloc::vec::Vec<u32> = self.iter().map(|seat| seat.0).collect();
        serializer.collect_map([("@seats", seats)])
    }
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([("@view", ())])
    }
}
