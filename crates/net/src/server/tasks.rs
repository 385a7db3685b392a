//! Tasks of the run's thread whose panic isn't lost: it ends the run.

use std::any::Any;
use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::task::Poll;

use tokio::sync::Notify;
use tokio::task::{spawn_local, JoinHandle};

/// Starts tasks and keeps the first panic of any.
#[derive(Clone, Default)]
pub(super) struct Tasks(Rc<Panics>);

#[derive(Default)]
struct Panics {
    first: RefCell<Option<Box<dyn Any + Send>>>,
    came: Notify,
}

impl Tasks {
    /// Starts a task.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) -> JoinHandle<()> {
        let panics = Rc::clone(&self.0);
        let mut task = Box::pin(task);
        spawn_local(poll_fn(move |context| {
            // What a panic leaves half done isn't used any more: the run ends.
            let polled = catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(context)));
            polled.unwrap_or_else(|panic| {
                panics.first.borrow_mut().get_or_insert(panic);
                panics.came.notify_one();
                Poll::Ready(())
            })
        }))
    }

    /// Waits for a panic, for ever if none comes.
    pub(super) async fn panicked(&self) -> Box<dyn Any + Send> {
        loop {
            self.0.came.notified().await;
            if let Some(panic) = self.0.first.borrow_mut().take() {
                return panic;
            }
        }
    }
}
