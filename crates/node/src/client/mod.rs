//! The worker's end of the wire, for JavaScript. A client lives on the thread that made it, and is closed
//! with that thread's environment.

mod convert;
mod hot;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bellis_net::{read_secret_file, Client, ClientOptions, End, SecretSource, WorkerContext};
use napi::bindgen_prelude::{AsyncTask, Function, Object};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, Task};
use napi_derive::napi;

use self::convert::{welcome, NativeClientEnd, NativeClientOptions, NativeClientStatus};
use crate::error::{envelope, Failure, NativeError};
use crate::handles::Handles;
use crate::run::notes_folder::Notes;
use crate::run::report::NativeErrorReport;

/// A client, and what it takes to connect it.
struct Entry {
    /// Taken by the first connecting.
    options: Option<ClientOptions>,
    client: Option<Arc<Client>>,
}

thread_local! {
    static CLIENTS: RefCell<Handles<Entry>> = const { RefCell::new(Handles::new("client")) };
    static HAS_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` with a connected (or connecting) client.
#[inline]
fn with<T>(
    handle: u32,
    body: impl FnOnce(&Arc<Client>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    CLIENTS.with_borrow_mut(|clients| match &clients.get(handle)?.client {
        Some(client) => body(client),
        None => Err(NativeError::internal(
            "the client isn't connected: call clientConnect first",
        )),
    })
}

/// Makes a client from the text of a context, without any I/O but reading a secret file. `onWake` is
/// called on this thread when `clientTake` may give something after it gave -1, and when `clientWelcome`
/// may; it may come for nothing, and it doesn't keep the process alive.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn client_new<'env>(
    env: &'env Env,
    options: NativeClientOptions,
    on_wake: Function<(), ()>,
) -> napi::Result<Object<'env>> {
    let wake = on_wake
        .build_threadsafe_function::<()>()
        .weak::<true>()
        .max_queue_size::<2>()
        .build()?;
    close_with_environment(env)?;
    envelope(env, || {
        let context = WorkerContext::decode(&options.context)
            .map_err(|error| NativeError::validation("context", error.to_string()))?;
        let secret = match context.secret {
            SecretSource::Inline(secret) => secret,
            SecretSource::File(path) => read_secret(&path)?,
        };
        let name = worker_name(context.worker_id, &context.task_id);
        let options = ClientOptions {
            host: context.hostname,
            port: context.port,
            secret,
            machine: context.machine,
            task_id: context.task_id,
            worker_id: context.worker_id,
            on_wake: Box::new(move || {
                // A full queue means that the thread will be woken anyway, a closing one that it's gone.
                let _ = wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
            }),
            on_end: options
                .exit_when_gone
                .then(|| Box::new(move |end: &End| leave(&name, end)) as Box<_>),
            on_deadline: None,
            notes: context
                .notes
                .zip(context.worker_id)
                .and_then(|(folder, worker)| Notes::open(&folder, worker)),
        };
        CLIENTS.with_borrow_mut(|clients| {
            clients.insert(Entry {
                options: Some(options),
                client: None,
            })
        })
    })
}

fn read_secret(path: &Path) -> Result<bellis_net::Secret, Failure> {
    read_secret_file(path).map_err(|error| {
        let message = format!(
            "the secret of the run can't be read from {}: {error}. Is the run over, or on another machine?",
            path.display()
        );
        NativeError::new("ERR_BELLIS_CONNECTION", message)
    })
}

fn worker_name(worker: Option<u32>, task: &str) -> String {
    match worker {
        Some(worker) => format!("worker {worker} of task '{task}'"),
        None => format!("a worker of task '{task}'"),
    }
}

/// Ends the process of a worker whose driver is gone. One that was sent home leaves by itself; it is only
/// ended when it doesn't, since nobody waits for it any more.
fn leave(name: &str, end: &End) {
    if let End::Shutdown(_) = end {
        let code = end.exit_code();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(5));
            signal_hook::low_level::exit(code);
        });
        return;
    }
    eprintln!("bellis: {name}: {}", end.message());
    signal_hook::low_level::exit(end.exit_code());
}

/// Clients must not outlive the environment that their callbacks belong to.
fn close_with_environment(env: &Env) -> napi::Result<()> {
    if HAS_HOOK.replace(true) {
        return Ok(());
    }
    env.add_env_cleanup_hook((), |()| {
        HAS_HOOK.set(false);
        CLIENTS.with(|clients| drop(clients.replace(Handles::new("client"))));
    })?;
    Ok(())
}

/// Starts connecting, once; `clientWelcome` tells how it went.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_connect(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        CLIENTS.with_borrow_mut(|clients| {
            let entry = clients.get(handle)?;
            if let Some(options) = entry.options.take() {
                let client = Client::connect(options).map_err(|error| {
                    let message = format!("no thread for the connection: {error}");
                    NativeError::new("ERR_BELLIS_CONNECTION", message)
                })?;
                entry.client = Some(Arc::new(client));
            }
            Ok(())
        })
    })
}

/// The task to work for, once the driver told it; `null` before, and when the driver has gone.
/// An error when the driver turned this worker away.
#[napi(ts_return_type = "{ ok: NativeWelcome | null } | { error: NativeError }")]
pub fn client_welcome(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| {
            if let Some(setup) = client.setup() {
                return Ok(Some(welcome(&setup, client.worker_id())));
            }
            match client.end() {
                None | Some(End::Gone(_) | End::Closed | End::Shutdown(_)) => Ok(None),
                Some(end) => Err(NativeError::new("ERR_BELLIS_CONNECTION", end.message())),
            }
        })
    })
}

/// How it ended, or is going to; `null` while there may be more blocks.
#[napi(ts_return_type = "{ ok: NativeClientEnd | null } | { error: NativeError }")]
pub fn client_end(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| {
            Ok(client.end().as_ref().map(NativeClientEnd::from))
        })
    })
}

/// Whether there is a driver, and how many blocks are here.
#[napi(ts_return_type = "{ ok: NativeClientStatus } | { error: NativeError }")]
pub fn client_status(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        CLIENTS.with_borrow_mut(|clients| {
            let client = clients.get(handle)?.client.as_ref();
            Ok(NativeClientStatus {
                connected: client.is_some_and(|client| client.is_connected()),
                in_hand: client.map_or(0, |client| client.in_hand()) as u32,
            })
        })
    })
}

/// A block failed; `error` is already capped.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_fail(
    env: &Env,
    handle: u32,
    block: f64,
    error: NativeErrorReport,
) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| {
            Ok(client.finish(block as u64, Err(error.into()))?)
        })
    })
}

/// A block goes back as if it had never been started.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_give_back(env: &Env, handle: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| Ok(client.give_back(block as u64)?))
    })
}

/// The worker can't work at all; `fatal` means that no other one could, so that the run should end.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_unusable(
    env: &Env,
    handle: u32,
    fatal: bool,
    error: NativeErrorReport,
) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| {
            client.unusable(fatal, error.into());
            Ok(())
        })
    })
}

/// The process is about to end with `code` of its own accord: the driver is told with what runs now.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_exiting(env: &Env, handle: u32, code: i32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| {
            client.exiting(code);
            Ok(())
        })
    })
}

/// Blocks this thread until everything said is on the wire; false when it isn't after `timeoutMs`.
#[napi(ts_return_type = "{ ok: boolean } | { error: NativeError }")]
pub fn client_flush(env: &Env, handle: u32, timeout_ms: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| Ok(client.flush(milliseconds(timeout_ms))))
    })
}

/// A narrowed measurement of a block begins.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_profile_start(env: &Env, handle: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| Ok(client.profile_start(block as u64)?))
    })
}

/// A narrowed measurement ends; the innermost one counts.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn client_profile_end(env: &Env, handle: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |client| Ok(client.profile_end(block as u64)?))
    })
}

/// Forgets a client and hangs up without waiting for the other side.
#[napi(catch_unwind)]
pub fn client_close_now(handle: u32) {
    drop(CLIENTS.with_borrow_mut(|clients| clients.remove(handle)));
}

/// A job for the thread pool that says goodbye.
pub struct Goodbye(Option<Arc<Client>>);

impl Task for Goodbye {
    type Output = ();
    type JsValue = ();

    fn compute(&mut self) -> napi::Result<()> {
        if let Some(client) = self.0.take() {
            client.close();
        }
        Ok(())
    }

    fn resolve(&mut self, _env: Env, _output: ()) -> napi::Result<()> {
        Ok(())
    }
}

/// Forgets a client: gives back what wasn't started, says goodbye, and resolves when the other side has
/// heard it (after two seconds at most).
#[napi(ts_return_type = "Promise<void>")]
pub fn client_close(handle: u32) -> AsyncTask<Goodbye> {
    let entry = CLIENTS.with_borrow_mut(|clients| clients.remove(handle));
    AsyncTask::new(Goodbye(entry.and_then(|entry| entry.client)))
}

/// A duration from JavaScript's milliseconds: negative and NaN are none, too big is very long.
fn milliseconds(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms.max(0.0) / 1e3).unwrap_or(Duration::MAX)
}
