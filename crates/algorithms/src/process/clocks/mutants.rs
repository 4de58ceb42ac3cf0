//! Every rule that a promise hangs on, broken once.

use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::testing::trials::{LESS_FOR_NOTHING, Mutant, NOT_LESS, Tried};

impl Tried for Clocks {
    fn mutants(entry: &Entry) -> Vec<Mutant<Self>> {
        let bounds = Bounds::of(2, 1);
        let mut mutants = vec![
            Mutant::new(
                "who adds nothing for a receipt shows no more than the sending",
                bounds,
                NOT_LESS,
                |process: &mut Clocks, input: Input<Clocks>, out: &mut Effects<Clocks>| match input
                {
                    Input::Message { from, message } => {
                        process.clock.catch_up(&message.clock);
                        process.tell(Deed::Received(from, message.number), out);
                    }
                    other => process.on(other, out),
                },
            ),
            Mutant::new(
                "who does not look at what a message carries can show less than its sending",
                Bounds::of(2, 2),
                NOT_LESS,
                |process: &mut Clocks, input: Input<Clocks>, out: &mut Effects<Clocks>| match input
                {
                    Input::Message { from, message } => {
                        process.clock.tick(process.seat);
                        process.tell(Deed::Received(from, message.number), out);
                    }
                    other => process.on(other, out),
                },
            ),
            Mutant::new(
                "who adds nothing for a sending shows no more than before",
                bounds,
                NOT_LESS,
                |process: &mut Clocks, input: Input<Clocks>, out: &mut Effects<Clocks>| match input
                {
                    Input::Command(Command::Send(to)) => {
                        process.sent += 1;
                        process.tell(Deed::Sent(to, process.sent), out);
                        let (clock, number) = (process.clock.carried(), process.sent);
                        out.send(to, Message { clock, number });
                    }
                    other => process.on(other, out),
                },
            ),
        ];
        if entry.name == VECTOR.name {
            mutants.push(Mutant::new(
                "who counts an event for everybody shows more than what it knows nothing of",
                Bounds::of(2, 2),
                LESS_FOR_NOTHING,
                |process: &mut Clocks, input: Input<Clocks>, out: &mut Effects<Clocks>| {
                    let others = (0..process.view.len()).map(Seat::at);
                    let seat = process.seat;
                    others.filter(|&it| it != seat).for_each(|it| process.clock.tick(it));
                    process.on(input, out);
                },
            ));
        }
        mutants
    }
}
