//! Who runs processes: the promises of a runner, as code.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use crate::tamper::{Anybody, Tamper};
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
/// A host keeps nothing of a process between two steps, so one serves as many as a world has. The
/// processes may be [in somebody's hands](Self::tampered).
#[derive(Debug)]
pub struct Host<P: Protocol> {
    out: Effects<P>,
    /// What the process said to itself and has not taken in yet: empty between two steps.
    own: VecDeque<P::Message>,
    /// Who tampers with the processes, if somebody does.
    tamper: Option<Anybody<P>>,
}

/// The world around one process, while it takes a step.
pub trait Environment<P: Protocol> {
    /// Who takes part.
    fn view(&self) -> &View;

    /// Where the process sits that takes the step.
    fn seat(&self) -> Seat;

    /// What the clock of that process shows; `None` in a world without clocks, which has to refuse
    /// a protocol that [reads its own](Protocol::READS_CLOCK).
    fn reading(&self) -> Option<Duration> {
        None
    }

    /// The process has taken an input in; what it does about it comes next. The rules that fired
    /// are there if the host is one that [explains](Host::explained).
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
        Self { out: Effects::new(), own: VecDeque::new(), tamper: None }
    }

    /// A host that tells its environment which rules fired.
    pub fn explained() -> Self {
        Self { out: Effects::explained(), own: VecDeque::new(), tamper: None }
    }

    /// This host, whose processes are in somebody's hands, if somebody is there: mutants of the
    /// protocol.
    #[must_use]
    pub fn tampered(self, tamper: Option<&Anybody<P>>) -> Self {
        Self { tamper: tamper.cloned(), ..self }
    }

    /// Makes a process, and does what it wants done at once.
    pub fn start(&mut self, start: Start<'_, P>, environment: &mut impl Environment<P>) -> P {
        let mut process = match &self.tamper {
            None => P::start(start, &mut self.out),
            Some(tamper) => tamper.start(start, &mut self.out),
        };
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
            self.on(process, Input::Reading(now));
        }
        self.on(process, input);
        environment.stepped(process, self.out.take_rules());
    }

    #[inline(always)]
    fn on(&mut self, process: &mut P, input: Input<P>) {
        match &self.tamper {
            None => process.on(input, &mut self.out),
            Some(tamper) => tamper.on(process, input, &mut self.out),
        }
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
                    is_transmitted &= continues;
                    let Some(to) = environment.view().seat(to) else { continue };
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

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;

    use super::*;
    use crate::tamper::does;
    use crate::{Family, Kind, KindIndex, Message, NoWord, ProcessId};

    /// Applications say what a process is to do, and it does that.
    enum Orders {}

    impl Family for Orders {
        const NAME: &'static str = "orders";
        type Command = Vec<Order>;
        type Notice = &'static str;
        type Opening = ();
    }

    /// Something to be done.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    enum Order {
        Send(u32, Say),
        Multicast(Vec<u32>, Say),
        Tell(&'static str),
        Set(char, u64),
        SetDeadline(char, u64),
        Cancel(char),
        Keep(u8),
    }

    /// A word, and what its receiver is to do about it.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Say(&'static str, Vec<Order>);

    impl Message for Say {
        const KINDS: &'static [Kind] = &[Kind::enter("say")];

        fn kind(&self) -> KindIndex {
            0
        }
    }

    /// Does what it is told to do. Whether it reads its clock is a part of its type.
    #[derive(Clone, PartialEq, Eq, Hash, Debug)]
    struct Servant<const READS: bool> {
        readings: Vec<Duration>,
    }

    impl<const READS: bool> Protocol for Servant<READS> {
        type Family = Orders;
        type Config = Vec<Order>;
        type Message = Say;
        type Timer = char;
        type Stored = u8;
        type Word = NoWord;

        const READS_CLOCK: bool = READS;

        fn start(start: Start<'_, Self>, out: &mut Effects<Self>) -> Self {
            out.rule("starts");
            serve(start.config.clone(), out);
            Self { readings: Vec::new() }
        }

        fn on(&mut self, input: Input<Self>, out: &mut Effects<Self>) {
            match input {
                Input::Command(orders) => {
                    out.rule("is asked");
                    serve(orders, out);
                }
                Input::Message { message: Say(_, orders), .. } => {
                    out.rule("hears");
                    serve(orders, out);
                }
                Input::Reading(now) => self.readings.push(now),
                Input::Timer(_) => {}
            }
        }
    }

    fn serve<const READS: bool>(orders: Vec<Order>, out: &mut Effects<Servant<READS>>) {
        for order in orders {
            match order {
                Order::Send(to, word) => out.send(ProcessId(to), word),
                Order::Multicast(to, word) => {
                    out.multicast(to.into_iter().map(ProcessId), &word);
                }
                Order::Tell(notice) => out.notify(notice),
                Order::Set(timer, after) => out.set_timer(timer, Duration::from_millis(after)),
                Order::SetDeadline(timer, after) => {
                    out.set_deadline(timer, Duration::from_millis(after));
                }
                Order::Cancel(timer) => out.cancel_timer(timer),
                Order::Keep(what) => out.persist(what),
            }
        }
    }

    /// A world that writes down what is done in it, in order. Process 2 of three takes the steps.
    struct Page {
        view: View,
        clock: Option<Duration>,
        lines: Vec<String>,
    }

    impl Page {
        fn new() -> Self {
            Self { view: View::dense(1, 3), clock: None, lines: Vec::new() }
        }
    }

    impl<const READS: bool> Environment<Servant<READS>> for Page {
        fn view(&self) -> &View {
            &self.view
        }

        fn seat(&self) -> Seat {
            Seat(1)
        }

        fn reading(&self) -> Option<Duration> {
            self.clock
        }

        fn stepped(&mut self, _: &Servant<READS>, rules: Vec<&'static str>) {
            self.lines.push(format!("steps {}", rules.join(" ")));
        }

        fn send(&mut self, to: Seat, Say(word, _): Say, is_copy: bool) {
            let copy = if is_copy { " again" } else { "" };
            self.lines.push(format!("{word} to {}{copy}", self.view.at(to)));
        }

        fn send_own(&mut self, Say(word, _): &Say, is_copy: bool) {
            let copy = if is_copy { " again" } else { "" };
            self.lines.push(format!("{word} to itself{copy}"));
        }

        fn take_own(&mut self, Say(word, _): &Say) {
            self.lines.push(format!("takes {word}"));
        }

        fn notify(&mut self, notice: &'static str) {
            self.lines.push(format!("tells {notice}"));
        }

        fn set_timer(&mut self, timer: char, due: Due) {
            self.lines.push(match due {
                Due::Within { after, .. } => format!("sets {timer} to {after:?}"),
                Due::Deadline(after) => format!("sets {timer} to {after:?} at the latest"),
            });
        }

        fn cancel_timer(&mut self, timer: char) {
            self.lines.push(format!("cancels {timer}"));
        }

        fn persist(&mut self, stored: u8) {
            self.lines.push(format!("keeps {stored}"));
        }
    }

    /// What is done if process 2 is told to do this as it starts.
    fn begun(orders: &Vec<Order>) -> Vec<String> {
        let mut page = Page::new();
        let view = page.view.clone();
        let start = Start::<Servant<false>>::founding(ProcessId(2), &view, orders);
        Host::new().start(start, &mut page);
        page.lines
    }

    /// What is done if process 2 is told to do this later.
    fn done(orders: Vec<Order>) -> Vec<String> {
        let mut page = Page::new();
        let mut servant = Servant::<false> { readings: Vec::new() };
        Host::new().take(&mut servant, Input::Command(orders), &mut page);
        page.lines
    }

    fn say(to: u32, word: &'static str) -> Order {
        Order::Send(to, Say(word, Vec::new()))
    }

    #[test]
    fn effects_are_performed_first_to_last_at_the_start_and_later() {
        let orders = vec![
            say(1, "one"),
            Order::Keep(7),
            Order::Tell("news"),
            Order::Set('a', 5),
            Order::SetDeadline('b', 6),
            Order::Cancel('a'),
            say(3, "two"),
        ];
        let expected = [
            "steps ",
            "one to 1",
            "keeps 7",
            "tells news",
            "sets a to 5ms",
            "sets b to 6ms at the latest",
            "cancels a",
            "two to 3",
        ];
        assert_eq!(begun(&orders), expected);
        assert_eq!(done(orders), expected);
    }

    #[test]
    fn what_is_persisted_is_safe_before_what_stands_after_it() {
        let orders = vec![Order::Keep(1), say(1, "one"), Order::Keep(2), say(1, "two")];
        assert_eq!(done(orders), ["steps ", "keeps 1", "one to 1", "keeps 2", "two to 1"]);
    }

    #[test]
    fn own_messages_are_taken_in_once_the_step_is_done_in_order_and_before_what_comes_of_them() {
        let first = Say("first", vec![Order::Tell("of first"), say(2, "third"), say(1, "out")]);
        let second = Say("second", vec![Order::Tell("of second")]);
        let orders =
            vec![Order::Send(2, first), Order::Send(2, second), Order::Keep(1), say(3, "step")];
        let expected = [
            "steps ",
            "first to itself",
            "second to itself",
            "keeps 1",
            "step to 3",
            "takes first",
            "steps ",
            "tells of first",
            "third to itself",
            "out to 1",
            "takes second",
            "steps ",
            "tells of second",
            "takes third",
            "steps ",
        ];
        assert_eq!(done(orders.clone()), expected);
        assert_eq!(begun(&orders), expected);
    }

    #[test]
    fn one_own_message_is_taken_in_before_the_next_input() {
        let mut page = Page::new();
        let mut servant = Servant::<false> { readings: Vec::new() };
        let mut host = Host::new();
        for word in ["one", "two"] {
            host.take(&mut servant, Input::Command(vec![say(2, word)]), &mut page);
        }
        let expected = [
            "steps ",
            "one to itself",
            "takes one",
            "steps ",
            "steps ",
            "two to itself",
            "takes two",
            "steps ",
        ];
        assert_eq!(page.lines, expected);
    }

    #[test]
    fn a_message_to_a_stranger_goes_nowhere() {
        assert_eq!(done(vec![say(9, "lost"), say(1, "one")]), ["steps ", "one to 1"]);
    }

    fn all(to: &[u32], word: &'static str) -> Order {
        Order::Multicast(to.to_vec(), Say(word, Vec::new()))
    }

    #[test]
    fn of_a_multicast_the_first_that_leaves_is_a_transmission_and_the_others_are_copies() {
        let both = done(vec![all(&[1, 3], "one"), all(&[3, 1], "two")]);
        assert_eq!(both, ["steps ", "one to 1", "one to 3 again", "two to 3", "two to 1 again"]);
        let then_one = done(vec![all(&[1, 3], "one"), say(3, "two")]);
        assert_eq!(then_one, ["steps ", "one to 1", "one to 3 again", "two to 3"]);
        let after_one = done(vec![say(3, "one"), all(&[9, 1, 3], "two")]);
        assert_eq!(after_one, ["steps ", "one to 3", "two to 1", "two to 3 again"]);
    }

    #[test]
    fn neither_a_stranger_nor_oneself_is_the_transmission_of_a_multicast() {
        assert_eq!(done(vec![all(&[9, 1, 3], "one")]), ["steps ", "one to 1", "one to 3 again"]);
        let lines = done(vec![all(&[2, 1, 3], "one")]);
        assert_eq!(lines[1..4], ["one to itself", "one to 1", "one to 3 again"]);
        let lines = done(vec![all(&[1, 2, 3], "one")]);
        assert_eq!(lines[1..4], ["one to 1", "one to itself again", "one to 3 again"]);
    }

    #[test]
    fn who_explains_says_of_each_step_which_rules_fired() {
        let mut page = Page::new();
        let view = page.view.clone();
        let (mut host, orders) = (Host::explained(), vec![]);
        let start = Start::<Servant<false>>::founding(ProcessId(2), &view, &orders);
        let mut servant = host.start(start, &mut page);
        host.take(&mut servant, Input::Command(vec![say(2, "one")]), &mut page);
        let expected =
            ["steps starts", "steps is asked", "one to itself", "takes one", "steps hears"];
        assert_eq!(page.lines, expected);
    }

    #[test]
    fn who_is_in_somebodys_hands_does_what_these_do() {
        let tells = does(|_: &Input<Servant<false>>, effects: &mut Vec<Effect<_>>| {
            effects.push(Effect::Notify("tampered"));
        });
        let mut page = Page::new();
        let mut servant = Servant::<false> { readings: Vec::new() };
        let mut host = Host::new().tampered(Some(&Anybody::new(tells)));
        host.take(&mut servant, Input::Command(vec![say(2, "one")]), &mut page);
        let expected =
            ["steps ", "one to itself", "tells tampered", "takes one", "steps ", "tells tampered"];
        assert_eq!(page.lines, expected);
    }

    /// What such a process has read after an input, and after what it said to itself.
    fn read<const READS: bool>(clock: Option<Duration>) -> Vec<Duration> {
        let mut page = Page { clock, ..Page::new() };
        let mut servant = Servant::<READS> { readings: Vec::new() };
        Host::new().take(&mut servant, Input::Command(vec![say(2, "one")]), &mut page);
        servant.readings
    }

    #[test]
    fn only_who_asks_for_readings_gets_them_before_every_input_and_only_where_there_is_a_clock() {
        let now = Duration::from_millis(7);
        assert_eq!(read::<true>(Some(now)), [now, now]);
        assert_eq!(read::<true>(None), []);
        assert_eq!(read::<false>(Some(now)), []);
    }
}
