//! Settings that every connection has, on both ends.

use std::net::{SocketAddr, TcpStream};

use rustix::fd::AsFd;
use rustix::net::sockopt;

/// No delay for small messages, and a dead peer is noticed even when nothing is sent. What the
/// system refuses isn't needed to work: heartbeats notice it earlier.
pub(crate) fn prepare(stream: &impl AsFd) {
    let _ = sockopt::set_tcp_nodelay(stream, true);
    let _ = sockopt::set_socket_keepalive(stream, true);
    #[cfg(unix)]
    {
        use std::time::Duration;
        let _ = sockopt::set_tcp_keepidle(stream, Duration::from_secs(60));
        let _ = sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15));
        let _ = sockopt::set_tcp_keepcnt(stream, 4);
    }
}

/// Whether the peer is on this host: then a broken connection means that its process is dead.
pub(crate) fn is_same_host(stream: &TcpStream) -> bool {
    match (stream.peer_addr(), stream.local_addr()) {
        (Ok(peer), Ok(own)) => same_host(peer, own),
        _ => false,
    }
}

/// The same for two addresses of one connection.
pub(crate) fn same_host(peer: SocketAddr, own: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback() || peer.ip().to_canonical() == own.ip().to_canonical()
}
