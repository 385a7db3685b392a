//! Stores that daisy 2.0.0 wrote, and hashes that it computed: every recorded answer.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use bellis_tracking::{ArrayKind, OpenOptions, StoreReader, SystemFiles, TrackingStore};
use serde_json::Value;
use support::{copy_tree, golden_layout, golden_stores, tree, vectors, Scratch};

#[test]
fn hashes_are_daisys() {
    let text = fs::read_to_string(vectors().join("hashes.jsonl")).unwrap();
    let mut count = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            golden_layout(&case).hash(),
            case["hash"],
            "case {}",
            case["case"]
        );
        count += 1;
    }
    assert!(count >= 30, "only {count} cases");
}

/// Row-major cell of a position.
fn flat(position: &Value, shape: &[u64]) -> u64 {
    let position = position.as_array().unwrap();
    position.iter().zip(shape).fold(0, |cell, (index, extent)| {
        cell * extent + index.as_u64().unwrap()
    })
}

fn cells(expected: &Value, shape: &[u64]) -> Vec<(u64, u64)> {
    let cells = expected["cells"].as_array().unwrap();
    cells
        .iter()
        .map(|pair| (pair[0].as_u64().unwrap(), flat(&pair[1], shape)))
        .collect()
}

#[test]
fn stores_of_daisy_give_their_recorded_answers() {
    for expected in golden_stores() {
        let name = expected["store"].as_str().unwrap();
        let layout = golden_layout(&expected);
        let shape = layout.grid_shape();
        assert_eq!(layout.hash(), expected["hash"], "{name}");
        assert_eq!(Value::from(shape.clone()), expected["grid_shape"], "{name}");
        let path = vectors().join("stores").join(name);
        let reader = StoreReader::open(&SystemFiles, &path, Some(&layout))
            .unwrap()
            .unwrap();
        let cells = cells(&expected, &shape);
        assert_eq!(layout.blocks(), cells.len() as u64, "{name}");

        let mut done = Vec::new();
        let mut not_done = Vec::new();
        for (id, cell) in &cells {
            let block = reader.block(*cell).unwrap();
            if block.done { &mut done } else { &mut not_done }.push(*id);
            let failures = expected["failures"]
                .get(id.to_string())
                .and_then(Value::as_u64);
            assert_eq!(
                u64::from(block.failures),
                failures.unwrap_or(0),
                "{name} block {id}"
            );
            if let Some(values) = expected["values"].get(id.to_string()) {
                check_values(name, *id, &block, values);
            }
        }
        assert_eq!(Value::from(done.clone()), expected["done"], "{name}");
        assert_eq!(
            Value::from(not_done.clone()),
            expected["not_done"],
            "{name}"
        );

        let status = reader.status().unwrap();
        assert_eq!(status.done, done.len() as u64, "{name}");
        assert_eq!(status.blocks, Some(cells.len() as u64), "{name}");
        assert_eq!(
            status.has_resources, expected["resource_tracking"],
            "{name}"
        );
        let attempts: u64 = expected["failures"]
            .as_object()
            .unwrap()
            .values()
            .filter_map(Value::as_u64)
            .sum();
        assert_eq!(status.failed_attempts, attempts, "{name}");
        let mut failed: Vec<u64> = reader
            .failed_cells()
            .unwrap()
            .iter()
            .map(|f| f.cell)
            .collect();
        let mut wanted: Vec<u64> = cells
            .iter()
            .filter(|(id, _)| expected["failures"].get(id.to_string()).is_some())
            .filter(|(id, _)| !done.contains(id))
            .map(|(_, cell)| *cell)
            .collect();
        failed.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(failed, wanted, "{name}");
        check_untouched(&expected, &path, &cells, &shape);
    }
}

fn check_values(name: &str, id: u64, block: &bellis_tracking::StoredBlock, values: &Value) {
    let at = format!("{name} block {id}");
    // As the float32 that is stored: the parser may be off by a last digit of the double.
    let float32 = |value: Option<f64>| value.map(|value| value as f32);
    assert_eq!(
        float32(block.wall_seconds),
        float32(values["wall_seconds"].as_f64()),
        "{at}"
    );
    assert_eq!(
        float32(block.cpu_seconds),
        float32(values["cpu_seconds"].as_f64()),
        "{at}"
    );
    assert_eq!(
        block.peak_rss_bytes,
        values["peak_rss_bytes"].as_u64(),
        "{at}"
    );
    assert_eq!(
        block.io_read_bytes,
        values["io_read_bytes"].as_u64(),
        "{at}"
    );
    assert_eq!(
        block.io_write_bytes,
        values["io_write_bytes"].as_u64(),
        "{at}"
    );
    assert_eq!(block.worker_id, None, "{at}: daisy 2.0.0 has no such array");
    assert_eq!(block.returned_at, None, "{at}");
}

/// All cells of blocks that are not done, and all cells without a block, hold zero bytes.
fn check_untouched(expected: &Value, path: &std::path::Path, cells: &[(u64, u64)], shape: &[u64]) {
    let Some(untouched) = expected["untouched"].as_object() else {
        return;
    };
    let done: Vec<u64> = cells
        .iter()
        .filter(|(id, _)| {
            expected["done"]
                .as_array()
                .unwrap()
                .contains(&Value::from(*id))
        })
        .map(|(_, cell)| *cell)
        .collect();
    for name in untouched.keys() {
        let kind = ArrayKind::by_name(name).unwrap();
        if kind == ArrayKind::Failures {
            continue;
        }
        let chunk = path
            .join(name)
            .join(format!("c{}", "/0".repeat(shape.len())));
        let bytes = fs::read(chunk).unwrap();
        for (cell, element) in bytes.chunks(kind.item_size() as usize).enumerate() {
            if !done.contains(&(cell as u64)) {
                assert!(element.iter().all(|byte| *byte == 0), "{name} cell {cell}");
            }
        }
    }
}

#[test]
fn a_store_of_daisys_is_gone_on_with_and_only_stamped() {
    for expected in golden_stores() {
        let name = expected["store"].as_str().unwrap();
        let layout = golden_layout(&expected);
        let scratch = Scratch::new("golden");
        let path = scratch.join(name);
        copy_tree(&vectors().join("stores").join(name), &path);
        let before = tree(&path);
        let options = OpenOptions {
            resource_tracking: expected["resource_tracking"].as_bool().unwrap(),
            ..OpenOptions::default()
        };
        let mut store = TrackingStore::open(&path, &layout, options.clone()).unwrap();
        assert_eq!(store.take_notices(), [], "{name}");
        let done = expected["done"].as_array().unwrap();
        for (id, cell) in cells(&expected, &layout.grid_shape()) {
            assert_eq!(
                store.is_done(cell),
                done.contains(&Value::from(id)),
                "{name} block {id}"
            );
        }
        store.close().unwrap();
        // Every array is as it was; the group's document has one more attribute.
        let after = tree(&path);
        for (file, bytes) in &before {
            let now = &after.iter().find(|(name, _)| name == file).unwrap().1;
            if file != "zarr.json" {
                assert_eq!(now, bytes, "{name} {file}");
                continue;
            }
            let mut group: Value = serde_json::from_slice(now).unwrap();
            assert!(group["attributes"]["bellis"].is_object(), "{name}");
            group["attributes"]
                .as_object_mut()
                .unwrap()
                .remove("bellis");
            assert_eq!(
                format!("{group:#}\n").as_bytes(),
                bytes.as_slice(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_new_store_has_daisys_bytes() {
    for expected in golden_stores() {
        let name = expected["store"].as_str().unwrap();
        let layout = golden_layout(&expected);
        let scratch = Scratch::new("golden-new");
        let path = scratch.join(name);
        let resource_tracking = expected["resource_tracking"].as_bool().unwrap();
        let options = OpenOptions {
            resource_tracking,
            ..OpenOptions::default()
        };
        TrackingStore::open(&path, &layout, options)
            .unwrap()
            .close()
            .unwrap();
        let golden = tree(&vectors().join("stores").join(name));
        let made = tree(&path);
        for (file, bytes) in &golden {
            let now = &made
                .iter()
                .find(|(name, _)| name == file)
                .unwrap_or_else(|| {
                    panic!("{name}: {file} is missing");
                });
            if file.ends_with("/zarr.json") {
                assert_eq!(
                    String::from_utf8_lossy(&now.1),
                    String::from_utf8_lossy(bytes),
                    "{name} {file}"
                );
            } else if file != "zarr.json" {
                assert_eq!(now.1.len(), bytes.len(), "{name} {file}");
                assert!(now.1.iter().all(|byte| *byte == 0), "{name} {file}");
            }
        }
        let newer = ["worker_id", "sent_at", "returned_at"];
        for (file, _) in &made {
            let ours = newer.iter().any(|name| file.starts_with(name));
            assert!(
                ours || golden.iter().any(|(name, _)| name == file),
                "{name}: extra {file}"
            );
        }
    }
}
