//! The built-in tools: read, write, edit, bash, grep, find and ls. They access files, processes and
//! searches only through the [`Environment`](pi_core::Environment) of a call, so an application can
//! run them on another machine. [`local_environment`] is the local one.
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_core::{NoSession, Tool, ToolContext};
//! use pi_tools::{ReadTool, SharedImagePolicy, local_environment};
//! use serde_json::json;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let read = ReadTool::new(SharedImagePolicy::default());
//! let arguments = serde_json::from_value(json!({"path": "README.md", "limit": 20}))?;
//! let session = Arc::new(NoSession::at("/project"));
//! let cx = ToolContext::new("call_1", session, Arc::new(local_environment()));
//! let output = read.call(cx, arguments).await?;
//! assert_eq!(output.content.len(), 1);
//! # Ok(())
//! # }
//! ```

mod attachments;
mod bash;
mod builtin;
mod confined;
mod context;
mod edit;
mod fallback_commands;
mod find;
mod grep;
mod images;
mod line_endings;
mod local_environment;
mod local_files;
mod ls;
mod memory;
mod model_images;
mod mutation_queue;
mod open_buffers;
mod output_spool;
mod paths;
mod plain_text;
mod process;
mod process_tree;
mod read;
mod search;
mod search_report;
mod session_variables;
mod shell;
mod shell_run;
#[cfg(test)]
mod testing;
mod truncate;
mod user_shell;
mod utf8_stream;
mod write;

pub use attachments::{AttachmentError, Attachments, read_attachments};
pub use bash::{ShellTool, ShellToolOptions, SpawnHook};
pub use builtin::{BuiltinTools, builtin_tool_names};
pub use confined::confine_files;
pub use context::{SharedImagePolicy, ToolPrompt};
pub use edit::{EDIT_PROMPT, EditTool, TextChange};
pub use fallback_commands::FallbackCommands;
pub use find::{FIND_PROMPT, FindTool};
pub use grep::{GREP_PROMPT, GrepTool};
pub use images::{
    ImageError, ImagePolicy, ImageResizeLimits, PreparedImage, prepare_image,
    prepare_result_images, sniff_image,
};
pub use local_environment::{local_environment, put_on_path};
pub use local_files::LocalFiles;
pub use ls::{LS_PROMPT, LsTool};
pub use memory::{MemoryFiles, MemoryProcesses};
pub use model_images::{block_images, fit_prompt_images, fit_tool_result_images, has_images};
pub use mutation_queue::{MutationError, MutationQueue};
pub use open_buffers::{BufferedFiles, OpenBuffers};
pub use paths::{PathError, PathResolver};
pub use plain_text::is_invisible;
pub use process::{
    BackgroundProcessError, BackgroundProcesses, ProcessExit, ProcessState, ProcessStatus,
    ProcessTool, ProcessToolOptions,
};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use process_tree::{
    ChildPurpose, SupervisedChild, end_commands_with_process, release_children, supervise_commands,
};
pub use process_tree::{ServerProcess, ServerStreams};
pub use read::{READ_PROMPT, ReadTool};
pub use search::{FileSearch, LocalSearch};
pub use session_variables::{SessionVariables, SharedSessionVariables};
pub use shell::LocalShell;
pub use truncate::{
    MAX_BYTES, MAX_LINES, TextSize, TruncatedBy, Truncation, TruncationLimits, UNLIMITED_LINES,
    format_size, truncate_head, truncate_head_prefix, truncate_tail, truncate_tail_suffix,
};
pub use user_shell::{ShellResult, UserShell};
pub use write::{WRITE_PROMPT, WriteTool};

pub use edit::line_diff;
