//! `conclave voting-sets`: who votes for whom.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use conclave_algorithms::catalogue::SeatingError;
use conclave_algorithms::quorum::{VotingSets, optimum};
use conclave_core::{Seat, View};
use conclave_sim::ids_of;
use conclave_workbench::draft::check_voters;
use conclave_workbench::notation::Voting;
use conclave_workbench::sentence::counted;
use conclave_workbench::unit::number;
use conclave_workbench::voting_picture::{self, SETS_MAX};
use serde_json::{Map, json};

use crate::lab::words::VotingSetsArgs;
use crate::output;

/// How many, if nobody says it.
const USUAL: u32 = 9;

pub fn execute(args: &VotingSetsArgs) -> anyhow::Result<ExitCode> {
    let (view, sets) = build(&args.voting, args.n)?;
    if let Some(path) = &args.svg {
        if view.len() > SETS_MAX {
            bail!(
                "a picture of {} sets is too large to read; choose at most {SETS_MAX}",
                view.len()
            );
        }
        let of = args.of.unwrap_or_else(|| view.at(Seat::at(view.len() / 2)));
        if view.seat(of).is_none() {
            bail!("--of: there is no process {of}; the processes are {}", ids_of(&view));
        }
        let picture = voting_picture::draw(&args.voting, &sets, of);
        output::write_file(path, |file| file.write_all(picture.as_bytes()))?;
    }
    output::say(|out| print(args, &view, &sets, out))?;
    Ok(ExitCode::SUCCESS)
}

fn build(voting: &Voting, n: Option<u32>) -> anyhow::Result<(View, VotingSets)> {
    match voting {
        Voting::By(construction) => {
            let view = View::dense(1, n.unwrap_or(USUAL));
            check_voters(*construction, &view)?;
            let sets = VotingSets::build(*construction, &view)?;
            sets.check()?;
            Ok((view, sets))
        }
        Voting::Own(own_sets) => {
            let view = match n {
                Some(n) => View::dense(1, n),
                None => View::new(own_sets.owners())?,
            };
            let sets = own_sets.build(&view).map_err(SeatingError::from)?;
            Ok((view, sets))
        }
    }
}

fn print(
    args: &VotingSetsArgs,
    view: &View,
    sets: &VotingSets,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let name = match &args.voting {
        Voting::By(construction) => construction.name(),
        Voting::Own(_) => "own",
    };
    let flaw = sets.check().err();
    let (size, membership) = (sets.size(), sets.membership());
    let rows = (0..view.len()).map(|seat| (view.at(Seat::at(seat)), sets.of(Seat::at(seat))));
    if args.json {
        let sets: Map<_, _> =
            rows.map(|(id, set)| (id.to_string(), set.iter().map(|id| id.0).collect())).collect();
        let value = json!({
            "construction": name,
            "n": view.len(),
            "sets": sets,
            "K": { "min": size.min, "mean": size.mean, "max": size.max },
            "M": { "min": membership.min, "max": membership.max },
            "optimum": optimum(view.len()),
            "intersect": flaw.is_none(),
        });
        return writeln!(out, "{value:#}");
    }
    let processes = counted(view.len() as u64, "process", "processes");
    writeln!(out, "{name} voting sets of {processes}")?;
    let width = view.members().iter().map(|id| id.to_string().len()).max().unwrap_or(1);
    for (id, set) in rows {
        let members: Vec<String> = set.iter().map(ToString::to_string).collect();
        writeln!(out, "  V{id:<width$} = {{{}}}", members.join(", "), id = id.0)?;
    }
    writeln!(
        out,
        "K, the size of a set: {} to {}, mean {}; sets of one size that share the work evenly have at \
         least {}",
        size.min,
        size.max,
        number(size.mean),
        number(optimum(view.len()))
    )?;
    writeln!(out, "M, sets that one is in: {} to {}", membership.min, membership.max)?;
    match flaw {
        None => {
            writeln!(out, "checked: everybody is in its own set, and any two sets share a member")
        }
        Some(flaw) => writeln!(out, "UNSAFE: {flaw}"),
    }
}
