//! Calls that touch the disk: they run in the thread pool and resolve to an envelope.

use std::collections::HashMap;

use napi::bindgen_prelude::{AsyncTask, Either, ToNapiValue, TypeName};
use napi::{Env, Task};

use crate::error::{guarded, Failure, NativeError};

/// `{ ok }` or `{ error }`.
pub(crate) type Envelope<T> = HashMap<&'static str, Either<T, NativeError>>;

/// A job for the thread pool.
pub struct Background<T>(Option<Box<dyn FnOnce() -> Result<T, Failure> + Send>>);

/// Runs `job` in the thread pool.
pub(crate) fn background<T>(
    job: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> AsyncTask<Background<T>>
where
    T: ToNapiValue + TypeName + Send + 'static,
{
    AsyncTask::new(Background(Some(Box::new(job))))
}

impl<T: ToNapiValue + TypeName + Send + 'static> Task for Background<T> {
    type Output = Result<T, Failure>;
    type JsValue = Envelope<T>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(match self.0.take() {
            Some(job) => guarded(job),
            None => Err(NativeError::internal("a job was run twice")),
        })
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(to_envelope(output))
    }
}

/// `{ ok }` or `{ error }`.
pub(crate) fn to_envelope<T>(result: Result<T, Failure>) -> Envelope<T> {
    HashMap::from([match result {
        Ok(value) => ("ok", Either::A(value)),
        Err(error) => ("error", Either::B(*error)),
    }])
}
