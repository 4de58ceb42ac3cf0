//! `conclave voting-sets`: who votes for whom.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use conclave_algorithms::quorum::{Construction, VotingSets, optimum};
use conclave_core::{Seat, View};
use conclave_workbench::sentence::counted;
use conclave_workbench::unit::number;
use serde_json::{Map, json};

use super::output;
use crate::cli::VotingSetsArgs;

pub fn execute(args: &VotingSetsArgs) -> anyhow::Result<ExitCode> {
    check_size(args.construction, args.n)?;
    let view = View::dense(1, args.n);
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

/// Majorities of very many would take all memory: N^2/2 names.
pub fn check_size(construction: Construction, n: u32) -> anyhow::Result<()> {
    const MAJORITY_MAX: u32 = 20_000;
    if construction == Construction::Majority && n > MAJORITY_MAX {
        bail!("majorities of {n} processes do not fit; choose at most {MAJORITY_MAX}, or grid");
    }
    Ok(())
}
