//! The resource use of a process as the kernel reports it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::samples::Sample;

/// Readings per sample and the time between them.
const READINGS: usize = 5;
const READING_INTERVAL: Duration = Duration::from_millis(20);

/// Samples an idle process. Takes the minimum of several readings, since background tasks finish a little later.
pub(super) fn sample(process: u32) -> Result<Sample> {
    let mut least = read(process)?;
    for _ in 1..READINGS {
        thread::sleep(READING_INTERVAL);
        let now = read(process)?;
        least = Sample {
            kibibytes: least.kibibytes.min(now.kibibytes),
            threads: least.threads.min(now.threads),
            descriptors: least.descriptors.min(now.descriptors),
        };
    }
    Ok(least)
}

fn read(process: u32) -> Result<Sample> {
    let directory = Path::new("/proc").join(process.to_string());
    let status = fs::read_to_string(directory.join("status"))?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        number.with_context(|| format!("/proc/PID/status has no {name}"))
    };
    Ok(Sample {
        kibibytes: field("VmRSS:")?,
        threads: field("Threads:")?,
        descriptors: fs::read_dir(directory.join("fd"))?.count(),
    })
}
