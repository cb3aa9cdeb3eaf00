//! Renders LaTeX formulas as a line of Unicode text.
//!
//! Supports symbols, scripts, fractions, roots, accents and rows. Unknown commands are kept as
//! written, so that nothing is lost.

use std::borrow::Cow;

mod stacked;
mod symbols;

pub(super) use stacked::stacked_formula;
use symbols::{accent, delimiter, double_struck, subscript, superscript, symbol};

const MAX_DEPTH: usize = 32;

/// Renders a formula, given without its delimiters, as text. Rows become lines.
pub fn latex_to_unicode(formula: &str) -> String {
    let mut parser = LatexParser {
        rest: formula.trim(),
    };
    let text = parser.sequence(GroupEnd::Input, 0);
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    lines.join("\n")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupEnd {
    Input,
    Brace,
    Bracket,
}

struct LatexParser<'a> {
    rest: &'a str,
}

impl LatexParser<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = self.rest.get(character.len_utf8()..).unwrap_or_default();
        Some(character)
    }

    fn sequence(&mut self, end: GroupEnd, depth: usize) -> String {
        let mut out = String::new();
        while let Some(character) = self.next() {
            match character {
                '}' if end == GroupEnd::Brace => break,
                ']' if end == GroupEnd::Bracket => break,
                '\\' => self.command(&mut out, depth),
                '{' if depth < MAX_DEPTH => {
                    out.push_str(&self.sequence(GroupEnd::Brace, depth + 1));
                }
                '{' | '}' => {}
                '^' => self.script(&mut out, superscript, '^', depth),
                '_' => self.script(&mut out, subscript, '_', depth),
                '&' | '~' if out.ends_with([' ', '\n']) => {}
                '&' | '~' => out.push(' '),
                '\'' => out.push('′'),
                character if character.is_whitespace() => {
                    if !out.ends_with([' ', '\n']) {
                        out.push(' ');
                    }
                }
                character => out.push(character),
            }
        }
        out
    }

    /// Parses the argument of a command or script: a group or one symbol.
    fn argument(&mut self, depth: usize) -> String {
        self.rest = self.rest.trim_start();
        match self.next() {
            Some('{') if depth < MAX_DEPTH => self.sequence(GroupEnd::Brace, depth + 1),
            Some('\\') => {
                let mut out = String::new();
                self.command(&mut out, depth + 1);
                out.trim().to_owned()
            }
            Some(character) => character.to_string(),
            None => String::new(),
        }
    }

    fn script(
        &mut self,
        out: &mut String,
        map: fn(char) -> Option<char>,
        mark: char,
        depth: usize,
    ) {
        let argument = self.argument(depth);
        let argument = argument.trim();
        let mapped: Option<String> = argument.chars().map(map).collect();
        match mapped {
            Some(script) => out.push_str(&script),
            None if argument == "′" => out.push('′'),
            None => {
                out.push(mark);
                out.push_str(&bracketed(argument));
            }
        }
    }

    fn command(&mut self, out: &mut String, depth: usize) {
        let length = self
            .rest
            .find(|character: char| !character.is_ascii_alphabetic())
            .unwrap_or(self.rest.len());
        let Some((name, rest)) = self.rest.split_at_checked(length).filter(|_| length > 0) else {
            self.escaped(out);
            return;
        };
        self.rest = rest.strip_prefix('*').unwrap_or(rest);
        if depth >= MAX_DEPTH {
            return;
        }
        if let Some(symbol) = symbol(name) {
            self.write_symbol(name, symbol, out);
            return;
        }
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let above = self.argument(depth);
                let below = self.argument(depth);
                out.extend([bracketed(&above).as_str(), "/", &bracketed(&below)]);
            }
            "binom" => {
                let above = self.argument(depth);
                let below = self.argument(depth);
                out.extend(["C(", above.as_str(), ", ", &below, ")"]);
            }
            "sqrt" => self.root(out, depth),
            "text" | "mathrm" | "textbf" | "textit" | "mathbf" | "mathit" | "mathsf"
            | "operatorname" | "mathcal" | "mathfrak" | "boldsymbol" | "bm" | "textrm" | "mbox"
            | "boxed" => {
                let text = self.argument(depth);
                out.push_str(&text);
            }
            "mathbb" => {
                let text = self.argument(depth);
                out.extend(text.chars().map(double_struck));
            }
            "left" | "right" | "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr" | "Bigl"
            | "Bigr" => self.sized_delimiter(out),
            "begin" | "end" => {
                self.argument(depth);
                if name == "begin" {
                    self.skip_columns();
                }
            }
            "quad" | "qquad" => out.push_str("  "),
            "displaystyle" | "textstyle" | "limits" | "nolimits" | "label" | "tag" => {}
            "not" => {
                let negated = self.argument(depth);
                out.push_str(&negated);
                out.push('\u{338}');
            }
            _ => match accent(name) {
                Some(mark) => {
                    let text = self.argument(depth);
                    out.push_str(&text);
                    out.push(mark);
                }
                None => {
                    out.push('\\');
                    out.push_str(name);
                }
            },
        }
    }

    /// Writes a symbol. It swallows the spaces after its name, but functions and relations keep
    /// one.
    fn write_symbol(&mut self, name: &str, symbol: &str, out: &mut String) {
        out.push_str(symbol);
        let trimmed = self.rest.trim_start();
        let spaced = trimmed.len() < self.rest.len();
        if spaced && (symbol.len() > 1 || name == symbol) && !trimmed.is_empty() {
            out.push(' ');
        }
        self.rest = trimmed;
    }

    fn escaped(&mut self, out: &mut String) {
        match self.next() {
            Some('\\') => {
                let trimmed = out.trim_end_matches(' ').len();
                out.truncate(trimmed);
                out.push('\n');
            }
            Some(',' | ';' | ':' | '!' | ' ') => out.push(' '),
            Some('|') => out.push('‖'),
            Some(character) => out.push(character),
            None => out.push('\\'),
        }
    }

    fn root(&mut self, out: &mut String, depth: usize) {
        if let Some(rest) = self.rest.strip_prefix('[') {
            self.rest = rest;
            let degree = self.sequence(GroupEnd::Bracket, depth + 1);
            match degree.trim() {
                "3" => out.push('∛'),
                "4" => out.push('∜'),
                other => {
                    let script: Option<String> = other.chars().map(superscript).collect();
                    out.push_str(&script.unwrap_or_default());
                    out.push('√');
                }
            }
        } else {
            out.push('√');
        }
        let inside = self.argument(depth);
        out.push_str(&bracketed(&inside));
    }

    fn sized_delimiter(&mut self, out: &mut String) {
        self.rest = self.rest.trim_start();
        match self.next() {
            Some('.') | None => {}
            Some('\\') => {
                let length = self
                    .rest
                    .find(|character: char| !character.is_ascii_alphabetic())
                    .unwrap_or(self.rest.len());
                let Some((name, rest)) = self.rest.split_at_checked(length).filter(|_| length > 0)
                else {
                    self.escaped(out);
                    return;
                };
                self.rest = rest;
                out.push_str(delimiter(name).unwrap_or(name));
            }
            Some(character) => out.push(character),
        }
    }

    /// Skips the column specification of an array.
    fn skip_columns(&mut self) {
        if let Some(rest) = self.rest.strip_prefix('{')
            && let Some((_, rest)) = rest.split_once('}')
        {
            self.rest = rest;
        }
        self.rest = self.rest.trim_start();
    }
}

/// Adds parentheses where text next to a fraction bar or root would be ambiguous.
fn bracketed(text: &str) -> String {
    let text = text.trim();
    let number = text.bytes().all(|byte| byte.is_ascii_digit());
    if number || text.chars().count() <= 1 {
        text.to_owned()
    } else {
        format!("({text})")
    }
}

/// Rewrites formulas to use dollar delimiters on a single line, preserving byte offsets.
///
/// The Markdown parser supports `$$` but not `\\(…\\)` and `\\[…\\]`, and would parse a line of a
/// formula that starts with a sign as a list. A formula that is still open at the end of the text
/// is also kept in one piece, since its end may still be streaming.
///
/// The result for a line depends on earlier lines only through the formula it is in: text parsed
/// from the start of a block gives the same result as text parsed from the beginning. This means
/// that code is rewritten, too; the parser recovers its original text. No formula extends across a
/// fence.
pub(super) fn unify_delimiters(text: &str) -> Cow<'_, str> {
    if !text.contains("\\(") && !text.contains("\\[") && !text.contains("$$") {
        return Cow::Borrowed(text);
    }
    let mut unified = String::with_capacity(text.len());
    let mut formulas = BlockFormulas::default();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(formula) = formulas.first(rest) {
            let (source, after) = rest.split_at_checked(formula.end).unwrap_or((rest, ""));
            let flat = source.replace('\n', " ");
            match flat.get(formula.start + 2..flat.len().saturating_sub(2)) {
                Some(inside) if formula.closed => {
                    unified.push_str(flat.get(..formula.start).unwrap_or_default());
                    unified.extend(["$$", inside, "$$"]);
                }
                _ => unified.push_str(&flat),
            }
            rest = after;
            continue;
        }
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if is_fence(line) {
            unified.push_str(line);
        } else {
            unify_line(line, &mut unified);
        }
        rest = after;
    }
    Cow::Owned(unified)
}

struct BlockFormula {
    /// Offset of its opening delimiter.
    start: usize,
    /// Offset of its end, including the closing delimiter.
    end: usize,
    closed: bool,
}

/// Finds formulas that start at the beginning of a line, and caches failed searches: a thousand
/// opening delimiters in a paragraph scan it only once.
#[derive(Debug, Default)]
struct BlockFormulas {
    /// Remaining text length at the end of the last paragraph without a closing bracket delimiter.
    without_bracket: Option<usize>,
    without_dollars: Option<usize>,
}

impl BlockFormulas {
    /// Returns the formula that starts with the first line of `text`, which must be a suffix of the
    /// same text on every call.
    fn first(&mut self, text: &str) -> Option<BlockFormula> {
        let body = text.trim_start_matches(' ');
        let start = text.len() - body.len();
        let inside = body.get(2..).filter(|_| start <= 3)?;
        let (close, without_close) = if body.starts_with("\\[") {
            ("\\]", &mut self.without_bracket)
        } else if body.starts_with("$$") && inside.trim_start_matches(' ').starts_with('\n') {
            ("$$", &mut self.without_dollars)
        } else {
            return None;
        };
        if without_close.is_some_and(|left| inside.len() > left) {
            return None;
        }
        let mut length = 0;
        let mut previous = "";
        for (index, line) in inside.split_inclusive('\n').enumerate() {
            // Trailing spaces may still become a line.
            let is_blank = line.ends_with('\n') && line.trim().is_empty();
            let is_table = is_table_start(previous, line);
            previous = line;
            if index > 0 && (is_blank || is_fence(line) || is_table) {
                *without_close = Some(inside.len() - length);
                return None;
            }
            if let Some(at) = line.find(close) {
                let end = length + at;
                return Some(BlockFormula {
                    start,
                    end: start + end + 4,
                    closed: !inside.get(..end)?.trim().is_empty(),
                });
            }
            length += line.len();
        }
        Some(BlockFormula {
            start,
            end: text.len(),
            closed: false,
        })
    }
}

/// Whether two lines are the header of a table and the row below it, which may still grow without a line end.
fn is_table_start(header: &str, row: &str) -> bool {
    let is_complete = row.ends_with('\n');
    let row = row.trim();
    is_complete
        && (header.contains('|') || row.contains('|'))
        && row.contains('-')
        && row.chars().all(|character| "|:- \t".contains(character))
}

/// Whether a line opens or closes a code block, or resembles a fence.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Writes a line with its formula delimiters replaced. Code and escaped backslashes are kept.
fn unify_line(line: &str, unified: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '`']) {
        let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        unified.push_str(before);
        if let Some(inside) = inline_formula(found) {
            unified.extend(["$$", inside, "$$"]);
            rest = found.get(inside.len() + 4..).unwrap_or_default();
            continue;
        }
        let length = if found.starts_with('\\') {
            1 + found.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            code_length(found)
        };
        let (kept, after) = found.split_at_checked(length).unwrap_or((found, ""));
        unified.push_str(kept);
        rest = after;
    }
    unified.push_str(rest);
}

/// Returns the content of the inline formula at the start of `text`.
fn inline_formula(text: &str) -> Option<&str> {
    let close = if text.starts_with("\\(") {
        "\\)"
    } else if text.starts_with("\\[") {
        "\\]"
    } else {
        return None;
    };
    let body = text.get(2..)?;
    let inside = body.get(..body.find(close)?)?;
    let plausible = !inside.trim().is_empty() && !inside.contains(['`', '$', '|']);
    plausible.then_some(inside)
}

/// Returns the length of the code span at the start of `text`, or of its delimiter alone.
fn code_length(text: &str) -> usize {
    let run = text.len() - text.trim_start_matches('`').len();
    let mark = text.get(..run).unwrap_or_default();
    let body = text.get(run..).unwrap_or_default();
    body.find(mark).map_or(run, |end| run + end + run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn formulas_are_rendered_as_text() {
        for (formula, expected) in [
            ("E = mc^2", "E = mc²"),
            (r"\alpha + \beta_{10}", "α + β₁₀"),
            (r"\frac{a}{b+1}", "a/(b+1)"),
            (r"\sqrt{x} \le \sqrt[3]{x+y}", "√x ≤ ∛(x+y)"),
            (r"\sum_{i=1}^{n} i", "∑ᵢ₌₁ⁿ i"),
            (r"x^{a/b}", "x^(a/b)"),
            (r"\mathbb{R}^n \to \mathbb{C}", "ℝⁿ → ℂ"),
            (r"\left( \frac12 \right)", "( 1/2 )"),
            (r"\text{if } x \in A", "if x ∈ A"),
            (r"\begin{cases} a & b \\ c & d \end{cases}", "a b\nc d"),
            (r"\hat{x} \cdot \vec{v}", "x\u{302} ⋅ v\u{20d7}"),
            (r"\unknown{x}", r"\unknownx"),
            (r"\{1, 2\}", "{1, 2}"),
            ("{", ""),
            (r"\", r"\"),
        ] {
            assert_eq!(latex_to_unicode(formula), expected, "{formula}");
        }
        assert_eq!(latex_to_unicode(&"{".repeat(100_000)), "");
        assert!(latex_to_unicode(&r"\frac".repeat(10_000)).len() < 100_000);
    }

    #[test]
    fn only_formula_delimiters_are_rewritten() {
        for (text, expected) in [
            (r"a \(x\) b", "a $$x$$ b"),
            (r"\[ x \]", "$$ x $$"),
            (r"`\(x\)` \(y\)", r"`\(x\)` $$y$$"),
            (r"\\(x\\)", r"\\(x\\)"),
            (r"\(open", r"\(open"),
            ("\\(a\nb\\)", "\\(a\nb\\)"),
            ("$$\na\n+ b\n$$\nc", "$$ a + b $$\nc"),
            ("\\[\na\n- b", "\\[ a - b"),
            ("\\[\na\n\n- b", "\\[\na\n\n- b"),
            ("\\[\na\n```\n\\]", "\\[\na\n```\n\\]"),
            ("$$\nx\n|a|b|\n|-|-|\n", "$$\nx\n|a|b|\n|-|-|\n"),
        ] {
            assert_eq!(unify_delimiters(text), expected, "{text}");
        }
        let paragraph = "\\[\n".repeat(200_000) + "\n.";
        assert!(unify_delimiters(&paragraph) == paragraph);
    }
}
