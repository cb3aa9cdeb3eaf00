//! One rule: a tool, and a pattern for its command or path.

use std::path::Path;

use globset::{Glob, GlobMatcher};
use pi_protocol::settings::{CheckedRule, PermissionRule};

use crate::command_pattern::{CommandPattern, Match};
use crate::launchers;
use crate::path_pattern::{Directories, PathPattern};
use crate::shell_split::{Word, split};

pub(crate) const BASH: &str = "bash";

/// Tools that run a shell command.
const SHELL_TOOLS: [&str; 2] = [BASH, "powershell"];

/// Rules for the tool on the left also apply to those on the right.
const RELATED_TOOLS: [(&str, &[&str]); 2] =
    [("write", &["edit"]), ("read", &["ls", "grep", "find"])];

/// A rule of the settings that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rule {rule} in the setting `permissions` is not valid: {error}")]
pub struct InvalidRule {
    /// As written.
    pub rule: String,
    pub error: RuleError,
}

/// Why a rule is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("a rule is text such as \"bash(git push *)\", or an object with \"rule\"")]
    NotText,
    #[error("the name of a tool is missing")]
    NoTool,
    #[error("the closing parenthesis is missing")]
    Unclosed,
    #[error("only bash, read, write, edit, ls, grep and find take a pattern in parentheses")]
    NoPattern,
    #[error("its command contains {0}")]
    Command(&'static str),
    #[error("its pattern must be one command without variables and redirections")]
    OneCommand,
    #[error("only commands of bash can be tried")]
    OnlyCommands,
    #[error("{0}")]
    Glob(String),
    #[error("it does not match its example {0:?}")]
    Misses(String),
    #[error("it matches {0:?}, which it should ignore")]
    Catches(String),
}

/// A parsed rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// As written.
    pub(crate) text: String,
    tool: GlobMatcher,
    tool_name: String,
    pattern: Pattern,
}

#[derive(Debug, Clone)]
enum Pattern {
    Any,
    Command(CommandPattern),
    Path(PathPattern),
}

impl Rule {
    /// Parses a rule and checks its examples.
    pub(crate) fn parse(
        rule: &PermissionRule,
        directories: Directories<'_>,
    ) -> Result<Self, RuleError> {
        let checked = match rule {
            PermissionRule::Rule(text) => return Self::parse_text(text, directories),
            PermissionRule::Checked(checked) => checked,
            PermissionRule::Invalid(_) => return Err(RuleError::NotText),
        };
        let rule = Self::parse_text(&checked.rule, directories)?;
        rule.check_examples(checked, directories)?;
        Ok(rule)
    }

    fn parse_text(text: &str, directories: Directories<'_>) -> Result<Self, RuleError> {
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or(RuleError::Unclosed)?;
                (tool.trim_end(), Some(pattern))
            }
        };
        if tool.is_empty() {
            return Err(RuleError::NoTool);
        }
        let pattern = match pattern {
            None => Pattern::Any,
            Some(pattern) if SHELL_TOOLS.contains(&tool) => {
                Pattern::Command(CommandPattern::parse(pattern)?)
            }
            Some(pattern) if takes_path(tool) => {
                Pattern::Path(PathPattern::parse(pattern, directories)?)
            }
            Some(_) => return Err(RuleError::NoPattern),
        };
        let glob = Glob::new(tool).map_err(|error| RuleError::Glob(error.to_string()))?;
        Ok(Self {
            text: text.to_owned(),
            tool: glob.compile_matcher(),
            tool_name: tool.to_owned(),
            pattern,
        })
    }

    fn check_examples(
        &self,
        checked: &CheckedRule,
        directories: Directories<'_>,
    ) -> Result<(), RuleError> {
        let is_match = |example: &String| match &self.pattern {
            Pattern::Any => self.tool.is_match(example),
            Pattern::Path(pattern) => pattern.matches(&directories.resolve(Path::new(example))),
            Pattern::Command(_) => split(example).commands.iter().any(|command| {
                self.matches_any(&launchers::reachable(&command.words)) == Match::Yes
            }),
        };
        if let Some(missed) = checked.matches.iter().find(|example| !is_match(example)) {
            return Err(RuleError::Misses(missed.clone()));
        }
        match checked.ignores.iter().find(|example| is_match(example)) {
            Some(caught) => Err(RuleError::Catches(caught.clone())),
            None => Ok(()),
        }
    }

    /// Whether the rule is for shell commands only.
    pub(crate) fn is_for_shells(&self) -> bool {
        SHELL_TOOLS.contains(&self.tool_name.as_str())
    }

    pub(crate) fn is_for(&self, tool: &str) -> bool {
        self.tool.is_match(tool)
            || RELATED_TOOLS
                .iter()
                .any(|(name, related)| *name == self.tool_name && related.contains(&tool))
    }

    /// Whether the rule is for all calls of its tool.
    pub(crate) fn matches_all_calls(&self) -> bool {
        matches!(self.pattern, Pattern::Any)
    }

    pub(crate) fn matches_path(&self, path: &Path) -> bool {
        match &self.pattern {
            Pattern::Any => true,
            Pattern::Path(pattern) => pattern.matches(path),
            Pattern::Command(_) => false,
        }
    }

    /// Whether the rule matches one of the commands that a command runs.
    pub(crate) fn matches_any(&self, reachable: &[Vec<Word>]) -> Match {
        let pattern = match &self.pattern {
            Pattern::Command(pattern) => pattern,
            Pattern::Any => return Match::Yes,
            Pattern::Path(_) => return Match::No,
        };
        let matches = reachable
            .iter()
            .map(|words| pattern.matches_any_directory(words));
        matches.max().unwrap_or(Match::No)
    }

    /// Whether the rule names exactly these words, without wildcards.
    pub(crate) fn is_exactly(&self, words: &[Word]) -> bool {
        match &self.pattern {
            Pattern::Command(pattern) => pattern.is_exact() && pattern.matches(words) == Match::Yes,
            Pattern::Any | Pattern::Path(_) => false,
        }
    }

    /// Whether the rule surely matches these words as they are.
    pub(crate) fn surely_matches(&self, words: &[Word]) -> bool {
        match &self.pattern {
            Pattern::Any => true,
            Pattern::Command(pattern) => pattern.matches(words) == Match::Yes,
            Pattern::Path(_) => false,
        }
    }
}

/// Whether a tool runs a shell command.
pub(crate) fn is_shell(tool: &str) -> bool {
    SHELL_TOOLS.contains(&tool)
}

/// Whether a tool starts commands of bash among other things; the rules for bash apply to them as well.
pub(crate) fn starts_shell_commands(tool: &str) -> bool {
    tool == "process"
}

/// Whether a tool has a path.
pub(crate) fn takes_path(tool: &str) -> bool {
    RELATED_TOOLS
        .iter()
        .any(|(name, related)| *name == tool || related.contains(&tool))
}
