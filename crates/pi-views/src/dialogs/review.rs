//! The review pane: the changes of the last turn or of the session, file by file, hunk by hunk.

use pi_tui::{
    ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, MouseEventKind, action,
};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::dialog::DialogUpdate;
use super::frame::{DialogBody, DialogFrame};
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::plain_text::one_line;
use crate::dialogs::intent::Intent;
use crate::diff_view::{DiffHunk, review_rows};
use crate::text::language::language_of;
use crate::theme::ui_theme::UiTheme;

/// Rows other than the diff: borders, title, message, keys and spacing.
const OTHER_ROWS: usize = 7;

/// The changes of one file, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewFile {
    /// As the model wrote it.
    pub path: String,
    pub hunks: Vec<ReviewHunk>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ReviewHunk {
    pub hunk: DiffHunk,
    /// Whether it belongs to the last turn.
    pub is_recent: bool,
    /// Whether the file was written as a whole; its contents before are not known.
    pub is_whole_file: bool,
    pub is_reverted: bool,
}

/// Which changes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReviewScope {
    Turn,
    Session,
}

/// A row of the pane.
struct ReviewRow {
    line: String,
    /// File and hunk.
    place: (usize, usize),
    is_header: bool,
}

pub(crate) struct ReviewDialog {
    files: Vec<ReviewFile>,
    scope: ReviewScope,
    /// The hunks in the scope, as file and hunk.
    places: Vec<(usize, usize)>,
    /// The selected one.
    selected: usize,
    /// The first row shown.
    first: usize,
    page: usize,
    rows: Vec<ReviewRow>,
    /// Width of the rows; `None` if they are stale.
    width: Option<usize>,
    message: Option<(ColorToken, String)>,
    follows_selection: bool,
}

impl ReviewDialog {
    pub(crate) fn open(ui: UiTheme, files: Vec<ReviewFile>) -> DialogFrame<Self> {
        let has_recent = files
            .iter()
            .flat_map(|file| &file.hunks)
            .any(|it| it.is_recent);
        let mut body = Self {
            files,
            scope: if has_recent {
                ReviewScope::Turn
            } else {
                ReviewScope::Session
            },
            places: Vec::new(),
            selected: 0,
            first: 0,
            page: 1,
            rows: Vec::new(),
            width: None,
            message: None,
            follows_selection: true,
        };
        body.collect();
        DialogFrame::new(ui, body)
    }

    /// Lists the hunks of the scope.
    fn collect(&mut self) {
        let scope = self.scope;
        self.places.clear();
        for (index, file) in self.files.iter().enumerate() {
            let shown = file.hunks.iter().enumerate();
            let shown = shown.filter(|(_, it)| scope == ReviewScope::Session || it.is_recent);
            self.places.extend(shown.map(|(hunk, _)| (index, hunk)));
        }
        self.width = None;
        self.select(0);
    }

    fn select(&mut self, index: usize) {
        self.selected = index.min(self.places.len().saturating_sub(1));
        self.follows_selection = true;
    }

    fn place(&self) -> Option<(usize, usize)> {
        self.places.get(self.selected).copied()
    }

    fn hunk(&self, (file, hunk): (usize, usize)) -> Option<(&ReviewFile, &ReviewHunk)> {
        let file = self.files.get(file)?;
        Some((file, file.hunks.get(hunk)?))
    }

    /// Selects the first hunk of the next or previous file.
    fn select_file(&mut self, forward: bool) {
        let Some((file, _)) = self.place() else {
            return;
        };
        let found = if forward {
            self.places.iter().position(|(other, _)| *other > file)
        } else {
            let before = self.places.iter().rev().find(|(other, _)| *other < file);
            let before = before.map(|(other, _)| *other);
            self.places
                .iter()
                .position(|(other, _)| Some(*other) == before)
        };
        if let Some(index) = found {
            self.select(index);
        }
    }

    fn scroll(&mut self, first: usize) {
        self.first = first.min(self.rows.len().saturating_sub(self.page));
        self.follows_selection = false;
    }

    fn layout(&mut self, canvas: &DialogCanvas) {
        let width = canvas.width();
        if self.width == Some(width) {
            return;
        }
        self.width = Some(width);
        self.rows.clear();
        let ctx = canvas.context();
        let room = width.saturating_sub(2).max(1);
        let mut last_file = None;
        for place in self.places.clone() {
            let Some((file, change)) = self.hunk(place) else {
                continue;
            };
            let mut lines = Vec::new();
            if last_file != Some(place.0) {
                last_file = Some(place.0);
                lines.push((canvas.bold(ColorToken::Text, &one_line(&file.path)), true));
            }
            let hunk = &change.hunk;
            let at = hunk
                .line
                .map_or_else(String::new, |line| format!("line {line}"));
            let counts = format!("+{} −{}", hunk.added, hunk.removed);
            let state = if change.is_reverted { "  reverted" } else { "" };
            let head = format!("@@ {at}  {counts}{state}");
            lines.push((canvas.paint(ColorToken::Muted, &head), true));
            if !change.is_reverted {
                let rows = review_rows(&hunk.text, language_of(&file.path), room, &ctx);
                lines.extend(rows.into_iter().map(|row| (row, false)));
            }
            lines.push((String::new(), false));
            self.rows
                .extend(lines.into_iter().map(|(line, is_header)| ReviewRow {
                    line,
                    place,
                    is_header,
                }));
        }
    }

    /// Moves the window to the selected hunk.
    fn follow(&mut self) {
        let Some(place) = self.place().filter(|_| self.follows_selection) else {
            return;
        };
        let start = self
            .rows
            .iter()
            .position(|row| row.place == place)
            .unwrap_or(0);
        let count = self.rows.iter().filter(|row| row.place == place).count();
        let end = start + count.min(self.page);
        if start < self.first || end > self.first + self.page {
            // Some rows of the hunk before give the place.
            self.first = if start < self.first {
                start
            } else {
                end.saturating_sub(self.page)
            };
        }
        self.first = self.first.min(self.rows.len().saturating_sub(self.page));
    }

    fn title(&self) -> String {
        let shown = self.places.iter().filter_map(|place| self.hunk(*place));
        let (added, removed) = shown.fold((0, 0), |(added, removed), (_, it)| {
            (added + it.hunk.added, removed + it.hunk.removed)
        });
        let mut files: Vec<usize> = self.places.iter().map(|(file, _)| *file).collect();
        files.dedup();
        let scope = match self.scope {
            ReviewScope::Turn => "last turn",
            ReviewScope::Session => "session",
        };
        let files = match files.len() {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        format!("Changes of the {scope}: {files} +{added} −{removed}")
    }

    fn revert(&mut self, sink: &mut IntentSink) {
        let Some(place) = self.place() else {
            return;
        };
        let Some((file, change)) = self.hunk(place) else {
            return;
        };
        let problem = if change.is_reverted {
            Some("The hunk is reverted already.")
        } else if change.is_whole_file {
            Some("The file was written as a whole: what it contained before is not known.")
        } else {
            None
        };
        if let Some(problem) = problem {
            self.message = Some((ColorToken::Warning, problem.to_owned()));
            return;
        }
        sink.send(Intent::RevertHunk {
            path: file.path.clone(),
            hunk: change.hunk.clone(),
        });
    }

    fn comment(&self, sink: &mut IntentSink) {
        let Some((file, change)) = self.place().and_then(|place| self.hunk(place)) else {
            sink.close();
            return;
        };
        let at = change
            .hunk
            .line
            .map_or_else(String::new, |line| format!(":{line}"));
        let quoted: Vec<String> = change
            .hunk
            .text
            .lines()
            .filter(|line| line.starts_with(['+', '-']))
            .take(QUOTED_LINES)
            .map(|line| format!("> {line}"))
            .collect();
        let text = format!("{}{at}\n{}\n\n", file.path, quoted.join("\n"));
        sink.finish(Intent::InsertPromptText(text));
    }
}

/// Lines of a hunk quoted in a comment.
const QUOTED_LINES: usize = 6;

impl DialogBody for ReviewDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        self.page = canvas.height().saturating_sub(OTHER_ROWS).max(1);
        self.layout(canvas);
        self.follow();
        canvas.title(&self.title());
        canvas.blank();
        if self.rows.is_empty() {
            let text = "  No file was changed with the tools edit and write.";
            canvas.text(RowPriority::Content, ColorToken::Muted, text);
        }
        let place = self.place();
        for (index, row) in self
            .rows
            .iter()
            .enumerate()
            .skip(self.first)
            .take(self.page)
        {
            let is_selected = Some(row.place) == place;
            let mark = if is_selected && !row.line.is_empty() {
                canvas.paint(ColorToken::Accent, "▌")
            } else {
                " ".to_owned()
            };
            let weight = if is_selected && row.is_header {
                RowPriority::Focus
            } else {
                RowPriority::Content
            };
            let line = format!("{mark} {}", row.line);
            if weight == RowPriority::Focus {
                canvas.item(index, true, &line);
            } else {
                canvas.item(index, false, &line);
            }
        }
        canvas.blank();
        if let Some((token, text)) = &self.message {
            canvas.text(RowPriority::Detail, *token, text);
        }
        let mut hints = vec![
            Hint::keys(&[action::SELECT_UP, action::SELECT_DOWN], "hunk"),
            Hint::keys(
                &[action::EDITOR_CURSOR_LEFT, action::EDITOR_CURSOR_RIGHT],
                "file",
            ),
            Hint::key(action::SELECT_CONFIRM, "comment"),
            Hint::fixed("r", "revert"),
            Hint::fixed("t", "turn/session"),
            Hint::leave("close"),
        ];
        if self.rows.len() > self.page {
            let keys = [action::SELECT_PAGE_UP, action::SELECT_PAGE_DOWN];
            hints.insert(2, Hint::keys(&keys, "page"));
        }
        canvas.hints(&hints);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        let InputEvent::Key(key) = event else {
            return InputOutcome::Ignored;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        if pressed(action::SELECT_CANCEL) {
            sink.close();
        } else if pressed(action::SELECT_CONFIRM) {
            self.comment(sink);
        } else if pressed(action::SELECT_UP) || key.text() == Some('k') {
            self.select(self.selected.saturating_sub(1));
        } else if pressed(action::SELECT_DOWN) || key.text() == Some('j') {
            self.select(self.selected + 1);
        } else if pressed(action::EDITOR_CURSOR_LEFT) {
            self.select_file(false);
        } else if pressed(action::EDITOR_CURSOR_RIGHT) {
            self.select_file(true);
        } else if pressed(action::SELECT_PAGE_UP) {
            self.scroll(self.first.saturating_sub(self.page));
        } else if pressed(action::SELECT_PAGE_DOWN) || key.text() == Some(' ') {
            self.scroll(self.first + self.page);
        } else if key.text() == Some('t') {
            self.scope = match self.scope {
                ReviewScope::Turn => ReviewScope::Session,
                ReviewScope::Session => ReviewScope::Turn,
            };
            self.collect();
        } else if key.text() == Some('r') {
            self.revert(sink);
        } else {
            return InputOutcome::Ignored;
        }
        InputOutcome::Consumed
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        _sink: &mut IntentSink,
    ) -> bool {
        match (event.kind, hit) {
            (MouseEventKind::Wheel { lines }, _) => {
                let step = usize::try_from(lines.unsigned_abs()).unwrap_or(1);
                self.scroll(if lines < 0 {
                    self.first.saturating_sub(step)
                } else {
                    self.first + step
                });
                true
            }
            (MouseEventKind::Click { .. }, Some(HitTarget::Item(row))) => {
                let place = self.rows.get(row).map(|row| row.place);
                let index = self.places.iter().position(|it| Some(*it) == place);
                if let Some(index) = index {
                    self.selected = index;
                }
                true
            }
            _ => false,
        }
    }

    fn on_update(&mut self, update: DialogUpdate, _sink: &mut IntentSink) {
        match update {
            DialogUpdate::HunkReverted { path, hunk } => {
                let file = self.files.iter_mut().find(|file| file.path == path);
                let hunks = file.into_iter().flat_map(|file| &mut file.hunks);
                for change in hunks.filter(|change| change.hunk == hunk) {
                    change.is_reverted = true;
                }
                self.message = Some((ColorToken::Success, format!("Reverted in {path}")));
                self.width = None;
            }
            DialogUpdate::Failed(problem) => self.message = Some((ColorToken::Error, problem)),
            _ => {}
        }
    }

    fn restyle(&mut self) {
        self.width = None;
    }
}

#[cfg(test)]
mod tests;
