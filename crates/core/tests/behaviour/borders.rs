//! Cases 12 to 14, and B3: blocks at the border, and their numbers.

use bellis_core::{BlockIndex, Coordinate, Fit};

use crate::tasks::{alone, blocks, drain, grid, task, writes};

const FITS: [Fit; 3] = [Fit::Valid, Fit::Overhang, Fit::Shrink];

#[test]
fn case_12_overhang_may_add_more_than_one_block() {
    let with = |total: i64, read: (i64, i64), write: (i64, i64), fit| {
        grid(&task(
            (&[0], &[total]),
            (&[read.0], &[read.1]),
            (&[write.0], &[write.1]),
            fit,
        ))
    };
    let five = [(6, 9), (9, 12), (12, 15), (15, 18), (18, 21)];
    for fit in FITS {
        assert_eq!(writes(&with(27, (0, 15), (6, 3), fit)), five, "{fit}");
    }
    let valid = with(28, (0, 15), (6, 3), Fit::Valid);
    assert_eq!(writes(&valid), five);
    assert_eq!(
        valid.number(BlockIndex(0)),
        2,
        "ids count from the begin of the read region"
    );
    let last = BlockIndex(5);
    let overhang = with(28, (0, 15), (6, 3), Fit::Overhang);
    assert_eq!(writes(&overhang), [&five[..], &[(21, 24)]].concat());
    assert_eq!(overhang.read_roi(last).to_string(), "Roi((15), (15))");
    let shrink = with(28, (0, 15), (6, 3), Fit::Shrink);
    assert_eq!(writes(&shrink), [&five[..], &[(21, 22)]].concat());
    assert_eq!(shrink.read_roi(last).to_string(), "Roi((15), (13))");

    let docs = |fit| with(27, (0, 14), (4, 6), fit);
    assert_eq!(writes(&docs(Fit::Valid)).len(), 3);
    assert_eq!(writes(&docs(Fit::Overhang))[3], (22, 28));
    assert_eq!(writes(&docs(Fit::Shrink))[3], (22, 23));
    assert_eq!(
        docs(Fit::Shrink).read_roi(BlockIndex(3)).to_string(),
        "Roi((18), (9))"
    );
}

#[test]
fn case_13_last_piece_smaller_than_the_context_and_context_larger_than_the_block() {
    let a = grid(&task(
        (&[-2], &[15]),
        (&[-2], &[9]),
        (&[0], &[5]),
        Fit::Shrink,
    ));
    assert_eq!(writes(&a), [(0, 5), (5, 10), (10, 11)]);
    let levels: Vec<u128> = (0..3).map(|block| a.level(BlockIndex(block))).collect();
    assert_eq!(levels, [1, 0, 1]);
    assert_eq!(a.read_roi(BlockIndex(2)).to_string(), "Roi((8), (5))");

    let b = grid(&task(
        (&[-20], &[140]),
        (&[-20], &[50]),
        (&[0], &[10]),
        Fit::Valid,
    ));
    assert_eq!((b.count(), b.level_count()), (10, 3));
    assert_eq!(blocks_per_level(&b), [3, 3, 4]);

    let c = task(
        (&[-2, -2, -2], &[864, 1028, 1028]),
        (&[-2, -2, -2], &[5, 1028, 1028]),
        (&[0, 0, 0], &[1, 1024, 1024]),
        Fit::Valid,
    );
    assert_eq!(grid(&c).count(), 860);
    assert_eq!(blocks_per_level(&grid(&c)), [286, 287, 287]);
    assert!(drain(&mut alone(&c)) <= 287);
}

fn blocks_per_level(grid: &bellis_core::BlockGrid) -> Vec<usize> {
    let mut counts = vec![0; grid.level_count() as usize];
    for block in blocks(grid) {
        counts[grid.level(block) as usize] += 1;
    }
    counts
}

#[test]
fn case_14_the_last_rows_of_a_volume_that_does_not_divide_evenly_are_not_lost() {
    let voxels = |grid: &bellis_core::BlockGrid| -> i128 {
        (0..grid.count() as u64)
            .map(|block| grid.write_roi(BlockIndex(block)).size().expect("small"))
            .sum()
    };
    let block: (&[i64], &[i64]) = (&[0, 0, 0], &[128, 128, 64]);
    let first = |fit| grid(&task((&[0, 0, 0], &[2160, 2560, 687]), block, block, fit));
    let expected = [
        (3200, 3_355_443_200),
        (3740, 3_921_674_240),
        (3740, 3_798_835_200),
    ];
    for (fit, (count, covered)) in FITS.into_iter().zip(expected) {
        assert_eq!(
            (first(fit).count(), voxels(&first(fit))),
            (count, covered),
            "{fit}"
        );
    }

    let cube: (&[i64], &[i64]) = (&[0, 0, 0], &[64, 64, 64]);
    let second = |fit| grid(&task((&[0, 0, 1], &[4029, 7711, 219]), cube, cube, fit));
    for (fit, (count, end)) in FITS
        .into_iter()
        .zip([(22320, 193), (30492, 257), (30492, 220)])
    {
        let grid = second(fit);
        assert_eq!(
            (grid.count(), grid.covered_roi().end()[2]),
            (count, end),
            "{fit}"
        );
    }
    assert_eq!(voxels(&second(Fit::Shrink)), 6_803_808_561);
}

#[test]
fn b3_numbers_come_from_the_place_before_shrinking_and_need_not_start_at_zero() {
    let docs = grid(&task(
        (&[0], &[27]),
        (&[0], &[14]),
        (&[4], &[6]),
        Fit::Shrink,
    ));
    assert_eq!(docs.number(BlockIndex(3)), 3);
    let cube: (&[i64], &[i64]) = (&[0, 0, 0], &[1, 1, 1]);
    let grid = grid(&task(
        (&[0, 0, 0], &[100, 100, 100]),
        cube,
        cube,
        Fit::Valid,
    ));
    for (position, number) in [
        ([0, 0, 1], 1),
        ([0, 1, 0], 2),
        ([1, 0, 0], 3),
        ([1, 1, 1], 14),
        ([2, 3, 5], 237),
        ([10, 20, 30], 38295),
        ([99, 99, 99], 4_430_349),
    ] {
        let block = grid
            .at(&Coordinate::new(&position).expect("rank"))
            .expect("in the grid");
        assert_eq!(grid.number(block), number);
    }
}
