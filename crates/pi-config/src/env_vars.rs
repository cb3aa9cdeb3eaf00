//! Every environment variable this crate reads, one constant each, with what it means.

/// The agent directory, instead of `~/.pi/agent`. A leading `~` is the home directory.
pub const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

/// The session directory, when no flag names one.
pub const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";

/// `1` shows the terminal's own cursor, unless a setting says otherwise.
pub const HARDWARE_CURSOR: &str = "PI_HARDWARE_CURSOR";

/// `1` clears rows that became empty, unless a setting says otherwise.
pub const CLEAR_ON_SHRINK: &str = "PI_CLEAR_ON_SHRINK";

/// The user's editor, the first choice of the system's two.
pub const VISUAL: &str = "VISUAL";

/// The user's editor, the second choice of the system's two.
pub const EDITOR: &str = "EDITOR";
