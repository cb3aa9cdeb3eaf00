//! A sign-in under way: what it shows, what it asks, how it ends.
//!
//! Addresses come from a provider's server. They are shown as text; only web addresses become links
//! or reach the browser.

use pi_ai::{LoginEvent, LoginPrompt};
use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, MouseEvent, action,
    wrap_text,
};

use super::super::field::{point_at_field, prefilled};
use super::super::hint::Hint;
use super::super::outbox::Outbox;
use super::super::plain::{lines_of, one_line};
use super::super::question::{Question, QuestionDialog};
use super::super::secret_field::SecretField;
use super::super::sheet::{Hit, Sheet, Weight};
use super::super::window::Pane;
use crate::dialog::DialogNews;
use crate::intent::{Answer, Intent};
use crate::keys;
use crate::web_address::is_web;

/// Lines of news that are kept; older ones scroll out.
const MOST_NEWS: usize = 12;

/// What is asked at the moment.
enum Asked {
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
        ids: Vec<&'static str>,
        question: QuestionDialog,
    },
}

/// Something that was told.
enum Told {
    Address(String),
    Code(String),
    Note(ColorToken, String),
}

/// A sign-in under way.
pub(super) struct SignIn {
    provider: String,
    told: Vec<Told>,
    asked: Asked,
    failed: Option<String>,
}

impl SignIn {
    pub(super) fn new(provider: &str) -> Self {
        Self {
            provider: one_line(provider),
            told: Vec::new(),
            asked: Asked::Nothing,
            failed: None,
        }
    }

    fn address(&self) -> Option<&str> {
        self.told.iter().rev().find_map(|told| match told {
            Told::Address(address) => Some(address.as_str()),
            Told::Code(_) | Told::Note(..) => None,
        })
    }

    fn tell(&mut self, told: Told) {
        self.told.push(told);
        if self.told.len() > MOST_NEWS {
            self.told.remove(0);
        }
    }

    fn show(&mut self, event: LoginEvent, outbox: &mut Outbox) {
        match event {
            LoginEvent::Info { message, links } => {
                self.tell(Told::Note(ColorToken::Text, lines_of(&message)));
                for link in links {
                    let label = one_line(&link.label);
                    self.tell(Told::Note(ColorToken::Muted, label));
                    self.tell(Told::Address(one_line(&link.url)));
                }
            }
            LoginEvent::AuthUrl { url, instructions } => {
                let address = one_line(&url);
                if is_web(&address) {
                    outbox.send(Intent::OpenUrl(address.clone()));
                }
                self.told.clear();
                self.tell(Told::Note(
                    ColorToken::Text,
                    "Your browser opens this page:".to_owned(),
                ));
                self.tell(Told::Address(address));
                if !instructions.is_empty() {
                    self.tell(Told::Note(ColorToken::Warning, lines_of(&instructions)));
                }
            }
            LoginEvent::DeviceCode {
                user_code,
                verification_uri,
                ..
            } => {
                self.told.clear();
                self.tell(Told::Note(
                    ColorToken::Text,
                    "Open this page on any device and enter the code:".to_owned(),
                ));
                self.tell(Told::Address(one_line(&verification_uri)));
                self.tell(Told::Code(one_line(&user_code)));
            }
            LoginEvent::Progress { message } => {
                self.tell(Told::Note(ColorToken::Dim, lines_of(&message)));
            }
        }
    }

    fn ask(&mut self, prompt: LoginPrompt) {
        self.asked = match prompt {
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
                Asked::Text {
                    message: lines_of(&message),
                    example: placeholder.map(|example| one_line(&example)),
                    field,
                }
            }
            LoginPrompt::Secret { message } => Asked::Secret {
                message: lines_of(&message),
                field: SecretField::default(),
            },
            LoginPrompt::Select { message, choices } => {
                let question = Question {
                    title: message,
                    ..Question::default()
                };
                let ids = choices.iter().map(|choice| choice.id).collect();
                let labels: Vec<String> = choices.into_iter().map(|choice| choice.label).collect();
                Asked::Choice {
                    ids,
                    question: QuestionDialog::part(question, &labels),
                }
            }
        };
    }

    fn code(&self) -> Option<&str> {
        self.told.iter().rev().find_map(|told| match told {
            Told::Code(code) => Some(code.as_str()),
            Told::Address(_) | Told::Note(..) => None,
        })
    }

    /// Copies the code and opens the page to enter it at.
    fn go_to_page(&self, outbox: &mut Outbox) {
        let (Some(code), Some(address)) = (self.code(), self.address()) else {
            return;
        };
        outbox.send(Intent::CopyText(code.to_owned()));
        if is_web(address) {
            outbox.send(Intent::OpenUrl(address.to_owned()));
        }
    }

    fn answer(&mut self, outbox: &mut Outbox) {
        let answer = match &self.asked {
            Asked::Nothing => return self.go_to_page(outbox),
            Asked::Choice { .. } => return,
            Asked::Text { field, .. } => field.value().to_owned(),
            // Some secrets may be left out; who asked says so if this one may not.
            Asked::Secret { field, .. } => field.value().map_or_else(String::new, |it| it.0),
        };
        self.asked = Asked::Nothing;
        outbox.send(Intent::AnswerSignIn(answer));
    }

    fn leave(&self, outbox: &mut Outbox) {
        if self.failed.is_none() {
            outbox.send(Intent::CancelSignIn);
        }
        outbox.close();
    }

    fn settle_choice(&mut self, inner: &mut Outbox, outbox: &mut Outbox) {
        for intent in inner.take() {
            let chosen = match (&self.asked, intent) {
                (Asked::Choice { ids, .. }, Intent::Answer(Answer::Chosen(index))) => {
                    ids.get(index).copied()
                }
                _ => None,
            };
            match chosen {
                Some(id) => {
                    self.asked = Asked::Nothing;
                    outbox.send(Intent::AnswerSignIn(id.to_owned()));
                }
                None => self.leave(outbox),
            }
        }
    }

    pub(super) fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let Asked::Choice { question, .. } = &mut self.asked {
            let mut inner = Outbox::default();
            let outcome = question.handle(event, context, &mut inner);
            self.settle_choice(&mut inner, outbox);
            return outcome;
        }
        if let InputEvent::Key(key) = event {
            let means = |action| context.keybindings.matches(key, action);
            if means(action::SELECT_CANCEL) {
                self.leave(outbox);
                return InputOutcome::Consumed;
            }
            if means(action::SELECT_CONFIRM) {
                if self.failed.is_some() {
                    self.leave(outbox);
                } else {
                    self.answer(outbox);
                }
                return InputOutcome::Consumed;
            }
            if means(keys::MESSAGE_COPY) {
                if let Some(address) = self.address() {
                    outbox.send(Intent::CopyText(address.to_owned()));
                }
                return InputOutcome::Consumed;
            }
        }
        let used = match &mut self.asked {
            Asked::Text { field, .. } => return field.handle_input(event, context),
            Asked::Secret { field, .. } => field.handle(event, context),
            Asked::Nothing | Asked::Choice { .. } => false,
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
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        match &mut self.asked {
            Asked::Text { field, .. } => point_at_field(field, event, hit, context),
            Asked::Choice { question, .. } => {
                let mut inner = Outbox::default();
                let used = question.mouse(event, hit, context, &mut inner);
                self.settle_choice(&mut inner, outbox);
                used
            }
            Asked::Nothing | Asked::Secret { .. } => false,
        }
    }

    pub(super) fn set_focused(&mut self, focused: bool) {
        match &mut self.asked {
            Asked::Text { field, .. } => field.set_focused(focused),
            Asked::Secret { field, .. } => field.set_focused(focused),
            Asked::Nothing | Asked::Choice { .. } => {}
        }
    }

    pub(super) fn feed(&mut self, news: DialogNews, outbox: &mut Outbox) {
        match news {
            DialogNews::SignIn(event) => self.show(event, outbox),
            DialogNews::SignInPrompt(prompt) => self.ask(prompt),
            DialogNews::SignInPromptWithdrawn => self.asked = Asked::Nothing,
            DialogNews::SignInEnded(Ok(())) => outbox.close(),
            DialogNews::SignInEnded(Err(cause)) | DialogNews::Failed(cause) => {
                self.asked = Asked::Nothing;
                self.failed = Some(lines_of(&cause));
            }
            _ => {}
        }
    }

    pub(super) fn paint(&mut self, sheet: &mut Sheet) {
        if let Asked::Choice { question, .. } = &mut self.asked {
            question.paint(sheet);
            return;
        }
        sheet.blank();
        sheet.title(&format!("Sign in to {}", self.provider));
        sheet.blank();
        for told in &self.told {
            paint_told(told, sheet);
        }
        if let Some(cause) = &self.failed {
            sheet.text(
                Weight::Content,
                ColorToken::Error,
                &format!("It failed: {cause}"),
            );
        }
        self.paint_asked(sheet);
        sheet.blank();
        let mut hints = Vec::new();
        if !matches!(self.asked, Asked::Nothing) {
            hints.push(Hint::key(action::SELECT_CONFIRM, "send"));
        } else if self.code().is_some() && self.failed.is_none() {
            hints.push(Hint::key(
                action::SELECT_CONFIRM,
                "copy the code and open the page",
            ));
        }
        if self.address().is_some() {
            hints.push(Hint::key(keys::MESSAGE_COPY, "copy the address"));
        }
        hints.push(Hint::leave(if self.failed.is_some() {
            "close"
        } else {
            "give up"
        }));
        sheet.hints(&hints);
    }

    fn paint_asked(&mut self, sheet: &mut Sheet) {
        match &mut self.asked {
            Asked::Nothing | Asked::Choice { .. } => {
                if self.told.is_empty() && self.failed.is_none() {
                    sheet.text(Weight::Content, ColorToken::Dim, "One moment…");
                }
            }
            Asked::Text {
                message,
                example,
                field,
            } => {
                sheet.blank();
                sheet.text(Weight::Content, ColorToken::Text, message);
                if let Some(example) = example {
                    let text = format!("such as {example}");
                    sheet.text(Weight::Help, ColorToken::Dim, &text);
                }
                sheet.field(field);
            }
            Asked::Secret { message, field } => {
                sheet.blank();
                sheet.text(Weight::Content, ColorToken::Text, message);
                let line = field.line();
                sheet.row(Weight::Focus, &line);
            }
        }
    }
}

fn paint_told(told: &Told, sheet: &mut Sheet) {
    match told {
        Told::Note(token, text) => sheet.text(Weight::Content, *token, text),
        Told::Code(code) => {
            let code = sheet.bold(ColorToken::Warning, code);
            sheet.row(Weight::Focus, &format!("   {code}"));
        }
        Told::Address(address) => {
            // The address must be complete wherever it is copied from: it is wrapped, never cut.
            let links = sheet.appearance().capabilities.hyperlinks && is_web(address);
            for line in wrap_text(address, sheet.width().saturating_sub(2).max(1)) {
                let line = sheet.paint(ColorToken::Accent, &line);
                let line = if links {
                    format!(" \x1b]8;;{address}\x1b\\{line}\x1b]8;;\x1b\\")
                } else {
                    format!(" {line}")
                };
                sheet.row(Weight::Focus, &line);
            }
        }
    }
}
