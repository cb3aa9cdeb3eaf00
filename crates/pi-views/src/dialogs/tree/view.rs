//! Rendering and event routing of the session tree.

use pi_protocol::settings::TreeFilterMode;
use pi_tui::{
    ColorToken, Component, InputContext, InputEvent, InputOutcome, MouseEvent,
    WideCharPolicy as SliceEdge, action, slice_columns, visible_width, wrap_text,
};

use super::entry_summary::{EntrySummary, copy_text};
use super::{TreeDialog, TreeMode, label_time};
use crate::canvas::clean;
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
const MAX_PREVIEW_ROWS: usize = 20;

/// A row before horizontal scrolling.
struct TreeLine {
    index: usize,
    body: String,
    /// The column where the entry's text starts.
    anchor: usize,
}

impl TreeDialog {
    fn paint_tree(&mut self, canvas: &mut DialogCanvas) {
        canvas.blank();
        canvas.title("Session tree");
        self.paint_search(canvas);
        canvas.blank();
        if self.outline.len() == 0 {
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                "  No matching entries.",
            );
        }
        // A tall terminal has room for the preview, too.
        let (share, of) = if canvas.height() < 24 { (3, 5) } else { (1, 2) };
        let rows = (canvas.height() * share / of).max(5);
        let visible = self
            .picker
            .visible_range(rows.min(canvas.height().saturating_sub(2)).max(1));
        let drawn: Vec<TreeLine> = visible
            .filter_map(|index| self.draw(index, canvas))
            .collect();
        let room = canvas.width().saturating_sub(ARROW);
        let scroll = self.scroll(&drawn, room);
        for row in drawn {
            let selected = row.index == self.picker.selected();
            let body = if scroll > 0 {
                slice_columns(&row.body, scroll..scroll + room, SliceEdge::Drop).text
            } else {
                row.body
            };
            let line = if selected {
                let arrow = canvas.paint(ColorToken::Accent, " → ");
                let style = canvas.context().style(ColorToken::SelectedBg);
                style.apply(&format!("{arrow}{body}"))
            } else {
                format!("   {body}")
            };
            canvas.item(row.index, selected, &line);
        }
        canvas.position(
            self.picker.selected(),
            self.outline.len(),
            self.filter_note(),
        );
        if let Some((token, message)) = &self.message {
            canvas.text(RowPriority::Detail, *token, message);
        }
        self.paint_preview(canvas);
        canvas.blank();
        canvas.hints(&hints());
    }

    /// Shows the beginning of the selected entry in the rows that are left.
    fn paint_preview(&self, canvas: &mut DialogCanvas) {
        let rows = canvas.rows_left(ROWS_BELOW_PREVIEW).min(MAX_PREVIEW_ROWS);
        // The row that is shown as selected: a filter may hide the selected entry.
        let row = self.outline.get(self.picker.selected());
        let entry = row.and_then(|row| self.entry(row.node));
        let Some(text) = entry
            .and_then(|entry| copy_text(&entry))
            .filter(|_| rows > 2)
        else {
            return;
        };
        let width = canvas.width().saturating_sub(5).max(1);
        let beginning: String = text.trim().chars().take(rows * width).collect();
        let bar = canvas.paint(ColorToken::Border, "   │ ");
        canvas.blank();
        for line in wrap_text(&clean(&beginning), width).iter().take(rows - 1) {
            let line = canvas.paint(ColorToken::Muted, line);
            canvas.row(RowPriority::Detail, &format!("{bar}{line}"));
        }
    }

    fn paint_search(&self, canvas: &mut DialogCanvas) {
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
        canvas.row(weight, &format!(" {label}{query}"));
    }

    fn draw(&mut self, index: usize, canvas: &DialogCanvas) -> Option<TreeLine> {
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
        if let Some(label) = self.label(node) {
            let name = format!("[{}] ", one_line(&label.text));
            body.push_str(&canvas.paint(ColorToken::Warning, &name));
            let time = label_time::label_time(&label.timestamp, self.now_ms, &self.zone);
            if let Some(time) = time.filter(|_| self.show_label_times) {
                body.push_str(&canvas.paint(ColorToken::Muted, &format!("{time} ")));
            }
        }
        let selected = index == self.picker.selected();
        body.push_str(&paint_summary(self.summary_of(node), selected, canvas));
        Some(TreeLine {
            index,
            body,
            anchor,
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

    fn filter_note(&self) -> &'static str {
        match (self.filter, self.show_label_times) {
            (TreeFilterMode::Default, false) => "",
            (TreeFilterMode::Default, true) => " · label times",
            (TreeFilterMode::NoTools, _) => " · no tools",
            (TreeFilterMode::UserOnly, _) => " · user messages",
            (TreeFilterMode::LabeledOnly, _) => " · labeled",
            (TreeFilterMode::All, _) => " · all",
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
