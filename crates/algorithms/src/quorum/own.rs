//! Voting sets that somebody wrote down.
//!
//! One set a line, behind the process whose set it is; `#` begins a comment. In one line, as an
//! option has it, `;` is between sets:
//!
//! ```text
//! 1: 1, 2, 3
//! 2: 2, 3
//! 3: 3, 1
//! ```
//!
//! Sets of which two have no member in common keep nobody apart. They are refused, unless a line
//! `disjoint` says that this is meant: to see what happens then.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use conclave_core::{ProcessId, View};

use super::{Flaw, VotingSets};

/// Voting sets that somebody wrote down. Whether they fit a view is seen when they are
/// [built](Self::build).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnSets {
    /// By owner, in the order in which they were written.
    sets: Vec<(ProcessId, Vec<ProcessId>)>,
    /// Whether it is meant that some have no member in common.
    is_disjoint: bool,
}

/// A text that is no list of voting sets.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseOwnSetsError {
    /// A line that is wrong by itself.
    #[error("line {line}: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// There is none.
    #[error("there is no voting set; write one for each process, e.g. 1: 1, 2, 3")]
    Nothing,
}

/// So many sets, and so many in one, are more than anybody wrote down.
const MOST: usize = 10_000;

impl OwnSets {
    /// Whose sets there are, in the order in which they were written.
    pub fn owners(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.sets.iter().map(|&(owner, _)| owner)
    }

    /// Whether it is said that some have no member in common.
    pub fn is_disjoint(&self) -> bool {
        self.is_disjoint
    }

    /// The voting sets of that view.
    pub fn build(&self, view: &View) -> Result<VotingSets, Flaw> {
        if let Some(owner) = self.owners().find(|&owner| view.seat(owner).is_none()) {
            return Err(Flaw::NotAMember { owner });
        }
        let of = |id: &ProcessId| self.sets.iter().find(|(owner, _)| owner == id);
        let sets = view.members().iter().filter_map(of).map(|(_, set)| set.clone()).collect();
        match self.is_disjoint {
            true => VotingSets::from_disjoint_sets(view, sets),
            false => VotingSets::from_sets(view, sets),
        }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if line == "disjoint" {
            self.is_disjoint = true;
            return Ok(());
        }
        let (owner, members) = line
            .split_once(':')
            .ok_or_else(|| format!("`{}` is not ID: ID, ID, ..., e.g. 1: 1, 2, 3", brief(line)))?;
        let owner = id(owner)?;
        if self.owners().any(|other| other == owner) {
            return Err(format!("process {owner} has a voting set already; give it one"));
        }
        let members = members.split(',').map(id).collect::<Result<Vec<_>, _>>()?;
        if self.sets.len() >= MOST || members.len() > MOST {
            return Err(format!("there is room for {MOST} sets of at most {MOST}"));
        }
        self.sets.push((owner, members));
        Ok(())
    }
}

fn id(text: &str) -> Result<ProcessId, String> {
    let text = text.trim();
    let id = text.parse().ok().filter(|&id| id != u32::MAX).map(ProcessId);
    id.ok_or_else(|| format!("`{}` is not a process; write its id, e.g. 3", brief(text)))
}

/// As much of a text as an error has room for.
fn brief(text: &str) -> String {
    const LETTERS: usize = 30;
    match text.chars().count() {
        0..=LETTERS => text.escape_debug().to_string(),
        _ => format!("{}...", text.chars().take(LETTERS).collect::<String>().escape_debug()),
    }
}

impl FromStr for OwnSets {
    type Err = ParseOwnSetsError;

    fn from_str(text: &str) -> Result<Self, ParseOwnSetsError> {
        let mut own = Self { sets: Vec::new(), is_disjoint: false };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, text) in (1..).zip(text.lines()) {
            let statement = text.split('#').next().unwrap_or_default();
            for set in statement.split('/').map(str::trim).filter(|set| !set.is_empty()) {
                own.take(set).map_err(|reason| ParseOwnSetsError::Line { line, reason })?;
            }
        }
        if own.sets.is_empty() { Err(ParseOwnSetsError::Nothing) } else { Ok(own) }
    }
}

impl fmt::Display for OwnSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets = self.sets.iter().map(|(owner, set)| {
            let members: Vec<String> = set.iter().map(ToString::to_string).collect();
            format!("{owner}:{}", members.join(","))
        });
        let disjoint = self.is_disjoint.then(|| "disjoint".into());
        f.write_str(&disjoint.into_iter().chain(sets).collect::<Vec<String>>().join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quorum::Construction;

    const TRIANGLE: &str = "# the smallest / last\n1: 1, 2\n\n2: 2,3 # and a comment\n3: 3 , 1\n";

    #[test]
    fn what_is_written_is_what_is_built_and_can_be_read_again() {
        let own: OwnSets = TRIANGLE.parse().unwrap();
        let view = View::dense(1, 3);
        assert_eq!(own.build(&view), Ok(VotingSets::build(Construction::Grid, &view).unwrap()));
        assert_eq!(own.to_string(), "1:1,2/2:2,3/3:3,1");
        assert_eq!(own.to_string().parse(), Ok(own));
    }

    #[test]
    fn sets_without_a_common_member_need_a_word() {
        let view = View::dense(1, 4);
        let sets = "1:1,2/2:1,2/3:3,4/4:3,4";
        let own: OwnSets = sets.parse().unwrap();
        let flaw = Flaw::Disjoint { first: ProcessId(1), second: ProcessId(3) };
        assert_eq!(own.build(&view), Err(flaw));
        let meant: OwnSets = format!("disjoint/{sets}").parse().unwrap();
        assert!(meant.is_disjoint());
        let built = meant.build(&view).unwrap();
        assert_eq!(built.check(), Err(flaw), "and it is not hidden");
        let word_alone: OwnSets = "disjoint/1:1,2/2:2,3/3:3,1".parse().unwrap();
        assert!(word_alone.build(&View::dense(1, 3)).is_ok());
    }

    #[test]
    fn even_then_everybody_is_in_its_own_set_and_all_are_members() {
        let build = |text: &str| text.parse::<OwnSets>().unwrap().build(&View::dense(1, 2));
        let owner = ProcessId(2);
        assert_eq!(build("disjoint/1:1/2:1"), Err(Flaw::OwnerMissing { owner }));
        let stranger = ProcessId(7);
        assert_eq!(build("disjoint/1:1/2:2,7"), Err(Flaw::Stranger { owner, stranger }));
        assert_eq!(build("1:1"), Err(Flaw::Count { sets: 1, members: 2 }));
        assert_eq!(build("1:1/2:1,2/9:9"), Err(Flaw::NotAMember { owner: ProcessId(9) }));
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        for (text, says) in [
            ("", "there is no voting set"),
            ("disjoint\n# nothing\n", "there is no voting set"),
            ("1: 1\n2 2", "line 2: `2 2` is not ID: ID, ID, ..."),
            ("1: 1\n\nx: 2", "line 3: `x` is not a process"),
            ("1: 1,,2", "line 1: `` is not a process"),
            ("1:", "line 1: `` is not a process"),
            ("1: 1\n1: 2", "line 2: process 1 has a voting set already"),
            ("4294967295: 1", "line 1: `4294967295` is not a process"),
            ("-1: 1", "line 1: `-1` is not a process"),
        ] {
            let error = text.parse::<OwnSets>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{text:?}: {error}");
        }
    }
}
