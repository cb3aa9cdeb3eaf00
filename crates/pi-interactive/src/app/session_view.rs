//! Shows a session: the first one, and each one that replaces it.

use pi_protocol::settings::SettingChange;
use pi_protocol::{AgentMessage, CommandSource, EntryBody, EntryId, EntryKind, MessageRole};
use pi_tui::{TerminalCapabilities, TerminalEnvironment, probe_tmux_hyperlinks};

use super::App;
use super::command::AppCommand;
use super::display::Display;
use super::tasks::AppTask;
use crate::StartupNotices;
use crate::controllers::appearance::AppearanceMsg;
use crate::controllers::approvals::ApprovalMsg;
use crate::controllers::dialogs::{DialogMsg, DialogRequest};
use crate::controllers::extensions::{ConnectedExtensions, ExtensionMsg};
use crate::controllers::prompt::PromptMsg;
use crate::controllers::report::ReportMsg;
use crate::controllers::status::StatusMsg;
use crate::controllers::switching::SwitchMsg;
use crate::controllers::terminal::TerminalMsg;
use crate::session::command::{SessionChange, SessionCommand};
use crate::session::history::SessionHistory;
use crate::slash;
use crate::startup;
use crate::terminal::{crash, setup};
use crate::transcript::{GapEnd, Notice, NoticeLevel, TranscriptMsg, TranscriptSource};
use pi_views::working_indicator::WorkingIndicator;

/// Number of prompts added to the history when a session is opened.
const REMEMBERED_PROMPTS: usize = 100;

impl App {
    /// Shows the initial session, then starts what can wait until after the first frame.
    pub(super) fn begin(&mut self) {
        self.perform(AppCommand::RefreshProviders);
        self.show_startup();
        self.explain_upgrade();
        self.connect_extensions();
        self.show_session();
        let draft = std::mem::take(&mut self.options.draft);
        self.route(PromptMsg::RestoreText(draft));
        self.start_background_work();
    }

    /// Shows the session that replaced the current one.
    pub(super) fn on_replaced(&mut self) {
        self.route(PromptMsg::SessionReplaced);
        self.run_status.reset();
        self.display
            .screen
            .with_working(WorkingIndicator::forget_run);
        self.route(StatusMsg::SessionReplaced);
        self.route(DialogMsg::SessionReplaced);
        self.route(ApprovalMsg::SessionReplaced);
        self.display.clear();
        self.perform(AppCommand::RefreshProviders);
        let workspace = self.session.workspace();
        let (keys, key_problems) = setup::read_keys(&workspace.agent_dir, &workspace.env);
        self.route(AppearanceMsg::Reload {
            themes: workspace.resources.themes.clone(),
            keys: Box::new(keys),
            key_problems,
        });
        self.show_startup();
        self.show_session();
        self.route(ExtensionMsg::SessionReplaced);
        self.submit(SessionCommand::CheckProject);
    }

    fn show_startup(&mut self) {
        let workspace = self.session.workspace();
        let home = self.display.ui.context().home.clone();
        let header = startup::header(&workspace, &self.options, home.as_deref());
        self.display.show_header(header);
        let report = self.session.take_opening_report();
        let has_model = self.session.snapshot().model.is_some();
        for command in startup::notices(report, has_model, workspace.project) {
            self.perform(command);
        }
        self.route(StatusMsg::CheckExtraUsage);
        self.route(AppearanceMsg::ReportProblems);
    }

    /// Explains changed defaults at the first start after an update.
    fn explain_upgrade(&mut self) {
        let settings = self.session.snapshot().settings;
        if let Some(text) = startup::upgrade::notice(&settings) {
            self.perform(AppCommand::notify(NoticeLevel::Info, text));
            let seen = SettingChange::ChangelogVersion(pi_env::VERSION.to_owned());
            self.perform(AppCommand::Change(SessionChange::Setting(seen)));
        }
        self.report_status();
    }

    fn connect_extensions(&mut self) {
        self.display.bridge.open(self.display.ui.clone());
        self.component_tasks
            .spawn(self.display.bridge.clone().run_tasks());
        self.display.publish_size();
        self.route(AppearanceMsg::Publish);
        self.display.publish_editor();
        // Handle what was queued before there was a screen.
        self.on_extensions();
    }

    fn show_session(&mut self) {
        let prompts = recent_prompts(self.session.history().as_ref());
        self.show_transcript(None);
        self.route(PromptMsg::SessionShown(prompts));
        self.route(StatusMsg::SessionShown);
        if let Some(holder) = self.session.held_elsewhere() {
            self.route(SwitchMsg::Held(holder));
        }
    }

    /// Shows the conversation: the recent part, and a part from `first` on. The rest is loaded on demand.
    fn show_transcript(&mut self, first: Option<EntryId>) {
        let source = TranscriptSource {
            first,
            history: self.session.history(),
            is_idle: self.session.snapshot().activity.idle,
            models: self.session.workspace().models.clone(),
            live: self.session.live_message(),
        };
        self.route(TranscriptMsg::Show(source));
    }

    /// Rebuilds the transcript, and scrolls to an entry of the branch if there is one to show.
    pub(super) fn rebuild_transcript(&mut self, shown: Option<EntryId>) {
        let scrolls = shown.is_some();
        self.display.clear();
        self.show_startup();
        self.show_transcript(shown);
        self.route(StatusMsg::Refresh);
        if scrolls {
            self.route(TerminalMsg::EnterScrollback);
            let Display {
                transcript, screen, ..
            } = &mut self.display;
            if let Some(first) = transcript.first() {
                // With more above it, it does not move when older entries are loaded.
                let document = screen.document();
                let gap = transcript.gaps(document).find(|gap| !gap.follows_loaded);
                if let Some(gap) = gap {
                    let history = self.session.history();
                    transcript.load(document, history.as_ref(), gap, GapEnd::Last);
                }
                screen.runner().tui_mut().scroll_to_block(first);
            }
        }
    }

    fn start_background_work(&mut self) {
        let task = self.probe_terminal();
        self.tasks.spawn(task);
        self.route(AppearanceMsg::WatchThemes);
        let directory = self.session.workspace().agent_dir.path().to_owned();
        self.tasks
            .spawn(AppTask::blocking("read the crash record", move || {
                ReportMsg::CrashFound(crash::take_unreported(&directory))
            }));
        self.submit(SessionCommand::CheckProject);
        if self.options.refresh_catalogs {
            self.perform(AppCommand::Change(SessionChange::RefreshCatalogs));
        }
        if let Some(notices) = self.options.startup_notices.take() {
            self.tasks.spawn(startup_notices(notices));
        }
        if self.options.pick_session {
            let request = DialogRequest::Resume { search: None };
            self.route(DialogMsg::Open(request));
        } else if self.options.first_start {
            self.route(DialogMsg::Open(DialogRequest::FirstStart));
        }
        // Hooks may prompt the user first; the initial prompts follow.
        self.submit(SessionCommand::NotifyStart);
    }

    /// Asks tmux whether it forwards hyperlinks; this takes a moment, so it runs in the background.
    fn probe_terminal(&self) -> AppTask {
        let workspace = self.session.workspace();
        let settings = workspace.settings.settings();
        AppTask::blocking("probe the terminal", move || {
            let lookup = |name: &str| workspace.env.var(name);
            let environment = TerminalEnvironment::new(&lookup);
            AppearanceMsg::CapabilitiesProbed(TerminalCapabilities::resolve(
                environment,
                setup::overrides(&settings),
                probe_tmux_hyperlinks,
            ))
        })
    }

    /// Collects what the controller must know about newly loaded extensions.
    pub(super) fn connected_extensions(&self) -> ConnectedExtensions {
        let commands = self.session.commands().into_iter();
        // An attached session without a terminal has commands that only point to those of this application.
        let hidden = commands.filter(|command| {
            command.source == CommandSource::Extension
                && command.source_info.source != "builtin"
                && slash::COMMANDS.iter().any(|own| own.name == command.name)
        });
        ConnectedExtensions {
            shortcuts: self.display.bridge.link().map(|link| link.shortcuts()),
            hidden_commands: hidden.map(|command| command.name).collect(),
        }
    }
}

fn startup_notices(notices: StartupNotices) -> AppTask {
    AppTask::new("startup notices", async move {
        let lines = notices.0.await.into_iter();
        let notices = lines.map(|text| Notice {
            level: NoticeLevel::Info,
            text,
        });
        TranscriptMsg::Notices(notices.collect())
    })
}

/// Returns the last prompts of a session, newest first.
fn recent_prompts(history: &dyn SessionHistory) -> Vec<String> {
    let branch = history.branch();
    let users = branch
        .iter()
        .rev()
        .filter(|id| history.kind(id) == Some(EntryKind::Message(MessageRole::User)));
    users
        .filter_map(|id| user_text(&history.entry(id)?.body))
        .take(REMEMBERED_PROMPTS)
        .collect()
}

fn user_text(body: &EntryBody) -> Option<String> {
    match body {
        EntryBody::Message(AgentMessage::User(user)) => {
            let text = user.content.joined_text();
            (!text.trim().is_empty()).then_some(text)
        }
        _ => None,
    }
}
