//! The deterministic world: discrete events, integer time, one seed that decides everything.
//!
//! Same seed, same run, byte for byte, on any machine. The simulator drives whatever implements
//! [`Protocol`](conclave_core::Protocol) and knows no algorithm by name; what it did is told by a
//! [`Judge`](conclave_observe::Judge) that watches from outside.
//!
//! | file | what |
//! | --- | --- |
//! | `seed` | randomness: named streams, drawn from the one seed |
//! | `network` | how long a message takes |
//! | `fault` | what goes wrong, and when |
//! | `script` | what goes wrong with one message, or at one event |
//! | `workload` | who asks for the lock, and when |
//! | `election_application`, `detector_application`, `process_application` | the same for others |
//! | `wire`, `calendar` | messages in flight, in the order of their arrival |
//! | `agenda` | everything else that is to happen at some time |
//! | `setup` | all that decides a run, and what comes of it |
//! | `world` | the loop |
//! | `simulation` | a run that is taken one event at a time |
//! | `intervention` | what is done to it from outside meanwhile |
//! | `replay` | a recorded run, taken again by the real processes |

#![no_std]

extern crate alloc;

mod agenda;
mod calendar;
mod detector_application;
mod election_application;
mod fault;
mod faults_under_way;
mod intervention;
mod lines;
mod network;
mod process_application;
mod replay;
mod script;
mod seed;
mod setup;
mod simulation;
mod timers;
mod wire;
mod workload;
mod world;

pub use detector_application::DetectorApplication;
pub use election_application::{Call, ElectionApplication};
pub use fault::{
    Crash, Crossing, Drift, FaultError, FaultPlan, Partition, Pause, Probability, Rate, Return,
    Slow, ids_of,
};
pub use intervention::{Act, Intervention, Letter};
pub use network::Network;
pub use process_application::{Pace, ProcessApplication, ScriptedStep};
pub use replay::{Clocks, Replay, ReplayError, replay};
pub use script::{CrashOn, Deed, MessageFault, MessageName};
pub use seed::Stream;
pub use setup::{AfterViolation, FiredFault, Limits, Outcome, Recording, Setup, Show};
pub use simulation::{InFlight, Load, Simulation, bytes_per_message, bytes_per_timer};
pub use wire::ChannelOrder;
pub use workload::{Application, Desk, MutexApplication, ScriptedRequest, Workload};
pub use world::simulate;
