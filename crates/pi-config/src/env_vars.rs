//! The environment variables that this crate reads.

/// Overrides the agent directory, by default `~/.pi/agent`. A leading `~` is the home directory.
pub const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// Overrides the session directory; the command-line flag takes precedence.
pub const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";
