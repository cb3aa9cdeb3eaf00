//! `--help`, generated from the table of flags. Extensions are loaded to report what is wrong with them.

use std::fmt::Write as _;

use pi_config::AgentDir;
use pi_env::{Env, VERSION};
use pi_host::{Host, HostOptions, TrustFlag, Workspace, WorkspaceOptions};
use pi_protocol::DiagnosticLevel;

use crate::args::{Args, Flag, FlagGroup, Takes};
use crate::commands::COMMANDS;
use crate::environment::{VARIABLES, VariableTopic};
use crate::output::{Exit, print, warn};
use crate::startup::{inspect, working_directory};

/// Column where descriptions start.
const DESCRIPTION_COLUMN: usize = 34;

/// What pi is, in two sentences.
pub(crate) const SUMMARY: &str =
    "A coding agent for your terminal. Reads code, edits files and runs commands in your project.";

const INTRODUCTION: &str = "
Usage: pi [OPTIONS] [--] [@FILE…] [MESSAGE…]
       pi COMMAND …

Each MESSAGE is a separate prompt. Files and piped input are added to the first one.

Commands (run `pi COMMAND --help` for details):
";

const REST: &str = "
Extensions can add flags: --NAME, --NAME VALUE or --NAME=VALUE.

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …
                                    API keys; check one with `pi auth check --provider ID`
";

/// Commands to try, one per line.
pub(crate) const EXAMPLES: &str =
    "  pi --demo                         Run the demo; no API key needed
  pi docs quick-start               Show the quick start
  pi -p \"What does this project do?\"
  git diff | pi -p \"Review this change\"
  pi -p @design.md @shot.png \"Is this what we built?\"
  pi -c -p \"And now the tests\"
  pi --mode json \"Fix the build\" | jq -r .type
  pi --model anthropic/sonnet:high --tools read,grep,find,ls -p \"Where are tokens counted?\"
";

/// Prints the help, then the problems that a session would start with.
pub(crate) async fn run(args: &Args, env: Env) -> Exit {
    let exit = print(&text());
    let Ok(cwd) = working_directory() else {
        return exit;
    };
    let agent_dir = AgentDir::from_env(&env);
    // Without any of these there is nothing to load.
    let sources = [
        agent_dir.settings_file(),
        agent_dir.path().join("extensions"),
        cwd.join(".pi"),
    ];
    if args.resources.extensions.is_empty() && !sources.iter().any(|source| source.exists()) {
        return exit;
    }
    let host = Host::new(HostOptions {
        trust: args
            .trust
            .map(|is_approved| TrustFlag::new(is_approved, &cwd)),
        ..HostOptions::new(agent_dir, env.clone())
    });
    let options = WorkspaceOptions {
        resources: args.resources.clone(),
        ..WorkspaceOptions::default()
    };
    let workspace = Workspace::load(&host, &options, &cwd).await;
    let mut diagnostics = workspace.diagnostics.clone();
    if !workspace.resources.extensions.is_empty() {
        // What prevents a session does not prevent the help.
        match inspect(args, &env).await {
            Ok(runtime) => {
                diagnostics = runtime.diagnostics();
                runtime.shutdown().await;
            }
            Err(failure) => failure.warn(),
        }
    }
    for diagnostic in diagnostics {
        if diagnostic.level > DiagnosticLevel::Info {
            warn(&diagnostic.message_with_path());
        }
    }
    exit
}

pub(crate) fn text() -> String {
    let mut text = format!("pi {VERSION}\n{SUMMARY}\n{INTRODUCTION}");
    for command in COMMANDS {
        push_row(&mut text, &format!("  {}", command.usage()), command.about);
    }
    for group in FlagGroup::ALL {
        text.push('\n');
        text.push_str(title(group));
        text.push_str(":\n");
        for flag in Flag::of_group(group) {
            push_flag(&mut text, flag);
        }
    }
    text.push_str(
        "  --                                End of options; only messages and files follow\n",
    );
    text.push_str(REST);
    for topic in VariableTopic::ALL {
        let variables = VARIABLES.iter().filter(|it| it.topic == topic);
        for variable in variables.filter(|variable| variable.in_help) {
            push_row(&mut text, &format!("  {}", variable.name), variable.about);
        }
    }
    text.push_str("\nExamples:\n");
    text.push_str(EXAMPLES);
    text
}

pub(crate) fn title(group: FlagGroup) -> &'static str {
    match group {
        FlagGroup::Model => "Model",
        FlagGroup::Instructions => "System prompt",
        FlagGroup::Output => "Non-interactive",
        FlagGroup::Session => "Session",
        FlagGroup::Selection => "Models, tools and thinking",
        FlagGroup::Resources => "Resources",
        FlagGroup::Other => "Other",
    }
}

fn push_flag(text: &mut String, flag: Flag) {
    push_row(text, &format!("  {}", usage(flag)), flag.about());
}

/// Returns the names and the value of a flag.
pub(crate) fn usage(flag: Flag) -> String {
    let value = match flag.takes() {
        Takes::Nothing => String::new(),
        Takes::Value(name) | Takes::Required(name) | Takes::RequiredWord(name) => {
            format!(" {name}")
        }
        Takes::Optional(name) | Takes::OptionalWord(name, _) | Takes::Message(name) => {
            format!(" [{name}]")
        }
    };
    let short = flag.short().map(|short| format!(", {short}"));
    format!("{}{}{value}", flag.long(), short.unwrap_or_default())
}

fn push_row(text: &mut String, names: &str, about: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{names:DESCRIPTION_COLUMN$}  {about}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_has_a_line() {
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
    fn names_fit_their_column() {
        for line in text().lines().filter(|line| line.starts_with("  --")) {
            let (names, _) = line.trim_start().split_once("  ").unwrap();
            assert!(names.chars().count() + 2 <= DESCRIPTION_COLUMN, "{line}");
        }
    }
}
