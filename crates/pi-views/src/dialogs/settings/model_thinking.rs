//! Default thinking levels for individual models: select a model, then a level.

use std::collections::BTreeMap;
use std::sync::Arc;

use pi_protocol::settings::SettingChange;
use pi_protocol::{Model, ThinkingLevel};
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, sort_by_score,
};

use super::super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::super::field::{point_at_field, prefilled};
use super::super::frame::DialogBody;
use super::super::hint::Hint;
use super::super::intent_sink::IntentSink;
use super::super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::super::plain_text::one_line;
use super::super::thinking::level_description;
use super::SettingsDialogOptions;
use crate::dialogs::intent::Intent;

const MAX_ROWS: usize = 10;

#[derive(Clone, Debug)]
enum ThinkingTarget {
    /// Models without their own level.
    Others,
    Model(Arc<Model>),
}

/// The levels offered for a target; `None` removes a model's own level.
#[derive(Debug)]
struct LevelPicker {
    subject: ThinkingTarget,
    offered: Vec<Option<ThinkingLevel>>,
    picker: Picker,
}

pub(super) struct ModelThinking {
    default: ThinkingLevel,
    own: BTreeMap<String, ThinkingLevel>,
    subjects: Vec<ThinkingTarget>,
    matching: Vec<ThinkingTarget>,
    picker: Picker,
    search: Input,
    levels: Option<LevelPicker>,
}

impl ModelThinking {
    pub(super) fn new(options: &SettingsDialogOptions) -> Self {
        let mut models = options.models.clone();
        let current = options.current_model.as_ref().map(|model| key(model));
        models.sort_by_cached_key(|model| {
            let key = key(model);
            (Some(&key) != current.as_ref(), model.provider.clone(), key)
        });
        let models = models.into_iter().map(ThinkingTarget::Model);
        let mut menu = Self {
            default: options.settings.default_thinking_level(),
            own: options.settings.model_thinking_levels.clone(),
            subjects: std::iter::once(ThinkingTarget::Others)
                .chain(models)
                .collect(),
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Wrap),
            search: prefilled(""),
            levels: None,
        };
        menu.apply_search();
        menu
    }

    fn apply_search(&mut self) {
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

    fn level_of(&self, subject: &ThinkingTarget) -> Option<ThinkingLevel> {
        match subject {
            ThinkingTarget::Others => Some(self.default),
            ThinkingTarget::Model(model) => self.own.get(&key(model)).copied(),
        }
    }

    fn open_levels(&mut self) {
        let Some(subject) = self.matching.get(self.picker.selected()).cloned() else {
            return;
        };
        let known = match &subject {
            ThinkingTarget::Others => ThinkingLevel::ALL.to_vec(),
            ThinkingTarget::Model(model) => model.thinking_levels(),
        };
        let mut offered: Vec<Option<ThinkingLevel>> = known.into_iter().map(Some).collect();
        let now = self.level_of(&subject);
        if matches!(subject, ThinkingTarget::Model(_)) && now.is_some() {
            offered.push(None);
        }
        let mut picker = Picker::new(offered.len(), EdgeBehavior::Wrap);
        if let Some(index) = offered
            .iter()
            .position(|level| *level == now && now.is_some())
        {
            picker.select(index);
        }
        self.levels = Some(LevelPicker {
            subject,
            offered,
            picker,
        });
    }

    fn choose_level(&mut self, sink: &mut IntentSink) {
        let Some(levels) = self.levels.take() else {
            return;
        };
        let level = levels
            .offered
            .get(levels.picker.selected())
            .copied()
            .flatten();
        let change = match (&levels.subject, level) {
            (ThinkingTarget::Others, None) => return,
            (ThinkingTarget::Others, Some(level)) => {
                self.default = level;
                SettingChange::DefaultThinking(level)
            }
            (ThinkingTarget::Model(model), level) => {
                let model = key(model);
                match level {
                    Some(level) => self.own.insert(model.clone(), level),
                    None => self.own.remove(&model),
                };
                SettingChange::ModelThinking { model, level }
            }
        };
        sink.send(Intent::ChangeSetting(change));
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, self.levels.is_some()) {
            (PickerEvent::Moved, _) => {}
            (PickerEvent::Confirmed, false) => self.open_levels(),
            (PickerEvent::Confirmed, true) => self.choose_level(sink),
            (PickerEvent::Canceled, false) => sink.close(),
            (PickerEvent::Canceled, true) => self.levels = None,
        }
    }

    fn paint_levels(
        levels: &mut LevelPicker,
        now: Option<ThinkingLevel>,
        canvas: &mut DialogCanvas,
    ) {
        canvas.title(&format!("Thinking level for {}", levels.subject.name()));
        canvas.blank();
        let visible = levels
            .picker
            .visible_range(canvas.list_rows(levels.offered.len(), 1, 1));
        for index in visible {
            let selected = index == levels.picker.selected();
            match levels.offered.get(index).copied().flatten() {
                Some(level) => {
                    let mark = if Some(level) == now { "✓ " } else { "  " };
                    let label = format!("{mark}{:<9}", level.as_str());
                    let note =
                        canvas.paint(ColorToken::Muted, &format!(" {}", level_description(level)));
                    canvas.choice(index, selected, &label, &note);
                }
                None => canvas.choice(index, selected, "  use default", ""),
            }
        }
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "use"),
            Hint::leave("back"),
        ]);
    }

    fn paint_targets(&mut self, canvas: &mut DialogCanvas) {
        canvas.title("Thinking level per model");
        let text = "The thinking level new sessions start with.";
        canvas.text(RowPriority::Help, ColorToken::Muted, text);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        if self.matching.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching models.",
            );
        }
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let Some(subject) = self.matching.get(index) else {
                continue;
            };
            let level = self.level_of(subject).map_or("", ThinkingLevel::as_str);
            let note = canvas.paint(ColorToken::Warning, &format!("  {level}"));
            canvas.choice(
                index,
                index == self.picker.selected(),
                &subject.name(),
                &note,
            );
        }
        if cut {
            canvas.position(self.picker.selected(), self.matching.len(), "");
        }
        canvas.blank();
        canvas.hints(&[
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("back"),
        ]);
    }
}

impl ThinkingTarget {
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

impl DialogBody for ModelThinking {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        let now = match &self.levels {
            Some(levels) => self.level_of(&levels.subject),
            None => None,
        };
        match &mut self.levels {
            Some(levels) => Self::paint_levels(levels, now, canvas),
            None => self.paint_targets(canvas),
        }
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let picker = match &mut self.levels {
            Some(levels) => &mut levels.picker,
            None => &mut self.picker,
        };
        if let Some(picked) = picker.key(event, context) {
            self.on_pick(picked, sink);
            return InputOutcome::Consumed;
        }
        if self.levels.is_some() {
            return InputOutcome::Ignored;
        }
        let outcome = self.search.handle_input(event, context);
        self.apply_search();
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let picker = match &mut self.levels {
            Some(levels) => &mut levels.picker,
            None => &mut self.picker,
        };
        if let Some(picked) = picker.mouse(event, hit) {
            self.on_pick(picked, sink);
            return true;
        }
        self.levels.is_none() && point_at_field(&mut self.search, event, hit, context)
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }
}
