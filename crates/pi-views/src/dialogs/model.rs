//! The model selector: search, scope, and details of the selected model.

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

mod search;

const MAX_ROWS: usize = 10;

#[derive(Clone, Debug, Default)]
pub struct ModelDialogOptions {
    pub current: Option<Arc<Model>>,
    /// Provider and ID of the default model.
    pub default: Option<(String, String)>,
    /// Models of configured providers.
    pub available: Vec<Arc<Model>>,
    /// Models to cycle through; empty if unrestricted.
    pub scoped: Vec<ScopedModel>,
    /// Initial search text.
    pub search: String,
    /// Whether catalogs are being fetched; the result arrives as an update.
    pub refreshing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelListScope {
    Scoped,
    All,
}

#[derive(Debug)]
enum CatalogState {
    Known,
    Refreshing,
    Refreshed,
    Failed(String),
}

pub(crate) struct ModelDialog {
    current: Option<Arc<Model>>,
    default: Option<(String, String)>,
    all: Vec<Arc<Model>>,
    scoped: Vec<Arc<Model>>,
    scope: ModelListScope,
    matching: Vec<Arc<Model>>,
    picker: Picker,
    search: Input,
    catalogs: CatalogState,
}

impl ModelDialog {
    pub(crate) fn open(ui: UiTheme, options: ModelDialogOptions) -> DialogFrame<Self> {
        let scoped: Vec<Arc<Model>> = options.scoped.into_iter().map(|item| item.model).collect();
        let mut body = Self {
            current: options.current,
            default: options.default,
            all: Vec::new(),
            scope: if scoped.is_empty() {
                ModelListScope::All
            } else {
                ModelListScope::Scoped
            },
            scoped,
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Wrap),
            search: prefilled(&options.search),
            catalogs: if options.refreshing {
                CatalogState::Refreshing
            } else {
                CatalogState::Known
            },
        };
        body.set_models(options.available);
        DialogFrame::new(ui, body)
    }

    fn set_models(&mut self, models: Vec<Arc<Model>>) {
        let mut sorted = models;
        sorted.sort_by_cached_key(|model| {
            if self.is_current(model) {
                (0, String::new())
            } else if self.is_default(model) {
                (1, String::new())
            } else {
                (2, model.provider.clone())
            }
        });
        for scoped in &mut self.scoped {
            if let Some(fresh) = sorted.iter().find(|model| model.is_same(scoped)) {
                *scoped = Arc::clone(fresh);
            }
        }
        self.all = sorted;
        self.apply_search();
        self.select_current();
    }

    fn select_current(&mut self) {
        let query = self.search.value();
        if query.is_empty()
            && let Some(index) = self
                .matching
                .iter()
                .position(|model| self.is_current(model))
        {
            self.picker.select(index);
        }
    }

    fn is_current(&self, model: &Model) -> bool {
        self.current
            .as_ref()
            .is_some_and(|current| current.is_same(model))
    }

    fn is_default(&self, model: &Model) -> bool {
        self.default
            .as_ref()
            .is_some_and(|(provider, id)| *provider == model.provider && *id == model.id)
    }

    fn chosen(&self) -> Option<Arc<Model>> {
        self.matching.get(self.picker.selected()).cloned()
    }

    fn paint_scope(&self, canvas: &mut DialogCanvas) {
        if self.scoped.is_empty() {
            let text = "Models of configured providers. Run /login to add more.";
            canvas.text(RowPriority::Detail, ColorToken::Muted, text);
            return;
        }
        let name = |scope: ModelListScope, name: &str| {
            let token = if self.scope == scope {
                ColorToken::Accent
            } else {
                ColorToken::Muted
            };
            canvas.paint(token, name)
        };
        let (all, scoped) = (
            name(ModelListScope::All, "all"),
            name(ModelListScope::Scoped, "scoped"),
        );
        let between = canvas.paint(ColorToken::Muted, " | ");
        let label = canvas.paint(ColorToken::Muted, "Models: ");
        canvas.row(
            RowPriority::Detail,
            &format!(" {label}{all}{between}{scoped}"),
        );
    }

    fn paint_list(&mut self, canvas: &mut DialogCanvas) {
        if self.matching.is_empty() {
            let text = if self.all.is_empty() {
                "No models available. Run /login to sign in to a provider."
            } else {
                "No matching models."
            };
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                &format!("  {text}"),
            );
            return;
        }
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(model) = self.matching.get(index) else {
                continue;
            };
            let selected = index == self.picker.selected();
            let mark = if self.is_current(model) { "✓ " } else { "  " };
            let label = format!("{mark}{}", model_label(model));
            let mut note = format!(" [{}]", one_line(&model.provider));
            if self.is_default(model) {
                note.push_str(" · default");
            }
            let note = canvas.paint(ColorToken::Muted, &note);
            canvas.choice(index, selected, &label, &note);
        }
        if cut {
            canvas.position(self.picker.selected(), self.matching.len(), "");
        }
        if let Some(model) = self.chosen() {
            canvas.blank();
            canvas.text(
                RowPriority::Detail,
                ColorToken::Muted,
                &format!("  {}", describe(&model)),
            );
        }
    }

    fn paint_catalogs(&self, canvas: &mut DialogCanvas) {
        let (token, text) = match &self.catalogs {
            CatalogState::Known => return,
            CatalogState::Refreshing => (ColorToken::Muted, "Updating models…".to_owned()),
            CatalogState::Refreshed => (ColorToken::Success, "Models are up to date.".to_owned()),
            CatalogState::Failed(cause) => (ColorToken::Warning, one_line(cause)),
        };
        canvas.blank();
        canvas.text(RowPriority::Help, token, &format!("  {text}"));
    }
}

/// Returns a one-line description of a model.
fn describe(model: &Model) -> String {
    let mut parts = vec![one_line(&model.name)];
    parts.push(format!("{} context", tokens(model.context_window)));
    if model.reasoning {
        parts.push("reasoning".to_owned());
    }
    if model.accepts_images() {
        parts.push("image input".to_owned());
    }
    let rates = &model.cost.rates;
    if rates.input > 0.0 || rates.output > 0.0 {
        parts.push(format!(
            "${} in / ${} out per 1M",
            rates.input, rates.output
        ));
    }
    parts.join(" · ")
}

fn tokens(count: u64) -> String {
    match count {
        1_000_000.. if count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        1_000.. => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}

impl ListBody for ModelDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => {
                if let Some(model) = self.chosen() {
                    sink.finish(Intent::SetModel(model));
                }
            }
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl SearchBody for ModelDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        let models = match self.scope {
            ModelListScope::Scoped => &self.scoped,
            ModelListScope::All => &self.all,
        };
        let text = self.search.value().trim().to_lowercase();
        let query = FuzzyQuery::new(&text);
        let found = models.iter().filter_map(|model| {
            let matches_default =
                !text.is_empty() && self.is_default(model) && "default".starts_with(&text);
            let score = if matches_default {
                f64::NEG_INFINITY
            } else {
                search::score(&query, model)?
            };
            Some((score, Arc::clone(model)))
        });
        self.matching = sort_by_score(found);
        self.picker.set_count(self.matching.len());
        if !query.is_empty() {
            self.picker.select(0);
        }
    }
}

impl DialogBody for ModelDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        self.paint_scope(canvas);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        self.paint_list(canvas);
        self.paint_catalogs(canvas);
        canvas.blank();
        let mut hints = vec![
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::key(keys::MODELS_SAVE, "use and save as default"),
            Hint::leave("cancel"),
        ];
        if !self.scoped.is_empty() {
            hints.insert(0, Hint::key(action::INPUT_TAB, "all/scoped"));
        }
        canvas.hints(&hints);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::INPUT_TAB) {
                if !self.scoped.is_empty() {
                    self.scope = match self.scope {
                        ModelListScope::Scoped => ModelListScope::All,
                        ModelListScope::All => ModelListScope::Scoped,
                    };
                    self.picker.select(0);
                    self.apply_search();
                    self.select_current();
                }
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, keys::MODELS_SAVE) {
                if let Some(model) = self.chosen() {
                    sink.finish(Intent::SaveDefaultModel(model));
                }
                return InputOutcome::Consumed;
            }
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
        match update {
            DialogUpdate::Models(models) => {
                self.catalogs = CatalogState::Refreshed;
                let selected = self.chosen();
                self.set_models(models);
                let position = selected.and_then(|selected| {
                    self.matching
                        .iter()
                        .position(|model| model.is_same(&selected))
                });
                if let Some(index) = position {
                    self.picker.select(index);
                }
            }
            DialogUpdate::Failed(cause) => self.catalogs = CatalogState::Failed(cause),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
