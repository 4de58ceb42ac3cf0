//! Makes the stubs from the description of the calls. Without `protoc`: a fresh machine has none.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/rpc.proto");
    let files = protox::compile(["rpc.proto"], ["proto"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    Ok(())
}
