//! The reading thread of a client: connects, shakes hands, reads until the end, and comes back when
//! a connection to another machine breaks.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::{lock, Shared};
use super::End;
use crate::codec::{Alert, FrameError, FrameReader, MAX_DRIVER_FRAME};
use crate::greeting::{Greeting, MAX_GREETING};
use crate::machine;
use crate::message::{DriverMessage, Hello};
use crate::noise::{Handshake, HANDSHAKE_MESSAGE};
use crate::socket;

/// How long one address may take to answer.
const CONNECT: Duration = Duration::from_secs(10);

/// How long a driver may take for its part of the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a broken connection to another machine may be mended.
const RESUME: Duration = Duration::from_secs(4);

const READ_BUFFER: usize = 64 << 10;

/// Everything the thread does.
pub(super) fn run(shared: &Shared) {
    let end = match connect(shared) {
        Ok(session) => work(shared, session),
        Err(end) => end,
    };
    shared.finish_all(end);
}

struct Session {
    stream: TcpStream,
    reader: FrameReader,
    remote: bool,
}

/// Reads, and connects again as long as that makes sense.
fn work(shared: &Shared, mut session: Session) -> End {
    loop {
        let end = read(shared, &mut session);
        let broken = matches!(end, End::Gone(_));
        if !broken || !session.remote || !shared.hands().can_resume() {
            return end;
        }
        shared.outlet.close();
        let until = Instant::now() + RESUME;
        session = loop {
            match connect(shared) {
                Ok(session) => break session,
                Err(End::Gone(_) | End::Unreachable(_)) => {}
                Err(other) => return other,
            }
            let pause = Instant::now() + Duration::from_millis(100);
            let mut hands = shared.hands();
            while let Some(held) = shared.wait(hands, Some(pause)) {
                hands = held;
                if hands.is_over() {
                    return end;
                }
            }
            if Instant::now() >= until {
                return end;
            }
        };
    }
}

fn connect(shared: &Shared) -> Result<Session, End> {
    let options = &shared.options;
    let target = format!("{}:{}", options.host, options.port);
    let addresses: Vec<SocketAddr> = (options.host.as_str(), options.port)
        .to_socket_addrs()
        .map_err(|error| End::Unreachable(format!("the driver's host {target}: {error}")))?
        .collect();
    let mut last = None;
    for address in addresses {
        check_machine(shared, address.ip())?;
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return greet(shared, stream),
            Err(error) => last = Some(error),
        }
    }
    let Some(error) = last else {
        return Err(End::Unreachable(format!("{target} is no address")));
    };
    let text = format!("no driver at {target}: {error}");
    Err(match error.kind() {
        io::ErrorKind::ConnectionRefused => End::Gone(text),
        _ => End::Unreachable(text),
    })
}

/// A loopback address means the driver's machine, which may not be this one.
fn check_machine(shared: &Shared, address: IpAddr) -> Result<(), End> {
    match &shared.options.machine {
        Some(machine) if address.is_loopback() && *machine != machine::own_machine() => {
            Err(End::OtherMachine(format!(
                "the driver listens on {address}, which only its own machine can reach, and this \
                 is another one: give the run a host that this machine can reach, such as \
                 host: 'auto'"
            )))
        }
        _ => Ok(()),
    }
}

fn greet(shared: &Shared, mut stream: TcpStream) -> Result<Session, End> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            End::Unreachable("the driver doesn't answer".to_owned())
        }
        _ => End::Gone(format!("the driver hung up: {error}")),
    };
    socket::prepare(&stream);
    stream
        .set_read_timeout(Some(HANDSHAKE))
        .and_then(|()| stream.set_write_timeout(Some(HANDSHAKE)))
        .map_err(gone)?;

    let own = Greeting::own();
    let mut prologue = own.encode();
    stream.write_all(&prologue).map_err(gone)?;
    let (theirs, mut rest) = read_greeting(&mut stream, gone)?;
    if !own.agrees_with(&theirs) {
        return Err(End::TurnedAway(format!(
            "the driver is of another build: it has {theirs}, this worker has {own}"
        )));
    }
    prologue.extend_from_slice(&theirs.encode());

    let broken = |_| End::TurnedAway("the driver isn't of this run".to_owned());
    let mut handshake = Handshake::worker(&shared.options.secret, &prologue).map_err(broken)?;
    let mut message = (HANDSHAKE_MESSAGE as u16).to_be_bytes().to_vec();
    message.extend_from_slice(&handshake.write().map_err(broken)?);
    stream.write_all(&message).map_err(gone)?;

    fill(&mut stream, &mut rest, 3).map_err(gone)?;
    if rest[..2] == [0, 0] {
        return Err(End::TurnedAway(alert_text(Alert::from_code(rest[2]))));
    }
    if rest[..2] != (HANDSHAKE_MESSAGE as u16).to_be_bytes() {
        return Err(broken(crate::noise::NotAuthentic));
    }
    let whole = 2 + HANDSHAKE_MESSAGE;
    fill(&mut stream, &mut rest, whole).map_err(gone)?;
    handshake.read(&rest[2..whole]).map_err(broken)?;
    let (sealer, opener) = handshake.finish().map_err(broken)?;

    stream
        .set_read_timeout(None)
        .and_then(|()| stream.set_write_timeout(None))
        .map_err(gone)?;
    let remote = shared.as_remote || !socket::is_same_host(&stream);
    let sending = stream.try_clone().map_err(gone)?;
    let mut reader = FrameReader::new(opener, MAX_DRIVER_FRAME);
    reader.feed(&rest[whole..]);
    {
        let options = &shared.options;
        let mut hands = shared.hands();
        if hands.is_over() {
            return Err(End::Closed);
        }
        hands.introduce(|| Hello {
            task: options.task_id.clone(),
            worker: options.worker_id,
            pid: std::process::id(),
            machine: machine::host_name(),
        });
    }
    shared.connected(sending, sealer);
    shared.flush();
    Ok(Session {
        stream,
        reader,
        remote,
    })
}

fn alert_text(alert: Option<Alert>) -> String {
    match alert {
        Some(Alert::OtherBuild) => "the driver is of another build".to_owned(),
        Some(Alert::OtherRun) => {
            "the driver belongs to another run, or this worker to an earlier one".to_owned()
        }
        Some(Alert::TooMany) => "the driver has as many connections as it allows".to_owned(),
        None => "the driver turned this worker away".to_owned(),
    }
}

/// The driver's greeting, and what came behind it.
fn read_greeting(
    stream: &mut TcpStream,
    gone: impl Fn(io::Error) -> End,
) -> Result<(Greeting, Vec<u8>), End> {
    let mut bytes = Vec::with_capacity(MAX_GREETING);
    loop {
        let more = bytes.len() + 1;
        fill(stream, &mut bytes, more).map_err(&gone)?;
        match Greeting::decode(&bytes) {
            Ok(None) => {}
            Ok(Some((greeting, length))) => return Ok((greeting, bytes.split_off(length))),
            Err(error) => return Err(End::TurnedAway(error.to_string())),
        }
    }
}

/// Reads until there are at least so many bytes.
fn fill(stream: &mut TcpStream, bytes: &mut Vec<u8>, least: usize) -> io::Result<()> {
    let mut part = [0; 256];
    while bytes.len() < least {
        match stream.read(&mut part) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => bytes.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads and does what it says until the connection ends.
fn read(shared: &Shared, session: &mut Session) -> End {
    let mut buffer = vec![0; READ_BUFFER];
    let mut bytes = 0;
    loop {
        loop {
            match session.reader.next_message() {
                Ok(Some(message)) => {
                    if let Err(end) = on_message(shared, message, session.remote) {
                        return end;
                    }
                }
                Ok(None) => break,
                Err(FrameError::Alert(alert)) => return End::TurnedAway(alert_text(alert)),
                Err(error) => return End::Gone(format!("the driver can't be understood: {error}")),
            }
        }
        if bytes > 0 {
            // Answers to what was read, all at once.
            shared.flush();
        }
        bytes = match session.stream.read(&mut buffer) {
            Ok(0) => return hung_up(shared),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return End::Gone(format!("the connection broke: {error}")),
        };
        shared.heard.store(shared.now(), Ordering::Release);
        session.reader.feed(&buffer[..bytes]);
    }
}

fn hung_up(shared: &Shared) -> End {
    End::Gone(if shared.silent.swap(false, Ordering::SeqCst) {
        "nothing was heard of the driver for 5 s".to_owned()
    } else {
        "the driver hung up".to_owned()
    })
}

fn on_message(shared: &Shared, message: DriverMessage, remote: bool) -> Result<(), End> {
    match message {
        DriverMessage::Grant { alone, blocks } => {
            let now = shared.now();
            let pause_ends = {
                let mut hands = shared.hands();
                hands.granted(&blocks.0, alone, now);
                hands.pause_ends()
            };
            shared.wake();
            if let Some(time) = pause_ends {
                shared.clock.wake_before(time);
            }
        }
        DriverMessage::Retract { mut blocks } => shared.hands().retracted(&mut blocks.0),
        DriverMessage::Pong { echo, received } => {
            shared.hands().out().acknowledge(received);
            let round_trip = shared.now().saturating_sub(echo);
            lock(&shared.round_trips).add(round_trip);
        }
        DriverMessage::Welcome(welcome) => {
            let notes = shared.options.notes.as_ref();
            if !shared.hands().welcomed(*welcome, remote, notes) {
                return Err(End::TurnedAway(
                    "the driver's welcome names no task".to_owned(),
                ));
            }
            // The first heartbeat comes at once: the clocks get to know each other.
            shared.clock.beat_now();
            shared.wanted.store(true, Ordering::Release);
            shared.wake();
        }
        DriverMessage::Shutdown { reason } => {
            shared.hands().shut_down(reason);
            shared.wanted.store(true, Ordering::Release);
            shared.wake();
        }
        DriverMessage::Closing { reason } => {
            return Err(End::TurnedAway(format!(
                "the driver closed the connection ({})",
                close_text(reason)
            )));
        }
    }
    Ok(())
}

fn close_text(reason: crate::message::CloseReason) -> &'static str {
    use crate::message::CloseReason;
    match reason {
        CloseReason::Silent => "nothing was heard of this worker for too long",
        CloseReason::TimedOut => "a block ran past its deadline",
        CloseReason::DidNotLeave => "this worker didn't leave when it was told to",
        CloseReason::NoAnswer => "this worker didn't answer",
        CloseReason::Replaced => "this worker came back on another connection",
        CloseReason::Malformed => "this worker sent what the driver can't understand",
    }
}
