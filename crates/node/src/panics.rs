//! Entry points that panic on purpose, for the tests that show what a panic becomes.

use napi::bindgen_prelude::{AsyncTask, Object};
use napi::{Env, Task};
use napi_derive::napi;

use crate::error::{envelope, from_panic, guarded, sentinel, Failure, NativeError};

/// The variable without which [`debug_panic`] refuses to do anything.
const SWITCH: &str = "BELLIS_DEBUG_PANICS";

fn allowed() -> Result<(), Failure> {
    match std::env::var_os(SWITCH) {
        Some(_) => Ok(()),
        None => Err(NativeError::internal(format!(
            "set {SWITCH} to use this entry point"
        ))),
    }
}

fn explode(place: &str) -> Result<f64, Failure> {
    allowed()?;
    panic!("on purpose, in {place}")
}

/// Panics in an ordinary call (`sync`), a hot call (`hot`) or a thread of its own (`thread`).
/// For tests; needs `BELLIS_DEBUG_PANICS` in the environment.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn debug_panic(env: &Env, place: String) -> napi::Result<Object<'_>> {
    envelope(env, || match place.as_str() {
        "hot" => Ok(sentinel(|| explode("a hot call"))),
        "thread" => {
            allowed()?;
            let thread = std::thread::spawn(|| explode("a thread"));
            thread
                .join()
                .unwrap_or_else(|panic| Err(from_panic(panic.as_ref())))
        }
        _ => explode("a call"),
    })
}

/// A job for the thread pool that panics there.
pub struct PanickingJob;

impl Task for PanickingJob {
    type Output = Result<f64, Failure>;
    type JsValue = f64;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| explode("the thread pool")))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        output.map_err(|error| napi::Error::from_reason(error.message))
    }
}

/// Panics in the thread pool; the promise rejects. For tests, like [`debug_panic`].
#[napi(ts_return_type = "Promise<number>")]
pub fn debug_panic_async() -> AsyncTask<PanickingJob> {
    AsyncTask::new(PanickingJob)
}
