//! Builds dialogs from the session's data.

use std::path::Path;
use std::time::Instant;

use jiff::tz::TimeZone;
use pi_host::{SignIn, matches_a_model};
use pi_markdown::{Markdown, MarkdownTheme};
use pi_protocol::settings::SettingChange;
use pi_protocol::{EntryId, ProjectAccess};
use pi_views::dialogs::intent::Intent;
use pi_views::dialogs::{
    DialogContents, EnabledModel, ModelDialogOptions, NoteColumn, SearchEntry, SearchListOptions,
    SettingsDialogOptions, SummaryQuestion, TreeDialogOptions,
};
use pi_views::theme::ui_theme::UiTheme;

use crate::InteractiveOptions;
use crate::controllers::appearance::AppearanceController;
use crate::controllers::dialogs::DialogRequest;
use crate::controllers::review::changed_files;
use crate::extensions::question;
use crate::session::port::SessionPort;
use crate::slash::COMMANDS;
use crate::terminal::environment::{clears_on_shrink, shows_hardware_cursor};
use crate::transcript::{Notice, NoticeLevel};

/// What a dialog shows, or the notice to show instead.
type BuiltDialog = Result<DialogContents, Notice>;

/// Adds the data of the session and of the application to a request.
pub(super) struct DialogFactory<'a> {
    pub(super) session: &'a dyn SessionPort,
    pub(super) appearance: &'a AppearanceController,
    pub(super) options: &'a InteractiveOptions,
    pub(super) ui: &'a UiTheme,
}

impl DialogFactory<'_> {
    pub(super) fn build(&self, request: DialogRequest) -> BuiltDialog {
        let asked_at = Instant::now();
        Ok(match request {
            DialogRequest::Settings => self.settings_dialog(),
            DialogRequest::Models { search } => self.model_dialog(search),
            DialogRequest::Thinking => {
                let snapshot = self.session.snapshot();
                DialogContents::Thinking {
                    levels: snapshot.thinking_levels,
                    current: snapshot.thinking,
                    default: snapshot.settings.default_thinking_level,
                }
            }
            DialogRequest::ScopedModels => self.scoped_models_dialog(),
            DialogRequest::Fork(points) => DialogContents::Fork(points),
            DialogRequest::Tree { selected } => {
                let summary = if self
                    .session
                    .snapshot()
                    .settings
                    .branch_summary_skip_prompt()
                {
                    SummaryQuestion::Skip
                } else {
                    SummaryQuestion::Ask
                };
                return self.tree_dialog(selected, summary);
            }
            DialogRequest::BranchSummary { target } => {
                return self.tree_dialog(Some(target), SummaryQuestion::Now);
            }
            DialogRequest::Trust => return self.trust_dialog(),
            DialogRequest::AskTrust {
                cwd,
                choices,
                changes,
            } => DialogContents::AskTrust {
                cwd,
                choices,
                changes,
            },
            DialogRequest::Login { provider } => {
                let workspace = self.session.workspace();
                let sign_in = SignIn::new(&workspace.models, &workspace.env, &workspace.settings);
                DialogContents::Login {
                    options: sign_in.options(),
                    provider: Some(provider).filter(|provider| !provider.is_empty()),
                }
            }
            DialogRequest::Logout(stored) => DialogContents::Logout(stored),
            DialogRequest::Resume { search } => DialogContents::Resume {
                current: self.session.snapshot().file,
                now_ms: self.session.workspace().env.now_ms(),
                search,
            },
            DialogRequest::Changelog => return self.changelog_dialog(),
            DialogRequest::Hotkeys => DialogContents::Hotkeys,
            DialogRequest::SearchList(options) => DialogContents::SearchList(options),
            DialogRequest::Palette => self.palette(),
            DialogRequest::Review => {
                DialogContents::Review(changed_files(self.session.history().as_ref()))
            }
            DialogRequest::Import(path) => {
                let path = self.session.find_import(Path::new(&path));
                DialogContents::Import {
                    path: path.map_err(|text| notice(NoticeLevel::Error, text))?,
                    now: asked_at,
                }
            }
            DialogRequest::FirstStart => self.first_start_dialog(),
            DialogRequest::Choose { question, choices } => DialogContents::Choose {
                question,
                choices,
                asked_at,
            },
            DialogRequest::Line { question, example } => DialogContents::Line {
                question,
                example: Some(example.to_owned()),
                asked_at,
            },
            DialogRequest::Progress { title, subject } => {
                DialogContents::Progress { title, subject }
            }
            DialogRequest::Extension { dialog, asked_at } => question::contents(dialog, asked_at),
        })
    }

    /// Lists commands, models, thinking levels and themes.
    fn palette(&self) -> DialogContents {
        let workspace = self.session.workspace();
        let entry = |label: String, note: String, intent: Intent| SearchEntry {
            label,
            note,
            intent,
        };
        let command = |name: &str, note: &str, takes_argument: bool| {
            let text = format!("/{name}");
            let intent = if takes_argument {
                Intent::SetPromptText(format!("{text} "))
            } else {
                Intent::Submit(text.clone())
            };
            entry(text, note.to_owned(), intent)
        };
        let own = COMMANDS.iter().filter(|own| !own.description.is_empty());
        let mut entries: Vec<SearchEntry> = own
            .map(|own| {
                // An optional argument can be left out: the command then opens its dialog.
                let needs_argument = own.argument.is_some_and(|hint| hint.starts_with('<'));
                command(own.name, own.description, needs_argument)
            })
            .collect();
        let others = self.session.commands().into_iter();
        let others = others.filter(|it| !COMMANDS.iter().any(|own| own.name == it.name));
        entries.extend(others.map(|it| {
            command(
                &it.name,
                it.description.as_deref().unwrap_or_default(),
                true,
            )
        }));
        entries.extend(workspace.models.available().into_iter().map(|model| {
            let label = format!("Model: {}", model.id);
            entry(label, model.provider.clone(), Intent::SetModel(model))
        }));
        let levels = self.session.snapshot().thinking_levels;
        entries.extend(levels.into_iter().map(|level| {
            let label = format!("Thinking level: {}", level.as_str());
            entry(label, String::new(), Intent::SetThinking(level))
        }));
        let themes = self.appearance.theme_choices().names;
        entries.extend(themes.into_iter().map(|theme| {
            let intent = Intent::ChangeSetting(SettingChange::Theme(theme.clone()));
            entry(format!("Theme: {theme}"), String::new(), intent)
        }));
        DialogContents::SearchList(SearchListOptions {
            title: "Commands",
            verb: "run",
            empty: "",
            notes: NoteColumn::AfterLabels,
            entries,
        })
    }

    fn settings_dialog(&self) -> DialogContents {
        let workspace = self.session.workspace();
        let settings = workspace.settings.settings();
        let options = SettingsDialogOptions {
            hardware_cursor: shows_hardware_cursor(&settings, &workspace.env),
            clear_on_shrink: clears_on_shrink(&settings, &workspace.env),
            settings,
            themes: self.appearance.theme_choices(),
            models: workspace.models.available(),
            current_model: self.session.snapshot().model,
        };
        DialogContents::Settings(options)
    }

    fn model_dialog(&self, search: String) -> DialogContents {
        let snapshot = self.session.snapshot();
        let default = snapshot.settings.default_model();
        let default = default.map(|(provider, id)| (provider.to_owned(), id.to_owned()));
        let options = ModelDialogOptions {
            current: snapshot.model,
            default,
            available: self.session.workspace().models.available(),
            scoped: snapshot.scoped_models,
            search,
            refreshing: self.options.refresh_catalogs,
        };
        DialogContents::Models(options)
    }

    fn scoped_models_dialog(&self) -> DialogContents {
        let available = self.session.workspace().models.available();
        let snapshot = self.session.snapshot();
        let mut enabled: Vec<EnabledModel> = snapshot
            .scoped_models
            .into_iter()
            .map(|scoped| EnabledModel::available(scoped.model, scoped.thinking))
            .collect();
        // Models that are currently unavailable stay in the list.
        for pattern in snapshot.settings.enabled_models.iter().flatten() {
            if !matches_a_model(pattern, &available) {
                enabled.push(EnabledModel::missing(pattern.clone()));
            }
        }
        let enabled = (!enabled.is_empty()).then_some(enabled);
        DialogContents::ScopedModels { available, enabled }
    }

    fn tree_dialog(&self, selected: Option<EntryId>, summary: SummaryQuestion) -> BuiltDialog {
        let tree = self.session.tree();
        if tree.nodes.is_empty() {
            return Err(notice(NoticeLevel::Status, "The session is empty"));
        }
        let snapshot = self.session.snapshot();
        let history = self.session.history();
        let options = TreeDialogOptions {
            tree,
            leaf: snapshot.leaf,
            selected,
            filter: snapshot.settings.tree_filter_mode(),
            summary,
            read: Box::new(move |id| history.entry(id)),
            now_ms: self.session.workspace().env.now_ms(),
            zone: TimeZone::system(),
        };
        Ok(DialogContents::Tree(options))
    }

    fn trust_dialog(&self) -> BuiltDialog {
        let workspace = self.session.workspace();
        let trust = workspace.trust_state().map_err(|error| {
            let text = pi_host::describe_error(&error);
            notice(NoticeLevel::Error, text)
        })?;
        let decision = match &trust.saved {
            Some(saved) => {
                let word = match saved.access {
                    ProjectAccess::Trusted => "trusted",
                    ProjectAccess::Denied | ProjectAccess::Undecided => "not trusted",
                };
                format!("{} is {word}.", saved.dir.display())
            }
            None => "No saved decision for this directory.".to_owned(),
        };
        let now = match workspace.project {
            ProjectAccess::Trusted => "Project files are loaded in this session.",
            ProjectAccess::Denied | ProjectAccess::Undecided => {
                "Project files are ignored in this session."
            }
        };
        let state = vec![decision, now.to_owned()];
        let cwd = workspace.cwd.clone();
        Ok(DialogContents::ChangeTrust {
            cwd,
            saved: trust.saved_choice(),
            choices: trust.choices,
            state,
        })
    }

    fn changelog_dialog(&self) -> BuiltDialog {
        let Some(changelog) = self.options.changelog else {
            let text = format!("pi {}", pi_env::release());
            return Err(notice(NoticeLevel::Info, text));
        };
        let ctx = self.ui.context();
        let theme = MarkdownTheme::from_theme(&ctx.theme, ctx.capabilities.hyperlinks);
        let content = Markdown::new(&changelog(), theme).padding(1, 0);
        Ok(DialogContents::Reader {
            title: "Changelog",
            content: Box::new(content),
        })
    }

    fn first_start_dialog(&self) -> DialogContents {
        let workspace = self.session.workspace();
        let models = &workspace.models;
        let ready = models
            .providers()
            .iter()
            .filter(|provider| models.auth_status(provider.id()).is_some())
            .map(|provider| provider.name().to_owned())
            .collect();
        DialogContents::FirstStart { ready }
    }
}

fn notice(level: NoticeLevel, text: impl Into<String>) -> Notice {
    let text = text.into();
    Notice { level, text }
}
