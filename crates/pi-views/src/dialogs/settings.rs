//! The settings dialog: search, in-place changes, and submenus.

use std::sync::Arc;

use pi_protocol::Model;
use pi_protocol::settings::{SettingChange, Settings};
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, Key, KeyId,
    MouseEvent, TruncateOptions, action, pad_to_width, sort_by_score, truncate_to_width,
    visible_width,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::field::{point_at_field, prefilled};
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::theme::{ThemeDialog, ThemeDialogOptions};
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

mod item;
mod items;
mod model_thinking;

use item::{SettingAction, SettingItem, SettingMenu};
use items::settings;
use model_thinking::ModelThinking;

const MAX_ROWS: usize = 10;
const MAX_LABEL_WIDTH: usize = 34;
/// Columns next to the labels: the arrow, a gap, and a value such as `false`.
const VALUE_COLUMNS: usize = 11;

#[derive(Clone, Debug)]
pub struct SettingsDialogOptions {
    pub settings: Arc<Settings>,
    /// The effective value, including the environment.
    pub hardware_cursor: bool,
    /// The effective value, including the environment.
    pub clear_on_shrink: bool,
    pub themes: ThemeDialogOptions,
    /// Models that can have their own thinking level.
    pub models: Vec<Arc<Model>>,
    pub current_model: Option<Arc<Model>>,
}

/// A submenu shown instead of the list.
enum OpenMenu {
    Theme(ThemeDialog),
    ModelThinking(ModelThinking),
}

pub(crate) struct SettingsDialog {
    options: SettingsDialogOptions,
    settings: Vec<SettingItem>,
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    open: Option<OpenMenu>,
}

impl SettingsDialog {
    pub(crate) fn open(ui: UiTheme, options: SettingsDialogOptions) -> DialogFrame<Self> {
        let ctx = ui.context();
        let settings = settings(&options, &ctx);
        let mut body = Self {
            options,
            settings,
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Wrap),
            search: prefilled(""),
            open: None,
        };
        body.apply_search();
        DialogFrame::new(ui, body)
    }

    fn apply_search(&mut self) {
        let query = FuzzyQuery::new(self.search.value());
        let settings = self.settings.iter().enumerate();
        self.matching = sort_by_score(
            settings.filter_map(|(index, setting)| Some((setting.score(&query)?, index))),
        );
        self.picker.set_count(self.matching.len());
        self.picker.select(0);
    }

    fn selected(&mut self) -> Option<&mut SettingItem> {
        let index = self.matching.get(self.picker.selected())?;
        self.settings.get_mut(*index)
    }

    fn activate(&mut self, sink: &mut IntentSink) {
        let Some(setting) = self.selected() else {
            return;
        };
        match &setting.change {
            SettingAction::Cycle(_) => {
                if let Some(change) = setting.next() {
                    sink.send(Intent::ChangeSetting(change));
                }
            }
            SettingAction::Menu(SettingMenu::Theme) => {
                self.open = Some(OpenMenu::Theme(ThemeDialog::new(
                    self.options.themes.clone(),
                )));
            }
            SettingAction::Menu(SettingMenu::ModelThinking) => {
                let mut menu = ModelThinking::new(&self.options);
                menu.set_focused(true);
                self.open = Some(OpenMenu::ModelThinking(menu));
            }
        }
    }

    /// Forwards the submenu's intents, records its changes, and closes it when it is done.
    fn handle_menu_intents(&mut self, inner: &mut IntentSink, sink: &mut IntentSink) {
        for intent in inner.take() {
            match &intent {
                Intent::ChangeSetting(SettingChange::Theme(theme)) => {
                    self.options.themes.setting.clone_from(theme);
                }
                Intent::ChangeSetting(SettingChange::ModelThinking { model, level }) => {
                    let levels =
                        &mut Arc::make_mut(&mut self.options.settings).model_thinking_levels;
                    match level {
                        Some(level) => levels.insert(model.clone(), *level),
                        None => levels.remove(model),
                    };
                }
                Intent::ChangeSetting(SettingChange::DefaultThinking(level)) => {
                    let settings = Arc::make_mut(&mut self.options.settings);
                    settings.default_thinking_level = Some(*level);
                }
                _ => {}
            }
            sink.send(intent);
        }
        if inner.is_closed() {
            self.open = None;
        }
        for setting in &mut self.settings {
            if let SettingAction::Menu(menu) = setting.change {
                setting.value = menu.value(&self.options);
            }
        }
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => self.activate(sink),
            PickerEvent::Canceled => sink.close(),
        }
    }

    fn paint_list(&mut self, canvas: &mut DialogCanvas) {
        if self.matching.is_empty() {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching settings.",
            );
            return;
        }
        let widest = self
            .settings
            .iter()
            .map(|setting| visible_width(setting.label));
        let room = canvas.width().saturating_sub(VALUE_COLUMNS);
        let column = widest.max().unwrap_or(0).min(MAX_LABEL_WIDTH).min(room);
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.matching.len();
        for index in visible {
            let setting = self
                .matching
                .get(index)
                .and_then(|at| self.settings.get(*at));
            let Some(setting) = setting else { continue };
            let selected = index == self.picker.selected();
            let label = truncate_to_width(setting.label, column, TruncateOptions { ellipsis: "…" });
            let label = pad_to_width(&label, column);
            let token = if selected {
                ColorToken::Accent
            } else {
                ColorToken::Muted
            };
            let value = canvas.paint(token, &format!("  {}", setting.value));
            canvas.choice(index, selected, &label, &value);
        }
        if cut {
            canvas.position(self.picker.selected(), self.matching.len(), "");
        }
        if let Some(description) = self.selected().map(|setting| setting.description.clone()) {
            canvas.blank();
            canvas.text(RowPriority::Detail, ColorToken::Muted, &description);
        }
    }
}

impl DialogBody for SettingsDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        match &mut self.open {
            Some(OpenMenu::Theme(menu)) => return menu.paint(canvas),
            Some(OpenMenu::ModelThinking(menu)) => return menu.paint(canvas),
            None => {}
        }
        canvas.title("Settings");
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        self.paint_list(canvas);
        canvas.blank();
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "change"),
            Hint::leave("close"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let mut inner = IntentSink::default();
        let outcome = match &mut self.open {
            Some(OpenMenu::Theme(menu)) => menu.handle(event, context, &mut inner),
            Some(OpenMenu::ModelThinking(menu)) => menu.handle(event, context, &mut inner),
            None => return self.handle_list(event, context, sink),
        };
        self.handle_menu_intents(&mut inner, sink);
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let mut inner = IntentSink::default();
        let used = match &mut self.open {
            Some(OpenMenu::Theme(menu)) => menu.mouse(event, hit, context, &mut inner),
            Some(OpenMenu::ModelThinking(menu)) => menu.mouse(event, hit, context, &mut inner),
            None => {
                if let Some(picked) = self.picker.mouse(event, hit) {
                    self.on_pick(picked, sink);
                    return true;
                }
                return point_at_field(&mut self.search, event, hit, context);
            }
        };
        self.handle_menu_intents(&mut inner, sink);
        used
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
        if let Some(OpenMenu::ModelThinking(menu)) = &mut self.open {
            menu.set_focused(focused);
        }
    }
}

impl SettingsDialog {
    fn handle_list(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if let Some(picked) = self.picker.key(event, context) {
            self.on_pick(picked, sink);
            return InputOutcome::Consumed;
        }
        // Space changes the setting, unless a search text is being typed.
        let space = matches!(event, InputEvent::Key(key)
            if key.is(KeyId::new(Key::Space)) || key.text() == Some(' '));
        if space && self.search.value().is_empty() {
            self.activate(sink);
            return InputOutcome::Consumed;
        }
        let before = self.search.value().to_owned();
        let outcome = self.search.handle_input(event, context);
        if self.search.value() != before {
            self.apply_search();
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
