//! Choosing a model: search, the scope to choose from, and what is known about the selected one.

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

const MOST_ROWS: usize = 10;

/// What the model dialog begins with.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelChoices {
    /// The model in use.
    pub(crate) current: Option<Arc<Model>>,
    /// Provider and id of the model new sessions begin with.
    pub(crate) default: Option<(String, String)>,
    /// Models whose provider is set up.
    pub(crate) available: Vec<Arc<Model>>,
    /// Models that are cycled through, if there is a choice of them.
    pub(crate) scoped: Vec<ScopedModel>,
    /// What is searched for at first.
    pub(crate) search: String,
    /// Whether catalogs are being fetched; the result comes as news.
    pub(crate) refreshing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Scoped,
    All,
}

/// What is known about the catalogs.
#[derive(Debug)]
enum Catalogs {
    Known,
    Refreshing,
    Refreshed,
    Failed(String),
}

/// The dialog that chooses a model.
pub(crate) struct ModelDialog {
    current: Option<Arc<Model>>,
    default: Option<(String, String)>,
    all: Vec<Arc<Model>>,
    scoped: Vec<Arc<Model>>,
    scope: Scope,
    matching: Vec<Arc<Model>>,
    picker: Picker,
    search: Input,
    catalogs: Catalogs,
}

impl ModelDialog {
    /// Opens the dialog.
    pub(crate) fn open(look: Look, choices: ModelChoices) -> Window<Self> {
        let scoped: Vec<Arc<Model>> = choices.scoped.into_iter().map(|item| item.model).collect();
        let mut pane = Self {
            current: choices.current,
            default: choices.default,
            all: Vec::new(),
            scope: if scoped.is_empty() {
                Scope::All
            } else {
                Scope::Scoped
            },
            scoped,
            matching: Vec::new(),
            picker: Picker::new(0, Edge::Wrap),
            search: prefilled(&choices.search),
            catalogs: if choices.refreshing {
                Catalogs::Refreshing
            } else {
                Catalogs::Known
            },
        };
        pane.set_models(choices.available);
        Window::new(look, pane)
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
        self.search_again();
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

    fn paint_scope(&self, sheet: &mut Sheet) {
        if self.scoped.is_empty() {
            let text = "Models of the providers you are signed in to. /login adds more.";
            sheet.text(Weight::Detail, ColorToken::Muted, text);
            return;
        }
        let name = |scope: Scope, name: &str| {
            let token = if self.scope == scope {
                ColorToken::Accent
            } else {
                ColorToken::Muted
            };
            sheet.paint(token, name)
        };
        let (all, scoped) = (name(Scope::All, "all"), name(Scope::Scoped, "scoped"));
        let between = sheet.paint(ColorToken::Muted, " | ");
        let label = sheet.paint(ColorToken::Muted, "Models: ");
        sheet.row(Weight::Detail, &format!(" {label}{all}{between}{scoped}"));
    }

    fn paint_list(&mut self, sheet: &mut Sheet) {
        if self.matching.is_empty() {
            let text = if self.all.is_empty() {
                "No model is available yet. /login signs in to a provider."
            } else {
                "No model matches."
            };
            sheet.text(Weight::Content, ColorToken::Muted, &format!("  {text}"));
            return;
        }
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(model) = self.matching.get(index) else {
                continue;
            };
            let selected = index == self.picker.selected();
            let mark = if self.is_current(model) { "✓ " } else { "  " };
            let label = format!("{mark}{}", one_line(&model.id));
            let mut note = format!(" [{}]", one_line(&model.provider));
            if self.is_default(model) {
                note.push_str(" · default");
            }
            let note = sheet.paint(ColorToken::Muted, &note);
            sheet.choice(index, selected, &label, &note);
        }
        if cut {
            sheet.position(self.picker.selected(), self.matching.len(), "");
        }
        if let Some(model) = self.chosen() {
            sheet.blank();
            sheet.text(
                Weight::Detail,
                ColorToken::Muted,
                &format!("  {}", describe(&model)),
            );
        }
    }

    fn paint_catalogs(&self, sheet: &mut Sheet) {
        let (token, text) = match &self.catalogs {
            Catalogs::Known => return,
            Catalogs::Refreshing => (ColorToken::Muted, "Looking for new models…".to_owned()),
            Catalogs::Refreshed => (ColorToken::Success, "The list is up to date.".to_owned()),
            Catalogs::Failed(cause) => (ColorToken::Warning, one_line(cause)),
        };
        sheet.blank();
        sheet.text(Weight::Help, token, &format!("  {text}"));
    }
}

/// Returns what a search looks at. The provider stands first, so that `openai/gpt` finds OpenAI's
/// own models before those that another provider passes on.
fn search_text(model: &Model) -> String {
    let Model {
        id, provider, name, ..
    } = model;
    format!("{provider} {provider}/{id} {provider} {id} {name}")
}

/// Returns what is worth knowing about a model before choosing it.
fn describe(model: &Model) -> String {
    let mut parts = vec![one_line(&model.name)];
    parts.push(format!("{} context", tokens(model.context_window)));
    if model.reasoning {
        parts.push("thinks".to_owned());
    }
    if model.accepts_images() {
        parts.push("sees images".to_owned());
    }
    let rates = &model.cost.rates;
    if rates.input > 0.0 || rates.output > 0.0 {
        parts.push(format!(
            "${} in, ${} out per million",
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

impl ListPane for ModelDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => {
                if let Some(model) = self.chosen() {
                    outbox.finish(Intent::SetModel(model));
                }
            }
            Picked::Cancelled => outbox.close(),
        }
    }
}

impl SearchPane for ModelDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn search_again(&mut self) {
        let models = match self.scope {
            Scope::Scoped => &self.scoped,
            Scope::All => &self.all,
        };
        let text = self.search.value().trim().to_lowercase();
        let query = FuzzyQuery::new(&text);
        let found = models.iter().filter_map(|model| {
            let asked_for_default =
                !text.is_empty() && self.is_default(model) && "default".starts_with(&text);
            let score = if asked_for_default {
                f64::NEG_INFINITY
            } else {
                query.score(&search_text(model))?
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

impl Pane for ModelDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        self.paint_scope(sheet);
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        self.paint_list(sheet);
        self.paint_catalogs(sheet);
        sheet.blank();
        let mut hints = vec![
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::key(keys::MODELS_SAVE, "use in new sessions too"),
            Hint::leave("cancel"),
        ];
        if !self.scoped.is_empty() {
            hints.insert(0, Hint::key(action::INPUT_TAB, "all or scoped"));
        }
        sheet.hints(&hints);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let InputEvent::Key(key) = event {
            if context.keybindings.matches(key, action::INPUT_TAB) {
                if !self.scoped.is_empty() {
                    self.scope = match self.scope {
                        Scope::Scoped => Scope::All,
                        Scope::All => Scope::Scoped,
                    };
                    self.picker.select(0);
                    self.search_again();
                    self.select_current();
                }
                return InputOutcome::Consumed;
            }
            if context.keybindings.matches(key, keys::MODELS_SAVE) {
                if let Some(model) = self.chosen() {
                    outbox.finish(Intent::SaveDefaultModel(model));
                }
                return InputOutcome::Consumed;
            }
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
        match news {
            DialogNews::Models(models) => {
                self.catalogs = Catalogs::Refreshed;
                let selected = self.chosen();
                self.set_models(models);
                let kept = selected.and_then(|selected| {
                    self.matching
                        .iter()
                        .position(|model| model.is_same(&selected))
                });
                if let Some(index) = kept {
                    self.picker.select(index);
                }
            }
            DialogNews::Failed(cause) => self.catalogs = Catalogs::Failed(cause),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
