//! What the user enters: slash commands, prompts and shell commands.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{HookError, InputSource, ProcessOperations};
use pi_protocol::{Delivery, ImageContent};
use pi_tools::ShellResult;

use super::{Participants, ready};

/// Handles or changes what the user enters.
pub trait InputHook: Send + Sync {
    /// Returns whether a slash command with this name exists.
    fn has_command(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Runs a slash command; only called for existing commands. The host reports failures itself.
    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        let _ = (name, arguments);
        ready(())
    }

    /// Called with the user's input, before skills and templates are expanded.
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        let _ = input;
        ready(InputVerdict::Continue)
    }

    /// Called before a user's shell command runs. An error prevents it from running.
    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        let _ = command;
        ready(Ok(UserBashVerdict::Run))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserInput {
    pub text: String,
    pub images: Vec<ImageContent>,
    pub source: InputSource,
    /// How it will be queued; `None` when the session is idle.
    pub delivery: Option<Delivery>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InputVerdict {
    /// Use the input unchanged.
    Continue,
    /// Use other input.
    Replace {
        text: String,
        /// The images; `None` keeps the original ones.
        images: Option<Vec<ImageContent>>,
    },
    /// The hook has handled the input.
    Handled,
}

/// A shell command entered by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommand {
    pub command: String,
    /// Whether to keep the command out of the model's context.
    pub exclude_from_context: bool,
    pub cwd: PathBuf,
}

#[derive(Clone)]
pub enum UserBashVerdict {
    Run,
    /// Run it with these operations.
    RunWith(Arc<dyn ProcessOperations>),
    /// The hook has run the command.
    Result(ShellResult),
}

impl Participants {
    pub(crate) fn has_command(&self, name: &str) -> bool {
        self.input.iter().any(|hook| hook.has_command(name))
    }

    /// Runs a command of the first hook that has it.
    pub(crate) async fn run_command(&self, name: &str, arguments: &str) {
        if let Some(hook) = self.input.iter().find(|hook| hook.has_command(name)) {
            hook.run_command(name, arguments).await;
        }
    }

    /// Every hook sees the input as the hooks before it changed it; the first that handles it ends
    /// the chain.
    pub(crate) async fn input(&self, input: UserInput) -> InputVerdict {
        let mut seen = input;
        let mut verdict = InputVerdict::Continue;
        for hook in &self.input {
            match hook.input(seen.clone()).await {
                InputVerdict::Continue => {}
                InputVerdict::Handled => return InputVerdict::Handled,
                InputVerdict::Replace { text, images } => {
                    let earlier = match verdict {
                        InputVerdict::Replace { images, .. } => images,
                        InputVerdict::Continue | InputVerdict::Handled => None,
                    };
                    let images = images.or(earlier);
                    seen.text.clone_from(&text);
                    if let Some(images) = &images {
                        seen.images.clone_from(images);
                    }
                    verdict = InputVerdict::Replace { text, images };
                }
            }
        }
        verdict
    }

    /// The first hook that does not let the command run as usual decides.
    pub(crate) async fn user_bash(
        &self,
        command: UserCommand,
    ) -> Result<UserBashVerdict, HookError> {
        for hook in &self.input {
            match hook.user_bash(command.clone()).await? {
                UserBashVerdict::Run => {}
                verdict => return Ok(verdict),
            }
        }
        Ok(UserBashVerdict::Run)
    }
}

#[cfg(test)]
mod tests {

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    /// Returns fixed verdicts and records what it sees.
    struct FixedInput {
        verdict: InputVerdict,
        command: Option<&'static str>,
        bash: Option<ShellResult>,
        seen: Mutex<Vec<String>>,
    }

    impl FixedInput {
        fn new(verdict: InputVerdict) -> Self {
            Self {
                verdict,
                command: None,
                bash: None,
                seen: Mutex::default(),
            }
        }

        fn replace(text: &str, images: Option<&str>) -> Self {
            Self::new(replacement(text, images))
        }

        fn note(&self, line: String) {
            self.seen.lock().push(line);
        }
    }

    impl InputHook for FixedInput {
        fn has_command(&self, name: &str) -> bool {
            self.command == Some(name)
        }

        fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
            self.note(format!("{name}({arguments})"));
            ready(())
        }

        fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
            let images = input.images.iter().map(|image| image.data.as_str());
            self.note(format!("{} {}", input.text, images.collect::<String>()));
            ready(self.verdict.clone())
        }

        fn user_bash(
            &self,
            command: UserCommand,
        ) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
            self.note(command.command);
            ready(Ok(match &self.bash {
                Some(result) => UserBashVerdict::Result(result.clone()),
                None => UserBashVerdict::Run,
            }))
        }
    }

    fn image(data: &str) -> ImageContent {
        ImageContent {
            data: data.to_owned(),
            mime_type: "image/png".to_owned(),
            ..ImageContent::default()
        }
    }

    fn replacement(text: &str, images: Option<&str>) -> InputVerdict {
        InputVerdict::Replace {
            text: text.to_owned(),
            images: images.map(|data| vec![image(data)]),
        }
    }

    /// Registers the hooks in order and returns them.
    fn register<const COUNT: usize>(
        hooks: [FixedInput; COUNT],
    ) -> (Participants, [Arc<FixedInput>; COUNT]) {
        let hooks = hooks.map(Arc::new);
        let participants = hooks.iter().fold(Participants::builder(), |builder, hook| {
            builder.input(Arc::clone(hook))
        });
        (participants.build(), hooks)
    }

    fn seen<const COUNT: usize>(hooks: &[Arc<FixedInput>; COUNT]) -> [Vec<String>; COUNT] {
        hooks.each_ref().map(|hook| hook.seen.lock().clone())
    }

    fn typed() -> UserInput {
        UserInput {
            text: "typed".to_owned(),
            images: vec![image("original")],
            source: InputSource::default(),
            delivery: None,
        }
    }

    #[tokio::test]
    async fn changes_of_the_input_accumulate() {
        let (participants, hooks) = register([
            FixedInput::replace("a", Some("changed")),
            FixedInput::new(InputVerdict::Continue),
            FixedInput::replace("b", None),
            FixedInput::new(InputVerdict::Continue),
        ]);
        let verdict = participants.input(typed()).await;
        assert_eq!(verdict, replacement("b", Some("changed")));
        assert_eq!(
            seen(&hooks),
            [
                ["typed original"],
                ["a changed"],
                ["a changed"],
                ["b changed"]
            ]
        );
    }

    #[tokio::test]
    async fn the_first_hook_that_handles_the_input_ends_the_chain() {
        let (participants, hooks) = register([
            FixedInput::replace("a", None),
            FixedInput::new(InputVerdict::Handled),
            FixedInput::replace("b", None),
        ]);
        assert_eq!(participants.input(typed()).await, InputVerdict::Handled);
        assert_eq!(seen(&hooks)[2], Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_command_runs_once_with_the_first_hook_that_has_it() {
        let with_command = |name| FixedInput {
            command: Some(name),
            ..FixedInput::new(InputVerdict::Continue)
        };
        let (participants, hooks) = register([
            with_command("other"),
            with_command("greet"),
            with_command("greet"),
        ]);
        assert!(participants.has_command("greet"));
        assert!(!participants.has_command("missing"));
        participants.run_command("greet", "Ann").await;
        participants.run_command("missing", "").await;
        assert_eq!(
            seen(&hooks),
            [vec![], vec!["greet(Ann)".to_owned()], vec![]]
        );
    }

    #[tokio::test]
    async fn the_first_result_of_a_shell_command_is_used() {
        let result = |output: &str| ShellResult {
            output: output.to_owned(),
            exit_code: Some(0),
            cancelled: false,
            truncated: false,
            full_output_path: None,
        };
        let with_result = |output| FixedInput {
            bash: Some(result(output)),
            ..FixedInput::new(InputVerdict::Continue)
        };
        let (participants, hooks) = register([
            FixedInput::new(InputVerdict::Continue),
            with_result("first"),
            with_result("second"),
        ]);
        let command = UserCommand {
            command: "ls".to_owned(),
            exclude_from_context: false,
            cwd: PathBuf::from("/"),
        };
        let verdict = participants.user_bash(command).await.unwrap();
        let UserBashVerdict::Result(used) = verdict else {
            panic!("expected a result")
        };
        assert_eq!(used, result("first"));
        assert_eq!(seen(&hooks).map(|seen| seen.len()), [1, 1, 0]);
    }
}
