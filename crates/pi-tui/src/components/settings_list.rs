//! A list of settings: labels, values, a description of the selected one, and submenus.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::background::{clip, ellipsize, fit};
use super::handler::Handler;
use super::input::{Input, InputOptions};
use super::select_list::visible_range;
use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::fuzzy::fuzzy_filter;
use crate::input::{InputEvent, Key, KeyId, MouseButton, MouseEvent, MouseEventKind, action};
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::text::{pad_to_width, visible_width, wrap_text};

const MAX_LABEL: usize = 36;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubmenuOutcome {
    /// The new value, or `None` if the submenu was canceled.
    pub value: Option<String>,
    /// The setting to select next, whose submenu opens as well.
    pub navigate_to: Option<String>,
}

/// Closes a submenu; passed to the submenu when it is created.
#[derive(Clone, Debug, Default)]
pub struct SubmenuHandle(Arc<Mutex<Option<SubmenuOutcome>>>);

impl SubmenuHandle {
    pub fn close(&self, outcome: SubmenuOutcome) {
        *self.0.lock() = Some(outcome);
    }

    fn take(&self) -> Option<SubmenuOutcome> {
        self.0.lock().take()
    }
}

type SubmenuFactory = Box<dyn Fn(&str, SubmenuHandle) -> Box<dyn Component> + Send>;

/// How a setting can be changed.
#[derive(Default)]
pub enum SettingControl {
    /// The value is only shown.
    #[default]
    ReadOnly,
    /// Enter and Space switch to the next value.
    Cycle(Vec<String>),
    /// Enter and Space open a component, created for the current value.
    Submenu(SubmenuFactory),
}

impl fmt::Debug for SettingControl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => formatter.write_str("ReadOnly"),
            Self::Cycle(values) => formatter.debug_tuple("Cycle").field(values).finish(),
            Self::Submenu(_) => formatter.write_str("OpenSubmenu"),
        }
    }
}

#[derive(Debug, Default)]
pub struct SettingItem {
    /// Identifies the setting in events.
    pub id: String,
    pub label: String,
    /// Shown below the list while selected.
    pub description: Option<String>,
    pub value: String,
    pub control: SettingControl,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsEvent {
    Changed { id: String, value: String },
    Canceled,
}

#[derive(Clone, Debug)]
pub struct SettingsTheme {
    pub label: Painter,
    pub selected_label: Painter,
    pub value: Painter,
    pub selected_value: Painter,
    /// The description of the selected setting.
    pub description: Painter,
    /// Key hints and the position.
    pub hint: Painter,
    /// Shown before the selected setting; two columns wide.
    pub cursor: String,
}

impl Default for SettingsTheme {
    fn default() -> Self {
        Self {
            label: Painter::plain(),
            selected_label: Painter::plain(),
            value: Painter::plain(),
            selected_value: Painter::plain(),
            description: Painter::plain(),
            hint: Painter::plain(),
            cursor: "→ ".to_owned(),
        }
    }
}

/// Whether typing searches a [`SettingsList`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingsSearch {
    #[default]
    Off,
    /// Shows a search field above the list.
    On,
}

struct OpenSubmenu {
    component: Box<dyn Component>,
    reply: SubmenuHandle,
    opened_by: usize,
}

impl fmt::Debug for OpenSubmenu {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OpenSubmenu")
    }
}

/// A list of settings that can be changed in place.
#[derive(Debug)]
pub struct SettingsList {
    items: Vec<SettingItem>,
    matching: Vec<usize>,
    selected: usize,
    pressed: Option<usize>,
    max_visible: usize,
    theme: SettingsTheme,
    search: Option<Input>,
    submenu: Option<OpenSubmenu>,
    handler: Handler<SettingsEvent>,
}

impl SettingsList {
    /// Returns a list that shows `max_visible` settings at a time.
    pub fn new(
        items: Vec<SettingItem>,
        max_visible: usize,
        theme: SettingsTheme,
        search: SettingsSearch,
    ) -> Self {
        Self {
            matching: (0..items.len()).collect(),
            items,
            selected: 0,
            pressed: None,
            max_visible: max_visible.max(1),
            theme,
            search: (search == SettingsSearch::On).then(|| Input::new(InputOptions::default())),
            submenu: None,
            handler: Handler::default(),
        }
    }

    /// Calls `handle` for every event.
    pub fn on_event(&mut self, handle: impl FnMut(SettingsEvent) + Send + 'static) {
        self.handler.set(handle);
    }

    /// Sets the displayed value of a setting, without an event.
    pub fn set_value(&mut self, id: &str, value: impl Into<String>) {
        if let Some(item) = self.items.iter_mut().find(|item| item.id == id) {
            item.value = value.into();
        }
    }

    /// Returns the displayed value of a setting.
    pub fn value(&self, id: &str) -> Option<&str> {
        let item = self.items.iter().find(|item| item.id == id)?;
        Some(&item.value)
    }

    /// Selects a setting, if it is shown.
    pub fn select(&mut self, id: &str) {
        let position = self
            .matching
            .iter()
            .position(|index| self.items.get(*index).is_some_and(|item| item.id == id));
        if let Some(position) = position {
            self.selected = position;
        }
    }

    fn item_at(&self, position: usize) -> Option<&SettingItem> {
        self.items.get(*self.matching.get(position)?)
    }

    fn visible(&self) -> Range<usize> {
        visible_range(self.selected, self.matching.len(), self.max_visible)
    }

    fn activate(&mut self) {
        let Some(item) = self
            .matching
            .get(self.selected)
            .and_then(|index| self.items.get_mut(*index))
        else {
            return;
        };
        match &item.control {
            SettingControl::ReadOnly => {}
            SettingControl::Cycle(values) => {
                let next = values
                    .iter()
                    .position(|value| *value == item.value)
                    .map_or(0, |position| (position + 1) % values.len());
                if let Some(value) = values.get(next) {
                    item.value.clone_from(value);
                    self.handler.emit(SettingsEvent::Changed {
                        id: item.id.clone(),
                        value: value.clone(),
                    });
                }
            }
            SettingControl::Submenu(make) => {
                let reply = SubmenuHandle::default();
                let mut component = make(&item.value, reply.clone());
                component.set_focused(true);
                self.submenu = Some(OpenSubmenu {
                    component,
                    reply,
                    opened_by: self.selected,
                });
            }
        }
    }

    /// Closes the submenu if it has finished. With chained submenus, one opens per event.
    fn close_finished_submenu(&mut self) {
        let Some(outcome) = self.submenu.as_ref().and_then(|menu| menu.reply.take()) else {
            return;
        };
        let Some(menu) = self.submenu.take() else {
            return;
        };
        self.selected = menu.opened_by;
        if let Some(value) = outcome.value
            && let Some(item) = self
                .matching
                .get(menu.opened_by)
                .and_then(|index| self.items.get_mut(*index))
        {
            item.value.clone_from(&value);
            self.handler.emit(SettingsEvent::Changed {
                id: item.id.clone(),
                value,
            });
        }
        if let Some(id) = outcome.navigate_to {
            self.select(&id);
            self.activate();
        }
    }

    fn search_for(&mut self, query: &str) {
        let labeled: Vec<(usize, &str)> = self
            .items
            .iter()
            .enumerate()
            .map(|(index, item)| (index, item.label.as_str()))
            .collect();
        self.matching = fuzzy_filter(labeled, query, |(_, label)| *label)
            .into_iter()
            .map(|(index, _)| index)
            .collect();
        self.selected = 0;
    }

    fn draw(&mut self, width: usize) -> Lines {
        let mut lines: Vec<Line> = Vec::new();
        if let Some(search) = &mut self.search {
            lines.extend(search.render(width).iter().cloned());
            lines.push(Line::default());
        }
        let hint = |text: &str| fit(self.theme.hint.paint(&ellipsize(text, width)), width);
        if self.matching.is_empty() {
            lines.push(hint(if self.items.is_empty() {
                "  No settings available"
            } else {
                "  No matching settings"
            }));
        } else {
            lines.extend(self.draw_items(width));
            if let Some(description) = self
                .item_at(self.selected)
                .and_then(|item| item.description.as_deref())
            {
                lines.push(Line::default());
                lines.extend(
                    wrap_text(description, width.saturating_sub(4).max(1))
                        .iter()
                        .map(|line| fit(self.theme.description.paint(&format!("  {line}")), width)),
                );
            }
        }
        lines.push(Line::default());
        lines.push(hint(if self.search.is_some() {
            "  Type to search · Enter/Space to change · Esc to cancel"
        } else {
            "  Enter/Space to change · Esc to cancel"
        }));
        lines.into()
    }

    fn draw_items(&self, width: usize) -> Vec<Line> {
        let label_width = self
            .items
            .iter()
            .map(|item| visible_width(&item.label))
            .max()
            .unwrap_or(0)
            .min(MAX_LABEL);
        let visible = self.visible();
        let mut lines: Vec<Line> = visible
            .clone()
            .filter_map(|position| Some((position, self.item_at(position)?)))
            .map(|(position, item)| {
                let (prefix, label, value) = if position == self.selected {
                    (
                        self.theme.cursor.as_str(),
                        &self.theme.selected_label,
                        &self.theme.selected_value,
                    )
                } else {
                    ("  ", &self.theme.label, &self.theme.value)
                };
                let room = width.saturating_sub(visible_width(prefix) + label_width + 4);
                let line = format!(
                    "{prefix}{}  {}",
                    label.paint(&pad_to_width(&item.label, label_width)),
                    value.paint(&clip(&item.value, room))
                );
                fit(ellipsize(&line, width).into_owned(), width)
            })
            .collect();
        if visible.len() < self.matching.len() {
            let position = format!("  ({}/{})", self.selected + 1, self.matching.len());
            let position = clip(&position, width.saturating_sub(2));
            lines.push(fit(self.theme.hint.paint(&position), width));
        }
        lines
    }
}

impl Component for SettingsList {
    fn render(&mut self, width: usize) -> Lines {
        self.close_finished_submenu();
        match &mut self.submenu {
            Some(menu) => menu.component.render(width),
            None => self.draw(width),
        }
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        if let Some(menu) = &mut self.submenu {
            let outcome = menu.component.handle_input(event, context);
            self.close_finished_submenu();
            return outcome;
        }
        let searching = self
            .search
            .as_ref()
            .is_some_and(|search| !search.value().is_empty());
        if let InputEvent::Key(key) = event {
            let means = |action| context.keybindings.matches(key, action);
            let count = self.matching.len();
            if means(action::SELECT_UP) {
                self.selected = self.selected.checked_sub(1).unwrap_or(count.max(1) - 1);
                return InputOutcome::Consumed;
            }
            if means(action::SELECT_DOWN) {
                self.selected = if self.selected + 1 >= count {
                    0
                } else {
                    self.selected + 1
                };
                return InputOutcome::Consumed;
            }
            let space = key.text() == Some(' ') || key.is(KeyId::new(Key::Space));
            if means(action::SELECT_CONFIRM)
                || (space && key.text().is_none_or(|text| text == ' ') && !searching)
            {
                self.activate();
                return InputOutcome::Consumed;
            }
            if means(action::SELECT_CANCEL) {
                self.handler.emit(SettingsEvent::Canceled);
                return InputOutcome::Consumed;
            }
        }
        let Some(search) = &mut self.search else {
            return InputOutcome::Ignored;
        };
        let outcome = search.handle_input(event, context);
        let query = search.value().to_owned();
        self.search_for(&query);
        outcome
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        if let Some(menu) = &mut self.submenu {
            let outcome = menu.component.handle_mouse(event, context);
            self.close_finished_submenu();
            return outcome;
        }
        let mut row = event.row;
        if let Some(search) = &mut self.search {
            match event.row {
                0 => return search.handle_mouse(event, context),
                1 => return MouseOutcome::default(),
                _ => row -= 2,
            }
        }
        let position = self.visible().start + row;
        match (event.kind, event.button) {
            (MouseEventKind::Wheel { lines }, _) if lines != 0 && !self.matching.is_empty() => {
                let next = if lines < 0 {
                    self.selected.saturating_sub(1)
                } else {
                    (self.selected + 1).min(self.matching.len() - 1)
                };
                let moved = next != self.selected;
                self.selected = next;
                MouseOutcome {
                    render: Some(moved),
                    ..MouseOutcome::handled()
                }
            }
            (MouseEventKind::Press, MouseButton::Left) if self.visible().contains(&position) => {
                self.pressed = Some(position);
                self.selected = position;
                MouseOutcome {
                    focus: true,
                    ..MouseOutcome::handled()
                }
            }
            (MouseEventKind::Click { .. }, MouseButton::Left)
                if self.visible().contains(&position) =>
            {
                self.selected = self.pressed.take().unwrap_or(position);
                self.activate();
                MouseOutcome::handled()
            }
            _ => MouseOutcome::default(),
        }
    }

    fn invalidate(&mut self) {
        if let Some(menu) = &mut self.submenu {
            menu.component.invalidate();
        }
    }

    fn set_focused(&mut self, focused: bool) {
        if let Some(search) = &mut self.search {
            search.set_focused(focused);
        }
        if let Some(menu) = &mut self.submenu {
            menu.component.set_focused(focused);
        }
    }
}
