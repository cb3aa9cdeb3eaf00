//! Tables in a box, with columns that share the width and cells that wrap.

use super::MarkdownTheme;
use super::inline::{InlineRenderer, push};
use super::parse::Table;
use crate::style::Style;
use crate::text::{pad_to_width, strip_ansi, visible_width, wrap_text};

/// Words longer than this may be broken to save a column.
const LONGEST_WHOLE_WORD: usize = 30;

/// Returns the lines of a table in `width` columns; too narrow for a table, they are its source.
pub(super) fn render(
    table: &Table,
    theme: &MarkdownTheme,
    style: Style,
    width: usize,
) -> Vec<String> {
    let count = table.header.len();
    let borders = 3 * count + 1;
    if count == 0 {
        return Vec::new();
    }
    if width < borders + count {
        let mut source = String::new();
        push(&table.source, style, &mut source);
        return wrap_text(&source, width);
    }
    let inline = InlineRenderer { theme };
    let render_row = |row: &Vec<Vec<_>>, style: Style| -> Vec<String> {
        let mut cells: Vec<String> = row
            .iter()
            .take(count)
            .map(|cell| inline.render(cell, style))
            .collect();
        cells.resize(count, String::new());
        cells
    };
    let header = render_row(&table.header, style.bold());
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| render_row(row, style))
        .collect();
    let widths = column_widths(&header, &rows, width - borders);
    let rule = |left: &str, middle: &str, right: &str| {
        let cells: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        style.apply(&format!(
            "{left}─{}─{right}",
            cells.join(&format!("─{middle}─"))
        ))
    };
    let mut lines = vec![rule("┌", "┬", "┐")];
    lines.extend(row_lines(&header, &widths, style));
    for row in &rows {
        lines.push(rule("├", "┼", "┤"));
        lines.extend(row_lines(row, &widths, style));
    }
    lines.push(rule("└", "┴", "┘"));
    lines
}

fn row_lines(cells: &[String], widths: &[usize], style: Style) -> Vec<String> {
    let wrapped: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrap_text(cell, *width))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let bar = style.apply("│");
    (0..height)
        .map(|row| {
            let mut line = bar.clone();
            for (cell, width) in wrapped.iter().zip(widths) {
                let text = cell.get(row).map_or("", String::as_str);
                line.push(' ');
                line.push_str(&pad_to_width(text, *width));
                line.push(' ');
                line.push_str(&bar);
            }
            line
        })
        .collect()
}

/// Returns the columns' widths: natural if all fit, else shared so that words stay whole if they can.
fn column_widths(header: &[String], rows: &[Vec<String>], available: usize) -> Vec<usize> {
    let count = header.len();
    let mut natural = vec![1; count];
    let mut smallest = vec![1; count];
    for row in std::iter::once(header).chain(rows.iter().map(Vec::as_slice)) {
        for ((cell, natural), smallest) in row.iter().zip(&mut natural).zip(&mut smallest) {
            let plain = strip_ansi(cell);
            let widest = plain.split('\n').map(visible_width).max().unwrap_or(0);
            let word = plain
                .split_whitespace()
                .map(visible_width)
                .max()
                .unwrap_or(0);
            *natural = widest.max(*natural);
            *smallest = word.min(LONGEST_WHOLE_WORD).max(*smallest);
        }
    }
    if natural.iter().sum::<usize>() <= available {
        return natural;
    }
    let mut widths = vec![1; count];
    grow(&mut widths, &smallest, available - count);
    let left = available - widths.iter().sum::<usize>();
    grow(&mut widths, &natural, left);
    widths
}

/// Grows widths towards `targets` by `amount` in all, in proportion to what each is missing.
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
