//! Every environment variable this crate reads, one constant each, with what it means.

/// The agent directory, instead of `~/.pi/agent`. A leading `~` is the home directory.
pub const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
