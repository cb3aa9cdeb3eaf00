//! What the manual says of every key of `settings.json`: one row each, beside the keys themselves.
//!
//! The tables of `docs/` are made of it. The words are for users; what a key does is decided elsewhere.

/// A key of `settings.json`, as the manual shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingReference {
    /// The key; dots lead into groups.
    pub key: &'static str,
    /// What it is about.
    pub topic: SettingTopic,
    /// What it may say.
    pub values: &'static str,
    /// What counts when nobody sets it; empty for nothing.
    pub default: &'static str,
    /// What it does, in a line.
    pub description: &'static str,
    /// Whose files may set it.
    pub scope: SettingScope,
}

/// What settings are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingTopic {
    /// Which model, and how it thinks.
    Model,
    /// How one works with pi.
    Work,
    /// Sessions, compaction and summaries.
    Session,
    /// What the screen shows.
    Screen,
    Network,
    /// Where resources come from.
    Resources,
    /// News, counting and warnings.
    Notices,
}

impl SettingTopic {
    /// All topics, in the order of the manual.
    pub const ALL: [Self; 7] = [
        Self::Model,
        Self::Work,
        Self::Session,
        Self::Screen,
        Self::Network,
        Self::Resources,
        Self::Notices,
    ];

    /// Returns its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "Model and thinking",
            Self::Work => "Working with pi",
            Self::Session => "Sessions, compaction, summaries",
            Self::Screen => "Screen",
            Self::Network => "Network and retries",
            Self::Resources => "Resources",
            Self::Notices => "News, counting, warnings",
        }
    }
}

/// Whose files may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// The user's and a trusted project's; the project's wins.
    UserAndProject,
    /// The user's alone: a project must not decide it.
    UserOnly,
    /// Read and kept for the TypeScript pi, which shares the file; it changes nothing here.
    Ignored,
}

use SettingScope::{Ignored, UserAndProject, UserOnly};
use SettingTopic::{Model, Network, Notices, Resources, Screen, Session, Work};

const fn row(
    topic: SettingTopic,
    scope: SettingScope,
    key: &'static str,
    values: &'static str,
    default: &'static str,
    description: &'static str,
) -> SettingReference {
    SettingReference {
        key,
        topic,
        values,
        default,
        description,
        scope,
    }
}

/// Every key, topic by topic, in the order of the manual.
#[rustfmt::skip]
pub const SETTING_REFERENCE: &[SettingReference] = &[
    row(Model, UserAndProject, "defaultProvider", "provider id", "", "Provider of new sessions"),
    row(Model, UserAndProject, "defaultModel", "model id", "", "Model of new sessions"),
    row(Model, UserAndProject, "defaultThinkingLevel", "off, minimal, low, medium, high, xhigh, max", "medium", "Thinking level of new sessions"),
    row(Model, UserAndProject, "modelThinkingLevels", "object: `provider/id` to level", "", "Thinking level of single models"),
    row(Model, UserAndProject, "thinkingBudgets", "object: level to tokens", "1024, 2048, 8192, 16384", "Tokens of minimal, low, medium and high, for models that take a number"),
    row(Model, UserAndProject, "enabledModels", "list of patterns", "all", "Models to choose from and to cycle through"),
    row(Model, Ignored, "cacheWarming", "off, streaming, idle", "streaming", "When a provider's prompt cache is kept warm"),
    row(Model, Ignored, "codemode.mode", "on, only", "", "Whether tools are called through code"),
    row(Model, Ignored, "codemode.inlineBudget", "tokens", "3000", "Tool descriptions in the prompt of code mode"),

    row(Work, UserAndProject, "steeringMode", "all, one-at-a-time", "one-at-a-time", "How many waiting steering messages are delivered at once"),
    row(Work, UserAndProject, "followUpMode", "all, one-at-a-time", "one-at-a-time", "How many waiting follow-ups are delivered at once"),
    row(Work, UserAndProject, "externalEditor", "command", "`VISUAL`, `EDITOR`, nano", "Editor for long messages"),
    row(Work, UserAndProject, "doubleEscapeAction", "tree, fork, none", "tree", "What two escapes in an empty editor do"),
    row(Work, UserAndProject, "treeFilterMode", "default, no-tools, user-only, labeled-only, all", "default", "What the session tree shows at first"),
    row(Work, UserOnly, "defaultProjectTrust", "ask, always, never", "ask", "What happens with a project nobody decided about"),
    row(Work, UserAndProject, "defaultTools", "list of names", "read, bash, edit, write", "Built-in tools that are on at the start; others are grep, find, ls and, on Windows, powershell"),
    row(Work, UserAndProject, "shellPath", "path", "bash", "Shell of the bash tool and of `!` commands"),
    row(Work, UserAndProject, "shellCommandPrefix", "shell text", "", "What every shell command begins with, such as `shopt -s expand_aliases`"),

    row(Session, UserAndProject, "sessionDir", "path", "", "Where sessions are kept"),
    row(Session, Ignored, "sessionShareDestination", "auto, gist, radius", "auto", "Where a shared session goes"),
    row(Session, UserAndProject, "compaction.enabled", "true, false", "true", "Whether long sessions are summarized by themselves"),
    row(Session, UserAndProject, "compaction.reserveTokens", "tokens", "16384", "Tokens kept free for the answer"),
    row(Session, UserAndProject, "compaction.keepRecentTokens", "tokens", "20000", "Recent tokens that are not summarized"),
    row(Session, UserAndProject, "compaction.modelOverrides", "object: `provider/id` to the two numbers", "", "Other numbers for single models"),
    row(Session, UserAndProject, "branchSummary.reserveTokens", "tokens", "16384", "Tokens kept free when a branch is summarized"),
    row(Session, UserAndProject, "branchSummary.skipPrompt", "true, false", "false", "Whether leaving a branch asks nothing and summarizes nothing"),

    row(Screen, UserAndProject, "theme", "name, or `light/dark` names", "as the terminal", "Colors; two names follow the terminal's background"),
    row(Screen, UserAndProject, "quietStartup", "true, false, header", "false", "What is left out of the first screen"),
    row(Screen, UserAndProject, "tuiMode", "regular, fullscreen", "regular", "Whether pi takes the whole screen or writes into the scrollback"),
    row(Screen, UserAndProject, "fullscreenExitOutput", "transcript, resume-hint", "transcript", "What stays on the terminal after full-screen mode"),
    row(Screen, UserAndProject, "fullscreenScrollbar", "auto, always, hidden", "auto", "When the scroll bar shows"),
    row(Screen, UserAndProject, "fullscreenCopyOnSelect", "true, false", "true", "Whether a selection is copied at once"),
    row(Screen, UserAndProject, "fullscreenWheelScrollLines", "auto, 1 to 100", "auto", "How far one step of the wheel scrolls"),
    row(Screen, UserAndProject, "hideThinkingBlock", "true, false", "false", "Whether thinking is reduced to a label"),
    row(Screen, UserAndProject, "editorPaddingX", "0 to 3", "0", "Empty cells beside the editor"),
    row(Screen, UserAndProject, "outputPad", "0, 1", "1", "Empty cells beside the transcript"),
    row(Screen, UserAndProject, "autocompleteMaxVisible", "3 to 20", "5", "How many completions show"),
    row(Screen, UserAndProject, "showHardwareCursor", "true, false", "`PI_HARDWARE_CURSOR`", "Whether the terminal's own cursor shows"),
    row(Screen, UserAndProject, "terminal.showImages", "true, false", "true", "Whether images show"),
    row(Screen, UserAndProject, "terminal.imageWidthCells", "1 and more", "60", "How wide images show"),
    row(Screen, UserAndProject, "terminal.images", "kitty, iterm2, auto, false", "auto", "How images reach the terminal"),
    row(Screen, UserAndProject, "terminal.hyperlinks", "true, false, auto", "auto", "Whether links can be clicked"),
    row(Screen, UserAndProject, "terminal.trueColor", "true, false, auto", "auto", "Whether there are 16 million colors"),
    row(Screen, UserAndProject, "terminal.clearOnShrink", "true, false", "`PI_CLEAR_ON_SHRINK`", "Whether rows that became empty are cleared"),
    row(Screen, UserAndProject, "terminal.showTerminalProgress", "true, false", "false", "Whether the terminal's tab shows that pi works"),
    row(Screen, UserAndProject, "markdown.codeBlockIndent", "text", "two spaces", "What lines of code begin with"),
    row(Screen, UserAndProject, "markdown.mermaid", "off, final, streaming", "streaming", "When diagrams are drawn"),
    row(Screen, UserAndProject, "images.autoResize", "true, false", "true", "Whether large images are made smaller for the model"),
    row(Screen, UserAndProject, "images.blockImages", "true, false", "false", "Whether no image is sent to a model"),

    row(Network, UserAndProject, "transport", "auto, sse, websocket, websocket-cached", "auto", "Transport of providers that have several"),
    row(Network, UserOnly, "httpProxy", "URL", "", "Proxy of all requests"),
    row(Network, UserAndProject, "httpIdleTimeoutMs", "milliseconds, 0 or disabled for ever", "300000", "How long a server may be silent"),
    row(Network, UserAndProject, "websocketConnectTimeoutMs", "milliseconds, 0 or disabled for ever", "15000", "How long a WebSocket may take to open"),
    row(Network, UserAndProject, "retry.enabled", "true, false", "true", "Whether a failed turn is tried again"),
    row(Network, UserAndProject, "retry.maxRetries", "number", "3", "How often"),
    row(Network, UserAndProject, "retry.baseDelayMs", "milliseconds", "2000", "First pause; each further one is twice as long"),
    row(Network, UserAndProject, "retry.maxAgentDelayMs", "milliseconds", "60000", "Longest pause"),
    row(Network, UserAndProject, "retry.provider.timeoutMs", "milliseconds", "", "How long one request may take"),
    row(Network, UserAndProject, "retry.provider.maxRetries", "number", "0", "How often one request is repeated before the turn has failed"),
    row(Network, UserAndProject, "retry.provider.maxRetryDelayMs", "milliseconds, 0 for any", "60000", "Longest pause a server may ask for"),

    row(Resources, UserAndProject, "packages", "list of sources or objects", "", "Packages of resources; read per file"),
    row(Resources, UserAndProject, "extensions", "list of paths and patterns", "", "Extensions beside those of the usual folders; read per file"),
    row(Resources, UserOnly, "extensionHost", "quickjs, node, or an object: pattern to one of them", "quickjs", "What runs extensions: pi itself, or Node where one needs native code or WebAssembly"),
    row(Resources, UserAndProject, "skills", "list of paths and patterns", "", "Skills; read per file"),
    row(Resources, UserAndProject, "prompts", "list of paths and patterns", "", "Prompt templates; read per file"),
    row(Resources, UserAndProject, "themes", "list of paths and patterns", "", "Themes; read per file"),
    row(Resources, UserAndProject, "enableSkillCommands", "true, false", "true", "Whether the menu offers skills as commands"),
    row(Resources, UserAndProject, "npmCommand", "list of words", "", "Program that installs npm packages, instead of pi's own installer"),
    row(Resources, UserOnly, "allowInstallScripts", "list of names", "", "npm packages whose install scripts may run"),

    row(Notices, UserAndProject, "showCacheMissNotices", "true, false", "false", "Whether costly cache misses are shown"),
    row(Notices, UserAndProject, "warnings.anthropicExtraUsage", "true, false", "true", "Whether to warn that a subscription may cost extra"),
    row(Notices, UserAndProject, "collapseChangelog", "true, false", "false", "Whether the news after an update are short"),
    row(Notices, UserAndProject, "enableInstallTelemetry", "true, false", "false", "Whether providers learn which program asks"),
    row(Notices, Ignored, "selfUpdateCommand", "command, or list of its words", "", "Command that updates pi"),
    row(Notices, Ignored, "lastChangelogVersion", "version", "", "Version whose news were shown last; pi writes it"),
    row(Notices, Ignored, "enableAnalytics", "true, false", "false", "Whether the user agreed to analytics"),
    row(Notices, Ignored, "trackingId", "id", "", "Random id of a user who agreed to analytics"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::*;
    use crate::Settings;

    /// Groups whose keys are the user's: they have one row.
    const OPEN_GROUPS: [&str; 3] = [
        "modelThinkingLevels",
        "thinkingBudgets",
        "compaction.modelOverrides",
    ];

    fn keys(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(group) if prefix.is_empty() || !OPEN_GROUPS.contains(&prefix) => {
                for (key, value) in group {
                    let path = if prefix.is_empty() {
                        key.clone()
                    } else {
                        format!("{prefix}.{key}")
                    };
                    keys(&path, value, found);
                }
            }
            _ => {
                found.insert(prefix.to_owned());
            }
        }
    }

    #[test]
    fn every_key_has_one_row() {
        let mut found = BTreeSet::new();
        keys(
            "",
            &serde_json::to_value(Settings::default()).unwrap(),
            &mut found,
        );
        let rows: BTreeSet<String> = SETTING_REFERENCE
            .iter()
            .map(|row| row.key.to_owned())
            .collect();
        assert_eq!(rows, found);
        assert_eq!(rows.len(), SETTING_REFERENCE.len());
    }

    #[test]
    fn values_that_are_words_are_accepted() {
        for row in SETTING_REFERENCE {
            let words = row.values.split(", ");
            for word in
                words.filter(|word| word.chars().all(|it| it.is_ascii_lowercase() || it == '-'))
            {
                if [
                    "path",
                    "command",
                    "text",
                    "version",
                    "tokens",
                    "number",
                    "id",
                    "milliseconds",
                ]
                .contains(&word)
                {
                    continue;
                }
                let value = serde_json::from_str(word).unwrap_or_else(|_| Value::from(word));
                let nested = row
                    .key
                    .rsplit('.')
                    .fold(value, |value, key| serde_json::json!({key: value}));
                let read = serde_json::from_value::<Settings>(nested);
                assert!(read.is_ok(), "{}: {word}: {read:?}", row.key);
            }
        }
    }
}
