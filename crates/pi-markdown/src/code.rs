//! Syntax highlighting, line by line, so that lines of a growing block are highlighted only once.
//!
//! Grammars are loaded with the first code block. They produce scopes, which the theme's syntax
//! styles are mapped to.

use pi_tui::{ColorToken, Style, Theme};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Longer lines are not highlighted: they are usually data, and the patterns would be slow on them.
const MAX_LINE_LEN: usize = 512;
/// Slowdown factor of unoptimized builds, whose tests do not measure speed.
const DEBUG_SLOWDOWN: u32 = if cfg!(debug_assertions) { 100 } else { 1 };
/// Maximum expected time per byte of code. Some lines of plain letters take hundreds of times that,
/// because the patterns of some languages backtrack on them.
const EXPECTED_COST_PER_BYTE: Duration = Duration::from_micros(20).saturating_mul(DEBUG_SLOWDOWN);
/// How far a block may exceed the expected time, including the first use of a language, before the
/// rest of it is left plain.
const BLOCK_BUDGET: Duration = Duration::from_secs(1).saturating_mul(DEBUG_SLOWDOWN);
/// The same, once all blocks together have exceeded [`TOTAL_BUDGET`].
const REDUCED_BUDGET: Duration = Duration::from_millis(50).saturating_mul(DEBUG_SLOWDOWN);
/// How far all blocks of a process together may exceed the expected time.
const TOTAL_BUDGET: Duration = Duration::from_secs(5).saturating_mul(DEBUG_SLOWDOWN);
/// Blocks that may be growing at the same time: one per level of nesting would be enough.
const CACHED_BLOCKS: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyntaxStyles {
    pub comment: Style,
    pub keyword: Style,
    pub function: Style,
    pub variable: Style,
    pub string: Style,
    /// Numbers and other constants.
    pub number: Style,
    pub type_name: Style,
    pub operator: Style,
    pub punctuation: Style,
}

impl SyntaxStyles {
    pub fn from_theme(theme: &Theme) -> Self {
        Self {
            comment: theme.style(ColorToken::SyntaxComment),
            keyword: theme.style(ColorToken::SyntaxKeyword),
            function: theme.style(ColorToken::SyntaxFunction),
            variable: theme.style(ColorToken::SyntaxVariable),
            string: theme.style(ColorToken::SyntaxString),
            number: theme.style(ColorToken::SyntaxNumber),
            type_name: theme.style(ColorToken::SyntaxType),
            operator: theme.style(ColorToken::SyntaxOperator),
            punctuation: theme.style(ColorToken::SyntaxPunctuation),
        }
    }

    fn of(&self, class: SyntaxClass) -> Style {
        match class {
            SyntaxClass::Comment => self.comment,
            SyntaxClass::Keyword => self.keyword,
            SyntaxClass::Function => self.function,
            SyntaxClass::Variable => self.variable,
            SyntaxClass::String => self.string,
            SyntaxClass::Number => self.number,
            SyntaxClass::Kind => self.type_name,
            SyntaxClass::Operator => self.operator,
            SyntaxClass::Punctuation => self.punctuation,
        }
    }
}

#[derive(Clone, Copy)]
enum SyntaxClass {
    Comment,
    Keyword,
    Function,
    Variable,
    String,
    Number,
    Kind,
    Operator,
    Punctuation,
}

/// Scopes by prefix, more specific ones first.
const CLASSES: &[(&str, SyntaxClass)] = &[
    ("punctuation.definition.comment", SyntaxClass::Comment),
    ("punctuation.definition.string", SyntaxClass::String),
    ("comment", SyntaxClass::Comment),
    ("string", SyntaxClass::String),
    ("constant.character.escape", SyntaxClass::String),
    ("constant", SyntaxClass::Number),
    ("keyword.operator", SyntaxClass::Operator),
    ("keyword", SyntaxClass::Keyword),
    ("storage", SyntaxClass::Keyword),
    ("entity.name.function", SyntaxClass::Function),
    ("support.function", SyntaxClass::Function),
    ("support.macro", SyntaxClass::Function),
    ("variable.function", SyntaxClass::Function),
    ("entity.name.tag", SyntaxClass::Keyword),
    ("entity.other.attribute-name", SyntaxClass::Variable),
    ("entity.name", SyntaxClass::Kind),
    ("entity.other.inherited-class", SyntaxClass::Kind),
    ("support.type", SyntaxClass::Kind),
    ("support.class", SyntaxClass::Kind),
    ("variable", SyntaxClass::Variable),
    ("markup.inserted", SyntaxClass::String),
    ("markup.deleted", SyntaxClass::Keyword),
    ("punctuation", SyntaxClass::Punctuation),
];

static SCOPES: LazyLock<Vec<(Scope, SyntaxClass)>> = LazyLock::new(|| {
    CLASSES
        .iter()
        .filter_map(|(prefix, class)| Some((Scope::new(prefix).ok()?, *class)))
        .collect()
});

/// Common names that the grammars do not know.
const ALIASES: &[(&str, &str)] = &[
    ("shell", "sh"),
    ("console", "sh"),
    ("shellsession", "sh"),
    ("zsh", "sh"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("mjs", "js"),
    ("cjs", "js"),
    ("golang", "go"),
    ("docker", "dockerfile"),
];

fn syntax_for(info: &str) -> Option<&'static SyntaxReference> {
    let word = info
        .split([' ', ',', '{', ':'])
        .next()?
        .to_ascii_lowercase();
    if word.is_empty() || word == "text" || word == "plain" {
        return None;
    }
    let known = ALIASES.iter().find(|(alias, _)| *alias == word);
    SYNTAXES.find_syntax_by_token(known.map_or(word.as_str(), |(_, name)| name))
}

/// Total time in microseconds by which highlighting exceeded the expected time.
static TOTAL_OVERRUN: AtomicU64 = AtomicU64::new(0);

/// How far a block may still exceed the expected time, in microseconds. Clones share it, so that
/// repeated highlighting of an incomplete line counts every time.
#[derive(Clone, Debug)]
struct TimeBudget(Arc<AtomicU64>);

impl TimeBudget {
    fn new() -> Self {
        let is_over_budget =
            Duration::from_micros(TOTAL_OVERRUN.load(Ordering::Relaxed)) > TOTAL_BUDGET;
        Self::of(if is_over_budget {
            REDUCED_BUDGET
        } else {
            BLOCK_BUDGET
        })
    }

    fn of(limit: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(micros(limit))))
    }

    fn is_exhausted(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn charge(&self, elapsed: Duration, bytes: usize) {
        let expected =
            EXPECTED_COST_PER_BYTE.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        let overrun = micros(elapsed.saturating_sub(expected));
        TOTAL_OVERRUN.fetch_add(overrun, Ordering::Relaxed);
        let remaining = self.0.load(Ordering::Relaxed);
        self.0
            .store(remaining.saturating_sub(overrun), Ordering::Relaxed);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Highlights code line by line, from the first line on.
#[derive(Clone, Debug)]
pub struct CodeHighlighter {
    state: ParseState,
    scopes: ScopeStack,
    styles: SyntaxStyles,
    plain: Style,
    budget: TimeBudget,
}

impl CodeHighlighter {
    /// Returns a highlighter for a language, named as after a code fence, or `None` if it is
    /// unknown. Text without a syntax style gets `plain`.
    pub fn new(language: &str, styles: &SyntaxStyles, plain: Style) -> Option<Self> {
        Some(Self {
            state: ParseState::new(syntax_for(language)?),
            scopes: ScopeStack::new(),
            styles: *styles,
            plain,
            budget: TimeBudget::new(),
        })
    }

    /// Highlights the next line, given without its line break. Long lines are left plain, and so is
    /// everything after lines that took too long.
    pub fn line(&mut self, line: &str) -> String {
        if line.len() > MAX_LINE_LEN || self.budget.is_exhausted() {
            return self.plain.apply(line);
        }
        let begin = Instant::now();
        let colored = self.colored(line);
        self.budget.charge(begin.elapsed(), line.len());
        colored
    }

    fn colored(&mut self, line: &str) -> String {
        let with_end = format!("{line}\n");
        let Ok(changes) = self.state.parse_line(&with_end, &SYNTAXES) else {
            return self.plain.apply(line);
        };
        let mut out = String::with_capacity(line.len() * 2);
        let mut start = 0;
        for (end, change) in changes {
            self.push(line, start..end, &mut out);
            start = end;
            if self.scopes.apply(&change).is_err() {
                self.scopes = ScopeStack::new();
            }
        }
        self.push(line, start..line.len(), &mut out);
        out
    }

    fn push(&self, line: &str, range: std::ops::Range<usize>, out: &mut String) {
        let range = range.start.min(line.len())..range.end.min(line.len());
        let Some(text) = line.get(range).filter(|text| !text.is_empty()) else {
            return;
        };
        if text.trim().is_empty() {
            out.push_str(text);
        } else {
            out.push_str(&self.style().apply(text));
        }
    }

    fn style(&self) -> Style {
        self.scopes
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| {
                let class = SCOPES
                    .iter()
                    .find(|(prefix, _)| prefix.is_prefix_of(*scope));
                class.map(|(_, class)| self.styles.of(*class))
            })
            .unwrap_or(self.plain)
    }
}

/// Highlights code line by line, or returns plain lines if the language is unknown.
pub fn highlight_code(
    code: &str,
    language: &str,
    styles: &SyntaxStyles,
    plain: Style,
) -> Vec<String> {
    let mut highlighter = CodeHighlighter::new(language, styles, plain);
    code.split('\n')
        .map(|line| match &mut highlighter {
            Some(highlighter) => highlighter.line(line),
            None => plain.apply(line),
        })
        .collect()
}

/// Highlighted blocks that may be rendered again, longer.
#[derive(Debug, Default)]
pub(super) struct HighlightCache {
    blocks: Vec<CachedBlock>,
}

#[derive(Debug)]
struct CachedBlock {
    language: String,
    /// The complete lines that were highlighted.
    source: String,
    lines: Vec<String>,
    highlighter: Option<CodeHighlighter>,
}

impl HighlightCache {
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }

    /// Highlights a block, reusing the lines of an earlier, shorter version.
    pub(super) fn lines(
        &mut self,
        language: &str,
        code: &str,
        styles: &SyntaxStyles,
        plain: Style,
    ) -> Vec<String> {
        let known = self
            .blocks
            .iter()
            .position(|block| block.language == language && code.starts_with(&block.source));
        let mut block = match known {
            Some(index) => self.blocks.remove(index),
            None => CachedBlock {
                language: language.to_owned(),
                source: String::new(),
                lines: Vec::new(),
                highlighter: CodeHighlighter::new(language, styles, plain),
            },
        };
        let fresh = code.get(block.source.len()..).unwrap_or_default();
        let (complete, last) = match fresh.rfind('\n') {
            Some(end) => fresh.split_at_checked(end + 1).unwrap_or((fresh, "")),
            None => ("", fresh),
        };
        let paint = |highlighter: &mut Option<CodeHighlighter>, line: &str| match highlighter {
            Some(highlighter) => highlighter.line(line),
            None => plain.apply(line),
        };
        for line in complete.split_terminator('\n') {
            let line = paint(&mut block.highlighter, line);
            block.lines.push(line);
        }
        block.source.push_str(complete);
        let mut lines = block.lines.clone();
        lines.push(paint(&mut block.highlighter.clone(), last));
        self.blocks.insert(0, block);
        self.blocks.truncate(CACHED_BLOCKS);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_tui::Color;
    use pretty_assertions::assert_eq;

    fn styles() -> SyntaxStyles {
        SyntaxStyles {
            keyword: Style::plain().fg(Color::Indexed(1)),
            string: Style::plain().fg(Color::Indexed(2)),
            comment: Style::plain().fg(Color::Indexed(3)),
            ..SyntaxStyles::default()
        }
    }

    #[test]
    fn every_scope_of_the_table_is_valid() {
        assert_eq!(SCOPES.len(), CLASSES.len());
    }

    #[test]
    fn state_carries_across_lines() {
        let lines = highlight_code("let a = \"x\ny\"; // c", "rust", &styles(), Style::plain());
        assert_eq!(
            lines,
            [
                "\x1b[31mlet\x1b[39m a = \x1b[32m\"\x1b[39m\x1b[32mx\x1b[39m",
                "\x1b[32my\x1b[39m\x1b[32m\"\x1b[39m; \x1b[33m//\x1b[39m\x1b[33m c\x1b[39m",
            ]
        );
    }

    #[test]
    fn languages_are_found_by_common_names() {
        for name in [
            "rust",
            "rs",
            "ts",
            "tsx",
            "typescript",
            "js",
            "python",
            "py",
            "sh",
            "bash",
            "shell",
            "json",
            "toml",
            "yaml",
            "go",
            "c",
            "cpp",
            "java",
            "html",
            "css",
            "diff",
            "sql",
            "dockerfile",
            "kotlin",
            "swift",
            "rust,ignore",
            "JSON",
        ] {
            assert!(syntax_for(name).is_some(), "{name}");
        }
        assert!(syntax_for("nonsense").is_none());
    }

    #[test]
    fn long_and_slow_lines_are_left_plain() {
        let mut highlighter = CodeHighlighter::new("rust", &styles(), Style::plain()).unwrap();
        let data = format!("let {}", "a".repeat(MAX_LINE_LEN));
        assert_eq!(highlighter.line(&data), data);
        assert_ne!(highlighter.line("let a"), "let a");
        let partial = highlighter.clone();
        let seconds = BLOCK_BUDGET * 2;
        partial.budget.charge(seconds, 10);
        assert_eq!(highlighter.line("let a"), "let a");
        TOTAL_OVERRUN.fetch_sub(
            micros(seconds.saturating_sub(EXPECTED_COST_PER_BYTE * 10)),
            Ordering::Relaxed,
        );
    }

    #[test]
    fn expected_time_is_not_charged() {
        let budget = TimeBudget::of(Duration::from_millis(1));
        budget.charge(EXPECTED_COST_PER_BYTE * 100, 100);
        assert!(!budget.is_exhausted());
    }

    #[test]
    fn a_growing_block_gives_the_same_lines() {
        let code = "fn main() {\n    let a = \"x\n\";\n}\n";
        let complete = highlight_code(code, "rust", &styles(), Style::plain());
        let mut cache = HighlightCache::default();
        let mut grown = Vec::new();
        for end in 0..=code.len() {
            grown = cache.lines("rust", code.split_at(end).0, &styles(), Style::plain());
        }
        assert_eq!(grown, complete);
    }
}
