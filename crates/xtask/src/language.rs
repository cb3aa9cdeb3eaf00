//! `cargo xtask language`: keeps the vocabulary of the project conventional.
//!
//! Scans identifiers, comments, strings and pages for words that used to make the code hard to search and the program
//! hard to understand. Spelling is checked by `typos`; this check is about word choice.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use regex::Regex;

/// Pattern and suggestion. Patterns are case-insensitive and also match inside identifiers.
const BANNED: [(&str, &str); 23] = [
    ("tells? whether", "returns whether"),
    ("whoever", "hooks, callers, participants"),
    ("(?:no|some)body", "none, a user, a client, \"is not set\""),
    ("mend(?:s|ed|ing)?", "fix, repair"),
    ("spelt|unspellable", "serialized, encoded, formatted"),
    ("shall", "must, should, or the present tense"),
    ("beside", "next to, in the same directory as"),
    (
        "of (?:its|their) own(?:[.,;:)]|$| (?:that|which|and|in|for|to|below|above))",
        "a separate …, private, dedicated",
    ),
    ("by (?:itself|themselves)", "automatically"),
    ("at all", "drop it"),
    ("told", "notified, reported, shown"),
    ("hears?|heard", "receive, subscribe, observe"),
    (
        "(?:takes?|took|taken|taking) (?:the place of|its place|their place)",
        "replace",
    ),
    ("in (?:the|its) (?:place of|stead)", "instead of"),
    ("go(?:es)? on with", "resume, continue"),
    ("hand(?:s|ed)? on", "forward, pass"),
    ("pass(?:es|ed) over", "skip"),
    ("takes? part", "participate"),
    ("lets? go of", "release"),
    ("gave up|gives? up|given up", "stop, time out, abort"),
    ("remarks?", "notice, note, comment"),
    (
        "wreckage|farewell|last_words",
        "salvage, shutdown, stderr tail",
    ),
    ("foreign", "extension, untrusted, third-party"),
];

/// Directories and files to scan, relative to the repository.
const ROOTS: [&str; 9] = [
    ".ci",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.toml",
    "README.md",
    "crates",
    "docs",
    "fuzz/fuzz_targets",
];

/// Data and text that is not ours, and the table above.
const EXCLUDED: [&str; 4] = [
    "crates/pi-ai/data",
    "crates/xtask/src/language.rs",
    "docs/schema",
    "/tests/fixtures/",
];

const EXTENSIONS: [&str; 10] = [
    "css", "html", "js", "md", "mjs", "rs", "sh", "toml", "ts", "txt",
];

/// Lines that quote a vendor, a protocol or a third-party API, by path suffix and content.
const QUOTATIONS: [(&str, &str); 0] = [];

/// Checks the repository this runs in.
pub(crate) fn run() -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let violations = scan_repository(&root)?;
    if violations.is_empty() {
        return Ok("the vocabulary is conventional".to_owned());
    }
    bail!(
        "{} lines use banned words:\n{}\nhint: the table with suggestions is in crates/xtask/src/language.rs",
        violations.len(),
        violations.join("\n")
    );
}

fn scan_repository(root: &Path) -> Result<Vec<String>> {
    let checker = WordChecker::new()?;
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

struct WordChecker {
    /// Matches a line with any banned word; most lines need only this.
    any: Regex,
    patterns: Vec<(Regex, &'static str)>,
}

impl WordChecker {
    fn new() -> Result<Self> {
        // An underscore separates words, so that identifiers are covered.
        let compile =
            |pattern: &str| Regex::new(&format!("(?i)(?:^|[^a-z])(?:{pattern})(?:$|[^a-z])"));
        let mut patterns = Vec::new();
        for (pattern, suggestion) in BANNED {
            patterns.push((compile(pattern)?, suggestion));
        }
        Ok(Self {
            any: compile(&BANNED.map(|(pattern, _)| pattern).join("|"))?,
            patterns,
        })
    }

    /// Returns one message per line with a banned word.
    fn check(&self, name: &str, text: &str) -> Vec<String> {
        let mut violations = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let is_quoted = QUOTATIONS
                .iter()
                .any(|(path, quoted)| name.ends_with(path) && line.contains(quoted));
            if is_quoted {
                continue;
            }
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

/// Inserts an underscore before each inner capital, so that `SessionStartTold` contains the word `Told`.
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

    #[test]
    fn banned_words_are_found_in_comments_names_and_strings() {
        let checker = WordChecker::new().unwrap();
        let table = [
            ("/// Tells whether it is open.", "Tells whether"),
            ("let is_told = true;", "told"),
            ("struct SessionStartTold;", "Told"),
            ("\"nobody listens\"", "nobody"),
            ("a file of its own.", "of its own"),
            ("It mends the tail.", "mends"),
        ];
        for (line, word) in table {
            let expected = format!("a.rs:1: \"{word}\"");
            let messages = checker.check("a.rs", line);
            assert!(
                messages
                    .iter()
                    .any(|message| message.starts_with(&expected)),
                "{line}: {messages:?}"
            );
        }
    }

    #[test]
    fn ordinary_words_pass() {
        let checker = WordChecker::new().unwrap();
        let text = "amend, recommended, shallow, besides, bolder, Haskell, marshaller";
        assert_eq!(checker.check("a.rs", text), Vec::<String>::new());
    }
}
