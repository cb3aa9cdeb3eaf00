//! Prompt template arguments: splitting the user's input and substituting placeholders.
//!
//! Substitution is a single pass over the template. Arguments and defaults are never expanded
//! again, so a literal `$1` in an argument is preserved.

use std::collections::BTreeSet;

/// Once the result is this large, the remaining placeholders are not expanded.
const MAX_EXPANDED_BYTES: usize = 32 * 1024 * 1024;

/// Splits arguments at whitespace. Single and double quotes group words and are removed; there
/// are no escapes. An empty argument must be quoted.
pub fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current = String::new();
    let mut quote = None;
    let mut is_quoted = false;
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            None if character == '"' || character == '\'' => {
                quote = Some(character);
                is_quoted = true;
            }
            None if character.is_whitespace() => {
                if is_quoted || !current.is_empty() {
                    arguments.push(std::mem::take(&mut current));
                }
                is_quoted = false;
            }
            Some(_) | None => current.push(character),
        }
    }
    if is_quoted || !current.is_empty() {
        arguments.push(current);
    }
    arguments
}

/// Substitutes the placeholders of a template.
pub(crate) fn substitute(template: &str, arguments: &[String]) -> String {
    let mut result = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        match Placeholder::parse(after) {
            Some((placeholder, remaining)) if result.len() < MAX_EXPANDED_BYTES => {
                placeholder.fill(arguments, &mut result);
                rest = remaining;
            }
            Some(_) | None => {
                result.push('$');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    result
}

/// The arguments that the placeholders of a template use.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct UsedArguments {
    pub(super) positions: BTreeSet<usize>,
    /// Whether all arguments or a range of them are used.
    pub(super) has_all: bool,
}

impl UsedArguments {
    pub(super) fn of(template: &str) -> Self {
        let mut used = Self::default();
        let mut rest = template;
        while let Some((_, after)) = rest.split_once('$') {
            rest = match Placeholder::parse(after) {
                Some((placeholder, remaining)) => {
                    used.add(&placeholder);
                    remaining
                }
                None => after,
            };
        }
        used
    }

    fn add(&mut self, placeholder: &Placeholder<'_>) {
        match placeholder {
            Placeholder::Plain(Target::Position(position))
            | Placeholder::WithDefault(Target::Position(position), _) => {
                self.positions.insert(*position);
            }
            Placeholder::Plain(Target::All)
            | Placeholder::WithDefault(Target::All, _)
            | Placeholder::Slice { .. } => self.has_all = true,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Placeholder<'a> {
    /// `$@`, `$ARGUMENTS`, `$1`.
    Plain(Target),
    /// `${1:-text}`: the text if the argument is missing or empty.
    WithDefault(Target, &'a str),
    /// `${@:2}`, `${@:2:1}`: a range of arguments, starting at 1.
    Slice { start: usize, length: Option<usize> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    All,
    Position(usize),
}

impl<'a> Placeholder<'a> {
    /// Parses the text after a `$`; returns the placeholder and the remaining text.
    fn parse(text: &'a str) -> Option<(Self, &'a str)> {
        let Some(inner) = text.strip_prefix('{') else {
            let (target, rest) = Target::parse(text)?;
            return Some((Self::Plain(target), rest));
        };
        let (target, after) = Target::parse(inner)?;
        if let Some(rest) = after.strip_prefix(":-") {
            let (default, rest) = rest.split_once('}')?;
            return Some((Self::WithDefault(target, default), rest));
        }
        let (start, after) = number(inner.strip_prefix("@:")?)?;
        if let Some(rest) = after.strip_prefix('}') {
            return Some((
                Self::Slice {
                    start,
                    length: None,
                },
                rest,
            ));
        }
        let (length, after) = number(after.strip_prefix(':')?)?;
        let rest = after.strip_prefix('}')?;
        let length = Some(length);
        Some((Self::Slice { start, length }, rest))
    }

    fn fill(&self, arguments: &[String], result: &mut String) {
        match self {
            Self::Plain(target) => target.fill(arguments, result),
            Self::WithDefault(target, default) => {
                let length = result.len();
                target.fill(arguments, result);
                if result.len() == length {
                    result.push_str(default);
                }
            }
            Self::Slice { start, length } => {
                let skipped = start.saturating_sub(1);
                let taken = length.unwrap_or(usize::MAX);
                join(arguments.iter().skip(skipped).take(taken), result);
            }
        }
    }
}

impl Target {
    fn parse(text: &str) -> Option<(Self, &str)> {
        let all = text
            .strip_prefix('@')
            .or_else(|| text.strip_prefix("ARGUMENTS"));
        match all {
            Some(rest) => Some((Self::All, rest)),
            None => number(text).map(|(position, rest)| (Self::Position(position), rest)),
        }
    }

    fn fill(self, arguments: &[String], result: &mut String) {
        match self {
            Self::All => join(arguments.iter(), result),
            Self::Position(position) => {
                let argument = position
                    .checked_sub(1)
                    .and_then(|index| arguments.get(index));
                result.push_str(argument.map_or("", String::as_str));
            }
        }
    }
}

/// Parses leading digits; saturates on overflow.
fn number(text: &str) -> Option<(usize, &str)> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    (!digits.is_empty()).then(|| (digits.parse().unwrap_or(usize::MAX), rest))
}

fn join<'a>(arguments: impl Iterator<Item = &'a String>, result: &mut String) {
    for (index, argument) in arguments.enumerate() {
        if index > 0 {
            result.push(' ');
        }
        result.push_str(argument);
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn arguments(list: &[&str]) -> Vec<String> {
        list.iter().map(|argument| (*argument).to_owned()).collect()
    }

    #[test]
    fn arguments_are_split_at_unquoted_whitespace() {
        for (text, expected) in [
            ("", vec![]),
            ("  one\ttwo\nthree ", vec!["one", "two", "three"]),
            (
                "one \"two words\" 'three x' four",
                vec!["one", "two words", "three x", "four"],
            ),
            ("a\"b c\"d", vec!["ab cd"]),
            ("\"it's\" '\"'", vec!["it's", "\""]),
            ("'' \"\" x", vec!["", "", "x"]),
            ("\"open ended", vec!["open ended"]),
            (r"a\ b", vec![r"a\", "b"]),
        ] {
            assert_eq!(split_arguments(text), arguments(&expected), "{text:?}");
        }
    }

    #[test]
    fn all_placeholder_forms_are_substituted() {
        let three = arguments(&["one", "two words", "x"]);
        for (template, filled, without) in [
            ("$1-$2-$4", "one-two words-", "--"),
            ("$@|$ARGUMENTS", "one two words x|one two words x", "|"),
            ("$ARGUMENTSx", "one two words xx", "x"),
            ("${3:-d}${4:-d}", "xd", "dd"),
            ("${@:-none}", "one two words x", "none"),
            ("${ARGUMENTS:-a b}", "one two words x", "a b"),
            ("${9:-}", "", ""),
            ("${@:2}", "two words x", ""),
            ("${@:0}", "one two words x", ""),
            ("${@:2:1}", "two words", ""),
            ("${@:2:0}", "", ""),
            ("$0", "", ""),
            ("$10", "", ""),
            ("$99999999999999999999999", "", ""),
            ("${1}", "${1}", "${1}"),
            ("${ARGUMENTS:2}", "${ARGUMENTS:2}", "${ARGUMENTS:2}"),
            ("${@:x}", "${@:x}", "${@:x}"),
            ("${@:1:", "${@:1:", "${@:1:"),
            ("${1:-open", "${1:-open", "${1:-open"),
            ("$", "$", "$"),
            ("$$1", "$one", "$"),
            ("100$ é", "100$ é", "100$ é"),
            ("${4:-$1}", "$1", "$1"),
        ] {
            assert_eq!(substitute(template, &three), filled, "{template}");
            assert_eq!(
                substitute(template, &[]),
                without,
                "{template} without arguments"
            );
        }
    }

    #[test]
    fn growth_is_bounded() {
        let template = "$@".repeat(10_000);
        let filled = substitute(&template, &["x".repeat(100_000)]);
        assert!(filled.len() < MAX_EXPANDED_BYTES + 200_000);
    }

    /// Generates text with valid and almost valid placeholders.
    fn pieces() -> impl Strategy<Value = String> {
        let known = proptest::sample::select(vec![
            "$1",
            "$2",
            "$@",
            "$ARGUMENTS",
            "${1:-$2}",
            "${@:1}",
            "${@:2:1}",
            "${@:-$@}",
            "$",
            "{",
            "}",
            ":",
            "-",
            "1",
            "@",
            "ARGUMENTS",
            " ",
            "text",
            "é",
        ]);
        proptest::collection::vec(known, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Substituting markers that cannot be placeholders, then replacing the markers with the real
        /// arguments, is the same as substituting the real arguments: nothing from an
        /// argument was parsed as a template.
        #[test]
        fn arguments_are_never_expanded(template in pieces(), first in pieces(), second in pieces()) {
            prop_assume!(!first.is_empty() && !second.is_empty());
            let marked = substitute(&template, &arguments(&["\u{1}", "\u{2}"]));
            let expected: String = marked.chars().map(|character| match character {
                '\u{1}' => first.clone(),
                '\u{2}' => second.clone(),
                other => other.to_string(),
            }).collect();
            prop_assert_eq!(substitute(&template, &[first, second]), expected);
        }

        #[test]
        fn template_without_dollars_is_unchanged(template in "[^$]{0,40}", argument in ".{0,10}") {
            prop_assert_eq!(substitute(&template, std::slice::from_ref(&argument)), template);
        }

        #[test]
        fn splitting_removes_only_quotes_and_whitespace(text in ".{0,60}") {
            let kept: String = split_arguments(&text).concat();
            let quoteless = |text: &str| -> String {
                text.chars().filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'').collect()
            };
            prop_assert_eq!(quoteless(&kept), quoteless(&text));
        }
    }
}
