//! What becomes of a text that is sent: a command, a shell command, a prompt, or a message that waits.

use pi_runtime::{Delivery, Prompt, PromptRefused, Run};

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
        let text = self.screen.with_editor(|area| {
            let text = area.editor().expanded_text();
            area.editor().set_text("");
            text
        });
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
                session.prompt(prompt).await?;
                session.wait_for_idle().await;
            }
            Ok::<(), PromptRefused>(())
        };
        self.spawn(saying, |app, result| {
            if let Err(refused) = result {
                app.error(refused.to_string());
            }
        });
    }

    fn say_with(&mut self, prompt: Prompt, delivery: Delivery) {
        let session = self.session.clone();
        let text = prompt.text.clone();
        let sending = async move { session.prompt(prompt).await };
        self.spawn(sending, move |app, result| match result {
            Ok(Run::Started | Run::Queued | Run::Handled) => app.refresh_queue(),
            // A compaction began in the meantime.
            Err(PromptRefused::Compacting) => app.hold_back(text, delivery),
            Err(refused) => {
                app.error(refused.to_string());
                app.give_back(&text);
            }
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
            for (text, error) in refused {
                app.error(error.to_string());
                app.give_back(&text);
            }
        });
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
