//! Draws a table as groups of horizontal bars. The longest bar of each group has the full length.

use std::fmt::Write as _;

use super::table::{Row, Table};
use crate::screenshots::ColorScheme;

const FONT: &str = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";
const WIDTH: f64 = 820.0;
const MARGIN: f64 = 20.0;
/// Where the bars start; names are to the left.
const BARS: f64 = 330.0;
/// Length of the longest bar; values are to the right.
const LONGEST: f64 = 390.0;
const SHORTEST: f64 = 1.5;
const BAR: f64 = 11.0;
/// Distance of the bars of one group.
const STEP: f64 = 14.0;
const GROUP_GAP: f64 = 10.0;
const LEGEND: f64 = 34.0;

/// Colors by program, distinct for people with red-green blindness.
const DARK: [&str; 5] = ["#56b4e9", "#8b93a3", "#e69f00", "#cc79a7", "#e5d04a"];
const LIGHT: [&str; 5] = ["#0072b2", "#8c959f", "#d98200", "#b35b8d", "#a08c00"];

struct Palette {
    background: &'static str,
    border: &'static str,
    text: &'static str,
    weak: &'static str,
    bars: [&'static str; 5],
}

fn palette(scheme: ColorScheme) -> Palette {
    match scheme {
        ColorScheme::Dark => Palette {
            background: "#15171c",
            border: "#30343d",
            text: "#d8dbe2",
            weak: "#9aa1ad",
            bars: DARK,
        },
        ColorScheme::Light => Palette {
            background: "#ffffff",
            border: "#d0d7de",
            text: "#1f2328",
            weak: "#59636e",
            bars: LIGHT,
        },
    }
}

pub(super) fn draw(table: &Table, scheme: ColorScheme) -> String {
    let palette = palette(scheme);
    let group = STEP * to_f64(table.programs.len()) + GROUP_GAP;
    let height = 2.0 * MARGIN + LEGEND + group * to_f64(table.rows.len()) - GROUP_GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" font-family=\"{FONT}\" font-size=\"12\">\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{}\" stroke=\"{}\"/>\n",
        WIDTH - 1.0,
        height.round() - 1.0,
        palette.background,
        palette.border,
    );
    legend(&mut svg, &table.programs, &palette);
    let mut y = MARGIN + LEGEND;
    for row in &table.rows {
        bars(&mut svg, row, y, &palette);
        y += group;
    }
    svg.push_str("</svg>\n");
    svg
}

fn legend(svg: &mut String, programs: &[String], palette: &Palette) {
    let mut x = BARS;
    for (program, color) in programs.iter().zip(palette.bars.iter().cycle()) {
        rectangle(svg, x, MARGIN, BAR, color);
        text(svg, x + BAR + 6.0, MARGIN + 10.0, palette.text, "", program);
        x += BAR + 6.0 + 7.0 * to_f64(program.chars().count()) + 20.0;
    }
    let hint = "shorter is better";
    text(svg, MARGIN, MARGIN + 10.0, palette.weak, "", hint);
}

fn bars(svg: &mut String, row: &Row, top: f64, palette: &Palette) {
    let middle = top + STEP * to_f64(row.values.len()) / 2.0;
    text(svg, MARGIN, middle + 2.5, palette.text, "", &row.name);
    let amounts = row.values.iter().flatten().map(|value| value.amount);
    let largest = amounts.fold(0.0, f64::max);
    let colors = palette.bars.iter().cycle();
    for (index, (value, color)) in row.values.iter().zip(colors).enumerate() {
        let y = top + STEP * to_f64(index);
        let Some(value) = value else {
            text(svg, BARS, y + 10.0, palette.weak, "", "not measured");
            continue;
        };
        let share = if largest > 0.0 {
            value.amount / largest
        } else {
            0.0
        };
        let length = (share * LONGEST).max(SHORTEST);
        rectangle(svg, BARS, y, length, color);
        let weight = if index == 0 {
            " font-weight=\"600\""
        } else {
            ""
        };
        text(
            svg,
            BARS + length + 6.0,
            y + 10.0,
            palette.text,
            weight,
            &value.text,
        );
    }
}

fn rectangle(svg: &mut String, x: f64, y: f64, width: f64, color: &str) {
    writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"2\" fill=\"{color}\"/>"
    )
    .ok();
}

fn text(svg: &mut String, x: f64, y: f64, color: &str, attributes: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{color}\"{attributes}>{content}</text>"
    )
    .ok();
}

fn to_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
