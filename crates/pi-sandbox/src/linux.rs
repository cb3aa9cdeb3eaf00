//! Enforcement on Linux. `launcher` starts the helper, `confine` is what the helper does.

mod capabilities;
mod confine;
mod devices;
mod frozen;
mod guards;
mod id_maps;
mod init;
mod landlock;
mod launcher;
mod mount_plan;
mod mounts;
mod namespaces;
mod overlays;
mod peer;
mod placeholders;
mod relay;
mod seccomp;
mod system_calls;

pub use confine::run_confined;
pub(crate) use launcher::Launcher;
pub(crate) use overlays::{Overlays, overlay_changes};
pub use peer::is_confined;

/// The argument of the program that calls [`run_confined`] with the arguments after it; not for users.
pub const CONFINE: &str = "__confine";
