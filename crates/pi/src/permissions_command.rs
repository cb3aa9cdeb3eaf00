//! `pi permissions`: shows the permission rules, and what they decide about a call.

use std::ffi::OsString;
use std::path::PathBuf;

use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_permissions::{Effect, PermissionRules, ToolUse};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::{PermissionRule, PermissionSettings};

use crate::args::Args;
use crate::output::{Exit, Failure, print};
use crate::project_trust::saved_access;
use crate::startup::{run_settings, working_directory};

const HELP: &str = "\
Usage:
  pi permissions                          List the permission rules
  pi permissions test COMMAND             Show what they decide about a bash command
  pi permissions test --tool NAME PATH    Show what they decide about another tool

Rules are in settings.json, under \"permissions\"; see pi docs security. The exit code of a test is 0 if the call is
allowed or tried, 1 if it is asked about and 3 if it is denied.
";

/// Exit code for a call that is denied.
const DENIED: u8 = 3;

/// Runs the command; `words` follow its name.
pub(crate) fn run(words: &[OsString], env: &Env) -> Exit {
    match answer(words, env) {
        Ok(exit) => exit,
        Err(failure) => {
            failure.report();
            Exit::Code(2)
        }
    }
}

fn answer(words: &[OsString], env: &Env) -> Result<Exit, Failure> {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (tool, argument) = match words.as_slice() {
        [] => return list(env),
        ["--help" | "-h"] => return Ok(print(HELP)),
        ["test", "--tool", tool] => (*tool, ""),
        ["test", "--tool", tool, argument] => (*tool, *argument),
        ["test", command] => ("bash", *command),
        ["test", ..] => return Err(usage("pi permissions test needs one command, in quotes")),
        [word, ..] => return Err(usage(format!("pi permissions has no command {word}"))),
    };
    let rules = Rules::load(env)?;
    let parsed = rules.parse(env)?;
    let name = if tool == "bash" { "command" } else { "path" };
    let mut arguments = JsonObject::new();
    if !argument.is_empty() {
        arguments.insert(name.to_owned(), argument.into());
    }
    let verdict = parsed.decide(ToolUse {
        tool,
        arguments: &arguments,
    });
    let (word, exit) = match verdict.effect {
        Effect::Allow => ("allow", Exit::Success),
        Effect::Try => ("try", Exit::Success),
        Effect::Ask => ("ask", Exit::Failure),
        Effect::Deny => ("deny", Exit::Code(DENIED)),
    };
    match print(&format!("{word}: {}\n", verdict.reason.text())) {
        Exit::Success => Ok(exit),
        failed => Ok(failed),
    }
}

fn list(env: &Env) -> Result<Exit, Failure> {
    let rules = Rules::load(env)?;
    rules.parse(env)?;
    let PermissionSettings {
        deny,
        ask,
        r#try,
        allow,
    } = &rules.settings;
    let mut lines = Vec::new();
    for (effect, rules) in [
        ("deny", deny),
        ("ask", ask),
        ("try", r#try),
        ("allow", allow),
    ] {
        for rule in rules.iter().flatten() {
            let rule = match rule {
                PermissionRule::Rule(rule) => rule,
                PermissionRule::Checked(checked) => &checked.rule,
                PermissionRule::Invalid(_) => continue,
            };
            lines.push(format!("{effect:5} {rule}\n"));
        }
    }
    if lines.is_empty() {
        return Ok(print(
            "No permission rules: every tool call runs. See pi docs security.\n",
        ));
    }
    Ok(print(&lines.concat()))
}

/// The rules that a session in this directory has.
struct Rules {
    settings: PermissionSettings,
    cwd: PathBuf,
}

impl Rules {
    fn load(env: &Env) -> Result<Self, Failure> {
        let cwd = working_directory()?;
        let agent_dir = AgentDir::from_env(env);
        let access = saved_access(None, &agent_dir, &cwd, env);
        let settings = SettingsStore::open(&agent_dir, &cwd, access);
        settings.set_overrides(&run_settings(&Args::default(), env)?);
        if let Some(invalid) = settings.invalid_restriction() {
            return Err(Failure::from_chain(&invalid).hint("correct the file"));
        }
        Ok(Self {
            settings: settings.settings().permissions.clone(),
            cwd,
        })
    }

    fn parse(&self, env: &Env) -> Result<PermissionRules, Failure> {
        let home = env.home_dir();
        PermissionRules::parse(&self.settings, &self.cwd, home.as_deref()).map_err(|error| {
            Failure::from_chain(&error).hint("correct the rule; see pi docs security")
        })
    }
}

fn usage(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("see pi permissions --help")
}
