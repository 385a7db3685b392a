//! Where a server listens, and under which name its workers find it.

use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket,
};
use std::time::Duration;

use crate::machine;

/// Connections that may wait to be accepted.
#[cfg(unix)]
const BACKLOG: i32 = 4096;

/// How long a detected address may take to prove that it leads here.
const PROOF: Duration = Duration::from_millis(500);

/// A bound socket that nobody serves yet.
#[derive(Debug)]
pub struct Bound {
    pub(super) listener: TcpListener,
    host: String,
    port: u16,
    /// No address was found that other machines could reach.
    only_loopback: bool,
}

/// Why there is nowhere to listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The name or address means nothing here.
    #[error("the host {host} can't be resolved: {error}")]
    Resolve {
        /// What was asked for.
        host: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The system refuses.
    #[error("can't listen for the host {host}: {error}")]
    Listen {
        /// What was asked for.
        host: String,
        /// The system's reason.
        error: io::Error,
    },
}

impl Bound {
    /// Name or address to be put into contexts.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether `auto` found no address that other machines could reach, which deserves a warning.
    pub fn fell_back_to_loopback(&self) -> bool {
        self.only_loopback
    }

    /// Where it really listens.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Binds a free port.
///
/// - `None` or an empty text: the loopback address, which only this machine reaches.
/// - `auto`: an address of this machine that proves to lead here: that of its own name, else that of
///   the interface with the default route, IPv4 before IPv6; else loopback.
/// - `0.0.0.0` or `::`, which say where to listen but not whom to connect to: as `auto`.
/// - An address: that address if this machine has it, all addresses otherwise (it may be forwarded).
/// - A name: all addresses, unless it is a name of the loopback address only.
///
/// # Errors
/// The host can't be resolved, or the system refuses.
pub fn bind(host: Option<&str>) -> Result<Bound, BindError> {
    let host = host.unwrap_or("").trim();
    match host {
        "" => listen(Ipv4Addr::LOCALHOST.into(), "127.0.0.1"),
        "auto" => bind_detected(),
        _ => match literal(host) {
            Some(address) if address.is_unspecified() => bind_detected(),
            Some(address) => listen(address, host).or_else(|_| listen(everywhere(address), host)),
            None => bind_name(host),
        },
    }
}

fn bind_detected() -> Result<Bound, BindError> {
    match detect() {
        Some(address) => listen(everywhere(address), &address.to_string()),
        None => {
            let mut bound = listen(Ipv4Addr::LOCALHOST.into(), "127.0.0.1")?;
            bound.only_loopback = true;
            Ok(bound)
        }
    }
}

/// An address, also in brackets as in a URL.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    bare.unwrap_or(host).parse().ok()
}

fn bind_name(host: &str) -> Result<Bound, BindError> {
    let resolve = |error| BindError::Resolve {
        host: host.to_owned(),
        error,
    };
    let addresses: Vec<IpAddr> = (host, 0)
        .to_socket_addrs()
        .map_err(resolve)?
        .map(|address| address.ip())
        .collect();
    let Some(&first) = addresses.first() else {
        return Err(resolve(io::ErrorKind::NotFound.into()));
    };
    // A machine's own name often means a loopback address on that machine, and another one elsewhere.
    let is_own_name = host == machine::host_name() && host != "localhost";
    if addresses.iter().all(IpAddr::is_loopback) && !is_own_name {
        return listen(first, host);
    }
    listen(Ipv6Addr::UNSPECIFIED.into(), host)
        .or_else(|_| listen(Ipv4Addr::UNSPECIFIED.into(), host))
}

fn everywhere(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn listen(address: IpAddr, host: &str) -> Result<Bound, BindError> {
    let bound = || {
        let listener = TcpListener::bind((address, 0))?;
        #[cfg(unix)]
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        Ok(Bound {
            listener,
            host: bare.unwrap_or(host).to_owned(),
            port,
            only_loopback: false,
        })
    };
    bound().map_err(|error| BindError::Listen {
        host: host.to_owned(),
        error,
    })
}

/// An address by which other machines may reach this one.
fn detect() -> Option<IpAddr> {
    let name = machine::host_name();
    let by_name: Vec<IpAddr> = (name.as_str(), 0)
        .to_socket_addrs()
        .map(|addresses| addresses.map(|address| address.ip()).collect())
        .unwrap_or_default();
    let of_family = |v4: bool| {
        let mut named = by_name.iter().copied();
        let named = named.find(|address| address.is_ipv4() == v4 && is_routable(*address));
        [named, default_route(v4)]
    };
    let candidates = of_family(true).into_iter().chain(of_family(false));
    candidates.flatten().find(|address| leads_here(*address))
}

fn is_routable(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !link_local
}

/// The address of the interface that leads into the world. Nothing is sent.
fn default_route(v4: bool) -> Option<IpAddr> {
    // Addresses kept for documentation: no host has them.
    let (own, far): (IpAddr, IpAddr) = if v4 {
        (
            Ipv4Addr::UNSPECIFIED.into(),
            Ipv4Addr::new(192, 0, 2, 1).into(),
        )
    } else {
        (
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        )
    };
    let socket = UdpSocket::bind((own, 0)).ok()?;
    socket.connect((far, 80)).ok()?;
    let address = socket.local_addr().ok()?.ip();
    is_routable(address).then_some(address)
}

/// Whether a connection to this address ends in this process.
fn leads_here(address: IpAddr) -> bool {
    let prove = || -> io::Result<bool> {
        let mut proof = [0; 5];
        crate::secret::fill_random(&mut proof)?;
        let listener = TcpListener::bind((everywhere(address), 0))?;
        let port = listener.local_addr()?.port();
        let mut there = TcpStream::connect_timeout(&(address, port).into(), PROOF)?;
        listener.set_nonblocking(true)?;
        let (mut here, _) = listener.accept()?;
        here.set_nonblocking(false)?;
        here.set_read_timeout(Some(PROOF))?;
        there.write_all(&proof)?;
        let mut seen = [0; 5];
        here.read_exact(&mut seen)?;
        Ok(seen == proof)
    };
    prove().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_ip(host: Option<&str>) -> IpAddr {
        bind(host).unwrap().local_addr().unwrap().ip()
    }

    #[test]
    fn without_a_host_only_this_machine_gets_in() {
        for host in [
            None,
            Some(""),
            Some("  "),
            Some("127.0.0.1"),
            Some("localhost"),
        ] {
            let bound = bind(host).unwrap();
            assert!(bound.local_addr().unwrap().ip().is_loopback(), "{host:?}");
            assert_ne!(bound.port(), 0);
        }
        assert_eq!(bind(None).unwrap().host(), "127.0.0.1");
    }

    #[test]
    fn an_address_of_another_machine_binds_all_and_is_advertised() {
        let bound = bind(Some("192.0.2.7")).unwrap();
        assert!(bound.local_addr().unwrap().ip().is_unspecified());
        assert_eq!(bound.host(), "192.0.2.7");
    }

    #[test]
    fn auto_advertises_an_address_that_leads_here() {
        for host in ["auto", "0.0.0.0", "::", "[::]"] {
            let bound = bind(Some(host)).unwrap();
            let address: IpAddr = bound.host().parse().unwrap();
            assert!(!address.is_unspecified(), "{host}");
            assert_eq!(address.is_loopback(), bound.fell_back_to_loopback());
            TcpStream::connect((address, bound.port())).unwrap();
        }
    }

    #[test]
    fn ipv6_comes_with_or_without_brackets() {
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
            assert_eq!(bound_ip(Some("::1")), Ipv6Addr::LOCALHOST);
            assert_eq!(bind(Some("[::1]")).unwrap().host(), "::1");
        }
    }

    #[test]
    fn what_means_nothing_is_named() {
        let error = bind(Some("no such host.invalid")).unwrap_err();
        assert!(
            error.to_string().contains("no such host.invalid"),
            "{error}"
        );
    }
}
