//! A row of the settings dialog: its value and what activating it does.

use pi_protocol::settings::SettingChange;
use pi_tui::FuzzyQuery;

use super::super::plain_text::one_line;
use super::SettingsDialogOptions;

/// A row of the settings dialog.
#[derive(Debug)]
pub(super) struct SettingItem {
    /// The name used in the documentation; also matched by search.
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    pub(super) description: String,
    /// The displayed value.
    pub(super) value: String,
    pub(super) change: SettingAction,
}

/// What activating an item does.
#[derive(Debug)]
pub(super) enum SettingAction {
    /// Cycle through these values.
    Cycle(Vec<(String, SettingChange)>),
    Menu(SettingMenu),
}

/// A submenu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingMenu {
    Theme,
    /// Thinking levels per model.
    ModelThinking,
}

impl SettingMenu {
    /// Returns the displayed value of the item.
    pub(super) fn value(self, options: &SettingsDialogOptions) -> String {
        match self {
            Self::Theme => one_line(&options.themes.setting),
            Self::ModelThinking => match options.settings.model_thinking_levels.len() {
                0 => "none".to_owned(),
                1 => "1 model".to_owned(),
                count => format!("{count} models"),
            },
        }
    }
}

impl SettingItem {
    /// Switches to the next value and returns the change.
    pub(super) fn next(&mut self) -> Option<SettingChange> {
        let SettingAction::Cycle(values) = &self.change else {
            return None;
        };
        let now = values.iter().position(|(name, _)| *name == self.value);
        let next = now.map_or(0, |now| (now + 1) % values.len());
        let (name, change) = values.get(next)?;
        self.value.clone_from(name);
        Some(change.clone())
    }

    /// Returns the match score by label or name; lower is better.
    pub(super) fn score(&self, query: &FuzzyQuery) -> Option<f64> {
        let scores = [query.score(self.label), query.score(self.id)];
        scores.into_iter().flatten().min_by(f64::total_cmp)
    }

    pub(super) fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}

/// Returns a setting with named values.
pub(super) fn cycle<T: Copy + PartialEq>(
    id: &'static str,
    label: &'static str,
    value: T,
    values: &[(T, &str)],
    change: impl Fn(T) -> SettingChange,
) -> SettingItem {
    let named = values.iter().find(|(other, _)| *other == value);
    SettingItem {
        id,
        label,
        description: String::new(),
        value: named.map_or("", |(_, name)| name).to_owned(),
        change: SettingAction::Cycle(
            values
                .iter()
                .map(|(value, name)| ((*name).to_owned(), change(*value)))
                .collect(),
        ),
    }
}

/// Returns a setting that is on or off.
pub(super) fn switch(
    id: &'static str,
    label: &'static str,
    value: bool,
    change: impl Fn(bool) -> SettingChange,
) -> SettingItem {
    cycle(id, label, value, &[(true, "on"), (false, "off")], change)
}

/// Returns a numeric setting; a value outside the choices is shown, too.
pub(super) fn number(
    id: &'static str,
    label: &'static str,
    value: u64,
    values: &[u64],
    change: impl Fn(u64) -> SettingChange,
) -> SettingItem {
    let named: Vec<(u64, String)> = values
        .iter()
        .map(|value| (*value, value.to_string()))
        .collect();
    let named: Vec<(u64, &str)> = named
        .iter()
        .map(|(value, name)| (*value, name.as_str()))
        .collect();
    let mut setting = cycle(id, label, value, &named, change);
    setting.value = value.to_string();
    setting
}

/// Returns a row that opens a submenu.
pub(super) fn menu(
    id: &'static str,
    label: &'static str,
    menu: SettingMenu,
    options: &SettingsDialogOptions,
) -> SettingItem {
    SettingItem {
        id,
        label,
        description: String::new(),
        value: menu.value(options),
        change: SettingAction::Menu(menu),
    }
}
