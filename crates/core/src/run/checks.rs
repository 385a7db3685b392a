//! The user's check function is asked about blocks, a batch at a time, before they go to workers.

use super::actions::{Action, Warning};
use super::{CheckAnswer, ErrorReport, Outbox, Run};
use crate::TaskIndex;

/// Batches of blocks that need a worker, after which the function is asked no further.
const BATCHES_AHEAD: u64 = 4;

impl Run {
    /// Asks about the next blocks, unless enough of them have been found to need a worker.
    pub(super) fn pump_checks(&mut self, task: TaskIndex, out: &mut Outbox) {
        let state = &mut self.tasks[task.at()];
        let batch = state.config.check_batch.max(1);
        let enough = self.blocks.runnable(task) >= batch as u64 * BATCHES_AHEAD;
        if !state.checking.is_empty() || enough {
            return;
        }
        let mark = out.mark();
        if self.blocks.take_unchecked(task, batch, out.block_list()) == 0 {
            return;
        }
        let blocks = out.span_since(mark);
        state.checking.extend_from_slice(out.blocks(blocks));
        state.began.get_or_insert(self.now);
        out.push(Action::Check { task, blocks });
    }

    pub(super) fn on_checked(
        &mut self,
        task: TaskIndex,
        answers: &[CheckAnswer],
        out: &mut Outbox,
    ) {
        let Some(state) = self.tasks.get_mut(task.at()) else {
            return;
        };
        let asked = std::mem::take(&mut state.checking);
        let finished = state.finished;
        if finished || !self.is_running() {
            return;
        }
        for (at, block) in asked.into_iter().enumerate() {
            let done = match answers.get(at) {
                Some(CheckAnswer::Done) => true,
                Some(CheckAnswer::NotDone) => false,
                Some(CheckAnswer::Error(error)) => {
                    self.note_check_error(task, (**error).clone(), out);
                    false
                }
                None => {
                    self.note_check_error(task, no_answer(), out);
                    false
                }
            };
            if let Err(refused) = self.blocks.checked(task, block, done) {
                self.fail(refused, out);
                return;
            }
        }
        self.skips_pending = true;
        self.touch(task);
        self.touch_downstream(task);
    }

    fn note_check_error(&mut self, task: TaskIndex, error: ErrorReport, out: &mut Outbox) {
        let state = &mut self.tasks[task.at()];
        state.check_errors += 1;
        if state.check_errors == 1 {
            out.push(Action::Warn(Warning::CheckError {
                task,
                error: Box::new(error),
            }));
        }
    }
}

fn no_answer() -> ErrorReport {
    ErrorReport {
        name: "CheckError".into(),
        message: "the check gave no answer".into(),
        ..ErrorReport::default()
    }
}
