//! One live session, whatever the front end.

mod attachments;
mod export;
mod model_choice;
mod system_prompt;
mod toolset;

pub use attachments::{AttachmentError, Attachments, read_attachments};
pub use export::{
    ExportColor, ExportError, ExportTheme, HtmlOptions, JsonlOptions, Redaction, export_html,
    export_html_file, export_jsonl, stored_secrets,
};
pub use model_choice::{ModelChoice, ModelChoiceError, ModelFlags, PriorChoice, choose_model};
pub use system_prompt::{DocsPlaces, Instructions, SkillNote, SystemPromptParts};
pub use toolset::{
    DEFAULT_TOOLS, DefaultTools, PROCESS_MARKS, RegisteredTool, ToolOrigin, ToolSelection, Toolset,
    ToolsetOptions,
};
