//! What was compared, in figures: that nothing differs says little unless much happened.

use std::collections::{BTreeMap, BTreeSet};

use super::outcome::{Compared, Outcome};
use super::plan::Plan;

/// The figures of some plans.
#[derive(Default)]
pub struct Tally {
    pub plans: u64,
    /// Of these, such as both builds refuse.
    refused: u64,
    /// Of these, such as had a fault that fired.
    faulty: u64,
    events: u64,
    pub differences: u64,
    /// How many ended with each verdict.
    verdicts: Counts,
    /// How many faults of each kind fired.
    fired: Counts,
    /// How many plans that were not refused use each option.
    options: Counts,
    unknown_keys: BTreeSet<String>,
}

/// How many of each.
type Counts = BTreeMap<String, u64>;

impl Tally {
    /// Counts one plan, as it went in the old build.
    pub fn count(&mut self, plan: &Plan, old: &Outcome, compared: &Compared) {
        self.plans += 1;
        self.events += compared.events;
        self.differences += u64::from(compared.difference.is_some());
        self.unknown_keys.extend(compared.unknown_keys.iter().cloned());
        if old.is_refused() {
            self.refused += 1;
            return;
        }
        count(&mut self.verdicts, old.verdict());
        self.faulty += u64::from(old.fired().next().is_some());
        old.fired().for_each(|kind| count(&mut self.fired, kind));
        let options: BTreeSet<&String> =
            plan.words.iter().filter(|word| word.starts_with('-')).collect();
        options.into_iter().for_each(|option| count(&mut self.options, option));
    }

    /// Adds the figures of other plans.
    pub fn add(&mut self, other: &Self) {
        self.plans += other.plans;
        self.refused += other.refused;
        self.faulty += other.faulty;
        self.events += other.events;
        self.differences += other.differences;
        self.unknown_keys.extend(other.unknown_keys.iter().cloned());
        for (mine, theirs) in [
            (&mut self.verdicts, &other.verdicts),
            (&mut self.fired, &other.fired),
            (&mut self.options, &other.options),
        ] {
            for (name, many) in theirs {
                *mine.entry(name.clone()).or_default() += many;
            }
        }
    }

    /// One line while others are still compared.
    pub fn progress(&self) -> String {
        let Self { plans, events, differences, .. } = self;
        format!("{plans} plans, {events} events, {differences} differences")
    }

    /// Its cells in the table, in the order of [`HEADS`] after the name.
    fn cells(&self) -> [String; 6] {
        let Self { plans, refused, faulty, events, differences, .. } = self;
        let [plans, refused, faulty, events, differences] =
            [plans, refused, faulty, events, differences].map(u64::to_string);
        [plans, refused, faulty, events, differences, listed(&self.verdicts)]
    }
}

fn count(counts: &mut Counts, name: &str) {
    *counts.entry(name.to_owned()).or_default() += 1;
}

fn listed(counts: &Counts) -> String {
    counts.iter().map(|(name, many)| format!("{name} {many}")).collect::<Vec<_>>().join(", ")
}

/// The columns of the table. A plan is faulty if one of its faults fired.
const HEADS: [&str; 7] =
    ["algorithm", "plans", "refused", "faulty", "events", "differences", "verdicts"];

/// Prints the table, a line of totals, and what the plans were made of.
pub fn print(tallies: &[(String, Tally)], total: &Tally) {
    let rows = tallies.iter().map(|(name, tally)| (&**name, tally));
    println!();
    print_row(HEADS[0], &HEADS[1..]);
    for (name, tally) in rows.chain([("all", total)]) {
        print_row(name, &tally.cells());
    }
    println!("\nfaults that fired: {}", listed(&total.fired));
    println!("plans with option: {}", listed(&total.options));
    if !total.unknown_keys.is_empty() {
        let keys: Vec<&str> = total.unknown_keys.iter().map(String::as_str).collect();
        println!("keys not compared: {}", keys.join(", "));
    }
}

fn print_row(name: &str, cells: &[impl AsRef<str>]) {
    print!("{name:<24}");
    let (last, numbers) = cells.split_last().expect("a row has cells");
    numbers.iter().for_each(|cell| print!(" {:>11}", cell.as_ref()));
    println!("  {}", last.as_ref());
}
