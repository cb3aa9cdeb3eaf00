//! Reference documentation for every key of `settings.json`; the tables in `docs/` are generated from it.

/// The documentation of one key of `settings.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingReference {
    /// Dotted path, such as `compaction.enabled`.
    pub key: &'static str,
    pub topic: SettingTopic,
    /// Allowed values.
    pub values: &'static str,
    /// Default value; empty for none.
    pub default: &'static str,
    /// One line.
    pub description: &'static str,
    pub scope: SettingScope,
}

/// A section of the settings reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingTopic {
    Model,
    Interaction,
    Session,
    Display,
    Network,
    Resources,
    /// Changelog, telemetry and warnings.
    Notices,
}

impl SettingTopic {
    /// All topics, in the order of the reference.
    pub const ALL: [Self; 7] = [
        Self::Model,
        Self::Interaction,
        Self::Session,
        Self::Display,
        Self::Network,
        Self::Resources,
        Self::Notices,
    ];

    /// Returns the heading of the section.
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "Model and thinking",
            Self::Interaction => "Interaction and tools",
            Self::Session => "Sessions and compaction",
            Self::Display => "Display",
            Self::Network => "Network and retries",
            Self::Resources => "Resources",
            Self::Notices => "Updates, telemetry and warnings",
        }
    }
}

/// Which files may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingScope {
    /// Both user and trusted project settings; the project's value wins.
    UserAndProject,
    /// User settings only: a project must not control it.
    UserOnly,
    /// Has no effect; preserved for the TypeScript pi, which shares the file.
    Ignored,
}

use SettingScope::{Ignored, UserAndProject, UserOnly};
use SettingTopic::{Display, Interaction, Model, Network, Notices, Resources, Session};

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

/// Every key, grouped by topic, in the order of the reference.
#[rustfmt::skip]
pub const SETTING_REFERENCE: &[SettingReference] = &[
    row(Model, UserAndProject, "defaultProvider", "provider ID", "", "Provider for new sessions"),
    row(Model, UserAndProject, "defaultModel", "model ID", "", "Model for new sessions"),
    row(Model, UserAndProject, "defaultThinkingLevel", "off, minimal, low, medium, high, xhigh, max", "medium", "Thinking level for new sessions"),
    row(Model, UserAndProject, "modelThinkingLevels", "object: `provider/id` → level", "", "Thinking level per model"),
    row(Model, UserAndProject, "thinkingBudgets", "object: level → tokens", "1024, 2048, 8192, 16384", "Token budgets of `minimal`, `low`, `medium` and `high`, for models with a token budget"),
    row(Model, UserAndProject, "enabledModels", "list of patterns", "all", "Models shown in the model picker and used when cycling"),
    row(Model, Ignored, "cacheWarming", "off, streaming, idle", "streaming", "When to keep a provider's prompt cache warm"),
    row(Model, UserAndProject, "codemode.mode", "on, only", "on", "Whether tools are declared in addition to `codemode` or only listed in its description, while `codemode` is active"),
    row(Model, UserAndProject, "codemode.inlineBudget", "tokens", "3000", "Token budget for the declarations in the description of `codemode`"),

    row(Interaction, UserAndProject, "steeringMode", "all, one-at-a-time", "one-at-a-time", "How many queued steering messages are delivered at once"),
    row(Interaction, UserAndProject, "followUpMode", "all, one-at-a-time", "one-at-a-time", "How many queued follow-up messages are delivered at once"),
    row(Interaction, UserAndProject, "externalEditor", "command", "`VISUAL`, `EDITOR`, nano", "External editor for prompts"),
    row(Interaction, UserAndProject, "doubleEscapeAction", "tree, fork, none", "tree", "Action when Escape is pressed twice in an empty editor"),
    row(Interaction, UserAndProject, "treeFilterMode", "default, no-tools, user-only, labeled-only, all", "default", "Initial filter of the session tree"),
    row(Interaction, UserOnly, "defaultProjectTrust", "ask, always, never", "ask", "Trust for projects without a saved decision"),
    row(Interaction, UserAndProject, "defaultTools", "list of names", "read, bash, edit, write", "Tools enabled at startup; also available: grep, find, ls and, on Windows, powershell. `+name` and `-name` entries change the default list, or that of the user settings"),
    row(Interaction, UserOnly, "mcp.pin", "ask, warn, off", "warn; ask for a project's servers", "When a known tool of an MCP server changes: withhold it until you accept the change, show the change, or neither"),
    row(Interaction, UserOnly, "mcp.dotMcpJson", "ask, off", "ask", "Whether the servers in the `.mcp.json` of a trusted project are offered"),
    row(Interaction, UserOnly, "serve.hosts", "list of names", "", "Names of reverse proxies that `pi serve` is reached under"),
    row(Interaction, UserOnly, "serve.idleMinutes", "minutes", "30", "When `pi serve` closes a session that no client uses and that has nothing to do"),
    row(Interaction, UserAndProject, "permissions.deny", "list of rules", "", "Tool calls that are denied, such as `bash(git push --force *)`; a project's rules are added"),
    row(Interaction, UserAndProject, "permissions.ask", "list of rules", "", "Tool calls that you are asked about; a project's rules are added"),
    row(Interaction, UserAndProject, "permissions.try", "list of rules", "", "Commands, such as `bash(npm *)`, that run in an overlay; you keep or discard what they have changed. A project's rules are added"),
    row(Interaction, UserOnly, "permissions.allow", "list of rules", "", "Tool calls that run without asking; other calls of the same tools are asked about"),
    row(Interaction, UserAndProject, "sandbox.mode", "off, workspace, try, read-only", "off", "What tools and commands may write: everything, the workspace with temporary files and caches, the workspace if you keep the changes of a command, or nothing; a project may only restrict"),
    row(Interaction, UserAndProject, "sandbox.network", "on, off", "on", "Whether confined commands reach the network; a project may only turn it off"),
    row(Interaction, UserOnly, "sandbox.writable", "list of paths", "", "Further directories that may be written"),
    row(Interaction, UserAndProject, "sandbox.denyRead", "list of paths and globs", "~/.ssh, **/.env", "What may not be read; a project's entries are added"),
    row(Interaction, UserAndProject, "sandbox.protect", "list of paths", ".git/hooks, .git/config, .pi, .mcp.json", "What may not be written in the workspace, even if it does not exist; a project's entries are added"),
    row(Interaction, UserAndProject, "sandbox.onDenied", "ask, report", "ask", "Whether you are asked to allow what the sandbox denied a command or a file tool, or only the model reads it"),
    row(Interaction, UserOnly, "sandbox.keepTried", "true, false", "false", "Whether the changes of tried commands are kept where no user can be asked, as in print mode"),
    row(Interaction, UserOnly, "sandbox.landlockOnly", "true, false", "false", "Whether `workspace` may be used without user namespaces, where `sandbox.protect` has no effect"),
    row(Interaction, UserOnly, "acp.clientFiles", "read, write, off", "read", "In an editor: read unsaved text from it, also write files through it, or neither"),
    row(Interaction, UserOnly, "acp.commands", "all, safe", "all", "Slash commands that an editor offers; `safe` leaves out those of extensions"),
    row(Interaction, UserOnly, "task.maxCost", "US dollars", "no limit", "What the sub-agents of a prompt may cost together; they are stopped beyond it"),
    row(Interaction, UserOnly, "task.maxTokens", "tokens", "no limit", "How many tokens the sub-agents of a prompt may use together; they are stopped beyond it"),
    row(Interaction, UserAndProject, "shellPath", "path", "bash", "Shell for the bash tool and `!` commands"),
    row(Interaction, UserAndProject, "shellCommandPrefix", "shell code", "", "Prepended to every shell command, for example `shopt -s expand_aliases`"),

    row(Session, UserAndProject, "sessionDir", "path", "", "Directory for session files"),
    row(Session, UserOnly, "search.enabled", "true, false", "true", "Whether sessions can be searched; the index is built by the first search"),
    row(Session, UserOnly, "search.exclude", "list of paths", "", "Working directories whose sessions are not searched"),
    row(Session, UserOnly, "fileHistory", "off, edits, all", "off", "Which changes of files can be undone: none, those of `edit` and `write`, or also those of shell commands"),
    row(Session, UserOnly, "fileHistoryMaxBytes", "bytes", "67108864", "Size of the contents that the file history of a session keeps; the oldest are removed first"),
    row(Session, UserAndProject, "sessionShareDestination", "auto, gist, radius", "auto", "Where `/share` uploads a session: a secret GitHub gist. `radius` is refused, because this program cannot upload there"),
    row(Session, UserAndProject, "compaction.enabled", "true, false", "true", "Auto-compact: summarize long sessions automatically"),
    row(Session, UserAndProject, "compaction.reserveTokens", "tokens", "16384", "Tokens reserved for the response"),
    row(Session, UserAndProject, "compaction.keepRecentTokens", "tokens", "20000", "Recent tokens to keep unsummarized"),
    row(Session, UserAndProject, "compaction.modelOverrides", "object: `provider/id` → `reserveTokens` and `keepRecentTokens`", "", "Compaction limits per model"),
    row(Session, UserAndProject, "branchSummary.reserveTokens", "tokens", "16384", "Tokens reserved for a branch summary"),
    row(Session, UserAndProject, "branchSummary.skipPrompt", "true, false", "false", "Leave a branch without offering to summarize it"),

    row(Display, UserAndProject, "theme", "name, or `light/dark` names", "system", "Theme; two names follow the terminal's background"),
    row(Display, UserAndProject, "quietStartup", "true, false, header", "false", "Hide the startup header and resource list; `header` keeps the header"),
    row(Display, UserAndProject, "tuiMode", "regular, fullscreen", "fullscreen", "Render full screen, or into the terminal's scrollback"),
    row(Display, UserAndProject, "fullscreenExitOutput", "transcript, resume-hint", "transcript", "What to print when leaving full-screen mode"),
    row(Display, UserAndProject, "fullscreenScrollbar", "auto, always, hidden", "auto", "When to show the scrollbar"),
    row(Display, UserAndProject, "fullscreenCopyOnSelect", "true, false", "true", "Copy text as soon as it is selected"),
    row(Display, UserAndProject, "fullscreenWheelScrollLines", "auto, 1 to 100", "auto", "Lines to scroll per mouse wheel step"),
    row(Display, UserAndProject, "hideThinkingBlock", "true, false", "false", "Collapse thinking to a label"),
    row(Display, UserAndProject, "editorPaddingX", "0 to 3", "0", "Horizontal padding of the editor, in cells"),
    row(Display, UserAndProject, "outputPad", "0, 1", "1", "Horizontal padding of the transcript, in cells"),
    row(Display, UserAndProject, "autocompleteMaxVisible", "3 to 20", "5", "Maximum number of visible completions"),
    row(Display, UserAndProject, "showHardwareCursor", "true, false", "`PI_HARDWARE_CURSOR`", "Show the terminal's hardware cursor"),
    row(Display, UserAndProject, "terminal.showImages", "true, false", "true", "Show images"),
    row(Display, UserAndProject, "terminal.imageWidthCells", "1 or more", "60", "Width of images, in cells"),
    row(Display, UserAndProject, "terminal.images", "kitty, iterm2, auto, false", "auto", "Image protocol; `false` disables images"),
    row(Display, UserAndProject, "terminal.hyperlinks", "true, false, auto", "auto", "Clickable links"),
    row(Display, UserAndProject, "terminal.trueColor", "true, false, auto", "auto", "24-bit color"),
    row(Display, UserAndProject, "terminal.clearOnShrink", "true, false", "`PI_CLEAR_ON_SHRINK`", "Clear rows that become empty"),
    row(Display, UserAndProject, "terminal.toolRows", "compact, line, panel", "compact", "Finished tool calls: one row with a few lines of output, one row, or a panel"),
    row(Display, UserAndProject, "terminal.maxTextWidth", "40 or more, 0 for no limit", "120", "Columns of prose on wide terminals"),
    row(Display, UserAndProject, "terminal.notify", "bell, desktop, off", "bell", "How the end of a run of 30 seconds or more is reported; `desktop` sends OSC 9"),
    row(Display, UserAndProject, "terminal.showTerminalProgress", "true, false", "false", "Show progress in the terminal's tab"),
    row(Display, UserAndProject, "markdown.codeBlockIndent", "text", "two spaces", "Indentation of code blocks"),
    row(Display, UserAndProject, "markdown.mermaid", "off, final, streaming", "streaming", "When to render Mermaid diagrams"),
    row(Display, UserAndProject, "images.autoResize", "true, false", "true", "Resize large images before sending them"),
    row(Display, UserAndProject, "images.blockImages", "true, false", "false", "Block images: never send images to a model"),
    row(Display, UserAndProject, "images.model", "`provider/id`", "the first one with credentials", "Model of the tool `image`"),

    row(Network, UserAndProject, "transport", "auto, sse, websocket, websocket-cached", "auto", "Transport for providers that support several"),
    row(Network, UserOnly, "httpProxy", "URL", "", "Proxy for all requests"),
    row(Network, UserAndProject, "httpIdleTimeoutMs", "milliseconds; 0 or `disabled` for no timeout", "300000", "Idle timeout before a request is aborted"),
    row(Network, UserAndProject, "websocketConnectTimeoutMs", "milliseconds; 0 or `disabled` for no timeout", "15000", "Timeout for opening a WebSocket connection"),
    row(Network, UserAndProject, "retry.enabled", "true, false", "true", "Retry failed turns"),
    row(Network, UserAndProject, "retry.maxRetries", "number", "3", "Maximum number of retries"),
    row(Network, UserAndProject, "retry.baseDelayMs", "milliseconds", "2000", "Delay before the first retry; doubles with each attempt"),
    row(Network, UserAndProject, "retry.maxAgentDelayMs", "milliseconds", "60000", "Maximum delay between retries"),
    row(Network, UserAndProject, "retry.provider.timeoutMs", "milliseconds", "", "Timeout of a single request"),
    row(Network, UserAndProject, "retry.provider.maxRetries", "number", "0", "Retries of a single request before the turn fails"),
    row(Network, UserAndProject, "retry.provider.maxRetryDelayMs", "milliseconds; 0 for no limit", "60000", "Maximum server-requested retry delay to honor"),

    row(Resources, UserAndProject, "packages", "list of sources or objects", "", "Resource packages; not merged across files"),
    row(Resources, UserAndProject, "extensions", "list of paths and patterns", "", "Additional extensions; not merged across files"),
    row(Resources, UserOnly, "extensionHost", "quickjs, node, or an object: pattern → engine", "quickjs", "Engine that runs extensions: the built-in one, or Node for native code and WebAssembly"),
    row(Resources, UserOnly, "extensionBudget.startMs", "milliseconds", "", "Budget of each extension: loading it"),
    row(Resources, UserOnly, "extensionBudget.handlerMs", "milliseconds", "", "The time that one event may wait for its handlers"),
    row(Resources, UserOnly, "extensionBudget.renderMs", "milliseconds", "", "Rendering a component or a row once"),
    row(Resources, UserOnly, "extensionBudget.heapMb", "MiB", "", "Its approximate share of the heap"),
    row(Resources, UserOnly, "extensionBudget.promptTokens", "tokens", "", "Tokens that it may add to each prompt"),
    row(Resources, UserOnly, "extensionBudget.onExceeded", "report, pause", "report", "Whether an extension over budget is only reported, or receives no more events until `/reload`"),
    row(Resources, UserAndProject, "skills", "list of paths and patterns", "", "Additional skills; not merged across files"),
    row(Resources, UserAndProject, "prompts", "list of paths and patterns", "", "Additional prompt templates; not merged across files"),
    row(Resources, UserAndProject, "themes", "list of paths and patterns", "", "Additional themes; not merged across files"),
    row(Resources, UserAndProject, "enableSkillCommands", "true, false", "true", "Offer skills as slash commands"),
    row(Resources, UserAndProject, "npmCommand", "list: command and arguments", "", "External package manager for npm packages, instead of the built-in installer"),
    row(Resources, UserOnly, "allowInstallScripts", "list of names", "", "npm packages whose install scripts may run"),

    row(Notices, UserAndProject, "showCacheMissNotices", "true, false", "false", "Cache-miss notices: report costly cache misses"),
    row(Notices, UserAndProject, "warnings.anthropicExtraUsage", "true, false", "true", "Warn when a Claude subscription may incur extra charges"),
    row(Notices, UserAndProject, "collapseChangelog", "true, false", "false", "Collapse the changelog shown after an update"),
    row(Notices, UserAndProject, "enableInstallTelemetry", "true, false", "false", "Send attribution headers to providers that support them"),
    row(Notices, UserOnly, "selfUpdateCommand", "list: command and arguments", "`PI_SELF_UPDATE_COMMAND`", "Command that `pi update` runs to update pi, with `{packageName}`, `{version}` and `{installSpec}`"),
    row(Notices, Ignored, "extensionChangelogVersions", "object: package → version", "", "Versions of packages whose changelogs were shown last; written by pi"),
    row(Notices, Ignored, "lastChangelogVersion", "version", "", "Version whose changelog was shown last; written by pi"),
    row(Notices, UserOnly, "deviceId", "UUID", "", "ID of this installation for the ChatGPT sign-in; written by pi"),
    row(Notices, Ignored, "enableAnalytics", "true, false", "false", "Opt in to analytics"),
    row(Notices, Ignored, "trackingId", "ID", "", "Random ID for analytics"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::*;
    use crate::settings::Settings;

    /// Groups with user-defined keys, which have a single row.
    const OPEN_GROUPS: [&str; 4] = [
        "modelThinkingLevels",
        "extensionChangelogVersions",
        "thinkingBudgets",
        "compaction.modelOverrides",
    ];

    fn collect_keys(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(group) if prefix.is_empty() || !OPEN_GROUPS.contains(&prefix) => {
                for (key, value) in group {
                    let path = if prefix.is_empty() {
                        key.clone()
                    } else {
                        format!("{prefix}.{key}")
                    };
                    collect_keys(&path, value, found);
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
        collect_keys(
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
    fn documented_values_are_accepted() {
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
                    "minutes",
                    "bytes",
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
