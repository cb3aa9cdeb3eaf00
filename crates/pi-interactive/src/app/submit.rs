//! Submitted text: a command, a shell command, a prompt, or a queued message.

use pi_runtime::{Delivery, Prompt, PromptError, PromptOutcome};

use super::App;
use crate::slash;
use crate::transcript::NoticeLevel;

impl App {
    /// Submits text entered with Enter.
    pub(super) fn submit(&mut self, text: &str) {
        self.submit_as(text, Delivery::Steer);
    }

    /// Submits the prompt text with the given delivery, for the follow-up key.
    pub(super) fn submit_prompt(&mut self, delivery: Delivery) {
        let text = if self.screen.has_extension_editor() {
            let text = self.prompt_text();
            self.set_prompt("");
            text
        } else {
            self.screen.with_editor(|area| {
                let text = area.editor().expanded_text();
                area.editor().set_text("");
                text
            })
        };
        self.submit_as(&text, delivery);
    }

    /// Runs a command as if it had been typed.
    pub(super) fn run_command(&mut self, text: &str) {
        if let Some((command, argument)) = slash::find(text) {
            (command.run)(self, argument);
        }
    }

    fn submit_as(&mut self, text: &str, delivery: Delivery) {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return;
        }
        self.leave_scrollback();
        if let Some((command, argument)) = slash::find(&text) {
            (command.run)(self, argument);
            return;
        }
        if let Some(rest) = text.strip_prefix('!') {
            let (command, excluded) = match rest.strip_prefix('!') {
                Some(command) => (command.trim(), true),
                None => (rest.trim(), false),
            };
            if !command.is_empty() {
                self.run_shell(&text, command, excluded);
                return;
            }
        }
        self.add_to_history(&text);
        if self.session.is_compacting() && !self.is_extension_command(&text) {
            self.queue_during_compaction(text, delivery);
        } else {
            self.send_prompt(text, delivery);
        }
    }

    /// Sends a prompt, or queues it during a run.
    pub(super) fn send_prompt(&mut self, text: String, delivery: Delivery) {
        self.send_prompt_with(
            Prompt {
                streaming_behavior: Some(delivery),
                ..Prompt::text(text)
            },
            delivery,
        );
    }

    /// Sends prompts one after another, each after the previous run has finished.
    pub(crate) fn send_prompts(&mut self, prompts: Vec<Prompt>) {
        if prompts.is_empty() {
            return;
        }
        let runtime = self.runtime.clone();
        let sending = async move {
            for prompt in prompts {
                let session = runtime.session();
                let text = prompt.text.clone();
                if let Err(refused) = session.prompt(prompt).await {
                    return Some((text, refused));
                }
                session.wait_for_idle().await;
            }
            None
        };
        self.spawn(sending, |app, refused| {
            if let Some((text, refused)) = refused {
                app.add_to_history(&text);
                app.handle_refusal(&refused, text);
            }
        });
    }

    fn send_prompt_with(&mut self, prompt: Prompt, delivery: Delivery) {
        let session = self.session.clone();
        let text = prompt.text.clone();
        let sending = async move { session.prompt(prompt).await };
        self.spawn(sending, move |app, result| match result {
            Ok(PromptOutcome::Started | PromptOutcome::Queued | PromptOutcome::Handled) => {
                app.refresh_queue();
            }
            // A compaction has started since.
            Err(PromptError::Compacting) => app.queue_during_compaction(text, delivery),
            Err(refused) => app.handle_refusal(&refused, text),
        });
    }

    /// Queues a message until the compaction finishes.
    fn queue_during_compaction(&mut self, text: String, delivery: Delivery) {
        self.queued_during_compaction.push((text, delivery));
        self.refresh_queue();
        self.notify(NoticeLevel::Status, "Queued until compaction finishes");
    }

    /// Sends the queued messages: the first starts a run, and the rest are queued.
    pub(super) fn send_queued_prompts(&mut self) {
        let queued_during_compaction = std::mem::take(&mut self.queued_during_compaction);
        if queued_during_compaction.is_empty() {
            return;
        }
        self.refresh_queue();
        let session = self.session.clone();
        // Sequentially, to preserve their order.
        let sending = async move {
            let mut refused = Vec::new();
            for (text, delivery) in queued_during_compaction {
                let prompt = Prompt {
                    streaming_behavior: Some(delivery),
                    ..Prompt::text(text.clone())
                };
                if let Err(error) = session.prompt(prompt).await {
                    refused.push((text, error));
                }
            }
            refused
        };
        self.spawn(sending, |app, refused| {
            app.refresh_queue();
            for (text, refused) in refused {
                app.handle_refusal(&refused, text);
            }
        });
    }

    /// Reports why a prompt was refused, and keeps its text.
    ///
    /// Without a model, the next input is usually a command that configures one: the prompt stays empty for
    /// it, and the text is restored afterwards.
    fn handle_refusal(&mut self, refused: &PromptError, text: String) {
        let no_model = matches!(
            refused,
            PromptError::NoModel
                | PromptError::UnknownProvider { .. }
                | PromptError::NoCredential { .. }
                | PromptError::Auth(_)
        );
        self.error(refused.to_string());
        if !no_model {
            self.restore_refused_text(&text);
            return;
        }
        let key = self.ui.context().key(pi_tui::action::EDITOR_CURSOR_UP);
        self.notify(
            NoticeLevel::Info,
            format!(
                "Your message is saved and will be restored once a model is configured. Press {key} to restore it now."
            ),
        );
        self.unsent_prompt = Some(text);
    }

    /// Restores the unsent prompt once a model is configured.
    pub(super) fn restore_unsent_prompt(&mut self) {
        let model = self.session.model();
        let models = self.session.models();
        if model.is_some_and(|model| models.is_authenticated(&model.provider))
            && let Some(text) = self.unsent_prompt.take()
        {
            self.restore_refused_text(&text);
        }
    }

    /// Restores refused text, unless something else has been typed.
    fn restore_refused_text(&mut self, text: &str) {
        if self.prompt_text().trim().is_empty() {
            self.set_prompt(text);
        }
    }

    fn is_extension_command(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix('/') else {
            return false;
        };
        let name = rest.split(' ').next().unwrap_or(rest);
        self.session.hooks().has_command(name)
    }
}
