//! How the tree looks, and where its events go.

use pi_config::TreeFilterMode;
use pi_tui::{
    ColorToken, Component, WideCharPolicy as SliceEdge, InputContext, InputEvent, InputOutcome, MouseEvent,
    action, slice_columns, visible_width,
};

use super::brief::Brief;
use super::{Stage, TreeDialog, label_time};
use crate::dialog::DialogNews;
use crate::dialogs::field::point_at_field;
use crate::dialogs::hint::Hint;
use crate::dialogs::outbox::Outbox;
use crate::dialogs::plain::one_line;
use crate::dialogs::sheet::{Hit, Sheet, Weight};
use crate::dialogs::window::Pane;
use crate::keys;

/// The arrow before the selected row.
const ARROW: usize = 3;

/// A row before it is moved to the left.
struct Drawn {
    index: usize,
    body: String,
    /// The column the entry's own text begins at.
    anchor: usize,
}

impl TreeDialog {
    fn paint_tree(&mut self, sheet: &mut Sheet) {
        sheet.blank();
        sheet.title("Session tree");
        self.paint_search(sheet);
        sheet.blank();
        if self.outline.len() == 0 {
            sheet.text(Weight::Content, ColorToken::Muted, "  Nothing to show.");
        }
        let wanted = (sheet.height() * 3 / 5).max(5);
        let visible = self.picker.window(sheet.list_rows(wanted, 1, 2));
        let drawn: Vec<Drawn> = visible
            .filter_map(|index| self.draw(index, sheet))
            .collect();
        let room = sheet.width().saturating_sub(ARROW);
        let scroll = self.scroll(&drawn, room);
        for row in drawn {
            let selected = row.index == self.picker.selected();
            let body = if scroll > 0 {
                slice_columns(&row.body, scroll..scroll + room, SliceEdge::Drop).text
            } else {
                row.body
            };
            let line = if selected {
                let arrow = sheet.paint(ColorToken::Accent, " → ");
                let style = sheet.appearance().style(ColorToken::SelectedBg);
                style.apply(&format!("{arrow}{body}"))
            } else {
                format!("   {body}")
            };
            sheet.item(row.index, selected, &line);
        }
        sheet.position(
            self.picker.selected(),
            self.outline.len(),
            self.filter_note(),
        );
        if let Some((token, message)) = &self.message {
            sheet.text(Weight::Detail, *token, message);
        }
        sheet.blank();
        sheet.hints(&hints());
    }

    fn paint_search(&self, sheet: &mut Sheet) {
        let label = sheet.paint(ColorToken::Muted, "Search: ");
        let query = if self.query.is_empty() {
            sheet.paint(ColorToken::Dim, "type to look for words")
        } else {
            sheet.paint(ColorToken::Accent, &one_line(&self.query))
        };
        let weight = if self.query.is_empty() {
            Weight::Help
        } else {
            Weight::Title
        };
        sheet.row(weight, &format!(" {label}{query}"));
    }

    fn draw(&mut self, index: usize, sheet: &Sheet) -> Option<Drawn> {
        let node = self.outline.get(index)?.node;
        let folded = self.folded.contains(&node);
        let mark = match (folded, self.outline.is_foldable(index)) {
            (true, _) => '⊞',
            (false, true) => '⊟',
            (false, false) => '─',
        };
        let mut body = sheet.paint(ColorToken::Dim, &self.outline.lead(index, mark));
        if folded && !self.outline.is_joined(index) {
            body.push_str(&sheet.paint(ColorToken::Accent, "⊞ "));
        }
        if self.active.contains(&node) {
            body.push_str(&sheet.paint(ColorToken::Accent, "• "));
        }
        let anchor = visible_width(&body);
        if let Some(label) = self.label(node) {
            let name = format!("[{}] ", one_line(&label.text));
            body.push_str(&sheet.paint(ColorToken::Warning, &name));
            let time = label_time::label_time(&label.timestamp, self.now_ms, &self.zone);
            if let Some(time) = time.filter(|_| self.show_label_times) {
                body.push_str(&sheet.paint(ColorToken::Muted, &format!("{time} ")));
            }
        }
        let selected = index == self.picker.selected();
        body.push_str(&paint_brief(self.brief(node), selected, sheet));
        Some(Drawn {
            index,
            body,
            anchor,
        })
    }

    /// Returns how far the rows move to the left, so that the selected one can be read.
    fn scroll(&self, drawn: &[Drawn], room: usize) -> usize {
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
            (TreeFilterMode::NoTools, _) => " · without tools",
            (TreeFilterMode::UserOnly, _) => " · your messages",
            (TreeFilterMode::LabeledOnly, _) => " · labeled",
            (TreeFilterMode::All, _) => " · everything",
        }
    }
}

fn paint_brief(brief: &Brief, selected: bool, sheet: &Sheet) -> String {
    let (token, speaker) = &brief.speaker;
    let speaker = sheet.paint(*token, speaker);
    let text = match brief.tone {
        Some(tone) => sheet.paint(tone, &brief.text),
        None => brief.text.clone(),
    };
    let line = format!("{speaker}{text}");
    if selected {
        pi_tui::Style::plain().bold().apply(&line)
    } else {
        line
    }
}

fn hints() -> Vec<Hint> {
    vec![
        Hint::key(action::SELECT_CONFIRM, "go there"),
        Hint::keys(
            &[action::EDITOR_CURSOR_LEFT, action::EDITOR_CURSOR_RIGHT],
            "page",
        ),
        Hint::keys(
            &[keys::TREE_FOLD_OR_UP, keys::TREE_UNFOLD_OR_DOWN],
            "fold, branch",
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

impl Pane for TreeDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        match &mut self.stage {
            Stage::Choosing => self.paint_tree(sheet),
            Stage::Summary { question, .. } => question.paint(sheet),
            Stage::Instructions { editor, .. } => editor.paint(sheet),
            Stage::Naming { field, .. } => {
                sheet.blank();
                sheet.title("Label of this entry");
                let text = "An empty label takes it away.";
                sheet.text(Weight::Help, ColorToken::Muted, text);
                sheet.blank();
                sheet.field(field);
                sheet.blank();
                sheet.hints(&[
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
        outbox: &mut Outbox,
    ) -> InputOutcome {
        if self.handle_stage(event, context, outbox) {
            return InputOutcome::Consumed;
        }
        self.message = None;
        if let Some(picked) = self.picker.key(event, context) {
            self.settle(picked, outbox);
            return InputOutcome::Consumed;
        }
        if self.handle_tree(event, context, outbox) {
            self.remember_selection();
            return InputOutcome::Consumed;
        }
        self.handle_typing(event, context)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        let mut inner = Outbox::default();
        let used = match &mut self.stage {
            Stage::Choosing => {
                let Some(picked) = self.picker.mouse(event, hit) else {
                    return false;
                };
                self.settle(picked, outbox);
                return true;
            }
            Stage::Naming { field, .. } => return point_at_field(field, event, hit, context),
            Stage::Summary { question, .. } => question.mouse(event, hit, context, &mut inner),
            Stage::Instructions { editor, .. } => editor.mouse(event, hit, context, &mut inner),
        };
        self.settle_answers(&mut inner, outbox);
        used
    }

    fn set_focused(&mut self, focused: bool) {
        match &mut self.stage {
            Stage::Naming { field, .. } => field.set_focused(focused),
            Stage::Instructions { editor, .. } => editor.set_focused(focused),
            Stage::Choosing | Stage::Summary { .. } => {}
        }
    }

    fn restyle(&mut self) {
        if let Stage::Instructions { editor, .. } = &mut self.stage {
            editor.restyle();
        }
    }

    fn feed(&mut self, news: DialogNews, outbox: &mut Outbox) {
        match (&mut self.stage, news) {
            (Stage::Instructions { editor, .. }, news) => editor.feed(news, outbox),
            (_, DialogNews::Failed(cause)) => {
                self.message = Some((ColorToken::Error, one_line(&cause)));
            }
            _ => {}
        }
    }
}
