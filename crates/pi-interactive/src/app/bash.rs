//! Shell commands typed by the user: `!` and `!!`.

use pi_runtime::BashRequest;

use super::App;
use crate::transcript::{BashOutcome, NoticeLevel};

impl App {
    /// Runs a shell command; `typed` is the prompt text it came from.
    pub(super) fn run_shell(&mut self, typed: &str, command: &str, excluded: bool) {
        if self.shell_running && !self.session.is_bash_running() {
            // The previous command has ended, but its block has not been updated yet.
            self.next_shell = Some((typed.to_owned(), command.to_owned(), excluded));
            return;
        }
        if self.shell_running {
            let stop = self.ui.context().key(crate::keys::INTERRUPT);
            self.notify(
                NoticeLevel::Warning,
                format!("A command is already running. Press {stop} to stop it."),
            );
            self.set_prompt(typed);
            return;
        }
        self.add_to_history(typed);
        self.set_prompt("");
        self.with_transcript(|transcript, document| {
            transcript.begin_bash(document, command, excluded);
        });
        self.shell_running = true;
        let session = self.session.clone();
        let request = BashRequest {
            id: None,
            command: command.to_owned(),
            exclude_from_context: excluded,
        };
        let running = async move { session.bash(request).await };
        self.spawn(running, |app, result| {
            let end = match result {
                Ok(result) => BashOutcome {
                    exit_code: result.exit_code.map(i64::from),
                    cancelled: result.cancelled,
                    truncated: result.truncated,
                    full_output_path: result
                        .full_output_path
                        .map(|path| path.to_string_lossy().into_owned()),
                    error: None,
                },
                Err(error) => BashOutcome {
                    exit_code: None,
                    cancelled: false,
                    truncated: false,
                    full_output_path: None,
                    error: Some(error.to_string()),
                },
            };
            app.shell_running = false;
            app.with_transcript(|transcript, document| transcript.finish_bash(document, &end));
            app.refresh_footer();
            if let Some((typed, command, excluded)) = app.next_shell.take() {
                app.run_shell(&typed, &command, excluded);
            }
        });
    }
}
