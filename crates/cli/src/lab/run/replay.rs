//! `conclave run --replay`: a recorded run, taken again by the real processes.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use conclave_observe::JudgeOrdering;
use conclave_observe::trace::json;
use conclave_workbench::recorded::plan_of_trace;

use super::{check_files, tell};
use crate::exit;
use crate::lab::words::RunArgs;
use crate::output;

pub fn execute(args: &RunArgs, path: &Path) -> anyhow::Result<ExitCode> {
    let text = output::read_file(path)?;
    let file = || path.display().to_string();
    let trace = json::read(&text).with_context(file)?;
    let mut plan = plan_of_trace(&trace).with_context(file)?;
    if args.settings.says("ordering") {
        plan.ordering = JudgeOrdering::Yes;
    }
    check_files(args)?;
    match plan.replay(&trace)? {
        Ok(done) => tell(args, &done, &[]),
        Err(error) => {
            anstream::eprintln!("conclave: {}: does not replay: {error}", path.display());
            Ok(ExitCode::from(exit::NOT_REPLAYED))
        }
    }
}
