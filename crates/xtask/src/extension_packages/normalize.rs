//! Replaces what differs between two runs of the same program: paths, times, identifiers, ports.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Texts longer than this are cut before they are compared.
const MAX_TEXT: usize = 20_000;

/// Patterns and their replacements, applied in this order.
static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let rules = [
        (r"(127\.0\.0\.1|localhost|\[::1\]):\d+", "${1}:PORT"),
        (
            r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
            "ID",
        ),
        (
            r"\d{4}-\d\d-\d\d[T_ ]\d\d[:-]\d\d([:-]\d\d)?([.-]\d+)?(Z|[+-]\d\d:?\d\d)?",
            "TIME",
        ),
        (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
        (r"\b\d{1,2}/\d{1,2}/\d{4}\b", "DATE"),
        (
            r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (\d{1,2} )?[A-Z][a-z]{2,8}( \d{1,2})?,?( \d{4})?",
            "DATE",
        ),
        (r"\b\d{1,2}:\d\d(:\d\d)?( ?[APap][Mm])?\b", "TIME"),
        (r"\b1[6-9]\d{8}(\d{3})?(\.\d+)?\b", "EPOCH"),
        (
            r"\b\d+(\.\d+)? ?(ms|s|sec|secs|seconds?|m|min|minutes?|h|hours?)\b( ago)?",
            "DURATION",
        ),
        (r"\b\d+(\.\d+)? ?([KMG]i?B|bytes)\b", "SIZE"),
        // Counts of tokens depend on the system prompt, whose words are ours.
        (r"\b\d+([.,]\d+)?k? tok(en|ens)?\b", "TOKENS"),
        (r"(?i)\bpid:? ?\d+", "PID"),
        (r"\b(\w+[-_])?[0-9a-f]{6,64}\b", "${1}HEX"),
        (r"node:internal/[^\s)]+", "NODE"),
    ];
    rules
        .into_iter()
        .filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, with)))
        .collect()
});

/// Words of at least seven letters and digits with both in them: random identifiers.
static RANDOM_WORD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b[0-9A-Za-z]{7,}\b").ok());

/// Colors and other attributes of a terminal. Their digits become letters, so that no rule changes them.
static ATTRIBUTES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\u{1b}\[[0-9;]*m").ok());

/// Parts of the names of fields whose values are numbers that change with every run.
const VARYING_FIELDS: [&str; 8] = [
    "time", "duration", "elapsed", "pid", "ms", "at", "tokens", "size",
];

/// Whether a field of this name has a number that changes with every run.
fn varies(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    VARYING_FIELDS.iter().any(|part| {
        let is_suffix = lower.ends_with(part);
        // `ms` and `at` end many words.
        if part.len() > 2 {
            lower.contains(part)
        } else {
            is_suffix && name != lower
        }
    })
}

/// Normalizes texts and values of a run that took place in one directory.
pub(super) struct Normalizer {
    paths: Vec<(String, &'static str)>,
}

impl Normalizer {
    pub(super) fn new(root: &Path, package: &Path) -> Self {
        let mut paths = vec![
            (package.display().to_string(), "<package>"),
            (root.display().to_string(), "<root>"),
        ];
        if let Ok(real) = std::fs::canonicalize(root) {
            paths.push((real.display().to_string(), "<root>"));
        }
        // Some extensions encode the project's path in a file name.
        paths.push((root.display().to_string().replace('/', "-"), "<root>"));
        paths.push((
            root.display()
                .to_string()
                .trim_start_matches('/')
                .replace('/', "-"),
            "<root>",
        ));
        Self { paths }
    }

    pub(super) fn text(&self, text: &str) -> String {
        let mut text: String = text.chars().take(MAX_TEXT).collect();
        for (path, with) in &self.paths {
            text = text.replace(path, with);
        }
        if let Some(attributes) = ATTRIBUTES.as_ref() {
            let letters = |found: &regex::Captures<'_>| {
                let shown = found[0].chars().filter_map(|it| match it {
                    '0'..='9' => char::from_digit(it.to_digit(10)? + 20, 36),
                    ';' => Some('.'),
                    _ => None,
                });
                format!("‹{}›", shown.collect::<String>())
            };
            text = attributes.replace_all(&text, letters).into_owned();
        }
        for (rule, with) in RULES.iter() {
            text = rule.replace_all(&text, *with).into_owned();
        }
        if let Some(words) = RANDOM_WORD.as_ref() {
            text = words
                .replace_all(&text, |word: &regex::Captures<'_>| {
                    let word = &word[0];
                    let digits = word.chars().filter(char::is_ascii_digit).count();
                    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
                    if digits > 0 && letters > 1 {
                        "ID".to_owned()
                    } else {
                        word.to_owned()
                    }
                })
                .into_owned();
        }
        text
    }

    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, value)| {
                    let value = if value.is_number() && varies(name) {
                        "VARIES".into()
                    } else {
                        self.value(value)
                    };
                    (self.text(name), value)
                })
                .collect(),
            Value::Number(number) if number.as_f64().is_some_and(|it| it > 1.0e9) => "LARGE".into(),
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_varies_between_runs_is_replaced() {
        let normalizer = Normalizer::new(Path::new("/tmp/run-1"), Path::new("/cache/a"));
        let value = json!({"text": "/tmp/run-1/x took 12.5ms at 2026-01-02T03:04:05.678Z, see http://127.0.0.1:4711/", "durationMs": 7,
            "id": "a1b2c3d4e5", "count": 3, "at": "/cache/a/index.ts"});
        assert_eq!(
            normalizer.value(&value),
            json!({"text": "<root>/x took DURATION at TIME, see http://127.0.0.1:PORT/", "durationMs": "VARIES",
                "id": "HEX", "count": 3, "at": "<package>/index.ts"})
        );
    }
}
