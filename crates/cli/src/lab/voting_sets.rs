//! `conclave voting-sets`: who votes for whom.

use std::io::Write;
use std::process::ExitCode;

use conclave_algorithms::quorum::{VotingSets, optimum};
use conclave_core::{Seat, View};
use conclave_workbench::draft::check_voters;
use conclave_workbench::sentence::counted;
use conclave_workbench::unit::number;
use serde_json::{Map, json};

use crate::lab::words::VotingSetsArgs;
use crate::output;

pub fn execute(args: &VotingSetsArgs) -> anyhow::Result<ExitCode> {
    let view = View::dense(1, args.n);
    check_voters(args.construction, &view)?;
    let sets = VotingSets::build(args.construction, &view)?;
    sets.check()?;
    output::say(|out| print(args, &view, &sets, out))?;
    Ok(ExitCode::SUCCESS)
}

fn print(
    args: &VotingSetsArgs,
    view: &View,
    sets: &VotingSets,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let (size, membership) = (sets.size(), sets.membership());
    let rows = (0..view.len()).map(|seat| (view.at(Seat::at(seat)), sets.of(Seat::at(seat))));
    if args.json {
        let sets: Map<_, _> =
            rows.map(|(id, set)| (id.to_string(), set.iter().map(|id| id.0).collect())).collect();
        let value = json!({
            "construction": args.construction.name(),
            "n": args.n,
            "sets": sets,
            "K": { "min": size.min, "mean": size.mean, "max": size.max },
            "M": { "min": membership.min, "max": membership.max },
            "optimum": optimum(view.len()),
        });
        return writeln!(out, "{value:#}");
    }
    let processes = counted(args.n.into(), "process", "processes");
    writeln!(out, "{} voting sets of {processes}", args.construction)?;
    let width = args.n.to_string().len();
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
    writeln!(out, "checked: everybody is in its own set, and any two sets share a member")
}
