//! The version: the compatible release of the TypeScript pi, with our release as build metadata.

/// Printed by `--version`. Clients and extensions use it for feature detection.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+rs.1");
