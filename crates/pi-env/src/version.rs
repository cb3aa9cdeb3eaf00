//! The version of pi: the compatible release of the TypeScript pi, and our own release of it.

/// Printed by `--version`. Clients, packages and extensions use it for feature detection.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Our release with this [`VERSION`]; it starts at 1 again when the version changes.
pub const RELEASE_NUMBER: u32 = 1;

/// Returns the version with our release as build metadata, such as `1.5.0+rs.1`.
pub fn release() -> String {
    format!("{VERSION}+rs.{RELEASE_NUMBER}")
}
