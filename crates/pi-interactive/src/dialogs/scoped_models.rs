//! Which models are cycled through, and in which order.
//!
//! Every change counts for the session at once; saving it is a step of its own.

use std::sync::Arc;

use pi_ai::{Model, ScopedModel};
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, sort_by_score,
};

use super::field::prefilled;
use super::hint::Hint;
use super::list_pane::{ListPane, SearchPane};
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::dialog::DialogNews;
use crate::intent::Intent;
use crate::keys;
use crate::look::Look;

mod scope;

pub(crate) use scope::EnabledModel;
use scope::Scope;

const MOST_ROWS: usize = 8;

/// The dialog that edits the scope.
pub(crate) struct ScopedModelsDialog {
    scope: Scope,
    matching: Vec<EnabledModel>,
    picker: Picker,
    search: Input,
    unsaved: bool,
}

impl ScopedModelsDialog {
    /// Opens the dialog; `enabled` is what is cycled through now, `None` all models.
    pub(crate) fn open(
        look: Look,
        available: Vec<Arc<Model>>,
        enabled: Option<Vec<EnabledModel>>,
    ) -> Window<Self> {
        let mut pane = Self {
            scope: Scope::new(available, enabled),
            matching: Vec::new(),
            picker: Picker::new(0, Edge::Wrap),
            search: prefilled(""),
            unsaved: false,
        };
        pane.search_again();
        Window::new(look, pane)
    }

    fn selected(&self) -> Option<&EnabledModel> {
        self.matching.get(self.picker.selected())
    }

    /// Returns what an action on many is about: everything, or what was searched for.
    fn targets(&self) -> Vec<EnabledModel> {
        if self.search.value().is_empty() {
            self.scope.listed()
        } else {
            self.matching.clone()
        }
    }

    fn changed(&mut self, outbox: &mut Outbox) {
        self.unsaved = true;
        self.search_again();
        let models = self.scope.enabled().map(|enabled| {
            enabled.iter().filter_map(|item| {
                Some(ScopedModel {
                    model: item.model.clone()?,
                    thinking: item.thinking,
                })
            })
        });
        outbox.send(Intent::SetScope(models.map(Iterator::collect)));
    }

    fn toggle(&mut self, outbox: &mut Outbox) {
        if let Some(item) = self.selected().cloned() {
            self.scope.toggle(&item);
            self.changed(outbox);
        }
    }

    fn toggle_provider(&mut self, outbox: &mut Outbox) {
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
        self.changed(outbox);
    }

    fn reorder(&mut self, up: bool, outbox: &mut Outbox) {
        let Some(item) = self.selected().cloned() else {
            return;
        };
        if self.scope.shift(&item, up) {
            self.changed(outbox);
            if let Some(index) = self.matching.iter().position(|other| other.id == item.id) {
                self.picker.select(index);
            }
        }
    }

    fn save(&mut self, outbox: &mut Outbox) {
        let enabled = self.scope.enabled();
        let patterns = enabled.map(|enabled| enabled.iter().map(EnabledModel::pattern).collect());
        outbox.send(Intent::SaveScope(patterns));
        self.unsaved = false;
    }

    /// Handles the keys that change the scope; returns whether it was one of them.
    fn handle_change(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let InputEvent::Key(key) = event else {
            return false;
        };
        let means = |action| context.keybindings.matches(key, action);
        if means(keys::MODELS_REORDER_UP) {
            self.reorder(true, outbox);
        } else if means(keys::MODELS_REORDER_DOWN) {
            self.reorder(false, outbox);
        } else if means(keys::MODELS_ENABLE_ALL) {
            self.scope.add(&self.targets());
            self.changed(outbox);
        } else if means(keys::MODELS_CLEAR_ALL) {
            self.scope.remove(&self.targets());
            self.changed(outbox);
        } else if means(keys::MODELS_TOGGLE_PROVIDER) {
            self.toggle_provider(outbox);
        } else if means(keys::MODELS_SAVE) {
            self.save(outbox);
        } else if means(keys::CLEAR) && !self.search.value().is_empty() {
            self.search.set_value("");
            self.search_again();
        } else {
            return false;
        }
        true
    }

    fn paint_list(&mut self, sheet: &mut Sheet) {
        if self.matching.is_empty() {
            sheet.text(Weight::Content, ColorToken::Muted, "  No model matches.");
            return;
        }
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(item) = self.matching.get(index) else {
                continue;
            };
            let mark = if self.scope.has(item) { "✓ " } else { "  " };
            let (name, note) = match &item.model {
                Some(model) => (
                    one_line(&model.id),
                    format!(" [{}]", one_line(&model.provider)),
                ),
                None => (one_line(&item.id), " [not available now]".to_owned()),
            };
            let note = sheet.paint(ColorToken::Muted, &note);
            let label = format!("{mark}{name}");
            sheet.choice(index, index == self.picker.selected(), &label, &note);
        }
        if cut {
            sheet.position(self.picker.selected(), self.matching.len(), "");
        }
    }

    fn summary(&self) -> String {
        match self.scope.enabled() {
            None => "All models are cycled through.".to_owned(),
            Some(enabled) => {
                let missing = enabled.iter().filter(|item| item.model.is_none()).count();
                let mut text = format!(
                    "{} of {} models are cycled through.",
                    enabled.len() - missing,
                    self.scope.available_count()
                );
                if missing > 0 {
                    text = format!("{text} {missing} not available now.");
                }
                text
            }
        }
    }
}

impl ListPane for ScopedModelsDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => self.toggle(outbox),
            Picked::Cancelled => outbox.close(),
        }
    }
}

impl SearchPane for ScopedModelsDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn search_again(&mut self) {
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

impl Pane for ScopedModelsDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title("Models to cycle through");
        let state = self.summary();
        let unsaved = if self.unsaved {
            sheet.paint(ColorToken::Warning, " Not saved yet.")
        } else {
            String::new()
        };
        let state = sheet.paint(ColorToken::Muted, &state);
        sheet.row(Weight::Detail, &format!(" {state}{unsaved}"));
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        self.paint_list(sheet);
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::SELECT_CONFIRM, "on or off"),
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
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if self.handle_change(event, context, outbox) {
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

    fn feed(&mut self, news: DialogNews, _outbox: &mut Outbox) {
        if let DialogNews::Models(models) = news {
            let selected = self.selected().map(|item| item.id.clone());
            self.scope.set_available(models);
            self.search_again();
            let kept = self
                .matching
                .iter()
                .position(|item| Some(&item.id) == selected.as_ref());
            if let Some(index) = kept {
                self.picker.select(index);
            }
        }
    }
}

#[cfg(test)]
mod tests;
