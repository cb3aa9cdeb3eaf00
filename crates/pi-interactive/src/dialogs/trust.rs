//! Whether a project's own settings and extensions count: asked at the start, changed later.

use std::path::PathBuf;

use pi_config::TrustChoice;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::list_pane::ListPane;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::{one_line, path_line};
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::intent::Intent;
use crate::look::Look;

/// What leaving the dialog means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Occasion {
    /// The project was opened; who does not decide does not trust it.
    Start,
    /// The user wants to change something; nothing changes.
    Change {
        /// What is saved, and what counts now.
        state: Vec<String>,
        /// The choice that is saved.
        saved: Option<usize>,
    },
}

/// The dialog about trusting a project.
#[derive(Debug)]
pub(crate) struct TrustDialog {
    folder: PathBuf,
    choices: Vec<TrustChoice>,
    picker: Picker,
    occasion: Occasion,
}

impl TrustDialog {
    /// Asks at the start; leaving the question does not trust the project for this session.
    pub(crate) fn ask(look: Look, folder: PathBuf, choices: Vec<TrustChoice>) -> Window<Self> {
        Self::new(look, folder, choices, Occasion::Start)
    }

    /// Lets the user change what is saved; `state` says what that is and what counts now.
    pub(crate) fn change(
        look: Look,
        folder: PathBuf,
        choices: Vec<TrustChoice>,
        state: Vec<String>,
        saved: Option<usize>,
    ) -> Window<Self> {
        Self::new(look, folder, choices, Occasion::Change { state, saved })
    }

    fn new(
        look: Look,
        folder: PathBuf,
        choices: Vec<TrustChoice>,
        occasion: Occasion,
    ) -> Window<Self> {
        let mut picker = Picker::new(choices.len(), Edge::Stop);
        if let Occasion::Change {
            saved: Some(saved), ..
        } = &occasion
        {
            picker.select(*saved);
        }
        let pane = Self {
            folder,
            choices,
            picker,
            occasion,
        };
        Window::new(look, pane)
    }
}

impl ListPane for TrustDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match (picked, &self.occasion) {
            (Picked::Moved, _) => {}
            (Picked::Confirmed, _) => {
                if let Some(choice) = self.choices.get(self.picker.selected()) {
                    outbox.finish(Intent::Trust(choice.clone()));
                }
            }
            (Picked::Cancelled, Occasion::Start) => {
                outbox.finish(Intent::Trust(TrustChoice::DenyOnce));
            }
            (Picked::Cancelled, Occasion::Change { .. }) => outbox.close(),
        }
    }
}

impl Pane for TrustDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        let folder = path_line(&self.folder, &sheet.appearance());
        sheet.blank();
        match &self.occasion {
            Occasion::Start => {
                sheet.title("Do you trust this project?");
                sheet.text(Weight::Title, ColorToken::Warning, &folder);
                sheet.blank();
                let text = "It has files of its own for pi. Trusting it lets pi read its settings, \
                            load its skills and prompts, install its packages and run its \
                            extensions, which can do whatever you can.";
                sheet.text(Weight::Detail, ColorToken::Text, text);
            }
            Occasion::Change { state, .. } => {
                sheet.title("Trust in this project");
                sheet.text(Weight::Title, ColorToken::Muted, &folder);
                sheet.blank();
                for line in state {
                    sheet.text(Weight::Detail, ColorToken::Muted, &one_line(line));
                }
            }
        }
        sheet.blank();
        let saved = match &self.occasion {
            Occasion::Change { saved, .. } => *saved,
            Occasion::Start => None,
        };
        let visible = self
            .picker
            .window(sheet.list_rows(self.choices.len(), 1, 1));
        for index in visible {
            let Some(choice) = self.choices.get(index) else {
                continue;
            };
            let mark = match (&self.occasion, saved == Some(index)) {
                (Occasion::Start, _) => "",
                (Occasion::Change { .. }, true) => "✓ ",
                (Occasion::Change { .. }, false) => "  ",
            };
            let label = format!("{mark}{}", one_line(&choice.label()));
            sheet.choice(index, index == self.picker.selected(), &label, "");
        }
        sheet.blank();
        let leave = match self.occasion {
            Occasion::Start => "do not trust it now",
            Occasion::Change { .. } => "cancel",
        };
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave(leave),
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
