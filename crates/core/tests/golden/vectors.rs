//! Reads the vectors: one JSON object a line.

use std::io::Write;
use std::path::Path;

use bellis_core::{Roi, TaskSpec};
use serde_json::Value;

/// All cases of a file; prints their number.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../__test__/vectors")
        .join(name);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON object"))
        .collect();
    // Past the capture of the test harness, so that every run shows it.
    writeln!(std::io::stdout().lock(), "{name}: {} lines", cases.len()).expect("stdout");
    cases
}

pub(crate) fn integers(value: &Value) -> Vec<i64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|v| v.as_i64().expect("an integer"))
        .collect()
}

pub(crate) fn roi(value: &Value) -> Roi {
    Roi::from_slices(&integers(&value[0]), &integers(&value[1])).expect("a valid region")
}

/// A number, or a decimal string where numbers may not be exact.
pub(crate) fn big(value: &Value) -> u128 {
    match value {
        Value::String(digits) => digits.parse().expect("digits"),
        number => u128::from(number.as_u64().expect("not negative")),
    }
}

pub(crate) fn spec(id: &str, value: &Value) -> TaskSpec {
    TaskSpec {
        fit: value["fit"]
            .as_str()
            .expect("a name")
            .parse()
            .expect("a known fit"),
        read_write_conflict: value["conflict"].as_bool().expect("a boolean"),
        max_retries: value["max_retries"].as_u64().unwrap_or(2) as u32,
        ..TaskSpec::new(
            id,
            roi(&value["total"]),
            roi(&value["read"]),
            roi(&value["write"]),
        )
    }
}
