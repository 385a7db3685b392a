//! Grids, numbers, levels and dependencies of single tasks.

use std::collections::HashMap;

use bellis_core::{BlockGrid, BlockIndex, Roi};
use serde_json::Value;

use crate::vectors::{big, cases, integers, roi, spec};

#[test]
fn geometry_lines() {
    assert_eq!(check_all("geometry.jsonl"), 353);
}

#[test]
fn reference_defects_lines() {
    assert_eq!(check_all("reference-defects.jsonl"), 12);
}

fn check_all(name: &str) -> usize {
    let cases = cases(name);
    for case in &cases {
        check(case);
    }
    cases.len()
}

fn check(case: &Value) {
    let name = &case["case"];
    let spec = spec("t", case);
    let grid = BlockGrid::new(&spec).expect("a valid task");
    assert_eq!(
        grid.count(),
        big(&case["num_blocks"]),
        "blocks of case {name}"
    );
    assert_eq!(
        grid.level_count(),
        big(&case["num_levels"]),
        "levels of case {name}"
    );
    assert_eq!(
        grid.root_count(),
        big(&case["num_roots"]),
        "roots of case {name}"
    );
    let shape: Vec<i64> = grid.shape().iter().collect();
    assert_eq!(shape, integers(&case["grid_shape"]), "grid of case {name}");
    let store: Vec<i64> = grid.store_shape().iter().collect();
    assert_eq!(
        store,
        integers(&case["store_grid_shape"]),
        "store grid of case {name}"
    );
    let Some(blocks) = case["blocks"].as_array() else {
        return;
    };
    let mut next = grid.first_in_order();
    let mut downstream: HashMap<u128, Vec<u128>> = HashMap::new();
    let mut covered = 0;
    for block in blocks {
        let index = next.unwrap_or_else(|| panic!("case {name} has too few blocks"));
        check_block(&grid, index, block, name);
        for upstream in grid.upstream(index) {
            downstream
                .entry(grid.number(upstream))
                .or_default()
                .push(grid.number(index));
        }
        covered += grid.write_roi(index).size().expect("small");
        next = grid.next_in_order(index);
    }
    assert_eq!(next, None, "case {name} has too many blocks");
    for block in blocks {
        let number = big(&block[0]);
        let index = grid.by_number(number).expect("a block of the task");
        let expected = downstream.remove(&number).unwrap_or_default();
        let mut expected: Vec<u128> = expected;
        expected.sort_unstable();
        let actual: Vec<u128> = grid
            .downstream(index)
            .iter()
            .map(|&b| grid.number(b))
            .collect();
        assert_eq!(actual, expected, "downstream of {number} in case {name}");
    }
    if case["fit"] == "shrink" {
        assert_eq!(
            Some(covered),
            grid.total_write_roi().size(),
            "writes of case {name}"
        );
    }
}

fn check_block(grid: &BlockGrid, index: BlockIndex, block: &Value, case: &Value) {
    let number = big(&block[0]);
    let read = roi(&Value::Array(vec![block[1].clone(), block[2].clone()]));
    let write: Roi = roi(&Value::Array(vec![block[3].clone(), block[4].clone()]));
    assert_eq!(grid.number(index), number, "number in case {case}");
    assert_eq!(
        grid.by_number(number),
        Some(index),
        "block {number} of case {case}"
    );
    assert_eq!(
        grid.at(&grid.position(index)),
        Some(index),
        "place of {number}, case {case}"
    );
    assert_eq!(
        grid.read_roi(index),
        read,
        "read of {number} in case {case}"
    );
    assert_eq!(
        grid.write_roi(index),
        write,
        "write of {number} in case {case}"
    );
    let upstream: Vec<u128> = grid
        .upstream(index)
        .iter()
        .map(|&b| grid.number(b))
        .collect();
    let expected: Vec<u128> = block[5]
        .as_array()
        .expect("a list")
        .iter()
        .map(big)
        .collect();
    assert_eq!(upstream, expected, "upstream of {number} in case {case}");
    assert_eq!(
        grid.level(index),
        big(&block[6]),
        "level of {number} in case {case}"
    );
}
