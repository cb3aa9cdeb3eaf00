//! Signing in: by account or by key, to which provider, and what the sign-in asks on its way.

use pi_ai::{AuthKind, AuthStatus};
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::outbox::Outbox;
use super::picker::Picked;
use super::plain::one_line;
use super::question::{Question, QuestionDialog};
use super::secret_field::SecretField;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::dialog::DialogNews;
use crate::intent::{Answer, Intent};
use crate::look::Look;

mod logout;
mod providers;
mod sign_in;

pub(crate) use logout::LogoutDialog;
use providers::ProviderList;
use sign_in::SignIn;

/// A way to authenticate with a provider.
#[derive(Clone, Debug)]
pub(crate) struct LoginOption {
    pub(crate) provider: String,
    /// Its name for people.
    pub(crate) name: String,
    /// Whether it is an account or a key.
    pub(crate) kind: AuthKind,
    /// What is there already.
    pub(crate) status: Option<AuthStatus>,
    /// Whether questions lead through it: a sign-in, or a key that needs more than itself.
    pub(crate) is_guided: bool,
}

/// What the dialog is doing.
enum Stage {
    Method(QuestionDialog),
    Providers(ProviderList),
    /// What is the key?
    Key(LoginOption, SecretField),
    /// The sign-in takes its course.
    SignIn(SignIn),
}

/// The dialog of signing in.
pub(crate) struct LoginDialog {
    options: Vec<LoginOption>,
    /// The ways the first question offers, in its order.
    kinds: Vec<AuthKind>,
    stage: Stage,
}

impl LoginDialog {
    /// Opens the dialog; `provider` is what the user asked for, by id or name.
    pub(crate) fn open(
        look: Look,
        options: Vec<LoginOption>,
        provider: Option<&str>,
    ) -> Window<Self> {
        let mut pane = Self {
            options,
            kinds: Vec::new(),
            stage: Stage::Method(QuestionDialog::part(Question::default(), &[])),
        };
        let asked = match provider.map(str::trim).filter(|text| !text.is_empty()) {
            None => {
                pane.ask_method();
                None
            }
            Some(text) => pane.go_to(text),
        };
        let window = Window::new(look, pane);
        match asked {
            Some(intent) => window.asking(intent),
            None => window,
        }
    }

    fn ask_method(&mut self) {
        self.ask_method_of("How do you want to sign in?");
    }

    fn ask_method_of(&mut self, title: &str) {
        let offered = |kind: AuthKind| self.options.iter().any(|option| option.kind == kind);
        self.kinds = [AuthKind::OAuth, AuthKind::ApiKey]
            .into_iter()
            .filter(|kind| offered(*kind))
            .collect();
        let labels = self.kinds.iter().map(|kind| match kind {
            AuthKind::OAuth => "With an account or subscription",
            AuthKind::ApiKey => "With an API key",
        });
        let question = Question {
            title: title.to_owned(),
            ..Question::default()
        };
        let labels: Vec<String> = labels.map(str::to_owned).collect();
        self.stage = Stage::Method(QuestionDialog::part(question, &labels));
    }

    /// Goes as far as what the user named allows.
    fn go_to(&mut self, text: &str) -> Option<Intent> {
        let named: Vec<LoginOption> = self
            .options
            .iter()
            .filter(|option| {
                option.provider.eq_ignore_ascii_case(text) || option.name.eq_ignore_ascii_case(text)
            })
            .cloned()
            .collect();
        match named.as_slice() {
            [only] => self.start(only.clone()),
            [first, rest @ ..] if rest.iter().all(|other| other.provider == first.provider) => {
                let title = format!("How do you want to sign in to {}?", one_line(&first.name));
                self.options = named;
                self.ask_method_of(&title);
                None
            }
            _ => {
                let options = self.options.clone();
                self.stage = Stage::Providers(ProviderList::new(options, text));
                None
            }
        }
    }

    fn start(&mut self, option: LoginOption) -> Option<Intent> {
        if !option.is_guided {
            self.stage = Stage::Key(option, SecretField::default());
            return None;
        }
        let (provider, kind) = (option.provider.clone(), option.kind);
        self.stage = Stage::SignIn(SignIn::new(&option.name));
        Some(Intent::SignIn { provider, kind })
    }

    fn choose_method(&mut self, chosen: usize, outbox: &mut Outbox) {
        let Some(kind) = self.kinds.get(chosen).copied() else {
            return;
        };
        let mut options = self.options.clone();
        options.retain(|option| option.kind == kind);
        match options.as_slice() {
            [only] => {
                let intent = self.start(only.clone());
                if let Some(intent) = intent {
                    outbox.send(intent);
                }
            }
            _ => self.stage = Stage::Providers(ProviderList::new(options, "")),
        }
    }

    fn choose_provider(&mut self, picked: Picked, outbox: &mut Outbox) {
        let Stage::Providers(list) = &self.stage else {
            return;
        };
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => {
                if let Some(option) = list.selected().cloned() {
                    let intent = self.start(option);
                    if let Some(intent) = intent {
                        outbox.send(intent);
                    }
                }
            }
            Picked::Cancelled if self.kinds.is_empty() => outbox.close(),
            Picked::Cancelled => self.ask_method(),
        }
    }

    fn settle_method(&mut self, inner: &mut Outbox, outbox: &mut Outbox) {
        for intent in inner.take() {
            match intent {
                Intent::Answer(Answer::Chosen(chosen)) => self.choose_method(chosen, outbox),
                _ => outbox.close(),
            }
        }
    }

    fn handle_key_stage(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let Stage::Key(option, field) = &mut self.stage else {
            return InputOutcome::Ignored;
        };
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                outbox.close();
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, action::SELECT_CONFIRM) {
                if let Some(key) = field.value() {
                    let provider = option.provider.clone();
                    outbox.finish(Intent::StoreKey { provider, key });
                }
                return InputOutcome::Consumed;
            }
        }
        if field.handle(event, context) {
            InputOutcome::Consumed
        } else {
            InputOutcome::Ignored
        }
    }
}

impl Pane for LoginDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        match &mut self.stage {
            Stage::Method(question) => question.paint(sheet),
            Stage::Providers(list) => list.paint(
                sheet,
                "Which provider?",
                &[
                    Hint::movement(),
                    Hint::key(action::SELECT_CONFIRM, "choose"),
                    Hint::leave("back"),
                ],
            ),
            Stage::Key(option, field) => {
                sheet.blank();
                sheet.title(&format!("API key of {}", one_line(&option.name)));
                let text = "It is stored in auth.json for you alone, and never shown again.";
                sheet.text(Weight::Help, ColorToken::Muted, text);
                sheet.blank();
                let line = field.line();
                sheet.row(Weight::Focus, &line);
                sheet.blank();
                sheet.hints(&[
                    Hint::key(action::SELECT_CONFIRM, "save"),
                    Hint::leave("cancel"),
                ]);
            }
            Stage::SignIn(sign_in) => sign_in.paint(sheet),
        }
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        match &mut self.stage {
            Stage::Method(question) => {
                let mut inner = Outbox::default();
                let outcome = question.handle(event, context, &mut inner);
                self.settle_method(&mut inner, outbox);
                outcome
            }
            Stage::Providers(list) => match list.key(event, context) {
                Ok(picked) => {
                    self.choose_provider(picked, outbox);
                    InputOutcome::Consumed
                }
                Err(outcome) => outcome,
            },
            Stage::Key(..) => self.handle_key_stage(event, context, outbox),
            Stage::SignIn(sign_in) => sign_in.handle(event, context, outbox),
        }
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        match &mut self.stage {
            Stage::Method(question) => {
                let mut inner = Outbox::default();
                let used = question.mouse(event, hit, context, &mut inner);
                self.settle_method(&mut inner, outbox);
                used
            }
            Stage::Providers(list) => match list.mouse(event, hit, context) {
                Ok(picked) => {
                    self.choose_provider(picked, outbox);
                    true
                }
                Err(used) => used,
            },
            Stage::SignIn(sign_in) => sign_in.mouse(event, hit, context, outbox),
            Stage::Key(..) => false,
        }
    }

    fn set_focused(&mut self, focused: bool) {
        match &mut self.stage {
            Stage::Providers(list) => list.set_focused(focused),
            Stage::Key(_, field) => field.set_focused(focused),
            Stage::SignIn(sign_in) => sign_in.set_focused(focused),
            Stage::Method(_) => {}
        }
    }

    fn feed(&mut self, news: DialogNews, outbox: &mut Outbox) {
        if let Stage::SignIn(sign_in) = &mut self.stage {
            sign_in.feed(news, outbox);
        }
    }
}

#[cfg(test)]
mod tests;
