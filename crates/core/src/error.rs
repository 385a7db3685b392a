//! Everything that core refuses, each kind with a stable code.

use crate::{BlockIndex, RecordError, Roi};

/// Why core refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoreError {
    /// An option of a task has a value that can't be used.
    #[error("{path}: {message} (got {value})")]
    Validation {
        /// Where the value was given, like `readRoi` or `tasks[2].readRoi`.
        path: String,
        /// The value as text.
        value: String,
        /// What would be right.
        message: String,
    },
    /// Tasks and edges that don't make a pipeline: duplicate id, cycle, unknown endpoint.
    #[error("{message}")]
    Pipeline {
        /// What is wrong and with which tasks.
        message: String,
    },
    /// Some block reads nothing that an upstream task's blocks write.
    #[error(
        "blocks of task '{task_id}' read {region}, of which task '{upstream_id}' writes nothing \
         (axis {axis}); change the regions, or set allowUncovered on '{task_id}' to run those blocks \
         without waiting for '{upstream_id}'"
    )]
    Uncovered {
        /// The task that reads.
        task_id: String,
        /// The task that should have written.
        upstream_id: String,
        /// First axis on which they don't meet.
        axis: usize,
        /// What the first run of such blocks along that axis reads.
        region: Box<Roi>,
    },
    /// No task has this position.
    #[error("no task has index {task}; the graph has {count} tasks")]
    UnknownTask {
        /// The index given.
        task: u32,
        /// Number of tasks.
        count: usize,
    },
    /// The task has no such block.
    #[error("task '{task_id}' has no block with index {block}; it has {count} blocks")]
    UnknownBlock {
        /// The task.
        task_id: String,
        /// The index given.
        block: BlockIndex,
        /// Number of its blocks.
        count: u128,
    },
    /// The block isn't with anybody: never acquired, or returned already.
    #[error(
        "block {number} of task '{task_id}' is not held: acquire it first, and return it once"
    )]
    NotHeld {
        /// The task.
        task_id: String,
        /// The block's position.
        block: BlockIndex,
        /// The block's number.
        number: u128,
    },
    /// Memory for a task's blocks can't be had.
    #[error("task '{task_id}' needs {bytes} bytes for the states of its blocks, which can't be allocated")]
    OutOfMemory {
        /// The task.
        task_id: String,
        /// Bytes asked for.
        bytes: u64,
    },
    /// The tracking store couldn't be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl CoreError {
    /// The code that users see on the error, stable over releases.
    pub fn code(&self) -> &'static str {
        match self {
            CoreError::Pipeline { .. } => "ERR_BELLIS_PIPELINE",
            CoreError::Uncovered { .. } => "ERR_BELLIS_UNCOVERED",
            CoreError::Record(error) => error.code,
            CoreError::Validation { .. }
            | CoreError::UnknownTask { .. }
            | CoreError::UnknownBlock { .. }
            | CoreError::NotHeld { .. }
            | CoreError::OutOfMemory { .. } => "ERR_BELLIS_VALIDATION",
        }
    }

    /// The same error with `prefix` and a dot before the path of a validation error.
    #[must_use]
    pub fn under(self, prefix: &str) -> Self {
        match self {
            CoreError::Validation {
                path,
                value,
                message,
            } => CoreError::Validation {
                path: format!("{prefix}.{path}"),
                value,
                message,
            },
            other => other,
        }
    }

    pub(crate) fn validation(
        path: &str,
        value: impl std::fmt::Display,
        message: impl Into<String>,
    ) -> Self {
        CoreError::Validation {
            path: path.to_owned(),
            value: value.to_string(),
            message: message.into(),
        }
    }
}
