//! The project trust dialog: shown at startup, and by `/trust`.

use std::path::PathBuf;
use std::time::Instant;

use pi_protocol::TrustChoice;
use pi_tui::{
    ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, MouseEventKind, action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::ListBody;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::{one_line, path_line};
use super::type_ahead::TypeAheadGuard;
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

/// Number of changed files that are listed.
const MAX_CHANGES: usize = 8;

/// What closing the dialog means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TrustMode {
    /// The project was opened; closing does not trust it. The question appears unexpectedly.
    Start {
        /// Code that is new or changed since the project was trusted.
        changes: Vec<String>,
    },
    /// `/trust`; closing changes nothing.
    Change {
        /// Lines about the saved decision and the current session.
        state: Vec<String>,
        /// Index of the saved choice.
        saved: Option<usize>,
    },
}

#[derive(Debug)]
pub(crate) struct TrustDialog {
    directory: PathBuf,
    choices: Vec<TrustChoice>,
    picker: Picker,
    mode: TrustMode,
    type_ahead: TypeAheadGuard,
}

impl TrustDialog {
    /// Asks at startup; closing the dialog does not trust the project for this session.
    pub(crate) fn ask(
        ui: UiTheme,
        directory: PathBuf,
        choices: Vec<TrustChoice>,
        changes: Vec<String>,
    ) -> DialogFrame<Self> {
        Self::new(ui, directory, choices, TrustMode::Start { changes })
    }

    /// Changes the saved decision; `state` describes it and the current session.
    pub(crate) fn change(
        ui: UiTheme,
        directory: PathBuf,
        choices: Vec<TrustChoice>,
        state: Vec<String>,
        saved: Option<usize>,
    ) -> DialogFrame<Self> {
        Self::new(ui, directory, choices, TrustMode::Change { state, saved })
    }

    fn new(
        ui: UiTheme,
        directory: PathBuf,
        choices: Vec<TrustChoice>,
        mode: TrustMode,
    ) -> DialogFrame<Self> {
        let mut picker = Picker::new(choices.len(), EdgeBehavior::Stop);
        let selected = match &mode {
            TrustMode::Change { saved, .. } => *saved,
            // The choice that changes nothing.
            TrustMode::Start { .. } => choices
                .iter()
                .position(|choice| *choice == TrustChoice::DenyOnce),
        };
        if let Some(selected) = selected {
            picker.select(selected);
        }
        let body = Self {
            directory,
            choices,
            picker,
            mode,
            type_ahead: TypeAheadGuard::default(),
        };
        DialogFrame::new(ui, body)
    }

    fn asks_at_start(&self) -> bool {
        matches!(self.mode, TrustMode::Start { .. })
    }
}

impl ListBody for TrustDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, &self.mode) {
            (PickerEvent::Moved, _) => {}
            (PickerEvent::Confirmed, _) => {
                if let Some(choice) = self.choices.get(self.picker.selected()) {
                    sink.finish(Intent::Trust(choice.clone()));
                }
            }
            (PickerEvent::Canceled, TrustMode::Start { .. }) => {
                sink.finish(Intent::Trust(TrustChoice::DenyOnce));
            }
            (PickerEvent::Canceled, TrustMode::Change { .. }) => sink.close(),
        }
    }
}

impl DialogBody for TrustDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        self.type_ahead.painted(Instant::now());
        let directory = path_line(&self.directory, &canvas.context());
        canvas.blank();
        match &self.mode {
            TrustMode::Start { changes } if !changes.is_empty() => {
                canvas.title("Trust this project again?");
                canvas.text(RowPriority::Title, ColorToken::Warning, &directory);
                canvas.blank();
                let text = "Code of this project changed since you trusted it:";
                canvas.text(RowPriority::Detail, ColorToken::Text, text);
                for line in changes.iter().take(MAX_CHANGES) {
                    canvas.text(RowPriority::Detail, ColorToken::Warning, &one_line(line));
                }
                if let Some(more) = changes.len().checked_sub(MAX_CHANGES + 1) {
                    let more = format!("and {} more", more + 1);
                    canvas.text(RowPriority::Detail, ColorToken::Muted, &more);
                }
            }
            TrustMode::Start { .. } => {
                canvas.title("Trust this project?");
                canvas.text(RowPriority::Title, ColorToken::Warning, &directory);
                canvas.blank();
                let text = "This project contains configuration for pi. If you trust it, pi reads its settings, loads its skills and prompts, installs its packages and runs its extensions with your permissions.";
                canvas.text(RowPriority::Detail, ColorToken::Text, text);
            }
            TrustMode::Change { state, .. } => {
                canvas.title("Project trust");
                canvas.text(RowPriority::Title, ColorToken::Muted, &directory);
                canvas.blank();
                for line in state {
                    canvas.text(RowPriority::Detail, ColorToken::Muted, &one_line(line));
                }
            }
        }
        canvas.blank();
        let saved = match &self.mode {
            TrustMode::Change { saved, .. } => *saved,
            TrustMode::Start { .. } => None,
        };
        let visible = self
            .picker
            .visible_range(canvas.list_rows(self.choices.len(), 1, 1));
        for index in visible {
            let Some(choice) = self.choices.get(index) else {
                continue;
            };
            let mark = match (&self.mode, saved == Some(index)) {
                (TrustMode::Start { .. }, _) => "",
                (TrustMode::Change { .. }, true) => "✓ ",
                (TrustMode::Change { .. }, false) => "  ",
            };
            let label = format!("{mark}{}", one_line(&choice.label()));
            canvas.choice(index, index == self.picker.selected(), &label, "");
        }
        canvas.blank();
        let leave = match self.mode {
            TrustMode::Start { .. } => "do not trust for this session",
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
        if self.asks_at_start() && !self.type_ahead.accepts(context.now) {
            // Only leaving, which does not trust the project, needs no pause.
            let selected = self.picker.selected();
            match self.picker.key(event, context) {
                Some(PickerEvent::Canceled) => self.on_pick(PickerEvent::Canceled, sink),
                _ => self.picker.select(selected),
            }
            return InputOutcome::Consumed;
        }
        self.handle_list_key(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let is_answer = matches!(event.kind, MouseEventKind::Click { .. });
        if is_answer && self.asks_at_start() && !self.type_ahead.accepts(context.now) {
            return true;
        }
        self.handle_list_mouse(event, hit, sink)
    }
}

#[cfg(test)]
mod tests;
