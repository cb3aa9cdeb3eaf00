//! The table of flags: names, values and descriptions. Used by the scanner and by `--help`.

/// A built-in flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    Provider,
    Model,
    ApiKey,
    SystemPrompt,
    AppendSystemPrompt,
    Mode,
    Print,
    FullUpdates,
    Barrier,
    Demo,
    Continue,
    Resume,
    Session,
    SessionId,
    Fork,
    SessionDir,
    NoSession,
    Name,
    Models,
    NoTools,
    NoBuiltinTools,
    Tools,
    ExcludeTools,
    Sandbox,
    NoNetwork,
    Keep,
    Thinking,
    Extension,
    NoExtensions,
    NoMcp,
    McpConfig,
    ExtensionHost,
    Skill,
    NoSkills,
    PromptTemplate,
    NoPromptTemplates,
    Theme,
    UseTheme,
    NoThemes,
    NoContextFiles,
    Export,
    ListModels,
    Verbose,
    TuiMode,
    Approve,
    NoApprove,
    Offline,
    Help,
    Version,
}

/// The value that follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// The next argument, whatever it is. At the end of the line the flag is left to extensions.
    Value(&'static str),
    /// The next argument, whatever it is; missing is an error.
    Required(&'static str),
    /// The next argument, unless it looks like a flag; missing is an error.
    RequiredWord(&'static str),
    /// The next argument, unless it looks like a flag or a file.
    Optional(&'static str),
    /// The next argument if it is one of these words.
    OptionalWord(&'static str, &'static [&'static str]),
    /// The next argument, unless it looks like a flag or a file; three dashes start a message.
    Message(&'static str),
}

/// A section of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagGroup {
    Model,
    Instructions,
    Output,
    Session,
    Selection,
    Resources,
    Other,
}

impl FlagGroup {
    /// All groups, in the order of the help.
    pub(crate) const ALL: [Self; 7] = [
        Self::Model,
        Self::Instructions,
        Self::Output,
        Self::Session,
        Self::Selection,
        Self::Resources,
        Self::Other,
    ];
}

struct FlagRow {
    flag: Flag,
    group: FlagGroup,
    long: &'static str,
    short: Option<&'static str>,
    takes: Takes,
    about: &'static str,
}

const fn row(
    flag: Flag,
    group: FlagGroup,
    long: &'static str,
    short: Option<&'static str>,
    takes: Takes,
    about: &'static str,
) -> FlagRow {
    FlagRow {
        flag,
        group,
        long,
        short,
        takes,
        about,
    }
}

use FlagGroup::{Instructions, Model, Other, Output, Resources, Selection, Session};
use Takes::{Message, Nothing, Optional, OptionalWord, Required, RequiredWord, Value};

/// Every flag, in the order of [`Flag`] and of the help.
#[rustfmt::skip]
static ROWS: &[FlagRow] = &[
    row(Flag::Provider, Model, "--provider", None, Value("ID"), "Limit --model to this provider; requires --model"),
    row(Flag::Model, Model, "--model", None, Value("PATTERN"), "Model as provider/id, ID or part of a name; append :LEVEL to set the thinking level"),
    row(Flag::ApiKey, Model, "--api-key", None, Value("KEY"), "API key for this run; not stored"),
    row(Flag::SystemPrompt, Instructions, "--system-prompt", None, Value("TEXT|FILE"), "Replace the default system prompt"),
    row(Flag::AppendSystemPrompt, Instructions, "--append-system-prompt", None, Value("TEXT|FILE"), "Append to the system prompt; repeatable"),
    row(Flag::Mode, Output, "--mode", None, RequiredWord("MODE"), "Output mode: text (the response), json (every event), rpc (commands and events), acp (for editors)"),
    row(Flag::Print, Output, "--print", Some("-p"), Message("MESSAGE"), "Print the response and exit"),
    row(Flag::FullUpdates, Output, "--full-updates", None, Nothing, "Repeat the full message in each json and rpc update, for older clients"),
    row(Flag::Barrier, Output, "--barrier", None, Nothing, "With --mode rpc, wait for the client before requests and tool calls"),
    row(Flag::Demo, Output, "--demo", None, Nothing, "Run a demo with a scripted model; needs no API key and no network"),
    row(Flag::Continue, Session, "--continue", Some("-c"), Nothing, "Resume the latest session in this directory"),
    row(Flag::Resume, Session, "--resume", Some("-r"), Nothing, "Choose a session to resume"),
    row(Flag::Session, Session, "--session", None, Value("FILE|ID"), "Resume a session by file or ID prefix"),
    row(Flag::SessionId, Session, "--session-id", None, Value("ID"), "Resume the session with exactly this ID, or create it"),
    row(Flag::Fork, Session, "--fork", None, Value("FILE|ID"), "Fork a session by file or ID prefix"),
    row(Flag::SessionDir, Session, "--session-dir", None, Value("DIR"), "Directory for sessions"),
    row(Flag::NoSession, Session, "--no-session", None, Nothing, "Keep the session in memory only"),
    row(Flag::Name, Session, "--name", Some("-n"), Required("NAME"), "Name the session"),
    row(Flag::Models, Selection, "--models", None, Value("PATTERNS"), "Comma-separated models to cycle through; * and ? are wildcards"),
    row(Flag::NoTools, Selection, "--no-tools", Some("-nt"), Nothing, "Disable all tools"),
    row(Flag::NoBuiltinTools, Selection, "--no-builtin-tools", Some("-nbt"), Nothing, "Disable built-in tools; keep extension tools"),
    row(Flag::Tools, Selection, "--tools", Some("-t"), Value("NAMES"), "Tools to enable: names and patterns with *, or +name and -name entries that change the default tools"),
    row(Flag::ExcludeTools, Selection, "--exclude-tools", Some("-xt"), Value("NAMES"), "Tools to disable: names and patterns with *"),
    row(Flag::Sandbox, Selection, "--sandbox", None, OptionalWord("MODE", &["workspace", "try", "read-only"]), "Confine tools and commands: workspace (default), try (keep or discard changes), read-only"),
    row(Flag::NoNetwork, Selection, "--no-network", None, Nothing, "With --sandbox: deny network access to commands"),
    row(Flag::Keep, Selection, "--keep", None, Nothing, "Keep what tried commands change where no user can be asked"),
    row(Flag::Thinking, Selection, "--thinking", None, Value("LEVEL"), "Thinking level: off, minimal, low, medium, high, xhigh, max"),
    row(Flag::Extension, Resources, "--extension", Some("-e"), Value("SOURCE"), "Load an extension; repeatable"),
    row(Flag::NoExtensions, Resources, "--no-extensions", Some("-ne"), Nothing, "Disable extensions except those given with -e"),
    row(Flag::NoMcp, Resources, "--no-mcp", None, Nothing, "Start no MCP servers"),
    row(Flag::McpConfig, Resources, "--mcp-config", None, Required("FILE"), "Add the MCP servers in a file for this run (repeatable)"),
    row(Flag::ExtensionHost, Resources, "--extension-host", None, RequiredWord("HOST"), "Engine for extensions in this run: quickjs (embedded) or node"),
    row(Flag::Skill, Resources, "--skill", None, Value("PATH"), "Load a skill; repeatable"),
    row(Flag::NoSkills, Resources, "--no-skills", Some("-ns"), Nothing, "Disable skills except those given with --skill"),
    row(Flag::PromptTemplate, Resources, "--prompt-template", None, Value("PATH"), "Load a prompt template; repeatable"),
    row(Flag::NoPromptTemplates, Resources, "--no-prompt-templates", Some("-np"), Nothing, "Disable prompt templates except those given with --prompt-template"),
    row(Flag::Theme, Resources, "--theme", None, Value("PATH"), "Load a theme; repeatable"),
    row(Flag::UseTheme, Resources, "--use-theme", None, RequiredWord("NAME"), "Theme for this run; LIGHT/DARK follows the terminal"),
    row(Flag::NoThemes, Resources, "--no-themes", None, Nothing, "Disable themes except those given with --theme"),
    row(Flag::NoContextFiles, Resources, "--no-context-files", Some("-nc"), Nothing, "Do not load AGENTS.md and CLAUDE.md"),
    row(Flag::Export, Other, "--export", None, Value("FILE"), "Export a session file to HTML; a second argument sets the output file"),
    row(Flag::ListModels, Other, "--list-models", None, Optional("SEARCH"), "List available models"),
    row(Flag::Verbose, Other, "--verbose", None, Nothing, "Show all startup information"),
    row(Flag::TuiMode, Other, "--tui-mode", None, RequiredWord("MODE"), "Screen mode: regular or fullscreen"),
    row(Flag::Approve, Other, "--approve", Some("-a"), Nothing, "Trust this project's .pi files for this run"),
    row(Flag::NoApprove, Other, "--no-approve", Some("-na"), Nothing, "Ignore this project's .pi files for this run"),
    row(Flag::Offline, Other, "--offline", None, Nothing, "Disable all network access except model requests"),
    row(Flag::Help, Other, "--help", Some("-h"), Nothing, "Show this help"),
    row(Flag::Version, Other, "--version", Some("-v"), Nothing, "Show the version; with --verbose, our release of it"),
];

impl Flag {
    /// Finds a flag by its long or short name.
    pub(crate) fn find(word: &str) -> Option<Self> {
        let mut rows = ROWS.iter();
        let row = rows.find(|row| row.long == word || row.short == Some(word))?;
        Some(row.flag)
    }

    /// Returns all flags of a group, in the order of the help.
    pub(crate) fn of_group(group: FlagGroup) -> impl Iterator<Item = Self> {
        ROWS.iter()
            .filter(move |row| row.group == group)
            .map(|row| row.flag)
    }

    /// Returns the long name, with its dashes.
    pub(crate) fn long(self) -> &'static str {
        self.row().long
    }

    /// Returns the short name, with its dash.
    pub(crate) fn short(self) -> Option<&'static str> {
        self.row().short
    }

    /// Returns the kind of value that follows the flag.
    pub(crate) fn takes(self) -> Takes {
        self.row().takes
    }

    pub(crate) fn group(self) -> FlagGroup {
        self.row().group
    }

    /// Returns the one-line description.
    pub(crate) fn about(self) -> &'static str {
        self.row().about
    }

    fn row(self) -> &'static FlagRow {
        #[expect(
            clippy::indexing_slicing,
            reason = "a test checks that every flag has a row"
        )]
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_flags() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.flag as usize, index, "{}", row.long);
        }
        assert_eq!(Flag::Version as usize + 1, ROWS.len());
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ROWS
            .iter()
            .flat_map(|row| row.short.into_iter().chain([row.long]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
