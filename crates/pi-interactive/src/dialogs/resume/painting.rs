//! How the list of sessions looks.

use std::path::Path;

use pi_tui::{ColorToken, Style, TruncateOptions, action, truncate_to_width, visible_width};

use super::super::hint::Hint;
use super::super::plain::{one_line, path_line};
use super::super::sheet::{Sheet, Weight};
use super::{Placed, ResumeDialog, Stage, age, is_named, title};
use crate::intent::SessionScope;
use crate::keys;

const MOST_ROWS: usize = 10;
/// A title is never cut shorter than this to make room for a path.
const LEAST_TITLE: usize = 10;

impl ResumeDialog {
    pub(super) fn paint_head(&self, sheet: &mut Sheet) {
        let title = match self.scope {
            SessionScope::Project => "Sessions of this folder",
            SessionScope::All => "Sessions of all folders",
        };
        let listing = self.listing();
        let mut state = format!("order: {}", self.order.name());
        if self.named_only {
            state.push_str(" · named only");
        }
        if !listing.finished {
            let progress = match listing.total {
                0 => "looking…".to_owned(),
                total => format!("looking… {}/{total}", listing.loaded),
            };
            state = format!("{progress} · {state}");
        }
        let left = sheet.bold(ColorToken::Accent, title);
        let used = visible_width(title) + visible_width(&state) + 2;
        let right = sheet.paint(ColorToken::Muted, &state);
        if used < sheet.width() {
            let gap = " ".repeat(sheet.width() - used);
            sheet.row(Weight::Title, &format!(" {left}{gap}{right}"));
        } else {
            sheet.row(Weight::Title, &format!(" {left}"));
            sheet.row(Weight::Detail, &format!(" {right}"));
        }
        if let Stage::Deleting(path) = &self.stage {
            let title = self.title_of(path);
            let question = format!("Delete “{title}” for good?");
            sheet.text(Weight::Focus, ColorToken::Error, &question);
            sheet.hints(&[
                Hint::key(action::SELECT_CONFIRM, "delete"),
                Hint::leave("keep"),
            ]);
        } else if let Some((token, message)) = &self.message {
            sheet.text(Weight::Detail, *token, &one_line(message));
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

    pub(super) fn paint_list(&mut self, sheet: &mut Sheet) {
        if self.shown.is_empty() {
            let text = match (self.listing().finished, self.search.value().is_empty()) {
                (false, _) => "",
                (true, false) => "No session matches.",
                (true, true) if self.named_only => "No session here has a name.",
                (true, true) => "No sessions yet.",
            };
            sheet.text(Weight::Content, ColorToken::Muted, &format!("  {text}"));
            return;
        }
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 2));
        let cut = visible.len() < self.shown.len();
        for index in visible {
            if let Some(placed) = self.shown.get(index) {
                let selected = index == self.picker.selected();
                let line = self.session_line(placed, selected, sheet);
                sheet.item(index, selected, &line);
            }
        }
        if cut {
            sheet.position(self.picker.selected(), self.shown.len(), "");
        }
    }

    fn session_line(&self, placed: &Placed, selected: bool, sheet: &Sheet) -> String {
        let session = &placed.session;
        let appearance = sheet.appearance();
        let width = sheet.width();
        let mut facts = format!(
            "{:>4} {:>4}",
            session.message_count,
            age::of(session.modified_ms, self.now_ms)
        );
        if self.scope == SessionScope::All && !session.cwd.is_empty() {
            facts = format!(
                "{} {facts}",
                path_line(Path::new(&session.cwd), &appearance)
            );
        }
        if self.show_paths {
            facts = format!("{} {facts}", path_line(&session.path, &appearance));
        }
        let branch_width = visible_width(&placed.branch);
        let fixed = 3 + branch_width + 2;
        let least = LEAST_TITLE.min(width.saturating_sub(fixed));
        let room_for_facts = width.saturating_sub(fixed + least);
        let ellipsis = TruncateOptions { ellipsis: "…" };
        let facts = truncate_to_width(&facts, room_for_facts, ellipsis).into_owned();
        let room = width
            .saturating_sub(fixed + visible_width(&facts))
            .max(least);
        let title = title(session);
        let title = truncate_to_width(&title, room, ellipsis);
        let gap = " ".repeat(room.saturating_sub(visible_width(&title)) + 2);
        let deleting = matches!(&self.stage, Stage::Deleting(path) if *path == session.path);
        let (title_style, facts_token) = if deleting {
            (appearance.style(ColorToken::Error), ColorToken::Error)
        } else if self.is_current(&session.path) {
            (appearance.style(ColorToken::Accent), ColorToken::Dim)
        } else if is_named(session) {
            (appearance.style(ColorToken::Warning), ColorToken::Dim)
        } else {
            (Style::plain(), ColorToken::Dim)
        };
        let title_style = if selected {
            title_style.bold()
        } else {
            title_style
        };
        let arrow = if selected {
            appearance.paint(ColorToken::Accent, " → ")
        } else {
            "   ".to_owned()
        };
        let line = format!(
            "{arrow}{}{}{gap}{}",
            appearance.paint(ColorToken::Dim, &placed.branch),
            title_style.apply(&title),
            appearance.paint(facts_token, &facts)
        );
        if selected {
            appearance.style(ColorToken::SelectedBg).apply(&line)
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
            Hint::key(action::INPUT_TAB, "this folder or all"),
            Hint::key(keys::SESSION_TOGGLE_SORT, "order"),
            Hint::key(keys::SESSION_TOGGLE_NAMED_FILTER, "named"),
            Hint::key(keys::SESSION_TOGGLE_PATH, paths),
            Hint::key(keys::SESSION_RENAME, "rename"),
            Hint::key(keys::SESSION_DELETE, "delete"),
            Hint::leave("cancel"),
        ]
    }
}
