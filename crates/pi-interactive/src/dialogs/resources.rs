//! Which resources count: a list in groups, each entry switched with a key, for the user or the project.
//!
//! What switching does is the board's matter, which stands between this dialog and the settings.

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
use crate::ui_theme::UiTheme;

/// More rows than this are not shown at once, however high the terminal is.
const MAX_ROWS: usize = 40;

/// Rows of the dialog beside its list.
const OTHER_ROWS: usize = 11;

/// Whose settings are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceScope {
    User,
    Project,
}

/// How an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToggleState {
    On,
    Off,
    /// It counts because the project says so.
    Loaded,
    /// It does not because the project says so.
    Unloaded,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceEntry {
    /// Where it comes from; entries of one group follow each other.
    pub(crate) group: String,
    /// What it is.
    pub(crate) kind: &'static str,
    /// What it is called.
    pub(crate) name: String,
    /// Where it is, which is searched too.
    pub(crate) path: String,
    pub(crate) mark: ToggleState,
    /// Whether it is only inherited and nothing is said about it.
    pub(crate) is_inherited: bool,
}

/// Knows the entries and switches them.
pub(crate) trait ResourceToggles: Send {
    /// Returns the entries, sorted.
    fn entries(&self, side: ResourceScope) -> Vec<ResourceEntry>;

    /// Switches an entry by its place in the list; the error is a sentence for the user.
    fn switch(&mut self, side: ResourceScope, place: usize) -> Result<(), String>;

    /// Returns whether the project's settings can be changed.
    fn has_project(&self) -> bool;
}

/// The dialog that switches resources.
pub(crate) struct ResourcesDialog {
    toggles: Box<dyn ResourceToggles>,
    side: ResourceScope,
    entries: Vec<ResourceEntry>,
    /// The places in `entries` that match the search.
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    problem: Option<String>,
}

/// A row of the list: a heading, or an entry by its number among those that match.
enum ResourceRow<'a> {
    Group(&'a str, bool),
    Kind(&'static str),
    Entry(usize, &'a ResourceEntry),
}

impl ResourcesDialog {
    /// Opens the dialog on one side of a board.
    pub(crate) fn open(
        ui: UiTheme,
        toggles: Box<dyn ResourceToggles>,
        side: ResourceScope,
    ) -> DialogFrame<Self> {
        let mut body = Self {
            toggles,
            side,
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
        self.entries = self.toggles.entries(self.side);
        self.apply_search();
    }

    fn switch(&mut self) {
        let Some(place) = self.matching.get(self.picker.selected()).copied() else {
            return;
        };
        self.problem = self.toggles.switch(self.side, place).err();
        self.reload_entries();
    }

    fn turn(&mut self) {
        if self.toggles.has_project() {
            self.side = match self.side {
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
        for (number, place) in self.matching.iter().enumerate() {
            let Some(entry) = self.entries.get(*place) else {
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
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No resource is there.",
            );
            return;
        }
        let page = canvas.list_rows(MAX_ROWS, 1, OTHER_ROWS);
        let selected = self.picker.selected();
        // The picker pages by entries; headings make a page of rows a little shorter.
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
        ToggleState::Loaded => ("[+]", ColorToken::Success, "  loaded for the project"),
        ToggleState::Unloaded => ("[-]", ColorToken::Warning, "  left out for the project"),
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

    fn settle(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => self.switch(),
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl SearchBody for ResourcesDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        let wanted = self.search.value().trim().to_lowercase();
        let entries = self.entries.iter().enumerate();
        self.matching = entries
            .filter(|(_, entry)| {
                let texts = [entry.name.as_str(), entry.kind, entry.path.as_str()];
                wanted.is_empty()
                    || texts
                        .iter()
                        .any(|text| text.to_lowercase().contains(&wanted))
            })
            .map(|(place, _)| place)
            .collect();
        self.picker.set_count(self.matching.len());
    }
}

impl DialogBody for ResourcesDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        let (title, file) = match self.side {
            ResourceScope::User => ("Resources of the user", "settings.json of the user"),
            ResourceScope::Project => (
                "Resources of this project",
                ".pi/settings.json; what the user has is dimmed",
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
        let mut hints = vec![Hint::key(action::SELECT_CONFIRM, "or space: switch")];
        if self.toggles.has_project() {
            hints.push(Hint::key(action::INPUT_TAB, "user or project"));
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
                self.turn();
                return InputOutcome::Consumed;
            }
            if key.is(KeyId::new(Key::Space)) || key.text() == Some(' ') {
                self.switch();
                return InputOutcome::Consumed;
            }
        }
        self.pick_or_type(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.point_or_edit(event, hit, context, sink)
    }

    fn set_focused(&mut self, focused: bool) {
        self.search.set_focused(focused);
    }
}

#[cfg(test)]
mod tests;
