//! The platforms of a release.

use anyhow::{Context as _, Result};

/// A platform with a binary of its release.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// As in the list of a release: `OS-ARCHITECTURE`, as `pi update` names it.
    pub(super) name: &'static str,
    /// The compiler's name.
    pub(super) target: &'static str,
    /// The architecture of Debian packages, if there is one for this platform.
    pub(super) debian: Option<&'static str>,
}

pub(super) static PLATFORMS: [Platform; 8] = [
    platform("linux-x86_64", "x86_64-unknown-linux-gnu", Some("amd64")),
    platform("linux-aarch64", "aarch64-unknown-linux-gnu", Some("arm64")),
    platform("linux-x86_64-musl", "x86_64-unknown-linux-musl", None),
    platform("linux-aarch64-musl", "aarch64-unknown-linux-musl", None),
    platform("macos-x86_64", "x86_64-apple-darwin", None),
    platform("macos-aarch64", "aarch64-apple-darwin", None),
    platform("windows-x86_64", "x86_64-pc-windows-msvc", None),
    platform("windows-aarch64", "aarch64-pc-windows-msvc", None),
];

const fn platform(
    name: &'static str,
    target: &'static str,
    debian: Option<&'static str>,
) -> Platform {
    Platform {
        name,
        target,
        debian,
    }
}

impl Platform {
    /// Returns the name of the archive without extension, which is also its only directory.
    pub(super) fn stem(&self) -> String {
        format!("pi-{}", self.target)
    }

    pub(super) fn archive(&self) -> String {
        format!("{}.tar.gz", self.stem())
    }

    pub(super) fn is_windows(&self) -> bool {
        self.name.starts_with("windows")
    }
}

pub(super) fn of_target(target: &str) -> Result<&'static Platform> {
    PLATFORMS
        .iter()
        .find(|platform| platform.target == target)
        .with_context(|| {
            let known: Vec<&str> = PLATFORMS.iter().map(|it| it.target).collect();
            format!("unknown target {target}\nhint: one of {}", known.join(", "))
        })
}

pub(super) fn of_this_machine() -> Result<&'static Platform> {
    let name = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
    PLATFORMS
        .iter()
        .find(|platform| platform.name == name)
        .with_context(|| format!("{name} is not a platform of releases"))
}
