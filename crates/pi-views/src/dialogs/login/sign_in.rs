//! A sign-in in progress: its messages, prompts and outcome.
//!
//! URLs come from the provider's server. They are shown as text; only web URLs become links or are opened in
//! the browser.

use pi_protocol::{DeviceCodeActions, LoginEvent, LoginPrompt};
use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent, action,
    wrap_text,
};

use super::super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::super::field::{point_at_field, prefilled};
use super::super::frame::DialogBody;
use super::super::hint::Hint;
use super::super::intent_sink::IntentSink;
use super::super::plain_text::{one_line, sanitize_lines};
use super::super::question::{QuestionDialog, QuestionOptions};
use super::super::secret_field::SecretField;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::keys;
use crate::text::web_address::is_web;

/// Maximum number of messages kept; older ones scroll out.
const MAX_MESSAGES: usize = 12;

enum SignInQuestion {
    Nothing,
    Text {
        message: String,
        example: Option<String>,
        field: Input,
    },
    Secret {
        message: String,
        field: SecretField,
    },
    Choice {
        ids: Vec<String>,
        question: QuestionDialog,
    },
}

enum SignInMessage {
    Url(String),
    Code(String, DeviceCodeActions),
    Note(ColorToken, String),
}

pub(super) struct SignInView {
    provider: String,
    messages: Vec<SignInMessage>,
    question: SignInQuestion,
    failed: Option<String>,
}

impl SignInView {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: one_line(provider),
            messages: Vec::new(),
            question: SignInQuestion::Nothing,
            failed: None,
        }
    }

    fn url(&self) -> Option<&str> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                SignInMessage::Url(url) => Some(url.as_str()),
                SignInMessage::Code(..) | SignInMessage::Note(..) => None,
            })
    }

    fn add_message(&mut self, message: SignInMessage) {
        self.messages.push(message);
        if self.messages.len() > MAX_MESSAGES {
            self.messages.remove(0);
        }
    }

    fn show(&mut self, event: LoginEvent, sink: &mut IntentSink) {
        match event {
            LoginEvent::Info { message, links } => {
                self.add_message(SignInMessage::Note(
                    ColorToken::Text,
                    sanitize_lines(&message),
                ));
                for link in links {
                    let label = one_line(&link.label);
                    self.add_message(SignInMessage::Note(ColorToken::Muted, label));
                    self.add_message(SignInMessage::Url(one_line(&link.url)));
                }
            }
            LoginEvent::AuthUrl { url, instructions } => {
                let url = one_line(&url);
                if is_web(&url) {
                    sink.send(Intent::OpenUrl(url.clone()));
                }
                self.messages.clear();
                self.add_message(SignInMessage::Note(
                    ColorToken::Text,
                    "Opening this page in your browser:".to_owned(),
                ));
                self.add_message(SignInMessage::Url(url));
                if !instructions.is_empty() {
                    self.add_message(SignInMessage::Note(
                        ColorToken::Warning,
                        sanitize_lines(&instructions),
                    ));
                }
            }
            LoginEvent::DeviceCode {
                user_code,
                verification_uri,
                on_confirm,
                ..
            } => {
                self.messages.clear();
                self.add_message(SignInMessage::Note(
                    ColorToken::Text,
                    "Open this page on any device and enter the code:".to_owned(),
                ));
                self.add_message(SignInMessage::Url(one_line(&verification_uri)));
                self.add_message(SignInMessage::Code(one_line(&user_code), on_confirm));
            }
            LoginEvent::Progress { message } => {
                self.add_message(SignInMessage::Note(
                    ColorToken::Dim,
                    sanitize_lines(&message),
                ));
            }
        }
    }

    fn ask(&mut self, prompt: LoginPrompt) {
        self.question = match prompt {
            LoginPrompt::Text {
                message,
                placeholder,
            }
            | LoginPrompt::ManualCode {
                message,
                placeholder,
            } => {
                let mut field = prefilled("");
                field.set_focused(true);
                SignInQuestion::Text {
                    message: sanitize_lines(&message),
                    example: placeholder.map(|example| one_line(&example)),
                    field,
                }
            }
            LoginPrompt::Secret { message } => SignInQuestion::Secret {
                message: sanitize_lines(&message),
                field: SecretField::default(),
            },
            LoginPrompt::Select { message, choices } => {
                let question = QuestionOptions {
                    title: message,
                    ..QuestionOptions::default()
                };
                let ids = choices.iter().map(|choice| choice.id.clone()).collect();
                let labels: Vec<String> = choices.into_iter().map(|choice| choice.label).collect();
                SignInQuestion::Choice {
                    ids,
                    question: QuestionDialog::embedded(question, &labels),
                }
            }
        };
    }

    fn code(&self) -> Option<(&str, DeviceCodeActions)> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match message {
                SignInMessage::Code(code, actions) => Some((code.as_str(), *actions)),
                SignInMessage::Url(_) | SignInMessage::Note(..) => None,
            })
    }

    /// Copies the device code and opens the page where it is entered, unless the provider does not want it.
    fn open_code_page(&self, sink: &mut IntentSink) {
        let (Some((code, actions)), Some(url)) = (self.code(), self.url()) else {
            return;
        };
        if actions.copy_code {
            sink.send(Intent::CopyText(code.to_owned()));
        }
        if actions.open_browser && is_web(url) {
            sink.send(Intent::OpenUrl(url.to_owned()));
        }
    }

    fn answer(&mut self, sink: &mut IntentSink) {
        let answer = match &self.question {
            SignInQuestion::Nothing => return self.open_code_page(sink),
            SignInQuestion::Choice { .. } => return,
            SignInQuestion::Text { field, .. } => field.value().to_owned(),
            // Some secrets are optional; the flow reports a missing one.
            SignInQuestion::Secret { field, .. } => {
                field.value().map_or_else(String::new, |it| it.0)
            }
        };
        self.question = SignInQuestion::Nothing;
        sink.send(Intent::AnswerSignIn(answer));
    }

    fn leave(&self, sink: &mut IntentSink) {
        if self.failed.is_none() {
            sink.send(Intent::CancelSignIn);
        }
        sink.close();
    }

    fn handle_choice_intents(&mut self, inner: &mut IntentSink, sink: &mut IntentSink) {
        for intent in inner.take() {
            let chosen = match (&self.question, intent) {
                (
                    SignInQuestion::Choice { ids, .. },
                    Intent::Answer(QuestionAnswer::Chosen(index)),
                ) => ids.get(index).cloned(),
                _ => None,
            };
            match chosen {
                Some(id) => {
                    self.question = SignInQuestion::Nothing;
                    sink.send(Intent::AnswerSignIn(id));
                }
                None => self.leave(sink),
            }
        }
    }

    pub(super) fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let SignInQuestion::Choice { question, .. } = &mut self.question {
            let mut inner = IntentSink::default();
            let outcome = question.handle(event, context, &mut inner);
            self.handle_choice_intents(&mut inner, sink);
            return outcome;
        }
        if let InputEvent::Key(key) = event {
            let pressed = |action| context.keybindings.matches(key, action);
            if pressed(action::SELECT_CANCEL) {
                self.leave(sink);
                return InputOutcome::Consumed;
            }
            if pressed(action::SELECT_CONFIRM) {
                if self.failed.is_some() {
                    self.leave(sink);
                } else {
                    self.answer(sink);
                }
                return InputOutcome::Consumed;
            }
            if pressed(keys::MESSAGE_COPY) {
                if let Some(url) = self.url() {
                    sink.send(Intent::CopyText(url.to_owned()));
                }
                return InputOutcome::Consumed;
            }
        }
        let used = match &mut self.question {
            SignInQuestion::Text { field, .. } => return field.handle_input(event, context),
            SignInQuestion::Secret { field, .. } => field.handle(event, context),
            SignInQuestion::Nothing | SignInQuestion::Choice { .. } => false,
        };
        if used {
            InputOutcome::Consumed
        } else {
            InputOutcome::Ignored
        }
    }

    pub(super) fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        match &mut self.question {
            SignInQuestion::Text { field, .. } => point_at_field(field, event, hit, context),
            SignInQuestion::Choice { question, .. } => {
                let mut inner = IntentSink::default();
                let used = question.mouse(event, hit, context, &mut inner);
                self.handle_choice_intents(&mut inner, sink);
                used
            }
            SignInQuestion::Nothing | SignInQuestion::Secret { .. } => false,
        }
    }

    pub(super) fn set_focused(&mut self, focused: bool) {
        match &mut self.question {
            SignInQuestion::Text { field, .. } => field.set_focused(focused),
            SignInQuestion::Secret { field, .. } => field.set_focused(focused),
            SignInQuestion::Nothing | SignInQuestion::Choice { .. } => {}
        }
    }

    pub(super) fn on_update(&mut self, update: DialogUpdate, sink: &mut IntentSink) {
        match update {
            DialogUpdate::SignIn(event) => self.show(event, sink),
            DialogUpdate::SignInPrompt(prompt) => self.ask(prompt),
            DialogUpdate::SignInPromptWithdrawn => self.question = SignInQuestion::Nothing,
            DialogUpdate::SignInEnded(Ok(())) => sink.close(),
            DialogUpdate::SignInEnded(Err(cause)) | DialogUpdate::Failed(cause) => {
                self.question = SignInQuestion::Nothing;
                self.failed = Some(sanitize_lines(&cause));
            }
            _ => {}
        }
    }

    pub(super) fn paint(&mut self, canvas: &mut DialogCanvas) {
        if let SignInQuestion::Choice { question, .. } = &mut self.question {
            question.paint(canvas);
            return;
        }
        canvas.blank();
        canvas.title(&format!("Sign in to {}", self.provider));
        canvas.blank();
        for message in &self.messages {
            paint_message(message, canvas);
        }
        if let Some(cause) = &self.failed {
            canvas.text(
                RowPriority::Content,
                ColorToken::Error,
                &format!("Sign-in failed: {cause}"),
            );
        }
        self.paint_question(canvas);
        canvas.blank();
        let mut hints = Vec::new();
        if !matches!(self.question, SignInQuestion::Nothing) {
            hints.push(Hint::key(action::SELECT_CONFIRM, "send"));
        } else if let Some((_, actions)) = self.code()
            && self.failed.is_none()
        {
            let label = match (actions.copy_code, actions.open_browser) {
                (true, true) => Some("copy code and open page"),
                (true, false) => Some("copy code"),
                (false, true) => Some("open page"),
                (false, false) => None,
            };
            hints.extend(label.map(|label| Hint::key(action::SELECT_CONFIRM, label)));
        }
        if self.url().is_some() {
            hints.push(Hint::key(keys::MESSAGE_COPY, "copy URL"));
        }
        hints.push(Hint::leave(if self.failed.is_some() {
            "close"
        } else {
            "cancel"
        }));
        canvas.hints(&hints);
    }

    fn paint_question(&mut self, canvas: &mut DialogCanvas) {
        match &mut self.question {
            SignInQuestion::Nothing | SignInQuestion::Choice { .. } => {
                if self.messages.is_empty() && self.failed.is_none() {
                    canvas.text(RowPriority::Content, ColorToken::Dim, "Waiting…");
                }
            }
            SignInQuestion::Text {
                message,
                example,
                field,
            } => {
                canvas.blank();
                canvas.text(RowPriority::Content, ColorToken::Text, message);
                if let Some(example) = example {
                    let text = format!("for example {example}");
                    canvas.text(RowPriority::Help, ColorToken::Dim, &text);
                }
                canvas.field(field);
            }
            SignInQuestion::Secret { message, field } => {
                canvas.blank();
                canvas.text(RowPriority::Content, ColorToken::Text, message);
                let line = field.line();
                canvas.row(RowPriority::Focus, &line);
            }
        }
    }
}

fn paint_message(message: &SignInMessage, canvas: &mut DialogCanvas) {
    match message {
        SignInMessage::Note(token, text) => canvas.text(RowPriority::Content, *token, text),
        SignInMessage::Code(code, _) => {
            let code = canvas.bold(ColorToken::Warning, code);
            canvas.row(RowPriority::Focus, &format!("   {code}"));
        }
        SignInMessage::Url(url) => {
            // The URL must be complete when it is copied from the screen: it is wrapped, never truncated.
            let links = canvas.context().capabilities.hyperlinks && is_web(url);
            for line in wrap_text(url, canvas.width().saturating_sub(2).max(1)) {
                let line = canvas.paint(ColorToken::Accent, &line);
                let line = if links {
                    format!(" \x1b]8;;{url}\x1b\\{line}\x1b]8;;\x1b\\")
                } else {
                    format!(" {line}")
                };
                canvas.row(RowPriority::Focus, &line);
            }
        }
    }
}
