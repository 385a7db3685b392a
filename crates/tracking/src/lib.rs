//! The tracking store: a Zarr v3 group on disk that remembers what happened to each block.
//!
//! It has the same bytes as daisy 2.0's, so that either program resumes the other's run. On top of
//! that it takes over grown volumes, keeps two runs from sharing a store, survives a crash at any
//! point, and turns a full disk into an error.
//!
//! A run opens a [`TrackingStore`]; everything else looks through a [`StoreReader`], or removes with
//! [`reset`] and [`reset_failed`].

mod arrays;
mod chunk;
mod copying;
mod directory;
mod error;
mod files;
mod growth;
mod host;
mod inspect;
mod keeper;
mod layout;
mod lock;
mod look;
mod mapped;
mod metadata;
mod migrate;
mod open;
mod options;
mod reader;
mod remap;
mod reset;
pub mod runs;
mod shared_words;
mod store;
mod system_files;
mod task;

pub use arrays::ArrayKind;
pub use error::{FieldDifference, LayoutMismatch, LockHolder, Notice, TrackingError};
pub use files::{ChunkFile, EntryKind, Files};
pub use host::Identity;
pub use keeper::StoreKeeper;
pub use layout::{layout_hash, Layout, StoredFit, StoredRoi};
pub use lock::LockTiming;
pub use look::look;
pub use options::{OnLayoutMismatch, OpenOptions};
pub use reader::{FailedCell, StoreReader, StoreStatus, StoredBlock};
pub use reset::{reset, reset_failed};
pub use shared_words::WordFile;
pub use store::TrackingStore;
pub use system_files::SystemFiles;
