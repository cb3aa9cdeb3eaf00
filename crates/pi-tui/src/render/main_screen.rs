//! Drawing into the terminal's main screen, below the shell's output.
//!
//! Lines that leave the top of the screen enter the terminal's scrollback, each once, and are not
//! touched again. The rest is the live tail, which is compared row by row with the previous frame.
//! Scrollback is only cleared on explicit request.
//!
//! Rows are addressed relative to each other, because the row of the shell's cursor is unknown. A
//! row exists once it was written ("claimed"); further rows are created by line feeds.

use super::content::ScreenContent;
use super::diff::row_change;
use super::document::LineChange;
use super::frame::{PreparedRow, RenderError, WidthPolicy, prepare_rows};
use super::full_screen::ExitBehavior;
use super::screen::ComposeFn;
use super::sync_output::SyncOutput;
use crate::cursor::VisibleCursor;
use crate::line::Line;
use crate::terminal::{Size, kitty_delete};
use crate::text::visible_width;

mod images;

/// Erases the row of the cursor, at its start, and all rows below. tmux pushes the screen into the scrollback if it is
/// erased from the top left corner (`scroll-on-clear`), so the first row is erased separately.
const ERASE_BELOW: &str = "\x1b7\x1b[K\x1b[B\x1b[J\x1b8";

/// With more empty rows below the content, such as after a dialog, lines are pulled back whatever the policy.
const MAX_EMPTY_ROWS: usize = 4;

/// What happens to rows that become free when the content shrinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShrinkPolicy {
    /// They stay empty below the content until it grows again; cheapest on slow connections.
    #[default]
    LeaveEmpty,
    /// Lines that had left the screen are shown again above the content.
    PullBack,
}

/// How a frame begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameStart {
    /// The rows on the screen are those of the last frame.
    InPlace,
    /// Everything is rewritten, starting this many rows above the cursor.
    RowsUp(usize),
    /// Everything is rewritten from the top of the screen, which belongs entirely to us.
    Top,
    /// Screen and scrollback are cleared first.
    Cleared,
}

/// The main screen as last painted.
#[derive(Debug, Default)]
pub(crate) struct MainScreen {
    size: Option<Size>,
    /// The claimed rows, from the top.
    rows: Vec<PreparedRow>,
    /// How many rows contain content; the others are blank rows below it.
    content_rows: usize,
    /// The first line that is not in the scrollback.
    first_live: usize,
    /// How many lines above `first_live` are on the screen although they are also in the
    /// scrollback.
    pulled: usize,
    /// The cursor's row among the claimed rows.
    cursor_row: usize,
    cursor_column: usize,
    cursor_shown: Option<bool>,
    start: Option<FrameStart>,
    /// Whether another program had the terminal and rows above the claimed ones may still show our
    /// lines. They are not painted again until the screen belongs entirely to us.
    is_resumed: bool,
}

/// What a frame depends on besides the content.
pub(super) struct FrameOptions<'a> {
    pub(super) size: Size,
    pub(super) width_policy: WidthPolicy,
    pub(super) shrink: ShrinkPolicy,
    pub(super) show_cursor: bool,
    /// Draws overlays over the rows of the screen; `None` if there are none.
    pub(super) overlay: Option<ComposeFn<'a>>,
}

impl MainScreen {
    /// Makes the next frame clear screen and scrollback and print all content.
    pub(crate) fn request_clear(&mut self) {
        self.start = Some(FrameStart::Cleared);
    }

    /// Makes the next frame rewrite every row, for example after output of another program.
    pub(crate) fn request_repaint(&mut self) {
        self.start = Some(if self.is_full() {
            FrameStart::Top
        } else {
            FrameStart::RowsUp(self.cursor_row)
        });
    }

    /// Forgets the screen: the next frame starts at the cursor, wherever that is.
    pub(crate) fn forget(&mut self) {
        *self = Self {
            first_live: self.lines_above(),
            is_resumed: self.is_resumed,
            ..Self::default()
        };
    }

    /// Returns how many lines of the content have left the screen.
    pub(crate) fn lines_above(&self) -> usize {
        self.first_live - self.pulled.min(self.first_live)
    }

    /// Records that the cursor was made visible elsewhere.
    pub(crate) fn cursor_was_shown(&mut self) {
        self.cursor_shown = Some(true);
    }

    /// Whether any of our rows are on the screen.
    pub(crate) fn is_painted(&self) -> bool {
        !self.rows.is_empty()
    }

    fn is_full(&self) -> bool {
        self.size.is_some_and(|size| self.rows.len() >= size.rows)
    }

    fn is_below_own_lines(&self) -> bool {
        self.is_resumed && !self.is_full()
    }

    /// Paints the content and returns the bytes to write.
    pub(super) fn frame(
        &mut self,
        content: &mut ScreenContent,
        options: FrameOptions<'_>,
    ) -> Result<String, RenderError> {
        let size = options.size;
        let changes = content.layout(size.columns);
        self.apply_changes(&changes);
        let resized = self.resize(size);
        let start = self.start.take().or(resized).unwrap_or(FrameStart::InPlace);
        let width_changed = self.size.is_some_and(|old| old.columns != size.columns);
        let changes = content.refresh_tail(size.rows + self.pulled);
        self.apply_changes(&changes);
        let total = content.line_count();
        if start == FrameStart::Cleared {
            (self.first_live, self.pulled) = (0, 0);
        } else if width_changed && !self.is_below_own_lines() {
            // Line numbers change with the layout. Terminals that reflow push the excess out, so
            // everything above the new tail is considered to be in the scrollback.
            (self.first_live, self.pulled) = (total.saturating_sub(size.rows), 0);
        }
        self.first_live = self.first_live.min(total);
        if start != FrameStart::InPlace {
            tracing::debug!(?start, before = ?self.size, now = ?size, lines = total, "full redraw");
        }
        self.size = Some(size);
        self.pull_back(total - self.first_live, size.rows, options.shrink);
        self.paint_window(content, start, options)
    }

    /// Adjusts for lines that were added or removed above the live ones.
    pub(crate) fn apply_changes(&mut self, changes: &[LineChange]) {
        for change in changes {
            self.first_live = change.shift(self.first_live);
        }
        self.pulled = self.pulled.min(self.first_live);
    }

    /// Determines how many scrollback lines are shown again above `live` lines.
    fn pull_back(&mut self, live: usize, rows: usize, shrink: ShrinkPolicy) {
        let room = rows.saturating_sub(live);
        let fills = shrink == ShrinkPolicy::PullBack
            || live == 0
            || self.is_resumed
            || room > MAX_EMPTY_ROWS;
        self.pulled = if fills && !self.is_below_own_lines() {
            room
        } else {
            self.pulled.min(room)
        }
        .min(self.first_live);
    }

    /// Adjusts to a new size and returns how the frame must begin because of it.
    ///
    /// A terminal that gets shorter first drops rows below the cursor and then pushes rows at the
    /// top into the scrollback; one that gets taller pulls rows back out. Both change which lines
    /// are live.
    fn resize(&mut self, size: Size) -> Option<FrameStart> {
        let old = self.size?;
        if old == size || self.rows.is_empty() {
            return None;
        }
        let was_full = self.rows.len() >= old.rows;
        if old.columns != size.columns {
            return Some(if was_full {
                FrameStart::Top
            } else {
                FrameStart::RowsUp(self.reflowed_rows_above_cursor(size.columns))
            });
        }
        let pushed = (self.cursor_row + 1).saturating_sub(size.rows);
        let already = pushed.min(self.pulled);
        self.pulled -= already;
        self.first_live += pushed - already;
        if !was_full {
            return Some(FrameStart::RowsUp(self.cursor_row - pushed));
        }
        let taller = size.rows.saturating_sub(old.rows);
        let restored = taller.min(self.first_live);
        self.first_live -= restored;
        self.pulled = self.pulled.saturating_sub(restored);
        Some(FrameStart::Top)
    }

    /// Returns how many rows the rows above the cursor take after the terminal reflowed them.
    fn reflowed_rows_above_cursor(&self, columns: usize) -> usize {
        let rows_of = |width: usize| width.div_ceil(columns.max(1)).max(1);
        self.rows
            .iter()
            .take(self.cursor_row)
            .map(|row| rows_of(visible_width(&row.text)))
            .sum::<usize>()
            + self.cursor_column / columns.max(1)
    }

    fn paint_window(
        &mut self,
        content: &ScreenContent,
        start: FrameStart,
        options: FrameOptions<'_>,
    ) -> Result<String, RenderError> {
        let FrameOptions {
            size,
            width_policy,
            overlay,
            show_cursor,
            ..
        } = options;
        let top = self.first_live - self.pulled;
        let mut lines = content.lines(top..content.line_count());
        let content_rows = lines.len().min(size.rows);
        let leaving = lines.len().saturating_sub(size.rows);
        if overlay.is_some() && lines.len() < size.rows {
            lines.resize(size.rows, Line::default());
        }
        let cursor = VisibleCursor::of(show_cursor);
        let mut rows = prepare_rows(&lines, &self.rows, size.columns, width_policy, cursor)?;
        let mut covered = None;
        if let Some(overlay) = overlay {
            let mut screen: Vec<Line> = lines.split_off(leaving);
            overlay(&mut screen);
            let previous = self.rows.get(leaving..).unwrap_or_default();
            let screen = prepare_rows(&screen, previous, size.columns, width_policy, cursor)?;
            if leaving == 0 {
                rows = screen;
            } else {
                // Rows that leave the screen must leave without the overlay.
                covered = Some(screen);
            }
        }
        let mut output = SyncOutput::default();
        self.begin(start, &mut output);
        if start != FrameStart::InPlace
            && let Some(image) = content.image_from_above(top, size.rows)
        {
            output.push("\x1b7");
            output.push(&image);
            output.push("\x1b8");
        }
        self.paint(rows, size.rows, &mut output);
        if let Some(covered) = covered {
            self.paint(covered, size.rows, &mut output);
        }
        self.content_rows = content_rows;
        self.is_resumed &= content_rows < size.rows;
        // Lines are only pulled back into free rows, so none are while others leave.
        self.first_live += leaving;
        self.place_cursor(show_cursor, &mut output);
        Ok(output.finish())
    }

    /// Writes the start of the frame and forgets rows that are rewritten.
    fn begin(&mut self, start: FrameStart, output: &mut SyncOutput) {
        if start == FrameStart::InPlace {
            return;
        }
        for id in self.rows.iter().filter_map(|row| row.image?.id) {
            output.push(&kitty_delete(id));
        }
        match start {
            FrameStart::InPlace => {}
            FrameStart::RowsUp(rows) => {
                output.move_row(rows, 0);
                output.push("\r");
                output.push(ERASE_BELOW);
            }
            // Not `2J`: several terminals respond to it by pushing the screen into the scrollback.
            FrameStart::Top => {
                output.push("\x1b[H");
                output.push(ERASE_BELOW);
            }
            FrameStart::Cleared => output.push("\x1b[2J\x1b[H\x1b[3J"),
        }
        self.rows.clear();
        self.cursor_row = 0;
        if let (FrameStart::Top | FrameStart::Cleared, Some(size)) = (start, self.size) {
            self.rows.resize(size.rows, PreparedRow::default());
        }
    }

    /// Turns the claimed rows into `rows`. Rows beyond the screen's height scroll it.
    fn paint(&mut self, rows: Vec<PreparedRow>, height: usize, output: &mut SyncOutput) {
        let claimed = self.rows.len();
        let has_images = rows.iter().chain(&self.rows).any(|row| row.image.is_some());
        let redraw = if has_images {
            self.images_to_redraw(&rows, output)
        } else {
            Vec::new()
        };
        for (index, row) in rows.iter().enumerate() {
            match self.rows.get(index) {
                Some(old) => {
                    if let Some(change) = row_change(&old.text, &row.text) {
                        output.move_row(self.cursor_row, index);
                        self.cursor_row = index;
                        output.move_column(change.column);
                        output.push("\x1b[K");
                        if row.image.is_none() {
                            output.push(change.text);
                        }
                    }
                }
                None => {
                    if index == 0 {
                        output.push("\r");
                    } else {
                        output.move_row(self.cursor_row, index - 1);
                        output.push("\r\n");
                    }
                    self.cursor_row = index;
                    if row.image.is_none() {
                        output.push(&row.text);
                    }
                }
            }
            if has_images {
                self.draw_finished_images(&rows, &redraw, (index, height), output);
            }
        }
        self.blank_from(rows.len(), claimed, output);
        let blank_rows = claimed.saturating_sub(rows.len());
        self.rows = rows;
        self.rows
            .extend(std::iter::repeat_n(PreparedRow::default(), blank_rows));
        let left = self.rows.len().saturating_sub(height);
        self.rows.drain(..left);
        self.cursor_row = self.cursor_row.saturating_sub(left);
    }

    /// Blanks the claimed rows from `first` on.
    fn blank_from(&mut self, first: usize, claimed: usize, output: &mut SyncOutput) {
        let stale = self.rows.get(first..claimed).unwrap_or_default();
        let Some(offset) = stale.iter().position(|row| !row.is_blank()) else {
            return;
        };
        output.move_row(self.cursor_row, first + offset);
        output.push("\r\x1b[J");
        self.cursor_row = first + offset;
    }

    /// Places the cursor at the text position, so that input methods open there.
    fn place_cursor(&mut self, show: bool, output: &mut SyncOutput) {
        let target = self
            .rows
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, row)| Some((index, row.cursor?)));
        let shown = show && target.is_some();
        if self.cursor_shown != Some(shown) {
            output.push(if shown { "\x1b[?25h" } else { "\x1b[?25l" });
            self.cursor_shown = Some(shown);
        }
        // Without a marker, the cursor rests on the last line of the content: a shrinking terminal
        // drops rows below the cursor before it pushes any out.
        let (row, column) = target.unwrap_or((self.content_rows.saturating_sub(1), 0));
        if row == self.cursor_row && column == self.cursor_column && output.is_empty() {
            return;
        }
        output.move_row(self.cursor_row, row);
        output.move_column(column);
        (self.cursor_row, self.cursor_column) = (row, column);
    }

    /// Returns the bytes that erase the dock and leave the cursor visible below the transcript.
    ///
    /// If the program continues later, unfinished blocks are erased, too: what is printed then would not fit below them.
    pub(crate) fn finish(&mut self, content: &ScreenContent, exit: ExitBehavior) -> String {
        let mut output = SyncOutput::default();
        if !self.rows.is_empty() {
            let kept_lines = match exit {
                ExitBehavior::Pause => content.transcript.settled_lines(),
                ExitBehavior::PrintTranscript | ExitBehavior::RestoreScreen => {
                    content.transcript.line_count()
                }
            };
            let kept = kept_lines.saturating_sub(self.lines_above());
            let kept = kept.min(self.rows.len());
            for id in self.rows.iter().skip(kept).filter_map(|row| row.image?.id) {
                output.push(&kitty_delete(id));
            }
            self.blank_from(kept, self.rows.len(), &mut output);
            output.move_row(self.cursor_row, kept.min(self.rows.len() - 1));
            output.push(if kept < self.rows.len() { "\r" } else { "\r\n" });
            self.first_live = self.lines_above().max(content.transcript.settled_lines());
            self.pulled = 0;
            self.is_resumed = true;
        }
        output.push("\x1b[?25h");
        self.forget();
        output.finish()
    }
}
