//! Finds the text before the cursor to complete, and applies a completion to a line.

use super::CompletedLine;
use super::separator::{is_path_delimiter, is_separator};
use crate::components::SelectItem;

/// A path being typed, without `@` and quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathPrefix<'a> {
    pub(super) path: &'a str,
    pub(super) attached: bool,
    pub(super) quoted: bool,
}

impl<'a> PathPrefix<'a> {
    pub(super) fn parse(prefix: &'a str) -> Self {
        let (rest, attached) = match prefix.strip_prefix('@') {
            Some(rest) => (rest, true),
            None => (prefix, false),
        };
        let (path, quoted) = match rest.strip_prefix('"') {
            Some(path) => (path, true),
            None => (rest, false),
        };
        Self {
            path,
            attached,
            quoted,
        }
    }

    /// Returns a completed path with the same `@` and quotes. Quotes are added if necessary.
    pub(super) fn decorate(&self, path: &str) -> String {
        let at = if self.attached { "@" } else { "" };
        if self.quoted || path.contains(is_separator) {
            format!("{at}\"{path}\"")
        } else {
            format!("{at}{path}")
        }
    }
}

/// Returns the text from the last unclosed quote, including an `@` before it, if it starts a token.
fn open_quote(text: &str) -> Option<&str> {
    if text.matches('"').count().is_multiple_of(2) {
        return None;
    }
    let quote = text.rfind('"')?;
    let before = text.get(..quote)?;
    let (start, before) = match before.strip_suffix('@') {
        Some(before) => (quote - 1, before),
        None => (quote, before),
    };
    let starts_token = before.chars().next_back().is_none_or(is_path_delimiter);
    starts_token.then(|| text.get(start..)).flatten()
}

fn last_token(text: &str) -> &str {
    text.rsplit(is_path_delimiter).next().unwrap_or(text)
}

/// Returns the attachment being typed: `@path` or `@"path`.
pub(super) fn attachment(text: &str) -> Option<&str> {
    if let Some(quoted) = open_quote(text).filter(|quoted| quoted.starts_with('@')) {
        return Some(quoted);
    }
    Some(last_token(text)).filter(|token| token.starts_with('@'))
}

/// Returns the path being typed, if the text looks like one.
pub(super) fn path(text: &str) -> Option<&str> {
    if let Some(quoted) = open_quote(text) {
        return Some(quoted);
    }
    let token = last_token(text);
    let looks_like_path = token.contains('/') || token.starts_with('.');
    let after_separator = token.is_empty() && text.chars().next_back().is_some_and(is_separator);
    (looks_like_path || after_separator).then_some(token)
}

/// Returns the path to complete on demand, which may be empty.
pub(super) fn path_on_demand(text: &str) -> &str {
    open_quote(text).unwrap_or_else(|| last_token(text))
}

/// Whether Tab completes a path, which it does not inside the name of a slash command.
pub(super) fn allows_path(before: &str) -> bool {
    let trimmed = before.trim();
    !trimmed.starts_with('/') || trimmed.contains(' ')
}

/// Whether the cursor is in a token that starts with one of `triggers`, or in a quoted attachment.
pub(crate) fn in_symbol_token(before: &str, triggers: &[char]) -> bool {
    let token = before.rsplit(is_separator).next().unwrap_or(before);
    if token.starts_with(|character| triggers.contains(&character)) {
        return true;
    }
    before.rfind("@\"").is_some_and(|at| {
        let (start, rest) = before.split_at_checked(at).unwrap_or((before, ""));
        let unclosed = !rest.get(2..).unwrap_or_default().contains('"');
        unclosed && start.chars().next_back().is_none_or(is_separator)
    })
}

/// Replaces `prefix`, which ends at `offset`, with `item`.
pub(super) fn complete(
    line: &str,
    offset: usize,
    item: &SelectItem,
    prefix: &str,
) -> CompletedLine {
    let before = line
        .get(..offset.saturating_sub(prefix.len()))
        .unwrap_or_default();
    let after = line.get(offset..).unwrap_or_default();
    let quoted = prefix.starts_with('"') || prefix.starts_with("@\"");
    let closes_quote = item.value.ends_with('"');
    let after = match after.strip_prefix('"') {
        Some(rest) if quoted && closes_quote => rest,
        _ => after,
    };
    let is_command = prefix
        .strip_prefix('/')
        .is_some_and(|name| !name.contains('/'))
        && before.trim().is_empty();
    if is_command {
        let start = format!("{before}/{} ", item.value);
        return CompletedLine {
            offset: start.len(),
            line: start + after,
        };
    }
    let is_directory = item.label.ends_with('/');
    let space = if prefix.starts_with('@') && !is_directory {
        " "
    } else {
        ""
    };
    let start = format!("{before}{}{space}", item.value);
    // Keep the cursor inside the quotes of a directory, so that typing can continue.
    let back = usize::from(is_directory && closes_quote);
    CompletedLine {
        offset: start.len() - back,
        line: start + after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn attachments_start_at_a_token() {
        let cases = [
            ("@", Some("@")),
            ("see @src/ma", Some("@src/ma")),
            ("a@b", None),
            ("x=@b", Some("@b")),
            ("看，@文件", Some("@文件")),
            ("@\"my fi", Some("@\"my fi")),
            ("@\"my file\" ", None),
            ("@a b", None),
        ];
        for (text, expected) in cases {
            assert_eq!(attachment(text), expected, "{text:?}");
        }
    }

    #[test]
    fn paths_are_recognized() {
        let cases = [
            ("src/", Some("src/")),
            ("cat ./a", Some("./a")),
            ("~/x", Some("~/x")),
            ("word", None),
            ("", None),
            ("cat ", Some("")),
            ("say \"my d", Some("\"my d")),
        ];
        for (text, expected) in cases {
            assert_eq!(path(text), expected, "{text:?}");
        }
        assert_eq!(path_on_demand("cat wor"), "wor");
        assert!(!allows_path("/mod"));
        assert!(allows_path("/model x"));
    }

    #[test]
    fn a_completion_replaces_its_prefix() {
        let item = |value: &str, label: &str| SelectItem {
            value: value.to_owned(),
            label: label.to_owned(),
            description: None,
        };
        // Line with `|` for the cursor, prefix, item, resulting line.
        let cases = [
            ("/mo|", "/mo", item("model", "model"), "/model |"),
            (
                "see @ma|x",
                "@ma",
                item("@main.rs", "main.rs"),
                "see @main.rs |x",
            ),
            ("@sr|", "@sr", item("@src/", "src/"), "@src/|"),
            (
                "@\"my|\"",
                "@\"my",
                item("@\"my dir/\"", "my dir/"),
                "@\"my dir/|\"",
            ),
            (
                "@\"my|\"",
                "@\"my",
                item("@\"my f\"", "my f"),
                "@\"my f\" |",
            ),
            ("cat s|", "s", item("src/", "src/"), "cat src/|"),
            ("cat /us|", "/us", item("/usr/", "usr/"), "cat /usr/|"),
            ("/model g|", "g", item("gpt", "gpt"), "/model gpt|"),
        ];
        for (line, prefix, item, expected) in cases {
            let offset = line.find('|').unwrap();
            let completed = complete(&line.replace('|', ""), offset, &item, prefix);
            let mut shown = completed.line;
            shown.insert(completed.offset, '|');
            assert_eq!(shown, expected, "{line}");
        }
    }

    #[test]
    fn symbols_trigger_only_at_the_start_of_a_token() {
        let triggers = ['@', '#'];
        for (text, expected) in [
            ("@", true),
            ("a #12", true),
            ("a@b", false),
            ("@a b", false),
            ("x @\"a b", true),
            ("x @\"a b\" c", false),
        ] {
            assert_eq!(in_symbol_token(text, &triggers), expected, "{text:?}");
        }
    }
}
