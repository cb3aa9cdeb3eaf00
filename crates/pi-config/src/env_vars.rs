//! The environment variables that this crate reads.

/// Overrides the agent directory, by default `~/.pi/agent`. A leading `~` is the home directory.
pub const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// Overrides the session directory; the command-line flag takes precedence.
pub const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";

/// `1` shows the terminal's hardware cursor; the setting takes precedence.
pub const HARDWARE_CURSOR: &str = "PI_HARDWARE_CURSOR";

/// `1` clears rows that become empty; the setting takes precedence.
pub const CLEAR_ON_SHRINK: &str = "PI_CLEAR_ON_SHRINK";

/// The user's editor; preferred over `EDITOR`.
pub const VISUAL: &str = "VISUAL";

/// The user's editor.
pub const EDITOR: &str = "EDITOR";
