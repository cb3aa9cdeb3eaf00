//! Drawing on the alternate screen: the transcript scrolls in a viewport, the dock stays below it.
//!
//! Every row is addressed by number. Mouse and key handling lives in `gesture`; this file paints
//! the result.

use super::content::ScreenContent;
use super::diff::row_change;
use super::document::{BlockId, LineChange};
use super::frame::{PreparedRow, RenderError, WidthPolicy, prepare_rows};
use super::image_cache::ImageCache;
use super::screen::ComposeFn;
use super::search::TranscriptSearch;
use super::selection::{MouseSelection, highlight};
use super::sync_output::SyncOutput;
use super::viewport::Viewport;
use crate::cursor::VisibleCursor;
use crate::line::Line;
use crate::terminal::{ImageSpan, KITTY_DELETE_ALL, KITTY_HIDE_ALL, Size};
use crate::text::{WideCharPolicy, pad_to_width, slice_columns, strip_ansi, visible_width};

const ENTER: &str = "\x1b[?1049h\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?1049l";
const MOUSE_BUTTONS: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1004h\x1b[?1006h";
const MOUSE_ALL: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1003h\x1b[?1004h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1004l\x1b[?1003l\x1b[?1002l\x1b[?1000l";
/// Shown below a viewport that does not follow the end.
const TO_END_LABEL: &str = " \u{2193} end ";

/// Which mouse events the terminal reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseTracking {
    /// None; the terminal's own selection works.
    Off,
    /// Buttons, wheel and drags. For multiplexers, which lag if every motion is forwarded.
    Buttons,
    #[default]
    All,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScrollbarPolicy {
    /// While the end is not visible.
    #[default]
    Auto,
    /// Whenever the content does not fit.
    Always,
    Hidden,
}

/// What to leave on the main screen after full-screen mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitBehavior {
    /// Restore the main screen as it was.
    RestoreScreen,
    /// Print the complete content below it.
    PrintTranscript,
    /// Restores the shell's screen until the program continues. Unfinished blocks are erased there, and printed again
    /// by then.
    Pause,
}

/// The alternate screen as last painted.
#[derive(Debug, Default)]
pub(crate) struct FullScreen {
    size: Option<Size>,
    rows: Vec<PreparedRow>,
    cursor: Option<(usize, usize, bool)>,
    images: ImageCache,
    pub(crate) viewport: Viewport,
    pub(crate) selection: Option<MouseSelection>,
    pub(crate) search: Option<TranscriptSearch>,
    /// Row of the label that scrolls to the end.
    end_label: Option<usize>,
    /// Number of the first visible dock line.
    dock_top: usize,
    transcript_lines: usize,
    /// Line changes since the last call to `take_changes`.
    pending_changes: Vec<LineChange>,
}

pub(super) struct FullFrameOptions<'a> {
    pub(super) size: Size,
    pub(super) width_policy: WidthPolicy,
    pub(super) show_cursor: bool,
    pub(super) scrollbar: ScrollbarPolicy,
    pub(super) overlay: Option<ComposeFn<'a>>,
}

impl FullScreen {
    /// Returns the bytes that switch to the alternate screen.
    pub(crate) fn enter(&mut self, mouse: MouseTracking) -> String {
        *self = Self::default();
        let mut output = SyncOutput::default();
        output.push(ENTER);
        output.push(match mouse {
            MouseTracking::Off => "",
            MouseTracking::Buttons => MOUSE_BUTTONS,
            MouseTracking::All => MOUSE_ALL,
        });
        output.push("\x1b[2J\x1b[H\x1b[?25l");
        output.finish()
    }

    /// Returns the selected text.
    pub(crate) fn selected_text(&self, content: &ScreenContent) -> Option<String> {
        let selection = self
            .selection
            .as_ref()
            .filter(|selection| !selection.is_empty())?;
        let range = selection.lines();
        let lines = content.lines(range.clone());
        let text = selection.text(range.zip(lines.iter().map(Line::as_str)));
        (!strip_ansi(&text).is_empty()).then_some(text)
    }

    /// Returns the bytes that switch back to the main screen.
    pub(crate) fn leave(&mut self, content: &mut ScreenContent, exit: ExitBehavior) -> String {
        let mut output = SyncOutput::default();
        if self.images.any() {
            output.push(KITTY_DELETE_ALL);
        }
        output.push(MOUSE_OFF);
        output.push(LEAVE);
        if let (ExitBehavior::PrintTranscript, Some(size)) = (exit, self.size) {
            content.refresh_tail(usize::MAX);
            for line in content.lines(0..content.transcript.line_count()) {
                let (policy, cursor) = (WidthPolicy::Truncate, VisibleCursor::Drawn);
                if let Ok(row) = PreparedRow::prepare(&line, size.columns, policy, cursor) {
                    output.push("\r\x1b[K");
                    output.push(&row.text);
                    output.push("\r\n");
                }
            }
        }
        output.push("\x1b[?25h");
        *self = Self::default();
        output.finish()
    }

    /// Makes the next frame rewrite every row.
    pub(crate) fn request_repaint(&mut self) {
        self.size = None;
    }

    /// Returns the number of the line shown in a row of the screen.
    pub(crate) fn line_at(&self, row: usize) -> usize {
        if row < self.viewport.height() {
            self.viewport.top() + row
        } else {
            self.transcript_lines + self.dock_top + row - self.viewport.height()
        }
    }

    pub(super) fn frame(
        &mut self,
        content: &mut ScreenContent,
        options: FullFrameOptions<'_>,
    ) -> Result<String, RenderError> {
        let size = options.size;
        self.layout(content, size);
        self.refresh_search(content);
        let mut screen = self.visible_lines(content, size);
        let placements = self.take_images(content, &mut screen);
        self.highlight_lines(&mut screen);
        self.draw_scrollbar(&mut screen, size, options.scrollbar);
        self.draw_end_label(&mut screen, size);
        if let Some(overlay) = options.overlay {
            overlay(&mut screen);
        }
        if self.size != Some(size) {
            self.rows.clear();
        }
        let cursor = VisibleCursor::of(options.show_cursor);
        let policy = options.width_policy;
        let rows = prepare_rows(&screen, &self.rows, size.columns, policy, cursor)?;
        let mut output = SyncOutput::default();
        self.paint(rows, size, &mut output);
        self.draw_images(&placements, &mut output);
        self.place_cursor(options.show_cursor, &mut output);
        Ok(output.finish())
    }

    /// Renders the visible part of the transcript and the dock.
    fn layout(&mut self, content: &mut ScreenContent, size: Size) {
        let changes = content.layout(size.columns);
        self.apply_changes(&changes);
        content.dock.refresh_tail(usize::MAX);
        let dock_lines = content.dock.line_count();
        let dock_rows = dock_lines.min(size.rows);
        self.dock_top = dock_lines - dock_rows;
        let height = size.rows - dock_rows;
        let changes = content
            .transcript
            .refresh_tail(if self.viewport.follows_end() {
                height
            } else {
                0
            });
        self.apply_changes(&changes);
        self.viewport
            .set_dimensions(height, content.transcript.line_count());
        let top = self.viewport.top();
        let changes = content.transcript.refresh_range(top..top + height);
        self.apply_changes(&changes);
        self.transcript_lines = content.transcript.line_count();
        self.viewport.set_dimensions(height, self.transcript_lines);
    }

    /// Makes the first line of a block the first visible one.
    pub(crate) fn scroll_to_block(
        &mut self,
        content: &mut ScreenContent,
        size: Size,
        block: BlockId,
    ) {
        self.layout(content, size);
        if let Some(line) = content.transcript.first_line(block) {
            self.viewport.scroll_to(line);
        }
    }

    /// Returns the line changes since the last call.
    pub(crate) fn take_changes(&mut self) -> Vec<LineChange> {
        std::mem::take(&mut self.pending_changes)
    }

    fn apply_changes(&mut self, changes: &[LineChange]) {
        self.pending_changes.extend_from_slice(changes);
        self.viewport.apply_changes(changes);
        if let Some(selection) = &mut self.selection {
            selection.apply_changes(changes);
        }
    }

    fn refresh_search(&mut self, content: &ScreenContent) {
        if let Some(search) = &mut self.search
            && !search.query().is_empty()
        {
            search.refresh(&content.transcript);
        }
    }

    fn visible_lines(&self, content: &ScreenContent, size: Size) -> Vec<Line> {
        let (top, height) = (self.viewport.top(), self.viewport.height());
        let mut lines: Vec<Line> = content
            .transcript
            .lines(top..top + height)
            .cloned()
            .collect();
        lines.resize(height, Line::default());
        let dock = self.dock_top..content.dock.line_count();
        lines.extend(content.dock.lines(dock).cloned());
        lines.resize(size.rows, Line::default());
        lines
    }

    /// Takes the images out of the lines, cropped to their visible part.
    fn take_images(&self, content: &ScreenContent, screen: &mut [Line]) -> Vec<(usize, Line)> {
        let (top, height) = (self.viewport.top(), self.viewport.height());
        let mut placements = Vec::new();
        for (row, line) in screen.iter_mut().enumerate() {
            let Some(span) = ImageSpan::find(line) else {
                continue;
            };
            let room = if row < height {
                height - row
            } else {
                usize::MAX
            };
            let shown = match span.id {
                Some(_) => ImageSpan::crop(line, 0, room).map(Line::from),
                None => None,
            };
            // Inline files cannot be cropped or deleted, so show a placeholder instead.
            *line = Line::from(if shown.is_some() { "" } else { "[image]" });
            placements.extend(shown.map(|image| (row, image)));
        }
        let from_above = content.image_from_above(top, height);
        placements.extend(from_above.map(|image| (0, Line::from(image))));
        placements
    }

    fn highlight_lines(&self, screen: &mut [Line]) {
        for (row, line) in screen.iter_mut().enumerate() {
            let number = self.line_at(row);
            if let Some(search) = &self.search
                && row < self.viewport.height()
            {
                for (columns, current) in search.in_line(number).rev() {
                    let (open, close) = if current {
                        ("\x1b[1;7m", "\x1b[22;27m")
                    } else {
                        ("\x1b[4m", "\x1b[24m")
                    };
                    *line = Line::from(highlight(line, columns, open, close));
                }
            }
            if let Some(columns) = self
                .selection
                .as_ref()
                .and_then(|selection| selection.columns(number, line))
            {
                *line = Line::from(highlight(line, columns, "\x1b[7m", "\x1b[27m"));
            }
        }
    }

    fn draw_scrollbar(&self, screen: &mut [Line], size: Size, policy: ScrollbarPolicy) {
        let is_visible = match policy {
            ScrollbarPolicy::Auto => !self.viewport.follows_end(),
            ScrollbarPolicy::Always => true,
            ScrollbarPolicy::Hidden => false,
        };
        let Some(thumb) = self.viewport.thumb().filter(|_| is_visible) else {
            return;
        };
        for (row, line) in screen.iter_mut().take(self.viewport.height()).enumerate() {
            let bar = if thumb.contains(&row) {
                "\u{2588}"
            } else {
                "\u{2502}"
            };
            *line = overlay_right_edge(line, bar, size.columns);
        }
    }

    /// Draws the label on the first row of the dock if that is blank, so that it hides no text.
    fn draw_end_label(&mut self, screen: &mut [Line], size: Size) {
        self.end_label = None;
        if self.viewport.follows_end() || size.columns < visible_width(TO_END_LABEL) + 2 {
            return;
        }
        let below = self.viewport.height();
        let is_blank = |line: &Line| strip_ansi(line).trim().is_empty();
        let row = if screen.get(below).is_some_and(is_blank) {
            below
        } else {
            below.saturating_sub(1)
        };
        if let Some(line) = screen.get_mut(row) {
            let label = format!("\x1b[7m{TO_END_LABEL}\x1b[27m");
            *line = overlay_right_edge(line, &label, size.columns);
            self.end_label = Some(row);
        }
    }

    /// Whether a cell belongs to the label that scrolls to the end.
    pub(crate) fn is_end_label(&self, column: usize, row: usize) -> bool {
        let width = visible_width(TO_END_LABEL);
        self.end_label == Some(row) && self.size.is_some_and(|size| column + width >= size.columns)
    }

    fn paint(&mut self, rows: Vec<PreparedRow>, size: Size, output: &mut SyncOutput) {
        let fresh = self.size != Some(size);
        if fresh {
            output.push("\x1b[H\x1b[J");
            self.rows = vec![PreparedRow::default(); size.rows];
            self.cursor = None;
            self.size = Some(size);
        }
        for (index, (old, new)) in self.rows.iter().zip(&rows).enumerate() {
            if let Some(change) = row_change(&old.text, &new.text) {
                output.move_to(index, change.column);
                output.push("\x1b[K");
                output.push(change.text);
            }
        }
        self.rows = rows;
        if fresh {
            self.images.forget_placements();
        }
    }

    /// Draws the images, unless they are unchanged.
    fn draw_images(&mut self, placements: &[(usize, Line)], output: &mut SyncOutput) {
        let Some(update) = self.images.update(placements) else {
            return;
        };
        output.push(KITTY_HIDE_ALL);
        for deletion in update.deletions {
            output.push(&deletion);
        }
        for (row, image) in update.images {
            output.move_to(row, 0);
            output.push(&image);
        }
        self.cursor = None;
    }

    fn place_cursor(&mut self, show: bool, output: &mut SyncOutput) {
        let target = self
            .rows
            .iter()
            .enumerate()
            .rev()
            .find_map(|(row, prepared)| Some((row, prepared.cursor?)));
        let (row, column) = target.unwrap_or((self.rows.len().saturating_sub(1), 0));
        let cursor = (row, column, show && target.is_some());
        if self.cursor == Some(cursor) && output.is_empty() {
            return;
        }
        if self.cursor.map(|(.., shown)| shown) != Some(cursor.2) {
            output.push(if cursor.2 { "\x1b[?25h" } else { "\x1b[?25l" });
        }
        output.move_to(row, column);
        self.cursor = Some(cursor);
    }
}

/// Returns the line with `text` over its last columns.
fn overlay_right_edge(line: &str, text: &str, columns: usize) -> Line {
    let left = columns.saturating_sub(visible_width(text));
    let kept = slice_columns(line, 0..left, WideCharPolicy::Drop);
    let reset = super::frame::RESET;
    let missing = pad_to_width("", left.saturating_sub(kept.width));
    Line::from(format!("{}{reset}{missing}{text}", kept.text))
}
