//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use pi_mom::SandboxChoice;

pub(crate) const HELP: &str = "\
pi-mom: a chat bot with one pi session per channel

Usage: pi-mom [--sandbox SANDBOX] DIR
       pi-mom check [--sandbox SANDBOX] DIR
       pi-mom events DIR

DIR is the workspace: mom.json, and one directory per channel.

Commands:
  check     Verify tokens, scopes and the sandbox
  events    List scheduled events and when they run

Options:
  --sandbox host|confined|docker:NAME   Where tools run (default: host)
  -h, --help                            Show this help
  -V, --version                         Show the version

Environment variables:
  MOM_SLACK_APP_TOKEN, MOM_SLACK_BOT_TOKEN   Tokens of a Slack app
  MOM_MATTERMOST_TOKEN                       Token of a Mattermost bot
";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    Version,
    Run(RunOptions),
    Check(RunOptions),
    Events(RunOptions),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunOptions {
    pub(crate) workspace: PathBuf,
    pub(crate) sandbox: Option<SandboxChoice>,
}

impl Command {
    pub(crate) fn parse(words: Vec<OsString>) -> Result<Self, String> {
        let mut words = words.into_iter().peekable();
        let name = words.peek().and_then(|word| word.to_str());
        let make = match name {
            Some("check") => Self::Check,
            Some("events") => Self::Events,
            _ => Self::Run,
        };
        if matches!(name, Some("check" | "events")) {
            words.next();
        }
        let (mut workspace, mut sandbox) = (None, None);
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let choice = match text.as_str() {
                "-h" | "--help" => return Ok(Self::Help),
                "-V" | "--version" => return Ok(Self::Version),
                "--sandbox" => {
                    let value = words.next().ok_or("--sandbox needs a value")?;
                    value.to_string_lossy().into_owned()
                }
                _ => match text.strip_prefix("--sandbox=") {
                    Some(value) => value.to_owned(),
                    None if text.starts_with('-') => return Err(format!("unknown option {text}")),
                    None if workspace.is_some() => {
                        return Err(format!("unexpected argument {text}"));
                    }
                    None => {
                        workspace = Some(PathBuf::from(word));
                        continue;
                    }
                },
            };
            sandbox = Some(
                choice
                    .parse()
                    .map_err(|error: pi_mom::InvalidSandbox| error.to_string())?,
            );
        }
        let workspace = workspace.ok_or("the workspace is missing")?;
        Ok(make(RunOptions { workspace, sandbox }))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parse(words: &[&str]) -> Result<Command, String> {
        Command::parse(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn commands_and_options_are_parsed() {
        let options = |sandbox| RunOptions {
            workspace: "w".into(),
            sandbox,
        };
        let docker = SandboxChoice::Docker("box".to_owned());
        for (words, command) in [
            (&["w"][..], Command::Run(options(None))),
            (
                &["--sandbox=docker:box", "w"],
                Command::Run(options(Some(docker))),
            ),
            (
                &["check", "--sandbox", "confined", "w"],
                Command::Check(options(Some(SandboxChoice::Confined))),
            ),
            (&["events", "w"], Command::Events(options(None))),
            (&["w", "--help"], Command::Help),
        ] {
            assert_eq!(parse(words), Ok(command), "{words:?}");
        }
        for words in [
            &[][..],
            &["check"],
            &["--sandbox"],
            &["--sandbox", "x", "w"],
            &["w", "v"],
            &["-x", "w"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
