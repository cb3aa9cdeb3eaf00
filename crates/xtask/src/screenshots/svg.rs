//! Draws an emulated terminal screen as SVG.

use std::fmt::Write as _;
use std::num::NonZeroU16;

use pi_test_support::vt100::{Cell, Color, Screen};

const FONT: &str = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";
const FONT_SIZE: f64 = 14.0;
const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: f64 = 18.0;
/// Distance from the top of a cell to the baseline of its text.
const BASELINE: f64 = 13.5;
/// Backgrounds of adjacent rows overlap, so that no seam shows when the picture is scaled.
const OVERLAP: f64 = 0.5;
const MARGIN: f64 = 16.0;
const TITLE_BAR: f64 = 30.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorScheme {
    Dark,
    Light,
}

impl ColorScheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    fn background(self) -> &'static str {
        match self {
            Self::Dark => "#15171c",
            Self::Light => "#ffffff",
        }
    }

    fn foreground(self) -> &'static str {
        match self {
            Self::Dark => "#d8dbe2",
            Self::Light => "#1f2328",
        }
    }

    fn border(self) -> &'static str {
        match self {
            Self::Dark => "#30343d",
            Self::Light => "#d0d7de",
        }
    }
}

/// How a run of cells is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CellStyle {
    foreground: String,
    background: Option<String>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
}

impl CellStyle {
    fn of(cell: &Cell, scheme: ColorScheme) -> Self {
        let foreground = color(cell.fgcolor());
        let background = color(cell.bgcolor());
        let default = |value: Option<String>, fallback: &str| value.unwrap_or(fallback.to_owned());
        let (foreground, background) = if cell.inverse() {
            (
                default(background, scheme.background()),
                Some(default(foreground, scheme.foreground())),
            )
        } else {
            (default(foreground, scheme.foreground()), background)
        };
        Self {
            foreground,
            background,
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underline: cell.underline(),
        }
    }
}

/// Cells of one row that share a style.
struct CellRun {
    style: CellStyle,
    column: u16,
    columns: u16,
    text: String,
}

/// Returns the screen as an SVG document with a window frame.
pub(super) fn render(screen: &Screen, scheme: ColorScheme) -> String {
    let (rows, columns) = screen.size();
    let mut svg = window([rows, columns], scheme);
    for number in 0..rows.get() {
        let content = row(screen, number, scheme);
        if !content.is_empty() {
            let top = top(usize::from(number));
            line(
                &mut svg,
                format_args!("<g transform=\"translate(0 {top})\">"),
            );
            svg.push_str(&content);
            svg.push_str("</g>\n");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the start of a document: a window of so many rows and columns.
pub(super) fn window([rows, columns]: [NonZeroU16; 2], scheme: ColorScheme) -> String {
    let width = f64::from(columns.get()) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f64::from(rows.get()) * CELL_HEIGHT + 2.0 * MARGIN + TITLE_BAR;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"{FONT}\" font-size=\"{FONT_SIZE}\">\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"10\" fill=\"{}\" stroke=\"{}\"/>\n",
        width - 1.0,
        height - 1.0,
        scheme.background(),
        scheme.border(),
    );
    for (position, fill) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = 20.0 + 18.0 * f64::from(u8::try_from(position).unwrap_or_default());
        line(
            &mut svg,
            format_args!("<circle cx=\"{x}\" cy=\"17\" r=\"5.5\" fill=\"{fill}\"/>"),
        );
    }
    svg
}

/// Returns where a row starts in a window.
pub(super) fn top(row: usize) -> f64 {
    let row = f64::from(u16::try_from(row).unwrap_or(u16::MAX));
    row * CELL_HEIGHT + MARGIN + TITLE_BAR - 8.0
}

/// Returns the elements of a row at the top of the document.
pub(super) fn row(screen: &Screen, row: u16, scheme: ColorScheme) -> String {
    let mut svg = String::new();
    let runs = runs(screen, row, scheme);
    for run in &runs {
        draw_background(&mut svg, run);
    }
    for run in &runs {
        draw_text(&mut svg, run);
    }
    svg
}

fn runs(screen: &Screen, row: u16, scheme: ColorScheme) -> Vec<CellRun> {
    let mut runs: Vec<CellRun> = Vec::new();
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        if cell.is_wide_continuation() {
            if let Some(run) = runs.last_mut() {
                run.columns += 1;
            }
            continue;
        }
        let style = CellStyle::of(cell, scheme);
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        match runs.last_mut() {
            Some(run) if run.style == style => {
                run.columns += 1;
                run.text.push_str(text);
            }
            _ => runs.push(CellRun {
                style,
                column,
                columns: 1,
                text: text.to_owned(),
            }),
        }
    }
    runs
}

fn left(run: &CellRun) -> f64 {
    f64::from(run.column) * CELL_WIDTH + MARGIN
}

fn draw_background(svg: &mut String, run: &CellRun) {
    if let Some(fill) = &run.style.background {
        let (x, width) = (left(run), f64::from(run.columns) * CELL_WIDTH);
        line(
            svg,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"0\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>",
                height = CELL_HEIGHT + OVERLAP,
            ),
        );
    }
}

/// Returns where the foreground of the cells starts and ends, as parts of their height, if they are blocks. The glyphs of
/// fonts do not fill their cells.
fn block(text: &str) -> Option<(f64, f64)> {
    let mut characters = text.chars();
    let first = characters.next()?;
    let extent = match first {
        '▀' => (0.0, 0.5),
        '▄' => (0.5, 1.0),
        '█' => (0.0, 1.0),
        _ => return None,
    };
    characters.all(|next| next == first).then_some(extent)
}

fn draw_text(svg: &mut String, run: &CellRun) {
    if let Some((start, end)) = block(&run.text) {
        let overlap = if end < 1.0 { 0.0 } else { OVERLAP };
        return line(
            svg,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>",
                x = left(run),
                y = start * CELL_HEIGHT,
                width = f64::from(run.columns) * CELL_WIDTH,
                height = (end - start) * CELL_HEIGHT + overlap,
                fill = run.style.foreground,
            ),
        );
    }
    let text = run.text.trim_end();
    if text.is_empty() {
        return;
    }
    let skipped = text.chars().count() - text.trim_start().chars().count();
    let skipped = u16::try_from(skipped).unwrap_or_default();
    let trailing = run.text.chars().count() - text.chars().count();
    let columns = run
        .columns
        .saturating_sub(skipped)
        .saturating_sub(u16::try_from(trailing).unwrap_or_default());
    let x = left(run) + f64::from(skipped) * CELL_WIDTH;
    let style = &run.style;
    let mut attributes = format!("fill=\"{}\"", style.foreground);
    for (applies, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.italic, " font-style=\"italic\""),
        (style.underline, " text-decoration=\"underline\""),
        (style.dim, " opacity=\"0.65\""),
    ] {
        if applies {
            attributes.push_str(attribute);
        }
    }
    line(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{BASELINE}\" textLength=\"{:.1}\" xml:space=\"preserve\" {attributes}>{}</text>",
            f64::from(columns) * CELL_WIDTH,
            escape(text.trim_start()),
        ),
    );
}

/// Appends an element on a line.
pub(super) fn line(svg: &mut String, element: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    writeln!(svg, "{element}").ok();
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Returns the color as `#rrggbb`, or `None` for the default color of the terminal.
fn color(color: Color) -> Option<String> {
    const ANSI: [&str; 16] = [
        "#3b4048", "#e0566a", "#5fae5b", "#c9a227", "#4f8fe0", "#b37bd6", "#39a7b5", "#c5c8d0",
        "#6b7280", "#f07a8a", "#7bc777", "#e0be4d", "#74aaf0", "#cb9bea", "#5cc4d0", "#f2f4f8",
    ];
    match color {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Color::Idx(index) => Some(match index {
            0..=15 => ANSI
                .get(usize::from(index))
                .copied()
                .unwrap_or_default()
                .to_owned(),
            16..=231 => {
                let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
                let cube = index - 16;
                let (red, green, blue) = (cube / 36, cube / 6 % 6, cube % 6);
                format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue))
            }
            232..=255 => {
                let level = 8 + 10 * (index - 232);
                format!("#{level:02x}{level:02x}{level:02x}")
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use pi_test_support::vt100::Parser;
    use pretty_assertions::assert_eq;

    use super::*;

    fn elements(bytes: &[u8]) -> Vec<String> {
        let (rows, columns) = (NonZeroU16::MIN, NonZeroU16::new(12).unwrap());
        let mut parser = Parser::new(rows, columns, 0);
        parser.process(bytes);
        let svg = row(parser.screen(), 0, ColorScheme::Dark);
        svg.lines().map(str::to_owned).collect()
    }

    #[test]
    fn runs_of_one_style_become_one_text() {
        assert_eq!(
            elements(b"a<b \x1b[1;31mred\x1b[0m"),
            [
                r##"<text x="16.0" y="13.5" textLength="25.2" xml:space="preserve" fill="#d8dbe2">a&lt;b</text>"##,
                r##"<text x="49.6" y="13.5" textLength="25.2" xml:space="preserve" fill="#e0566a" font-weight="bold">red</text>"##,
            ]
        );
    }

    #[test]
    fn inverse_cells_swap_the_default_colors() {
        assert_eq!(
            elements(b"\x1b[7mx\x1b[0m"),
            [
                r##"<rect x="16.0" y="0" width="8.4" height="18.5" fill="#d8dbe2"/>"##,
                r##"<text x="16.0" y="13.5" textLength="8.4" xml:space="preserve" fill="#15171c">x</text>"##,
            ]
        );
    }

    #[test]
    fn blocks_fill_their_part_of_the_cell() {
        assert_eq!(
            elements("\x1b[31m▀▀".as_bytes()),
            [r##"<rect x="16.0" y="0.0" width="16.8" height="9.0" fill="#e0566a"/>"##]
        );
    }

    #[test]
    fn indexed_colors_follow_the_xterm_palette() {
        let table = [
            (Color::Default, None),
            (Color::Idx(16), Some("#000000")),
            (Color::Idx(231), Some("#ffffff")),
            (Color::Idx(208), Some("#ff8700")),
            (Color::Idx(244), Some("#808080")),
            (Color::Rgb(1, 2, 3), Some("#010203")),
        ];
        for (input, expected) in table {
            assert_eq!(color(input).as_deref(), expected, "{input:?}");
        }
    }
}
