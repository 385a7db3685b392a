//! The receiving half of one connection.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use bellis_core::run::ConnectionId;
use tokio::net::TcpStream;

use super::desk::{Ended, SharedDesk};
use crate::codec::FrameReader;

/// Bytes taken in before others get their turn.
const TURN: usize = 256 << 10;

const SCRATCH: usize = 64 << 10;

thread_local! {
    /// All connections of a thread read into one buffer: what is left over moves to their own.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Reads until the connection ends, and tells the desk so.
pub(super) async fn read(
    desk: &SharedDesk,
    conn: ConnectionId,
    stream: Rc<TcpStream>,
    mut reader: FrameReader,
) {
    // What came together with the introduction.
    let mut going = take_in(desk, conn, &mut reader).is_ok();
    while going {
        let room = desk.borrow_mut().peers.wait_for_room(conn);
        if let Some(room) = room {
            room.notified().await;
            // It may have been an old signal.
            continue;
        }
        if stream.readable().await.is_err() {
            break;
        }
        going = read_turn(desk, conn, &stream, &mut reader);
    }
    desk.borrow_mut().disconnected(conn);
}

/// Reads what is there, up to a limit. False at the end.
fn read_turn(
    desk: &SharedDesk,
    conn: ConnectionId,
    stream: &TcpStream,
    reader: &mut FrameReader,
) -> bool {
    let mut taken = 0;
    while taken < TURN {
        let read = BUFFER.with_borrow_mut(|buffer| {
            let bytes = stream.try_read(buffer)?;
            reader.feed(&buffer[..bytes]);
            Ok::<usize, io::Error>(bytes)
        });
        match read {
            Ok(0) => return false,
            Ok(bytes) => {
                taken += bytes;
                if take_in(desk, conn, reader).is_err() {
                    return false;
                }
                if bytes < SCRATCH {
                    // Most likely all there was; asking again would cost a call.
                    return true;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
    true
}

fn take_in(desk: &SharedDesk, conn: ConnectionId, reader: &mut FrameReader) -> Result<(), Ended> {
    loop {
        match reader.next_message() {
            Ok(Some(message)) => desk.borrow_mut().on_message(conn, message)?,
            Ok(None) => return Ok(()),
            Err(error) => {
                desk.borrow_mut()
                    .throw_out_stranger(conn, &error.to_string());
                return Err(Ended);
            }
        }
    }
}
