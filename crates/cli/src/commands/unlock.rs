//! `conclave unlock --force`: take a lock away from its holder.

use std::process::ExitCode;

use conclave_client::{Target, blocking};

use super::hold::resource;
use super::{service_failure, service_refusal};
use crate::cli::UnlockArgs;
use crate::{engine, exit};

/// Takes it away, and says from whom.
pub fn execute(args: &UnlockArgs) -> ExitCode {
    if !args.force {
        return service_refusal(
            "a lock is freed by its holder, or by the kernel when the holder dies; \
             to take it away from a living one, say --force",
        );
    }
    let engine = match engine::open(&args.engine) {
        Ok(engine) => engine,
        Err(refused) => return refused.exit(),
    };
    let resource = resource(&args.name, args.election);
    let user = nix::unistd::User::from_uid(nix::unistd::getuid());
    let user = user.ok().flatten().map_or_else(|| "somebody".into(), |user| user.name);
    let by = format!("{user} (pid {})", std::process::id());
    match blocking::Client::new(engine).revoke(&resource, &Target::Holders, &by) {
        Err(error) => service_failure(&error),
        Ok(evicted) if evicted.is_empty() => {
            let hint = if args.election { "" } else { " (an election is meant by --election)" };
            anstream::eprintln!("conclave: nobody holds {resource}{hint}");
            ExitCode::from(exit::NOT_ACQUIRED)
        }
        Ok(evicted) => {
            for holder in &evicted.holders {
                anstream::eprintln!(
                    "conclave: {resource} taken away from {}, fence {}",
                    holder.owner,
                    holder.fence
                );
            }
            ExitCode::SUCCESS
        }
    }
}
