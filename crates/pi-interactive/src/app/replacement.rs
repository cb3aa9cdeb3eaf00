//! Beginning with a session, and going over to another one that took its place.

use std::sync::Arc;
use std::time::Instant;

use pi_ai::AgentMessage;
use pi_runtime::{AgentSession, CommandInfo, CommandSource, ReplaceError, ReplaceOutcome};
use pi_session::EntryBody;
use pi_tui::{CombinedProvider, CommandCompletion, CompletionProvider};

use super::App;
use crate::foreign_completion::{self, ForeignProvider};
use crate::session_link::SessionLink;
use crate::slash;
use crate::startup;
use crate::transcript::Transcript;
use crate::working::Activity;

/// Prompts of an opened session that Up brings back.
const REMEMBERED_PROMPTS: usize = 100;

impl App {
    /// Shows the session the program starts with.
    pub(super) fn begin(&mut self) {
        self.look_at_providers();
        startup::greet(self);
        self.begin_with_extensions();
        self.show_session();
        startup::after_first_frame(self);
    }

    /// Another session took the place of the one on the screen.
    pub(super) fn on_replaced(&mut self) {
        let session: AgentSession = self.sessions.borrow_and_update().clone();
        self.link = SessionLink::to(&session);
        self.session = session;
        self.held_back.clear();
        self.counted = false;
        self.screen.close_dialog();
        self.with_transcript(Transcript::clear);
        self.screen.runner().tui().clear_terminal();
        self.look_at_providers();
        self.reload_preferences();
        startup::greet(self);
        self.show_session();
        self.look_at_project();
    }

    /// Shows what the session holds, and everything that depends on it.
    fn show_session(&mut self) {
        let session = self.session.clone();
        self.with_transcript(|transcript, document| transcript.show(document, &session));
        self.show_activity(Activity::Idle, Instant::now());
        self.remember_prompts_of(&session);
        self.refresh_completion();
        self.refresh_queue();
        self.refresh_title();
        self.paint_border();
        self.refresh_footer();
    }

    /// Shows the conversation again after a move in the tree.
    pub(crate) fn show_again(&mut self) {
        self.with_transcript(Transcript::clear);
        self.screen.runner().tui().clear_terminal();
        startup::greet(self);
        let session = self.session.clone();
        self.with_transcript(|transcript, document| transcript.show(document, &session));
        self.refresh_footer();
    }

    fn remember_prompts_of(&mut self, session: &AgentSession) {
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
            self.remember_prompt(prompt);
        }
    }

    /// Makes the prompt complete the commands and files of the session.
    pub(crate) fn refresh_completion(&mut self) {
        let mut commands = slash::completions(&self.session);
        let skills = self.session.settings().settings().enable_skill_commands();
        let link = self.desk.link();
        let known = self.runtime.commands().into_iter().filter(|command| {
            (skills || !command.name.starts_with("skill:"))
                // The program's own command is the one that runs.
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
                    foreign_completion::with_arguments(completion, link.clone(), name)
                }
                _ => completion,
            }
        }));
        let home = self.look.appearance().home.clone();
        let provider = CombinedProvider::new(commands, self.session.cwd().to_owned(), home);
        let mut provider: Arc<dyn CompletionProvider> = Arc::new(provider);
        self.desk.set_completion(Arc::clone(&provider));
        if let (Some(link), Some(triggers)) = (link, &self.extensions.completion) {
            let foreign = ForeignProvider::new(link, provider, triggers.clone());
            provider = Arc::new(foreign);
        }
        let mail = self.mail();
        self.screen.with_editor(|area| {
            area.editor().set_completion_provider(provider);
            // Touching the prompt is enough: it is laid out again and finds the answer.
            area.editor()
                .on_completions(move || mail.post(|app| app.screen.with_editor(|_| ())));
        });
    }

    /// Puts another session in place of this one; `then` runs once it is on the screen.
    pub(crate) fn replace(
        &mut self,
        work: impl Future<Output = Result<ReplaceOutcome, ReplaceError>> + Send + 'static,
        then: impl FnOnce(&mut Self, ReplaceOutcome) + Send + 'static,
    ) {
        self.spawn(work, move |app, result| match result {
            Ok(replacement) => {
                // The follow-up may come before the loop has seen the new session.
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
