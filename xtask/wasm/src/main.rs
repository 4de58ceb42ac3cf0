//! Says natively what the module says.

fn main() {
    println!("trace_hash {:016x}", conclave_wasm::trace_hash());
    println!("states {}", conclave_wasm::states());
}
