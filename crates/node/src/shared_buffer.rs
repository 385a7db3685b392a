//! The numbers that hot calls exchange with JavaScript: one block of memory per thread, seen by
//! JavaScript as a `Float64Array`. A call without arguments costs a fraction of one with two.
//!
//! This is the only file of the crate with `unsafe`.
#![allow(unsafe_code)]

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use napi::bindgen_prelude::Float64Array;
use napi_derive::napi;

/// Slots for arguments and results of one call; a call's documentation names the ones it uses.
pub(crate) const ARGUMENTS: usize = 16;
/// Slots behind the arguments for the entries of a batch.
pub(crate) const BATCH: usize = 8192;

/// The shared numbers of one thread. Rust reads and writes them as atomics (relaxed, so plain moves
/// on every platform), because JavaScript may write to them at any time between two calls.
#[derive(Clone)]
pub(crate) struct SharedBuffer(Rc<[AtomicU64]>);

thread_local! {
    static BUFFER: OnceCell<SharedBuffer> = const { OnceCell::new() };
}

impl SharedBuffer {
    fn new() -> Self {
        Self((0..ARGUMENTS + BATCH).map(|_| AtomicU64::new(0)).collect())
    }

    /// Runs `body` with the buffer of the calling thread.
    #[inline]
    pub(crate) fn with<T>(body: impl FnOnce(&Self) -> T) -> T {
        BUFFER.with(|buffer| body(buffer.get_or_init(Self::new)))
    }

    /// The number in slot `slot`, as JavaScript wrote it.
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> f64 {
        f64::from_bits(self.0[slot].load(Ordering::Relaxed))
    }

    /// The number in `slot` as an unsigned integer. What JavaScript's numbers can't say (NaN,
    /// negative, too big) is clamped, as Rust's `as` does: handles and indices are checked by use.
    #[inline]
    pub(crate) fn get_u32(&self, slot: usize) -> u32 {
        self.get(slot) as u32
    }

    /// The number in `slot` as a block index; clamped like [`Self::get_u32`].
    #[inline]
    pub(crate) fn get_u64(&self, slot: usize) -> u64 {
        self.get(slot) as u64
    }

    /// Writes a number for JavaScript to read after the call.
    #[inline]
    pub(crate) fn set(&self, slot: usize, value: f64) {
        self.0[slot].store(value.to_bits(), Ordering::Relaxed);
    }
}

/// The numbers shared with the hot calls: 16 slots for arguments and results, then 8192 for the
/// entries of a batch. The same memory each time it is asked for on one thread.
#[napi(catch_unwind)]
pub fn shared_buffer() -> Float64Array {
    let shared = SharedBuffer::with(Clone::clone);
    let data = shared.0.as_ptr() as *mut f64;
    let length = shared.0.len();
    // SAFETY: `AtomicU64` has the size and alignment of `f64`, and each bit pattern is an `f64`.
    // The finalizer owns a counted reference, so the memory outlives the array; it runs on the
    // thread of the environment, the one that made the (thread-local, not atomic) reference.
    // Rust never makes a `&` or `&mut` to the numbers themselves, only atomic loads and stores, so
    // a write from JavaScript is no data race with a reference that Rust holds.
    unsafe { Float64Array::with_external_data(data, length, move |_, _| drop(shared)) }
}
