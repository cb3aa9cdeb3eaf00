//! Enables and disables resources, for the user or the project.
//!
//! A [`ToggleStore`] applies the changes to the settings.

use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, Key, KeyId, MouseEvent,
    action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::field::prefilled;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::{ListBody, SearchBody};
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::theme::ui_theme::UiTheme;

/// Maximum number of rows shown, however tall the terminal is.
const MAX_ROWS: usize = 40;

/// Rows of the dialog besides its list.
const OTHER_ROWS: usize = 11;

/// Which settings are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceScope {
    User,
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToggleState {
    On,
    Off,
    /// Enabled by the project.
    Loaded,
    /// Disabled by the project.
    Unloaded,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceEntry {
    /// Origin; entries of a group are adjacent.
    pub group: String,
    pub kind: &'static str,
    pub name: String,
    /// Also matched by search.
    pub path: String,
    pub mark: ToggleState,
    /// Whether the project inherits it unchanged.
    pub is_inherited: bool,
}

/// Lists the resources and toggles them.
pub trait ToggleStore: Send {
    /// Returns the entries in list order.
    fn entries(&self, scope: ResourceScope) -> Vec<ResourceEntry>;

    /// Toggles an entry by its index in the list; the error is a message for the user.
    fn toggle(&mut self, scope: ResourceScope, index: usize) -> Result<(), String>;

    /// Whether the project's settings can be changed.
    fn has_project(&self) -> bool;
}

pub(crate) struct ResourcesDialog {
    toggles: Box<dyn ToggleStore>,
    scope: ResourceScope,
    entries: Vec<ResourceEntry>,
    /// Indices in `entries` that match the search.
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    problem: Option<String>,
}

/// A row of the list: a heading, or an entry with its index among the matches.
enum ResourceRow<'a> {
    Group(&'a str, bool),
    Kind(&'static str),
    Entry(usize, &'a ResourceEntry),
}

impl ResourcesDialog {
    pub(crate) fn open(
        ui: UiTheme,
        toggles: Box<dyn ToggleStore>,
        scope: ResourceScope,
    ) -> DialogFrame<Self> {
        let mut body = Self {
            toggles,
            scope,
            entries: Vec::new(),
            matching: Vec::new(),
            picker: Picker::new(0, EdgeBehavior::Stop),
            search: prefilled(""),
            problem: None,
        };
        body.reload_entries();
        DialogFrame::new(ui, body)
    }

    fn reload_entries(&mut self) {
        self.entries = self.toggles.entries(self.scope);
        self.apply_search();
    }

    fn toggle(&mut self) {
        let Some(index) = self.matching.get(self.picker.selected()).copied() else {
            return;
        };
        self.problem = self.toggles.toggle(self.scope, index).err();
        self.reload_entries();
    }

    fn switch_scope(&mut self) {
        if self.toggles.has_project() {
            self.scope = match self.scope {
                ResourceScope::User => ResourceScope::Project,
                ResourceScope::Project => ResourceScope::User,
            };
            self.picker.select(0);
            self.reload_entries();
        }
    }

    fn rows(&self) -> Vec<ResourceRow<'_>> {
        let mut rows = Vec::new();
        let mut last: Option<&ResourceEntry> = None;
        for (number, index) in self.matching.iter().enumerate() {
            let Some(entry) = self.entries.get(*index) else {
                continue;
            };
            let is_same_group = last.is_some_and(|last| last.group == entry.group);
            if !is_same_group {
                rows.push(ResourceRow::Group(&entry.group, entry.is_inherited));
            }
            if !is_same_group || last.is_some_and(|last| last.kind != entry.kind) {
                rows.push(ResourceRow::Kind(entry.kind));
            }
            rows.push(ResourceRow::Entry(number, entry));
            last = Some(entry);
        }
        rows
    }

    fn paint_list(&mut self, canvas: &mut DialogCanvas) {
        if self.matching.is_empty() {
            canvas.text(RowPriority::Content, ColorToken::Muted, "  No resources.");
            return;
        }
        let page = canvas.list_rows(MAX_ROWS, 1, OTHER_ROWS);
        let selected = self.picker.selected();
        // The picker pages by entries; headings make a page of rows slightly shorter.
        self.picker.visible_range(page);
        let rows = self.rows();
        let at = rows
            .iter()
            .position(|row| matches!(row, ResourceRow::Entry(number, _) if *number == selected))
            .unwrap_or_default();
        let start = at
            .saturating_sub(page / 2)
            .min(rows.len().saturating_sub(page));
        let is_cut = rows.len() > page;
        for row in rows.into_iter().skip(start).take(page) {
            match row {
                ResourceRow::Group(label, is_inherited) => {
                    let token = if is_inherited {
                        ColorToken::Dim
                    } else {
                        ColorToken::Accent
                    };
                    let label = canvas.bold(token, &one_line(label));
                    canvas.row(RowPriority::Content, &format!("  {label}"));
                }
                ResourceRow::Kind(label) => {
                    let label = canvas.paint(ColorToken::Muted, label);
                    canvas.row(RowPriority::Content, &format!("    {label}"));
                }
                ResourceRow::Entry(number, entry) => {
                    let line = paint_entry(canvas, entry, number == selected);
                    canvas.item(number, number == selected, &line);
                }
            }
        }
        if is_cut {
            canvas.position(selected, self.matching.len(), "");
        }
    }
}

fn paint_entry(canvas: &DialogCanvas, entry: &ResourceEntry, is_selected: bool) -> String {
    let (mark, token, note) = match entry.mark {
        ToggleState::On => ("[x]", ColorToken::Success, ""),
        ToggleState::Off => ("[ ]", ColorToken::Dim, ""),
        ToggleState::Loaded => ("[+]", ColorToken::Success, "  enabled for this project"),
        ToggleState::Unloaded => ("[-]", ColorToken::Warning, "  disabled for this project"),
    };
    let token = if entry.is_inherited {
        ColorToken::Dim
    } else {
        token
    };
    let arrow = if is_selected { "> " } else { "  " };
    let name = one_line(&entry.name);
    let name = match (entry.is_inherited, is_selected) {
        (true, _) => canvas.paint(ColorToken::Dim, &name),
        (false, true) => canvas.bold(ColorToken::Text, &name),
        (false, false) => name,
    };
    let note = canvas.paint(ColorToken::Muted, note);
    format!("{arrow}    {} {name}{note}", canvas.paint(token, mark))
}

impl ListBody for ResourcesDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => self.toggle(),
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl SearchBody for ResourcesDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        let query = self.search.value().trim().to_lowercase();
        let entries = self.entries.iter().enumerate();
        self.matching = entries
            .filter(|(_, entry)| {
                let texts = [entry.name.as_str(), entry.kind, entry.path.as_str()];
                query.is_empty()
                    || texts
                        .iter()
                        .any(|text| text.to_lowercase().contains(&query))
            })
            .map(|(index, _)| index)
            .collect();
        self.picker.set_count(self.matching.len());
    }
}

impl DialogBody for ResourcesDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        let (title, file) = match self.scope {
            ResourceScope::User => ("User resources", "Saved in your settings.json"),
            ResourceScope::Project => (
                "Project resources",
                "Saved in .pi/settings.json. Inherited user resources are dimmed.",
            ),
        };
        canvas.title(title);
        canvas.text(RowPriority::Detail, ColorToken::Muted, file);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        self.paint_list(canvas);
        if let Some(problem) = &self.problem {
            canvas.text(RowPriority::Focus, ColorToken::Error, problem);
        }
        canvas.blank();
        let mut hints = vec![Hint::key(action::SELECT_CONFIRM, "or space to toggle")];
        if self.toggles.has_project() {
            hints.push(Hint::key(action::INPUT_TAB, "user/project"));
        }
        hints.push(Hint::leave("close"));
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
                self.switch_scope();
                return InputOutcome::Consumed;
            }
            if key.is(KeyId::new(Key::Space)) || key.text() == Some(' ') {
                self.toggle();
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
}

#[cfg(test)]
mod tests;
