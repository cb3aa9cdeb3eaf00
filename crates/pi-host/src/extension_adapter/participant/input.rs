//! The user's input, commands and shell commands.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use pi_core::{HookError, InputSource};
use pi_extensions::events::{InputEvent, UserBash};
use pi_protocol::Delivery;
use pi_tools::ShellResult;
use serde::Deserialize;

use super::ExtensionParticipant;
use crate::participants::{InputHook, InputVerdict, UserBashVerdict, UserCommand, UserInput};

/// The result of a shell command that an extension ran.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShellData {
    output: String,
    exit_code: Option<i32>,
    #[serde(default)]
    cancelled: bool,
    #[serde(default)]
    truncated: bool,
    full_output_path: Option<PathBuf>,
}

impl InputHook for ExtensionParticipant {
    fn has_command(&self, name: &str) -> bool {
        self.extensions.has_command(name)
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.extensions.run_command(name, arguments))
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        Box::pin(async move {
            let event = || InputEvent {
                text: &input.text,
                images: (!input.images.is_empty()).then_some(input.images.as_slice()),
                source: source_name(input.source),
                streaming_behavior: input.delivery.map(|delivery| match delivery {
                    Delivery::Steer => "steer",
                    Delivery::FollowUp => "followUp",
                }),
            };
            let Some(result) = self.extensions.emit(None, event).await else {
                return InputVerdict::Continue;
            };
            match (result.action.as_deref(), result.text) {
                (Some("handled"), _) => InputVerdict::Handled,
                (Some("transform"), Some(text)) => InputVerdict::Replace {
                    text,
                    images: result.images,
                },
                _ => InputVerdict::Continue,
            }
        })
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        Box::pin(async move {
            let event = || UserBash {
                command: &command.command,
                exclude_from_context: command.exclude_from_context,
                cwd: &command.cwd,
            };
            let Some(result) = self.extensions.emit(None, event).await else {
                return Ok(UserBashVerdict::Run);
            };
            if let Some(failure) = result.failure {
                return Err(HookError::new(failure));
            }
            if let Some(number) = result.operations {
                let shell = self.extensions.shell_operations(number);
                let shell = shell.map_err(|error| HookError::new(error.message))?;
                return Ok(UserBashVerdict::RunWith(shell));
            }
            let Some(shell) = result.result else {
                return Err(HookError::new(
                    "an extension returned neither operations nor a result for a command",
                ));
            };
            let shell = pi_protocol::json::from_value::<ShellData>(&shell).map_err(|error| {
                HookError::new(format!("an extension returned an invalid result: {error}"))
            })?;
            Ok(UserBashVerdict::Result(ShellResult {
                output: shell.output,
                exit_code: shell.exit_code,
                cancelled: shell.cancelled,
                truncated: shell.truncated,
                full_output_path: shell.full_output_path,
            }))
        })
    }
}

fn source_name(source: InputSource) -> &'static str {
    match source {
        InputSource::Interactive | InputSource::Cli => "interactive",
        InputSource::Rpc => "rpc",
        InputSource::Extension => "extension",
    }
}
