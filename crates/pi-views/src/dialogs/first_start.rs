//! The first-start dialog: theme selection with preview, then sign-in. Sends nothing.

use pi_protocol::settings::SettingChange;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::ListBody;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

/// Value of the theme setting, and its label.
const THEMES: [(&str, &str); 3] = [("system", "System"), ("dark", "Dark"), ("light", "Light")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupStep {
    Theme,
    SignIn,
}

#[derive(Debug)]
pub(crate) struct FirstStartDialog {
    step: SetupStep,
    picker: Picker,
    /// Providers that are already configured, such as by an environment variable.
    ready: Vec<String>,
}

impl FirstStartDialog {
    /// Opens the dialog; `ready` names the providers that need no sign-in.
    pub(crate) fn open(ui: UiTheme, ready: Vec<String>) -> DialogFrame<Self> {
        let body = Self {
            step: SetupStep::Theme,
            picker: Picker::new(THEMES.len(), EdgeBehavior::Stop),
            ready,
        };
        DialogFrame::new(ui, body)
    }

    fn theme(&self) -> &'static str {
        let chosen = THEMES.get(self.picker.selected());
        chosen.map_or("system", |(theme, _)| *theme)
    }

    fn paint_theme(&mut self, canvas: &mut DialogCanvas) {
        canvas.text(RowPriority::Title, ColorToken::Text, "Choose a theme");
        canvas.blank();
        for (index, (theme, label)) in THEMES.iter().enumerate() {
            let note = match *theme {
                "system" => canvas.paint(ColorToken::Muted, "  the colors of your terminal"),
                _ => String::new(),
            };
            canvas.choice(index, index == self.picker.selected(), label, &note);
        }
    }

    fn paint_sign_in(&mut self, canvas: &mut DialogCanvas) {
        let text = if self.ready.is_empty() {
            "Sign in with a subscription or an API key to use a model.".to_owned()
        } else {
            let names: Vec<String> = self.ready.iter().map(|name| one_line(name)).collect();
            format!("Ready to use: {}.", names.join(", "))
        };
        canvas.text(RowPriority::Title, ColorToken::Text, &text);
        let text = "You can run /login at any time. API keys in environment variables also work.";
        canvas.text(RowPriority::Help, ColorToken::Muted, text);
        canvas.blank();
        for (index, label) in ["Sign in now", "Skip"].iter().enumerate() {
            canvas.choice(index, index == self.picker.selected(), label, "");
        }
    }
}

impl ListBody for FirstStartDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, self.step) {
            (PickerEvent::Moved, SetupStep::Theme) => {
                sink.send(Intent::PreviewTheme(self.theme().to_owned()));
            }
            (PickerEvent::Moved, SetupStep::SignIn) => {}
            (PickerEvent::Confirmed, SetupStep::Theme) => {
                let theme = self.theme().to_owned();
                sink.send(Intent::ChangeSetting(SettingChange::Theme(theme)));
                self.step = SetupStep::SignIn;
                self.picker = Picker::new(2, EdgeBehavior::Stop);
                self.picker.select(usize::from(!self.ready.is_empty()));
            }
            (PickerEvent::Confirmed, SetupStep::SignIn) => {
                sink.send(Intent::FinishFirstStart);
                if self.picker.selected() == 0 {
                    sink.send(Intent::OpenLogin);
                }
                sink.close();
            }
            (PickerEvent::Canceled, SetupStep::Theme) => {
                sink.send(Intent::EndThemePreview);
                sink.finish(Intent::FinishFirstStart);
            }
            (PickerEvent::Canceled, SetupStep::SignIn) => sink.finish(Intent::FinishFirstStart),
        }
    }
}

impl DialogBody for FirstStartDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title("Welcome to pi");
        canvas.blank();
        match self.step {
            SetupStep::Theme => self.paint_theme(canvas),
            SetupStep::SignIn => self.paint_sign_in(canvas),
        }
        canvas.blank();
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("skip"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        self.handle_list_key(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.handle_list_mouse(event, hit, sink)
    }
}

#[cfg(test)]
mod tests;
