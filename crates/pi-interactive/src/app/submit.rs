//! What becomes of a text that is sent: a command, a shell command, a prompt, or a message that waits.

use pi_runtime::{Delivery, Prompt, PromptError, PromptOutcome};

use super::App;
use crate::slash;
use crate::transcript::NoticeLevel;

impl App {
    /// Takes a text the user sent with Enter.
    pub(super) fn submit(&mut self, text: &str) {
        self.submit_as(text, Delivery::Steer);
    }

    /// Takes the text at the prompt, as the follow-up key sends it.
    pub(super) fn submit_prompt(&mut self, delivery: Delivery) {
        let text = if self.screen.has_foreign_editor() {
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
        self.stop_reading();
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
        self.remember_prompt(&text);
        if self.session.is_compacting() && !self.is_extension_command(&text) {
            self.hold_back(text, delivery);
        } else {
            self.say(text, delivery);
        }
    }

    /// Sends a prompt, or queues it while a run is under way.
    pub(super) fn say(&mut self, text: String, delivery: Delivery) {
        self.say_with(
            Prompt {
                streaming_behavior: Some(delivery),
                ..Prompt::text(text)
            },
            delivery,
        );
    }

    /// Says prompts one after the other, each when the one before is done.
    pub(crate) fn say_in_turn(&mut self, prompts: Vec<Prompt>) {
        if prompts.is_empty() {
            return;
        }
        let runtime = self.runtime.clone();
        let saying = async move {
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
        self.spawn(saying, |app, refused| {
            if let Some((text, refused)) = refused {
                app.remember_prompt(&text);
                app.take_refusal(&refused, text);
            }
        });
    }

    fn say_with(&mut self, prompt: Prompt, delivery: Delivery) {
        let session = self.session.clone();
        let text = prompt.text.clone();
        let sending = async move { session.prompt(prompt).await };
        self.spawn(sending, move |app, result| match result {
            Ok(PromptOutcome::Started | PromptOutcome::Queued | PromptOutcome::Handled) => app.refresh_queue(),
            // A compaction began in the meantime.
            Err(PromptError::Compacting) => app.hold_back(text, delivery),
            Err(refused) => app.take_refusal(&refused, text),
        });
    }

    /// Keeps a message until the compaction is over.
    fn hold_back(&mut self, text: String, delivery: Delivery) {
        self.held_back.push((text, delivery));
        self.refresh_queue();
        self.tell(NoticeLevel::Status, "Waits until the session is compacted");
    }

    /// Sends what was held back: the first starts a run, the rest is queued behind it.
    pub(super) fn release_held_back(&mut self) {
        let held_back = std::mem::take(&mut self.held_back);
        if held_back.is_empty() {
            return;
        }
        self.refresh_queue();
        let session = self.session.clone();
        // One after the other: their order counts.
        let sending = async move {
            let mut refused = Vec::new();
            for (text, delivery) in held_back {
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
                app.take_refusal(&refused, text);
            }
        });
    }

    /// Says why a prompt was refused and keeps its text.
    ///
    /// Where nobody can be asked, the next thing typed is a command that changes that: the prompt
    /// stays free for it, and the text comes back afterwards.
    fn take_refusal(&mut self, refused: &PromptError, text: String) {
        let nobody = matches!(
            refused,
            PromptError::NoModel
                | PromptError::UnknownProvider { .. }
                | PromptError::NoCredential { .. }
                | PromptError::Auth(_)
        );
        self.error(refused.to_string());
        if !nobody {
            self.give_back(&text);
            return;
        }
        let key = self.look.appearance().key(pi_tui::action::EDITOR_CURSOR_UP);
        self.tell(
            NoticeLevel::Info,
            format!("Your message is kept: it comes back with a model, or with {key}"),
        );
        self.unasked = Some(text);
    }

    /// Brings back the prompt that nobody could be asked, once somebody can.
    pub(super) fn restore_unasked(&mut self) {
        let model = self.session.model();
        let models = self.session.models();
        if model.is_some_and(|model| models.is_authenticated(&model.provider))
            && let Some(text) = self.unasked.take()
        {
            self.give_back(&text);
        }
    }

    /// Puts a text that was refused back, unless something else is being typed.
    fn give_back(&mut self, text: &str) {
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
