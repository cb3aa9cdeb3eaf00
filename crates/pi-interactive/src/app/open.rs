//! Which dialog is opened with what.

use std::path::PathBuf;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_runtime::Persist;
use pi_session::EntryId;

use super::App;

impl App {
    /// Takes over what the open dialog wants, and closes it when it is done.
    pub(super) fn settle_dialog(&mut self) {
        for intent in self.screen.with_dialog(|dialog| dialog.take_intents()) {
            self.carry_out(intent);
        }
        if self.screen.dialog().is_some_and(|dialog| dialog.is_done()) {
            self.screen.close_dialog();
        }
    }

    /// Returns the one model a reference means: `provider/id`, or an id that only one provider has.
    pub(crate) fn exact_model(&self, reference: &str) -> Option<Arc<Model>> {
        let available = self.session.models().available();
        let mut matching = available.iter().filter(|model| {
            model.id.eq_ignore_ascii_case(reference)
                || format!("{}/{}", model.provider, model.id).eq_ignore_ascii_case(reference)
        });
        let only = matching.next()?;
        matching.next().is_none().then(|| Arc::clone(only))
    }

    /// Uses a model from now on.
    pub(crate) fn use_model(&mut self, model: Arc<Model>, persist: Persist) {
        let session = self.session.clone();
        let name = model.name.clone();
        let work = async move { session.set_model(model, persist).await };
        self.spawn(work, move |app, result| match result {
            Ok(()) => {
                app.model_changed();
                app.status(match persist {
                    Persist::Session => format!("Model: {name}"),
                    Persist::Default => format!("Model: {name}, also for new sessions"),
                });
            }
            Err(error) => app.error(error.describe()),
        });
    }

    /// Uses a thinking level from now on.
    pub(crate) fn use_thinking(&mut self, level: ThinkingLevel, persist: Persist) {
        let session = self.session.clone();
        let work = async move { session.set_thinking_level(level, persist).await };
        self.spawn(work, move |app, result| match result {
            Ok(()) => {
                let level = app.session.thinking_level().as_str();
                app.status(match persist {
                    Persist::Session => format!("Thinking: {level}"),
                    Persist::Default => format!("Thinking: {level}, also for new sessions"),
                });
            }
            Err(error) => app.error(error.describe()),
        });
    }

    /// Hands an answer to whoever asked.
    pub(super) fn take_answer(&mut self, _answer: crate::intent::Answer) {}

    pub(crate) fn open_settings(&mut self) {}

    pub(crate) fn open_models(&mut self, _search: &str) {}

    pub(crate) fn open_thinking(&mut self) {}

    pub(crate) fn open_scoped_models(&mut self) {}

    pub(crate) fn open_fork(&mut self) {}

    pub(crate) fn open_tree(&mut self, _selected: Option<EntryId>) {}

    pub(crate) fn open_trust(&mut self) {}

    pub(crate) fn open_login(&mut self, _provider: &str) {}

    pub(crate) fn open_logout(&mut self) {}

    pub(crate) fn open_resume(&mut self) {}

    pub(crate) fn open_changelog(&mut self) {}

    pub(crate) fn open_hotkeys(&mut self) {}

    pub(crate) fn ask_import(&mut self, _path: PathBuf) {}
}
