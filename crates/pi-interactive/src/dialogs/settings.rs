//! All settings that are worth a line: search, change in place, and menus for the larger ones.

use std::sync::Arc;

use pi_ai::Model;
use pi_config::Settings;
use pi_tui::{
    ColorToken, Component, FuzzyQuery, Input, InputContext, InputEvent, InputOutcome, Key, KeyId,
    MouseEvent, TruncateOptions, action, sort_by_score, pad_to_width, truncate_to_width, visible_width,
};

use super::field::{point_at_field, prefilled};
use super::hint::Hint;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::sheet::{Hit, Sheet, Weight};
use super::theme::{ThemeChoices, ThemeDialog};
use super::window::{Pane, Window};
use crate::intent::{Intent, SettingChange};
use crate::look::Look;

mod items;
mod model_thinking;

use items::{Change, Menu, Setting, settings};
use model_thinking::ModelThinking;

const MOST_ROWS: usize = 10;
const WIDEST_LABEL: usize = 34;
/// Columns beside the labels: the arrow, a gap, and a value such as `false`.
const ROOM_FOR_VALUES: usize = 11;

/// What the settings dialog begins with.
#[derive(Clone, Debug)]
pub(crate) struct SettingChoices {
    /// The settings in force.
    pub(crate) settings: Arc<Settings>,
    /// Whether the terminal's own cursor shows, the environment considered.
    pub(crate) hardware_cursor: bool,
    /// Whether rows that became empty are cleared, the environment considered.
    pub(crate) clear_on_shrink: bool,
    /// The themes there are, and the one in use.
    pub(crate) themes: ThemeChoices,
    /// Models that can have a thinking level of their own.
    pub(crate) models: Vec<Arc<Model>>,
    /// The model in use.
    pub(crate) current_model: Option<Arc<Model>>,
}

/// A menu in the place of the list.
enum Open {
    Theme(ThemeDialog),
    ModelThinking(ModelThinking),
}

/// The dialog of settings.
pub(crate) struct SettingsDialog {
    choices: SettingChoices,
    settings: Vec<Setting>,
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    open: Option<Open>,
}

impl SettingsDialog {
    /// Opens the dialog.
    pub(crate) fn open(look: Look, choices: SettingChoices) -> Window<Self> {
        let appearance = look.appearance();
        let settings = settings(&choices, &appearance);
        let mut pane = Self {
            choices,
            settings,
            matching: Vec::new(),
            picker: Picker::new(0, Edge::Wrap),
            search: prefilled(""),
            open: None,
        };
        pane.search_again();
        Window::new(look, pane)
    }

    fn search_again(&mut self) {
        let query = FuzzyQuery::new(self.search.value());
        let settings = self.settings.iter().enumerate();
        self.matching = sort_by_score(
            settings.filter_map(|(index, setting)| Some((setting.score(&query)?, index))),
        );
        self.picker.set_count(self.matching.len());
        self.picker.select(0);
    }

    fn selected(&mut self) -> Option<&mut Setting> {
        let index = self.matching.get(self.picker.selected())?;
        self.settings.get_mut(*index)
    }

    fn activate(&mut self, outbox: &mut Outbox) {
        let Some(setting) = self.selected() else {
            return;
        };
        match &setting.change {
            Change::Cycle(_) => {
                if let Some(change) = setting.next() {
                    outbox.send(Intent::ChangeSetting(change));
                }
            }
            Change::Menu(Menu::Theme) => {
                self.open = Some(Open::Theme(ThemeDialog::new(self.choices.themes.clone())));
            }
            Change::Menu(Menu::ModelThinking) => {
                let mut menu = ModelThinking::new(&self.choices);
                menu.set_focused(true);
                self.open = Some(Open::ModelThinking(menu));
            }
        }
    }

    /// Passes on what a menu wants, keeps what it changed, and leaves it when it is over.
    fn settle_menu(&mut self, inner: &mut Outbox, outbox: &mut Outbox) {
        for intent in inner.take() {
            match &intent {
                Intent::ChangeSetting(SettingChange::Theme(theme)) => {
                    self.choices.themes.setting.clone_from(theme);
                }
                Intent::ChangeSetting(SettingChange::ModelThinking { model, level }) => {
                    let levels =
                        &mut Arc::make_mut(&mut self.choices.settings).model_thinking_levels;
                    match level {
                        Some(level) => levels.insert(model.clone(), *level),
                        None => levels.remove(model),
                    };
                }
                Intent::ChangeSetting(SettingChange::DefaultThinking(level)) => {
                    let settings = Arc::make_mut(&mut self.choices.settings);
                    settings.default_thinking_level = Some(*level);
                }
                _ => {}
            }
            outbox.send(intent);
        }
        if inner.is_closed() {
            self.open = None;
        }
        for setting in &mut self.settings {
            if let Change::Menu(menu) = setting.change {
                setting.value = menu.value(&self.choices);
            }
        }
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => self.activate(outbox),
            Picked::Cancelled => outbox.close(),
        }
    }

    fn paint_list(&mut self, sheet: &mut Sheet) {
        if self.matching.is_empty() {
            sheet.text(Weight::Content, ColorToken::Muted, "  No setting matches.");
            return;
        }
        let widest = self
            .settings
            .iter()
            .map(|setting| visible_width(setting.label));
        let room = sheet.width().saturating_sub(ROOM_FOR_VALUES);
        let column = widest.max().unwrap_or(0).min(WIDEST_LABEL).min(room);
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 2));
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
            let value = sheet.paint(token, &format!("  {}", setting.value));
            sheet.choice(index, selected, &label, &value);
        }
        if cut {
            sheet.position(self.picker.selected(), self.matching.len(), "");
        }
        if let Some(description) = self.selected().map(|setting| setting.description.clone()) {
            sheet.blank();
            sheet.text(Weight::Detail, ColorToken::Muted, &description);
        }
    }
}

impl Pane for SettingsDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        match &mut self.open {
            Some(Open::Theme(menu)) => return menu.paint(sheet),
            Some(Open::ModelThinking(menu)) => return menu.paint(sheet),
            None => {}
        }
        sheet.field(&mut self.search);
        sheet.blank();
        self.paint_list(sheet);
        sheet.blank();
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "change"),
            Hint::leave("close"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        let mut inner = Outbox::default();
        let outcome = match &mut self.open {
            Some(Open::Theme(menu)) => menu.handle(event, context, &mut inner),
            Some(Open::ModelThinking(menu)) => menu.handle(event, context, &mut inner),
            None => return self.handle_list(event, context, outbox),
        };
        self.settle_menu(&mut inner, outbox);
        outcome
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let mut inner = Outbox::default();
        let used = match &mut self.open {
            Some(Open::Theme(menu)) => menu.mouse(event, hit, context, &mut inner),
            Some(Open::ModelThinking(menu)) => menu.mouse(event, hit, context, &mut inner),
            None => {
                if let Some(picked) = self.picker.mouse(event, hit) {
                    self.settle(picked, outbox);
                    return true;
                }
                return point_at_field(&mut self.search, event, hit, context);
            }
        };
        self.settle_menu(&mut inner, outbox);
        used
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
        if let Some(Open::ModelThinking(menu)) = &mut self.open {
            menu.set_focused(focused);
        }
    }
}

impl SettingsDialog {
    fn handle_list(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if let Some(picked) = self.picker.key(event, context) {
            self.settle(picked, outbox);
            return InputOutcome::Consumed;
        }
        // A space changes the setting, unless it belongs to what is searched for.
        let space = matches!(event, InputEvent::Key(key)
            if key.is(KeyId::new(Key::Space)) || key.text() == Some(' '));
        if space && self.search.value().is_empty() {
            self.activate(outbox);
            return InputOutcome::Consumed;
        }
        let before = self.search.value().to_owned();
        let outcome = self.search.handle_input(event, context);
        if self.search.value() != before {
            self.search_again();
        }
        outcome
    }
}

#[cfg(test)]
mod tests;
