//! The flags: names, what they take, and what they are for.
//!
//! One table, read by the scanner and by `--help`. What a flag does is in `args.rs`.

/// A flag of ours.
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
    Thinking,
    Extension,
    NoExtensions,
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

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    /// The next word, whatever it is. Without one the flag is not taken for ours.
    Value(&'static str),
    /// The next word, whatever it is; it is an error if there is none.
    Required(&'static str),
    /// The next word, unless it looks like a flag; it is an error if there is none.
    RequiredWord(&'static str),
    /// The next word, unless it looks like a flag or a file.
    Optional(&'static str),
    /// The next word, unless it looks like a flag or a file; three dashes begin a message.
    Message(&'static str),
}

/// What flags are grouped by in the help.
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

/// A row of the table.
struct Row {
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
) -> Row {
    Row {
        flag,
        group,
        long,
        short,
        takes,
        about,
    }
}

use FlagGroup::{Instructions, Model, Other, Output, Resources, Selection, Session};
use Takes::{Message, Nothing, Optional, Required, RequiredWord, Value};

/// Every flag, in the order of [`Flag`] and of the help.
#[rustfmt::skip]
static ROWS: [Row; 43] = [
    row(Flag::Provider, Model, "--provider", None, Value("ID"), "Look for --model at this provider only"),
    row(Flag::Model, Model, "--model", None, Value("PATTERN"), "The model: provider/id, an id or part of a name; :LEVEL at the end sets thinking"),
    row(Flag::ApiKey, Model, "--api-key", None, Value("KEY"), "A key for this run; it is not stored"),
    row(Flag::SystemPrompt, Instructions, "--system-prompt", None, Value("TEXT|FILE"), "Say this to the model instead of the usual instructions"),
    row(Flag::AppendSystemPrompt, Instructions, "--append-system-prompt", None, Value("TEXT|FILE"), "Say this too; may be repeated"),
    row(Flag::Mode, Output, "--mode", None, RequiredWord("MODE"), "What is written: text (the answer), json (every event), rpc (commands and events)"),
    row(Flag::Print, Output, "--print", Some("-p"), Message("MESSAGE"), "Answer and exit"),
    row(Flag::FullUpdates, Output, "--full-updates", None, Nothing, "In json and rpc, repeat the whole message in each update, for older clients"),
    row(Flag::Demo, Output, "--demo", None, Nothing, "Show pi at work with a scripted model; needs no key and no network"),
    row(Flag::Continue, Session, "--continue", Some("-c"), Nothing, "Go on with the latest session of this folder"),
    row(Flag::Resume, Session, "--resume", Some("-r"), Nothing, "Choose a session to go on with"),
    row(Flag::Session, Session, "--session", None, Value("FILE|ID"), "Go on with this session; the beginning of its id is enough"),
    row(Flag::SessionId, Session, "--session-id", None, Value("ID"), "Go on with the session of exactly this id, or begin it"),
    row(Flag::Fork, Session, "--fork", None, Value("FILE|ID"), "Go on with a copy of this session"),
    row(Flag::SessionDir, Session, "--session-dir", None, Value("DIR"), "Keep and look for sessions here"),
    row(Flag::NoSession, Session, "--no-session", None, Nothing, "Keep the session in memory only"),
    row(Flag::Name, Session, "--name", Some("-n"), Required("NAME"), "Name the session"),
    row(Flag::Models, Selection, "--models", None, Value("PATTERNS"), "The models to cycle through, separated by commas; * and ? match"),
    row(Flag::NoTools, Selection, "--no-tools", Some("-nt"), Nothing, "No tools at all"),
    row(Flag::NoBuiltinTools, Selection, "--no-builtin-tools", Some("-nbt"), Nothing, "No tools but those of extensions"),
    row(Flag::Tools, Selection, "--tools", Some("-t"), Value("NAMES"), "Only these tools, separated by commas"),
    row(Flag::ExcludeTools, Selection, "--exclude-tools", Some("-xt"), Value("NAMES"), "Not these tools"),
    row(Flag::Thinking, Selection, "--thinking", None, Value("LEVEL"), "How much the model thinks: off, minimal, low, medium, high, xhigh, max"),
    row(Flag::Extension, Resources, "--extension", Some("-e"), Value("SOURCE"), "Load an extension; may be repeated"),
    row(Flag::NoExtensions, Resources, "--no-extensions", Some("-ne"), Nothing, "No extensions but those of -e"),
    row(Flag::ExtensionHost, Resources, "--extension-host", None, RequiredWord("HOST"), "What runs extensions for this run: quickjs (pi itself) or node"),
    row(Flag::Skill, Resources, "--skill", None, Value("PATH"), "Load a skill; may be repeated"),
    row(Flag::NoSkills, Resources, "--no-skills", Some("-ns"), Nothing, "No skills but those of --skill"),
    row(Flag::PromptTemplate, Resources, "--prompt-template", None, Value("PATH"), "Load a prompt template; may be repeated"),
    row(Flag::NoPromptTemplates, Resources, "--no-prompt-templates", Some("-np"), Nothing, "No prompt templates but those of --prompt-template"),
    row(Flag::Theme, Resources, "--theme", None, Value("PATH"), "Load a theme; may be repeated"),
    row(Flag::UseTheme, Resources, "--use-theme", None, RequiredWord("NAME"), "The theme for this run; LIGHT/DARK follows the terminal"),
    row(Flag::NoThemes, Resources, "--no-themes", None, Nothing, "No themes but those of --theme"),
    row(Flag::NoContextFiles, Resources, "--no-context-files", Some("-nc"), Nothing, "Do not read AGENTS.md and CLAUDE.md"),
    row(Flag::Export, Other, "--export", None, Value("FILE"), "Write a session file as a web page; a further argument names it"),
    row(Flag::ListModels, Other, "--list-models", None, Optional("SEARCH"), "List the models that can be used"),
    row(Flag::Verbose, Other, "--verbose", None, Nothing, "Show everything at the start"),
    row(Flag::TuiMode, Other, "--tui-mode", None, RequiredWord("MODE"), "How the screen is used: regular or fullscreen"),
    row(Flag::Approve, Other, "--approve", Some("-a"), Nothing, "Trust the project's own files for this run"),
    row(Flag::NoApprove, Other, "--no-approve", Some("-na"), Nothing, "Ignore the project's own files for this run"),
    row(Flag::Offline, Other, "--offline", None, Nothing, "Use no network but the model's"),
    row(Flag::Help, Other, "--help", Some("-h"), Nothing, "Show this"),
    row(Flag::Version, Other, "--version", Some("-v"), Nothing, "Show the version"),
];

impl Flag {
    /// Finds a flag by a word of the command line.
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

    /// Returns what follows the flag.
    pub(crate) fn takes(self) -> Takes {
        self.row().takes
    }

    /// Returns the group it belongs to.
    pub(crate) fn group(self) -> FlagGroup {
        self.row().group
    }

    /// Returns what it is for, in a line.
    pub(crate) fn about(self) -> &'static str {
        self.row().about
    }

    fn row(self) -> &'static Row {
        // The table is in the order of the flags, which a test checks.
        #[expect(clippy::indexing_slicing, reason = "there is one row for each flag")]
        &ROWS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_its_row() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.flag as usize, place, "{}", row.long);
        }
        assert_eq!(Flag::Version as usize + 1, ROWS.len());
    }

    #[test]
    fn names_are_told_apart() {
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
