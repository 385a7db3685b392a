//! How a failure crosses to JavaScript: as a tagged envelope, never as text alone.
//! `src/native.ts` turns it into the error classes.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};

use bellis_core::{CoreError, RecordError};
use bellis_tracking::TrackingError;
use napi::bindgen_prelude::{Either4, JsObjectValue, Object, ToNapiValue};
use napi::Env;
use napi_derive::napi;

use crate::dto::NativeRoi;

/// A value inside an error's `details`: a number, a text, texts or a region.
pub(crate) type Detail = Either4<f64, String, Vec<String>, NativeRoi>;

/// What went wrong, for JavaScript.
#[napi(object)]
pub struct NativeError {
    /// One of the stable `ERR_BELLIS_…` codes.
    pub code: String,
    /// What is wrong and what to do about it, in words.
    pub message: String,
    /// Which option or file is meant.
    pub path: Option<String>,
    /// The value that was refused, as text.
    pub value: Option<String>,
    /// Typed fields of the error class that the code belongs to.
    #[napi(ts_type = "Record<string, number | string | string[] | NativeRoi>")]
    pub details: Option<HashMap<String, Detail>>,
}

/// A [`NativeError`] on its way; boxed, so that what succeeds doesn't carry room for it.
pub(crate) type Failure = Box<NativeError>;

impl NativeError {
    /// An error with a code and a message only.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Failure {
        Box::new(Self {
            code: code.to_owned(),
            message: message.into(),
            path: None,
            value: None,
            details: None,
        })
    }

    /// A refused value: `path` names the option.
    pub(crate) fn validation(path: impl Into<String>, message: impl Into<String>) -> Failure {
        Self::new("ERR_BELLIS_VALIDATION", message).at(path)
    }

    /// A defect on our side, or a call that `src/native.ts` never makes.
    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Self::new("ERR_BELLIS_NATIVE", message)
    }

    /// Names the option or file.
    pub(crate) fn at(mut self: Failure, path: impl Into<String>) -> Failure {
        self.path = Some(path.into());
        self
    }

    /// Puts `prefix` and a dot before the option.
    pub(crate) fn under(mut self: Failure, prefix: &str) -> Failure {
        self.path = self.path.map(|path| format!("{prefix}.{path}"));
        self
    }

    /// Shows the value that was refused.
    pub(crate) fn value(mut self: Failure, value: impl Into<String>) -> Failure {
        self.value = Some(value.into());
        self
    }

    /// Adds a typed field.
    fn with(mut self: Failure, name: &str, detail: Detail) -> Failure {
        self.details
            .get_or_insert_default()
            .insert(name.to_owned(), detail);
        self
    }
}

impl From<CoreError> for Failure {
    fn from(error: CoreError) -> Self {
        let described = NativeError::new(error.code(), error.to_string());
        match error {
            CoreError::Validation { path, value, .. } => described.at(path).value(value),
            CoreError::UnknownTask { .. } => described.at("task"),
            CoreError::UnknownBlock { block, .. } | CoreError::NotHeld { block, .. } => {
                described.at("block").value(block.0.to_string())
            }
            CoreError::OutOfMemory { .. } => described.at("totalRoi"),
            CoreError::Uncovered {
                task_id,
                upstream_id,
                axis,
                region,
            } => described
                .with("taskId", Either4::B(task_id))
                .with("upstreamId", Either4::B(upstream_id))
                .with("axis", Either4::A(axis as f64))
                .with("region", Either4::D(NativeRoi::from(region.as_ref()))),
            CoreError::Record(RecordError {
                path: Some(path), ..
            }) => described.at(path),
            _ => described,
        }
    }
}

impl From<TrackingError> for Failure {
    fn from(error: TrackingError) -> Self {
        let path = error.path().display().to_string();
        let described = NativeError::new(error.code(), error.to_string()).at(path);
        match error {
            TrackingError::LayoutMismatch(mismatch) => {
                let fields = mismatch
                    .fields
                    .into_iter()
                    .map(|difference| difference.field);
                let described = described
                    .with("expected", Either4::B(mismatch.expected))
                    .with("fields", Either4::C(fields.collect()));
                match mismatch.stored {
                    Some(stored) => described.with("stored", Either4::B(stored)),
                    None => described,
                }
            }
            TrackingError::Locked { holder, .. } => {
                described.with("owner", Either4::B(holder.to_string()))
            }
            TrackingError::LockLost {
                holder: Some(holder),
                ..
            } => described.with("owner", Either4::B(holder.to_string())),
            _ => described,
        }
    }
}

/// Runs `call` and wraps what it gives: `{ ok }` or `{ error }`. A panic is an error too.
pub(crate) fn envelope<'env, T: ToNapiValue>(
    env: &'env Env,
    call: impl FnOnce() -> Result<T, Failure>,
) -> napi::Result<Object<'env>> {
    let mut object = Object::new(env)?;
    match guarded(call) {
        Ok(value) => object.set_named_property("ok", value)?,
        Err(error) => object.set_named_property("error", *error)?,
    }
    Ok(object)
}

/// Runs `call`; a panic becomes an `ERR_BELLIS_NATIVE` error.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(panic) => Err(from_panic(panic.as_ref())),
    }
}

/// The error for a caught panic.
pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Failure {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    NativeError::internal(format!(
        "panic in bellis's native code: {text}. Please report this"
    ))
}

/// What a hot call returns instead of a result when it failed; [`take_error`] has the error.
pub(crate) const FAILED: f64 = -2.0;

thread_local! {
    static LAST_ERROR: RefCell<Option<NativeError>> = const { RefCell::new(None) };
}

/// Runs a hot call, which returns one number. On failure it returns [`FAILED`] and keeps the error.
#[inline]
pub(crate) fn sentinel(call: impl FnOnce() -> Result<f64, Failure>) -> f64 {
    match guarded(call) {
        Ok(value) => value,
        Err(error) => {
            LAST_ERROR.with(|last| last.replace(Some(*error)));
            FAILED
        }
    }
}

/// The error of the last hot call on this thread that returned -2.
#[napi(catch_unwind)]
pub fn take_error() -> Option<NativeError> {
    LAST_ERROR.with(RefCell::take)
}
