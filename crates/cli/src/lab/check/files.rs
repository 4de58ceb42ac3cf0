//! The file that a check writes beside the counterexample: the graph of all states and steps.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use conclave_check::system::{Deed, Flaw};
use conclave_check::{Conclusion, Finding, SearchEnd, Step};
use conclave_core::View;
use conclave_workbench::search::SearchPlan;
use conclave_workbench::search::account::word;

use super::{limit_word, watch};
use crate::lab::interrupt::is_interrupted;
use crate::lab::progress::Progress;
use crate::output;

/// Writes all states and steps, in the format of the CADP tools, which mCRL2 and LTSmin read too.
/// `Some` says why there is nothing whole to be written.
pub fn dump(
    plan: &SearchPlan,
    finding: &Finding,
    max_time: Duration,
    path: &Path,
) -> anyhow::Result<Option<String>> {
    // What ended before its end has no whole graph, and to search again would not change that.
    let verdict = &finding.verdict;
    let is_flawed = matches!(verdict, Conclusion::Refuted(flaw) if *flaw != Flaw::Starved);
    if is_flawed || finding.progress.frontier > 0 {
        return Ok(Some(format!("for the search did not see all states: {}", word(verdict))));
    }
    // This one keeps every step, so it can take more than the one that the verdict is about.
    let progress = Progress::endless(plan.entry.name);
    let graph = match plan.graph(&mut watch(&progress, max_time))? {
        Ok(graph) => graph,
        Err(SearchEnd::CutShort(limit)) => {
            return Ok(Some(format!(
                "for {} ended the search that keeps steps",
                limit_word(limit)
            )));
        }
        Err(_) => return Ok(Some("for the search that keeps steps found a flaw".into())),
    };
    drop(progress);
    let view = plan.entry.view_of(&plan.clients)?;
    let states = graph.explored().progress.distinct;
    let mut is_part = false;
    output::write_file(path, |file| {
        writeln!(file, "des (0,{},{states})", graph.steps())?;
        for (from, step, to) in graph.iter() {
            if is_interrupted() {
                is_part = true;
                break;
            }
            writeln!(file, "({from},\"{}\",{to})", deed(step, &view))?;
        }
        Ok(())
    })?;
    if is_part && path.is_file() {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(is_part.then(|| "for Ctrl-C came before its end".into()))
}

/// A step, as other tools name it.
fn deed(step: Step, view: &View) -> String {
    let id = |seat| view.at(seat);
    match Deed::from(step) {
        Deed::Asks(seat) => format!("ask {}", id(seat)),
        Deed::Leaves(seat) => format!("leave {}", id(seat)),
        Deed::Arrives { from, to, tag: 0 } => format!("arrive {} {}", id(from), id(to)),
        Deed::Arrives { from, to, tag } => format!("arrive {} {} {tag}", id(from), id(to)),
        Deed::RunsOut { seat, tag } => format!("timer {} {tag}", id(seat)),
        Deed::Tick => "tick".into(),
        Deed::Crashes(seat) => format!("crash {}", id(seat)),
        Deed::Returns(seat) => format!("return {}", id(seat)),
        Deed::IsLost { from, to, tag } => format!("lose {} {} {tag}", id(from), id(to)),
        Deed::IsDoubled { from, to, tag } => format!("double {} {} {tag}", id(from), id(to)),
    }
}
