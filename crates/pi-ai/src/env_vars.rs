//! Every environment variable this crate reads, one constant each, with what it means.
//!
//! Credentials of providers are data (see the provider table), not listed here.

/// `long` asks providers to keep prompts cached for an hour or more.
pub const CACHE_RETENTION: &str = "PI_CACHE_RETENTION";

/// The proxy for `http` targets; the lower-case name is read too and wins.
pub const HTTP_PROXY: &str = "HTTP_PROXY";

/// The proxy for `https` targets; the lower-case name is read too and wins.
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";

/// The proxy for targets without a proxy of their own; the lower-case name is read too and wins.
pub const ALL_PROXY: &str = "ALL_PROXY";

/// Hosts to reach without a proxy, separated by commas; the lower-case name is read too and wins.
pub const NO_PROXY: &str = "NO_PROXY";
