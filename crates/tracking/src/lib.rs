//! The tracking store: a Zarr v3 group on disk that remembers what happened to each block.
