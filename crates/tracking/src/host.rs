//! Who a process is: what a lock needs to know to tell a dead run from a live one.

/// A process as others on this machine and elsewhere can recognise it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name of the machine.
    pub host: String,
    /// Changes with each start of the machine; `None` where it can't be told.
    pub boot_id: Option<String>,
    /// Namespace in which the process id counts; `None` where it can't be told.
    pub pid_namespace: Option<String>,
    /// Process id.
    pub pid: u32,
    /// Start of the process in the kernel's ticks; `None` where it can't be told.
    pub start_time: Option<u64>,
}

impl Identity {
    /// The identity of this process.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self {
            host: platform::host(),
            boot_id: platform::boot_id(),
            pid_namespace: platform::pid_namespace(),
            pid,
            start_time: platform::start_time(pid),
        }
    }

    /// Whether a process id means the same for both, so that it can be asked after.
    pub(crate) fn can_judge(&self, other: &Self) -> bool {
        self.boot_id.is_some()
            && self.boot_id == other.boot_id
            && self.pid_namespace.is_some()
            && self.pid_namespace == other.pid_namespace
    }

    /// Whether the process still runs. Only right where [`Identity::can_judge`] holds.
    pub(crate) fn is_alive(&self) -> bool {
        match platform::start_time(self.pid) {
            None => false,
            Some(found) => self.start_time.is_none_or(|known| known == found),
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod platform {
    use std::fs;

    pub(super) fn host() -> String {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }

    pub(super) fn boot_id() -> Option<String> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned())
    }

    pub(super) fn pid_namespace() -> Option<String> {
        Some(
            fs::read_link("/proc/self/ns/pid")
                .ok()?
                .to_string_lossy()
                .into_owned(),
        )
    }

    /// Start of a process that runs; `None` for one that has ended, also while it is unreaped.
    pub(super) fn start_time(pid: u32) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything, so count from behind it.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X" | "x") {
            return None;
        }
        fields.nth(18)?.parse().ok()
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod platform {
    #[cfg(unix)]
    pub(super) fn host() -> String {
        rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned()
    }

    #[cfg(not(unix))]
    pub(super) fn host() -> String {
        std::env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".to_owned())
    }

    // Without these a lock is judged by the age of its file alone.
    pub(super) fn boot_id() -> Option<String> {
        None
    }

    pub(super) fn pid_namespace() -> Option<String> {
        None
    }

    pub(super) fn start_time(_pid: u32) -> Option<u64> {
        None
    }
}
