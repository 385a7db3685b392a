//! What a block cost its worker.

use std::time::Instant;

use crate::message::Stats;

/// Reads the counters of this process. Files stay open between two readings.
#[derive(Default)]
pub struct Meter {
    #[cfg(target_os = "linux")]
    files: Option<linux::Files>,
}

/// A measurement that has begun.
pub struct Measurement {
    began: Instant,
    cpu_seconds: f64,
    io: (u64, u64),
    /// Whether other blocks run beside this one, so that only the time is its own.
    shared: bool,
}

impl Meter {
    /// Begins a measurement. With `shared`, other blocks run in the process at the same time.
    pub fn start(&mut self, shared: bool) -> Measurement {
        let mut measurement = Measurement {
            began: Instant::now(),
            cpu_seconds: f64::NAN,
            io: (0, 0),
            shared,
        };
        if !shared {
            self.reset_peak();
            measurement.io = self.io_from_here().unwrap_or((0, 0));
            measurement.cpu_seconds = cpu_seconds();
            measurement.began = Instant::now();
        }
        measurement
    }

    /// Ends a measurement.
    pub fn stop(&mut self, measurement: &Measurement) -> Stats {
        let wall_seconds = measurement.began.elapsed().as_secs_f64();
        if measurement.shared {
            return Stats {
                wall_seconds,
                cpu_seconds: f64::NAN,
                peak_rss_bytes: 0,
                io_read_bytes: 0,
                io_write_bytes: 0,
            };
        }
        let spent = cpu_seconds() - measurement.cpu_seconds;
        // What isn't known stays NaN, which `max` would turn into 0.
        let cpu_seconds = if spent < 0.0 { 0.0 } else { spent };
        let io = self.io_so_far().unwrap_or(measurement.io);
        Stats {
            wall_seconds,
            cpu_seconds,
            peak_rss_bytes: self.peak_rss_bytes(),
            io_read_bytes: io.0.saturating_sub(measurement.io.0),
            io_write_bytes: io.1.saturating_sub(measurement.io.1),
        }
    }
}

/// User and system time of the whole process, helper threads included, since a block's work is
/// often done by them.
fn cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }
    #[cfg(not(unix))]
    f64::NAN
}

#[cfg(not(target_os = "linux"))]
impl Meter {
    fn reset_peak(&mut self) {}

    fn io_from_here(&mut self) -> Option<(u64, u64)> {
        None
    }

    fn io_so_far(&mut self) -> Option<(u64, u64)> {
        None
    }

    fn peak_rss_bytes(&mut self) -> u64 {
        0
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::FileExt;

    use super::Meter;

    pub(super) struct Files {
        status: Option<File>,
        io: Option<File>,
        clear_refs: Option<File>,
    }

    impl Meter {
        fn files(&mut self) -> &Files {
            self.files.get_or_insert_with(|| Files {
                status: File::open("/proc/self/status").ok(),
                io: File::open("/proc/self/io").ok(),
                clear_refs: OpenOptions::new()
                    .write(true)
                    .open("/proc/self/clear_refs")
                    .ok(),
            })
        }

        /// Makes the peak begin anew. Where that is refused, the peak stays that of the process.
        pub(super) fn reset_peak(&mut self) {
            if let Some(file) = &self.files().clear_refs {
                // "5" resets the peak and touches no page. Nothing is lost when it fails.
                let _ = file.write_at(b"5", 0);
            }
        }

        /// Bytes read and written so far, cache hits included.
        pub(super) fn io_so_far(&mut self) -> Option<(u64, u64)> {
            Some(self.io()?.0)
        }

        /// The same with what this call itself reads, so that it isn't taken for the block's.
        pub(super) fn io_from_here(&mut self) -> Option<(u64, u64)> {
            let ((read, written), own) = self.io()?;
            Some((read + own, written))
        }

        fn io(&mut self) -> Option<((u64, u64), u64)> {
            let mut buffer = [0; 512];
            let text = read(self.files().io.as_ref()?, &mut buffer)?;
            let counters = (field(text, "rchar:")?, field(text, "wchar:")?);
            Some((counters, text.len() as u64))
        }

        /// `VmHWM` of `/proc/self/status` is the only place that says it. `getrusage` would be cheaper,
        /// but its peak is never below that of the process that this one was forked from.
        pub(super) fn peak_rss_bytes(&mut self) -> u64 {
            let mut buffer = [0; 4096];
            let peak = self
                .files()
                .status
                .as_ref()
                .and_then(|file| read(file, &mut buffer))
                .and_then(|text| field(text, "VmHWM:"));
            peak.unwrap_or(0).saturating_mul(1024)
        }
    }

    fn read<'a>(file: &File, buffer: &'a mut [u8]) -> Option<&'a str> {
        let length = file.read_at(buffer, 0).ok()?;
        let text = &buffer[..length];
        // A cut in the middle of a character can only be behind what is looked for.
        match std::str::from_utf8(text) {
            Ok(text) => Some(text),
            Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).ok(),
        }
    }

    fn field(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn work_memory_and_bytes_are_seen() {
        let mut meter = Meter::default();
        let before = meter.start(false);
        let memory = std::hint::black_box(vec![1u8; 64 << 20]);
        let path = std::env::temp_dir().join(format!("bellis-meter-{}", std::process::id()));
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(&memory[..100_000]).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut sum = 0u64;
        while cpu_seconds() - before.cpu_seconds < 0.02 {
            sum = sum.wrapping_mul(31).wrapping_add(1);
        }
        std::hint::black_box(sum);
        let stats = meter.stop(&before);
        assert!(stats.cpu_seconds >= 0.02, "{stats:?}");
        assert!(stats.wall_seconds > 0.0, "{stats:?}");
        assert!(stats.peak_rss_bytes >= 64 << 20, "{stats:?}");
        assert!(stats.io_write_bytes >= 100_000, "{stats:?}");
    }

    /// What other tests of this process read meanwhile would count too: the least of many is taken.
    #[test]
    fn measuring_counts_no_bytes_of_its_own() {
        let mut meter = Meter::default();
        let measure = |_| {
            let began = meter.start(false);
            let stats = meter.stop(&began);
            (stats.io_read_bytes, stats.io_write_bytes)
        };
        assert_eq!((0..1000).map(measure).min(), Some((0, 0)));
    }

    #[test]
    fn beside_others_only_the_time_is_known() {
        let mut meter = Meter::default();
        let measurement = meter.start(true);
        let stats = meter.stop(&measurement);
        assert!(stats.cpu_seconds.is_nan());
        assert_eq!((stats.peak_rss_bytes, stats.io_write_bytes), (0, 0));
    }
}
