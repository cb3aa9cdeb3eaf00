//! A table that is still growing: a row is finished when the next one has begun with a whole line.
//!
//! Only the last row is read again, below a copy of the header. Finished rows keep their text; they
//! are laid out again when a later row changes the widths of the columns.

use super::{Page, Stream, has_begun, has_whole_lines};
use crate::components::markdown::parse::{Block, Placed, Row, Table, line_start};
use crate::components::markdown::table::{Columns, Grid};

/// A table whose end has not come yet.
#[derive(Debug)]
pub(super) struct OpenTable {
    /// The source of the header and of the line below it.
    head: String,
    table: Table,
    rows: Vec<Vec<String>>,
    /// How many of the rows have their lines.
    laid_out: usize,
    columns: Columns,
    /// The widths the finished rows are laid out with.
    widths: Vec<usize>,
    /// Where its lines start among the finished lines.
    start: usize,
}

impl OpenTable {
    /// Returns a table without rows; `None` while its first two lines, as they are in `source`, may change,
    /// or if it does not fit the page.
    pub(super) fn find(
        written: &str,
        source: &str,
        table: &Table,
        page: &Page<'_>,
    ) -> Option<Self> {
        let (first, rest) = source.split_once('\n')?;
        let (second, _) = rest.split_once('\n')?;
        let head = written.get(..first.len() + second.len() + 2)?;
        let table = Table {
            header: table.header.clone(),
            rows: Vec::new(),
            source: String::new(),
        };
        let grid = grid(&table, page)?;
        Some(Self {
            head: head.to_owned(),
            rows: Vec::new(),
            laid_out: 0,
            columns: grid.columns(),
            widths: Vec::new(),
            start: 0,
            table,
        })
    }

    fn add_rows(&mut self, grid: &Grid<'_>, rows: &[Row]) {
        for row in rows {
            let cells = grid.cells(row);
            self.columns.add(&cells);
            self.rows.push(cells);
        }
    }
}

fn grid<'a>(table: &Table, page: &Page<'a>) -> Option<Grid<'a>> {
    Grid::new(table, page.renderer.theme, page.style, page.width)
}

impl Stream {
    /// Steps behind the header of a table.
    pub(super) fn start_table(&mut self, table: &mut OpenTable) {
        table.start = self.finished.len();
        self.rest += table.head.len();
    }

    /// Reads on in a table; returns it if it has not ended.
    pub(super) fn read_table(
        &mut self,
        mut open: OpenTable,
        text: &str,
        page: &Page<'_>,
    ) -> Option<OpenTable> {
        self.unreadable = Some(self.rest);
        let grid = grid(&open.table, page)?;
        let offset = self.rest.saturating_sub(open.head.len());
        let written = open.head.clone() + text.get(self.rest..).unwrap_or_default();
        let parsed = self.parse(&written, page);
        let source = &parsed.source;
        let (rows, after) = first_table(&parsed.blocks)?;
        self.unreadable = None;
        if let (Some(next), Some(last)) = (after.first(), after.last())
            && has_begun(source, last)
        {
            open.add_rows(&grid, rows);
            let columns = open.columns.clone();
            self.lay_out(&mut open, &grid, columns.widths(grid.available), page);
            page.add(&[grid.foot(&open.widths)], &mut self.finished);
            let end = line_start(source, next.range.start);
            self.rest = offset + end;
            self.learn(parsed.definitions, end);
            return None;
        }
        let mut rows = rows;
        if let Some((last, before)) = rows.split_last()
            && !before.is_empty()
            && has_whole_lines(source, last.start, 1)
        {
            open.add_rows(&grid, before);
            self.rest = offset + line_start(source, last.start);
            rows = std::slice::from_ref(last);
        }
        let cells: Vec<Vec<String>> = rows.iter().map(|row| grid.cells(row)).collect();
        let mut columns = open.columns.clone();
        for row in &cells {
            columns.add(row);
        }
        self.lay_out(&mut open, &grid, columns.widths(grid.available), page);
        for row in &cells {
            page.add(&grid.row(row, &open.widths), &mut self.tail);
        }
        page.add(&[grid.foot(&open.widths)], &mut self.tail);
        self.render_from(offset, text, after, page);
        Some(open)
    }

    /// Brings the lines of the finished rows up to date.
    fn lay_out(
        &mut self,
        open: &mut OpenTable,
        grid: &Grid<'_>,
        widths: Vec<usize>,
        page: &Page<'_>,
    ) {
        if open.widths != widths {
            self.finished.truncate(open.start);
            page.add(&grid.head(&widths), &mut self.finished);
            open.widths = widths;
            open.laid_out = 0;
        }
        for row in open.rows.iter().skip(open.laid_out) {
            page.add(&grid.row(row, &open.widths), &mut self.finished);
        }
        open.laid_out = open.rows.len();
    }
}

fn first_table(blocks: &[Placed]) -> Option<(&[Row], &[Placed])> {
    let (first, after) = blocks.split_first()?;
    match &first.block {
        Block::Table(table) => Some((&table.rows, after)),
        _ => None,
    }
}
