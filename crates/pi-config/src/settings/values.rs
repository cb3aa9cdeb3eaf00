//! The values that settings choose from.

use serde::{Deserialize, Serialize};

/// How many queued messages are delivered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryMode {
    /// All that are waiting.
    All,
    #[default]
    OneAtATime,
}

/// When a provider's prompt cache is kept warm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWarming {
    Off,
    #[default]
    Streaming,
    Idle,
}

/// What two escapes in an empty editor do.
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

/// What the session tree shows at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeFilterMode {
    /// What a reader looks for.
    #[default]
    Default,
    NoTools,
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    All,
}

/// What to do with a project nobody decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectTrustDefault {
    #[default]
    Ask,
    Always,
    /// Do not trust it.
    Never,
}

/// How tools are called through code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeMode {
    /// Beside the usual way.
    On,
    Only,
}

/// Where a shared session goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareDestination {
    /// Wherever the user is signed in.
    #[default]
    Auto,
    Gist,
    Radius,
}

/// Whether the terminal application takes the whole screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TuiMode {
    /// It writes into the terminal's own scrollback.
    #[default]
    Regular,
    /// It takes the screen.
    Fullscreen,
}

/// What is left on the terminal after full-screen mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullscreenExitOutput {
    #[default]
    Transcript,
    ResumeHint,
}

/// When the scroll bar of full-screen mode shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullscreenScrollbar {
    #[default]
    Auto,
    Always,
    Hidden,
}

/// When diagrams are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MermaidMode {
    Off,
    /// Once the message is complete.
    Final,
    #[default]
    Streaming,
}

/// The word that leaves a choice to pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AutoDetect {
    Auto,
}

/// `true`, `false`, or find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub enum BoolOrAuto {
    Value(bool),
    Detect(AutoDetect),
}

/// How images reach the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false"
)]
pub enum ImageProtocolSetting {
    Protocol(ImageProtocolName),
    /// `false`: not at all. `true` leaves it to pi.
    Enabled(bool),
}

/// The ways to transfer an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageProtocolName {
    Kitty,
    /// iTerm2's.
    Iterm2,
    Auto,
}

/// What of the header is hidden at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub enum QuietStartup {
    All(bool),
    Part(QuietStartupPart),
}

/// The part of the header that is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuietStartupPart {
    /// The header above the list of resources.
    Header,
}

/// How far one step of the wheel scrolls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number from 1 to 100 or \"auto\"")]
pub enum WheelScrollLines {
    /// This many lines, 1 to 100.
    Lines(u64),
    /// As the terminal does.
    Detect(AutoDetect),
}

/// A command: words, or a line the shell reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a command or a list of its words")]
pub enum CommandSetting {
    /// The program and its arguments.
    Args(Vec<String>),
    Shell(String),
}
