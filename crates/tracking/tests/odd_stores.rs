//! Stores that others made, changed or broke: refused or repaired with a notice, never a false skip.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use bellis_tracking::{
    Layout, Notice, OnLayoutMismatch, OpenOptions, StoredFit, TrackingError, TrackingStore,
};
use serde_json::{json, Value};
use support::{line, line_with, roi, tree, Scratch};

/// Four blocks of ten.
fn layout() -> Layout {
    line(0, 40, 10)
}

fn open(path: &Path, layout: &Layout) -> Result<TrackingStore, TrackingError> {
    TrackingStore::open(path, layout, OpenOptions::default())
}

/// A finished store of [`layout`].
fn finished(scratch: &Scratch) -> PathBuf {
    let path = scratch.join("store");
    let mut store = open(&path, &layout()).unwrap();
    for cell in 0..4 {
        store.record_done(cell, None).unwrap();
    }
    store.close().unwrap();
    path
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut document);
    fs::write(path, format!("{document:#}\n")).unwrap();
}

/// Opening fails with this text in the message, and changes nothing.
#[track_caller]
fn refused(path: &Path, layout: &Layout, text: &str) -> TrackingError {
    let before = tree(path);
    let error = open(path, layout).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(text), "`{text}` is not in: {message}");
    assert!(tree(path) == before, "the refused store was changed");
    error
}

fn done(store: &TrackingStore) -> Vec<u64> {
    (0..store.layout().cells())
        .filter(|cell| store.is_done(*cell))
        .collect()
}

#[test]
fn any_other_layout_is_refused_with_the_fields_that_differ() {
    let context = Layout::new(
        roi(&[0], &[40]),
        roi(&[-2], &[14]),
        roi(&[0], &[10]),
        StoredFit::Valid,
    );
    let shifted = Layout::new(
        roi(&[0], &[40]),
        roi(&[3], &[10]),
        roi(&[3], &[10]),
        StoredFit::Valid,
    );
    let cases: [(&str, Layout, &[&str]); 8] = [
        ("offset", line(5, 40, 10), &["totalRoi.offset"]),
        (
            "block",
            line(0, 40, 5),
            &["readRoi.shape", "writeRoi.shape"],
        ),
        (
            "context",
            context.unwrap(),
            &["readRoi.offset", "readRoi.shape"],
        ),
        (
            "fit",
            line_with(0, 40, 10, 0, StoredFit::Overhang),
            &["fit"],
        ),
        ("smaller", line(0, 30, 10), &["totalRoi.shape"]),
        (
            "smaller at the front",
            line(10, 30, 10),
            &["totalRoi.offset", "totalRoi.shape"],
        ),
        ("moved", line(10, 40, 10), &["totalRoi.offset"]),
        (
            "templates",
            shifted.unwrap(),
            &["readRoi.offset", "writeRoi.offset"],
        ),
    ];
    for (name, other, fields) in cases {
        let scratch = Scratch::new("layout");
        let path = finished(&scratch);
        let error = refused(&path, &other, &format!("\n    rm -rf {}", path.display()));
        assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH", "{name}");
        let TrackingError::LayoutMismatch(mismatch) = error else {
            panic!("{name}")
        };
        let differing: Vec<_> = mismatch.fields.iter().map(|f| f.field.as_str()).collect();
        assert_eq!(differing, fields, "{name}");
        assert_eq!(mismatch.stored, Some(layout().hash()), "{name}");
        assert_eq!(mismatch.expected, other.hash(), "{name}");
        // The store still serves the layout that it was written for.
        assert_eq!(
            done(&open(&path, &layout()).unwrap()),
            [0, 1, 2, 3],
            "{name}"
        );
    }
}

#[test]
fn another_layout_starts_fresh_when_asked() {
    let scratch = Scratch::new("recreate");
    let path = finished(&scratch);
    fs::write(path.join("notes.txt"), "mine").unwrap();
    let options = OpenOptions {
        on_layout_mismatch: OnLayoutMismatch::Recreate,
        ..OpenOptions::default()
    };
    let mut store = TrackingStore::open(&path, &line(0, 40, 5), options.clone()).unwrap();
    assert_eq!(
        store.take_notices(),
        [Notice::Recreated { path: path.clone() }]
    );
    assert_eq!(done(&store), [0u64; 0]);
    store.record_done(7, None).unwrap();
    store.close().unwrap();
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    // With the same layout nothing is thrown away.
    let store = TrackingStore::open(&path, &line(0, 40, 5), options).unwrap();
    assert_eq!(done(&store), [7]);
}

#[test]
fn a_store_of_daisys_alone_names_the_fit_and_a_way_out() {
    let scratch = Scratch::new("hash-only");
    let path = finished(&scratch);
    edit(&path.join("zarr.json"), |group| {
        group["attributes"]
            .as_object_mut()
            .unwrap()
            .remove("bellis");
    });
    let fit = line_with(0, 40, 10, 0, StoredFit::Shrink);
    let error = refused(
        &path,
        &fit,
        "fit is valid in the store and shrink in the task",
    );
    assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH");
    refused(&path, &line(0, 60, 10), "pass grownFrom");
}

#[test]
fn an_attribute_that_contradicts_the_hash_is_ignored() {
    let scratch = Scratch::new("attribute");
    let path = finished(&scratch);
    edit(&path.join("zarr.json"), |group| {
        group["attributes"]["bellis"]["total_roi"]["shape"] = json!([30]);
        group["attributes"]["theirs"] = json!({"z": 1, "a": 2});
    });
    let mut store = open(&path, &layout()).unwrap();
    assert_eq!(
        store.take_notices(),
        [Notice::AttributeIgnored {
            path: path.join("zarr.json")
        }]
    );
    assert_eq!(done(&store), [0, 1, 2, 3]);
    drop(store);
    // It is right again, and what others put there is kept.
    assert_eq!(open(&path, &layout()).unwrap().take_notices(), []);
    let group: Value = serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap();
    assert_eq!(group["attributes"]["theirs"], json!({"a": 2, "z": 1}));
    // Without a right hash the attribute proves nothing.
    edit(&path.join("zarr.json"), |group| {
        group["attributes"]["daisy_task_hash"] = json!("0".repeat(64));
    });
    refused(&path, &line(0, 80, 10), "stored hash 0000");
}

#[test]
fn a_hand_made_store_without_a_hash_is_accepted_by_its_shape() {
    let scratch = Scratch::new("hashless");
    let path = finished(&scratch);
    fs::remove_dir_all(path.join("failures")).unwrap();
    edit(&path.join("zarr.json"), |group| {
        group["attributes"] = json!({})
    });
    let group = fs::read(path.join("zarr.json")).unwrap();
    // Another layout of the same grid, as the seeds say.
    let mut store = open(&path, &line(100, 40, 10)).unwrap();
    assert_eq!(
        store.take_notices(),
        [Notice::WithoutHash { path: path.clone() }]
    );
    assert_eq!(done(&store), [0, 1, 2, 3]);
    store.record_failure(2).unwrap();
    drop(store);
    assert_eq!(
        fs::read(path.join("zarr.json")).unwrap(),
        group,
        "it is never stamped"
    );
    assert!(path.join("failures/zarr.json").exists());
    let error = refused(
        &path,
        &line(0, 50, 10),
        "has shape [4], and the task's layout has [5]",
    );
    assert_eq!(error.code(), "ERR_BELLIS_STORE");
}

#[test]
fn a_hand_made_store_that_is_not_raw_is_refused() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 11] = [
        ("and one chunk of [4] is needed", |a| {
            a["chunk_grid"]["configuration"]["chunk_shape"] = json!([2]);
        }),
        ("only little-endian bytes without compression", |a| {
            a["codecs"]
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "zstd"}));
        }),
        ("only little-endian bytes without compression", |a| {
            a["codecs"] = json!([{"name": "sharding_indexed", "configuration": {}}]);
        }),
        ("has data_type \"bool\"", |a| a["data_type"] = json!("bool")),
        ("has data_type \"uint16\"", |a| {
            a["data_type"] = json!("uint16")
        }),
        ("has zarr_format 2", |a| a["zarr_format"] = json!(2)),
        ("has shape [2,2]", |a| a["shape"] = json!([2, 2])),
        ("separates chunk keys by \".\"", |a| {
            a["chunk_key_encoding"]["configuration"]["separator"] = json!(".");
        }),
        ("has chunk_key_encoding", |a| {
            a["chunk_key_encoding"] = json!({"name": "v2"})
        }),
        ("unknown field `newer`", |a| {
            a["newer"] = json!({"must_understand": true})
        }),
        ("has fill_value 1", |a| a["fill_value"] = json!(1)),
    ];
    for hash in [true, false] {
        for (text, change) in &cases {
            let scratch = Scratch::new("not-raw");
            let path = finished(&scratch);
            if !hash {
                edit(&path.join("zarr.json"), |group| {
                    group["attributes"] = json!({})
                });
            }
            edit(&path.join("done/zarr.json"), change);
            let error = refused(&path, &layout(), text);
            assert_eq!(error.path(), path.join("done/zarr.json"));
        }
    }
}

#[test]
fn what_zarr_allows_is_accepted() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 11] = [
        ("key order", |a| {
            let reversed: Vec<_> = a.as_object().unwrap().clone().into_iter().rev().collect();
            *a = Value::Object(reversed.into_iter().collect());
        }),
        ("no codec configuration", |a| {
            a["codecs"] = json!([{"name": "bytes"}])
        }),
        ("codec by name", |a| a["codecs"] = json!(["bytes"])),
        ("no key configuration", |a| {
            a["chunk_key_encoding"] = json!({"name": "default"})
        }),
        ("key encoding by name", |a| {
            a["chunk_key_encoding"] = json!("default")
        }),
        ("optional extension", |a| {
            a["other"] = json!({"must_understand": false, "x": 1})
        }),
        ("no transformers", |a| {
            a.as_object_mut().unwrap().remove("storage_transformers");
        }),
        ("dimension names", |a| a["dimension_names"] = json!(["x"])),
        ("numbers with a point", |a| {
            a["shape"] = json!([4.0]);
            a["chunk_grid"]["configuration"]["chunk_shape"] = json!([4.0]);
            a["fill_value"] = json!(0.0);
        }),
        ("no attributes", |a| {
            a.as_object_mut().unwrap().remove("attributes");
        }),
        ("big endian bytes", |a| {
            a["codecs"][0]["configuration"]["endian"] = json!("big")
        }),
    ];
    for (name, change) in cases {
        let scratch = Scratch::new("variants");
        let path = finished(&scratch);
        edit(&path.join("done/zarr.json"), change);
        let store = open(&path, &layout()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(done(&store), [0, 1, 2, 3], "{name}");
    }
    for (name, form) in [
        (
            "byte order mark",
            (|text: String| format!("\u{feff}{text}")) as fn(String) -> String,
        ),
        ("one line", |text| {
            serde_json::from_str::<Value>(&text).unwrap().to_string()
        }),
        ("more white space", |text| format!("\n\n{text}\n \t\n")),
    ] {
        let scratch = Scratch::new("forms");
        let path = finished(&scratch);
        for file in ["zarr.json", "done/zarr.json", "failures/zarr.json"] {
            let text = fs::read_to_string(path.join(file)).unwrap();
            fs::write(path.join(file), form(text)).unwrap();
        }
        let store = open(&path, &layout()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(done(&store), [0, 1, 2, 3], "{name}");
    }
    let scratch = Scratch::new("consolidated");
    let path = finished(&scratch);
    edit(&path.join("zarr.json"), |group| {
        group["consolidated_metadata"] =
            json!({"kind": "inline", "must_understand": false, "metadata": {}});
    });
    assert_eq!(done(&open(&path, &layout()).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn big_endian_numbers_are_refused() {
    let scratch = Scratch::new("endian");
    let path = finished(&scratch);
    edit(&path.join("failures/zarr.json"), |array| {
        array["codecs"][0]["configuration"]["endian"] = json!("big");
    });
    refused(&path, &layout(), "only little-endian bytes");
}

#[test]
fn a_chunk_of_the_wrong_length_is_refused() {
    for length in [0, 3, 5, 4096] {
        let scratch = Scratch::new("length");
        let path = finished(&scratch);
        let chunk = path.join("done/c/0");
        let file = fs::OpenOptions::new().write(true).open(&chunk).unwrap();
        file.set_len(length).unwrap();
        let text = format!("has {length} bytes and should have 4");
        let error = refused(&path, &layout(), &text);
        assert_eq!(error.code(), "ERR_BELLIS_STORE");
        assert_eq!(error.path(), chunk);
        assert!(error
            .to_string()
            .contains(&format!("\n    rm -rf {}", path.display())));
    }
}

#[test]
fn a_missing_chunk_counts_as_never_written() {
    let scratch = Scratch::new("missing-chunk");
    let path = finished(&scratch);
    fs::remove_file(path.join("done/c/0")).unwrap();
    let mut store = open(&path, &layout()).unwrap();
    assert_eq!(
        store.take_notices(),
        [Notice::ChunkMissing {
            path: path.join("done/c/0")
        }]
    );
    assert_eq!(done(&store), [0u64; 0]);
}

#[test]
fn missing_metadata_of_an_array_is_written_again_when_the_hash_proves_it() {
    let scratch = Scratch::new("missing-array");
    let path = finished(&scratch);
    let document = path.join("done/zarr.json");
    let before = fs::read(&document).unwrap();
    fs::remove_file(&document).unwrap();
    let mut store = open(&path, &layout()).unwrap();
    assert_eq!(
        store.take_notices(),
        [Notice::MetadataRestored {
            path: document.clone()
        }]
    );
    assert_eq!(done(&store), [0, 1, 2, 3]);
    drop(store);
    assert_eq!(fs::read(&document).unwrap(), before);
    // Without a hash nothing says what it was.
    fs::remove_file(&document).unwrap();
    edit(&path.join("zarr.json"), |group| {
        group["attributes"] = json!({})
    });
    refused(&path, &layout(), "without a layout hash");
}

#[test]
fn a_missing_group_document_is_refused() {
    let scratch = Scratch::new("no-group");
    let path = finished(&scratch);
    fs::remove_file(path.join("zarr.json")).unwrap();
    for layout in [layout(), line(100, 40, 10)] {
        refused(&path, &layout, "has arrays but no zarr.json");
    }
}

#[test]
fn torn_documents_are_refused_with_the_way_out() {
    for file in ["zarr.json", "done/zarr.json", "failures/zarr.json"] {
        for (content, problem) in [
            ("", "is empty"),
            ("{\n  \"attributes\": {\n", "is not valid JSON"),
            ("\0\0\0\0", "holds nothing but zero bytes"),
            ("[]", "is not a JSON object"),
            ("nonsense", "is not valid JSON"),
            ("{}", "has no zarr_format"),
            ("{\"zarr_format\": 3}", "document of"),
        ] {
            let scratch = Scratch::new("torn");
            let path = finished(&scratch);
            fs::write(path.join(file), content).unwrap();
            let error = refused(&path, &layout(), problem);
            assert_eq!(error.code(), "ERR_BELLIS_STORE");
            assert!(error.to_string().contains("rm -rf"), "{error}");
        }
    }
    let scratch = Scratch::new("torn");
    let path = finished(&scratch);
    fs::write(path.join("zarr.json"), [0xff, 0xfe, b'{']).unwrap();
    refused(&path, &layout(), "is not valid JSON");
    fs::write(path.join("zarr.json"), "[".repeat(100_000)).unwrap();
    refused(&path, &layout(), "is not valid JSON");
}

#[test]
fn a_hash_that_is_no_text_is_refused() {
    let scratch = Scratch::new("hash-kind");
    let path = finished(&scratch);
    edit(&path.join("zarr.json"), |group| {
        group["attributes"]["daisy_task_hash"] = json!(7);
    });
    refused(&path, &layout(), "daisy_task_hash that is no text");
}

#[test]
fn other_things_at_the_path_are_refused_untouched() {
    let scratch = Scratch::new("others");
    let file = scratch.join("file");
    fs::write(&file, "x").unwrap();
    let error = open(&file, &layout()).unwrap_err();
    assert!(
        error.to_string().contains("is a file, not a directory"),
        "{error}"
    );
    assert_eq!(error.code(), "ERR_BELLIS_STORE");

    let folder = scratch.join("photos");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jpg"), "x").unwrap();
    refused(
        &folder,
        &layout(),
        "contains a.jpg; it is not a tracking store",
    );

    let array = scratch.join("array.zarr");
    fs::create_dir(&array).unwrap();
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [4]});
    fs::write(array.join("zarr.json"), document.to_string()).unwrap();
    refused(&array, &layout(), "is a zarr array of another program");

    let group = scratch.join("group.zarr");
    fs::create_dir(&group).unwrap();
    fs::write(
        group.join("zarr.json"),
        json!({"zarr_format": 3, "node_type": "group"}).to_string(),
    )
    .unwrap();
    refused(
        &group,
        &layout(),
        "is a zarr group without a layout hash and `done`",
    );

    let legacy = scratch.join("legacy");
    fs::create_dir(&legacy).unwrap();
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [4],
        "attributes": {"daisy_task_hash": "abc"}});
    fs::write(legacy.join("zarr.json"), document.to_string()).unwrap();
    let error = refused(&legacy, &layout(), "stored hash abc");
    assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH");
}

#[cfg(unix)]
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let scratch = Scratch::new("pipe");
    for file in ["zarr.json", "done/zarr.json", "done/c/0", "failures/c/0"] {
        let path = finished(&scratch);
        fs::remove_file(path.join(file)).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path.join(file), 0o600.into()).unwrap();
        let error = open(&path, &layout()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = bellis_tracking::reset_failed(&path, &OpenOptions::default()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        fs::remove_dir_all(path).unwrap();
    }
}

#[test]
fn links_are_followed_unless_broken() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new("links");
    let path = finished(&scratch);
    let link = scratch.join("link");
    symlink(&path, &link).unwrap();
    assert_eq!(done(&open(&link, &layout()).unwrap()), [0, 1, 2, 3]);
    let broken = scratch.join("broken");
    symlink(scratch.join("nowhere"), &broken).unwrap();
    let error = open(&broken, &layout()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is a link to something that does not exist"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_store_behind_a_link_is_removed_and_made_again_behind_it() {
    let scratch = Scratch::new("behind-link");
    let (real, link) = (scratch.join("real"), scratch.join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for _ in 0..2 {
        let mut store = open(&link, &layout()).unwrap();
        assert!(!store.is_done(1));
        store.record_done(1, None).unwrap();
        store.close().unwrap();
        assert!(real.join("done").exists());
        assert!(bellis_tracking::reset(&link, &OpenOptions::default()).unwrap());
        assert_eq!(fs::read_dir(&real).unwrap().count(), 0);
    }
    assert!(!bellis_tracking::reset(&link, &OpenOptions::default()).unwrap());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn paths_may_have_any_name_that_the_file_system_takes() {
    let scratch = Scratch::new("names");
    let long = "n".repeat(250);
    for name in [
        "with space",
        "日本語",
        "quote'd",
        "a=b:c",
        "deep/er/still",
        "-rf",
        &long,
    ] {
        let path = scratch.join(name);
        let mut store = open(&path, &layout()).unwrap();
        store.record_done(1, None).unwrap();
        store.close().unwrap();
        // Growing makes siblings, whose names must fit as well.
        let store = open(&path, &line(-10, 60, 10)).unwrap();
        assert_eq!(done(&store), [2], "{name}");
    }
    let error = open(&scratch.join(&"n".repeat(300)), &layout()).unwrap_err();
    assert!(
        error.to_string().contains("Choose a shorter tracking path"),
        "{error}"
    );
    let error = open(&scratch.join("with space"), &line(3, 40, 10)).unwrap_err();
    assert!(error
        .to_string()
        .contains(&format!("rm -rf '{}/with space'", scratch.path().display())));
}

#[test]
fn any_value_but_zero_is_done() {
    let scratch = Scratch::new("values");
    let path = finished(&scratch);
    fs::write(path.join("done/c/0"), [0, 7, 255, 1]).unwrap();
    assert_eq!(done(&open(&path, &layout()).unwrap()), [1, 2, 3]);
}

#[test]
fn an_empty_directory_is_a_new_store_and_a_task_without_blocks_has_one() {
    let scratch = Scratch::new("empty");
    let path = scratch.join("empty");
    fs::create_dir(&path).unwrap();
    assert_eq!(done(&open(&path, &layout()).unwrap()), [0u64; 0]);
    for total in [0, 3] {
        let path = scratch.join(&format!("none-{total}"));
        for _ in 0..2 {
            let mut store = open(&path, &line(0, total, 10)).unwrap();
            assert_eq!(store.layout().blocks(), 0);
            assert_eq!(store.take_notices(), []);
            assert_eq!(store.done_bytes(), &[0].repeat(usize::from(total > 0))[..]);
            store.close().unwrap();
        }
    }
}

#[test]
fn turning_measurements_on_adds_arrays_and_off_leaves_them() {
    let scratch = Scratch::new("added");
    let path = finished(&scratch);
    let with = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    let mut store = TrackingStore::open(&path, &layout(), with).unwrap();
    assert_eq!(store.take_notices(), []);
    assert_eq!(done(&store), [0, 1, 2, 3]);
    store.close().unwrap();
    let arrays = tree(&path);
    assert_eq!(
        arrays
            .iter()
            .filter(|(name, _)| name.ends_with("c/0"))
            .count(),
        12
    );
    open(&path, &layout()).unwrap().close().unwrap();
    assert_eq!(tree(&path), arrays);
}

#[test]
fn two_chunks_of_a_hash_less_store_are_not_read_as_one() {
    let scratch = Scratch::new("two-chunks");
    let path = finished(&scratch);
    edit(&path.join("zarr.json"), |group| {
        group["attributes"] = json!({})
    });
    edit(&path.join("done/zarr.json"), |array| {
        array["chunk_grid"]["configuration"]["chunk_shape"] = json!([2]);
    });
    fs::write(path.join("done/c/0"), [1, 1]).unwrap();
    fs::write(path.join("done/c/1"), [0, 0]).unwrap();
    refused(&path, &layout(), "one chunk of [4] is needed");
}
