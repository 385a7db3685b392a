//! What a user should be told, in words.

use bellis_core::run::Warning;
use bellis_net::{Notice, StrangerReason};
use bellis_tracking::Notice as StoreNotice;

use super::convert::headline;
use super::event::NativeRunEvent;

fn event(level: &str, code: &str, task: Option<u32>, message: String) -> NativeRunEvent {
    NativeRunEvent::Notice {
        level: level.to_owned(),
        code: code.to_owned(),
        task,
        message,
    }
}

/// A notice of the server or the run. Tasks without blocks are told by whoever starts the run.
pub(super) fn of_server(notice: Notice) -> Option<NativeRunEvent> {
    Some(match notice {
        Notice::Run(warning) => return of_run(warning),
        Notice::Stranger {
            address,
            reason,
            untold,
        } => {
            let others = match untold {
                0 => String::new(),
                untold => format!("; {untold} others since the last notice"),
            };
            let message = format!(
                "turned away a connection from {address}: {}{others}",
                why(&reason)
            );
            event("warning", "stranger", None, message)
        }
        Notice::CannotAccept { message } => {
            let message = format!("no more connections can be taken just now: {message}");
            event("warning", "cannot-accept", None, message)
        }
    })
}

fn of_run(warning: Warning) -> Option<NativeRunEvent> {
    Some(match warning {
        Warning::HalfBudget {
            task,
            restarts,
            max_restarts,
            keeps_workers,
            last_error,
        } => {
            // Whoever keeps workers already has other reasons for their deaths.
            let advice = if keeps_workers {
                "Find out what the workers die of, or raise maxWorkerRestarts"
            } else {
                "Raise maxWorkerRestarts, or pass onBlockError: 'keep-worker' to let workers live on after a \
                 block's error"
            };
            let last = last_error.map_or_else(String::new, |error| {
                format!(". The last error: {}", headline(&error))
            });
            let message = format!(
                "{restarts} of {max_restarts} worker restarts are used up; after the last one the task is \
                 abandoned. {advice}{last}"
            );
            event("warning", "half-budget", Some(task.0), message)
        }
        Warning::CheckError { task, error } => {
            let message = format!("checkFunction failed, so blocks run: {}", headline(&error));
            event("warning", "check-error", Some(task.0), message)
        }
        Warning::EndedWithoutAsking { task, worker } => {
            let message = format!(
                "worker {} ended without an error and without asking for a block; does its module exit, or \
                 its function make no Client?",
                worker.0
            );
            event("warning", "ended-without-asking", Some(task.0), message)
        }
        Warning::EmptyTask { .. } => return None,
    })
}

fn why(reason: &StrangerReason) -> String {
    match reason {
        StrangerReason::ForeignBytes => "it doesn't speak bellis's protocol".to_owned(),
        StrangerReason::OtherBuild(build) => format!("it is of another build of bellis ({build})"),
        StrangerReason::OtherRun => "it doesn't have the secret of this run".to_owned(),
        StrangerReason::HungUp => "it hung up during the handshake".to_owned(),
        StrangerReason::TooSlow => "its handshake took too long".to_owned(),
        StrangerReason::CrowdedOut => {
            "too many others came while its handshake was going on".to_owned()
        }
        StrangerReason::TooMany => "there are as many connections as allowed".to_owned(),
        StrangerReason::Malformed(what) => format!("it sent what it must not: {what}"),
    }
}

/// A notice of a tracking store.
pub(super) fn of_store(task: u32, notice: &StoreNotice) -> NativeRunEvent {
    let (level, code) = match notice {
        StoreNotice::Migrated { .. } => ("info", "migrated"),
        StoreNotice::Recreated { .. } => ("warning", "recreated"),
        StoreNotice::LockTakenOver { .. } => ("warning", "lock-taken-over"),
        StoreNotice::WithoutHash { .. } => ("info", "without-hash"),
        _ => ("warning", "store-repaired"),
    };
    event(level, code, Some(task), notice.to_string())
}

/// `host: 'auto'` found nothing.
pub(super) fn only_loopback() -> NativeRunEvent {
    let message =
        "host: 'auto' found no address that other machines could reach; only workers on this \
                   machine can connect"
            .to_owned();
    event("warning", "only-loopback", None, message)
}
