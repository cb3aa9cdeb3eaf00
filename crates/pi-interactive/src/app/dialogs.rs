//! Opens dialogs with their data.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::tz::TimeZone;
use pi_config::{
    ProjectAccess, SavedTrust, SessionChoices, TrustChoice, TrustStore, trust_choices,
};
use pi_markdown::{Markdown, MarkdownTheme};
use pi_protocol::{Model, ThinkingLevel};
use pi_providers::{NetworkAccess, RefreshOptions, resolve_scope};
use pi_runtime::Persist;
use pi_session::EntryId;

use super::App;
use super::login_options::{login_options, stored_logins};
use crate::dialog::{Dialog, DialogUpdate};
use crate::dialogs::{
    EnabledModel, FirstStartDialog, ForkDialog, ForkPoint, LoginDialog, LogoutDialog, ModelDialog,
    ModelDialogOptions, QuestionDialog, ReaderDialog, ResumeDialog, ScopedModelsDialog,
    SettingsDialog, SettingsDialogOptions, SummaryQuestion, ThemeDialogOptions, ThinkingDialog,
    TreeDialog, TreeDialogOptions, TrustDialog,
};
use crate::transcript::NoticeLevel;

/// The theme setting that follows the terminal; used when none is set.
const FOLLOW_TERMINAL: &str = "light/dark";

impl App {
    /// Shows a dialog in place of the prompt.
    pub(crate) fn open(&mut self, dialog: impl Dialog) {
        self.open_boxed(Box::new(dialog));
    }

    pub(super) fn open_boxed(&mut self, dialog: Box<dyn Dialog>) {
        self.screen.open_dialog(dialog);
        self.handle_dialog_intents();
    }

    /// Handles the intents of the open dialog, and closes it when it is done.
    pub(super) fn handle_dialog_intents(&mut self) {
        for intent in self.screen.with_dialog(Dialog::take_intents) {
            self.handle_intent(intent);
        }
        if self.screen.dialog().is_some_and(Dialog::is_done) {
            self.listing = None;
            self.screen.close_dialog();
            self.open_next_dialog();
        }
    }

    /// Returns the model with exactly this reference: `provider/id`, or an ID that only one provider has.
    pub(crate) fn exact_model(&self, reference: &str) -> Option<Arc<Model>> {
        let available = self.session.models().available();
        let mut matching = available.iter().filter(|model| {
            model.id.eq_ignore_ascii_case(reference)
                || format!("{}/{}", model.provider, model.id).eq_ignore_ascii_case(reference)
        });
        let only = matching.next()?;
        matching.next().is_none().then(|| Arc::clone(only))
    }

    pub(crate) fn use_model(&mut self, model: Arc<Model>, persist: Persist) {
        let session = self.session.clone();
        let name = model.name.clone();
        let work = async move { session.set_model(model, persist).await };
        self.spawn(work, move |app, result| match result {
            Ok(()) => {
                app.model_changed();
                app.status(match persist {
                    Persist::Session => format!("Model: {name}"),
                    Persist::Default => format!("Model: {name} (saved as default)"),
                });
            }
            Err(error) => app.error(error.describe()),
        });
    }

    pub(crate) fn use_thinking(&mut self, level: ThinkingLevel, persist: Persist) {
        let session = self.session.clone();
        let work = async move { session.set_thinking_level(level, persist).await };
        self.spawn(work, move |app, result| match result {
            Ok(()) => {
                let level = app.session.thinking_level().as_str();
                app.status(match persist {
                    Persist::Session => format!("Thinking: {level}"),
                    Persist::Default => format!("Thinking: {level} (saved as default)"),
                });
            }
            Err(error) => app.error(error.describe()),
        });
    }

    fn theme_choices(&self) -> ThemeDialogOptions {
        ThemeDialogOptions {
            names: self.themes.names(),
            setting: self.themes.setting().unwrap_or(FOLLOW_TERMINAL).to_owned(),
            scheme: self.themes.scheme(),
        }
    }

    pub(crate) fn open_settings(&mut self) {
        let services = self.runtime.services();
        let settings = services.settings.settings();
        let choices = SettingsDialogOptions {
            hardware_cursor: settings.show_hardware_cursor(&services.env),
            clear_on_shrink: settings.terminal.clear_on_shrink(&services.env),
            settings,
            themes: self.theme_choices(),
            models: self.session.models().available(),
            current_model: self.session.model(),
        };
        self.open(SettingsDialog::open(self.ui.clone(), choices));
    }

    pub(crate) fn open_models(&mut self, search: &str) {
        let settings = self.session.settings().settings();
        let default = settings.default_provider.clone();
        let choices = ModelDialogOptions {
            current: self.session.model(),
            default: default.zip(settings.default_model.clone()),
            available: self.session.models().available(),
            scoped: self.session.scoped_models(),
            search: search.to_owned(),
            refreshing: self.options.refresh_catalogs,
        };
        self.open(ModelDialog::open(self.ui.clone(), choices));
        self.refresh_models();
    }

    /// Fetches model catalogs and updates the open dialog.
    fn refresh_models(&mut self) {
        if !self.options.refresh_catalogs {
            return;
        }
        let models = self.session.models().clone();
        let work = async move {
            let refresh = models.refresh(RefreshOptions {
                network: NetworkAccess::Allowed,
                ..RefreshOptions::default()
            });
            refresh.await;
            models.available()
        };
        self.spawn(work, |app, available| {
            app.update_dialog(DialogUpdate::Models(available));
        });
    }

    pub(crate) fn open_thinking(&mut self) {
        if !self.session.supports_thinking() {
            self.status("This model has no thinking levels");
            return;
        }
        let dialog = ThinkingDialog::open(
            self.ui.clone(),
            self.session.available_thinking_levels(),
            self.session.thinking_level(),
            self.session.settings().settings().default_thinking_level,
        );
        self.open(dialog);
    }

    pub(crate) fn open_scoped_models(&mut self) {
        let available = self.session.models().available();
        let scoped = self.session.scoped_models();
        let patterns = self.session.settings().settings().enabled_models.clone();
        let mut enabled: Vec<EnabledModel> = scoped
            .into_iter()
            .map(|scoped| EnabledModel::available(scoped.model, scoped.thinking))
            .collect();
        // Models that are currently unavailable stay in the list.
        for pattern in patterns.iter().flatten() {
            if resolve_scope([pattern.as_str()], &available)
                .models
                .is_empty()
            {
                enabled.push(EnabledModel::missing(pattern.clone()));
            }
        }
        let enabled = (!enabled.is_empty()).then_some(enabled);
        self.open(ScopedModelsDialog::open(
            self.ui.clone(),
            available,
            enabled,
        ));
    }

    pub(crate) fn open_fork(&mut self) {
        let session = self.session.clone();
        self.spawn_blocking(
            move || session.messages_for_forking(),
            |app, points| match points {
                Ok(points) if points.is_empty() => {
                    app.status("The session has no messages to fork from");
                }
                Ok(points) => {
                    let points = points.into_iter().map(|point| ForkPoint {
                        entry: point.entry_id,
                        text: point.text,
                    });
                    app.open(ForkDialog::open(app.ui.clone(), points.collect()));
                }
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            },
        );
    }

    pub(crate) fn open_tree(&mut self, selected: Option<EntryId>) {
        let tree = self.session.tree();
        if tree.nodes.is_empty() {
            self.status("The session is empty");
            return;
        }
        let services = self.runtime.services();
        let settings = services.settings.settings();
        let session = self.session.clone();
        let choices = TreeDialogOptions {
            tree,
            leaf: session.with_session(|session| session.leaf_id().cloned()),
            selected,
            filter: settings.tree_filter_mode(),
            summary: if settings.branch_summary_skip_prompt() {
                SummaryQuestion::Skip
            } else {
                SummaryQuestion::Ask
            },
            read: Box::new(move |id| {
                session.with_session(|session| session.entry(id.as_str()).ok())
            }),
            now_ms: services.env.now_ms(),
            zone: TimeZone::system(),
        };
        self.open(TreeDialog::open(self.ui.clone(), choices));
    }

    pub(crate) fn open_trust(&mut self) {
        let services = self.runtime.services();
        let choices = trust_choices(&services.cwd, SessionChoices::Omitted);
        let saved = TrustStore::new(&services.agent_dir).nearest(&services.cwd);
        let (saved, decision) = match saved {
            Ok(Some(saved)) => {
                let choice = choices
                    .iter()
                    .position(|choice| matches_saved(choice, &saved));
                let word = match saved.access {
                    ProjectAccess::Trusted => "trusted",
                    ProjectAccess::Denied | ProjectAccess::Undecided => "not trusted",
                };
                (choice, format!("{} is {word}.", saved.dir.display()))
            }
            Ok(None) => (None, "No saved decision for this directory.".to_owned()),
            Err(error) => return self.error(pi_runtime::describe_error(&error)),
        };
        let now = match services.project {
            ProjectAccess::Trusted => "Project files are loaded in this session.",
            ProjectAccess::Denied | ProjectAccess::Undecided => {
                "Project files are ignored in this session."
            }
        };
        let state = vec![decision, now.to_owned()];
        let cwd = services.cwd.clone();
        self.open(TrustDialog::change(
            self.ui.clone(),
            cwd,
            choices,
            state,
            saved,
        ));
    }

    pub(crate) fn open_login(&mut self, provider: &str) {
        let options = login_options(self.session.models());
        let provider = (!provider.is_empty()).then_some(provider);
        self.open(LoginDialog::open(self.ui.clone(), options, provider));
    }

    pub(crate) fn open_logout(&mut self) {
        let models = self.session.models().clone();
        self.spawn(async move { stored_logins(&models).await }, |app, stored| {
            match stored {
                Ok(stored) if stored.is_empty() => {
                    app.status("No stored credentials. Keys set in the environment cannot be removed here.");
                }
                Ok(stored) => app.open(LogoutDialog::open(app.ui.clone(), stored)),
                Err(error) => app.error(pi_runtime::describe_error(&error)),
            }
        });
    }

    pub(crate) fn open_resume(&mut self) {
        let now_ms = self.runtime.services().env.now_ms();
        let current = self.session.session_file();
        self.open(ResumeDialog::open(self.ui.clone(), current, now_ms));
    }

    pub(crate) fn open_changelog(&mut self) {
        let Some(changelog) = self.options.changelog else {
            self.notify(NoticeLevel::Info, format!("pi {}", self.options.version));
            return;
        };
        let ctx = self.ui.context();
        let theme = MarkdownTheme::from_theme(&ctx.theme, ctx.capabilities.hyperlinks);
        let content = Markdown::new(&changelog(), theme).padding(1, 0);
        self.open(ReaderDialog::open(
            self.ui.clone(),
            "Changelog",
            Box::new(content),
        ));
    }

    pub(crate) fn open_hotkeys(&mut self) {
        self.open(ReaderDialog::hotkeys(self.ui.clone()));
    }

    pub(crate) fn ask_import(&mut self, path: &Path) {
        match self.runtime.find_import(path) {
            Ok(path) => self.open(QuestionDialog::import(
                self.ui.clone(),
                path,
                Instant::now(),
            )),
            Err(error) => self.error(pi_runtime::describe_error(&error)),
        }
    }

    pub(crate) fn open_first_start(&mut self) {
        let models = self.session.models();
        let ready = models
            .providers()
            .iter()
            .filter(|provider| models.auth_status(provider.id()).is_some())
            .map(|provider| provider.name().to_owned())
            .collect();
        let scheme = self.themes.scheme();
        self.open(FirstStartDialog::open(self.ui.clone(), scheme, ready));
    }

    /// Passes an answer to the handler of the open question.
    pub(super) fn take_answer(&mut self, answer: crate::intent::QuestionAnswer) {
        if let Some(on_answer) = self.pending_answer.take() {
            on_answer(self, answer);
        }
    }
}

/// Returns whether a choice equals the saved decision.
fn matches_saved(choice: &TrustChoice, saved: &SavedTrust) -> bool {
    let dir = match choice {
        TrustChoice::Trust { dir } | TrustChoice::Deny { dir } => dir,
        TrustChoice::TrustParent { parent, .. } => parent,
        TrustChoice::TrustOnce | TrustChoice::DenyOnce => return false,
    };
    choice.access() == saved.access && *dir == saved.dir
}
