//! Enforcement on macOS, with `sandbox-exec`. The profile is text, which is compiled and tested on all systems.

pub(crate) mod profile;

#[cfg(target_os = "macos")]
pub(crate) use launcher::Launcher;

#[cfg(target_os = "macos")]
mod launcher;
