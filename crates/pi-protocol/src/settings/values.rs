//! The enums used as values of settings.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWarming {
    Off,
    #[default]
    Streaming,
    Idle,
}

/// Action when Escape is pressed twice in an empty editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DoubleEscapeAction {
    /// Open the session tree.
    #[default]
    Tree,
    /// Open the list of messages to fork from.
    Fork,
    None,
}

/// Initial filter of the session tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeFilterMode {
    #[default]
    Default,
    NoTools,
    UserOnly,
    LabeledOnly,
    All,
}

/// Default for projects without a saved trust decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectTrustDefault {
    #[default]
    Ask,
    Always,
    Never,
}

/// Whether the model calls tools from code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeMode {
    /// In addition to regular tool calls.
    On,
    Only,
}

/// Which changes of files are recorded, so that they can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileHistoryMode {
    #[default]
    Off,
    /// Those of `edit` and `write`.
    Edits,
    /// Also those of shell commands below the working directory.
    All,
}

/// What happens when a known tool of an MCP server changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpPinning {
    /// The tool is withheld until the user accepts the change.
    Ask,
    /// The change is shown and applies.
    Warn,
    Off,
}

/// Whether the `.mcp.json` of a trusted project is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DotMcpJson {
    /// Its servers start once the user has accepted them.
    #[default]
    Ask,
    Off,
}

/// How files are accessed in an editor that offers its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientFileAccess {
    /// Unsaved text is read from the editor; files are written to disk.
    #[default]
    Read,
    /// Files are also written by the editor.
    Write,
    Off,
}

/// The slash commands that an editor offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcpCommands {
    #[default]
    All,
    /// Without those of extensions.
    Safe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareDestination {
    /// Depends on where the user is signed in.
    #[default]
    Auto,
    Gist,
    Radius,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuiMode {
    /// Renders into the terminal's scrollback.
    Regular,
    #[default]
    Fullscreen,
}

/// What is printed when leaving full-screen mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullscreenExitOutput {
    #[default]
    Transcript,
    ResumeHint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullscreenScrollbar {
    #[default]
    Auto,
    Always,
    Hidden,
}

/// How finished tool calls look until they are expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolRows {
    /// One row with the result, and the lines of output that matter.
    #[default]
    Compact,
    /// One row; only failures show output.
    Line,
    /// A panel with the first or last lines of output.
    Panel,
}

/// How the end of a long run is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunNotification {
    #[default]
    Bell,
    /// A notification of the desktop (OSC 9), and the bell.
    Desktop,
    Off,
}

/// When Mermaid diagrams are rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MermaidMode {
    Off,
    /// Once the message is complete.
    Final,
    #[default]
    Streaming,
}

/// The keyword `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AutoDetect {
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub enum BoolOrAuto {
    Value(bool),
    Detect(AutoDetect),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false"
)]
pub enum ImageProtocolSetting {
    Protocol(ImageProtocolName),
    /// `false` disables images; `true` is the same as `"auto"`.
    Enabled(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageProtocolName {
    Kitty,
    Iterm2,
    Auto,
}

/// What is hidden on the startup screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub enum QuietStartup {
    All(bool),
    Part(QuietStartupPart),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuietStartupPart {
    /// Only the header is shown.
    Header,
}

/// Lines to scroll per mouse wheel step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number from 1 to 100 or \"auto\"")]
pub enum WheelScrollLines {
    /// 1 to 100.
    Lines(u64),
    Detect(AutoDetect),
}

/// A command, either as arguments or as a shell command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a command or a list of arguments")]
pub enum CommandSetting {
    Args(Vec<String>),
    Shell(String),
}
