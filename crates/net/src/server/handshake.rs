//! The first bytes with a peer that nobody knows yet. Little memory and little time for each.

use std::io;
use std::rc::Rc;

use tokio::net::TcpStream;

use super::host::StrangerReason;
use crate::codec::{Alert, FrameReader, MAX_WORKER_FRAME};
use crate::greeting::{Greeting, MAX_GREETING};
use crate::message::WorkerMessage;
use crate::noise::{Handshake, Sealer, HANDSHAKE_MESSAGE};
use crate::secret::Secret;

/// What comes out of it: the channel, and how the peer introduces itself.
pub(super) struct Acquaintance {
    pub(super) sealer: Sealer,
    pub(super) reader: FrameReader,
    pub(super) first: WorkerMessage,
}

/// Greets, shakes hands and waits for the introduction. The caller watches the time.
pub(super) async fn meet(
    stream: &Rc<TcpStream>,
    secret: &Secret,
) -> Result<Acquaintance, StrangerReason> {
    let own = Greeting::own();
    let mut bytes = Vec::with_capacity(MAX_GREETING);
    let theirs = loop {
        let more = bytes.len() + 1;
        fill(stream, &mut bytes, more).await?;
        match Greeting::decode(&bytes) {
            Ok(None) => {}
            Ok(Some((greeting, length))) => {
                bytes.drain(..length);
                break greeting;
            }
            Err(_) => return Err(StrangerReason::ForeignBytes),
        }
    };
    send(stream, &own.encode()).await?;
    if !own.agrees_with(&theirs) {
        send(stream, &Alert::OtherBuild.encode()).await?;
        return Err(StrangerReason::OtherBuild(theirs.to_string()));
    }
    let mut prologue = theirs.encode();
    prologue.extend_from_slice(&own.encode());

    let whole = 2 + HANDSHAKE_MESSAGE;
    fill(stream, &mut bytes, whole).await?;
    let length = (HANDSHAKE_MESSAGE as u16).to_be_bytes();
    let stranger = |_| StrangerReason::OtherRun;
    let mut handshake = Handshake::driver(secret, &prologue).map_err(stranger)?;
    let known = bytes[..2] == length && handshake.read(&bytes[2..whole]).is_ok();
    if !known {
        send(stream, &Alert::OtherRun.encode()).await?;
        return Err(StrangerReason::OtherRun);
    }
    let mut answer = length.to_vec();
    answer.extend_from_slice(&handshake.write().map_err(stranger)?);
    send(stream, &answer).await?;
    let (sealer, opener) = handshake.finish().map_err(stranger)?;

    let mut reader = FrameReader::new(opener, MAX_WORKER_FRAME);
    reader.feed(&bytes[whole..]);
    loop {
        match reader.next_message() {
            Ok(Some(first)) => {
                return Ok(Acquaintance {
                    sealer,
                    reader,
                    first,
                })
            }
            Ok(None) => {}
            Err(error) => return Err(StrangerReason::Malformed(error.to_string())),
        }
        bytes.clear();
        fill(stream, &mut bytes, 1).await?;
        reader.feed(&bytes);
    }
}

/// Turns a peer away before having heard a word.
pub(super) async fn refuse(stream: &TcpStream) {
    let mut bytes = Greeting::own().encode();
    bytes.extend_from_slice(&Alert::TooMany.encode());
    // It fits into the empty buffer of any socket, or the peer has hung up.
    let _ = stream.try_write(&bytes);
}

/// Reads until there are at least so many bytes.
async fn fill(stream: &TcpStream, bytes: &mut Vec<u8>, least: usize) -> Result<(), StrangerReason> {
    let mut part = [0; 512];
    while bytes.len() < least {
        stream.readable().await.map_err(broken)?;
        match stream.try_read(&mut part) {
            Ok(0) => return Err(broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(length) => bytes.extend_from_slice(&part[..length]),
            Err(error) if retry(&error) => {}
            Err(error) => return Err(broken(error)),
        }
    }
    Ok(())
}

async fn send(stream: &TcpStream, mut bytes: &[u8]) -> Result<(), StrangerReason> {
    while !bytes.is_empty() {
        stream.writable().await.map_err(broken)?;
        match stream.try_write(bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(error) if retry(&error) => {}
            Err(error) => return Err(broken(error)),
        }
    }
    Ok(())
}

fn retry(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// It hung up in the middle of it.
fn broken(_: io::Error) -> StrangerReason {
    StrangerReason::HungUp
}
