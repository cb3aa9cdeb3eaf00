//! One live session, whatever the front end.

mod system_prompt;
mod toolset;

pub use system_prompt::{DocsPlaces, Instructions, SkillNote, SystemPromptParts};
pub use toolset::{
    DEFAULT_TOOLS, DefaultTools, PROCESS_MARKS, RegisteredTool, ToolOrigin, ToolSelection, Toolset,
    ToolsetOptions,
};
