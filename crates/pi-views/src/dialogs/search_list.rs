//! A list that is narrowed down by typing: earlier prompts, the command palette.

use pi_tui::{
    ColorToken, Input, InputContext, InputEvent, InputOutcome, MouseEvent, TruncateOptions, action,
    fuzzy_filter, truncate_to_width, visible_width,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::field::prefilled;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::{ListBody, SearchBody};
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

/// Rows other than the list: borders, title, field, position, keys and spacing.
const OTHER_ROWS: usize = 9;
const MAX_ROWS: usize = 30;
/// Columns of a row before its label.
const MARKER: usize = 3;
/// Columns of a cut note.
const MIN_NOTE: usize = 16;
/// Longer labels move their note to the right instead of those of all rows.
const MAX_LABEL_COLUMN: usize = 40;

/// An entry, and what choosing it does.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchEntry {
    /// May have several lines; the first one is shown.
    pub label: String,
    pub note: String,
    pub intent: Intent,
}

/// Where the notes of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteColumn {
    /// Next to the labels, for labels that are names.
    AfterLabels,
    /// At the right edge, for labels that fill their rows.
    RightEdge,
}

/// What the list is about.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchListOptions {
    pub title: &'static str,
    /// What Enter does.
    pub verb: &'static str,
    /// Shown if there is no entry.
    pub empty: &'static str,
    pub notes: NoteColumn,
    pub entries: Vec<SearchEntry>,
}

pub(crate) struct SearchListDialog {
    options: SearchListOptions,
    /// Columns of the labels, if the notes are next to them.
    label_column: Option<usize>,
    /// Indices of the entries that match.
    shown: Vec<usize>,
    search: Input,
    searched: String,
    picker: Picker,
}

impl SearchListDialog {
    pub(crate) fn open(ui: UiTheme, options: SearchListOptions) -> DialogFrame<Self> {
        let shown: Vec<usize> = (0..options.entries.len()).collect();
        let picker = Picker::new(shown.len(), EdgeBehavior::Wrap);
        let label_column = match options.notes {
            NoteColumn::AfterLabels => Some(label_column(&options.entries)),
            NoteColumn::RightEdge => None,
        };
        let body = Self {
            options,
            label_column,
            shown,
            search: prefilled(""),
            searched: String::new(),
            picker,
        };
        DialogFrame::new(ui, body)
    }

    fn entry(&self, position: usize) -> Option<&SearchEntry> {
        self.options.entries.get(*self.shown.get(position)?)
    }
}

/// Returns the entries that contain all words, in their order; without any, those that have the letters.
fn matching(entries: &[SearchEntry], search: &str) -> Vec<usize> {
    let search = search.to_lowercase();
    let words: Vec<&str> = search.split_whitespace().collect();
    let texts: Vec<(usize, String)> = entries
        .iter()
        .map(|entry| format!("{} {}", entry.label, entry.note).to_lowercase())
        .enumerate()
        .collect();
    let has_words = |text: &str| words.iter().all(|word| text.contains(word));
    let exact = texts.iter().filter(|(_, text)| has_words(text));
    let exact: Vec<usize> = exact.map(|(index, _)| *index).collect();
    if !exact.is_empty() {
        return exact;
    }
    let near = fuzzy_filter(texts, &search, |(_, text)| text.as_str());
    near.into_iter().map(|(index, _)| index).collect()
}

impl ListBody for SearchListDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match picked {
            PickerEvent::Moved => {}
            PickerEvent::Confirmed => match self.entry(self.picker.selected()) {
                Some(entry) => sink.finish(entry.intent.clone()),
                None => sink.close(),
            },
            PickerEvent::Canceled => sink.close(),
        }
    }
}

impl SearchBody for SearchListDialog {
    fn search(&mut self) -> &mut Input {
        &mut self.search
    }

    fn apply_search(&mut self) {
        if self.search.value() == self.searched {
            return;
        }
        self.search.value().clone_into(&mut self.searched);
        self.shown = matching(&self.options.entries, &self.searched);
        self.picker.set_count(self.shown.len());
        self.picker.select(0);
    }
}

impl DialogBody for SearchListDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        canvas.title(self.options.title);
        canvas.blank();
        canvas.field(&mut self.search);
        canvas.blank();
        if self.shown.is_empty() {
            let text = if self.options.entries.is_empty() {
                self.options.empty
            } else {
                "No matches."
            };
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                &format!("  {text}"),
            );
        }
        let page = canvas.list_rows(MAX_ROWS, 1, OTHER_ROWS);
        for position in self.picker.visible_range(page) {
            let Some(entry) = self.entry(position) else {
                continue;
            };
            let room = canvas.width().saturating_sub(MARKER + 1);
            let (label, note) = columns(entry, self.label_column, room);
            let note = canvas.paint(ColorToken::Muted, &note);
            canvas.choice(position, position == self.picker.selected(), &label, &note);
        }
        if self.shown.len() > page {
            canvas.position(self.picker.selected(), self.shown.len(), "");
        }
        canvas.blank();
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, self.options.verb),
            Hint::leave("cancel"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
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
}

/// Returns the columns that the labels need, up to a limit.
fn label_column(entries: &[SearchEntry]) -> usize {
    let widths = entries
        .iter()
        .map(|entry| visible_width(&one_line(&entry.label)));
    widths
        .filter(|width| *width <= MAX_LABEL_COLUMN)
        .max()
        .unwrap_or_default()
}

/// Returns the label, and the note with the space before it if there is room.
fn columns(entry: &SearchEntry, label_column: Option<usize>, room: usize) -> (String, String) {
    let cut = TruncateOptions { ellipsis: "…" };
    let note = one_line(&entry.note);
    let label = one_line(&entry.label);
    let for_note = visible_width(&note) + 2;
    let label_width = visible_width(&label);
    if let Some(column) = label_column {
        let column = column.max(label_width);
        let for_note = room.saturating_sub(column + 2);
        if for_note >= visible_width(&note).min(MIN_NOTE) {
            let note = truncate_to_width(&note, for_note, cut);
            let gap = " ".repeat(column - label_width + 2);
            return (label, format!("{gap}{note}"));
        }
    }
    if note.is_empty() || for_note > room / 2 {
        return (
            truncate_to_width(&label, room, cut).into_owned(),
            String::new(),
        );
    }
    let label = truncate_to_width(&label, room - for_note, cut).into_owned();
    let gap = room - for_note - visible_width(&label) + 2;
    (label, format!("{}{note}", " ".repeat(gap)))
}

#[cfg(test)]
mod tests;
