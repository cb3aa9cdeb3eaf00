//! Performs the commands of the controllers.

use std::path::PathBuf;

use pi_host::{BugReport, PreparedShare};
use pi_views::dialogs::dialog::DialogKey;
use pi_views::text::paths::with_tilde;
use pi_views::theme::ui_theme::RenderContext;
use serde_json::json;

use super::App;
use super::command::{AppCommand, ExportRequest};
use super::completion;
use super::dialog_factory::DialogFactory;
use super::display::describe_screen;
use super::message::AppMsg;
use super::tasks::AppTask;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::extensions::ExtensionMsg;
use crate::controllers::prompt::PromptMsg;
use crate::controllers::status::StatusMsg;
use crate::controllers::terminal::TerminalMsg;
use crate::prompt::history_file::{self, PastPrompt};
use crate::screen::footer::FooterData;
use crate::screen::git_branch::current_branch;
use crate::session::command::SessionCommand;
use crate::terminal::editor_command::EditorCommand;
use crate::terminal::environment::external_editor as external_editor_command;
use crate::terminal::file_link::FileLink;
use crate::terminal::{crash, external_editor};
use crate::transcript::TranscriptMsg;

/// Environment variable with the path of the log file.
const LOG: &str = "PI_LOG";

impl App {
    pub(super) fn perform(&mut self, command: AppCommand) {
        match command {
            AppCommand::Send(message) => self.route(message),
            AppCommand::Change(change) => {
                if let Err(message) = self.session.apply(change) {
                    self.perform(AppCommand::error(message));
                }
            }
            AppCommand::Session(command) => self.submit(command),
            AppCommand::Display(command) => {
                for message in self.display.perform(command) {
                    self.route(message);
                }
            }
            AppCommand::Run(task) => self.tasks.spawn(task),
            AppCommand::OpenDialog { key, request } => self.open_dialog(key, request),
            AppCommand::CloseDialog(key) => self.display.screen.close_dialog(key),
            AppCommand::UpdateDialog(update) => {
                self.display
                    .screen
                    .with_dialog(|dialog| dialog.on_update(update));
                self.drain_dialogs();
            }
            AppCommand::RefreshFooter { with_usage } => self.refresh_footer(with_usage),
            AppCommand::RefreshProviders => {
                let providers = self.session.provider_info();
                self.route(StatusMsg::Providers(providers));
            }
            AppCommand::RefreshCompletion => self.refresh_completion(),
            AppCommand::Export(request) => self.export(request),
            AppCommand::SavePrompt(text) => self.save_prompt(text),
            AppCommand::LoadPromptHistory => {
                let directory = self.session.workspace().agent_dir.path().to_owned();
                let cwd = self.session.snapshot().cwd;
                self.tasks.spawn(load_prompt_history(directory, cwd));
            }
            AppCommand::EditExternally(text) => self.edit_externally(text),
            AppCommand::EditFile(link) => {
                let workspace = self.session.workspace();
                let settings = workspace.settings.settings();
                let editor = external_editor_command(&settings, &workspace.env);
                match editor_of_file(&link, &editor, &self.display.ui.context()) {
                    Ok(command) => self.route(TerminalMsg::OpenEditor(command)),
                    Err(text) => self.perform(AppCommand::error(text)),
                }
            }
            AppCommand::CopyAnswer => {
                let selected = self.display.screen.peek().selected_text();
                self.route(TerminalMsg::CopyAnswer { selected });
            }
            AppCommand::PerformAction(action) => self.perform_action_by_name(&action),
            AppCommand::RunShortcut { extension, key } => self.run_shortcut(extension, key),
            AppCommand::WriteReport {
                description,
                with_conversation,
            } => self.write_report(description, with_conversation),
            AppCommand::WriteDebugRecord => {
                let screen = describe_screen(&self.display.screen);
                self.submit(SessionCommand::WriteDebugRecord { screen });
            }
            AppCommand::RebuildTranscript => self.rebuild_transcript(None),
            AppCommand::ShowEntry(entry) => {
                if self.session.history().branch().contains(&entry) {
                    self.rebuild_transcript(Some(entry));
                } else {
                    let selected = Some(entry);
                    self.route(DialogMsg::Open(DialogRequest::Tree { selected }));
                }
            }
            AppCommand::Quit(reason) => self.quit(reason),
        }
    }

    pub(super) fn submit(&mut self, command: SessionCommand) {
        let work = self.session.submit(command);
        let task = AppTask::new("session command", async move { AppMsg::from(work.await) });
        self.tasks.spawn(task);
    }

    fn save_prompt(&mut self, text: String) {
        let directory = self.session.workspace().agent_dir.path().to_owned();
        let cwd = self.session.snapshot().cwd;
        let task = AppTask::blocking("save a prompt", move || {
            let prompt = PastPrompt { text, cwd };
            if let Err(error) = history_file::append(&directory, &prompt) {
                tracing::warn!(%error, "cannot write the prompt history");
            }
            PromptMsg::HistorySaved
        });
        self.tasks.spawn(task);
    }

    fn open_dialog(&mut self, key: DialogKey, request: DialogRequest) {
        let is_picker = matches!(request, DialogRequest::Models { .. });
        let factory = DialogFactory {
            session: self.session.as_ref(),
            appearance: &self.controllers.appearance,
            options: &self.options,
            ui: &self.display.ui,
        };
        match factory.build(request) {
            Ok(contents) => {
                let dialog = contents.open(self.display.ui.clone());
                self.display.screen.open_dialog(key, dialog);
                self.drain_dialogs();
                if is_picker && self.options.refresh_catalogs {
                    self.submit(SessionCommand::RefreshModels { provider: None });
                }
            }
            Err(notice) => {
                self.route(TranscriptMsg::Notice(notice));
                self.route(DialogMsg::Done(key));
            }
        }
    }

    fn refresh_footer(&mut self, with_usage: bool) {
        let snapshot = self.session.snapshot();
        let stats = with_usage.then(|| self.session.usage()).flatten();
        let providers = self.controllers.status.providers();
        let home = self.display.ui.context().home.clone();
        let branch = current_branch(&snapshot.cwd);
        let model = snapshot.model;
        let provider = model.as_ref().map(|model| model.provider.clone());
        let data = FooterData {
            directory: with_tilde(&snapshot.cwd, home.as_deref()),
            branch: branch.clone(),
            name: snapshot.name,
            watching: snapshot.watching,
            tokens: stats.as_ref().map(|stats| stats.tokens).unwrap_or_default(),
            cache_hits: stats.as_ref().and_then(|stats| stats.cache_hit_share),
            cost: stats.as_ref().map_or(0.0, |stats| stats.cost),
            subscription: providers.subscription,
            context: stats.and_then(|stats| stats.context_usage),
            window: model.as_ref().map_or(0, |model| model.context_window),
            auto_compaction: snapshot.auto_compaction,
            provider: provider.filter(|_| providers.several),
            thinking: model
                .as_ref()
                .filter(|model| model.reasoning)
                .map(|_| snapshot.thinking.as_str().to_owned()),
            model: model.map(|model| model.id.clone()),
            routed: snapshot.routed,
            statuses: self.display.bridge.statuses(),
        };
        if with_usage {
            let percent = data.context.as_ref().and_then(|context| context.percent);
            self.display
                .screen
                .with_working(|working| working.set_context(percent));
        }
        self.publish_providers(branch);
        self.display
            .screen
            .with_footer(|footer| footer.set_data(data));
    }

    /// Publishes what the footer shows to extensions, whose components may show it, too.
    fn publish_providers(&mut self, branch: Option<String>) {
        if !self.display.bridge.is_connected() {
            return;
        }
        let available = self.session.workspace().models.available();
        let mut providers: Vec<&str> = available.iter().map(|it| it.provider.as_str()).collect();
        providers.sort_unstable();
        providers.dedup();
        let count = providers.len();
        self.display
            .bridge
            .set_facts(|facts| facts.providers = count);
        self.route(ExtensionMsg::Branch(branch));
    }

    fn refresh_completion(&mut self) {
        let handle = self.tasks.handle();
        let triggers = self.controllers.extensions.completion_triggers();
        let provider = completion::provider(self.session.as_ref(), &self.display, triggers);
        self.display.screen.with_editor(|area| {
            area.editor().set_completion_provider(provider);
            area.editor().on_completions(move || {
                handle.post(crate::controllers::prompt::PromptMsg::CompletionsArrived);
            });
        });
    }

    fn export(&mut self, request: ExportRequest) {
        let theme = self.controllers.appearance.export_theme();
        match request {
            ExportRequest::File(output) => self.submit(SessionCommand::Export { output, theme }),
            ExportRequest::Share => {
                if let Err(error) = PreparedShare::check_program(&self.session.workspace().env) {
                    self.perform(AppCommand::error(error.describe()));
                    return;
                }
                self.perform(AppCommand::status("Preparing page…"));
                self.submit(SessionCommand::PrepareShare { theme });
            }
        }
    }

    fn edit_externally(&mut self, text: String) {
        let workspace = self.session.workspace();
        let settings = workspace.settings.settings();
        let command = external_editor_command(&settings, &workspace.env);
        self.tasks
            .spawn(AppTask::new("external editor", async move {
                let edited = external_editor::edit(command, text).await;
                let edited = edited.map_err(|error| pi_host::describe_error(&error));
                TerminalMsg::EditorClosed(edited)
            }));
    }

    fn run_shortcut(&mut self, extension: String, key: String) {
        let Some(link) = self.display.bridge.link() else {
            return;
        };
        self.tasks.spawn(AppTask::new("shortcut", async move {
            let result = link.run_shortcut(&extension, &key).await;
            ExtensionMsg::ShortcutEnded(result)
        }));
    }

    fn write_report(&mut self, description: Option<String>, with_conversation: bool) {
        let workspace = self.session.workspace();
        let size = self.display.screen.peek().size();
        let capabilities = self.display.ui.context().capabilities;
        let report = BugReport {
            description,
            with_conversation,
            version: pi_env::release(),
            terminal: json!({
                "columns": size.columns,
                "rows": size.rows,
                "capabilities": format!("{capabilities:?}"),
            }),
            log: workspace.env.var(LOG).map(Into::into),
            crash: crash::last_record(workspace.agent_dir.path()),
        };
        self.submit(SessionCommand::WriteReport(Box::new(report)));
    }
}

/// Returns what opens a file in an editor; the file may have been removed since it was shown.
fn editor_of_file(
    link: &FileLink,
    editor: &str,
    context: &RenderContext,
) -> Result<EditorCommand, String> {
    let file = link
        .find(&context.cwd, context.home.as_deref())
        .ok_or_else(|| format!("No such file in this directory: {}", link.path))?;
    EditorCommand::new(editor, &file, link.position)
        .ok_or_else(|| "No editor configured. Set externalEditor, VISUAL or EDITOR.".to_owned())
}

fn load_prompt_history(directory: PathBuf, cwd: PathBuf) -> AppTask {
    AppTask::blocking("read the prompt history", move || {
        PromptMsg::HistoryLoaded(history_file::load(&directory, &cwd))
    })
}
