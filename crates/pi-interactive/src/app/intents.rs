//! Carries out the intents of dialogs.

use std::path::PathBuf;

use pi_config::{TrustChoice, TrustStore};
use pi_providers::ScopedModel;
use pi_runtime::{NavigateOptions, Persist};
use pi_session::{EntryId, ForkPosition};
use tokio::sync::oneshot;

use super::App;
use crate::dialog::DialogUpdate;
use crate::dialogs::TrustDialog;
use crate::intent::{Intent, Summarize};

impl App {
    pub(super) fn handle_intent(&mut self, intent: Intent) {
        match intent {
            Intent::SetModel(model) => self.use_model(model, Persist::Session),
            Intent::SaveDefaultModel(model) => self.use_model(model, Persist::Default),
            Intent::SetThinking(level) => self.use_thinking(level, Persist::Session),
            Intent::SaveDefaultThinking(level) => self.use_thinking(level, Persist::Default),
            Intent::SetScope(scope) => self.use_scope(scope),
            Intent::SaveScope(patterns) => {
                self.save_setting(|settings| settings.enabled_models = patterns);
                self.status("Scoped models saved");
            }
            Intent::ChangeSetting(change) => self.change_setting(&change),
            Intent::PreviewTheme(theme) => {
                self.themes.set_preview(Some(theme));
                self.apply_theme();
            }
            Intent::EndThemePreview => {
                self.themes.set_preview(None);
                self.apply_theme();
            }
            Intent::NavigateTree { target, summarize } => self.go_to(target, summarize),
            Intent::SetLabel { entry, label } => self.set_label(&entry, label.as_deref()),
            Intent::Fork { entry } => self.fork(entry),
            Intent::Resume(path) => {
                let runtime = self.runtime.clone();
                let work = async move { runtime.switch_session(&path).await };
                self.replace(work, |app, replacement| {
                    if !replacement.cancelled {
                        app.status("Session resumed");
                    }
                });
            }
            Intent::RenameSession { path, name } => self.rename_session(path, name),
            Intent::DeleteSession(path) => self.delete_session(path),
            Intent::ListSessions(scope) => self.list_sessions(scope),
            Intent::Import(path) => self.import_session(path),
            Intent::Trust(choice) => self.resolve_trust(choice),
            Intent::SignIn { provider, kind } => self.sign_in(provider, kind),
            Intent::AnswerSignIn(answer) => self.answer_sign_in(answer),
            Intent::CancelSignIn => self.cancel_sign_in(),
            Intent::StoreKey { provider, key } => self.store_key(provider, key),
            Intent::SignOut { provider } => self.sign_out(provider),
            Intent::FinishFirstStart => self.finish_first_start(),
            Intent::OpenLogin => self.open_login(""),
            Intent::Answer(answer) => self.take_answer(answer),
            Intent::CopyText(text) => self.copy(text, "Copied"),
            Intent::OpenUrl(url) => self.open_url(url),
            Intent::EditExternally(text) => {
                self.run_editor(text, |app, edited| {
                    app.update_dialog(DialogUpdate::Edited(edited));
                });
            }
        }
    }

    fn use_scope(&mut self, scope: Option<Vec<ScopedModel>>) {
        self.session.set_scoped_models(scope.unwrap_or_default());
    }

    fn go_to(&mut self, target: EntryId, summarize: Summarize) {
        let leaf = self
            .session
            .with_session(|session| session.leaf_id().cloned());
        if leaf.as_ref() == Some(&target) {
            self.status("Already at this entry");
            return;
        }
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

    fn set_label(&mut self, entry: &EntryId, label: Option<&str>) {
        if let Err(error) = self.session.set_label(entry, label) {
            self.error(pi_runtime::describe_error(&error));
        }
    }

    fn fork(&mut self, entry: EntryId) {
        let runtime = self.runtime.clone();
        let work = async move { runtime.fork(&entry, ForkPosition::Before).await };
        self.replace(work, |app, replacement| {
            if let Some(text) = replacement.selected_text {
                app.set_prompt(&text);
            }
            if !replacement.cancelled {
                app.status("Forked before the selected message");
            }
        });
    }

    /// Asks whether to trust the project of a session that is being opened.
    pub(crate) fn prompt_trust(
        &mut self,
        cwd: PathBuf,
        choices: Vec<TrustChoice>,
        answer: oneshot::Sender<Option<TrustChoice>>,
    ) {
        self.pending_trust = Some(answer);
        self.open(TrustDialog::ask(self.ui.clone(), cwd, choices));
    }

    fn resolve_trust(&mut self, choice: TrustChoice) {
        match self.pending_trust.take() {
            // The runtime saves it.
            Some(reply) => {
                if reply.send(Some(choice)).is_err() {
                    tracing::debug!("trust decision is no longer awaited");
                }
            }
            None => self.save_trust(&choice),
        }
    }

    fn save_trust(&mut self, choice: &TrustChoice) {
        let store = TrustStore::new(&self.runtime.services().agent_dir);
        match store.save(&choice.updates()) {
            Ok(()) => self.status("Saved. Run /reload or restart to apply."),
            Err(error) => self.error(pi_runtime::describe_error(&error)),
        }
    }
}
