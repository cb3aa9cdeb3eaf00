//! Shows the first session, and switches when another session replaces it.

use std::sync::Arc;
use std::time::Instant;

use pi_protocol::AgentMessage;
use pi_runtime::{AgentSession, CommandInfo, CommandSource, ReplaceError, ReplaceOutcome};
use pi_session::EntryBody;
use pi_tui::{CombinedCompletionProvider, CommandCompletion, CompletionProvider};

use super::App;
use crate::extension_completion::{self, ExtensionCompletionProvider};
use crate::session_events::SessionEvents;
use crate::slash;
use crate::startup;
use crate::transcript::Transcript;
use crate::working::Activity;

/// Number of prompts added to the history when a session is opened.
const REMEMBERED_PROMPTS: usize = 100;

impl App {
    /// Shows the initial session.
    pub(super) fn begin(&mut self) {
        self.refresh_provider_info();
        startup::show_startup(self);
        self.connect_extensions();
        self.show_session();
        startup::after_first_frame(self);
    }

    /// Handles the replacement of the current session.
    pub(super) fn on_replaced(&mut self) {
        let session: AgentSession = self.sessions.borrow_and_update().clone();
        self.session_events = SessionEvents::subscribe(&session);
        self.session = session;
        self.queued_during_compaction.clear();
        self.usage_counted = false;
        self.screen.close_dialog();
        self.with_transcript(Transcript::clear);
        self.screen.runner().tui_mut().clear_terminal();
        self.refresh_provider_info();
        self.reload_preferences();
        startup::show_startup(self);
        self.show_session();
        self.report_project_changes();
    }

    /// Shows the session and everything that depends on it.
    fn show_session(&mut self) {
        let session = self.session.clone();
        self.with_transcript(|transcript, document| transcript.show(document, &session));
        self.show_activity(Activity::Idle, Instant::now());
        self.add_history_from(&session);
        self.refresh_completion();
        self.refresh_queue();
        self.refresh_title();
        self.paint_border();
        self.refresh_footer();
    }

    /// Rebuilds the transcript after navigating in the tree.
    pub(crate) fn rebuild_transcript(&mut self) {
        self.with_transcript(Transcript::clear);
        self.screen.runner().tui_mut().clear_terminal();
        startup::show_startup(self);
        let session = self.session.clone();
        self.with_transcript(|transcript, document| transcript.show(document, &session));
        self.refresh_footer();
    }

    fn add_history_from(&mut self, session: &AgentSession) {
        let prompts = session.with_session(|session| {
            let ids = session.branch_ids();
            let mut prompts = Vec::new();
            for id in ids.iter().rev() {
                if prompts.len() == REMEMBERED_PROMPTS {
                    break;
                }
                let is_user = session.kind(id.as_str())
                    == Some(pi_session::EntryKind::Message(
                        pi_session::MessageRole::User,
                    ));
                if is_user && let Ok(entry) = session.entry(id.as_str()) {
                    prompts.extend(user_text(&entry.body));
                }
            }
            prompts
        });
        for prompt in prompts.iter().rev() {
            self.add_to_history(prompt);
        }
    }

    /// Rebuilds prompt completion for the session's commands and files.
    pub(crate) fn refresh_completion(&mut self) {
        let mut commands = slash::completions(&self.session);
        let skills = self.session.settings().settings().enable_skill_commands();
        let link = self.bridge.link();
        let known = self.runtime.commands().into_iter().filter(|command| {
            (skills || !command.name.starts_with("skill:"))
                // Built-in commands take precedence.
                && !slash::COMMANDS.iter().any(|own| own.name == command.name)
        });
        let resources = Arc::clone(&self.runtime.services().resources);
        let hint = |command: &CommandInfo| {
            let is_template = command.source == CommandSource::Prompt;
            let mut templates = resources.prompt_templates.iter().filter(|_| is_template);
            let template = templates.find(|template| template.name == command.name)?;
            template.argument_hint.clone()
        };
        commands.extend(known.map(|command| {
            let (name, hint) = (command.name.clone(), hint(&command));
            let mut completion =
                CommandCompletion::new(command.name, command.description.unwrap_or_default());
            if let Some(hint) = hint {
                completion = completion.argument_hint(hint);
            }
            match &link {
                Some(link) if link.completes(&name) => {
                    extension_completion::with_arguments(completion, link.clone(), name)
                }
                _ => completion,
            }
        }));
        let home = self.ui.context().home.clone();
        let provider =
            CombinedCompletionProvider::new(commands, self.session.cwd().to_owned(), home);
        let mut provider: Arc<dyn CompletionProvider> = Arc::new(provider);
        self.bridge.set_completion(Arc::clone(&provider));
        if let (Some(link), Some(triggers)) = (link, &self.extensions.completion) {
            let wrapped = ExtensionCompletionProvider::new(link, provider, triggers.clone());
            provider = Arc::new(wrapped);
        }
        let handle = self.handle();
        self.screen.with_editor(|area| {
            area.editor().set_completion_provider(provider);
            // Any change of the prompt makes it lay out again and pick up the reply.
            area.editor()
                .on_completions(move || handle.post(|app| app.screen.with_editor(|_| ())));
        });
    }

    /// Replaces the session; `then` runs once the new one is on screen.
    pub(crate) fn replace(
        &mut self,
        work: impl Future<Output = Result<ReplaceOutcome, ReplaceError>> + Send + 'static,
        then: impl FnOnce(&mut Self, ReplaceOutcome) + Send + 'static,
    ) {
        self.spawn(work, move |app, result| match result {
            Ok(replacement) => {
                // The callback may run before the loop has noticed the new session.
                if app.sessions.has_changed().unwrap_or(false) {
                    app.on_replaced();
                }
                then(app, replacement);
            }
            Err(error) => app.error(pi_runtime::describe_error(&error)),
        });
    }
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
