//! The built-in tools: read, write, edit, bash, grep, find and ls. A tool is created from a
//! [`ToolContext`], which holds the working directory and the operations for accessing files. All
//! access goes through [`FileOperations`] and [`ProcessOperations`], so an application can redirect
//! tools to another machine.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_core::{NoSession, Tool};
//! use pi_tools::{ReadTool, ToolContext};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let read = ReadTool::new(ToolContext::local("/project"));
//! let arguments = serde_json::from_value(json!({"path": "README.md", "limit": 20}))?;
//! let cx = pi_core::ToolContext::new("call_1", Arc::new(NoSession::at("/project")));
//! let output = read.call(cx, arguments).await?;
//! assert_eq!(output.content.len(), 1);
//! # Ok(())
//! # }
//! ```

mod bash;
mod context;
mod edit;
mod find;
mod grep;
mod images;
mod line_endings;
mod ls;
mod mutation_queue;
mod operations;
mod output_spool;
mod paths;
mod plain_text;
mod process_tree;
mod read;
mod search_report;
mod shell;
mod shell_run;
#[cfg(test)]
mod testing;
mod truncate;
mod user_shell;
mod utf8_stream;
mod walk;
mod write;

pub use bash::{ShellTool, ShellToolOptions, SpawnHook};
pub use context::{SharedImagePolicy, ToolContext, ToolPrompt};
pub use edit::{EDIT_PROMPT, EditTool, TextChange};
pub use find::{FIND_PROMPT, FindTool};
pub use grep::{GREP_PROMPT, GrepTool};
pub use images::{
    ImageError, ImagePolicy, ImageResizeLimits, PreparedImage, prepare_image,
    prepare_result_images, sniff_image,
};
pub use ls::{LS_PROMPT, LsTool};
pub use mutation_queue::{MutationError, MutationQueue};
pub use operations::{
    DirectoryEntry, ExitCode, FileError, FileFuture, FileKind, FileOperations, FileStatus,
    LocalFiles, MemoryFiles, MemoryProcesses, OpenFile, ProcessError, ProcessOperations,
    ShellCommand,
};
pub use paths::{PathError, PathResolver};
pub use read::{READ_PROMPT, ReadTool};
pub use shell::{LocalShell, SessionVariables, SharedSessionVariables, ShellEnvironment};
pub use truncate::{
    MAX_BYTES, MAX_LINES, TextSize, TruncatedBy, Truncation, TruncationLimits, UNLIMITED_LINES,
    format_size, truncate_head, truncate_head_prefix, truncate_tail, truncate_tail_suffix,
};
pub use user_shell::{ShellResult, UserShell};
pub use write::{WRITE_PROMPT, WriteTool};
