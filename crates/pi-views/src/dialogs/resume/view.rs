//! Rendering of the session picker.

use std::path::Path;

use pi_protocol::SessionScope;
use pi_tui::{ColorToken, Style, TruncateOptions, action, truncate_to_width, visible_width};

use super::super::canvas::{DialogCanvas, RowPriority};
use super::super::hint::Hint;
use super::super::plain_text::{one_line, path_line};
use super::{ResumeDialog, ResumeMode, ThreadedSession, age, is_named, title};
use crate::keys;

const MAX_ROWS: usize = 10;
/// A title is not truncated below this width to make room for a path.
const MIN_TITLE_WIDTH: usize = 10;

impl ResumeDialog {
    pub(super) fn paint_header(&self, canvas: &mut DialogCanvas) {
        let title = match self.scope {
            SessionScope::Project => "Sessions in this directory",
            SessionScope::All => "All sessions",
        };
        let listing = self.listing();
        let mut state = format!("Sort: {}", self.order.name());
        if self.named_only {
            state.push_str(" · named only");
        }
        if !listing.finished {
            let progress = match listing.total {
                0 => "looking…".to_owned(),
                total => format!("loading {}/{total}", listing.loaded),
            };
            state = format!("{progress} · {state}");
        }
        canvas.title_with_state(title, &state);
        if let ResumeMode::Deleting(path) = &self.mode {
            let title = self.title_of(path);
            let question = format!("Delete “{title}” permanently?");
            canvas.text(RowPriority::Focus, ColorToken::Error, &question);
            canvas.hints(&[
                Hint::key(action::SELECT_CONFIRM, "delete"),
                Hint::leave("keep"),
            ]);
        } else if let Some((token, message)) = &self.message {
            canvas.text(RowPriority::Detail, *token, &one_line(message));
        }
    }

    pub(super) fn title_of(&self, path: &Path) -> String {
        let session = self
            .listing()
            .sessions
            .iter()
            .find(|session| session.path == path);
        session.map(|session| title(session)).unwrap_or_default()
    }

    pub(super) fn paint_list(&mut self, canvas: &mut DialogCanvas) {
        if self.shown.is_empty() {
            let text = match (self.listing().finished, self.search.value().is_empty()) {
                (false, _) => "",
                (true, false) => "No matching sessions.",
                (true, true) if self.named_only => "No named sessions.",
                (true, true) => "No sessions yet.",
            };
            canvas.text(
                RowPriority::Content,
                ColorToken::Muted,
                &format!("  {text}"),
            );
            return;
        }
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 2));
        let cut = visible.len() < self.shown.len();
        for index in visible {
            if let Some(placed) = self.shown.get(index) {
                let selected = index == self.picker.selected();
                let line = self.session_line(placed, selected, canvas);
                canvas.item(index, selected, &line);
            }
        }
        if cut {
            canvas.position(self.picker.selected(), self.shown.len(), "");
        }
    }

    fn session_line(
        &self,
        placed: &ThreadedSession,
        selected: bool,
        canvas: &DialogCanvas,
    ) -> String {
        let session = &placed.session;
        let ctx = canvas.context();
        let width = canvas.width();
        let mut facts = format!(
            "{:>4} {:>4}",
            session.message_count,
            age::of(session.modified_ms, self.now_ms)
        );
        if self.scope == SessionScope::All && !session.cwd.is_empty() {
            facts = format!("{} {facts}", path_line(Path::new(&session.cwd), &ctx));
        }
        if self.show_paths {
            facts = format!("{} {facts}", path_line(&session.path, &ctx));
        }
        let branch_width = visible_width(&placed.branch);
        let fixed = 3 + branch_width + 2;
        let least = MIN_TITLE_WIDTH.min(width.saturating_sub(fixed));
        let room_for_facts = width.saturating_sub(fixed + least);
        let ellipsis = TruncateOptions { ellipsis: "…" };
        let facts = truncate_to_width(&facts, room_for_facts, ellipsis).into_owned();
        let room = width
            .saturating_sub(fixed + visible_width(&facts))
            .max(least);
        let title = title(session);
        let title = truncate_to_width(&title, room, ellipsis);
        let gap = " ".repeat(room.saturating_sub(visible_width(&title)) + 2);
        let deleting = matches!(&self.mode, ResumeMode::Deleting(path) if *path == session.path);
        // Dim text is hard to read on the background of the selected row.
        let secondary = if selected {
            ColorToken::Muted
        } else {
            ColorToken::Dim
        };
        let (title_style, facts_token) = if deleting {
            (ctx.style(ColorToken::Error), ColorToken::Error)
        } else if self.is_current(&session.path) {
            (ctx.style(ColorToken::Accent), secondary)
        } else if is_named(session) {
            (ctx.style(ColorToken::Warning), secondary)
        } else {
            (Style::plain(), secondary)
        };
        let title_style = if selected {
            title_style.bold()
        } else {
            title_style
        };
        let arrow = if selected {
            ctx.paint(ColorToken::Accent, " → ")
        } else {
            "   ".to_owned()
        };
        let line = format!(
            "{arrow}{}{}{gap}{}",
            ctx.paint(secondary, &placed.branch),
            title_style.apply(&title),
            ctx.paint(facts_token, &facts)
        );
        if selected {
            ctx.style(ColorToken::SelectedBg).apply(&line)
        } else {
            line
        }
    }

    pub(super) fn hints(&self) -> Vec<Hint> {
        let paths = if self.show_paths {
            "hide paths"
        } else {
            "paths"
        };
        vec![
            Hint::key(action::SELECT_CONFIRM, "open"),
            Hint::key(action::INPUT_TAB, "this directory/all"),
            Hint::key(keys::SESSION_SEARCH_TEXT, "search text"),
            Hint::key(keys::SESSION_TOGGLE_SORT, "sort"),
            Hint::key(keys::SESSION_TOGGLE_NAMED_FILTER, "named"),
            Hint::key(keys::SESSION_TOGGLE_PATH, paths),
            Hint::key(keys::SESSION_RENAME, "rename"),
            Hint::key(keys::SESSION_DELETE, "delete"),
            Hint::leave("cancel"),
        ]
    }
}
