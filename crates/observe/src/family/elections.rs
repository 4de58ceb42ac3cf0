//! Elections: what is seen, said and judged of them.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::any::Any;

use conclave_core::election::{
    AGREEMENT, Command, Elections, LARGEST, Notice, ONE_AT_A_TIME, TERMS, Term, Version,
};
use conclave_core::{Family, Renaming, Seat, View};

use super::{Breach, Brief, Memory, Panel, Spoken, Vocabulary, Wrong};
use crate::measure::Histogram;
use crate::property::{
    Agreement, Deciding, LargestId, OneAtATime, OnePerTerm, Register, Versions, Wave,
};
use crate::{
    BarChange, BarSort, Ending, Event, Exclusion, Fill, MarkSort, Moment, Report, Said, Shape,
    Time, Verdict, What, Whose, Word,
};

/// What happened to an election or to one who takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// Its application asked for an election.
    Called,
    /// It takes part in an election.
    Electing,
    /// It learnt who leads.
    Elected {
        /// The one that leads, by seat.
        leader: Seat,
        /// In which term; 0 where there are none.
        term: Term,
    },
    /// It knows of no leader, and is none itself.
    Vacant,
    /// Its application asked for the value that leaders keep.
    Reading,
    /// It told the value.
    Read {
        /// The version of the value that it told.
        version: Version,
        /// The value that it told.
        value: u64,
    },
    /// Its application asked for another value to be kept.
    Writing {
        /// The value that is to be kept.
        value: u64,
    },
    /// It said that the value is safe.
    Wrote {
        /// The version that the value got.
        version: Version,
    },
    /// It would not, or could not, do what was asked.
    Refused,
    /// The process crashed.
    Crashed,
    /// It came back.
    Returned,
    /// Another took its place.
    Replaced,
    /// It stopped for a while.
    Paused,
    /// It went on.
    Resumed,
    /// Something that no election is concerned with.
    Other,
}

impl Seen {
    /// What an event of a run means to an election.
    pub fn of(what: What) -> Self {
        match what {
            What::Asked(said) | What::Told(said) => Self::said(said),
            What::Crashed => Self::Crashed,
            What::Returned => Self::Returned,
            What::Replaced => Self::Replaced,
            What::Paused => Self::Paused,
            What::Resumed => Self::Resumed,
            _ => Self::Other,
        }
    }

    fn said(said: Said) -> Self {
        let [one, other] = said.numbers;
        match (said.word.code, said.whom) {
            (1, _) => Self::Called,
            (2, _) => Self::Electing,
            (3, Some(leader)) => Self::Elected { leader, term: Term(one) },
            (4, _) => Self::Vacant,
            (5, _) => Self::Reading,
            (6, _) => Self::Read { version: Version(one), value: other },
            (7, _) => Self::Writing { value: one },
            (8, _) => Self::Wrote { version: Version(one) },
            (9, _) => Self::Refused,
            _ => Self::Other,
        }
    }

    /// This, as an event of any run.
    pub const fn what(self) -> What {
        match self {
            Self::Called => Said::new(&CALLED).what(),
            Self::Electing => Said::new(&ELECTING).what(),
            Self::Elected { leader, term } => Said::new(&ELECTED).of(leader).with(term.0).what(),
            Self::Vacant => Said::new(&VACANT).what(),
            Self::Reading => Said::new(&READING).what(),
            Self::Read { version, value } => Said::new(&READ).with_both(version.0, value).what(),
            Self::Writing { value } => Said::new(&WRITING).with(value).what(),
            Self::Wrote { version } => Said::new(&WROTE).with(version.0).what(),
            Self::Refused => Said::new(&REFUSED).what(),
            Self::Crashed => What::Crashed,
            Self::Returned => What::Returned,
            Self::Replaced => What::Replaced,
            Self::Paused => What::Paused,
            Self::Resumed => What::Resumed,
            Self::Other => What::TimerFired,
        }
    }
}

static CALLED: Word = Word::asked("called", 1, |_, _, _| "calls an election".into())
    .marked(|_, _| Some(&CALL))
    .at(&[Moment::new("calling")]);

static ELECTING: Word = Word::told(
    "electing",
    2,
    |_, _, _| "takes part in an election".into(),
    |_, _, _| "takes part in the election".into(),
)
.bars(&[BarChange::Begins(&TAKING_PART)])
.at(&[Moment::new("electing")]);

static ELECTED: Word = Word::told("elected", 3, elected, elected_in_steps)
    .of("leader")
    .with(&["term"])
    .bars(&[BarChange::Ends(&TAKING_PART), BarChange::IsItself(&LEADING)])
    .marked(|said, seat| (said.whom != Some(seat)).then_some(&TOLD))
    .at(&[
        Moment { name: "elected", whose: Whose::Own },
        Moment { name: "following", whose: Whose::Others },
    ]);

static VACANT: Word =
    Word::told("vacant", 4, |_, _, _| "knows no leader".into(), |_, _, _| "knows no leader".into())
        .bars(&[BarChange::Ends(&LEADING)]);

static READING: Word =
    Word::asked("reading", 5, |_, _, _| "is asked to read".into()).at(&[Moment::new("reading")]);

static READ: Word = Word::told(
    "read",
    6,
    |said, _, _| format!("reads {}, as of version {}", said.numbers[1], said.numbers[0]),
    |said, _, _| format!("read {}, as of version {}", said.numbers[1], said.numbers[0]),
)
.with(&["version", "value"])
.marked(|_, _| Some(&READS));

static WRITING: Word =
    Word::asked("writing", 7, |said, _, _| format!("is asked to write {}", said.numbers[0]))
        .with(&["value"])
        .at(&[Moment::new("writing")]);

static WROTE: Word = Word::told(
    "wrote",
    8,
    |said, _, _| format!("has written version {}", said.numbers[0]),
    |said, _, _| format!("written, as version {}", said.numbers[0]),
)
.with(&["version"])
.marked(|_, _| Some(&WRITES));

static REFUSED: Word =
    Word::told("refused", 9, |_, _, _| "refuses".into(), |_, _, _| "refused".into());

fn elected(said: &Said, _: Seat, names: &crate::Names<'_>) -> String {
    let leader = said.whom.map(|leader| names(leader).to_string()).unwrap_or_default();
    match said.numbers[0] {
        0 => format!("learns that {leader} leads"),
        term => format!("learns that {leader} leads in term {term}"),
    }
}

fn elected_in_steps(said: &Said, seat: Seat, names: &crate::Names<'_>) -> String {
    let term = match said.numbers[0] {
        0 => String::new(),
        term => format!(" in term {term}"),
    };
    match said.whom {
        Some(leader) if leader != seat => format!("elected: {}{term}", names(leader)),
        _ => format!("LEADS{term}"),
    }
}

static TAKING_PART: BarSort = BarSort {
    name: "electing",
    who: "electors",
    number: None,
    is_numbered_from_0: false,
    is_solid: false,
    is_in_front: false,
    exclusion: Exclusion::None,
};

// Who leads may take part in the next election already: that it still leads must be seen.
static LEADING: BarSort = BarSort {
    name: "leading",
    who: "leaders",
    number: Some("term"),
    is_numbered_from_0: false,
    is_solid: true,
    is_in_front: true,
    exclusion: Exclusion::IfPromised(ONE_AT_A_TIME),
};

static CALL: MarkSort = MarkSort {
    shape: Shape::Square,
    fill: Fill::Solid,
    meaning: "calls an election",
    words: |_, _, _| "calls".into(),
};

static TOLD: MarkSort = MarkSort {
    shape: Shape::Diamond,
    fill: Fill::Hollow,
    meaning: "told who leads",
    words: |said, _, names| said.whom.map(|it| names(it).to_string()).unwrap_or_default(),
};

static READS: MarkSort = MarkSort {
    shape: Shape::Dot,
    fill: Fill::Hollow,
    meaning: "read",
    words: |said, _, _| format!("read {}", in_term(said.numbers[0])),
};

static WRITES: MarkSort = MarkSort {
    shape: Shape::Dot,
    fill: Fill::Solid,
    meaning: "wrote",
    words: |said, _, _| format!("wrote {}", in_term(said.numbers[0])),
};

/// A version as the term in which it was written, and its number in that term.
fn in_term(version: u64) -> String {
    format!("{}.{}", version >> 32, version & 0xffff_ffff)
}

/// Who was elected was not there, or somebody larger was.
pub const WRONG_LEADER: Breach = Breach {
    code: 0,
    promise: "the largest that is up is elected",
    finding: "one leads who is not the largest",
    follows_from: LARGEST,
    needs_time: false,
};

/// An election is over, and two who are up believe in different leaders.
pub const DISAGREEMENT: Breach = Breach {
    code: 1,
    promise: "all agree in the end",
    finding: "two believe in different leaders",
    follows_from: LARGEST.and(AGREEMENT),
    needs_time: false,
};

/// Two lead in one term.
pub const TWO_IN_A_TERM: Breach = Breach {
    code: 2,
    promise: "at most one leads in a term",
    finding: "two leaders of one term",
    follows_from: TERMS,
    needs_time: false,
};

/// Two lead at a time.
pub const TWO_LEADERS: Breach = Breach {
    code: 3,
    promise: "at most one leads at a time",
    finding: "two leaders at a time",
    follows_from: ONE_AT_A_TIME,
    needs_time: true,
};

/// The vocabulary of elections.
pub static VOCABULARY: Vocabulary = Vocabulary {
    family: Elections::NAME,
    words: &[&CALLED, &ELECTING, &ELECTED, &VACANT, &READING, &READ, &WRITING, &WROTE, &REFUSED],
    promises: &["largest-id", "one-per-term", "one-at-a-time", "agreement"],
    breaches: &[WRONG_LEADER, DISAGREEMENT, TWO_IN_A_TERM, TWO_LEADERS],
    eventually: "everybody who takes part eventually decides",
    judge: |brief| Box::new(ElectionPanel::new(brief)),
    memory: |brief| Box::new(ElectionMemory::new(brief)),
    summary,
    is_contended: false,
    serves: |said| said.word.code == ELECTED.code,
    serves_without_crash: true,
    coherence: None,
};

fn summary(said: &[(Seat, Said)]) -> String {
    let told = || said.iter().filter(|(_, said)| said.word.code == ELECTED.code);
    let leads = told().filter(|(seat, said)| said.whom == Some(*seat)).count();
    let told = match told().count() {
        1 => "1 process is told".into(),
        count => format!("{count} times a process is told"),
    };
    format!("{told} who leads, {leads} of them that it leads itself")
}

impl Spoken for Elections {
    const VOCABULARY: &'static Vocabulary = &VOCABULARY;

    fn asked(command: &Command, _: &View) -> Said {
        match *command {
            Command::Call => Said::new(&CALLED),
            Command::Read => Said::new(&READING),
            Command::Write(value) => Said::new(&WRITING).with(value),
        }
    }

    fn told(notice: &Notice, view: &View) -> Option<Said> {
        Some(match *notice {
            Notice::Electing => Said::new(&ELECTING),
            Notice::Elected { leader, term } => {
                Said::new(&ELECTED).of(view.seat(leader)?).with(term.0)
            }
            Notice::Vacant => Said::new(&VACANT),
            Notice::Read { version, value } => Said::new(&READ).with_both(version.0, value),
            Notice::Wrote { version } => Said::new(&WROTE).with(version.0),
            Notice::Refused => Said::new(&REFUSED),
        })
    }

    fn command(said: &Said, _: &View) -> Option<Command> {
        match Seen::said(*said) {
            Seen::Called => Some(Command::Call),
            Seen::Reading => Some(Command::Read),
            Seen::Writing { value } => Some(Command::Write(value)),
            _ => None,
        }
    }
}

/// What was found of the elections of a run.
#[derive(Clone, Debug)]
pub struct ElectionPanel {
    /// Liveness: who has not decided; and who believes in whom.
    pub deciding: Deciding,
    /// How many decisions there were.
    pub decisions: u64,
    /// Safety, where the largest is to be elected.
    pub largest: Option<LargestId>,
    /// Agreement in the end, where that is promised.
    pub agreement: Agreement,
    /// Safety, where there are terms.
    pub per_term: OnePerTerm,
    /// Safety, where one leads at a time.
    pub one_at_a_time: Option<OneAtATime>,
    /// Safety of the value that leaders keep.
    pub versions: Versions,
    /// Safety of that value, judged by what was read; known at the end.
    pub register: Register,
    /// From the first call to the last process that knows, of every election that ended.
    pub turnaround: Histogram,
    /// The turnaround of the last election that ended.
    pub last_turnaround: Option<Time>,
    /// The highest term that had a leader.
    latest: Term,
    /// Whether what is under way was called, or has brought a leader that is new. Otherwise
    /// somebody merely learns who leads: it came back, or the word to it was lost.
    is_election: bool,
    /// By seat: whether it ever had to do with an election. Where all are to agree in the end, all
    /// have; elsewhere some may be a store for the others.
    takes_part: Vec<bool>,
}

impl ElectionPanel {
    /// For these processes and promises.
    pub fn new(brief: &Brief<'_>) -> Self {
        let (members, largest) = (brief.ids, brief.promises.keeps(LARGEST));
        let agree = DISAGREEMENT.is_judged(brief.promises);
        let one_at_a_time = brief.promises.keeps(ONE_AT_A_TIME);
        Self {
            deciding: Deciding::new(members.len(), agree),
            decisions: 0,
            largest: largest.then(|| LargestId::new(members)),
            agreement: Agreement::default(),
            per_term: OnePerTerm::default(),
            one_at_a_time: one_at_a_time.then(|| OneAtATime::new(members.len())),
            versions: Versions::new(members.len()),
            register: Register::new(members.len()),
            turnaround: Histogram::default(),
            last_turnaround: None,
            latest: Term::NONE,
            is_election: false,
            takes_part: vec![agree; members.len()],
        }
    }

    fn take_in(&mut self, event: &Event) {
        self.deciding.on(event);
        let seen = Seen::of(event.what);
        self.takes_part[event.seat.index()] |=
            matches!(seen, Seen::Called | Seen::Electing | Seen::Elected { .. } | Seen::Vacant);
        match seen {
            Seen::Called => self.is_election = true,
            Seen::Elected { term, .. } => {
                self.decisions += 1;
                // Where there are no terms, nobody learns of a leader but by an election.
                self.is_election |= term == Term::NONE || term > self.latest;
                self.latest = self.latest.max(term);
            }
            _ => {}
        }
        if let Some(largest) = &mut self.largest {
            largest.on(event, self.deciding.election());
        }
        self.per_term.on(event);
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.on(event);
        }
        self.versions.on(event);
        self.register.on(event);
    }

    /// Nothing that belongs to a call is in flight. Says whether an election is over by that. Asked
    /// at every step of upkeep, so mostly there is nothing to it.
    fn take_in_quiet(&mut self, now: Time) -> bool {
        let over = self.deciding.on_quiet();
        if let Some(wave) = over {
            self.on_over(wave, now);
        }
        over.is_some()
    }

    fn on_over(&mut self, wave: Wave, now: Time) {
        if let Some(largest) = &mut self.largest {
            largest.on_end();
        }
        let is_election = core::mem::take(&mut self.is_election);
        let Some(decided_at) = wave.decided_at else { return };
        if is_election {
            self.turnaround.record(decided_at - wave.since);
            self.last_turnaround = Some(decided_at - wave.since);
        }
        if self.deciding.is_for_all() {
            self.agreement.on_end(now, &self.deciding);
        }
    }

    /// Whether a promise was broken.
    pub fn is_broken(&self) -> bool {
        self.largest.as_ref().is_some_and(|it| it.broken().is_some())
            || self.agreement.broken().is_some()
            || self.per_term.broken().is_some()
            || self.one_at_a_time.as_ref().is_some_and(|it| it.broken().is_some())
            || self.versions.broken().is_some()
            || self.register.broken().is_some()
    }

    /// Whom all that are up believe to lead, if they agree and nobody is undecided.
    pub fn leader(&self) -> Option<Seat> {
        let beliefs = self.deciding.beliefs();
        let mut leaders = beliefs.filter(|(seat, _)| self.takes_part[seat.index()]).map(|it| it.1);
        let first = leaders.next()??;
        (self.deciding.undecided() == 0 && leaders.all(|leader| leader == Some(first)))
            .then_some(first)
    }
}

impl Panel for ElectionPanel {
    fn on(&mut self, event: &Event) {
        self.take_in(event);
    }

    fn wants_quiet(&self) -> bool {
        true
    }

    fn on_quiet(&mut self, now: Time) -> bool {
        self.take_in_quiet(now)
    }

    fn on_end(&mut self, now: Time) {
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.look(now);
        }
        self.register.on_end();
    }

    fn waiting(&self) -> usize {
        self.deciding.undecided()
    }

    fn waiting_seats(&self) -> Vec<Seat> {
        self.deciding.iter().collect()
    }

    fn is_progress(&self, what: &What) -> bool {
        matches!(Seen::of(*what), Seen::Elected { .. } | Seen::Called)
    }

    fn served(&self) -> u64 {
        self.decisions
    }

    fn has_seen_enough(&self) -> bool {
        self.is_broken()
    }

    fn verdict(&self, _: Ending) -> Option<Verdict> {
        self.is_broken().then_some(Verdict::Violated)
    }

    fn violations(&self) -> Vec<(&'static str, u64)> {
        let all = [
            (WRONG_LEADER.finding, self.largest.as_ref().map_or(0, LargestId::times)),
            (DISAGREEMENT.finding, self.agreement.times()),
            (TWO_IN_A_TERM.finding, self.per_term.times()),
            (TWO_LEADERS.finding, self.one_at_a_time.as_ref().map_or(0, OneAtATime::times)),
            ("an answer older than what was known", self.versions.times()),
            ("values that were seen in no order", u64::from(self.register.broken().is_some())),
        ];
        all.into_iter().filter(|(_, times)| *times > 0).collect()
    }

    fn wrongs(&self) -> Vec<Wrong> {
        let largest = self.largest.as_ref().and_then(LargestId::broken).map(|broken| Wrong {
            at: broken.at,
            until: None,
            seats: [broken.leader].into_iter().chain(broken.larger).collect(),
            words: if broken.larger.is_some() { "not the largest" } else { "not up" },
        });
        let agreement = self.agreement.broken().map(|broken| Wrong {
            at: broken.at,
            until: None,
            seats: Vec::from([broken.one.0, broken.other.0]),
            words: "no agreement",
        });
        let version = self.versions.broken().map(|broken| Wrong {
            at: broken.at,
            until: None,
            seats: Vec::from([broken.seat]),
            words: "an old version",
        });
        largest.or(agreement).or(version).into_iter().collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn boxed(&self) -> Box<dyn Panel> {
        Box::new(self.clone())
    }
}

impl Report {
    /// What was found of elections, if that is what it was about.
    pub fn elections(&self) -> Option<&ElectionPanel> {
        self.of()
    }
}

/// What a search must remember of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ElectionMemory {
    /// Who takes part and has not decided.
    pub deciding: Deciding,
    /// Where the largest id must win.
    pub largest: Option<LargestId>,
    /// Agreement in the end, where that is promised.
    pub agreement: Agreement,
    /// At most one leader in a term.
    pub per_term: OnePerTerm,
    /// Where no two may lead at a time.
    pub one_at_a_time: Option<OneAtATime>,
}

impl ElectionMemory {
    fn new(brief: &Brief<'_>) -> Self {
        let (members, largest) = (brief.ids.len(), brief.promises.keeps(LARGEST));
        let agree = DISAGREEMENT.is_judged(brief.promises);
        let one_at_a_time = brief.promises.keeps(ONE_AT_A_TIME);
        Self {
            deciding: Deciding::new(members, agree),
            largest: largest.then(|| LargestId::new(brief.ids)),
            agreement: Agreement::default(),
            per_term: OnePerTerm::default(),
            one_at_a_time: one_at_a_time.then(|| OneAtATime::new(members)),
        }
    }
}

impl Memory for ElectionMemory {
    fn on(&mut self, seat: Seat, what: What) {
        let event = &Event { at: Time::ZERO, seat, what };
        self.deciding.on(event);
        if let Some(largest) = &mut self.largest {
            largest.on(event, self.deciding.election());
        }
        self.per_term.on(event);
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.on(event);
        }
    }

    fn wants_quiet(&self) -> bool {
        true
    }

    fn on_quiet(&mut self) {
        let Some(wave) = self.deciding.on_quiet() else { return };
        if let Some(largest) = &mut self.largest {
            largest.on_end();
        }
        if wave.decided_at.is_some() && self.deciding.is_for_all() {
            self.agreement.on_end(Time::ZERO, &self.deciding);
        }
    }

    fn on_tick(&mut self) {
        if let Some(one_at_a_time) = &mut self.one_at_a_time {
            one_at_a_time.look(Time::DELAY);
        }
    }

    fn broken(&self) -> Option<Breach> {
        let largest = self.largest.as_ref().and_then(LargestId::broken);
        let leads = self.one_at_a_time.as_ref().and_then(OneAtATime::broken);
        largest
            .map(|_| WRONG_LEADER)
            .or(self.agreement.broken().map(|_| DISAGREEMENT))
            .or(self.per_term.broken().map(|_| TWO_IN_A_TERM))
            .or(leads.map(|_| TWO_LEADERS))
    }

    fn pending(&self) -> Vec<Seat> {
        self.deciding.iter().collect()
    }

    /// Where the largest must win, names decide who is right to be elected. (What is agreed on
    /// without that goes by places on a ring, so far.)
    fn renamed(&self, names: &Renaming) -> Option<Self> {
        if self.deciding.is_for_all() {
            return None;
        }
        Some(Self {
            deciding: self.deciding.renamed(names),
            largest: None,
            agreement: self.agreement,
            per_term: self.per_term.renamed(names),
            one_at_a_time: self.one_at_a_time.as_ref().map(|it| it.renamed(names)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conclave_core::ProcessId;

    const MEMBERS: [ProcessId; 3] = [ProcessId(1), ProcessId(2), ProcessId(3)];

    fn panel(largest: bool) -> ElectionPanel {
        let promises = if largest { LARGEST } else { TERMS };
        let ordering = crate::JudgeOrdering::No;
        ElectionPanel::new(&Brief { ids: &MEMBERS, promises, ordering })
    }

    fn elected(leader: u32, term: u64) -> Seen {
        Seen::Elected { leader: Seat(leader), term: Term(term) }
    }

    /// All is quiet after every part of the history. Says how many elections were counted, and how
    /// long the last one took.
    fn counted(parts: &[&[(u64, u32, Seen)]]) -> (u64, Option<Time>) {
        let mut elections = panel(false);
        let mut now = Time::ZERO;
        for part in parts {
            for &(at, seat, seen) in *part {
                now = Time(at);
                elections.on(&Event { at: now, seat: Seat(seat), what: seen.what() });
            }
            elections.on_quiet(now);
        }
        (elections.turnaround.count(), elections.last_turnaround)
    }

    const FIRST: &[(u64, u32, Seen)] = &[
        (1, 0, Seen::Called),
        (1, 0, Seen::Electing),
        (3, 0, Seen::Elected { leader: Seat(0), term: Term(1) }),
        (4, 1, Seen::Elected { leader: Seat(0), term: Term(1) }),
        (4, 2, Seen::Elected { leader: Seat(0), term: Term(1) }),
    ];

    #[test]
    fn who_comes_back_and_learns_who_leads_has_held_no_election() {
        let learns = [(9, 2, Seen::Returned), (12, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &learns]), (1, Some(Time(3))));
        let asks_first = [(9, 2, Seen::Returned), (9, 2, Seen::Electing), (12, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &asks_first]), (1, Some(Time(3))));
    }

    #[test]
    fn a_leader_of_a_new_term_is_an_election_even_if_nobody_called_it() {
        let succeeds = [(20, 1, Seen::Electing), (22, 1, elected(1, 2)), (23, 2, elected(1, 2))];
        assert_eq!(counted(&[FIRST, &succeeds]), (2, Some(Time(3))));
        // And who hears of that term late has learnt, again.
        let late = [(40, 0, elected(1, 2))];
        assert_eq!(counted(&[FIRST, &succeeds, &late]), (2, Some(Time(3))));
        let same_again = [(50, 0, elected(0, 3)), (51, 1, elected(0, 3))];
        assert_eq!(counted(&[FIRST, &succeeds, &same_again]), (3, Some(Time(1))));
    }

    #[test]
    fn what_was_called_is_an_election_and_so_is_every_decision_without_terms() {
        let called = [(20, 1, Seen::Called), (22, 1, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &called]), (2, Some(Time(2))));
        let announces = [(20, 2, Seen::Returned), (20, 2, elected(2, 0)), (21, 0, elected(2, 0))];
        assert_eq!(counted(&[FIRST, &announces]), (2, Some(Time(1))));
    }

    #[test]
    fn a_call_that_came_to_nothing_does_not_make_an_election_of_the_next_word() {
        let dies = [(20, 1, Seen::Called), (20, 1, Seen::Electing), (21, 1, Seen::Crashed)];
        let learns = [(30, 2, elected(0, 1))];
        assert_eq!(counted(&[FIRST, &dies, &learns]), (1, Some(Time(3))));
    }

    fn leader(largest: bool, history: &[(u64, u32, Seen)]) -> Option<Seat> {
        let mut elections = panel(largest);
        for &(at, seat, seen) in history {
            elections.on(&Event { at: Time(at), seat: Seat(seat), what: seen.what() });
        }
        elections.leader()
    }

    #[test]
    fn a_leader_is_who_all_that_are_up_and_take_part_believe_in() {
        let both = [(1, 0, elected(2, 0)), (1, 1, elected(2, 0))];
        assert_eq!(leader(false, &both), Some(Seat(2)), "the third may be a store");
        assert_eq!(leader(true, &both), None, "the third was not told");
        let all = [&both[..], &[(1, 2, elected(2, 0))]].concat();
        assert_eq!(leader(true, &all), Some(Seat(2)));
        assert_eq!(leader(false, &[&both[..], &[(2, 0, elected(1, 0))]].concat()), None);
        let gone = [(2, 0, elected(1, 0)), (3, 0, Seen::Crashed)];
        assert_eq!(leader(false, &[&both[..], &gone].concat()), Some(Seat(2)));
        let back = [&both[..], &gone, &[(4, 0, Seen::Returned)]].concat();
        assert_eq!(leader(false, &back), None, "it does not know yet");
    }
}
