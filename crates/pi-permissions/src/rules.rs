//! All rules of a session, and what they decide about a call.

use std::path::{Path, PathBuf};

use pi_protocol::json::JsonObject;
use pi_protocol::settings::{PermissionRule, PermissionSettings};

use crate::command_pattern::Match;
use crate::launchers;
use crate::path_pattern::{Directories, real_path};
use crate::rule::{self, InvalidRule, Rule, RuleError};
use crate::shell_directories::ShellDirectories;
use crate::shell_split::{Script, SimpleCommand, Word, split};
use crate::variables::{Concern, changes_programs};

/// What happens to a call, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    Allow,
    /// Run it, and ask whether to keep its changes.
    Try,
    Ask,
    Deny,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// No rule applies.
    NoRule,
    /// The rule, as written.
    Rule(String),
    /// There are `allow` rules for the tool, but none for this call.
    NotAllowed,
    /// The command contains something that is known only when it runs.
    NotUnderstood(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub effect: Effect,
    pub reason: Reason,
}

/// A call to decide about.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'call> {
    pub tool: &'call str,
    pub arguments: &'call JsonObject,
}

/// The rules of a session.
#[derive(Debug, Clone)]
pub struct PermissionRules {
    deny: Vec<Rule>,
    ask: Vec<Rule>,
    tried: Vec<Rule>,
    allow: Vec<Rule>,
    working_directory: PathBuf,
    home: Option<PathBuf>,
}

impl PermissionRules {
    /// Parses the rules of the settings.
    pub fn parse(
        settings: &PermissionSettings,
        working_directory: &Path,
        home: Option<&Path>,
    ) -> Result<Self, InvalidRule> {
        let directories = Directories {
            working: working_directory,
            home,
        };
        let parse = |rules: &Option<Vec<PermissionRule>>| -> Result<Vec<Rule>, InvalidRule> {
            let rules = rules.iter().flatten().map(|rule| {
                Rule::parse(rule, directories).map_err(|error| InvalidRule {
                    rule: text_of(rule),
                    error,
                })
            });
            rules.collect()
        };
        let tried = parse(&settings.r#try)?;
        if let Some(rule) = tried.iter().find(|rule| !rule.is_for_shells()) {
            return Err(InvalidRule {
                rule: rule.text.clone(),
                error: RuleError::OnlyCommands,
            });
        }
        Ok(Self {
            tried,
            deny: parse(&settings.deny)?,
            ask: parse(&settings.ask)?,
            allow: parse(&settings.allow)?,
            working_directory: working_directory.to_owned(),
            home: home.map(Path::to_owned),
        })
    }

    pub fn is_empty(&self) -> bool {
        let lists = [&self.deny, &self.ask, &self.tried, &self.allow];
        lists.into_iter().all(Vec::is_empty)
    }

    /// Whether some commands are tried.
    pub fn has_tried_commands(&self) -> bool {
        !self.tried.is_empty()
    }

    /// Decides about a call.
    pub fn decide(&self, call: ToolUse<'_>) -> Verdict {
        let text = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
        if rule::is_shell(call.tool) {
            return self.decide_shell(call.tool, text("command").unwrap_or_default());
        }
        if rule::takes_path(call.tool) {
            return self.decide_path(call.tool, Path::new(text("path").unwrap_or(".")));
        }
        let matching = |rules: &[Rule]| {
            let mut rules = rules.iter().filter(|rule| rule.is_for(call.tool));
            rules.next().map(|rule| rule.text.clone())
        };
        let by_name = self.strongest(call.tool, matching);
        match text("command").filter(|_| rule::starts_shell_commands(call.tool)) {
            Some(command) => {
                let mut by_command = self.decide_shell(rule::BASH, command);
                if by_command.effect == Effect::Try {
                    // A process that goes on has no changes to keep yet.
                    by_command.effect = Effect::Ask;
                }
                std::cmp::max_by_key(by_name, by_command, |verdict| verdict.effect)
            }
            None => by_name,
        }
    }

    /// Applies the first effect, in the order of their strength, with a matching rule.
    fn strongest(&self, tool: &str, matching: impl Fn(&[Rule]) -> Option<String>) -> Verdict {
        let lists = [
            (Effect::Deny, &self.deny),
            (Effect::Ask, &self.ask),
            (Effect::Try, &self.tried),
            (Effect::Allow, &self.allow),
        ];
        for (effect, rules) in lists {
            if let Some(rule) = matching(rules) {
                return Verdict::rule(effect, rule);
            }
        }
        self.without_rule(tool)
    }

    /// A call that no rule matches: allow rules say that other calls of the tool are asked about.
    fn without_rule(&self, tool: &str) -> Verdict {
        if self.allow.iter().any(|rule| rule.is_for(tool)) {
            return Verdict::new(Effect::Ask, Reason::NotAllowed);
        }
        Verdict::new(Effect::Allow, Reason::NoRule)
    }

    /// A path counts as written and with its links followed: either may deny, both must be allowed.
    fn decide_path(&self, tool: &str, path: &Path) -> Verdict {
        let directories = Directories {
            working: &self.working_directory,
            home: self.home.as_deref(),
        };
        let path = directories.resolve(path);
        let decide = |path: &Path| {
            self.strongest(tool, |rules| {
                let mut rules = rules.iter().filter(|rule| rule.is_for(tool));
                let rule = rules.find(|rule| rule.matches_path(path));
                rule.map(|rule| rule.text.clone())
            })
        };
        let real = real_path(&path);
        decide(&path).or_stronger(decide(&real))
    }

    fn decide_shell(&self, tool: &str, command: &str) -> Verdict {
        let rules = |rules: &[Rule]| {
            let mut rules = rules.iter().filter(|rule| rule.is_for(tool));
            rules.next().is_some()
        };
        let lists = [&self.deny, &self.ask, &self.tried, &self.allow];
        let has_rules = lists.into_iter().any(|list| rules(list));
        let has_file_rules = [&self.deny, &self.ask]
            .into_iter()
            .flatten()
            .any(|rule| rule.is_for("write") && !rule.matches_all_calls());
        if !has_rules && !has_file_rules {
            return Verdict::new(Effect::Allow, Reason::NoRule);
        }
        let all_calls = |rules: &[Rule]| {
            let mut rules = rules.iter().filter(|rule| rule.is_for(tool));
            let rule = rules.find(|rule| rule.matches_all_calls());
            rule.map(|rule| rule.text.clone())
        };
        if let Some(rule) = all_calls(&self.deny) {
            return Verdict::rule(Effect::Deny, rule);
        }
        let script = split_all(command);
        let nothing = Verdict::new(Effect::Allow, Reason::NoRule);
        let mut verdict = match script.unclear {
            Some(unclear) => Verdict::not_understood(unclear.0),
            None if tool != rule::BASH && has_script_block(command) => {
                Verdict::not_understood("a script block")
            }
            None => nothing,
        };
        let mut directories = ShellDirectories::new(&self.working_directory);
        for command in &script.commands {
            let files = self.decide_written_files(&command.written_files, &directories);
            verdict = verdict
                .or_stronger(files)
                .or_stronger(self.decide_words(tool, command));
            directories.change(command, self.home.as_deref());
        }
        verdict
    }

    /// Files that the shell writes are judged by the rules for `write`, in each directory that it may be in.
    fn decide_written_files(&self, files: &[Word], directories: &ShellDirectories) -> Verdict {
        let mut verdict = Verdict::new(Effect::Allow, Reason::NoRule);
        for file in files.iter().filter(|file| !is_null_device(file)) {
            if file.is_expanded {
                verdict = verdict.or_stronger(Verdict::not_understood(
                    "a file name that the shell expands",
                ));
                continue;
            }
            let file = Path::new(&file.text);
            if directories.is_unknown && file.is_relative() && !file.starts_with("~") {
                verdict = verdict
                    .or_stronger(Verdict::not_understood("a change to an unknown directory"));
            }
            for path in directories.resolve(file) {
                verdict = verdict.or_stronger(self.decide_path("write", &path));
            }
        }
        verdict
    }

    fn decide_words<'rules>(&'rules self, tool: &str, command: &SimpleCommand) -> Verdict {
        let mut is_unclear = None;
        let reachable = launchers::reachable(&command.words);
        for (effect, rules) in [(Effect::Deny, &self.deny), (Effect::Ask, &self.ask)] {
            for rule in rules.iter().filter(|rule| rule.is_for(tool)) {
                match rule.matches_any(&reachable) {
                    Match::Yes => return Verdict::rule(effect, rule.text.clone()),
                    Match::Possible => is_unclear = Some("a value that the shell expands"),
                    Match::No => {}
                }
            }
        }
        if let Some(part) = is_unclear {
            return Verdict::not_understood(part);
        }
        let rules = |rules: &'rules [Rule]| rules.iter().filter(|rule| rule.is_for(tool));
        let has_allow_rules = rules(&self.allow).next().is_some();
        let writes = command
            .written_files
            .iter()
            .any(|file| !is_null_device(file));
        let is_plain = command.variables.is_empty() && !writes;
        let is_tried = |rule: &&Rule| rule.matches_any(&reachable) != Match::No;
        let tried = rules(&self.tried).find(is_tried);
        if is_plain {
            let is_exact = |rule: &&Rule| rule.is_exactly(&command.words);
            if let Some(rule) = tried.filter(is_exact) {
                return Verdict::rule(Effect::Try, rule.text.clone());
            }
            if tried.is_none()
                && let Some(rule) = rules(&self.allow).find(is_exact)
            {
                return Verdict::rule(Effect::Allow, rule.text.clone());
            }
        }
        let concern = if has_allow_rules {
            Concern::Choices
        } else {
            Concern::Commands
        };
        if changes_programs(command, concern) {
            return Verdict::not_understood("a variable that changes what programs run");
        }
        let words = match innermost(&command.words) {
            Ok(words) => words,
            Err(unclear) => return Verdict::not_understood(unclear),
        };
        if let Some(rule) = tried {
            return Verdict::rule(Effect::Try, rule.text.clone());
        }
        if is_plain && let Some(rule) = rules(&self.allow).find(|rule| rule.surely_matches(&words))
        {
            return Verdict::rule(Effect::Allow, rule.text.clone());
        }
        self.without_rule(tool)
    }
}

/// Splits a command, together with the scripts that shells read from here-documents.
fn split_all(command: &str) -> Script {
    let mut script = split(command);
    let documents = std::mem::take(&mut script.documents);
    let runs_scripts = |command: &SimpleCommand| launchers::runs_scripts(&command.words);
    if !documents.is_empty() && script.commands.iter().any(runs_scripts) {
        let inner = documents
            .iter()
            .flat_map(|document| split(document).commands);
        script.commands.extend(inner);
    }
    script
}

/// Whether a command of PowerShell contains commands in braces, or calls a value.
fn has_script_block(command: &str) -> bool {
    command.contains(['{', '&', '@'])
}

/// Returns the command that runs in the end, if it is clear.
fn innermost(words: &[Word]) -> Result<Vec<Word>, &'static str> {
    let mut words = words.to_vec();
    loop {
        if words.first().is_some_and(|program| program.is_expanded) {
            return Err("a program name that the shell expands");
        }
        if launchers::has_launching_argument(&words) {
            return Err("an argument that runs a command or writes files");
        }
        match launchers::launched(&words) {
            Ok(Some(inner)) => words = inner,
            Ok(None) => return Ok(words),
            Err(unclear) => return Err(unclear.0),
        }
    }
}

fn is_null_device(file: &Word) -> bool {
    file.text == "/dev/null"
}

fn text_of(rule: &PermissionRule) -> String {
    match rule {
        PermissionRule::Rule(text) => text.clone(),
        PermissionRule::Checked(checked) => checked.rule.clone(),
        PermissionRule::Invalid(value) => value.to_string(),
    }
}

impl Verdict {
    fn new(effect: Effect, reason: Reason) -> Self {
        Self { effect, reason }
    }

    fn rule(effect: Effect, rule: String) -> Self {
        Self::new(effect, Reason::Rule(rule))
    }

    fn not_understood(part: &'static str) -> Self {
        Self::new(Effect::Ask, Reason::NotUnderstood(part))
    }

    /// Of two verdicts about parts of a call, the stronger one applies to the call; of equal ones, that which explains more.
    fn or_stronger(self, other: Self) -> Self {
        if other.rank() > self.rank() {
            other
        } else {
            self
        }
    }

    fn rank(&self) -> (Effect, u8) {
        let explained = match self.reason {
            Reason::NoRule => 0,
            Reason::NotAllowed => 1,
            Reason::NotUnderstood(_) => 2,
            Reason::Rule(_) => 3,
        };
        (self.effect, explained)
    }
}

impl Reason {
    /// Explains the reason to a user or a model.
    pub fn text(&self) -> String {
        match self {
            Self::NoRule => "no rule applies".to_owned(),
            Self::Rule(rule) => format!("the rule {rule}"),
            Self::NotAllowed => "no allow rule matches".to_owned(),
            Self::NotUnderstood(part) => format!("the command contains {part}"),
        }
    }
}

#[cfg(test)]
mod tests;
