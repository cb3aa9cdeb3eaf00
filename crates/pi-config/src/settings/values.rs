//! The values that settings choose from.

use serde::{Deserialize, Serialize};

/// How many queued messages are delivered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryMode {
    /// All that are waiting.
    All,
    /// The oldest alone.
    #[default]
    OneAtATime,
}

/// When a provider's prompt cache is kept warm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheWarming {
    /// Never.
    Off,
    /// During a run.
    #[default]
    Streaming,
    /// Between runs too.
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
    /// Nothing.
    None,
}

/// What the session tree shows at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeFilterMode {
    /// What a reader looks for.
    #[default]
    Default,
    /// No tool results.
    NoTools,
    /// The user's messages.
    UserOnly,
    /// Entries with a label.
    LabeledOnly,
    /// Everything.
    All,
}

/// What to do with a project nobody decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectTrustDefault {
    /// Ask the user.
    #[default]
    Ask,
    /// Trust it.
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
    /// Instead of it.
    Only,
}

/// Where a shared session goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShareDestination {
    /// Wherever the user is signed in.
    #[default]
    Auto,
    /// A secret gist.
    Gist,
    /// A Radius gateway.
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
    /// The transcript.
    #[default]
    Transcript,
    /// How to resume.
    ResumeHint,
}

/// When the scroll bar of full-screen mode shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullscreenScrollbar {
    /// While scrolling.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Hidden,
}

/// When diagrams are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MermaidMode {
    /// Never.
    Off,
    /// Once the message is complete.
    Final,
    /// While it arrives.
    #[default]
    Streaming,
}

/// The word that leaves a choice to pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AutoDetect {
    /// Find out.
    Auto,
}

/// `true`, `false`, or find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub enum Switch {
    /// The user knows.
    Set(bool),
    /// Find out.
    Detect(AutoDetect),
}

/// How images reach the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false"
)]
pub enum ImageProtocol {
    /// This way.
    Named(ImageProtocolName),
    /// `false`: not at all. `true` leaves it to pi.
    Shown(bool),
}

/// The ways to transfer an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageProtocolName {
    /// kitty's.
    Kitty,
    /// iTerm2's.
    Iterm2,
    /// Find out.
    Auto,
}

/// What of the header is hidden at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub enum QuietStartup {
    /// Everything, or nothing.
    All(bool),
    /// A part.
    Part(QuietStartupWord),
}

/// The part of the header that is hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuietStartupWord {
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
pub enum CommandLine {
    /// The program and its arguments.
    Words(Vec<String>),
    /// A line.
    Line(String),
}
