//! `--help`: what can be asked for, from the table of flags.
//!
//! Text alone: no file is read and nothing is started for it.

use std::fmt::Write as _;

use crate::args::{Flag, FlagGroup, Takes};
use crate::environment::{VARIABLES, VariableTopic};
use crate::version::VERSION;

/// Where the explanations begin.
const COLUMN: usize = 34;

const INTRODUCTION: &str = "\
A coding agent for the terminal: a model reads, edits and runs things in your project.

Usage: pi [OPTIONS] [--] [@FILE…] [MESSAGE…]
       pi COMMAND …

Each message is a prompt of its own; files and piped input go with the first one.

Commands (each has its own --help):
  docs [TOPIC]                      Read the manual
  auth                              Check credentials, or print one for another program
  install, remove, update, list     Manage packages of extensions, skills, prompts and themes
  config                            Turn resources of packages on and off
  replay                            Run a recorded conversation again, offline
  fsck                              Check session files, and repair them
";

const REST: &str = "
Extensions may bring further flags: --NAME, --NAME VALUE or --NAME=VALUE.

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …
                                    Keys of providers; `pi auth check --provider ID` tells what is found
";

const EXAMPLES: &str = "
Examples:
  pi --demo                         See it work, without a key
  pi docs quick-start               Begin here
  pi -p \"What does this project do?\"
  git diff | pi -p \"Review this change\"
  pi -p @design.md @shot.png \"Is this what we built?\"
  pi -c -p \"And now the tests\"
  pi --mode json \"Fix the build\" | jq -r .type
  pi --model anthropic/sonnet:high --tools read,grep,find,ls -p \"Where are tokens counted?\"
";

/// Returns the help.
pub(crate) fn text() -> String {
    let mut text = format!("pi {VERSION}\n{INTRODUCTION}");
    for group in FlagGroup::ALL {
        text.push('\n');
        text.push_str(title(group));
        text.push_str(":\n");
        for flag in Flag::of_group(group) {
            push_flag(&mut text, flag);
        }
    }
    text.push_str("  --                                What follows is messages and files only\n");
    text.push_str(REST);
    for topic in VariableTopic::ALL {
        let variables = VARIABLES.iter().filter(|it| it.topic == topic);
        for variable in variables.filter(|variable| variable.in_help) {
            push_row(&mut text, &format!("  {}", variable.name), variable.about);
        }
    }
    text.push_str(EXAMPLES);
    text
}

/// Returns the heading of a group.
pub(crate) fn title(group: FlagGroup) -> &'static str {
    match group {
        FlagGroup::Model => "Model",
        FlagGroup::Instructions => "Instructions",
        FlagGroup::Output => "Without the terminal application",
        FlagGroup::Session => "Session",
        FlagGroup::Selection => "Choice of models, tools and thinking",
        FlagGroup::Resources => "Resources",
        FlagGroup::Other => "Other",
    }
}

fn push_flag(text: &mut String, flag: Flag) {
    let value = match flag.takes() {
        Takes::Nothing => String::new(),
        Takes::Value(name) | Takes::Required(name) | Takes::RequiredWord(name) => {
            format!(" {name}")
        }
        Takes::Optional(name) | Takes::Message(name) => format!(" [{name}]"),
    };
    let short = flag.short().map(|short| format!(", {short}"));
    let names = format!("  {}{}{value}", flag.long(), short.unwrap_or_default());
    push_row(text, &names, flag.about());
}

fn push_row(text: &mut String, names: &str, about: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{names:COLUMN$}  {about}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_explained_on_a_line_of_its_own() {
        let text = text();
        for group in FlagGroup::ALL {
            for flag in Flag::of_group(group) {
                let names = format!("  {}", flag.long());
                let line = text.lines().find(|line| {
                    let rest = line.strip_prefix(&names);
                    rest.is_some_and(|rest| rest.starts_with([' ', ',']))
                });
                assert!(
                    line.is_some_and(|line| line.ends_with(flag.about())),
                    "{}",
                    flag.long()
                );
            }
        }
    }

    #[test]
    fn names_do_not_run_into_their_explanations() {
        for line in text().lines().filter(|line| line.starts_with("  --")) {
            let (names, _) = line.trim_start().split_once("  ").unwrap();
            assert!(names.chars().count() + 2 <= COLUMN, "{line}");
        }
    }
}
