//! The very first start: a theme, seen at once, and how to sign in. Nothing is sent anywhere.

use pi_tui::{ColorScheme, ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::list_pane::ListPane;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::intent::{Intent, SettingChange};
use crate::look::Look;

/// Following the terminal, then the themes themselves.
const THEMES: [(&str, &str); 3] = [
    ("light/dark", "Follow the terminal"),
    ("dark", "Dark"),
    ("light", "Light"),
];

/// What is asked at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Theme,
    SignIn,
}

/// The dialog of the first start.
#[derive(Debug)]
pub(crate) struct FirstStartDialog {
    step: Step,
    picker: Picker,
    scheme: ColorScheme,
    /// Providers that work already, such as by a key in the environment.
    ready: Vec<String>,
}

impl FirstStartDialog {
    /// Opens the dialog; `ready` names the providers that need no sign-in.
    pub(crate) fn open(look: Look, scheme: ColorScheme, ready: Vec<String>) -> Window<Self> {
        let pane = Self {
            step: Step::Theme,
            picker: Picker::new(THEMES.len(), Edge::Stop),
            scheme,
            ready,
        };
        Window::new(look, pane)
    }

    fn theme(&self) -> &'static str {
        let chosen = THEMES.get(self.picker.selected());
        chosen.map_or("dark", |(theme, _)| *theme)
    }

    fn paint_theme(&mut self, sheet: &mut Sheet) {
        let scheme = match self.scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        sheet.text(Weight::Title, ColorToken::Text, "Which colors do you like?");
        let text = format!("Your terminal looks {scheme} at the moment.");
        sheet.text(Weight::Help, ColorToken::Muted, &text);
        sheet.blank();
        for (index, (_, label)) in THEMES.iter().enumerate() {
            sheet.choice(index, index == self.picker.selected(), label, "");
        }
    }

    fn paint_sign_in(&mut self, sheet: &mut Sheet) {
        let text = if self.ready.is_empty() {
            "pi needs a model to talk to. Sign in with a subscription or an API key.".to_owned()
        } else {
            let names: Vec<String> = self.ready.iter().map(|name| one_line(name)).collect();
            format!("You can begin at once with {}.", names.join(", "))
        };
        sheet.text(Weight::Title, ColorToken::Text, &text);
        let text = "/login does the same at any time. Keys in the environment are found, too.";
        sheet.text(Weight::Help, ColorToken::Muted, text);
        sheet.blank();
        for (index, label) in ["Sign in now", "Later"].iter().enumerate() {
            sheet.choice(index, index == self.picker.selected(), label, "");
        }
    }
}

impl ListPane for FirstStartDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match (picked, self.step) {
            (Picked::Moved, Step::Theme) => {
                outbox.send(Intent::PreviewTheme(self.theme().to_owned()));
            }
            (Picked::Moved, Step::SignIn) => {}
            (Picked::Confirmed, Step::Theme) => {
                let theme = self.theme().to_owned();
                outbox.send(Intent::ChangeSetting(SettingChange::Theme(theme)));
                self.step = Step::SignIn;
                self.picker = Picker::new(2, Edge::Stop);
                self.picker.select(usize::from(!self.ready.is_empty()));
            }
            (Picked::Confirmed, Step::SignIn) => {
                outbox.send(Intent::FinishFirstStart);
                if self.picker.selected() == 0 {
                    outbox.send(Intent::OpenLogin);
                }
                outbox.close();
            }
            (Picked::Cancelled, Step::Theme) => {
                outbox.send(Intent::EndThemePreview);
                outbox.finish(Intent::FinishFirstStart);
            }
            (Picked::Cancelled, Step::SignIn) => outbox.finish(Intent::FinishFirstStart),
        }
    }
}

impl Pane for FirstStartDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title("Welcome to pi");
        sheet.blank();
        match self.step {
            Step::Theme => self.paint_theme(sheet),
            Step::SignIn => self.paint_sign_in(sheet),
        }
        sheet.blank();
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("skip"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        self.pick(event, context, outbox)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        _context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        self.point(event, hit, outbox)
    }
}

#[cfg(test)]
mod tests;
