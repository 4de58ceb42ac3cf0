//! Costs, measured over many experiments.

use conclave_algorithms::catalogue::MUTEXES;
use conclave_algorithms::quorum::Construction;
use conclave_workbench::table::measure;

#[test]
fn progress_counts_experiments_and_ends_with_the_last() {
    let (entries, sizes) = (&MUTEXES[..2], [2, 3, 4]);
    let mut told = Vec::new();
    measure(entries, &sizes, Construction::Grid, &mut |done| told.push(done)).unwrap();
    assert_eq!(told, [1, 2, 3, 4, 5, 6]);
}
