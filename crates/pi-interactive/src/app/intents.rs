//! Performs what dialogs want.

use pi_runtime::{NavigateOptions, Persist};
use pi_session::ForkPosition;

use super::App;
use crate::intent::{Intent, Summarize};

impl App {
    /// Does what a dialog wants done.
    pub(super) fn carry_out(&mut self, intent: Intent) {
        match intent {
            Intent::SetModel(model) => self.use_model(model, Persist::Session),
            Intent::SaveDefaultModel(model) => self.use_model(model, Persist::Default),
            Intent::SetThinking(level) => self.use_thinking(level, Persist::Session),
            Intent::SaveDefaultThinking(level) => self.use_thinking(level, Persist::Default),
            Intent::CopyText(text) => self.copy(text, "Copied"),
            Intent::OpenUrl(url) => self.open_url(url),
            Intent::Resume(path) => {
                let runtime = self.runtime.clone();
                let work = async move { runtime.switch_session(&path).await };
                self.replace(work, |app, replacement| {
                    if !replacement.cancelled {
                        app.status("The session goes on");
                    }
                });
            }
            Intent::Fork { entry } => {
                let runtime = self.runtime.clone();
                let work = async move { runtime.fork(&entry, ForkPosition::Before).await };
                self.replace(work, |app, replacement| {
                    if let Some(text) = replacement.selected_text {
                        app.set_prompt(&text);
                    }
                    if !replacement.cancelled {
                        app.status("This session begins before the message you chose");
                    }
                });
            }
            Intent::NavigateTree { target, summarize } => {
                let options = NavigateOptions {
                    summarize: summarize != Summarize::No,
                    instructions: match summarize {
                        Summarize::With(instructions) => Some(instructions),
                        Summarize::No | Summarize::Plain => None,
                    },
                    ..NavigateOptions::default()
                };
                self.navigate(target, options);
            }
            _ => {}
        }
    }
}
