//! The update command of the user, for pi installed by a wrapper or another package manager.

use std::process::Stdio;

use pi_env::Env;
use pi_protocol::settings::{CommandSetting, Settings};

use crate::output::{Failure, notice, warn};

/// Command that updates pi, split at blanks; takes precedence over the setting.
const SELF_UPDATE_COMMAND: &str = "PI_SELF_UPDATE_COMMAND";

/// The npm package whose releases pi follows.
const PACKAGE_NAME: &str = "@earendil-works/pi-coding-agent";

/// A program and its arguments, with placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UpdateCommand(Vec<String>);

impl UpdateCommand {
    /// Returns the command of the environment or of the user settings.
    pub(super) fn of(settings: &Settings, env: &Env) -> Option<Self> {
        let split = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let words: Vec<String> = match env.var(SELF_UPDATE_COMMAND) {
            Some(line) => split(&line),
            None => match settings.self_update_command.as_ref()? {
                CommandSetting::Args(words) => words.clone(),
                CommandSetting::Shell(line) => split(line),
            },
        };
        (!words.is_empty()).then_some(Self(words))
    }

    /// Whether the command depends on the release.
    pub(super) fn needs_release(&self) -> bool {
        let mut words = self.0.iter();
        words.any(|word| word.contains("{version}") || word.contains("{installSpec}"))
    }

    fn words(&self, version: &str) -> Vec<String> {
        let version = plain(version);
        let specification = format!("{PACKAGE_NAME}@{version}");
        let words = self.0.iter();
        words
            .map(|word| {
                word.replace("{packageName}", PACKAGE_NAME)
                    .replace("{version}", version)
                    .replace("{installSpec}", &specification)
            })
            .collect()
    }

    /// Runs the command in this terminal. Without an announced release it must not need one.
    pub(super) async fn run(&self, announced: Option<&str>) -> Result<String, Failure> {
        let words = self.words(announced.unwrap_or_default());
        let Some((program, arguments)) = words.split_first() else {
            return Err(Failure::new("the update command is empty"));
        };
        notice(&format!("Running {}", words.join(" ")));
        let status = tokio::process::Command::new(program)
            .args(arguments)
            .stdin(Stdio::inherit())
            .status()
            .await
            .map_err(|error| {
                Failure::new(format!("cannot run the update command {program}: {error}"))
                    .hint("check selfUpdateCommand in the user settings, or PI_SELF_UPDATE_COMMAND")
            })?;
        if !status.success() {
            return Err(Failure::new(format!(
                "the update command failed ({status}): {}",
                words.join(" ")
            )));
        }
        if let Some(version) = announced {
            warn_about_version(version).await;
        }
        Ok("The update command has finished. Restart pi to use the new version.\n".to_owned())
    }
}

/// Warns if the `pi` that a shell finds has another version than the one that was to be installed.
async fn warn_about_version(version: &str) {
    let expected = plain(version);
    let printed = tokio::process::Command::new("pi")
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .await;
    let found = match printed {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(error) => {
            tracing::debug!(%error, "cannot run pi --version");
            return;
        }
    };
    if found != expected {
        warn(&format!(
            "pi --version prints {found}, expected {expected}; check which pi is first in PATH"
        ));
    }
}

/// Returns a version without build metadata.
fn plain(version: &str) -> &str {
    version.split_once('+').map_or(version, |(plain, _)| plain)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn command(settings: serde_json::Value, env: &Env) -> Option<UpdateCommand> {
        UpdateCommand::of(&serde_json::from_value(settings).unwrap(), env)
    }

    #[test]
    fn the_environment_takes_precedence() {
        let unset = Env::fixed([("HOME", "/home/u")]);
        let set = Env::fixed([(SELF_UPDATE_COMMAND, "mise use  -g npm:{installSpec}")]);
        let settings = json!({"selfUpdateCommand": ["nix", "profile upgrade", "{version}"]});
        let of_setting = command(settings.clone(), &unset).unwrap();
        assert_eq!(
            of_setting.words("1.5.0+rs.2"),
            ["nix", "profile upgrade", "1.5.0"]
        );
        assert!(of_setting.needs_release());
        assert_eq!(
            command(settings, &set).unwrap().words("1.6.0"),
            [
                "mise",
                "use",
                "-g",
                "npm:@earendil-works/pi-coding-agent@1.6.0"
            ]
        );
        assert_eq!(command(json!({}), &unset), None);
        assert_eq!(command(json!({"selfUpdateCommand": []}), &unset), None);
    }
}
