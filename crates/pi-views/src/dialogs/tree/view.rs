//! Rendering and event routing of the session tree.

use std::time::Instant;

use pi_protocol::settings::TreeFilterMode;
use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, MouseEvent, TruncateOptions,
    WideCharPolicy as SliceEdge, action, pad_to_width, slice_columns, truncate_to_width,
    visible_width,
};

use super::entry_summary::EntrySummary;
use super::node_facts::column_titles;
use super::preview::EntryPreview;
use super::{TreeDialog, TreeMode, label_time};
use crate::dialogs::canvas::{DialogCanvas, HitTarget, RowPriority};
use crate::dialogs::dialog::DialogUpdate;
use crate::dialogs::field::point_at_field;
use crate::dialogs::frame::DialogBody;
use crate::dialogs::hint::Hint;
use crate::dialogs::intent_sink::IntentSink;
use crate::dialogs::plain_text::one_line;
use crate::keys;

/// Width of the arrow in front of the selected row.
const ARROW: usize = 3;
/// Rows below the preview: keys, border and spacing.
const ROWS_BELOW_PREVIEW: usize = 5;
const MAX_PREVIEW_ROWS: usize = 14;
/// Width from which on the preview is next to the list.
const WIDE: usize = 110;
const RESET: &str = "\x1b[0m";
/// What is between the list and the preview.
const GAP: &str = " │ ";
/// Rows other than a list with a preview next to it: borders, title, search, position, message, keys and spacing.
const OTHER_ROWS: usize = 12;
/// Rows of a preview next to a shorter list.
const MIN_SPLIT_ROWS: usize = 14;

/// A row before horizontal scrolling.
struct TreeLine {
    index: usize,
    body: String,
    /// The column where the entry's text starts.
    anchor: usize,
    /// What the entry changed, took and cost; empty if nothing is known.
    columns: String,
}

/// How the list and the preview share the screen.
struct TreeLayout {
    /// Width of the list.
    width: usize,
    /// Rows of the list.
    rows: usize,
    /// Width of the preview next to the list.
    preview: Option<usize>,
}

impl TreeLayout {
    fn new(canvas: &DialogCanvas, entries: usize) -> Self {
        let (width, height) = (canvas.width(), canvas.height());
        if width >= WIDE {
            let list = width * 3 / 5;
            let rows = height.saturating_sub(OTHER_ROWS).max(1);
            return Self {
                width: list,
                rows: rows.min(entries.max(MIN_SPLIT_ROWS)),
                preview: Some(width - list - visible_width(GAP)),
            };
        }
        // A tall terminal has room for the preview, too.
        let (share, of) = if height < 24 { (3, 5) } else { (1, 2) };
        let rows = (height * share / of).max(5);
        Self {
            width,
            rows: rows.min(height.saturating_sub(2)).max(1),
            preview: None,
        }
    }
}

impl TreeDialog {
    fn paint_tree(&mut self, canvas: &mut DialogCanvas) {
        let layout = TreeLayout::new(canvas, self.outline.len());
        self.list_width = layout.width;
        canvas.blank();
        canvas.title("Session tree");
        self.paint_search(&layout, canvas);
        canvas.blank();
        if self.outline.len() == 0 {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching entries.",
            );
        }
        let lines = self.list_lines(&layout, canvas);
        match layout.preview {
            Some(width) => self.paint_split(lines, &layout, width, canvas),
            None => {
                for (index, line) in lines {
                    canvas.item(index, index == self.picker.selected(), &line);
                }
            }
        }
        canvas.position(
            self.picker.selected(),
            self.outline.len(),
            &self.filter_note(),
        );
        if let Some((token, message)) = &self.message {
            canvas.text(RowPriority::Detail, *token, message);
        }
        if layout.preview.is_none() {
            self.paint_preview(canvas);
        }
        canvas.blank();
        canvas.hints(&hints());
    }

    /// Returns the rows of the list, with their index.
    fn list_lines(&mut self, layout: &TreeLayout, canvas: &DialogCanvas) -> Vec<(usize, String)> {
        let visible = self.picker.visible_range(layout.rows);
        let nodes: Vec<usize> = visible
            .clone()
            .filter_map(|index| Some(self.outline.get(index)?.node))
            .collect();
        self.entries.show(&nodes);
        let drawn: Vec<TreeLine> = visible
            .filter_map(|index| self.draw(index, layout, canvas))
            .collect();
        let selected = drawn.iter().find(|row| row.index == self.picker.selected());
        let room = |row: &TreeLine| {
            let columns = visible_width(&row.columns);
            let gap = usize::from(columns > 0) * 2;
            layout.width.saturating_sub(ARROW + columns + gap)
        };
        let selected_room = selected.map_or(layout.width, room);
        let scroll = self.scroll(&drawn, selected_room);
        let mut lines = Vec::with_capacity(drawn.len());
        for row in drawn {
            let is_selected = row.index == self.picker.selected();
            let room = room(&row);
            let body = if scroll > 0 {
                slice_columns(&row.body, scroll..scroll + room, SliceEdge::Drop).text
            } else {
                row.body
            };
            let body = truncate_to_width(&body, room, TruncateOptions { ellipsis: "…" });
            let line = if row.columns.is_empty() {
                body.into_owned()
            } else {
                let start = layout.width - ARROW - visible_width(&row.columns);
                format!("{}{}", pad_to_width(&body, start), row.columns)
            };
            let line = if is_selected {
                let arrow = canvas.paint(ColorToken::Accent, " → ");
                let style = canvas.context().style(ColorToken::SelectedBg);
                // Text that was cut ends with a reset, which must not end the background.
                let parts: Vec<String> = line.split(RESET).map(|part| style.apply(part)).collect();
                format!("{}{}", style.apply(&arrow), parts.join(RESET))
            } else {
                format!("   {line}")
            };
            lines.push((row.index, line));
        }
        lines
    }

    /// Shows the list with the preview to its right.
    fn paint_split(
        &self,
        lines: Vec<(usize, String)>,
        layout: &TreeLayout,
        width: usize,
        canvas: &mut DialogCanvas,
    ) {
        let preview = self.preview_lines(width, layout.rows, canvas);
        let gap = canvas.paint(ColorToken::Border, GAP);
        let mut list = lines.into_iter();
        for row in 0..layout.rows {
            let shown = preview.get(row).map_or("", String::as_str);
            let right = format!("{gap}{shown}");
            match list.next() {
                Some((index, line)) => {
                    let line = format!("{}{right}", pad_to_width(&line, layout.width));
                    canvas.item(index, index == self.picker.selected(), &line);
                }
                None => {
                    let line = format!("{}{right}", " ".repeat(layout.width));
                    canvas.row(RowPriority::Detail, &line);
                }
            }
        }
    }

    /// Shows the beginning of the selected entry below the list, always in the same number of rows.
    fn paint_preview(&self, canvas: &mut DialogCanvas) {
        let rows = canvas.rows_left(ROWS_BELOW_PREVIEW).min(MAX_PREVIEW_ROWS);
        if rows <= 2 {
            return;
        }
        let width = canvas.width().saturating_sub(5).max(1);
        let lines = self.preview_lines(width, rows - 1, canvas);
        let bar = canvas.paint(ColorToken::Border, "   │ ");
        canvas.blank();
        for row in 0..rows - 1 {
            let line = lines.get(row).map_or("", String::as_str);
            canvas.row(RowPriority::Detail, &format!("{bar}{line}"));
        }
    }

    fn preview_lines(&self, width: usize, rows: usize, canvas: &DialogCanvas) -> Vec<String> {
        // The row that is shown as selected: a filter may hide the selected entry.
        let Some(row) = self.outline.get(self.picker.selected()) else {
            return Vec::new();
        };
        let Some(entry) = self.entries.read(row.node) else {
            return vec![canvas.paint(ColorToken::Error, "This entry cannot be read.")];
        };
        let preview = EntryPreview {
            entry: &entry,
            facts: self.entries.facts(row.node),
            timestamp_ms: self
                .entries
                .node(row.node)
                .map_or(0, |node| node.timestamp_ms),
            now_ms: self.now_ms,
            zone: &self.zone,
        };
        preview.lines(width, rows, canvas)
    }

    fn paint_search(&self, layout: &TreeLayout, canvas: &mut DialogCanvas) {
        let label = canvas.paint(ColorToken::Muted, "Search: ");
        let query = if self.query.is_empty() {
            canvas.paint(ColorToken::Dim, "type to search")
        } else {
            canvas.paint(ColorToken::Accent, &one_line(&self.query))
        };
        let weight = if self.query.is_empty() {
            RowPriority::Help
        } else {
            RowPriority::Title
        };
        let line = format!(" {label}{query}");
        let titles = column_titles(layout.width, canvas);
        let start = layout.width.saturating_sub(visible_width(&titles));
        let line = if visible_width(&line) < start {
            format!("{}{titles}", pad_to_width(&line, start))
        } else {
            line
        };
        canvas.row(weight, &line);
    }

    fn draw(
        &mut self,
        index: usize,
        layout: &TreeLayout,
        canvas: &DialogCanvas,
    ) -> Option<TreeLine> {
        let node = self.outline.get(index)?.node;
        let folded = self.folded.contains(&node);
        let mark = match (folded, self.outline.is_foldable(index)) {
            (true, _) => '⊞',
            (false, true) => '⊟',
            (false, false) => '─',
        };
        let mut body = canvas.paint(ColorToken::Dim, &self.outline.lead(index, mark));
        if folded && !self.outline.is_joined(index) {
            body.push_str(&canvas.paint(ColorToken::Accent, "⊞ "));
        }
        if self.active.contains(&node) {
            body.push_str(&canvas.paint(ColorToken::Accent, "• "));
        }
        let anchor = visible_width(&body);
        if let Some(label) = self.entries.label(node) {
            let name = format!("[{}] ", one_line(&label.text));
            body.push_str(&canvas.paint(ColorToken::Warning, &name));
            let time = label_time::label_time(&label.timestamp, self.now_ms, &self.zone);
            if let Some(time) = time.filter(|_| self.show_label_times) {
                body.push_str(&canvas.paint(ColorToken::Muted, &format!("{time} ")));
            }
        }
        let selected = index == self.picker.selected();
        body.push_str(&paint_summary(self.entries.summary(node), selected, canvas));
        let facts = self.entries.facts(node);
        Some(TreeLine {
            index,
            body,
            anchor,
            columns: facts.map_or_else(String::new, |facts| facts.columns(layout.width, canvas)),
        })
    }

    /// Returns the horizontal scroll offset that makes the selected row readable.
    fn scroll(&self, drawn: &[TreeLine], room: usize) -> usize {
        let widest = drawn.iter().map(|row| visible_width(&row.body)).max();
        let furthest = widest.unwrap_or(0).saturating_sub(room);
        let selected = drawn.iter().find(|row| row.index == self.picker.selected());
        let Some(anchor) = selected.map(|row| row.anchor).filter(|_| furthest > 0) else {
            return 0;
        };
        let readable = (room / 3).clamp(4, 20);
        if anchor + readable <= room {
            return 0;
        }
        let context = (room / 4).clamp(2, 12);
        anchor.saturating_sub(context).min(furthest)
    }

    fn filter_note(&self) -> String {
        let filter = match (self.filter, self.show_label_times) {
            (TreeFilterMode::Default, false) => "",
            (TreeFilterMode::Default, true) => " · label times",
            (TreeFilterMode::NoTools, _) => " · no tools",
            (TreeFilterMode::UserOnly, _) => " · user messages",
            (TreeFilterMode::LabeledOnly, _) => " · labeled",
            (TreeFilterMode::All, _) => " · all",
        };
        match self.search.as_ref().filter(|_| self.is_searching()) {
            Some(search) => format!("{filter} · searching {}%", search.percent()),
            None => filter.to_owned(),
        }
    }
}

fn paint_summary(summary_of: &EntrySummary, selected: bool, canvas: &DialogCanvas) -> String {
    let (token, prefix) = &summary_of.prefix;
    let prefix = canvas.paint(*token, prefix);
    let text = match summary_of.color {
        Some(color) => canvas.paint(color, &summary_of.text),
        None => summary_of.text.clone(),
    };
    let line = format!("{prefix}{text}");
    if selected {
        pi_tui::Style::plain().bold().apply(&line)
    } else {
        line
    }
}

fn hints() -> Vec<Hint> {
    vec![
        Hint::key(action::SELECT_CONFIRM, "navigate"),
        Hint::keys(
            &[action::EDITOR_CURSOR_LEFT, action::EDITOR_CURSOR_RIGHT],
            "page",
        ),
        Hint::keys(
            &[keys::TREE_FOLD_OR_UP, keys::TREE_UNFOLD_OR_DOWN],
            "fold/branch",
        ),
        Hint::key(keys::MESSAGE_COPY, "copy"),
        Hint::key(keys::TREE_EDIT_LABEL, "label"),
        Hint::key(keys::TREE_TOGGLE_LABEL_TIMESTAMP, "label times"),
        Hint::keys(
            &[
                keys::TREE_FILTER_DEFAULT,
                keys::TREE_FILTER_NO_TOOLS,
                keys::TREE_FILTER_USER_ONLY,
                keys::TREE_FILTER_LABELED_ONLY,
                keys::TREE_FILTER_ALL,
            ],
            "filters",
        ),
        Hint::key(keys::TREE_FILTER_CYCLE_FORWARD, "next filter"),
        Hint::leave("cancel"),
    ]
}

impl DialogBody for TreeDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        match &mut self.mode {
            TreeMode::Choosing => self.paint_tree(canvas),
            TreeMode::Summary { question, .. } => question.paint(canvas),
            TreeMode::Instructions { editor, .. } => editor.paint(canvas),
            TreeMode::Labeling { field, .. } => {
                canvas.blank();
                canvas.title("Label entry");
                let text = "Leave empty to remove the label.";
                canvas.text(RowPriority::Help, ColorToken::Muted, text);
                canvas.blank();
                canvas.field(field);
                canvas.blank();
                canvas.hints(&[
                    Hint::key(action::SELECT_CONFIRM, "save"),
                    Hint::leave("cancel"),
                ]);
            }
        }
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        if self.handle_mode(event, context, sink) {
            return InputOutcome::Consumed;
        }
        self.message = None;
        if let Some(picked) = self.picker.key(event, context) {
            self.on_pick(picked, sink);
            return InputOutcome::Consumed;
        }
        if self.handle_tree(event, context, sink) {
            self.remember_selection();
            return InputOutcome::Consumed;
        }
        self.handle_typing(event, context)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        let mut inner = IntentSink::default();
        let used = match &mut self.mode {
            TreeMode::Choosing => {
                let hit = hit.filter(|_| event.column < self.list_width);
                let Some(picked) = self.picker.mouse(event, hit) else {
                    return false;
                };
                self.on_pick(picked, sink);
                return true;
            }
            TreeMode::Labeling { field, .. } => return point_at_field(field, event, hit, context),
            TreeMode::Summary { question, .. } => question.mouse(event, hit, context, &mut inner),
            TreeMode::Instructions { editor, .. } => editor.mouse(event, hit, context, &mut inner),
        };
        self.handle_answers(&mut inner, sink);
        used
    }

    fn set_focused(&mut self, focused: bool) {
        match &mut self.mode {
            TreeMode::Labeling { field, .. } => field.set_focused(focused),
            TreeMode::Instructions { editor, .. } => editor.set_focused(focused),
            TreeMode::Choosing | TreeMode::Summary { .. } => {}
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        let is_reading =
            self.is_searching() || self.entries.is_reading() || !self.outline.is_settled;
        is_reading.then_some(self.opened)
    }

    fn tick(&mut self, _now: Instant, _sink: &mut IntentSink) {
        self.entries.step();
        if !self.outline.is_settled {
            self.settle();
        }
        if self.is_searching() && self.continue_search() {
            self.rebuild_outline();
        }
    }

    fn restyle(&mut self) {
        if let TreeMode::Instructions { editor, .. } = &mut self.mode {
            editor.restyle();
        }
    }

    fn on_update(&mut self, update: DialogUpdate, sink: &mut IntentSink) {
        match (&mut self.mode, update) {
            (TreeMode::Instructions { editor, .. }, update) => editor.on_update(update, sink),
            (_, DialogUpdate::Failed(cause)) => {
                self.message = Some((ColorToken::Error, one_line(&cause)));
            }
            _ => {}
        }
    }
}
