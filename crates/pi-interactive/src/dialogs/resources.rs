//! Which resources count: a list in groups, each entry switched with a key, for the user or the project.
//!
//! What switching does is the board's matter, which stands between this dialog and the settings.

use pi_tui::{
    ColorToken, Component, Input, InputContext, InputEvent, InputOutcome, Key, KeyId, MouseEvent,
    action,
};

use super::field::prefilled;
use super::hint::Hint;
use super::list_pane::{ListPane, SearchPane};
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::{Pane, Window};
use crate::look::Look;

/// More rows than this are not shown at once, however high the terminal is.
const MOST_ROWS: usize = 40;

/// Rows of the dialog beside its list.
const OTHER_ROWS: usize = 11;

/// Whose settings are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoardSide {
    User,
    Project,
}

/// How an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    On,
    Off,
    /// It counts because the project says so.
    Loaded,
    /// It does not because the project says so.
    Unloaded,
}

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BoardEntry {
    /// Where it comes from; entries of one group follow each other.
    pub(crate) group: String,
    /// What it is.
    pub(crate) kind: &'static str,
    /// What it is called.
    pub(crate) name: String,
    /// Where it is, which is searched too.
    pub(crate) path: String,
    pub(crate) mark: Mark,
    /// Whether it is only inherited and nothing is said about it.
    pub(crate) is_dim: bool,
}

/// Knows the entries and switches them.
pub(crate) trait ResourceBoard: Send {
    /// Returns the entries, sorted.
    fn entries(&self, side: BoardSide) -> Vec<BoardEntry>;

    /// Switches an entry by its place in the list; the error is a sentence for the user.
    fn switch(&mut self, side: BoardSide, place: usize) -> Result<(), String>;

    /// Returns whether the project's settings can be changed.
    fn has_project(&self) -> bool;
}

/// The dialog that switches resources.
pub(crate) struct ResourcesDialog {
    board: Box<dyn ResourceBoard>,
    side: BoardSide,
    entries: Vec<BoardEntry>,
    /// The places in `entries` that match the search.
    matching: Vec<usize>,
    picker: Picker,
    search: Input,
    problem: Option<String>,
}

/// A row of the list: a heading, or an entry by its number among those that match.
enum Row<'a> {
    Group(&'a str, bool),
    Kind(&'static str),
    Entry(usize, &'a BoardEntry),
}

impl ResourcesDialog {
    /// Opens the dialog on one side of a board.
    pub(crate) fn open(look: Look, board: Box<dyn ResourceBoard>, side: BoardSide) -> Window<Self> {
        let mut pane = Self {
            board,
            side,
            entries: Vec::new(),
            matching: Vec::new(),
            picker: Picker::new(0, Edge::Stop),
            search: prefilled(""),
            problem: None,
        };
        pane.look_up();
        Window::new(look, pane)
    }

    fn look_up(&mut self) {
        self.entries = self.board.entries(self.side);
        self.search_again();
    }

    fn switch(&mut self) {
        let Some(place) = self.matching.get(self.picker.selected()).copied() else {
            return;
        };
        self.problem = self.board.switch(self.side, place).err();
        self.look_up();
    }

    fn turn(&mut self) {
        if self.board.has_project() {
            self.side = match self.side {
                BoardSide::User => BoardSide::Project,
                BoardSide::Project => BoardSide::User,
            };
            self.picker.select(0);
            self.look_up();
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let mut rows = Vec::new();
        let mut last: Option<&BoardEntry> = None;
        for (number, place) in self.matching.iter().enumerate() {
            let Some(entry) = self.entries.get(*place) else {
                continue;
            };
            let is_same_group = last.is_some_and(|last| last.group == entry.group);
            if !is_same_group {
                rows.push(Row::Group(&entry.group, entry.is_dim));
            }
            if !is_same_group || last.is_some_and(|last| last.kind != entry.kind) {
                rows.push(Row::Kind(entry.kind));
            }
            rows.push(Row::Entry(number, entry));
            last = Some(entry);
        }
        rows
    }

    fn paint_list(&mut self, sheet: &mut Sheet) {
        if self.matching.is_empty() {
            sheet.text(
                Weight::Content,
                ColorToken::Muted,
                "  No resource is there.",
            );
            return;
        }
        let page = sheet.list_rows(MOST_ROWS, 1, OTHER_ROWS);
        let selected = self.picker.selected();
        // The picker pages by entries; headings make a page of rows a little shorter.
        self.picker.window(page);
        let rows = self.rows();
        let at = rows
            .iter()
            .position(|row| matches!(row, Row::Entry(number, _) if *number == selected))
            .unwrap_or_default();
        let start = at
            .saturating_sub(page / 2)
            .min(rows.len().saturating_sub(page));
        let is_cut = rows.len() > page;
        for row in rows.into_iter().skip(start).take(page) {
            match row {
                Row::Group(label, is_dim) => {
                    let token = if is_dim {
                        ColorToken::Dim
                    } else {
                        ColorToken::Accent
                    };
                    let label = sheet.bold(token, &one_line(label));
                    sheet.row(Weight::Content, &format!("  {label}"));
                }
                Row::Kind(label) => {
                    let label = sheet.paint(ColorToken::Muted, label);
                    sheet.row(Weight::Content, &format!("    {label}"));
                }
                Row::Entry(number, entry) => {
                    let line = paint_entry(sheet, entry, number == selected);
                    sheet.item(number, number == selected, &line);
                }
            }
        }
        if is_cut {
            sheet.position(selected, self.matching.len(), "");
        }
    }
}

fn paint_entry(sheet: &Sheet, entry: &BoardEntry, is_selected: bool) -> String {
    let (mark, token, note) = match entry.mark {
        Mark::On => ("[x]", ColorToken::Success, ""),
        Mark::Off => ("[ ]", ColorToken::Dim, ""),
        Mark::Loaded => ("[+]", ColorToken::Success, "  loaded for the project"),
        Mark::Unloaded => ("[-]", ColorToken::Warning, "  left out for the project"),
    };
    let token = if entry.is_dim { ColorToken::Dim } else { token };
    let arrow = if is_selected { "> " } else { "  " };
    let name = one_line(&entry.name);
    let name = match (entry.is_dim, is_selected) {
        (true, _) => sheet.paint(ColorToken::Dim, &name),
        (false, true) => sheet.bold(ColorToken::Text, &name),
        (false, false) => name,
    };
    let note = sheet.paint(ColorToken::Muted, note);
    format!("{arrow}    {} {name}{note}", sheet.paint(token, mark))
}

impl ListPane for ResourcesDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match picked {
            Picked::Moved => {}
            Picked::Confirmed => self.switch(),
            Picked::Cancelled => outbox.close(),
        }
    }
}

impl SearchPane for ResourcesDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn search_again(&mut self) {
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

impl Pane for ResourcesDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        let (title, file) = match self.side {
            BoardSide::User => ("Resources of the user", "settings.json of the user"),
            BoardSide::Project => (
                "Resources of this project",
                ".pi/settings.json; what the user has is dimmed",
            ),
        };
        sheet.title(title);
        sheet.text(Weight::Detail, ColorToken::Muted, file);
        sheet.blank();
        sheet.field(&mut self.search);
        sheet.blank();
        self.paint_list(sheet);
        if let Some(problem) = &self.problem {
            sheet.text(Weight::Focus, ColorToken::Error, problem);
        }
        sheet.blank();
        let mut hints = vec![Hint::key(action::SELECT_CONFIRM, "or space: switch")];
        if self.board.has_project() {
            hints.push(Hint::key(action::INPUT_TAB, "user or project"));
        }
        hints.push(Hint::leave("close"));
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
                self.turn();
                return InputOutcome::Consumed;
            }
            if key.is(KeyId::new(Key::Space)) || key.text() == Some(' ') {
                self.switch();
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
}

#[cfg(test)]
mod tests;
