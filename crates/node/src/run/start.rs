//! Begins a run: stores and graph in the thread pool, then the server with its own thread.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bellis_core::run::{Run, RunSnapshot};
use bellis_core::Scheduler;
use bellis_net::{
    bind, own_machine, BindError, Bound, Command, Commands, Secret, ServeError, Server,
    ServerOptions,
};
use napi::bindgen_prelude::{AsyncTask, Function};
use napi::{Env, Task};
use napi_derive::napi;

use super::config::NativeRunConfig;
use super::convert::Calendar;
use super::event::NativeRunEvent;
use super::host::{run_error, Events, RunHost, StoresKeeper};
use super::notes_folder::NotesFolder;
use super::secret_folder::SecretFolder;
use super::{build, notice, unix_seconds};
use crate::background::{to_envelope, Envelope};
use crate::error::{guarded, Failure, NativeError};
use crate::handles::Handles;

/// A run that began.
pub(super) struct Live {
    pub(super) commands: Commands,
    pub(super) snapshot: Arc<Mutex<Option<RunSnapshot>>>,
    server: Option<Server>,
}

impl Live {
    /// Ends the run, if it isn't over, and waits for its thread.
    pub(super) fn halt(mut self) {
        self.commands.send(Command::Halt);
        if let Some(server) = self.server.take() {
            server.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // A run that nobody can reach any more must not go on; one that is over doesn't hear this.
        self.commands.send(Command::Halt);
    }
}

thread_local! {
    static RUNS: RefCell<Handles<Live>> = const { RefCell::new(Handles::new("run")) };
    static HAS_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `body` with the runs of this thread.
pub(super) fn with_runs<T>(body: impl FnOnce(&mut Handles<Live>) -> T) -> T {
    RUNS.with_borrow_mut(body)
}

/// A run that has begun, and how workers find it.
#[napi(object, use_nullable = true)]
pub struct NativeRun {
    /// Names the run in further calls.
    pub handle: u32,
    /// Name or address for workers.
    pub host: String,
    /// Port for workers.
    pub port: u32,
    /// 64 hexadecimal digits; for direct children only.
    pub secret: String,
    /// A file with the secret that only its owner can read; removed at the end of the run.
    pub secret_file: Option<String>,
    /// A folder in which workers of this machine write down what they do; removed at the end of the run.
    pub notes_folder: Option<String>,
    /// This machine, as far as loopback addresses are concerned.
    pub machine: Option<String>,
}

/// A job for the thread pool that begins a run.
pub struct Start {
    config: NativeRunConfig,
    events: Option<Events>,
}

/// Opens the stores, listens, and begins the run on a thread of its own. `onEvent` is called on this thread, and
/// last with `finished`; the process stays alive until then.
#[napi(ts_return_type = "Promise<{ ok: NativeRun } | { error: NativeError }>")]
pub fn run_start(
    env: &Env,
    config: NativeRunConfig,
    #[napi(ts_arg_type = "(event: NativeRunEvent) => void")] on_event: Function<NativeRunEvent, ()>,
) -> napi::Result<AsyncTask<Start>> {
    let waiting = Arc::new(AtomicUsize::new(0));
    let heard = Arc::clone(&waiting);
    let listener = on_event
        .build_threadsafe_function::<NativeRunEvent>()
        .build_callback(move |call| {
            heard.fetch_sub(1, Ordering::Relaxed);
            Ok(call.value)
        })?;
    end_with_environment(env)?;
    Ok(AsyncTask::new(Start {
        config,
        events: Some(Events { listener, waiting }),
    }))
}

/// Runs must not outlive the environment that their events go to.
fn end_with_environment(env: &Env) -> napi::Result<()> {
    if HAS_HOOK.replace(true) {
        return Ok(());
    }
    env.add_env_cleanup_hook((), |()| {
        HAS_HOOK.set(false);
        let runs = RUNS.with(|runs| runs.replace(Handles::new("run")));
        for run in runs.into_objects() {
            run.halt();
        }
    })?;
    Ok(())
}

/// What the thread pool has made. The run begins on the thread of the environment, so that it never goes on
/// without somebody who can end it.
pub struct Prepared {
    bound: Bound,
    options: ServerOptions,
    run: Box<Run>,
    host: RunHost,
    native: NativeRun,
}

impl Task for Start {
    type Output = Result<Prepared, Failure>;
    type JsValue = Envelope<NativeRun>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        let events = self.events.take();
        Ok(guarded(|| {
            let events = events.ok_or_else(|| NativeError::internal("a run was started twice"))?;
            prepare(&self.config, events)
        }))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(to_envelope(guarded(|| begin(output?))))
    }
}

fn begin(prepared: Prepared) -> Result<NativeRun, Failure> {
    let Prepared {
        bound,
        options,
        run,
        host,
        native,
    } = prepared;
    let snapshot = Arc::clone(&host.snapshot);
    let server = Server::start(bound, options, *run, Box::new(host))?;
    let live = Live {
        commands: server.commands(),
        snapshot,
        server: Some(server),
    };
    let handle = with_runs(|runs| runs.insert(live))?;
    Ok(NativeRun { handle, ..native })
}

fn prepare(config: &NativeRunConfig, events: Events) -> Result<Prepared, Failure> {
    let graph = build::graph(config, true)?;
    let setups = build::task_setups(config)?;
    let bound = bind(config.host.as_deref())?;
    let secret = Secret::random().map_err(|error| {
        NativeError::internal(format!("the system gives no random numbers: {error}"))
    })?;
    let stores = build::open_stores(config)?;
    let zero = unix_seconds();
    let run = Run::new(
        Scheduler::eager(graph, stores.inputs)?,
        build::run_config(config, zero),
    )
    .map_err(|error| {
        let described = run_error(&error);
        NativeError::new(&described.code, described.message).at("requires")
    })?;
    let folder = SecretFolder::new(&secret_parent(config), &config.run_id, &secret).ok();
    let any_local = config.tasks.iter().any(|task| task.local);
    let notes = any_local
        .then(|| NotesFolder::new(&config.run_id))
        .flatten();
    let native = NativeRun {
        handle: 0,
        host: bound.host().to_owned(),
        port: bound.port().into(),
        secret: secret.to_hex(),
        secret_file: folder
            .as_ref()
            .map(|folder| folder.file().display().to_string()),
        notes_folder: notes
            .as_ref()
            .map(|notes| notes.path().display().to_string()),
        machine: Some(own_machine()),
    };
    if bound.fell_back_to_loopback() {
        events.send(notice::only_loopback());
    }
    for (task, store) in &stores.notices {
        events.send(notice::of_store(*task, store));
    }
    let snapshot = Arc::new(Mutex::new(Some(run.snapshot())));
    let host = RunHost {
        events,
        snapshot,
        calendar: Calendar { zero },
        measured: config
            .tasks
            .iter()
            .map(|task| task.resource_tracking)
            .collect(),
        paths: config
            .tasks
            .iter()
            .map(|task| task.tracking_path.clone())
            .collect(),
        secret: folder,
        local: config.tasks.iter().map(|task| task.local).collect(),
        notes,
    };
    let mut options = ServerOptions::new(secret, setups);
    if !stores.keepers.is_empty() {
        options.keeper = Some(Box::new(StoresKeeper(stores.keepers)));
    }
    Ok(Prepared {
        bound,
        options,
        run: Box::new(run),
        host,
        native,
    })
}

/// Where the secret's folder goes: workers on other machines see it only on a shared file system, where
/// log directories usually are.
fn secret_parent(config: &NativeRunConfig) -> PathBuf {
    match &config.log_dir {
        Some(logs) if config.tasks.iter().any(|task| !task.local) => PathBuf::from(logs),
        _ => std::env::temp_dir(),
    }
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        NativeError::new("ERR_BELLIS_CONNECTION", error.to_string()).at("host")
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::SetupTooLong { .. } => NativeError::validation("config", error.to_string()),
            ServeError::System(_) => NativeError::new("ERR_BELLIS_CONNECTION", error.to_string()),
        }
    }
}
