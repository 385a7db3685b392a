//! The calls between two blocks of a worker.

use bellis_net::{Client, Take};
use napi_derive::napi;

use super::{milliseconds, with};
use crate::error::{sentinel, Failure};
use crate::shared_buffer::SharedBuffer;

/// No block is in hand now.
const EMPTY: f64 = -1.0;
/// There are no more: the driver sent the worker home, or the client was closed.
const NO_MORE: f64 = -3.0;
/// There are no more: the driver is gone.
const LOST: f64 = -4.0;

fn hot(body: impl FnOnce(&Client, &SharedBuffer) -> Result<f64, Failure>) -> f64 {
    sentinel(|| SharedBuffer::with(|shared| with(shared.get_u32(0), |client| body(client, shared))))
}

fn number(take: Take) -> f64 {
    match take {
        Take::Block(block) => block as f64,
        Take::Empty => EMPTY,
        Take::NoMore => NO_MORE,
        Take::Lost => LOST,
    }
}

/// Slot 0: handle. The index of the next block, which runs from now on; or -1 none in hand, -2 error,
/// -3 no more, -4 driver gone.
#[napi]
pub fn client_take() -> f64 {
    hot(|client, _| Ok(number(client.take())))
}

/// Slots: 0 handle, 1 how long this thread may be blocked, in milliseconds. Otherwise as `clientTake`.
#[napi]
pub fn client_take_wait() -> f64 {
    hot(|client, shared| Ok(number(client.take_timeout(milliseconds(shared.get(1))))))
}

/// Slots: 0 handle, 1 block. The block succeeded.
#[napi]
pub fn client_finish() -> f64 {
    hot(|client, shared| {
        client.finish(shared.get_u64(1), Ok(()))?;
        Ok(0.0)
    })
}
