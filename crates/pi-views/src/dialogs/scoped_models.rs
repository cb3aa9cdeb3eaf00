//! Selects the models to cycle through, and their order.
//!
//! Changes apply to the session at once; saving them is a separate step.

use std::sync::Arc;

use pi_protocol::{Model, ScopedModel};
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
use super::model_name::model_label;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::intent::Intent;
use crate::keys;
use crate::theme::ui_theme::UiTheme;

mod scope;

pub use scope::EnabledModel;
use scope::ModelScope;

const MAX_ROWS: usize = 8;

pub(crate) struct ScopedModelsDialog {
    scope: ModelScope,
    matching: Vec<EnabledModel>,
    picker: Picker,
    search: Input,
    unsaved: bool,
}

impl ScopedModelsDialog {
    /// Opens the dialog; `enabled` is the current selection, `None` for all models.
    pub(crate) fn open(
        ui: UiTheme,
        available: Vec<Arc<Model>>,
        enabled: Option<Vec<EnabledModel>>,
    ) -> DialogFrame<Self> {
        let mut body = Self {
            scope: ModelScope::new(available, enabled),
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Wrap),
            search: prefilled(""),
            unsaved: false,
        };
        body.apply_search();
        DialogFrame::new(ui, body)
    }

    fn selected(&self) -> Option<&EnabledModel> {
        self.matching.get(self.picker.selected())
    }

    /// Returns the models a bulk action applies to: all, or the search results.
    fn targets(&self) -> Vec<EnabledModel> {
        if self.search.value().is_empty() {
            self.scope.listed()
        } else {
            self.matching.clone()
        }
    }

    fn changed(&mut self, sink: &mut IntentSink) {
        self.unsaved = true;
        self.apply_search();
        let models = self.scope.enabled().map(|enabled| {
            enabled.iter().filter_map(|item| {
                Some(ScopedModel {
                    model: item.model.clone()?,
                    thinking: item.thinking,
                })
            })
        });
        sink.send(Intent::SetScope(models.map(Iterator::collect)));
    }

    fn toggle(&mut self, sink: &mut IntentSink) {
        if let Some(item) = self.selected().cloned() {
            self.scope.toggle(&item);
            self.changed(sink);
        }
    }

    fn toggle_provider(&mut self, sink: &mut IntentSink) {
        let provider = self.selected().and_then(|item| item.model.clone());
        let Some(provider) = provider.map(|model| model.provider.clone()) else {
            return;
        };
        let targets: Vec<EnabledModel> = self
            .scope
            .listed()
            .into_iter()
            .filter(|item| {
                item.model
                    .as_ref()
                    .is_some_and(|model| model.provider == provider)
            })
            .collect();
        if targets.iter().all(|item| self.scope.has(item)) {
            self.scope.remove(&targets);
        } else {
            self.scope.add(&targets);
        }
        self.changed(sink);
    }

    fn reorder(&mut self, up: bool, sink: &mut IntentSink) {
        let Some(item) = self.selected().cloned() else {
            return;
        };
        if self.scope.shift(&item, up) {
            self.changed(sink);
            if let Some(index) = self.matching.iter().position(|other| other.id == item.id) {
                self.picker.select(index);
            }
        }
    }

    fn save(&mut self, sink: &mut IntentSink) {
        let enabled = self.scope.enabled();
        let patterns = enabled.map(|enabled| enabled.iter().map(EnabledModel::pattern).collect());
        sink.send(Intent::SaveScope(patterns));
        self.unsaved = false;
    }

    /// Handles the keys that change the selection; returns whether one was pressed.
    fn handle_change(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let InputEvent::Key(key) = event else {
            return false;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        if pressed(keys::MODELS_REORDER_UP) {
            self.reorder(true, sink);
        } else if pressed(keys::MODELS_REORDER_DOWN) {
            self.reorder(false, sink);
        } else if pressed(keys::MODELS_ENABLE_ALL) {
            self.scope.add(&self.targets());
            self.changed(sink);
        } else if pressed(keys::MODELS_CLEAR_ALL) {
            self.scope.remove(&self.targets());
            self.changed(sink);
        } else if pressed(keys::MODELS_TOGGLE_PROVIDER) {
            self.toggle_provider(sink);
        } else if pressed(keys::MODELS_SAVE) {
            self.save(sink);
        } else if pressed(keys::CLEAR) && !self.search.value().is_empty() {
            self.search.set_value("");
            self.apply_search();
        } else {
            return false;
        }
        true
    }

    fn paint_list(&mut self, canvas: &mut DialogCanvas) {
        if self.matching.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching models.",
            );
            return;
        }
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(item) = self.matching.get(index) else {
                continue;
            };
            let mark = if self.scope.has(item) { "✓ " } else { "  " };
            let (name, note) = match &item.model {
                Some(model) => (
                    model_label(model),
                    format!(" [{}]", one_line(&model.provider)),
                ),
                None => (one_line(&item.id), " [unavailable]".to_owned()),
            };
            let note = canvas.paint(ColorToken::Muted, &note);
            let label = format!("{mark}{name}");
            canvas.choice(index, index == self.picker.selected(), &label, &note);
        }
        if cut {
            canvas.position(self.picker.selected(), self.matching.len(), "");
        }
    }

    fn summary(&self) -> String {
        match self.scope.enabled() {
            None => "All models enabled.".to_owned(),
            Some(enabled) => {
                let missing = enabled.iter().filter(|item| item.model.is_none()).count();
                let mut text = format!(
                    "{} of {} models enabled.",
                    enabled.len() - missing,
                    self.scope.available_count()
                );
                if missing > 0 {
                    text = format!("{text} {missing} unavailable.");
                }
                text
            }
        }
    }
}

impl ListBody for ScopedModelsDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => self.toggle(sink),
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl SearchBody for ScopedModelsDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        let query = FuzzyQuery::new(self.search.value());
        let items = self.scope.listed();
        self.matching = if query.is_empty() {
            items
        } else {
            sort_by_score(
                items
                    .into_iter()
                    .filter_map(|item| Some((query.score(&item.search_text())?, item))),
            )
        };
        self.picker.set_count(self.matching.len());
    }
}

impl DialogBody for ScopedModelsDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title("Scoped models");
        let state = self.summary();
        let unsaved = if self.unsaved {
            canvas.paint(ColorToken::Warning, " Unsaved changes.")
        } else {
            String::new()
        };
        let state = canvas.paint(ColorToken::Muted, &state);
        canvas.row(RowPriority::Detail, &format!(" {state}{unsaved}"));
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        self.paint_list(canvas);
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "toggle"),
            Hint::key(keys::MODELS_ENABLE_ALL, "all"),
            Hint::key(keys::MODELS_CLEAR_ALL, "none"),
            Hint::key(keys::MODELS_TOGGLE_PROVIDER, "provider"),
            Hint::keys(
                &[keys::MODELS_REORDER_UP, keys::MODELS_REORDER_DOWN],
                "order",
            ),
            Hint::key(keys::MODELS_SAVE, "save"),
            Hint::leave("close"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if self.handle_change(event, context, sink) {
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

    fn on_update(&mut self, update: DialogUpdate, _outbox: &mut IntentSink) {
        if let DialogUpdate::Models(models) = update {
            let selected = self.selected().map(|item| item.id.clone());
            self.scope.set_available(models);
            self.apply_search();
            let position = self
                .matching
                .iter()
                .position(|item| Some(&item.id) == selected.as_ref());
            if let Some(index) = position {
                self.picker.select(index);
            }
        }
    }
}

#[cfg(test)]
mod tests;
