//! The Node addon: thin bindings over the other crates.
