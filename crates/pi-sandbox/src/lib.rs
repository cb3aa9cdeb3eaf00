//! Confines what a session starts: commands write only where a [`Policy`] allows it, do not read what it denies, and
//! reach the network only if it is on. Nothing is confined by default.
//!
//! A [`Sandbox`] is started once per workspace and makes sure that the system supports it. A confined command is this
//! program, started as `pi __confine FD PROGRAM …`: it restricts itself and then executes the program. On Linux that takes
//! namespaces, Landlock and seccomp (`linux/`); on macOS the command is `sandbox-exec` with a profile (`macos/`).

mod attempt;
mod default_paths;
mod denial;
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub mod fuzz_support;
mod git_dirs;
#[cfg(target_os = "linux")]
mod linux;
mod macos;
mod path_pattern;
mod policy;
mod program_path;
mod roots;
mod sandbox;

pub use attempt::{ApplyStep, Attempt, FailedChange, KeptChanges, TriedChange, TriedChangeKind};
pub use denial::{Denial, DeniedAccess};
#[cfg(target_os = "linux")]
pub use linux::{CONFINE, is_confined, run_confined};
pub use macos::profile::profile as macos_profile;
pub use policy::{InvalidPolicy, Policy};
pub use roots::Roots;
pub use sandbox::{ConfinedProgram, Enforcement, Sandbox, SandboxError};
