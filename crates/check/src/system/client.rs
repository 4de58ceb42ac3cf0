//! What the applications do: the bounded workload.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use conclave_core::{Family, Renaming, Seat, View, detector, election, mutex, process};

/// What applications ask of the processes of a protocol of that family.
pub trait Users<F: Family>: Sync {
    /// What one application remembers.
    type State: Clone + Eq + Hash + Debug + Send + Sync;

    /// The state of an application when the system begins.
    fn first(&self, seat: Seat) -> Self::State;

    /// What it can ask for now, if anything.
    fn asks(&self, state: &Self::State) -> Option<Ask<F::Command>>;

    /// Takes in that the application has asked for it.
    fn asked(&self, state: &mut Self::State);

    /// It is told something.
    fn told(&self, state: &mut Self::State, notice: &F::Notice);

    /// It dies with its process; what it has not asked for yet, it asks for when it is back.
    fn crashed(&self, state: &mut Self::State);

    /// The state in a system whose processes are renamed like that; other than this one only if it
    /// remembers names.
    fn renamed(&self, state: &Self::State, _: &Renaming) -> Self::State {
        state.clone()
    }

    /// Whether it waits for something that must come.
    fn waits(&self, state: &Self::State) -> bool;

    /// Whether it has had all that it wanted.
    fn is_done(&self, state: &Self::State) -> bool;
}

/// Something to ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask<C> {
    /// The command that the application would give.
    pub command: C,
    /// Whether it will ask for it eventually, as far as fairness goes.
    pub is_due: bool,
}

/// Whoever enters the critical section so many times, and leaves it every time.
#[derive(Clone, Debug)]
pub struct Enters {
    /// The seats of those who ask.
    pub clients: Vec<Seat>,
    /// How often each of them asks.
    pub requests: u8,
    /// Who is in from the start.
    pub holder: Option<Seat>,
}

/// One application that uses a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Entering {
    left_to_ask: u8,
    is: Is,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Is {
    Out,
    Waiting,
    In,
}

impl Users<mutex::Locks> for Enters {
    type State = Entering;

    fn first(&self, seat: Seat) -> Entering {
        let left_to_ask = if self.clients.contains(&seat) { self.requests } else { 0 };
        Entering { left_to_ask, is: if self.holder == Some(seat) { Is::In } else { Is::Out } }
    }

    fn asks(&self, state: &Entering) -> Option<Ask<mutex::Command>> {
        match state.is {
            Is::Out if state.left_to_ask > 0 => {
                Some(Ask { command: mutex::Command::Enter, is_due: false })
            }
            Is::In => Some(Ask { command: mutex::Command::Leave, is_due: true }),
            _ => None,
        }
    }

    fn asked(&self, state: &mut Entering) {
        if state.is == Is::Out {
            *state = Entering { left_to_ask: state.left_to_ask - 1, is: Is::Waiting };
        }
    }

    fn told(&self, state: &mut Entering, notice: &mutex::Notice) {
        state.is = match notice {
            mutex::Notice::Entered { .. } => Is::In,
            mutex::Notice::Left => Is::Out,
        };
    }

    fn crashed(&self, state: &mut Entering) {
        state.is = Is::Out;
    }

    fn waits(&self, state: &Entering) -> bool {
        state.is == Is::Waiting
    }

    fn is_done(&self, state: &Entering) -> bool {
        *state == Entering { left_to_ask: 0, is: Is::Out }
    }
}

/// Whoever calls for an election so many times, whenever it likes.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The seats of those who call.
    pub callers: Vec<Seat>,
    /// How often each of them calls.
    pub calls: u8,
}

impl Users<election::Elections> for Calls {
    /// How often it may still call.
    type State = u8;

    fn first(&self, seat: Seat) -> u8 {
        if self.callers.contains(&seat) { self.calls } else { 0 }
    }

    fn asks(&self, state: &u8) -> Option<Ask<election::Command>> {
        (*state > 0).then_some(Ask { command: election::Command::Call, is_due: false })
    }

    fn asked(&self, state: &mut u8) {
        *state -= 1;
    }

    fn told(&self, _: &mut u8, _: &election::Notice) {}

    fn crashed(&self, _: &mut u8) {}

    fn waits(&self, _: &u8) -> bool {
        false
    }

    fn is_done(&self, state: &u8) -> bool {
        *state == 0
    }
}

/// Whoever only listens to what a detector says.
#[derive(Clone, Copy, Debug)]
pub struct Listens;

impl Users<detector::Detectors> for Listens {
    type State = ();

    fn first(&self, _: Seat) {}

    fn asks(&self, (): &()) -> Option<Ask<detector::Command>> {
        None
    }

    fn asked(&self, (): &mut ()) {}

    fn told(&self, (): &mut (), _: &detector::Notice) {}

    fn crashed(&self, (): &mut ()) {}

    fn waits(&self, (): &()) -> bool {
        false
    }

    fn is_done(&self, (): &()) -> bool {
        true
    }
}

/// Whoever lets its process take so many steps, whenever it likes: by turns it sends to another,
/// each time one seat further on, and works alone.
#[derive(Clone, Debug)]
pub struct Steps {
    /// Everybody.
    pub view: View,
    /// Who takes steps.
    pub askers: Vec<Seat>,
    /// How many each.
    pub steps: u8,
}

/// How far one application is with its steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Stepping {
    seat: Seat,
    left: u8,
    taken: u8,
}

impl Users<process::Processes> for Steps {
    type State = Stepping;

    fn first(&self, seat: Seat) -> Stepping {
        let left = if self.askers.contains(&seat) { self.steps } else { 0 };
        Stepping { seat, left, taken: 0 }
    }

    fn asks(&self, state: &Stepping) -> Option<Ask<process::Command>> {
        if state.left == 0 {
            return None;
        }
        let members = self.view.len();
        // The others by turns.
        let ahead = 1 + usize::from(state.taken) / 2 % (members - 1).max(1);
        let to = Seat::at((state.seat.index() + ahead) % members);
        let command = match (to == state.seat, state.taken % 2) {
            (false, 0) => process::Command::Send(self.view.at(to)),
            _ => process::Command::Work,
        };
        Some(Ask { command, is_due: false })
    }

    fn asked(&self, state: &mut Stepping) {
        state.left -= 1;
        state.taken += 1;
    }

    fn told(&self, _: &mut Stepping, _: &process::Notice) {}

    fn crashed(&self, _: &mut Stepping) {}

    fn waits(&self, _: &Stepping) -> bool {
        false
    }

    fn is_done(&self, state: &Stepping) -> bool {
        state.left == 0
    }
}
