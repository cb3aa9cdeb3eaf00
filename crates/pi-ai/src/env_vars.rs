//! Every environment variable this crate reads, one constant each, with what it means.
//!
//! Credentials of providers are data (see the provider table), not listed here.

/// `long` asks providers to keep prompts cached for an hour or more.
pub const CACHE_RETENTION: &str = "PI_CACHE_RETENTION";
