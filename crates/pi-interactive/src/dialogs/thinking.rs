//! Choosing how much a model thinks.

use pi_ai::ThinkingLevel;
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, sort_by_score,
};

use super::field::prefilled;
use super::hint::Hint;
use super::list_pane::{ListPane, SearchPane};
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::intent::Intent;
use crate::keys;
use crate::look::Look;

/// Returns what a level means, in a few words.
pub(super) fn meaning(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "answers at once",
        ThinkingLevel::Minimal => "a moment, about 1k tokens",
        ThinkingLevel::Low => "a little, about 2k tokens",
        ThinkingLevel::Medium => "as usual, about 8k tokens",
        ThinkingLevel::High => "thorough, about 16k tokens",
        ThinkingLevel::Xhigh => "very thorough, about 32k tokens",
        ThinkingLevel::Max => "as long as the model may",
    }
}

/// The dialog that chooses a thinking level.
pub(crate) struct ThinkingDialog {
    current: ThinkingLevel,
    default: Option<ThinkingLevel>,
    levels: Vec<ThinkingLevel>,
    matching: Vec<ThinkingLevel>,
    picker: Picker,
    search: Input,
}

impl ThinkingDialog {
    /// Opens the dialog with the levels the model knows.
    pub(crate) fn open(
        look: Look,
        levels: Vec<ThinkingLevel>,
        current: ThinkingLevel,
        default: Option<ThinkingLevel>,
    ) -> Window<Self> {
        let mut picker = Picker::new(levels.len(), Edge::Wrap);
        if let Some(index) = levels.iter().position(|level| *level == current) {
            picker.select(index);
        }
        let pane = Self {
            current,
            default,
            matching: levels.clone(),
            levels,
            picker,
            search: prefilled(""),
        };
        Window::new(look, pane)
    }

    fn chosen(&self) -> Option<ThinkingLevel> {
        self.matching.get(self.picker.selected()).copied()
    }
}

impl ListPane for ThinkingDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match (picked, self.chosen()) {
            (Picked::Moved, _) | (Picked::Confirmed, None) => {}
            (Picked::Confirmed, Some(level)) => outbox.finish(Intent::SetThinking(level)),
            (Picked::Cancelled, _) => outbox.close(),
        }
    }
}

impl SearchPane for ThinkingDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn search_again(&mut self) {
        let selected = self.chosen();
        let query = FuzzyQuery::new(self.search.value());
        let text = |level: ThinkingLevel| format!("{} {}", level.as_str(), meaning(level));
        let levels = self.levels.iter();
        self.matching =
            sort_by_score(levels.filter_map(|level| Some((query.score(&text(*level))?, *level))));
        self.picker.set_count(self.matching.len());
        let kept = self
            .matching
            .iter()
            .position(|level| Some(*level) == selected);
        self.picker
            .select(kept.filter(|_| query.is_empty()).unwrap_or(0));
    }
}

impl Pane for ThinkingDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title("How much to think");
        let cycle = sheet.appearance().key(keys::THINKING_CYCLE);
        if !cycle.is_empty() {
            let text = format!("{cycle} goes through the levels without this list.");
            sheet.text(Weight::Help, ColorToken::Muted, &text);
        }
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        if self.matching.is_empty() {
            sheet.text(Weight::Content, ColorToken::Muted, "  No level matches.");
        }
        let visible = self
            .picker
            .window(sheet.list_rows(self.matching.len(), 1, 2));
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
            let note = format!(" {}{default}", meaning(level));
            let note = sheet.paint(ColorToken::Muted, &note);
            sheet.choice(index, index == self.picker.selected(), &label, &note);
        }
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::key(keys::THINKING_SAVE, "use in new sessions too"),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event
            && context.keybindings.matches(key, keys::THINKING_SAVE)
        {
            if let Some(level) = self.chosen() {
                outbox.finish(Intent::SaveDefaultThinking(level));
            }
            return InputOutcome::Consumed;
        }
        self.pick_or_type(event, context, outbox)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        self.point_or_edit(event, hit, context, outbox)
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }
}

#[cfg(test)]
mod tests;
