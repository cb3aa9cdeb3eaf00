//! Renders tables in a box, with columns that share the width and cells that wrap.

use pulldown_cmark::Alignment;

use pi_tui::{Style, pad_to_width, strip_ansi, visible_width, wrap_text};

use super::MarkdownTheme;
use super::inline::{InlineRenderer, push};
use super::parse::{MarkdownTable, TableRow};

/// Words longer than this may be broken to save a column.
const MAX_UNBROKEN_WORD: usize = 30;

/// Renders a table in `width` columns, or its source if that is too narrow for a table.
pub(super) fn render(
    table: &MarkdownTable,
    theme: &MarkdownTheme,
    style: Style,
    width: usize,
) -> Vec<String> {
    let Some(grid) = Grid::new(table, theme, style, width) else {
        let mut source = String::new();
        push(&table.source, style, &mut source);
        return wrap_text(&source, width);
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| grid.cells(row)).collect();
    let mut columns = grid.columns();
    for row in &rows {
        columns.add(row);
    }
    let widths = columns.widths(grid.available);
    let mut lines = grid.head(&widths);
    for row in &rows {
        lines.extend(grid.row(row, &widths));
    }
    lines.push(grid.foot(&widths));
    lines
}

/// State shared by all rows of a table.
pub(super) struct Grid<'a> {
    inline: InlineRenderer<'a>,
    style: Style,
    header: Vec<String>,
    alignments: Vec<Alignment>,
    /// Columns available for the text of cells, without borders.
    pub(super) available: usize,
}

impl<'a> Grid<'a> {
    /// Returns the grid of a table, or `None` if it has no columns or does not fit the width.
    pub(super) fn new(
        table: &MarkdownTable,
        theme: &'a MarkdownTheme,
        style: Style,
        width: usize,
    ) -> Option<Self> {
        let count = table.header.len();
        let borders = 3 * count + 1;
        if count == 0 || width < borders + count {
            return None;
        }
        let inline = InlineRenderer { theme };
        let header = table.header.iter();
        Some(Self {
            inline,
            style,
            header: header
                .map(|cell| inline.render(cell, style.bold()))
                .collect(),
            alignments: table.alignments.clone(),
            available: width - borders,
        })
    }

    /// Returns the text of a row's cells, as many as the header has.
    pub(super) fn cells(&self, row: &TableRow) -> Vec<String> {
        let count = self.header.len();
        let cells = row.cells.iter().take(count);
        let mut cells: Vec<String> = cells
            .map(|cell| self.inline.render(cell, self.style))
            .collect();
        cells.resize(count, String::new());
        cells
    }

    /// Returns the column widths of the header.
    pub(super) fn columns(&self) -> Columns {
        let mut columns = Columns {
            natural: vec![1; self.header.len()],
            minimum: vec![1; self.header.len()],
        };
        columns.add(&self.header);
        columns
    }

    /// Returns the lines above the first row.
    pub(super) fn head(&self, widths: &[usize]) -> Vec<String> {
        let mut lines = vec![self.rule(widths, ["┌", "┬", "┐"])];
        lines.extend(self.row_lines(&self.header, widths));
        lines
    }

    /// Returns the lines of a row and the rule above it.
    pub(super) fn row(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let mut lines = vec![self.rule(widths, ["├", "┼", "┤"])];
        lines.extend(self.row_lines(cells, widths));
        lines
    }

    /// Returns the line below the last row.
    pub(super) fn foot(&self, widths: &[usize]) -> String {
        self.rule(widths, ["└", "┴", "┘"])
    }

    fn rule(&self, widths: &[usize], [left, middle, right]: [&str; 3]) -> String {
        let cells: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let cells = cells.join(&format!("─{middle}─"));
        self.style.apply(&format!("{left}─{cells}─{right}"))
    }

    fn row_lines(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let wrapped: Vec<Vec<String>> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| wrap_text(cell, *width))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let bar = self.style.apply("│");
        (0..height)
            .map(|row| {
                let mut line = bar.clone();
                for (column, (cell, width)) in wrapped.iter().zip(widths).enumerate() {
                    let text = cell.get(row).map_or("", String::as_str);
                    line.push(' ');
                    line.push_str(&align(text, *width, self.alignments.get(column).copied()));
                    line.push(' ');
                    line.push_str(&bar);
                }
                line
            })
            .collect()
    }
}

/// Pads a text to a width as its column is aligned.
fn align(text: &str, width: usize, alignment: Option<Alignment>) -> String {
    let missing = width.saturating_sub(visible_width(text));
    let before = match alignment {
        Some(Alignment::Right) => missing,
        Some(Alignment::Center) => missing / 2,
        Some(Alignment::Left | Alignment::None) | None => 0,
    };
    pad_to_width(&format!("{}{text}", " ".repeat(before)), width)
}

/// The natural and minimum widths of the columns of a table.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    natural: Vec<usize>,
    minimum: Vec<usize>,
}

impl Columns {
    /// Updates the widths for a row.
    pub(super) fn add(&mut self, row: &[String]) {
        let columns = self.natural.iter_mut().zip(&mut self.minimum);
        for (cell, (natural, minimum)) in row.iter().zip(columns) {
            let plain = strip_ansi(cell);
            let widest = plain.split('\n').map(visible_width).max().unwrap_or(0);
            let word = plain
                .split_whitespace()
                .map(visible_width)
                .max()
                .unwrap_or(0);
            *natural = widest.max(*natural);
            *minimum = word.min(MAX_UNBROKEN_WORD).max(*minimum);
        }
    }

    /// Returns the widths: natural if all fit, otherwise shared so that words stay intact if
    /// possible.
    pub(super) fn widths(&self, available: usize) -> Vec<usize> {
        if self.natural.iter().sum::<usize>() <= available {
            return self.natural.clone();
        }
        let count = self.natural.len();
        let mut widths = vec![1; count];
        grow(&mut widths, &self.minimum, available - count);
        let left = available - widths.iter().sum::<usize>();
        grow(&mut widths, &self.natural, left);
        widths
    }
}

/// Grows widths towards `targets` by `amount` in total, in proportion to what each is missing.
fn grow(widths: &mut [usize], targets: &[usize], amount: usize) {
    let missing: Vec<usize> = widths
        .iter()
        .zip(targets)
        .map(|(width, target)| target.saturating_sub(*width))
        .collect();
    let total: usize = missing.iter().sum();
    let mut left = amount.min(total);
    let shared = left;
    for (width, missing) in widths.iter_mut().zip(&missing) {
        let part = (shared * missing).checked_div(total).unwrap_or(0);
        *width += part;
        left -= part;
    }
    while left > 0 {
        let before = left;
        for (width, target) in widths.iter_mut().zip(targets) {
            if left > 0 && *width < *target {
                *width += 1;
                left -= 1;
            }
        }
        if left == before {
            return;
        }
    }
}
