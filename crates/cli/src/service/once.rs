//! `conclave once`: when `conclave lock --once` last ran, and as if it had not.

use std::io::Write;
use std::process::ExitCode;

use conclave_client::{Client, Error, Kind, Patience, Request, Resource};

use super::service_failure;
use crate::exit;
use crate::service::engine;
use crate::service::period::Run;
use crate::service::words::OnceArgs;

/// Tells the last run, and forgets it if that was asked for.
pub fn execute(args: &OnceArgs) -> std::io::Result<ExitCode> {
    let client = match engine::open(&args.engine) {
        Ok(engine) => Client::shared(engine),
        Err(refused) => return Ok(refused.exit()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let resource = Resource { kind: Kind::Lock, name: args.name.clone() };
    let done = runtime.block_on(async {
        let done = match args.reset {
            true => reset(&client, &resource).await,
            false => last(&client, &resource).await,
        };
        // What is not let go of here would be held until the end of its session.
        let _ = client.engine().close().await;
        done
    });
    let line = match done {
        Ok(Some(line)) => line,
        Ok(None) => {
            anstream::eprintln!("conclave: {}: no run is recorded", args.name);
            return Ok(ExitCode::from(exit::NOT_ACQUIRED));
        }
        Err(error) => return Ok(service_failure(&error)),
    };
    writeln!(anstream::stdout(), "{}: {line}", args.name)?;
    Ok(ExitCode::SUCCESS)
}

async fn last(client: &Client, resource: &Resource) -> Result<Option<String>, Error> {
    Ok(recorded(client, resource).await?.map(|run| format!("last run {run}")))
}

/// Only who holds the lock may write: so a run that goes on is waited for, and counts no more.
async fn reset(client: &Client, resource: &Resource) -> Result<Option<String>, Error> {
    let request = Request::from(resource.name.clone()).labelled("once --reset")?;
    let guard = client.acquire_request(&request, Patience::Forever).await?;
    let Some(run) = recorded(client, resource).await? else { return Ok(None) };
    guard.record(&[]).await?;
    guard.release().await?;
    Ok(Some(format!("forgotten: the run {run}")))
}

async fn recorded(client: &Client, resource: &Resource) -> Result<Option<Run>, Error> {
    let status = client.inspect(resource).await?;
    Ok(status.value.as_ref().and_then(|value| Run::decode(&value.bytes)))
}
