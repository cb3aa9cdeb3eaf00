//! A selection list: labels, descriptions, a selection that wraps around.

use std::ops::Range;

use super::background::{clip, fit};
use super::handler::Handler;
use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::input::{InputEvent, KeyEvent, MouseButton, MouseEvent, MouseEventKind, action};
use crate::line::{Line, Lines};
use crate::style::Painter;
use crate::text::visible_width;

const PRIMARY_COLUMN: usize = 32;
const COLUMN_GAP: usize = 2;
const MIN_DESCRIPTION: usize = 10;
/// Below this width descriptions would leave no room for labels.
const MIN_WIDTH_FOR_DESCRIPTIONS: usize = 40;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectItem {
    /// The value reported in events.
    pub value: String,
    /// Displayed text; the value if empty.
    pub label: String,
    /// Shown next to the label.
    pub description: Option<String>,
}

impl SelectItem {
    /// Returns an entry that displays its value.
    pub fn new(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            ..Self::default()
        }
    }

    fn shown(&self) -> &str {
        if self.label.is_empty() {
            &self.value
        } else {
            &self.label
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct SelectTheme {
    /// The selected entry, including its description.
    pub selected: Painter,
    /// Descriptions of other entries.
    pub description: Painter,
    /// The position indicator below a list that does not fit.
    pub position: Painter,
    /// The message of an empty list.
    pub empty: Painter,
}

/// Width of the label column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectLayout {
    pub min_column: usize,
    pub max_column: usize,
}

impl Default for SelectLayout {
    fn default() -> Self {
        Self {
            min_column: PRIMARY_COLUMN,
            max_column: PRIMARY_COLUMN,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectEvent {
    Moved(SelectItem),
    Confirmed(SelectItem),
    Canceled,
}

/// A scrollable list with one selected entry.
#[derive(Debug)]
pub struct SelectList {
    items: Vec<SelectItem>,
    /// Indices of the items that match the filter.
    matching: Vec<usize>,
    selected: usize,
    pressed: Option<usize>,
    max_visible: usize,
    theme: SelectTheme,
    layout: SelectLayout,
    handler: Handler<SelectEvent>,
    cache: Option<(usize, Lines)>,
}

impl SelectList {
    /// Returns a list that shows `max_visible` entries at a time.
    pub fn new(items: Vec<SelectItem>, max_visible: usize, theme: SelectTheme) -> Self {
        Self {
            matching: (0..items.len()).collect(),
            items,
            selected: 0,
            pressed: None,
            max_visible: max_visible.max(1),
            theme,
            layout: SelectLayout::default(),
            handler: Handler::default(),
            cache: None,
        }
    }

    /// Sets the column widths.
    #[must_use]
    pub fn layout(mut self, layout: SelectLayout) -> Self {
        self.layout = layout;
        self
    }

    /// Calls `handle` for every event.
    pub fn on_event(&mut self, handle: impl FnMut(SelectEvent) + Send + 'static) {
        self.handler.set(handle);
    }

    /// Shows only entries whose value starts with `filter`, ignoring case, and selects the first.
    pub fn set_filter(&mut self, filter: &str) {
        let filter = filter.to_lowercase();
        self.matching = self
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.value.to_lowercase().starts_with(&filter))
            .map(|(index, _)| index)
            .collect();
        self.selected = 0;
        self.cache = None;
    }

    /// Selects the entry at `index` of those shown, or the last one.
    pub fn select(&mut self, index: usize) {
        self.selected = index.min(self.matching.len().saturating_sub(1));
        self.cache = None;
    }

    pub fn selected(&self) -> Option<&SelectItem> {
        self.items.get(*self.matching.get(self.selected)?)
    }

    /// Handles the keys of the selection actions.
    pub(crate) fn handle_key(
        &mut self,
        key: &KeyEvent,
        context: &InputContext<'_>,
    ) -> InputOutcome {
        let means = |action| context.keybindings.matches(key, action);
        let count = self.matching.len();
        if means(action::SELECT_UP) {
            self.move_to(if self.selected == 0 {
                count.saturating_sub(1)
            } else {
                self.selected - 1
            });
        } else if means(action::SELECT_DOWN) {
            self.move_to(if self.selected + 1 >= count {
                0
            } else {
                self.selected + 1
            });
        } else if means(action::SELECT_PAGE_UP) {
            self.move_to(self.selected.saturating_sub(self.max_visible));
        } else if means(action::SELECT_PAGE_DOWN) {
            self.move_to((self.selected + self.max_visible).min(count.saturating_sub(1)));
        } else if means(action::SELECT_CONFIRM) {
            self.confirm();
        } else if means(action::SELECT_CANCEL) {
            self.handler.emit(SelectEvent::Canceled);
        } else {
            return InputOutcome::Ignored;
        }
        InputOutcome::Consumed
    }

    fn move_to(&mut self, index: usize) {
        self.selected = index;
        self.cache = None;
        if let Some(item) = self.selected().cloned() {
            self.handler.emit(SelectEvent::Moved(item));
        }
    }

    fn confirm(&mut self) {
        if let Some(item) = self.selected().cloned() {
            self.handler.emit(SelectEvent::Confirmed(item));
        }
    }

    fn visible(&self) -> Range<usize> {
        visible_range(self.selected, self.matching.len(), self.max_visible)
    }

    fn draw(&self, width: usize) -> Lines {
        if self.matching.is_empty() {
            let message = self.theme.empty.paint("  No matching commands");
            return Lines::from(vec![fit(message, width)]);
        }
        let column = self.column_width();
        let visible = self.visible();
        let mut lines: Vec<Line> = visible
            .clone()
            .filter_map(|index| {
                let item = self.items.get(*self.matching.get(index)?)?;
                Some(fit(
                    self.draw_item(item, index == self.selected, width, column),
                    width,
                ))
            })
            .collect();
        if visible.len() < self.matching.len() {
            let position = format!("  ({}/{})", self.selected + 1, self.matching.len());
            let position = clip(&position, width.saturating_sub(2));
            lines.push(fit(self.theme.position.paint(&position), width));
        }
        lines.into()
    }

    fn column_width(&self) -> usize {
        let (low, high) = (
            self.layout.min_column.min(self.layout.max_column).max(1),
            self.layout.max_column.max(self.layout.min_column).max(1),
        );
        self.matching
            .iter()
            .filter_map(|index| self.items.get(*index))
            .map(|item| visible_width(item.shown()) + COLUMN_GAP)
            .max()
            .unwrap_or(0)
            .clamp(low, high)
    }

    fn draw_item(&self, item: &SelectItem, selected: bool, width: usize, column: usize) -> String {
        let prefix = if selected { "→ " } else { "  " };
        if width > MIN_WIDTH_FOR_DESCRIPTIONS
            && let Some(description) = item.description.as_deref().map(single_line)
            && !description.is_empty()
        {
            let column = column.min(width - 6).max(1);
            let label = clip(item.shown(), column.saturating_sub(COLUMN_GAP).max(1));
            let label_width = visible_width(&label);
            let spacing = " ".repeat(column.saturating_sub(label_width).max(1));
            let room = width.saturating_sub(2 + label_width + spacing.len() + 2);
            if room > MIN_DESCRIPTION {
                let description = clip(&description, room);
                return if selected {
                    self.theme
                        .selected
                        .paint(&format!("{prefix}{label}{spacing}{description}"))
                } else {
                    let description = format!("{spacing}{description}");
                    format!(
                        "{prefix}{label}{}",
                        self.theme.description.paint(&description)
                    )
                };
            }
        }
        let label = clip(item.shown(), width.saturating_sub(4));
        let line = format!("{prefix}{label}");
        if selected {
            self.theme.selected.paint(&line)
        } else {
            line
        }
    }
}

/// Returns the range of `count` entries that is shown, with `selected` near its middle.
pub(super) fn visible_range(selected: usize, count: usize, max_visible: usize) -> Range<usize> {
    let start = selected
        .saturating_sub(max_visible / 2)
        .min(count.saturating_sub(max_visible));
    start..(start + max_visible).min(count)
}

fn single_line(text: &str) -> String {
    text.split(['\r', '\n'])
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
        .trim()
        .to_owned()
}

impl Component for SelectList {
    fn render(&mut self, width: usize) -> Lines {
        if let Some((cached_width, lines)) = &self.cache
            && *cached_width == width
        {
            return lines.clone();
        }
        let lines = self.draw(width);
        self.cache = Some((width, lines.clone()));
        lines
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        match event {
            InputEvent::Key(key) => self.handle_key(key, context),
            _ => InputOutcome::Ignored,
        }
    }

    fn handle_mouse(&mut self, event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        if self.matching.is_empty() {
            return MouseOutcome::default();
        }
        // Hovering must not select, since the visible range is centered on the selection.
        let index = self.visible().start + event.row;
        match (event.kind, event.button) {
            (MouseEventKind::Wheel { lines }, _) if lines != 0 => {
                let next = if lines < 0 {
                    self.selected.saturating_sub(1)
                } else {
                    (self.selected + 1).min(self.matching.len() - 1)
                };
                let moved = next != self.selected;
                if moved {
                    self.move_to(next);
                }
                MouseOutcome {
                    render: Some(moved),
                    ..MouseOutcome::handled()
                }
            }
            (MouseEventKind::Press, MouseButton::Left) if self.visible().contains(&index) => {
                self.pressed = Some(index);
                if index != self.selected {
                    self.move_to(index);
                }
                MouseOutcome {
                    focus: true,
                    ..MouseOutcome::handled()
                }
            }
            (MouseEventKind::Click { .. }, MouseButton::Left)
                if self.visible().contains(&index) =>
            {
                let clicked = self.pressed.take().unwrap_or(index);
                if clicked != self.selected {
                    self.move_to(clicked);
                }
                self.confirm();
                MouseOutcome::handled()
            }
            _ => MouseOutcome::default(),
        }
    }

    fn invalidate(&mut self) {
        self.cache = None;
    }
}
