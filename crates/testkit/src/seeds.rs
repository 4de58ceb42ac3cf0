//! How many random runs a test makes, and of which algorithms.

/// How many seeds of each algorithm: `CONCLAVE_SEEDS`, or few.
pub fn count() -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// Whether an algorithm is among those that are asked for: `CONCLAVE_ALGORITHMS` has their names,
/// with commas between them; without it, all are.
pub fn is_chosen(algorithm: &str) -> bool {
    let chosen = std::env::var("CONCLAVE_ALGORITHMS");
    chosen.map_or(true, |names| names.split(',').any(|name| name == algorithm))
}
