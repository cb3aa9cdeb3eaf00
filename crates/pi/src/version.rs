//! The version, which speaks to clients: the release of the TypeScript pi we are compatible with, and ours as
//! build metadata.

/// What `--version` prints. Clients and extensions decide by it what they can use.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "+rs.1");
