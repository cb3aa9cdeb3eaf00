//! Permission rules: which tool calls run, which are asked about and which are denied.
//!
//! Rules match shell commands word by word. A command that the splitter does not fully understand is asked about, never
//! allowed. Rules remind a model of its limits; they do not confine what an allowed command does.

mod command_pattern;
mod launchers;
mod path_pattern;
mod rule;
mod rules;
mod session;
mod shell_directories;
mod shell_split;
mod variables;

pub use rule::{InvalidRule, RuleError};
pub use rules::{Effect, PermissionRules, Reason, ToolUse, Verdict};
pub use session::{Review, SessionPermissions};
