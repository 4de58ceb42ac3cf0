//! `conclave fence check`: is whoever has this fence still the holder?

use std::process::ExitCode;

use conclave_client::{Fence, Status, blocking};

use super::hold::resource;
use crate::exit;
use crate::service::engine;
use crate::service::words::FenceCheckArgs;

/// Looks, and says why not.
pub fn check(args: &FenceCheckArgs) -> ExitCode {
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return refused.exit(),
    };
    let resource = resource(&args.name, args.election);
    match blocking::Client::shared(engine).inspect(&resource) {
        // Whatever it is, it is no word about the fence, and must not look like one.
        Err(error) => {
            anstream::eprintln!("conclave: {error}");
            ExitCode::from(exit::UNAVAILABLE)
        }
        Ok(status) => match why_not(&status, Fence(args.fence)) {
            None => ExitCode::SUCCESS,
            Some(why) => {
                anstream::eprintln!("conclave: {resource}: {why}");
                ExitCode::from(exit::NOT_ACQUIRED)
            }
        },
    }
}

fn why_not(status: &Status, fence: Fence) -> Option<String> {
    if status.is_current(fence) {
        return None;
    }
    if fence > status.last_fence || fence.0 == 0 {
        return Some(match status.last_fence.0 {
            0 => format!("fence {fence} was never given out; none was"),
            last => format!("fence {fence} was never given out; none above {last} was"),
        });
    }
    Some(match status.holder() {
        Some(holder) => {
            format!("fence {fence} is late: {} holds it with fence {}", holder.owner, holder.fence)
        }
        None => format!("fence {fence} is late: it was let go"),
    })
}
