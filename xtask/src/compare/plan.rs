//! A random plan: a `conclave run` that one seed decides.

use anyhow::Context;
use serde_json::Value;

use super::dice::Dice;

/// As much of the catalogue as a plan needs to know.
pub struct Algorithm {
    pub name: String,
    kind: Kind,
    /// The options that set its timers.
    options: Vec<String>,
    /// Whether process 0 takes part beside those that are named.
    has_coordinator: bool,
    has_voting_sets: bool,
}

/// A run that builds are to carry out alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The words of the command line, from `run` on.
    pub words: Vec<String>,
    /// What is to stand in the file [`SCENARIO`], if the words name it.
    pub scenario: Option<String>,
}

/// The file of a scenario, in the folder where a plan is carried out.
pub const SCENARIO: &str = "plan.scenario";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mutex,
    Election,
    Detector,
}

impl Algorithm {
    /// Reads an entry of `conclave algorithms --json`.
    pub fn of(entry: &Value) -> anyhow::Result<Self> {
        let name = entry["name"].as_str().context("an algorithm has no name")?;
        let kind = match entry["kind"].as_str() {
            Some("mutex") => Kind::Mutex,
            Some("election") => Kind::Election,
            Some("detector") => Kind::Detector,
            _ => anyhow::bail!("{name} is of no known kind: {}", entry["kind"]),
        };
        let options = entry["options"].as_array().context("an algorithm has no `options`")?;
        let needs = |what: &str| entry["needs"][what].as_bool().unwrap_or(false);
        Ok(Self {
            name: name.to_owned(),
            kind,
            options: options.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            has_coordinator: needs("coordinator"),
            has_voting_sets: needs("voting_sets"),
        })
    }

    /// The plan that this seed decides. Most plans are sound and have few faults; some are refused,
    /// which must be alike as well.
    pub fn plan(&self, seed: u64) -> Plan {
        let mut planner = Planner {
            algorithm: self,
            dice: Dice::new(&self.name, seed),
            clients: Vec::new(),
            delay: 0,
            dead: Vec::new(),
            words: vec!["run".to_owned(), self.name.clone()],
            scenario: None,
        };
        planner.members();
        planner.network();
        planner.faults();
        planner.work();
        planner.timers();
        planner.limits();
        planner.say("--seed", seed.to_string());
        Plan { words: planner.words, scenario: planner.scenario }
    }
}

/// A plan in the making.
struct Planner<'a> {
    algorithm: &'a Algorithm,
    dice: Dice,
    /// Everybody but a coordinator.
    clients: Vec<u64>,
    /// About how long a message takes, in microseconds: all other times are measured by it.
    delay: u64,
    /// Who is down from the start, and must not be asked for anything.
    dead: Vec<u64>,
    words: Vec<String>,
    scenario: Option<String>,
}

/// Those whose requests are stamped by a logical clock, which a scenario can set.
const STAMPING: [&str; 4] = ["lamport", "ricart-agrawala", "ricart-agrawala-deferred", "maekawa"];

/// How many events a run may take: enough for all but those that go on for ever.
const EVENTS_MAX: u64 = 20_000;

impl Planner<'_> {
    fn say(&mut self, option: &str, value: impl Into<String>) {
        self.words.extend([option.to_owned(), value.into()]);
    }

    /// So many delays. Half of these times are whole numbers of delays, so that in the unit network
    /// several things happen at once: what comes first then is easily changed by mistake.
    fn micros(&mut self, low: u64, high: u64) -> u64 {
        match self.dice.percent(50) {
            true => self.dice.between(low..=high) * self.delay,
            false => self.dice.between(low * self.delay..=high * self.delay),
        }
    }

    fn time(&mut self, low: u64, high: u64) -> String {
        micros(self.micros(low, high))
    }

    fn members(&mut self) {
        let most = if self.dice.percent(90) { 7 } else { 12 };
        let count = if self.dice.percent(2) { 1 } else { self.dice.between(2..=most) };
        if self.dice.percent(70) {
            self.clients = (1..=count).collect();
            self.say("-n", count.to_string());
        } else {
            let largest = self.dice.pick(&[20, 100, 4_000_000_000]);
            while (self.clients.len() as u64) < count {
                let id = self.dice.between(1..=largest);
                if !self.clients.contains(&id) {
                    self.clients.push(id);
                }
            }
            self.say("--ids", commas(&self.clients));
        }
        if self.algorithm.has_voting_sets && self.dice.percent(50) {
            // The smallest plane has seven points, and most other numbers have none.
            let names = ["grid", "majority", "all", "plane"];
            let usable = if count == 7 || self.dice.percent(5) { &names } else { &names[..3] };
            let construction = self.dice.pick(usable);
            self.say("--voting-sets", construction);
        }
    }

    fn network(&mut self) {
        let (model, delay) = match self.dice.between(0..=3) {
            0 => ("unit".to_owned(), 1_000),
            1 => {
                let bound = self.dice.between(500..=10_000);
                (format!("sync:{}", micros(bound)), bound)
            }
            2 => {
                let low = self.dice.between(100..=2_000);
                let high = self.dice.between(low..=10_000);
                (format!("uniform:{}..{}", micros(low), micros(high)), high)
            }
            _ => {
                let mean = self.dice.between(200..=5_000);
                (format!("exponential:{}", micros(mean)), mean)
            }
        };
        self.delay = delay;
        self.say("--network", model);
        if self.dice.percent(20) {
            self.words.push("--no-fifo".to_owned());
        }
    }

    fn work(&mut self) {
        match self.algorithm.kind {
            Kind::Mutex if self.dice.percent(15) => self.script(),
            Kind::Mutex => self.workload(),
            Kind::Election => self.calls(),
            Kind::Detector => {}
        }
        if self.algorithm.kind != Kind::Mutex && self.dice.percent(50) {
            let time = self.time(5, 200);
            self.say("--for", time);
        }
    }

    fn workload(&mut self) {
        let workload = match self.dice.between(0..=3) {
            0 => "one".to_owned(),
            1 => format!("think:{}", self.time(1, 40)),
            _ => "contend".to_owned(),
        };
        self.say("--workload", workload);
        if self.dice.percent(80) {
            // Only where hundreds enter can somebody be found to starve.
            let entries = match self.dice.percent(4) {
                true => self.dice.between(200..=900),
                false => self.dice.between(1..=30),
            };
            self.say("--entries", entries.to_string());
        }
        if self.dice.percent(50) {
            let hold = self.time(0, 6);
            self.say("--hold", hold);
        }
        if self.dice.percent(10) {
            self.words.push("--ordering".to_owned());
        }
    }

    /// Who asks when, and how it begins, from a file.
    fn script(&mut self) {
        let mut lines = Vec::new();
        for _ in 0..self.dice.between(1..=15) {
            let hold = if self.dice.percent(30) { self.time(0, 6) } else { String::new() };
            let word = if hold.is_empty() { "" } else { " hold " };
            lines.push(format!("request {}{word}{hold}", self.client_at(40)));
        }
        if self.dice.percent(30) {
            lines.push(format!("holder {}", self.client()));
        }
        if STAMPING.contains(&&*self.algorithm.name) && self.dice.percent(50) {
            let shows = self.dice.between(1..=200);
            lines.push(format!("clock {} {shows}", self.client()));
        }
        self.scenario = Some(lines.join("\n") + "\n");
        self.say("--scenario", SCENARIO);
    }

    fn client(&mut self) -> u64 {
        self.dice.pick(&self.clients)
    }

    /// Somebody at some time, e.g. `3@1500us`.
    fn client_at(&mut self, latest: u64) -> String {
        format!("{}@{}", self.client(), self.time(0, latest))
    }

    fn calls(&mut self) {
        let is_up = |id: &u64| !self.dead.contains(id);
        let up: Vec<u64> = self.clients.iter().copied().filter(is_up).collect();
        if !up.is_empty() && self.dice.percent(70) {
            let count = self.dice.between(1..=3);
            let callers: Vec<String> = (0..count).map(|_| self.call(&up)).collect();
            self.say("--initiators", commas(&callers));
        }
        if self.takes("--lease") && self.dice.percent(50) {
            let time = self.time(2, 40);
            self.say("--ask-every", time);
        }
    }

    fn call(&mut self, up: &[u64]) -> String {
        let caller = self.dice.pick(up);
        match self.dice.percent(50) {
            true => caller.to_string(),
            false => format!("{caller}@{}", self.time(0, 30)),
        }
    }

    fn takes(&self, option: &str) -> bool {
        self.algorithm.options.iter().any(|it| it == option)
    }

    fn timers(&mut self) {
        for option in &self.algorithm.options {
            if !self.dice.percent(30) {
                continue;
            }
            match &**option {
                "--skip-dead" => self.words.push(option.clone()),
                "--phi" => {
                    let tenths = self.dice.between(1..=200);
                    self.say(option, format!("{}.{}", tenths / 10, tenths % 10));
                }
                _ => {
                    let (low, high) = match &**option {
                        "--bound" => (1, 4),
                        "--beat" => (4, 30),
                        "--lease" | "--session" => (5, 90),
                        _ => (1, 12),
                    };
                    let time = self.time(low, high);
                    self.say(option, time);
                }
            }
        }
    }

    /// When to give up, so that every run ends soon; now and then before it has done its work.
    fn limits(&mut self) {
        let events = if self.dice.percent(4) { self.dice.between(1..=300) } else { EVENTS_MAX };
        self.say("--max-events", events.to_string());
        let time =
            if self.dice.percent(4) { self.time(1, 60) } else { micros(20_000 * self.delay) };
        self.say("--max-time", time);
        if self.dice.percent(40) {
            let patience = self.time(20, 300);
            self.say("--patience", patience);
        }
    }
}

/// Faults.
impl Planner<'_> {
    fn faults(&mut self) {
        let mut processes = self.clients.clone();
        processes.extend(self.algorithm.has_coordinator.then_some(0));
        // Each dies, is paused and drifts once at most: more would as a rule be refused.
        let mut mortal = self.dice.shuffled(&processes);
        let mut idle = self.dice.shuffled(&processes);
        let mut drifting = self.dice.shuffled(&processes);
        for _ in 0..self.fault_count() {
            match self.dice.between(0..=9) {
                0..=2 => mortal.pop().into_iter().for_each(|it| self.crash(it)),
                3 => mortal.pop().into_iter().for_each(|it| self.dead(it)),
                4..=5 => idle.pop().into_iter().for_each(|it| self.pause(it)),
                6 => drifting.pop().into_iter().for_each(|it| self.drift(it)),
                _ => self.partition(&processes),
            }
        }
        for option in ["--loss", "--duplicate"] {
            if self.dice.percent(12) {
                let percent = self.dice.between(1..=20);
                self.say(option, format!("0.{percent:02}"));
            }
        }
        if self.dice.percent(1) {
            self.say("--crash", "4000000001@1ms");
        }
    }

    fn fault_count(&mut self) -> u64 {
        match self.dice.between(1..=100) {
            1..=25 => 0,
            26..=60 => 1,
            61..=80 => 2,
            81..=92 => 3,
            _ => self.dice.between(4..=7),
        }
    }

    /// When a fault happens: as a rule soon, for short runs must not be over by then.
    fn moment(&mut self) -> u64 {
        let latest = if self.dice.percent(70) { 15 } else { 100 };
        self.micros(0, latest)
    }

    /// From a moment to a later one, e.g. `10us..30us`.
    fn span(&mut self) -> String {
        let from = self.moment();
        let until = from + self.micros(1, 40);
        format!("{}..{}", micros(from), micros(until))
    }

    fn crash(&mut self, id: u64) {
        let at = self.moment();
        self.say("--crash", format!("{id}@{}", micros(at)));
        if self.dice.percent(60) {
            let back = self.come_back(id, at);
            if self.dice.percent(20) {
                let again = back + self.micros(1, 40);
                self.say("--crash", format!("{id}@{}", micros(again)));
            }
        }
    }

    fn dead(&mut self, id: u64) {
        self.dead.push(id);
        self.say("--dead", id.to_string());
        if self.dice.percent(50) {
            self.come_back(id, 0);
        }
    }

    /// Lets the process that died then come back, or another in its place; returns when.
    fn come_back(&mut self, id: u64, died: u64) -> u64 {
        let back = died + self.micros(1, 60);
        let option = if self.dice.percent(70) { "--return" } else { "--replace" };
        self.say(option, format!("{id}@{}", micros(back)));
        back
    }

    fn pause(&mut self, id: u64) {
        let span = self.span();
        self.say("--pause", format!("{id}@{span}"));
    }

    fn drift(&mut self, id: u64) {
        let percent = self.dice.between(50..=200);
        self.say("--drift", format!("{id}={}.{:02}", percent / 100, percent % 100));
    }

    /// Two sides, who need not be everybody, and are cut off from each other or only one way.
    fn partition(&mut self, processes: &[u64]) {
        if processes.len() < 2 {
            return;
        }
        let order = self.dice.shuffled(processes);
        let middle = 1 + self.dice.place(order.len() - 1);
        let (left, right) = order.split_at(middle);
        let right = &right[self.dice.place(right.len())..];
        let way = self.dice.pick(&["/", "/", ">"]);
        let span = self.span();
        self.say("--partition", format!("{}{way}{}@{span}", commas(left), commas(right)));
    }
}

fn micros(count: u64) -> String {
    format!("{count}us")
}

fn commas(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn chubby() -> Algorithm {
        let options = ["--bound", "--lease"];
        Algorithm::of(&json!({ "name": "chubby", "kind": "election", "options": options })).unwrap()
    }

    #[test]
    fn a_seed_decides_the_plan() {
        assert_eq!(chubby().plan(7), chubby().plan(7));
        assert_ne!(chubby().plan(7), chubby().plan(8));
    }

    #[test]
    fn plans_use_every_fault_and_every_timer_of_the_algorithm() {
        let plans = (1..=300).flat_map(|seed| chubby().plan(seed).words);
        let used: BTreeSet<String> = plans.filter(|word| word.starts_with("--")).collect();
        let faults = ["--dead", "--crash", "--return", "--replace", "--pause", "--partition"];
        let rest = ["--drift", "--loss", "--duplicate", "--bound", "--lease", "--ask-every"];
        for option in faults.iter().chain(&rest) {
            assert!(used.contains(*option), "{option} in no plan");
        }
        assert!(!used.contains("--workload") && !used.contains("--session"), "{used:?}");
    }
}
