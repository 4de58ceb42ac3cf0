//! Who runs processes: the promises of a runner, as code.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use crate::{Due, Effect, Effects, Input, NoticeOf, Protocol, Seat, Start, View};

/// Lets processes take steps and performs what they want done, in an [`Environment`].
///
/// A simulator, a search, a replay and a network driver are environments. What all of them promise
/// to a protocol is kept here, once:
///
/// 1. A process is made by [`start`](Self::start), before any input of its own.
/// 2. It takes [one input at a time](Self::take): all effects of a step are performed, in order,
///    before the next input.
/// 3. A message to oneself is the next input, before any other. It crosses no network.
/// 4. A message to a stranger, who is no member of the view, goes nowhere, as one to a member that
///    is down does.
/// 5. Of a multicast, the first copy that leaves this process is a transmission, and the others are
///    copies of it.
/// 6. What is persisted is safe before what stands after it is done.
///
/// The environment adds what only it can know: that a message takes any time, is lost or doubled
/// only where the run says so, and overtakes another of the same channel only where channels are
/// said not to be FIFO; that a timer runs out at most once per setting, replaces an earlier setting
/// of the same name, and never runs out after it was cancelled; that a [deadline](Due::Deadline)
/// which is due is taken in before any other input of its process; and that a crash loses all but
/// what was persisted last.
///
/// A host keeps nothing of a process between two steps, so one serves as many as a world has.
#[derive(Debug)]
pub struct Host<P: Protocol> {
    out: Effects<P>,
    /// What the process said to itself and has not taken in yet: empty between two steps.
    own: VecDeque<P::Message>,
}

/// The world around one process, while it takes a step.
pub trait Environment<P: Protocol> {
    /// Who takes part.
    fn view(&self) -> &View;

    /// Where the process sits that takes the step.
    fn seat(&self) -> Seat;

    /// What the clock of that process shows; `None` in a world without clocks, which has to refuse a
    /// protocol that [reads its own](Protocol::READS_CLOCK).
    fn reading(&self) -> Option<Duration> {
        None
    }

    /// The process has taken an input in; what it does about it comes next. The rules that fired are
    /// there if the host is one that [explains](Host::explained).
    fn stepped(&mut self, process: &P, rules: Vec<&'static str>);

    /// Sends a message to another member. A copy is one more of the multicast just before.
    fn send(&mut self, to: Seat, message: P::Message, is_copy: bool);

    /// The process says something to itself. It crosses no network, and is
    /// [taken in](Self::take_own) by the same step.
    fn send_own(&mut self, message: &P::Message, is_copy: bool);

    /// The process takes in what it said to itself.
    fn take_own(&mut self, message: &P::Message);

    /// Tells the application.
    fn notify(&mut self, notice: NoticeOf<P>);

    /// Sets a timer, in place of what it was set to before.
    fn set_timer(&mut self, timer: P::Timer, due: Due);

    /// Lets a timer not run out, if it is set.
    fn cancel_timer(&mut self, timer: P::Timer);

    /// Keeps this in place of what was kept before. It is safe when this returns.
    fn persist(&mut self, stored: P::Stored);
}

impl<P: Protocol> Host<P> {
    /// A host that does not ask which rules fire.
    pub fn new() -> Self {
        Self { out: Effects::new(), own: VecDeque::new() }
    }

    /// A host that tells its environment which rules fired.
    pub fn explained() -> Self {
        Self { out: Effects::explained(), own: VecDeque::new() }
    }

    /// Makes a process, and does what it wants done at once.
    pub fn start(&mut self, start: Start<'_, P>, environment: &mut impl Environment<P>) -> P {
        let mut process = P::start(start, &mut self.out);
        environment.stepped(&process, self.out.take_rules());
        self.perform(&mut process, environment);
        process
    }

    /// Lets a process take one input in, and does all that it wants done about it.
    #[inline(always)]
    pub fn take(
        &mut self,
        process: &mut P,
        input: Input<P>,
        environment: &mut impl Environment<P>,
    ) {
        self.step(process, input, environment);
        if !self.out.is_empty() {
            self.perform(process, environment);
        }
    }

    #[inline(always)]
    fn step(&mut self, process: &mut P, input: Input<P>, environment: &mut impl Environment<P>) {
        if P::READS_CLOCK
            && let Some(now) = environment.reading()
        {
            process.on(Input::Reading(now), &mut self.out);
        }
        process.on(input, &mut self.out);
        environment.stepped(process, self.out.take_rules());
    }

    #[inline(never)]
    fn perform(&mut self, process: &mut P, environment: &mut impl Environment<P>) {
        loop {
            self.perform_effects(environment);
            let Some(message) = self.own.pop_front() else { return };
            environment.take_own(&message);
            let from = environment.view().at(environment.seat());
            self.step(process, Input::Message { from, message }, environment);
        }
    }

    #[inline(always)]
    fn perform_effects(&mut self, environment: &mut impl Environment<P>) {
        let mut is_transmitted = false;
        while let Some(effect) = self.out.pop() {
            match effect {
                Effect::Send { to, message, continues } => {
                    let Some(to) = environment.view().seat(to) else { continue };
                    is_transmitted &= continues;
                    if to == environment.seat() {
                        environment.send_own(&message, is_transmitted);
                        self.own.push_back(message);
                    } else {
                        environment.send(to, message, is_transmitted);
                        is_transmitted = true;
                    }
                }
                Effect::Notify(notice) => environment.notify(notice),
                Effect::SetTimer { timer, due } => environment.set_timer(timer, due),
                Effect::CancelTimer(timer) => environment.cancel_timer(timer),
                Effect::Persist(stored) => environment.persist(stored),
            }
        }
    }
}

impl<P: Protocol> Default for Host<P> {
    fn default() -> Self {
        Self::new()
    }
}
