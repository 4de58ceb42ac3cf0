use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use conclave_core::{ProcessId, Seat, View};

use super::*;

const PLANES_UP_TO_500: [u32; 12] = [7, 13, 21, 31, 57, 73, 91, 133, 183, 273, 307, 381];

/// The voting sets of the processes 1..=n.
fn build(construction: Construction, n: u32) -> VotingSets {
    VotingSets::build(construction, &View::dense(1, n)).unwrap()
}

/// The set of process `id`, as numbers.
fn set_of(sets: &VotingSets, id: u32) -> Vec<u32> {
    sets.of(sets.view().seat(ProcessId(id)).unwrap()).iter().map(|id| id.0).collect()
}

fn from_sets(n: u32, sets: &[&[u32]]) -> Result<VotingSets, Flaw> {
    let ids = |set: &&[u32]| set.iter().copied().map(ProcessId).collect();
    VotingSets::from_sets(&View::dense(1, n), sets.iter().map(ids).collect())
}

/// K and M where every set has one size and every member is in as many.
fn even(sets: &VotingSets) -> Option<(usize, usize)> {
    let (size, membership) = (sets.size(), sets.membership());
    let even = size.min == size.max && membership.min == membership.max;
    even.then_some((size.min, membership.min))
}

#[test]
fn grid_of_36_gives_the_sets_of_the_notes() {
    let sets = build(Construction::Grid, 36);
    assert_eq!(set_of(&sets, 14), [2, 8, 13, 14, 15, 16, 17, 18, 20, 26, 32]);
    assert_eq!(set_of(&sets, 29), [5, 11, 17, 23, 25, 26, 27, 28, 29, 30, 35]);
}

#[test]
fn small_grids_give_the_sets_of_the_notes() {
    assert_eq!(set_of(&build(Construction::Grid, 9), 5), [2, 4, 5, 6, 8]);
    let four = from_sets(4, &[&[1, 2, 3], &[1, 2, 4], &[1, 3, 4], &[2, 3, 4]]);
    assert_eq!(Ok(build(Construction::Grid, 4)), four);
}

#[test]
fn grid_of_three_is_the_triangle() {
    let triangle = from_sets(3, &[&[1, 2], &[2, 3], &[3, 1]]);
    assert_eq!(Ok(build(Construction::Grid, 3)), triangle);
}

#[test]
fn grid_leaves_out_the_seats_a_ragged_row_does_not_have() {
    // 1 2 3 4 / 5 6 7 8 / 9 10 11
    let sets = build(Construction::Grid, 11);
    assert_eq!(set_of(&sets, 8), [4, 5, 6, 7, 8]);
    assert_eq!(set_of(&sets, 10), [2, 6, 9, 10, 11]);
}

#[test]
fn plane_of_7_is_the_fano_plane() {
    let sets = build(Construction::Plane, 7);
    let lines = [[1, 2, 4], [2, 3, 5], [3, 4, 6], [4, 5, 7], [1, 5, 6], [2, 6, 7], [1, 3, 7]];
    for (id, line) in (1..).zip(lines) {
        assert_eq!(set_of(&sets, id), line);
    }
}

#[test]
fn majority_goes_round_the_ring_from_the_own_seat() {
    let sets = build(Construction::Majority, 5);
    assert_eq!(set_of(&sets, 2), [2, 3, 4]);
    assert_eq!(set_of(&sets, 4), [1, 4, 5]);
}

#[test]
fn all_but_the_plane_are_right_for_every_n_up_to_500() {
    for &construction in Construction::ALL.iter().filter(|&&it| it != Construction::Plane) {
        for n in 1..=500 {
            assert_eq!(build(construction, n).check(), Ok(()), "{construction} of {n}");
        }
    }
}

#[test]
fn planes_are_right_where_they_exist_and_refused_elsewhere_up_to_500() {
    for n in 1..=500_u32 {
        match VotingSets::build(Construction::Plane, &View::dense(1, n)) {
            Ok(sets) => {
                assert!(PLANES_UP_TO_500.contains(&n), "{n}");
                assert_eq!(sets.check(), Ok(()), "{n}");
            }
            Err(error) => {
                let mut below = PLANES_UP_TO_500.iter().rev().copied();
                let below = below.find(|&at| at < n).map(|at| at as usize);
                // Above 381 the next one is 553 = 23^2 + 23 + 1.
                let above = PLANES_UP_TO_500.iter().copied().find(|&at| at > n).unwrap_or(553);
                assert!(!PLANES_UP_TO_500.contains(&n), "{n}");
                assert_eq!(
                    error,
                    VotingSetsError::NoPlane { n: n as usize, below, above: above as usize }
                );
            }
        }
    }
}

#[test]
fn where_there_is_a_plane_the_nearest_is_that_one() {
    for n in PLANES_UP_TO_500 {
        let sets = build(Construction::NearestPlane, n);
        assert_eq!(sets, build(Construction::Plane, n));
    }
}

#[test]
fn the_nearest_plane_is_the_larger_or_the_smaller_one_and_sets_stay_small() {
    // 8 is next to 7: the eighth member is on the first line, and a voter for itself alone.
    let sets = build(Construction::NearestPlane, 8);
    assert_eq!(set_of(&sets, 1), [1, 2, 4]);
    assert_eq!(set_of(&sets, 8), [1, 2, 4, 8]);
    assert_eq!(sets.membership(), MembershipSummary { min: 1, max: 4 });
    // 12 is next to 13: the first member plays two points, and is on 3 + 3 lines. The one with both
    // is that of the thirteenth point, and nobody's set.
    let sets = build(Construction::NearestPlane, 12);
    assert_eq!((sets.size().min, sets.size().max), (4, 4));
    assert_eq!(sets.membership(), MembershipSummary { min: 3, max: 6 });
    for n in 1..=500_u32 {
        let points = PLANES_UP_TO_500.into_iter().chain([553]);
        let nearest = points.min_by_key(|&at| (at.abs_diff(n), at < n)).unwrap();
        let (k, q) = (build(Construction::NearestPlane, n).size().max, nearest.isqrt() as usize);
        assert!(k <= if nearest < n { q + 2 } else { q + 1 }, "{k} of {n} by {nearest}");
    }
}

#[test]
fn paths_of_a_tree_go_through_their_owner_from_the_root_to_a_leaf() {
    //     1 / 2 3 / 4 5 6 7 / 8
    let sets = build(Construction::Tree, 8);
    assert_eq!(set_of(&sets, 1), [1, 2, 4, 8]);
    assert_eq!(set_of(&sets, 3), [1, 3, 6]);
    assert_eq!(set_of(&sets, 5), [1, 2, 5]);
    assert_eq!(sets.membership(), MembershipSummary { min: 1, max: 8 });
    for n in 1..=500 {
        let k = build(Construction::Tree, n).size().max;
        assert_eq!(k, n.ilog2() as usize + 1, "{n}");
    }
}

#[test]
fn any_two_lines_of_a_plane_meet_in_exactly_one_member() {
    for n in [7, 13, 21, 31, 57, 73, 91, 133] {
        let sets = build(Construction::Plane, n);
        for (i, j) in (0..n).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let theirs = sets.of(Seat(j));
            let common = sets.of(Seat(i)).iter().filter(|id| theirs.contains(id)).count();
            assert_eq!(common, 1, "lines {i} and {j} of {n}");
        }
    }
}

#[test]
fn a_large_plane_is_right_too() {
    let q = 97;
    let sets = build(Construction::Plane, q * q + q + 1);
    assert_eq!(even(&sets), Some((98, 98)));
    // All lines are shifts of the first, so that it meets all others is enough.
    let first = sets.of(Seat(0));
    for seat in (0..sets.len()).map(Seat::at) {
        let common = sets.of(seat).iter().filter(|id| first.binary_search(id).is_ok()).count();
        assert_eq!(common, if seat == Seat(0) { 98 } else { 1 });
    }
}

#[test]
fn plane_reaches_the_optimum_and_shares_the_work_evenly() {
    for n in PLANES_UP_TO_500 {
        let q = n.isqrt() as usize;
        assert_eq!(even(&build(Construction::Plane, n)), Some((q + 1, q + 1)));
        assert_eq!(optimum(n as usize), (q + 1) as f64);
    }
    assert_eq!(optimum(1), 1.0);
}

#[test]
fn square_grids_have_2s_minus_1_in_a_set() {
    for side in 1..=22 {
        let k = 2 * side as usize - 1;
        assert_eq!(even(&build(Construction::Grid, side * side)), Some((k, k)));
    }
}

#[test]
fn sizes_of_a_ragged_grid_are_summed_up() {
    // 1 2 3 / 4 5
    let sets = build(Construction::Grid, 5);
    assert_eq!(sets.size(), SizeSummary { min: 3, mean: 3.4, max: 4 });
    assert_eq!(sets.membership(), MembershipSummary { min: 3, max: 4 });
}

#[test]
fn majority_has_more_than_half_and_all_has_everybody() {
    for n in 1..=100_u32 {
        let (half, all) = (n as usize / 2 + 1, n as usize);
        assert_eq!(even(&build(Construction::Majority, n)), Some((half, half)));
        assert_eq!(even(&build(Construction::All, n)), Some((all, all)));
    }
}

#[test]
fn sparse_names_in_any_ring_order_keep_seat_order() {
    let ring = View::new([3, 32, 5, 80, 6, 12].map(ProcessId)).unwrap();
    // 3 32 5 / 80 6 12
    let grid = VotingSets::build(Construction::Grid, &ring).unwrap();
    assert_eq!(set_of(&grid, 80), [3, 80, 6, 12]);
    let majority = VotingSets::build(Construction::Majority, &ring).unwrap();
    assert_eq!(set_of(&majority, 6), [3, 32, 6, 12]);
    for &construction in Construction::ALL {
        let sparse = View::new([3, 5, 6, 12, 32, 80].map(ProcessId)).unwrap();
        match VotingSets::build(construction, &sparse) {
            Ok(sets) => assert_eq!(sets.check(), Ok(())),
            Err(error) => assert_eq!(construction, Construction::Plane, "{error}"),
        }
    }
    let seven = View::new([3, 5, 6, 12, 32, 80, 99].map(ProcessId)).unwrap();
    let plane = VotingSets::build(Construction::Plane, &seven).unwrap();
    assert_eq!((plane.check(), set_of(&plane, 3)), (Ok(()), vec![3, 5, 12]));
}

#[test]
fn ten_thousand_members_are_no_burden() {
    let everybody = build(Construction::All, 10_000);
    assert!(core::ptr::eq(everybody.of(Seat(0)), everybody.of(Seat(9_999))));
    assert_eq!(build(Construction::Grid, 10_000).size().max, 199);
}

#[test]
fn sets_written_out_equal_the_ones_built() {
    for &construction in Construction::ALL {
        for n in [1, 2, 3, 7, 10] {
            let Ok(built) = VotingSets::build(construction, &View::dense(1, n)) else { continue };
            let written = (0..n).map(|seat| built.of(Seat(seat)).to_vec()).collect();
            assert_eq!(VotingSets::from_sets(built.view(), written), Ok(built));
        }
    }
    let doubled = from_sets(2, &[&[2, 1, 2], &[1, 2]]);
    assert_eq!(doubled, Ok(build(Construction::All, 2)));
}

#[test]
fn a_set_without_its_owner_is_refused() {
    let flaw = from_sets(3, &[&[1, 2], &[1, 3], &[1, 3]]).unwrap_err();
    assert_eq!(flaw, Flaw::OwnerMissing { owner: ProcessId(2) });
    assert_eq!(flaw.to_string(), "process 2 is not in its own voting set");
}

#[test]
fn two_disjoint_sets_are_refused() {
    let flaw = from_sets(4, &[&[1, 2], &[1, 2, 3], &[2, 3], &[1, 4]]).unwrap_err();
    assert_eq!(flaw, Flaw::Disjoint { first: ProcessId(3), second: ProcessId(4) });
    let told = "the voting sets of processes 3 and 4 have no member in common, so both could enter \
                at once";
    assert_eq!(flaw.to_string(), told);
}

#[test]
fn two_disjoint_sets_are_found_among_many_good_ones() {
    let grid = build(Construction::Grid, 200);
    let mut sets: Vec<_> = (0..200).map(|seat| grid.of(Seat(seat)).to_vec()).collect();
    sets[120] = vec![ProcessId(121)];
    let flaw = VotingSets::from_sets(grid.view(), sets).unwrap_err();
    assert_eq!(flaw, Flaw::Disjoint { first: ProcessId(2), second: ProcessId(121) });
}

#[test]
fn strangers_missing_sets_and_nobody_are_refused() {
    let stranger = Flaw::Stranger { owner: ProcessId(2), stranger: ProcessId(9) };
    assert_eq!(from_sets(2, &[&[1, 2], &[2, 1, 9]]), Err(stranger));
    assert_eq!(from_sets(2, &[&[1, 2]]), Err(Flaw::Count { sets: 1, members: 2 }));
    assert_eq!(from_sets(0, &[]), Err(Flaw::Empty));
    for &construction in Construction::ALL {
        let nobody = VotingSets::build(construction, &View::dense(1, 0));
        assert_eq!(nobody, Err(VotingSetsError::Empty));
    }
}

#[test]
fn an_impossible_plane_names_its_nearest() {
    let told =
        |n| VotingSets::build(Construction::Plane, &View::dense(1, n)).unwrap_err().to_string();
    let hint = "(N must be q^2+q+1 with q a prime power), or take nearest-plane";
    let twelve = "there is no known projective plane with 12 points; the nearest are 7 and 13";
    assert_eq!(told(12), format!("{twelve} {hint}"));
    let three = "there is no known projective plane with 3 points; the smallest has 7";
    assert_eq!(told(3), format!("{three} {hint}"));
}

#[test]
fn names_of_constructions_are_read_back() {
    for &construction in Construction::ALL {
        assert_eq!(construction.to_string().parse(), Ok(construction));
    }
    let told = "\"gird\" is no construction of voting sets; choose one of grid, plane, nearest-plane, tree, \
         majority, all";
    assert_eq!("gird".parse::<Construction>().unwrap_err().to_string(), told);
}
