//! Sign-in: method, provider, API key or provider flow.

use pi_protocol::{AuthKind, LoginOption};
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::picker::PickerEvent;
use super::plain_text::one_line;
use super::question::{QuestionDialog, QuestionOptions};
use super::secret_field::SecretField;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::{Intent, QuestionAnswer};
use crate::theme::ui_theme::UiTheme;

mod logout;
mod providers;
mod sign_in;

pub(crate) use logout::LogoutDialog;
use providers::ProviderList;
use sign_in::SignInView;

enum LoginStep {
    Method(QuestionDialog),
    Providers(ProviderList),
    /// The API key is typed.
    Key(LoginOption, SecretField),
    /// The provider's flow is running.
    SignIn(SignInView),
}

/// A choice of the first question.
enum LoginMethod {
    Kind(AuthKind),
    /// A provider that is offered directly.
    Provider(LoginOption),
}

/// The provider that the first question offers as its last choice.
const DIRECT_PROVIDER: &str = "radius";

pub(crate) struct LoginDialog {
    options: Vec<LoginOption>,
    /// The choices of the first question, in its order; empty if it was skipped.
    methods: Vec<LoginMethod>,
    step: LoginStep,
}

impl LoginDialog {
    /// Opens the dialog; `provider` is the ID or name the user typed.
    pub(crate) fn open(
        ui: UiTheme,
        options: Vec<LoginOption>,
        provider: Option<&str>,
    ) -> DialogFrame<Self> {
        let mut body = Self {
            options,
            methods: Vec::new(),
            step: LoginStep::Method(QuestionDialog::embedded(QuestionOptions::default(), &[])),
        };
        let intent = match provider.map(str::trim).filter(|text| !text.is_empty()) {
            None => {
                body.ask_method();
                None
            }
            Some(text) => body.select_named(text),
        };
        let frame = DialogFrame::new(ui, body);
        match intent {
            Some(intent) => frame.with_intent(intent),
            None => frame,
        }
    }

    fn ask_method(&mut self) {
        self.ask_method_of("Choose a sign-in method");
    }

    fn ask_method_of(&mut self, title: &str) {
        let offered = |kind: AuthKind| self.options.iter().any(|option| option.kind == kind);
        let is_all = self.options.iter().any(|it| it.provider != DIRECT_PROVIDER);
        let direct = self.options.iter().find(|option| {
            is_all && option.provider == DIRECT_PROVIDER && option.kind == AuthKind::OAuth
        });
        self.methods = [AuthKind::OAuth, AuthKind::ApiKey]
            .into_iter()
            .filter(|kind| offered(*kind))
            .map(LoginMethod::Kind)
            .chain(direct.cloned().map(LoginMethod::Provider))
            .collect();
        let labels = self.methods.iter().map(|method| match method {
            LoginMethod::Kind(AuthKind::OAuth) => "Account or subscription".to_owned(),
            LoginMethod::Kind(AuthKind::ApiKey) => "API key".to_owned(),
            LoginMethod::Provider(option) => format!("Sign in with {}", one_line(&option.name)),
        });
        let question = QuestionOptions {
            title: title.to_owned(),
            ..QuestionOptions::default()
        };
        let labels: Vec<String> = labels.collect();
        self.step = LoginStep::Method(QuestionDialog::embedded(question, &labels));
    }

    /// Goes as far as the named provider allows.
    fn select_named(&mut self, text: &str) -> Option<Intent> {
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
                let title = format!("Choose a sign-in method for {}", one_line(&first.name));
                self.options = named;
                self.ask_method_of(&title);
                None
            }
            _ => {
                let options = self.options.clone();
                self.step = LoginStep::Providers(ProviderList::new(options, text));
                None
            }
        }
    }

    fn start(&mut self, option: LoginOption) -> Option<Intent> {
        if !option.is_guided {
            self.step = LoginStep::Key(option, SecretField::default());
            return None;
        }
        let (provider, kind) = (option.provider.clone(), option.kind);
        self.step = LoginStep::SignIn(SignInView::new(&option.name));
        Some(Intent::SignIn { provider, kind })
    }

    fn choose_method(&mut self, chosen: usize, sink: &mut IntentSink) {
        let kind = match self.methods.get(chosen) {
            Some(LoginMethod::Kind(kind)) => *kind,
            Some(LoginMethod::Provider(option)) => {
                let option = option.clone();
                self.start_and_send(option, sink);
                return;
            }
            None => return,
        };
        let mut options = self.options.clone();
        options.retain(|option| option.kind == kind);
        match options.as_slice() {
            [only] => self.start_and_send(only.clone(), sink),
            _ => self.step = LoginStep::Providers(ProviderList::new(options, "")),
        }
    }

    fn choose_provider(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        let LoginStep::Providers(list) = &self.step else {
            return;
        };
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => {
                if let Some(option) = list.selected().cloned() {
                    self.start_and_send(option, sink);
                }
            }
            PickerEvent::Canceled => self.leave_step(sink),
        }
    }

    fn start_and_send(&mut self, option: LoginOption, sink: &mut IntentSink) {
        if let Some(intent) = self.start(option) {
            sink.send(intent);
        }
    }

    /// Returns to the first question, or closes the dialog if it was skipped.
    fn leave_step(&mut self, sink: &mut IntentSink) {
        if self.methods.is_empty() {
            sink.close();
        } else {
            self.ask_method();
        }
    }

    /// Passes on what a sign-in requests. One that the user leaves returns to the first question.
    fn forward(&mut self, mut inner: IntentSink, sink: &mut IntentSink) {
        let intents = inner.take();
        let is_canceled = intents
            .iter()
            .any(|intent| matches!(intent, Intent::CancelSignIn));
        for intent in intents {
            sink.send(intent);
        }
        if inner.is_closed() && is_canceled {
            self.leave_step(sink);
        } else if inner.is_closed() {
            sink.close();
        }
    }

    fn handle_method_intents(&mut self, inner: &mut IntentSink, sink: &mut IntentSink) {
        for intent in inner.take() {
            match intent {
                Intent::Answer(QuestionAnswer::Chosen(chosen)) => self.choose_method(chosen, sink),
                _ => sink.close(),
            }
        }
    }

    fn handle_key_step(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let LoginStep::Key(option, field) = &mut self.step else {
            return InputOutcome::Ignored;
        };
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::SELECT_CANCEL) {
                self.leave_step(sink);
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, action::SELECT_CONFIRM) {
                if let Some(key) = field.value() {
                    let provider = option.provider.clone();
                    sink.finish(Intent::StoreKey { provider, key });
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

impl DialogBody for LoginDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        match &mut self.step {
            LoginStep::Method(question) => question.paint(canvas),
            LoginStep::Providers(list) => list.paint(
                canvas,
                "Choose a provider",
                &[
                    Hint::movement(),
                    Hint::key(action::SELECT_CONFIRM, "choose"),
                    Hint::leave("back"),
                ],
            ),
            LoginStep::Key(option, field) => {
                canvas.blank();
                canvas.title(&format!("API key for {}", one_line(&option.name)));
                let text = "Stored in auth.json, readable only by you.";
                canvas.text(RowPriority::Help, ColorToken::Muted, text);
                canvas.blank();
                let line = field.line();
                canvas.row(RowPriority::Focus, &line);
                canvas.blank();
                canvas.hints(&[
                    Hint::key(action::SELECT_CONFIRM, "save"),
                    Hint::leave("cancel"),
                ]);
            }
            LoginStep::SignIn(sign_in) => sign_in.paint(canvas),
        }
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        match &mut self.step {
            LoginStep::Method(question) => {
                let mut inner = IntentSink::default();
                let outcome = question.handle(event, context, &mut inner);
                self.handle_method_intents(&mut inner, sink);
                outcome
            }
            LoginStep::Providers(list) => match list.key(event, context) {
                Ok(picked) => {
                    self.choose_provider(picked, sink);
                    InputOutcome::Consumed
                }
                Err(outcome) => outcome,
            },
            LoginStep::Key(..) => self.handle_key_step(event, context, sink),
            LoginStep::SignIn(sign_in) => {
                let mut inner = IntentSink::default();
                let outcome = sign_in.handle(event, context, &mut inner);
                self.forward(inner, sink);
                outcome
            }
        }
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        match &mut self.step {
            LoginStep::Method(question) => {
                let mut inner = IntentSink::default();
                let used = question.mouse(event, hit, context, &mut inner);
                self.handle_method_intents(&mut inner, sink);
                used
            }
            LoginStep::Providers(list) => match list.mouse(event, hit, context) {
                Ok(picked) => {
                    self.choose_provider(picked, sink);
                    true
                }
                Err(used) => used,
            },
            LoginStep::SignIn(sign_in) => {
                let mut inner = IntentSink::default();
                let used = sign_in.mouse(event, hit, context, &mut inner);
                self.forward(inner, sink);
                used
            }
            LoginStep::Key(..) => false,
        }
    }

    fn set_focused(&mut self, focused: bool) {
        match &mut self.step {
            LoginStep::Providers(list) => list.set_focused(focused),
            LoginStep::Key(_, field) => field.set_focused(focused),
            LoginStep::SignIn(sign_in) => sign_in.set_focused(focused),
            LoginStep::Method(_) => {}
        }
    }

    fn on_update(&mut self, update: DialogUpdate, sink: &mut IntentSink) {
        if let LoginStep::SignIn(sign_in) = &mut self.step {
            sign_in.on_update(update, sink);
        }
    }
}

#[cfg(test)]
mod tests;
