//! The `zarr.json` documents: written byte for byte as daisy 2.0 writes them, read leniently where
//! the Zarr v3 specification leaves a choice, refused where the bytes could mean something else.

use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};

use crate::arrays::ArrayKind;
use crate::layout::{Layout, StoredFit, StoredRoi};

/// Attribute with daisy's layout hash.
pub(crate) const HASH_ATTRIBUTE: &str = "daisy_task_hash";
/// Attribute with our structural parameters.
pub(crate) const LAYOUT_ATTRIBUTE: &str = "bellis";
/// Version of that attribute.
const LAYOUT_VERSION: u32 = 1;

/// Structural parameters as the `bellis` attribute holds them. Grid base, stride and context follow
/// from the three regions.
#[derive(Debug, Serialize, Deserialize)]
struct LayoutAttribute {
    fit: StoredFit,
    read_roi: StoredRoi,
    total_roi: StoredRoi,
    version: u32,
    write_roi: StoredRoi,
}

/// What a group's document says.
#[derive(Debug, Clone)]
pub(crate) struct GroupDocument {
    /// daisy's hash, when there is one.
    pub(crate) hash: Option<String>,
    /// Our parameters, when they are there, readable and of a version that we know.
    pub(crate) layout: Option<Layout>,
    /// All attributes, so that those of others survive a rewrite.
    pub(crate) attributes: Map<String, Value>,
}

/// What stands at a path that holds a `zarr.json`.
#[derive(Debug)]
pub(crate) enum NodeDocument {
    /// A group.
    Group(Box<GroupDocument>),
    /// An array, with daisy's hash if it carries one (the layout before daisy 2.0).
    Array { hash: Option<String> },
}

/// The text of a group's document.
pub(crate) fn group_text(attributes: &Map<String, Value>) -> String {
    document_text(&json!({
        "attributes": attributes,
        "node_type": "group",
        "zarr_format": 3,
    }))
}

/// Attributes with the layout's hash and parameters set, other people's kept.
pub(crate) fn stamped(mut attributes: Map<String, Value>, layout: &Layout) -> Map<String, Value> {
    let parameters = LayoutAttribute {
        fit: layout.fit(),
        read_roi: layout.read().clone(),
        total_roi: layout.total().clone(),
        version: LAYOUT_VERSION,
        write_roi: layout.write().clone(),
    };
    attributes.insert(HASH_ATTRIBUTE.to_owned(), Value::String(layout.hash()));
    if let Ok(parameters) = serde_json::to_value(parameters) {
        attributes.insert(LAYOUT_ATTRIBUTE.to_owned(), parameters);
    }
    attributes
}

/// The text of an array's document.
pub(crate) fn array_text(kind: ArrayKind, shape: &[u64]) -> String {
    let fill_value = if kind.is_float() {
        json!(0.0)
    } else {
        json!(0)
    };
    // A chunk has at least one element along each axis, also where the array has none.
    let chunk_shape: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
    document_text(&json!({
        "attributes": {},
        "chunk_grid": {"configuration": {"chunk_shape": chunk_shape}, "name": "regular"},
        "chunk_key_encoding": {"configuration": {"separator": "/"}, "name": "default"},
        "codecs": [{"configuration": {"endian": "little"}, "name": "bytes"}],
        "data_type": kind.data_type(),
        "fill_value": fill_value,
        "node_type": "array",
        "shape": shape,
        "storage_transformers": [],
        "zarr_format": 3,
    }))
}

/// Sorted keys, two spaces, a newline at the end.
fn document_text(document: &Value) -> String {
    // Alternate formatting is serde_json's pretty form and can't fail.
    let mut text = format!("{:#}", sorted(document));
    text.push('\n');
    text
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.is_empty() {
        return Err("is empty".to_owned());
    }
    if bytes.iter().all(|byte| *byte == 0) {
        return Err("holds nothing but zero bytes".to_owned());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("is not a JSON object".to_owned()),
        Err(error) => Err(format!("is not valid JSON ({error})")),
    }
}

/// A whole number, also when it is written as `1.0`.
fn whole(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = value.as_f64()?;
    let limit = (1u64 << 53) as f64;
    (number.fract() == 0.0 && (0.0..=limit).contains(&number)).then_some(number as u64)
}

fn whole_list(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(whole).collect()
}

/// The name and configuration of an extension: `"bytes"`, or an object with `name`.
fn extension(value: &Value) -> Option<(&str, Option<&Map<String, Value>>)> {
    match value {
        Value::String(name) => Some((name, None)),
        Value::Object(map) => {
            let configuration = match map.get("configuration") {
                None => None,
                Some(Value::Object(configuration)) => Some(configuration),
                Some(_) => return None,
            };
            Some((map.get("name")?.as_str()?, configuration))
        }
        _ => None,
    }
}

/// Fields that nobody may need to understand, or an error naming the first that we don't know.
fn check_fields(map: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    for (key, value) in map {
        let optional = value.get("must_understand") == Some(&Value::Bool(false));
        if !known.contains(&key.as_str()) && !optional {
            return Err(format!("has an unknown field `{key}`"));
        }
    }
    Ok(())
}

fn check_format(map: &Map<String, Value>) -> Result<(), String> {
    match map.get("zarr_format") {
        Some(version) if whole(version) == Some(3) => Ok(()),
        Some(version) => Err(format!("has zarr_format {version}; only 3 is supported")),
        None => Err("has no zarr_format".to_owned()),
    }
}

fn hash_of(attributes: &Map<String, Value>) -> Result<Option<String>, String> {
    match attributes.get(HASH_ATTRIBUTE) {
        None => Ok(None),
        Some(Value::String(hash)) => Ok(Some(hash.clone())),
        Some(other) => Err(format!(
            "has an attribute {HASH_ATTRIBUTE} that is no text: {other}"
        )),
    }
}

/// Reads the document at the root of a store.
pub(crate) fn parse_node(bytes: &[u8]) -> Result<NodeDocument, String> {
    let map = parse_object(bytes)?;
    check_format(&map)?;
    let attributes = match map.get("attributes") {
        None => Map::new(),
        Some(Value::Object(attributes)) => attributes.clone(),
        Some(_) => return Err("has attributes that are no object".to_owned()),
    };
    match map.get("node_type").and_then(Value::as_str) {
        Some("array") => Ok(NodeDocument::Array {
            hash: hash_of(&attributes).ok().flatten(),
        }),
        Some("group") => {
            check_fields(
                &map,
                &[
                    "attributes",
                    "consolidated_metadata",
                    "node_type",
                    "zarr_format",
                ],
            )?;
            Ok(NodeDocument::Group(Box::new(GroupDocument {
                hash: hash_of(&attributes)?,
                layout: attributes.get(LAYOUT_ATTRIBUTE).and_then(layout_of),
                attributes,
            })))
        }
        _ => Err("is the document of neither a group nor an array".to_owned()),
    }
}

fn layout_of(attribute: &Value) -> Option<Layout> {
    let parameters: LayoutAttribute = serde_json::from_value(attribute.clone()).ok()?;
    if parameters.version != LAYOUT_VERSION {
        return None;
    }
    let LayoutAttribute {
        fit,
        read_roi,
        total_roi,
        write_roi,
        ..
    } = parameters;
    Layout::new(total_roi, read_roi, write_roi, fit).ok()
}

/// Shape of an array, read from its document without knowing the layout.
pub(crate) fn parse_shape(bytes: &[u8]) -> Result<Vec<u64>, String> {
    let map = parse_object(bytes)?;
    map.get("shape")
        .and_then(whole_list)
        .ok_or_else(|| "has no shape".to_owned())
}

/// Checks that an array's document describes raw elements of this kind and shape in one chunk.
pub(crate) fn check_array(bytes: &[u8], kind: ArrayKind, shape: &[u64]) -> Result<(), String> {
    let map = parse_object(bytes)?;
    check_format(&map)?;
    if map.get("node_type").and_then(Value::as_str) != Some("array") {
        return Err("is not the document of an array".to_owned());
    }
    check_fields(
        &map,
        &[
            "attributes",
            "chunk_grid",
            "chunk_key_encoding",
            "codecs",
            "data_type",
            "dimension_names",
            "fill_value",
            "node_type",
            "shape",
            "storage_transformers",
            "zarr_format",
        ],
    )?;
    let stored = map.get("shape").and_then(whole_list);
    if stored.as_deref() != Some(shape) {
        let stored = map.get("shape").unwrap_or(&Value::Null);
        return Err(format!(
            "has shape {stored}, and the task's layout has {shape:?}"
        ));
    }
    let data_type = map.get("data_type").unwrap_or(&Value::Null);
    if data_type.as_str() != Some(kind.data_type()) {
        return Err(format!(
            "has data_type {data_type}, and \"{}\" is needed",
            kind.data_type()
        ));
    }
    check_chunks(&map, shape)?;
    check_codecs(&map, kind)?;
    check_fill(&map, kind)?;
    match map.get("storage_transformers") {
        None => Ok(()),
        Some(Value::Array(list)) if list.is_empty() => Ok(()),
        Some(other) => Err(format!(
            "has storage_transformers {other}, and none are supported"
        )),
    }
}

fn check_chunks(map: &Map<String, Value>, shape: &[u64]) -> Result<(), String> {
    let grid = map.get("chunk_grid").unwrap_or(&Value::Null);
    let chunk_shape = match extension(grid) {
        Some(("regular", Some(configuration))) => {
            configuration.get("chunk_shape").and_then(whole_list)
        }
        _ => {
            return Err(format!(
                "has chunk_grid {grid}, and a regular one is needed"
            ))
        }
    };
    let single = |chunk: &[u64]| {
        chunk.len() == shape.len()
            && chunk
                .iter()
                .zip(shape)
                .all(|(chunk, extent)| chunk == extent || (*extent == 0 && *chunk == 1))
    };
    match chunk_shape {
        Some(chunk) if single(&chunk) => {}
        _ => {
            return Err(format!(
                "has chunk_grid {grid}, and one chunk of {shape:?} is needed"
            ))
        }
    }
    let encoding = map.get("chunk_key_encoding").unwrap_or(&Value::Null);
    match extension(encoding) {
        Some(("default", configuration)) => {
            match configuration.and_then(|configuration| configuration.get("separator")) {
                None => Ok(()),
                Some(separator) if separator == "/" => Ok(()),
                Some(separator) => Err(format!("separates chunk keys by {separator}, not \"/\"")),
            }
        }
        _ => Err(format!(
            "has chunk_key_encoding {encoding}, and \"default\" is needed"
        )),
    }
}

fn check_codecs(map: &Map<String, Value>, kind: ArrayKind) -> Result<(), String> {
    let codecs = map.get("codecs").unwrap_or(&Value::Null);
    let refuse = || {
        Err(format!(
            "has codecs {codecs}, and only little-endian bytes without compression work"
        ))
    };
    let Some([codec]) = codecs.as_array().map(Vec::as_slice) else {
        return refuse();
    };
    let Some(("bytes", configuration)) = extension(codec) else {
        return refuse();
    };
    match configuration.and_then(|configuration| configuration.get("endian")) {
        None => Ok(()),
        Some(endian) if endian == "little" || kind.item_size() == 1 => Ok(()),
        Some(_) => refuse(),
    }
}

fn check_fill(map: &Map<String, Value>, kind: ArrayKind) -> Result<(), String> {
    match map.get("fill_value") {
        Some(fill) if fill.as_f64() == Some(0.0) => Ok(()),
        Some(fill) if kind.is_float() && fill == "NaN" => Ok(()),
        Some(fill) => Err(format!("has fill_value {fill}, and 0 is needed")),
        None => Err("has no fill_value".to_owned()),
    }
}
