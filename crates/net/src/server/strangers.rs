//! How often the user is told of peers that don't belong here.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::host::{Notice, StrangerReason};

/// Notices come this far apart.
const NOTICE_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Strangers {
    last_notice: Option<Instant>,
    untold: u64,
}

impl Strangers {
    /// A peer was turned away or thrown out: what to tell, if anything.
    pub(super) fn notice(
        &mut self,
        address: SocketAddr,
        reason: StrangerReason,
        now: Instant,
    ) -> Option<Notice> {
        let recently = self
            .last_notice
            .is_some_and(|last| now.duration_since(last) < NOTICE_EVERY);
        if recently {
            self.untold = self.untold.saturating_add(1);
            return None;
        }
        self.last_notice = Some(now);
        let untold = std::mem::take(&mut self.untold);
        Some(Notice::Stranger {
            address,
            reason,
            untold,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_counted_until_the_next_notice() {
        let mut strangers = Strangers::default();
        let address = "192.0.2.1:80".parse().unwrap();
        let start = Instant::now();
        let mut told = Vec::new();
        for second in 0..21 {
            let now = start + Duration::from_secs(second);
            let notice = strangers.notice(address, StrangerReason::ForeignBytes, now);
            if let Some(Notice::Stranger { untold, .. }) = notice {
                told.push((second, untold));
            }
        }
        assert_eq!(told, [(0, 0), (10, 9), (20, 9)]);
    }
}
