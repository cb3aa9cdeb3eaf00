//! The thinking level selector.

use pi_protocol::ThinkingLevel;
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, sort_by_score,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::field::prefilled;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::{ListBody, SearchBody};
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use crate::dialogs::intent::Intent;
use crate::keys;
use crate::theme::ui_theme::UiTheme;

/// Returns a short description of a level.
pub(super) fn level_description(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "no thinking",
        ThinkingLevel::Minimal => "very brief, about 1k tokens",
        ThinkingLevel::Low => "brief, about 2k tokens",
        ThinkingLevel::Medium => "moderate, about 8k tokens",
        ThinkingLevel::High => "deep, about 16k tokens",
        ThinkingLevel::Xhigh => "very deep, about 32k tokens",
        ThinkingLevel::Max => "maximum",
    }
}

pub(crate) struct ThinkingDialog {
    current: ThinkingLevel,
    default: Option<ThinkingLevel>,
    levels: Vec<ThinkingLevel>,
    matching: Vec<ThinkingLevel>,
    picker: Picker,
    search: Input,
}

impl ThinkingDialog {
    /// Opens the dialog with the levels the model supports.
    pub(crate) fn open(
        ui: UiTheme,
        levels: Vec<ThinkingLevel>,
        current: ThinkingLevel,
        default: Option<ThinkingLevel>,
    ) -> DialogFrame<Self> {
        let mut picker = Picker::new(levels.len(), EdgeBehavior::Wrap);
        if let Some(index) = levels.iter().position(|level| *level == current) {
            picker.select(index);
        }
        let body = Self {
            current,
            default,
            matching: levels.clone(),
            levels,
            picker,
            search: prefilled(""),
        };
        DialogFrame::new(ui, body)
    }

    fn chosen(&self) -> Option<ThinkingLevel> {
        self.matching.get(self.picker.selected()).copied()
    }
}

impl ListBody for ThinkingDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, self.chosen()) {
            (PickerEvent::Moved, _) | (PickerEvent::Confirmed, None) => {}
            (PickerEvent::Confirmed, Some(level)) => sink.finish(Intent::SetThinking(level)),
            (PickerEvent::Canceled, _) => sink.close(),
        }
    }
}

impl SearchBody for ThinkingDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        let selected = self.chosen();
        let query = FuzzyQuery::new(self.search.value());
        let text =
            |level: ThinkingLevel| format!("{} {}", level.as_str(), level_description(level));
        let levels = self.levels.iter();
        self.matching =
            sort_by_score(levels.filter_map(|level| Some((query.score(&text(*level))?, *level))));
        self.picker.set_count(self.matching.len());
        let position = self
            .matching
            .iter()
            .position(|level| Some(*level) == selected);
        self.picker
            .select(position.filter(|_| query.is_empty()).unwrap_or(0));
    }
}

impl DialogBody for ThinkingDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title("Thinking level");
        let cycle = canvas.context().key(keys::THINKING_CYCLE);
        if !cycle.is_empty() {
            let text = format!("Press {cycle} to cycle levels from the prompt.");
            canvas.text(RowPriority::Help, ColorToken::Muted, &text);
        }
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        if self.matching.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching levels.",
            );
        }
        let visible = self
            .picker
            .visible_range(canvas.list_rows(self.matching.len(), 1, 2));
        for index in visible {
            let Some(level) = self.matching.get(index).copied() else {
                continue;
            };
            let mark = if level == self.current { "✓ " } else { "  " };
            let default = if self.default == Some(level) {
                " · default"
            } else {
                ""
            };
            let label = format!("{mark}{:<9}", level.as_str());
            let note = format!(" {}{default}", level_description(level));
            let note = canvas.paint(ColorToken::Muted, &note);
            canvas.choice(index, index == self.picker.selected(), &label, &note);
        }
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::key(keys::THINKING_SAVE, "use and save as default"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event
            && context.keybindings.matches(key, keys::THINKING_SAVE)
        {
            if let Some(level) = self.chosen() {
                sink.finish(Intent::SaveDefaultThinking(level));
            }
            return InputOutcome::Consumed;
        }
        self.handle_search_key(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.handle_search_mouse(event, hit, context, sink)
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }
}

#[cfg(test)]
mod tests;
