//! Whether a project's own settings and extensions count: asked at the start, changed later.

use std::path::PathBuf;

use pi_config::TrustChoice;
use pi_tui::{ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::ListBody;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::{one_line, path_line};
use crate::intent::Intent;
use crate::ui_theme::UiTheme;

/// What leaving the dialog means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TrustMode {
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
    mode: TrustMode,
}

impl TrustDialog {
    /// Asks at the start; leaving the question does not trust the project for this session.
    pub(crate) fn ask(
        ui: UiTheme,
        folder: PathBuf,
        choices: Vec<TrustChoice>,
    ) -> DialogFrame<Self> {
        Self::new(ui, folder, choices, TrustMode::Start)
    }

    /// Lets the user change what is saved; `state` says what that is and what counts now.
    pub(crate) fn change(
        ui: UiTheme,
        folder: PathBuf,
        choices: Vec<TrustChoice>,
        state: Vec<String>,
        saved: Option<usize>,
    ) -> DialogFrame<Self> {
        Self::new(ui, folder, choices, TrustMode::Change { state, saved })
    }

    fn new(
        ui: UiTheme,
        folder: PathBuf,
        choices: Vec<TrustChoice>,
        mode: TrustMode,
    ) -> DialogFrame<Self> {
        let mut picker = Picker::new(choices.len(), EdgeBehavior::Stop);
        if let TrustMode::Change {
            saved: Some(saved), ..
        } = &mode
        {
            picker.select(*saved);
        }
        let body = Self {
            folder,
            choices,
            picker,
            mode,
        };
        DialogFrame::new(ui, body)
    }
}

impl ListBody for TrustDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, &self.mode) {
            (PickerEvent::Moved, _) => {}
            (PickerEvent::Confirmed, _) => {
                if let Some(choice) = self.choices.get(self.picker.selected()) {
                    sink.finish(Intent::Trust(choice.clone()));
                }
            }
            (PickerEvent::Canceled, TrustMode::Start) => {
                sink.finish(Intent::Trust(TrustChoice::RefuseOnce));
            }
            (PickerEvent::Canceled, TrustMode::Change { .. }) => sink.close(),
        }
    }
}

impl DialogBody for TrustDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        let folder = path_line(&self.folder, &canvas.context());
        canvas.blank();
        match &self.mode {
            TrustMode::Start => {
                canvas.title("Do you trust this project?");
                canvas.text(RowPriority::Title, ColorToken::Warning, &folder);
                canvas.blank();
                let text = "It has files of its own for pi. Trusting it lets pi read its settings, \
                            load its skills and prompts, install its packages and run its \
                            extensions, which can do whatever you can.";
                canvas.text(RowPriority::Detail, ColorToken::Text, text);
            }
            TrustMode::Change { state, .. } => {
                canvas.title("Trust in this project");
                canvas.text(RowPriority::Title, ColorToken::Muted, &folder);
                canvas.blank();
                for line in state {
                    canvas.text(RowPriority::Detail, ColorToken::Muted, &one_line(line));
                }
            }
        }
        canvas.blank();
        let saved = match &self.mode {
            TrustMode::Change { saved, .. } => *saved,
            TrustMode::Start => None,
        };
        let visible = self
            .picker
            .visible_range(canvas.list_rows(self.choices.len(), 1, 1));
        for index in visible {
            let Some(choice) = self.choices.get(index) else {
                continue;
            };
            let mark = match (&self.mode, saved == Some(index)) {
                (TrustMode::Start, _) => "",
                (TrustMode::Change { .. }, true) => "✓ ",
                (TrustMode::Change { .. }, false) => "  ",
            };
            let label = format!("{mark}{}", one_line(&choice.label()));
            canvas.choice(index, index == self.picker.selected(), &label, "");
        }
        canvas.blank();
        let leave = match self.mode {
            TrustMode::Start => "do not trust it now",
            TrustMode::Change { .. } => "cancel",
        };
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave(leave),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        self.pick(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.point(event, hit, sink)
    }
}

#[cfg(test)]
mod tests;
