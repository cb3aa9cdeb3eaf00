//! Syntax highlighting, line by line, so that a growing block is never highlighted twice.
//!
//! The grammars are loaded with the first block of code. They name scopes; the theme's syntax styles
//! decide what these look like.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::style::Style;
use crate::theme::{ColorToken, Theme};

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Longer lines stay plain: data, not code, and the patterns would take their time.
const LONGEST_LINE: usize = 512;
/// Builds that are not optimized take this many times as long; their tests are not about speed.
const SLOWNESS: u32 = if cfg!(debug_assertions) { 100 } else { 1 };
/// What a byte of code takes at the most; some lines of letters and nothing else take hundreds of times that, since
/// the patterns of some languages go back and forth in them.
const USUAL_COST: Duration = Duration::from_micros(20).saturating_mul(SLOWNESS);
/// What a block may take beyond that, the first use of a language included, before the rest of it stays plain.
const PATIENCE: Duration = Duration::from_secs(1).saturating_mul(SLOWNESS);
/// The same once all blocks together have taken [`ENOUGH`].
const LITTLE_PATIENCE: Duration = Duration::from_millis(50).saturating_mul(SLOWNESS);
/// What all blocks of a program may take beyond the usual.
const ENOUGH: Duration = Duration::from_secs(5).saturating_mul(SLOWNESS);
/// Blocks under construction at the same time: one for each level of nesting would do.
const CACHED_BLOCKS: usize = 8;

/// The styles of code.
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
    /// Returns the styles of a theme.
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

    fn of(&self, class: Class) -> Style {
        match class {
            Class::Comment => self.comment,
            Class::Keyword => self.keyword,
            Class::Function => self.function,
            Class::Variable => self.variable,
            Class::String => self.string,
            Class::Number => self.number,
            Class::Kind => self.type_name,
            Class::Operator => self.operator,
            Class::Punctuation => self.punctuation,
        }
    }
}

#[derive(Clone, Copy)]
enum Class {
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

/// Scopes by prefix, the more specific ones first.
const CLASSES: &[(&str, Class)] = &[
    ("punctuation.definition.comment", Class::Comment),
    ("punctuation.definition.string", Class::String),
    ("comment", Class::Comment),
    ("string", Class::String),
    ("constant.character.escape", Class::String),
    ("constant", Class::Number),
    ("keyword.operator", Class::Operator),
    ("keyword", Class::Keyword),
    ("storage", Class::Keyword),
    ("entity.name.function", Class::Function),
    ("support.function", Class::Function),
    ("support.macro", Class::Function),
    ("variable.function", Class::Function),
    ("entity.name.tag", Class::Keyword),
    ("entity.other.attribute-name", Class::Variable),
    ("entity.name", Class::Kind),
    ("entity.other.inherited-class", Class::Kind),
    ("support.type", Class::Kind),
    ("support.class", Class::Kind),
    ("variable", Class::Variable),
    ("markup.inserted", Class::String),
    ("markup.deleted", Class::Keyword),
    ("punctuation", Class::Punctuation),
];

static SCOPES: LazyLock<Vec<(Scope, Class)>> = LazyLock::new(|| {
    CLASSES
        .iter()
        .filter_map(|(prefix, class)| Some((Scope::new(prefix).ok()?, *class)))
        .collect()
});

/// Names people write that the grammars do not know.
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

/// The time that was lost to code that takes longer than code does, in microseconds.
static LOST: AtomicU64 = AtomicU64::new(0);

/// What a block may still take beyond the usual, in microseconds. Clones share it, so that a line that is shown
/// before it is complete counts each time.
#[derive(Clone, Debug)]
struct Patience(Arc<AtomicU64>);

impl Patience {
    fn new() -> Self {
        let is_enough = Duration::from_micros(LOST.load(Ordering::Relaxed)) > ENOUGH;
        Self::of(if is_enough { LITTLE_PATIENCE } else { PATIENCE })
    }

    fn of(limit: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(micros(limit))))
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn charge(&self, took: Duration, bytes: usize) {
        let usual = USUAL_COST.saturating_mul(u32::try_from(bytes).unwrap_or(u32::MAX));
        let lost = micros(took.saturating_sub(usual));
        LOST.fetch_add(lost, Ordering::Relaxed);
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(lost), Ordering::Relaxed);
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
    patience: Patience,
}

impl CodeHighlighter {
    /// Returns a highlighter for a language, named as after a code fence; `None` if it is unknown.
    /// Parts without a style of their own get `plain`.
    pub fn new(language: &str, styles: &SyntaxStyles, plain: Style) -> Option<Self> {
        Some(Self {
            state: ParseState::new(syntax_for(language)?),
            scopes: ScopeStack::new(),
            styles: *styles,
            plain,
            patience: Patience::new(),
        })
    }

    /// Returns the next line, without its line end, in color. Long lines stay plain, and so does what follows
    /// lines that took far more time than code takes.
    pub fn line(&mut self, line: &str) -> String {
        if line.len() > LONGEST_LINE || self.patience.is_over() {
            return self.plain.apply(line);
        }
        let begin = Instant::now();
        let colored = self.colored(line);
        self.patience.charge(begin.elapsed(), line.len());
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

/// Returns code in color, line by line; plain lines if the language is unknown.
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

/// Highlighted blocks that may come again, longer.
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

    /// Returns the lines of a block in color; those of an earlier, shorter version are taken over.
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
    use crate::style::Color;
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
    fn state_carries_over_lines() {
        let lines = highlight_code("let a = \"x\ny\"; // c", "rust", &styles(), Style::plain());
        assert_eq!(
            lines,
            [
                "\x1b[38;5;1mlet\x1b[39m a = \x1b[38;5;2m\"\x1b[39m\x1b[38;5;2mx\x1b[39m",
                "\x1b[38;5;2my\x1b[39m\x1b[38;5;2m\"\x1b[39m; \x1b[38;5;3m//\x1b[39m\x1b[38;5;3m c\x1b[39m",
            ]
        );
    }

    #[test]
    fn languages_are_known_by_their_usual_names() {
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
    fn long_lines_and_what_takes_too_long_stay_plain() {
        let mut highlighter = CodeHighlighter::new("rust", &styles(), Style::plain()).unwrap();
        let data = format!("let {}", "a".repeat(LONGEST_LINE));
        assert_eq!(highlighter.line(&data), data);
        assert_ne!(highlighter.line("let a"), "let a");
        let shown_early = highlighter.clone();
        let seconds = PATIENCE * 2;
        shown_early.patience.charge(seconds, 10);
        assert_eq!(highlighter.line("let a"), "let a");
        LOST.fetch_sub(
            micros(seconds.saturating_sub(USUAL_COST * 10)),
            Ordering::Relaxed,
        );
    }

    #[test]
    fn what_code_takes_usually_costs_no_patience() {
        let patience = Patience::of(Duration::from_millis(1));
        patience.charge(USUAL_COST * 100, 100);
        assert!(!patience.is_over());
    }

    #[test]
    fn a_growing_block_gives_the_same_lines() {
        let code = "fn main() {\n    let a = \"x\n\";\n}\n";
        let whole = highlight_code(code, "rust", &styles(), Style::plain());
        let mut cache = HighlightCache::default();
        let mut grown = Vec::new();
        for end in 0..=code.len() {
            grown = cache.lines("rust", code.split_at(end).0, &styles(), Style::plain());
        }
        assert_eq!(grown, whole);
    }
}
