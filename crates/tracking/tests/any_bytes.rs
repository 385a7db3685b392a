//! Whatever lies in the files of a store: an error or a store, never a panic, and a mark only where
//! one was.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;

use bellis_tracking::{reset, reset_failed, OpenOptions, StoreReader, SystemFiles, TrackingStore};
use proptest::prelude::*;
use serde_json::Value;
use support::{line, Scratch};

const FILES: [&str; 5] = [
    "zarr.json",
    "done/zarr.json",
    "failures/zarr.json",
    "runs.jsonl",
    "bellis.lock",
];

/// Any JSON, with the words that documents are made of among its keys and texts.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("shape".to_owned()),
        Just("attributes".to_owned()),
        Just("daisy_task_hash".to_owned()),
        Just("bellis".to_owned()),
        Just("node_type".to_owned()),
        Just("array".to_owned()),
        Just("group".to_owned()),
        Just("bytes".to_owned()),
        Just("total_roi".to_owned()),
        "\\PC{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A document of a good store with one value in it replaced.
fn altered(text: &str, at: usize, value: Value) -> String {
    fn places(value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
        visit(value);
        match value {
            Value::Object(map) => map.values_mut().for_each(|value| places(value, visit)),
            Value::Array(list) => list.iter_mut().for_each(|value| places(value, visit)),
            _ => {}
        }
    }
    let mut document: Value = serde_json::from_str(text).unwrap();
    let mut count = 0;
    places(&mut document, &mut |_| count += 1);
    let mut index = 0;
    let mut value = Some(value);
    places(&mut document, &mut |place| {
        if index == at % count {
            if let Some(value) = value.take() {
                *place = value;
            }
        }
        index += 1;
    });
    document.to_string()
}

/// Cells 1 and 3 of six are done.
fn check(file: usize, content: &[u8]) {
    let scratch = Scratch::in_memory("any");
    let path = scratch.join("store");
    let layout = line(0, 60, 10);
    let mut store = TrackingStore::open(&path, &layout, OpenOptions::default()).unwrap();
    store.record_done(1, None).unwrap();
    store.record_done(3, None).unwrap();
    store.close().unwrap();
    fs::write(path.join(FILES[file]), content).unwrap();
    if let Ok(Some(reader)) = StoreReader::open(&SystemFiles, &path, None) {
        let _ = reader.status();
        let _ = reader.failed_cells();
        let _ = reader.block(1);
        reader.runs().unwrap();
    }
    let _ = reset_failed(&path, &OpenOptions::default());
    match TrackingStore::open(&path, &layout, OpenOptions::default()) {
        Ok(store) => assert_eq!(store.done_bytes(), [0, 1, 0, 1, 0, 0]),
        Err(error) => {
            assert!(error.code().starts_with("ERR_BELLIS_"), "{error}");
            assert!(error.to_string().len() > 20, "{error}");
        }
    }
    // Another layout of the same grid is never served, unless nothing says what the store is for.
    if let Ok(mut store) = TrackingStore::open(&path, &line(7, 60, 10), OpenOptions::default()) {
        let notices = store.take_notices();
        let none = store.done_bytes().iter().all(|byte| *byte == 0);
        let by_shape = notices
            .iter()
            .any(|notice| matches!(notice, bellis_tracking::Notice::WithoutHash { .. }));
        assert!(none || by_shape, "{notices:?}");
    }
    let _ = reset(&path, &OpenOptions::default());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_in_a_document(
        file in 0..FILES.len(),
        content in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        check(file, &content);
    }

    #[test]
    fn any_json_in_a_document(file in 0..FILES.len(), json in any_json()) {
        check(file, json.to_string().as_bytes());
    }

    #[test]
    fn any_value_altered_in_a_document(file in 0usize..3, at in any::<usize>(), json in any_json()) {
        let scratch = Scratch::in_memory("good");
        let path = scratch.join("store");
        let store = TrackingStore::open(&path, &line(0, 60, 10), OpenOptions::default()).unwrap();
        store.close().unwrap();
        let text = fs::read_to_string(path.join(FILES[file])).unwrap();
        check(file, altered(&text, at, json).as_bytes());
    }

    #[test]
    fn a_document_cut_anywhere(file in 0usize..3, at in 0usize..1000) {
        let scratch = Scratch::in_memory("good");
        let path = scratch.join("store");
        let store = TrackingStore::open(&path, &line(0, 60, 10), OpenOptions::default()).unwrap();
        store.close().unwrap();
        let text = fs::read(path.join(FILES[file])).unwrap();
        check(file, &text[..at.min(text.len())]);
    }
}
