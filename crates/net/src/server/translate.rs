//! Between the words of the wire and those of the run.

use bellis_core::run::{self, BlockStatus, Nanos};
use bellis_core::{BlockIndex, BlockStats};

use crate::message::{self, Outcome, Stats};
use crate::notes::LastWords;

pub(super) fn block_result(result: message::BlockResult) -> run::BlockResult {
    let mut translated = run::BlockResult {
        block: BlockIndex(result.block),
        status: BlockStatus::Success,
        started: Nanos(result.started),
        ended: Nanos(result.ended),
        stats: None,
        error: None,
    };
    match result.outcome {
        Outcome::Done => {}
        Outcome::Measured(stats) => translated.stats = Some(block_stats(stats)),
        Outcome::Failed(error) => {
            translated.status = BlockStatus::Failed;
            translated.error = Some(Box::new(error_report(*error)));
        }
        Outcome::TimedOut => translated.status = BlockStatus::TimedOut,
    }
    translated
}

/// Results, and what ran.
pub(super) fn last_words(words: LastWords) -> (Vec<run::BlockResult>, Option<Vec<BlockIndex>>) {
    let running = words.running;
    (
        words.results.into_iter().map(block_result).collect(),
        running.map(|running| running.into_iter().map(BlockIndex).collect()),
    )
}

fn block_stats(stats: Stats) -> BlockStats {
    BlockStats {
        wall_seconds: stats.wall_seconds,
        cpu_seconds: stats.cpu_seconds,
        peak_rss_bytes: stats.peak_rss_bytes,
        io_read_bytes: stats.io_read_bytes,
        io_write_bytes: stats.io_write_bytes,
    }
}

pub(super) fn error_report(error: message::ErrorReport) -> run::ErrorReport {
    run::ErrorReport {
        name: error.name,
        message: error.message,
        stack: error.stack,
        details: error.details,
    }
}

pub(super) fn shutdown_reason(reason: run::ShutdownReason) -> message::ShutdownReason {
    use message::ShutdownReason as Wire;
    use run::ShutdownReason as Run;
    match reason {
        Run::TaskFinished => Wire::TaskFinished,
        Run::RunFinished => Wire::RunFinished,
        Run::Idle => Wire::Idle,
        Run::ResourcesNeeded => Wire::ResourcesNeeded,
        Run::BlockFailed => Wire::BlockFailed,
        Run::Interrupted => Wire::Interrupted,
        Run::RunStopped => Wire::RunStopped,
        Run::Forgotten => Wire::Forgotten,
        Run::UnknownTask => Wire::UnknownTask,
    }
}

pub(super) fn close_reason(reason: run::CloseReason) -> message::CloseReason {
    use message::CloseReason as Wire;
    use run::CloseReason as Run;
    match reason {
        Run::Silent => Wire::Silent,
        Run::TimedOut => Wire::TimedOut,
        Run::DidNotLeave => Wire::DidNotLeave,
        Run::NoAnswer => Wire::NoAnswer,
        Run::Replaced => Wire::Replaced,
    }
}
