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

    /// Whether the process still runs; `None` where another user's can't be looked at. Only right
    /// where [`Identity::can_judge`] holds.
    pub(crate) fn is_alive(&self) -> Option<bool> {
        match platform::state(self.pid) {
            Process::Ended => Some(false),
            Process::Started(found) => Some(self.start_time.is_none_or(|known| known == found)),
            Process::Hidden => None,
        }
    }
}

/// What can be seen of a process.
enum Process {
    /// There is none, or it has ended and is unreaped.
    Ended,
    /// It was started at this time, in the kernel's ticks.
    Started(u64),
    /// There is one, and that is all.
    Hidden,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod platform {
    use std::fs;

    use rustix::process::{test_kill_process, Pid};

    use super::Process;

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

    pub(super) fn start_time(pid: u32) -> Option<u64> {
        match state(pid) {
            Process::Started(time) => Some(time),
            Process::Ended | Process::Hidden => None,
        }
    }

    pub(super) fn state(pid: u32) -> Process {
        stat(pid).unwrap_or_else(|| {
            // Where /proc hides the processes of other users, a signal still finds them.
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            match pid.map(test_kill_process) {
                None | Some(Err(rustix::io::Errno::SRCH)) => Process::Ended,
                Some(_) => Process::Hidden,
            }
        })
    }

    fn stat(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything, so count from behind it.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        if matches!(fields.next()?, "Z" | "X" | "x") {
            return Some(Process::Ended);
        }
        fields.nth(18)?.parse().ok().map(Process::Started)
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

    pub(super) fn state(_pid: u32) -> super::Process {
        super::Process::Hidden
    }
}
