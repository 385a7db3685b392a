//! Case 28: arithmetic with empty regions, and tasks without volume.

use bellis_core::{Coordinate, Fit, Roi};

use crate::tasks::{alone, grid, roi, task, FIRST};

#[test]
fn case_28_empty_region_arithmetic() {
    let full = roi((&[0, 0, 0], &[10, 10, 10]));
    let empty = roi((&[5, 5, 5], &[0, 0, 0]));
    assert_eq!(full.intersect(&empty), Some(empty));
    assert!(!full.intersects(&empty) && !empty.intersects(&full) && !empty.intersects(&empty));
    assert!(
        full.contains_roi(&empty),
        "an empty region in bounds is contained"
    );
    assert_eq!(full.union(&empty), Some(full));
    assert_eq!(empty.union(&full), Some(full));

    let (left, right, far) = (roi((&[0], &[10])), roi((&[10], &[10])), roi((&[50], &[5])));
    for (a, b) in [(left, right), (right, left), (left, far), (far, left)] {
        assert!(!a.intersects(&b));
        let both = a.intersect(&b).expect("same rank");
        assert!(
            both.is_empty() && both.shape[0] == 0,
            "never a negative extent"
        );
        assert_eq!(both.offset[0], a.offset[0].max(b.offset[0]));
    }
    assert_eq!(left.union(&far), Some(roi((&[0], &[55]))));
    assert_eq!(left.intersect(&full), None, "ranks differ");
    assert_eq!(Coordinate::new(&[]), None, "no axis");
    assert_eq!(Roi::from_slices(&[0], &[-1]), None, "a negative extent");
}

#[test]
fn case_28_a_task_with_an_empty_total_has_no_blocks_and_ends_at_once() {
    for fit in [Fit::Valid, Fit::Overhang, Fit::Shrink] {
        let spec = task(
            (&[0, 0], &[0, 9]),
            (&[0, 0], &[3, 3]),
            (&[1, 1], &[1, 1]),
            fit,
        );
        assert_eq!((grid(&spec).count(), grid(&spec).level_count()), (0, 0));
        let mut scheduler = alone(&spec);
        assert!(scheduler.is_finished(FIRST));
        assert_eq!(scheduler.acquire(FIRST), None);
    }
}

#[test]
fn growing_and_shifting_keep_to_the_rules() {
    let block = roi((&[10, 20], &[4, 6]));
    let c = |a, b| Coordinate::new(&[a, b]).expect("rank");
    assert_eq!(
        block.grow(&c(1, 2), &c(3, 4)),
        Some(roi((&[9, 18], &[8, 12])))
    );
    assert_eq!(
        block.grow(&c(-1, -1), &c(-1, -1)),
        Some(roi((&[11, 21], &[2, 4])))
    );
    assert_eq!(
        block.grow(&c(-3, 0), &c(-3, 0)).expect("small").shape,
        c(0, 6)
    );
    assert_eq!(block.shift(&c(-10, 5)), Some(roi((&[0, 25], &[4, 6]))));
    assert_eq!(block.shift(&c(i64::MAX, 0)), None);
    assert!(block.contains_point(&c(13, 25)) && !block.contains_point(&c(14, 25)));
}
