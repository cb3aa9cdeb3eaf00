//! Display formulas laid out on several lines: fractions, limits, matrices, cases.
//!
//! The contents of a fraction, a limit or a matrix cell take one line, so that a formula does not
//! become taller than necessary. Other text is rendered by `latex_to_unicode`.

use pi_tui::{pad_to_width, visible_width};

use super::latex_to_unicode;
use super::symbols::symbol;

/// Maximum nesting depth of environments that are laid out.
const MAX_DEPTH: usize = 3;

/// Longer formulas are not laid out, since the work grows with the nesting.
const MAX_FORMULA_LEN: usize = 4096;

/// Operators whose limits go below and above.
const OPERATORS: &[&str] = &[
    "argmax",
    "argmin",
    "bigcap",
    "bigcup",
    "bigoplus",
    "bigotimes",
    "bigvee",
    "bigwedge",
    "coprod",
    "iint",
    "inf",
    "int",
    "lim",
    "liminf",
    "limsup",
    "max",
    "min",
    "oint",
    "prod",
    "sum",
    "sup",
];

/// Lays out a formula given without its delimiters.
pub(crate) fn stacked_formula(formula: &str) -> Vec<String> {
    if formula.len() > MAX_FORMULA_LEN {
        let text = latex_to_unicode(formula);
        return text.split('\n').map(str::to_owned).collect();
    }
    let formula_box = layout(formula, 0);
    let lines = formula_box.lines.iter();
    lines.map(|line| line.trim_end().to_owned()).collect()
}

/// Lines of equal width. The line `baseline` is aligned with the surrounding text.
#[derive(Clone, Debug, Default)]
struct FormulaBox {
    lines: Vec<String>,
    baseline: usize,
}

impl FormulaBox {
    fn text(text: String) -> Self {
        Self {
            lines: vec![text],
            baseline: 0,
        }
    }

    fn width(&self) -> usize {
        self.lines
            .iter()
            .map(|line| visible_width(line))
            .max()
            .unwrap_or(0)
    }

    /// Appends another box on the right.
    fn push(&mut self, other: Self) {
        if self.lines.is_empty() {
            *self = other;
            return;
        }
        let width = self.width();
        let baseline = self.baseline.max(other.baseline);
        let below = |it: &Self| it.lines.len().saturating_sub(it.baseline);
        let height = baseline + below(self).max(below(&other));
        let line_of = |it: &Self, row: usize| {
            let row = (row + it.baseline).checked_sub(baseline)?;
            it.lines.get(row).cloned()
        };
        self.lines = (0..height)
            .map(|row| {
                let left = line_of(self, row).unwrap_or_default();
                let right = line_of(&other, row).unwrap_or_default();
                format!("{}{right}", pad_to_width(&left, width))
            })
            .collect();
        self.baseline = baseline;
    }

    /// Stacks lines vertically, centered. The line `baseline` is aligned with the surrounding text.
    fn centered(lines: Vec<String>, baseline: usize) -> Self {
        let width = lines
            .iter()
            .map(|line| visible_width(line))
            .max()
            .unwrap_or(0);
        let lines = lines.into_iter().map(|line| {
            let left = (width - visible_width(&line)) / 2;
            pad_to_width(&format!("{}{line}", " ".repeat(left)), width)
        });
        Self {
            lines: lines.collect(),
            baseline,
        }
    }

    /// Returns the box between tall brackets.
    fn bracketed(self, [left, right]: [Bracket; 2]) -> Self {
        let height = self.lines.len();
        let width = self.width();
        let column = |bracket: Bracket| Self {
            lines: (0..height).map(|row| bracket.piece(row, height)).collect(),
            baseline: self.baseline,
        };
        let mut formula_box = column(left);
        formula_box.push(Self {
            lines: self
                .lines
                .iter()
                .map(|line| pad_to_width(line, width))
                .collect(),
            baseline: self.baseline,
        });
        formula_box.push(column(right));
        formula_box
    }
}

/// The pieces of a bracket: single line, top, bottom, elsewhere, and at the middle of three or
/// more.
#[derive(Clone, Copy)]
struct Bracket([&'static str; 5]);

impl Bracket {
    const NONE: Self = Self([""; 5]);
    const BAR: Self = Self(["│"; 5]);
    const DOUBLE_BAR: Self = Self(["║"; 5]);

    fn piece(self, row: usize, height: usize) -> String {
        let [single, top, bottom, elsewhere, baseline] = self.0;
        let piece = match row {
            _ if height == 1 => single,
            0 => top,
            row if row + 1 == height => bottom,
            row if row == height / 2 => baseline,
            _ => elsewhere,
        };
        piece.to_owned()
    }
}

/// Returns the brackets of a matrix-like environment, and whether its cells are centered.
fn environment(name: &str) -> Option<([Bracket; 2], bool)> {
    let round = [["(", "⎛", "⎝", "⎜", "⎜"], [")", "⎞", "⎠", "⎟", "⎟"]].map(Bracket);
    let square = [["[", "⎡", "⎣", "⎢", "⎢"], ["]", "⎤", "⎦", "⎥", "⎥"]].map(Bracket);
    let curly = [["{", "⎧", "⎩", "⎪", "⎨"], ["}", "⎫", "⎭", "⎪", "⎬"]].map(Bracket);
    let none = [Bracket::NONE; 2];
    Some(match name {
        "pmatrix" => (round, true),
        "bmatrix" => (square, true),
        "Bmatrix" => (curly, true),
        "vmatrix" => ([Bracket::BAR; 2], true),
        "Vmatrix" => ([Bracket::DOUBLE_BAR; 2], true),
        "matrix" | "smallmatrix" | "array" => (none, true),
        "cases" => ([curly[0], Bracket::NONE], false),
        "aligned" | "align" | "alignedat" | "split" | "gather" | "gathered" | "equation"
        | "eqnarray" => (none, false),
        _ => return None,
    })
}

fn layout(formula: &str, depth: usize) -> FormulaBox {
    let rows = split_outside_groups(formula, "\\\\");
    if rows.len() > 1 {
        let rows: Vec<FormulaBox> = rows.into_iter().map(|row| layout_row(row, depth)).collect();
        let baseline = rows.first().map_or(0, |row| row.baseline);
        return FormulaBox {
            lines: rows.into_iter().flat_map(|row| row.lines).collect(),
            baseline,
        };
    }
    layout_row(formula, depth)
}

fn layout_row(row: &str, depth: usize) -> FormulaBox {
    let mut formula_box = FormulaBox::default();
    let mut rest = row;
    let mut text_start = row;
    while let Some(at) = rest.find(['\\', '{']) {
        let (_, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let before = text_start.len() - found.len();
        let before = text_start.get(..before).unwrap_or_default();
        // A script's argument stays on the line of its base.
        let is_script = before.trim_end().ends_with(['^', '_']);
        match tall_part(found, depth).filter(|_| !is_script) {
            Some((part, after)) => {
                push_text(&mut formula_box, before);
                formula_box.push(part);
                (rest, text_start) = (after, after);
            }
            None => rest = skip(found),
        }
    }
    push_text(&mut formula_box, text_start);
    formula_box
}

/// Appends text, keeping the spaces around it, since it may be next to a tall part.
fn push_text(formula_box: &mut FormulaBox, text: &str) {
    let shown = latex_to_unicode(text);
    let starts = text.starts_with(char::is_whitespace) && !formula_box.lines.is_empty();
    let ends = text.ends_with(char::is_whitespace) && !shown.is_empty();
    let [before, after] = [starts, ends].map(|spaced| if spaced { " " } else { "" });
    if !shown.is_empty() || starts {
        formula_box.push(FormulaBox::text(format!("{before}{shown}{after}")));
    }
}

/// Returns the text after the command or group at the start of `text`.
fn skip(text: &str) -> &str {
    if text.starts_with('{') {
        return group(text).map_or("", |(_, after)| after);
    }
    let (name, after) = command(text).unwrap_or(("", ""));
    match name {
        "" => text
            .char_indices()
            .nth(2)
            .and_then(|(end, _)| text.get(end..))
            .unwrap_or_default(),
        _ => after,
    }
}

/// Returns the name of the command at the start of `text`, and the text after it.
fn command(text: &str) -> Option<(&str, &str)> {
    let name = text.strip_prefix('\\')?;
    let end = name
        .find(|character: char| !character.is_ascii_alphabetic())
        .unwrap_or(name.len());
    name.split_at_checked(end).filter(|_| end > 0)
}

/// Returns the content of the group at the start of `text`, and the text after it.
fn group(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('{')?;
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' if depth == 0 => return Some((inside.get(..at)?, inside.get(at + 1..)?)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns a command's argument and the text after it: a group, a command or one character.
fn argument(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if text.starts_with('{') {
        return group(text);
    }
    if let Some((_, after)) = command(text) {
        return text.split_at_checked(text.len() - after.len());
    }
    let end = text.chars().next()?.len_utf8();
    text.split_at_checked(end)
}

/// Returns the part at the start of `text` that is taller than a line, and the text after it.
fn tall_part(text: &str, depth: usize) -> Option<(FormulaBox, &str)> {
    let (name, rest) = command(text)?;
    match name {
        "frac" | "dfrac" | "cfrac" => {
            let (above, rest) = argument(rest)?;
            let (below, rest) = argument(rest)?;
            let [above, below] = [above, below].map(latex_to_unicode);
            let bar = "─".repeat(visible_width(&above).max(visible_width(&below)).max(1));
            Some((FormulaBox::centered(vec![above, bar, below], 1), rest))
        }
        "begin" => rows_and_cells(rest, depth),
        _ if OPERATORS.contains(&name) => limits(name, rest),
        _ => None,
    }
}

/// Returns an operator with its limits, if it has any.
fn limits<'a>(name: &str, rest: &'a str) -> Option<(FormulaBox, &'a str)> {
    let mut rest = rest.strip_prefix("\\limits").unwrap_or(rest);
    let (mut above, mut below) = (None, None);
    loop {
        let trimmed = rest.trim_start();
        let limit = match trimmed.chars().next() {
            Some('^') if above.is_none() => &mut above,
            Some('_') if below.is_none() => &mut below,
            _ => break,
        };
        let (script, after) = argument(trimmed.get(1..)?)?;
        *limit = Some(latex_to_unicode(script));
        rest = after;
    }
    if above.is_none() && below.is_none() {
        return None;
    }
    let baseline = usize::from(above.is_some());
    let operator = symbol(name).unwrap_or(name).to_owned();
    let lines = above.into_iter().chain([operator]).chain(below).collect();
    let mut formula_box = FormulaBox::centered(lines, baseline);
    if !rest.starts_with(char::is_whitespace) {
        formula_box.push(FormulaBox::text(" ".to_owned()));
    }
    Some((formula_box, rest))
}

/// Returns the environment whose name starts `rest`, and the text after it.
fn rows_and_cells(rest: &str, depth: usize) -> Option<(FormulaBox, &str)> {
    let (name, body) = group(rest)?;
    let (brackets, centered) =
        environment(name.trim_end_matches('*')).filter(|_| depth < MAX_DEPTH)?;
    let (body, after) = environment_body(body, name)?;
    let body = match name {
        "array" | "alignedat" => body.trim_start().strip_prefix('{').map_or(body, |columns| {
            columns.split_once('}').map_or("", |(_, body)| body)
        }),
        _ => body,
    };
    let aligned = matches!(brackets, [Bracket(["", ..]), Bracket(["", ..])]) && !centered;
    let rows: Vec<Vec<FormulaBox>> = split_outside_groups(body, "\\\\")
        .into_iter()
        .filter(|row| !row.trim().is_empty())
        .map(|row| {
            let cells = split_outside_groups(row, "&").into_iter();
            cells.map(|cell| cell_box(cell, aligned, depth)).collect()
        })
        .collect();
    let table = arrange(&rows, centered, if aligned { "" } else { "  " });
    let bare = table.lines.is_empty() || matches!(brackets[0], Bracket(["", ..]));
    let formula_box = if bare {
        table
    } else {
        let mut padded = FormulaBox::text(" ".to_owned());
        padded.baseline = 0;
        padded.push(table);
        padded.push(FormulaBox::text(" ".to_owned()));
        padded.bracketed(brackets)
    };
    Some((formula_box, after))
}

fn cell_box(cell: &str, aligned: bool, depth: usize) -> FormulaBox {
    if aligned {
        layout_row(cell, depth + 1)
    } else {
        FormulaBox::text(latex_to_unicode(cell))
    }
}

/// Returns the body of an environment whose start precedes `text`, and the text after its end.
fn environment_body<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (begin, end) = (format!("\\begin{{{name}}}"), format!("\\end{{{name}}}"));
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let close = rest.find(&end)?;
        match rest.find(&begin).filter(|open| *open < close) {
            Some(open) => {
                depth += 1;
                at += open + begin.len();
            }
            None if depth > 0 => {
                depth -= 1;
                at += close + end.len();
            }
            None => {
                let end_at = at + close;
                return Some((text.get(..end_at)?, text.get(end_at + end.len()..)?));
            }
        }
    }
}

/// Splits `text` at separators that are outside groups and environments.
fn split_outside_groups<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if depth == 0 && rest.starts_with(separator) {
            parts.push(text.get(start..at).unwrap_or_default());
            at += separator.len();
            start = at;
            continue;
        }
        let opens = rest.starts_with('{') || rest.starts_with("\\begin");
        let closes = rest.starts_with('}') || rest.starts_with("\\end");
        if opens {
            depth += 1;
        } else if closes {
            depth = depth.saturating_sub(1);
        }
        let escaped = usize::from(rest.starts_with('\\'));
        at += rest
            .chars()
            .take(1 + escaped)
            .map(char::len_utf8)
            .sum::<usize>();
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

/// Arranges rows of cells in columns.
fn arrange(rows: &[Vec<FormulaBox>], centered: bool, gap: &str) -> FormulaBox {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width_of = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(FormulaBox::width).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width_of).collect();
    let mut lines = Vec::new();
    for row in rows {
        let mut formula_box = FormulaBox::default();
        for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let missing = width - cell.width();
            // Where `&` marks a relation, the cell before it is right-aligned.
            let left = match (centered, gap.is_empty() && index == 0) {
                (true, _) => missing / 2,
                (false, true) => missing,
                (false, false) => 0,
            };
            if index > 0 {
                formula_box.push(FormulaBox::text(gap.to_owned()));
            }
            formula_box.push(FormulaBox::text(" ".repeat(left)));
            formula_box.push(cell.clone());
            formula_box.push(FormulaBox::text(" ".repeat(missing - left)));
        }
        lines.extend(formula_box.lines);
    }
    let baseline = lines.len().saturating_sub(1) / 2;
    FormulaBox { lines, baseline }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn tall_parts_are_aligned_with_their_text() {
        for (formula, expected) in [
            ("a + b", "a + b"),
            (r"\frac{a}{b+1}", " a\n───\nb+1"),
            (
                r"x = \frac{-b \pm \sqrt{b^2-4ac}}{2a}",
                "    -b ± √(b²-4ac)\nx = ──────────────\n          2a",
            ),
            (r"\sum_{i=1}^{n} i", " n\n ∑  i\ni=1"),
            (r"\lim_{x \to 0} f(x)", " lim  f(x)\nx → 0"),
            (r"\sum i", "∑ i"),
            (r"x^{\frac{a}{b}}", "x^(a/b)"),
            (
                r"\begin{pmatrix} a & b \\ c & 10 \end{pmatrix}",
                "⎛ a  b  ⎞\n⎝ c  10 ⎠",
            ),
            (
                r"f(x)=\begin{cases} a & x>0 \\ b & x \le 0 \end{cases}",
                "f(x)=⎧ a  x>0\n     ⎩ b  x ≤ 0",
            ),
            (
                r"\begin{aligned} a &= b \\ &= \frac{c}{d} \end{aligned}",
                "a = b\n    c\n  = ─\n    d",
            ),
            (r"a \\ b", "a\nb"),
            (r"\begin{unknown} x \end{unknown}", "x"),
            (r"\frac{a", r"a/"),
            (r"\begin{matrix} a", "a"),
        ] {
            assert_eq!(stacked_formula(formula).join("\n"), expected, "{formula}");
        }
    }

    #[test]
    fn deep_nesting_is_bounded() {
        for part in [
            r"\frac{",
            r"\begin{cases}",
            r"\sum_",
            "{",
            r"\begin{aligned} & ",
        ] {
            stacked_formula(&part.repeat(200));
            stacked_formula(&part.repeat(100_000));
        }
        let nested = r"\begin{aligned}".repeat(50) + "x" + &r"\end{aligned}".repeat(50);
        assert!(stacked_formula(&nested).len() < 10);
    }
}
