//! Thinking levels that single models begin with: first the model, then the level.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_ai::{Model, ThinkingLevel};
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, sort_by_score,
};

use super::super::field::{point_at_field, prefilled};
use super::super::hint::Hint;
use super::super::outbox::Outbox;
use super::super::picker::{Edge, Picked, Picker};
use super::super::plain::one_line;
use super::super::sheet::{Hit, Sheet, Weight};
use super::super::thinking::meaning;
use super::super::window::Pane;
use super::SettingChoices;
use crate::intent::{Intent, SettingChange};

const MOST_ROWS: usize = 10;

/// What a level is chosen for.
#[derive(Clone, Debug)]
enum Subject {
    /// Models without a level of their own.
    Others,
    Model(Arc<Model>),
}

/// The levels offered for a subject; `None` takes a model's own level away.
#[derive(Debug)]
struct Levels {
    subject: Subject,
    offered: Vec<Option<ThinkingLevel>>,
    picker: Picker,
}

/// The menu of thinking levels by model.
pub(super) struct ModelThinking {
    default: ThinkingLevel,
    own: BTreeMap<String, ThinkingLevel>,
    subjects: Vec<Subject>,
    matching: Vec<Subject>,
    picker: Picker,
    search: Input,
    levels: Option<Levels>,
}

impl ModelThinking {
    pub(super) fn new(choices: &SettingChoices) -> Self {
        let mut models = choices.models.clone();
        let current = choices.current_model.as_ref().map(|model| key(model));
        models.sort_by_cached_key(|model| {
            let key = key(model);
            (Some(&key) != current.as_ref(), model.provider.clone(), key)
        });
        let models = models.into_iter().map(Subject::Model);
        let mut menu = Self {
            default: choices.settings.default_thinking_level(),
            own: choices.settings.model_thinking_levels.clone(),
            subjects: std::iter::once(Subject::Others).chain(models).collect(),
            matching: Vec::new(),
            picker: Picker::new(0, Edge::Wrap),
            search: prefilled(""),
            levels: None,
        };
        menu.search_again();
        menu
    }

    fn search_again(&mut self) {
        let query = FuzzyQuery::new(self.search.value());
        let subjects = self.subjects.iter();
        self.matching = sort_by_score(
            subjects.filter_map(|subject| Some((query.score(&subject.name())?, subject.clone()))),
        );
        self.picker.set_count(self.matching.len());
        if !query.is_empty() {
            self.picker.select(0);
        }
    }

    fn level_of(&self, subject: &Subject) -> Option<ThinkingLevel> {
        match subject {
            Subject::Others => Some(self.default),
            Subject::Model(model) => self.own.get(&key(model)).copied(),
        }
    }

    fn open_levels(&mut self) {
        let Some(subject) = self.matching.get(self.picker.selected()).cloned() else {
            return;
        };
        let known = match &subject {
            Subject::Others => ThinkingLevel::ALL.to_vec(),
            Subject::Model(model) => model.thinking_levels(),
        };
        let mut offered: Vec<Option<ThinkingLevel>> = known.into_iter().map(Some).collect();
        let now = self.level_of(&subject);
        if matches!(subject, Subject::Model(_)) && now.is_some() {
            offered.push(None);
        }
        let mut picker = Picker::new(offered.len(), Edge::Wrap);
        if let Some(index) = offered
            .iter()
            .position(|level| *level == now && now.is_some())
        {
            picker.select(index);
        }
        self.levels = Some(Levels {
            subject,
            offered,
            picker,
        });
    }

    fn choose_level(&mut self, outbox: &mut Outbox) {
        let Some(levels) = self.levels.take() else {
            return;
        };
        let level = levels
            .offered
            .get(levels.picker.selected())
            .copied()
            .flatten();
        let change = match (&levels.subject, level) {
            (Subject::Others, None) => return,
            (Subject::Others, Some(level)) => {
                self.default = level;
                SettingChange::DefaultThinking(level)
            }
            (Subject::Model(model), level) => {
                let model = key(model);
                match level {
                    Some(level) => self.own.insert(model.clone(), level),
                    None => self.own.remove(&model),
                };
                SettingChange::ModelThinking { model, level }
            }
        };
        outbox.send(Intent::ChangeSetting(change));
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match (picked, self.levels.is_some()) {
            (Picked::Moved, _) => {}
            (Picked::Confirmed, false) => self.open_levels(),
            (Picked::Confirmed, true) => self.choose_level(outbox),
            (Picked::Cancelled, false) => outbox.close(),
            (Picked::Cancelled, true) => self.levels = None,
        }
    }

    fn paint_levels(levels: &mut Levels, now: Option<ThinkingLevel>, sheet: &mut Sheet) {
        sheet.title(&format!("Thinking of {}", levels.subject.name()));
        sheet.blank();
        let visible = levels
            .picker
            .window(sheet.list_rows(levels.offered.len(), 1, 1));
        for index in visible {
            let selected = index == levels.picker.selected();
            match levels.offered.get(index).copied().flatten() {
                Some(level) => {
                    let mark = if Some(level) == now { "✓ " } else { "  " };
                    let label = format!("{mark}{:<9}", level.as_str());
                    let note = sheet.paint(ColorToken::Muted, &format!(" {}", meaning(level)));
                    sheet.choice(index, selected, &label, &note);
                }
                None => sheet.choice(index, selected, "  no level of its own", ""),
            }
        }
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::leave("back"),
        ]);
    }

    fn paint_subjects(&mut self, sheet: &mut Sheet) {
        sheet.title("Thinking by model");
        let text = "The level a model begins a session with.";
        sheet.text(Weight::Help, ColorToken::Muted, text);
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        if self.matching.is_empty() {
            sheet.text(Weight::Content, ColorToken::Muted, "  No model matches.");
        }
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(subject) = self.matching.get(index) else {
                continue;
            };
            let level = self.level_of(subject).map_or("", ThinkingLevel::as_str);
            let note = sheet.paint(ColorToken::Warning, &format!("  {level}"));
            sheet.choice(
                index,
                index == self.picker.selected(),
                &subject.name(),
                &note,
            );
        }
        if cut {
            sheet.position(self.picker.selected(), self.matching.len(), "");
        }
        sheet.blank();
        sheet.hints(&[
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("back"),
        ]);
    }
}

impl Subject {
    fn name(&self) -> String {
        match self {
            Self::Others => "all other models".to_owned(),
            Self::Model(model) => one_line(&format!("{} [{}]", model.id, model.provider)),
        }
    }
}

fn key(model: &Model) -> String {
    format!("{}/{}", model.provider, model.id)
}

impl Pane for ModelThinking {
    fn paint(&mut self, sheet: &mut Sheet) {
        let now = match &self.levels {
            Some(levels) => self.level_of(&levels.subject),
            None => None,
        };
        match &mut self.levels {
            Some(levels) => Self::paint_levels(levels, now, sheet),
            None => self.paint_subjects(sheet),
        }
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let picker = match &mut self.levels {
            Some(levels) => &mut levels.picker,
            None => &mut self.picker,
        };
        if let Some(picked) = picker.key(event, context) {
            self.settle(picked, outbox);
            return InputOutcome::Consumed;
        }
        if self.levels.is_some() {
            return InputOutcome::Ignored;
        }
        let outcome = self.search.handle_input(event, context);
        self.search_again();
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let picker = match &mut self.levels {
            Some(levels) => &mut levels.picker,
            None => &mut self.picker,
        };
        if let Some(picked) = picker.mouse(event, hit) {
            self.settle(picked, outbox);
            return true;
        }
        self.levels.is_none() && point_at_field(&mut self.search, event, hit, context)
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }
}
