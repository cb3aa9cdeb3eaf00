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
        (r#"("\w*Ms":) ?\d+(\.\d+)?"#, "${1}DURATION"),
        (r"\b\d+(\.\d+)? ?([KMG]i?B|bytes)\b", "SIZE"),
        // Counts of tokens depend on the system prompt, whose words are ours.
        (r"\b\d+([.,]\d+)?k? tok(en|ens)?\b", "TOKENS"),
        (r"(?i)\bpid:? ?\d+", "PID"),
        // Names of processes and jobs, with a random end.
        (r"\b(proc|job|run|task)_[0-9a-z]{4,}\b", "${1}_ID"),
        // Temporary directories.
        (r"(<root>/tmp/[\w.-]*?[-_])[0-9A-Za-z]{6}\b", "${1}ID"),
        // Random names that may have no digits.
        (r"\b(responseId:? )\w{8,}", "${1}ID"),
        (r#"(job "[^"]*" \()[\w-]{8,}\)"#, "${1}ID)"),
        (r#"("(?:id|jobId)": ?")[\w-]{10}""#, "${1}ID\""),
        (r"([✓✗-] [\w ]+ \()[\w-]{10}\)", "${1}ID)"),
        // The wording of the tools of pi is ours; what they report and about which file is compared.
        (
            r"\b(?:Successfully wrote to|Wrote) (\S+?)\.?(\s|$)",
            "WROTE ${1}${2}",
        ),
        (
            r"\bENOENT: no such file or directory, access '(?:<root>/project/)?([^']+)'",
            "NOT FOUND ${1}",
        ),
        (
            r"\bCannot read (\S+): no such file or directory \(ENOENT\)",
            "NOT FOUND ${1}",
        ),
        (
            r"\bCould not find the exact text in (\S+)\.[^\n]*",
            "TEXT NOT FOUND IN ${1}",
        ),
        (
            r"\bFile not changed: (\S+): oldText not found in the file[^\n]*",
            "TEXT NOT FOUND IN ${1}",
        ),
        (r"\b(\w+[-_])?[0-9a-f]{6,64}\b", "${1}HEX"),
        // An identifier in the name of a file.
        (r"HEX-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-HEX", "ID"),
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
const VARYING_FIELDS: [&str; 9] = [
    "time", "duration", "elapsed", "seconds", "pid", "ms", "at", "tokens", "size",
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

/// Whether this may be a random identifier: ten letters, digits, `-` and `_`. Some have only small letters.
fn is_random_id(text: &str) -> bool {
    let is_part = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    text.len() == 10 && text.chars().all(is_part)
}

/// Normalizes texts and values of a run that took place in one directory.
pub(super) struct Normalizer {
    paths: Vec<(String, &'static str)>,
}

impl Normalizer {
    /// Normalizes what is stored: rules may have been added since.
    pub(super) fn for_stored() -> Self {
        Self { paths: Vec::new() }
    }

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
                let codes = found[0].trim_start_matches("\u{1b}[");
                // Which color a part of the theme has is a decision of each program; that it has one is compared.
                if codes.starts_with("38;") {
                    return "‹color›".to_owned();
                }
                if codes.starts_with("48;") {
                    return "‹background›".to_owned();
                }
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
                    let capitals = word.chars().filter(char::is_ascii_uppercase).count();
                    // Few words of programs have that many capitals between small letters.
                    let is_mixed = letters - capitals > 2 && 5 * capitals >= 2 * letters;
                    if letters > 1 && (digits > 0 || is_mixed) {
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
                    let is_id = matches!(name.as_str(), "id" | "jobId");
                    let value = if value.is_number() && varies(name) {
                        "VARIES".into()
                    } else if is_id && value.as_str().is_some_and(is_random_id) {
                        "ID".into()
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
            "id": "a1b2c3d4e5", "job": "ObOQHlrcRV of getActiveTools, proc_abcd", "count": 3, "at": "/cache/a/index.ts",
            "directory": "/tmp/run-1/tmp/my-jobs-hCDJHA/out.log", "jobId": "0JZx-MALq8",
            "status": "\u{1b}[38;5;6mon\u{1b}[39m \u{1b}[2mdim\u{1b}[22m"});
        assert_eq!(
            normalizer.value(&value),
            json!({"text": "<root>/x took DURATION at TIME, see http://127.0.0.1:PORT/", "durationMs": "VARIES",
                "id": "ID", "job": "ID of getActiveTools, proc_ID", "count": 3, "at": "<package>/index.ts",
                "directory": "<root>/tmp/my-jobs-ID/out.log", "jobId": "ID", "status": "‹color›on‹nt› ‹m›dim‹mm›"})
        );
    }

    #[test]
    fn the_wording_of_the_tools_of_pi_is_not_compared() {
        let normalizer = Normalizer::new(Path::new("/tmp/run-1"), Path::new("/cache/a"));
        let same = |ours: &str, theirs: &str| {
            assert_eq!(normalizer.text(ours), normalizer.text(theirs));
        };
        same(
            "Cannot read a/.env: no such file or directory (ENOENT)",
            "ENOENT: no such file or directory, access '/tmp/run-1/project/a/.env'",
        );
        same(
            "File not changed: a.md: oldText not found in the file; it must match exactly",
            "Could not find the exact text in a.md. The old text must match exactly.",
        );
        let other = normalizer.text("Cannot read b: no such file or directory (ENOENT)");
        assert_eq!(other, "NOT FOUND b");
    }
}
