//! Which machine this is, as far as the loopback address is concerned.

/// The name of this machine's loopback network: two processes with the same name reach each other on
/// a loopback address, two with different names don't.
///
/// On Linux the boot id and the network namespace; elsewhere the host name.
pub fn own_machine() -> String {
    #[cfg(target_os = "linux")]
    if let (Ok(boot), Ok(namespace)) = (
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id"),
        std::fs::read_link("/proc/self/ns/net"),
    ) {
        return format!("{} {}", boot.trim(), namespace.display());
    }
    host_name()
}

/// The name that this machine has for people; empty where unknown.
pub fn host_name() -> String {
    #[cfg(unix)]
    {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy().into_owned()
    }
    #[cfg(not(unix))]
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
