//! `cargo xtask language`: checks the repository for banned words.
//!
//! Scans identifiers, comments, strings and pages for words that are
//! banned for being unclear or hard to search. Spelling is checked by `typos`; this check is about word choice.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use regex::Regex;

/// One line per rule: pattern, tab, suggestion. Not in this directory, which is scanned itself.
const BANNED: &str = include_str!("../../../.config/banned-words.txt");

/// Directories and files to scan, relative to the repository.
const ROOTS: [&str; 12] = [
    ".ci",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "crates",
    "docs",
    "editors",
    "fuzz/fuzz_targets",
    "packages",
    "packaging",
];

/// Data and third-party text.
const EXCLUDED: [&str; 3] = [
    "crates/pi-providers/data",
    "docs/schema",
    "/tests/fixtures/",
];

const EXTENSIONS: [&str; 10] = [
    "css", "html", "js", "md", "mjs", "rs", "sh", "toml", "ts", "txt",
];

/// Checks the repository this runs in.
pub(crate) fn run() -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let violations = scan_repository(&root)?;
    if violations.is_empty() {
        return Ok("no banned words found".to_owned());
    }
    bail!(
        "{} lines use banned words:\n{}\nhint: the rules are in .config/banned-words.txt",
        violations.len(),
        violations.join("\n")
    );
}

fn scan_repository(root: &Path) -> Result<Vec<String>> {
    let checker = WordChecker::new(BANNED)?;
    let mut violations = Vec::new();
    for entry in ROOTS {
        for path in text_files(&root.join(entry))? {
            let name = path.strip_prefix(root).unwrap_or(&path);
            let name = name.to_string_lossy().replace('\\', "/");
            if EXCLUDED.iter().any(|excluded| name.contains(excluded)) {
                continue;
            }
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
            violations.extend(checker.check(&name, &text));
        }
    }
    Ok(violations)
}

/// Lists the text files at or below `path`, sorted.
fn text_files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    let mut entries = fs::read_dir(path)
        .with_context(|| format!("cannot list {}", path.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    entries.sort();
    for entry in entries {
        let extension = entry.extension().and_then(|extension| extension.to_str());
        if entry.is_dir() {
            files.extend(text_files(&entry)?);
        } else if extension.is_none_or(|extension| EXTENSIONS.contains(&extension)) {
            files.push(entry);
        }
    }
    Ok(files)
}

struct WordChecker<'rules> {
    /// Matches a line with any banned word; most lines need only this.
    any: Regex,
    patterns: Vec<(Regex, &'rules str)>,
}

impl<'rules> WordChecker<'rules> {
    fn new(rules: &'rules str) -> Result<Self> {
        // An underscore separates words, so that identifiers are covered.
        let compile =
            |pattern: &str| Regex::new(&format!("(?i)(?:^|[^a-z])(?:{pattern})(?:$|[^a-z])"));
        let mut patterns = Vec::new();
        let mut all = Vec::new();
        for rule in rules.lines().filter(|line| !line.starts_with('#')) {
            let (pattern, suggestion) = rule
                .split_once('\t')
                .with_context(|| format!("no tab in the rule `{rule}`"))?;
            patterns.push((compile(pattern)?, suggestion));
            all.push(pattern);
        }
        Ok(Self {
            any: compile(&all.join("|"))?,
            patterns,
        })
    }

    /// Returns one message per line with a banned word.
    fn check(&self, name: &str, text: &str) -> Vec<String> {
        let mut violations = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = split_camel_case(line);
            if !self.any.is_match(&line) {
                continue;
            }
            let found = self
                .patterns
                .iter()
                .find_map(|(pattern, suggestion)| Some((pattern.find(&line)?, suggestion)));
            if let Some((found, suggestion)) = found {
                let word = found.as_str().trim_matches(|it: char| !it.is_alphabetic());
                violations.push(format!(
                    "{name}:{}: \"{word}\" (write: {suggestion})",
                    number + 1
                ));
            }
        }
        violations
    }
}

/// Inserts an underscore before each inner capital, so that `SessionWriter` contains the word `Writer`.
fn split_camel_case(line: &str) -> String {
    let mut split = String::with_capacity(line.len() + 16);
    let mut previous = ' ';
    for character in line.chars() {
        if character.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            split.push('_');
        }
        split.push(character);
        previous = character;
    }
    split
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const RULES: &str = "# a comment\nfrobnicate[sd]?\trun\nby magic\tautomatically";

    #[test]
    fn banned_words_are_found_in_comments_names_and_strings() {
        let checker = WordChecker::new(RULES).unwrap();
        let table = [
            ("/// Frobnicates the file.", "Frobnicates", "run"),
            ("let is_frobnicated = true;", "frobnicated", "run"),
            ("struct SessionFrobnicated;", "Frobnicated", "run"),
            ("\"starts by magic\"", "by magic", "automatically"),
        ];
        for (line, word, suggestion) in table {
            assert_eq!(
                checker.check("a.rs", line),
                [format!("a.rs:1: \"{word}\" (write: {suggestion})")]
            );
        }
    }

    #[test]
    fn parts_of_words_pass() {
        let checker = WordChecker::new(RULES).unwrap();
        let text = "unfrobnicate, frobnicatedly, by magicians";
        assert_eq!(checker.check("a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn the_repository_is_clean() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let violations = scan_repository(&root).unwrap();
        assert!(
            violations.is_empty(),
            "{} banned words:\n{}",
            violations.len(),
            violations.join("\n")
        );
    }
}
