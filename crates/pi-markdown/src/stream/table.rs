//! A table that is still growing: a row is finished when the next one has started with a complete
//! line.
//!
//! Only the last row is parsed again, below a copy of the header. Finished rows keep their text;
//! they are laid out again when a later row changes the column widths.

use super::{MarkdownStream, PageLayout, has_complete_lines, is_determined};
use crate::parse::{MarkdownBlock, MarkdownTable, SpannedBlock, TableRow, line_start};
use crate::table::{Columns, Grid};

#[derive(Debug)]
pub(super) struct OpenTable {
    /// The source of the header and the delimiter row.
    head: String,
    table: MarkdownTable,
    rows: Vec<Vec<String>>,
    /// How many rows have been laid out.
    laid_out: usize,
    columns: Columns,
    /// The column widths of the finished rows.
    widths: Vec<usize>,
    /// Index of its first line among the finished lines.
    start: usize,
}

impl OpenTable {
    /// Returns a table without rows. Returns `None` while its first two lines, as they are in
    /// `source`, may still change, or if the table does not fit the page.
    pub(super) fn find(
        original: &str,
        source: &str,
        table: &MarkdownTable,
        page: &PageLayout<'_>,
    ) -> Option<Self> {
        let (first, rest) = source.split_once('\n')?;
        let (second, _) = rest.split_once('\n')?;
        let head = original.get(..first.len() + second.len() + 2)?;
        let table = MarkdownTable {
            header: table.header.clone(),
            alignments: table.alignments.clone(),
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

    fn add_rows(&mut self, grid: &Grid<'_>, rows: &[TableRow]) {
        for row in rows {
            let cells = grid.cells(row);
            self.columns.add(&cells);
            self.rows.push(cells);
        }
    }
}

fn grid<'a>(table: &MarkdownTable, page: &PageLayout<'a>) -> Option<Grid<'a>> {
    Grid::new(table, page.renderer.theme, page.style, page.width)
}

impl MarkdownStream {
    /// Advances past the header of a table.
    pub(super) fn start_table(&mut self, table: &mut OpenTable) {
        table.start = self.finished.len();
        self.rest += table.head.len();
    }

    /// Continues parsing a table. Returns it if it has not ended.
    pub(super) fn continue_table(
        &mut self,
        mut open: OpenTable,
        text: &str,
        page: &PageLayout<'_>,
    ) -> Option<OpenTable> {
        self.non_incremental = Some(self.rest);
        let grid = grid(&open.table, page)?;
        let offset = self.rest.saturating_sub(open.head.len());
        let original = open.head.clone() + text.get(self.rest..).unwrap_or_default();
        let parsed = self.parse(&original, page);
        let source = &parsed.source;
        let (rows, after) = first_table(&parsed.blocks)?;
        self.non_incremental = None;
        if let (Some(next), Some(last)) = (after.first(), after.last())
            && is_determined(source, last)
        {
            open.add_rows(&grid, rows);
            let columns = open.columns.clone();
            self.layout_rows(&mut open, &grid, columns.widths(grid.available), page);
            page.add(&[grid.foot(&open.widths)], &mut self.finished);
            let end = line_start(source, next.range.start);
            self.rest = offset + end;
            self.store_definitions(parsed.definitions, end);
            return None;
        }
        let mut rows = rows;
        if let Some((last, before)) = rows.split_last()
            && !before.is_empty()
            && has_complete_lines(source, last.start, 1)
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
        self.layout_rows(&mut open, &grid, columns.widths(grid.available), page);
        for row in &cells {
            page.add(&grid.row(row, &open.widths), &mut self.tail);
        }
        page.add(&[grid.foot(&open.widths)], &mut self.tail);
        self.render_from(offset, text, after, page);
        Some(open)
    }

    /// Lays out the finished rows that are not up to date.
    fn layout_rows(
        &mut self,
        open: &mut OpenTable,
        grid: &Grid<'_>,
        widths: Vec<usize>,
        page: &PageLayout<'_>,
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

fn first_table(blocks: &[SpannedBlock]) -> Option<(&[TableRow], &[SpannedBlock])> {
    let (first, after) = blocks.split_first()?;
    match &first.block {
        MarkdownBlock::Table(table) => Some((&table.rows, after)),
        _ => None,
    }
}
