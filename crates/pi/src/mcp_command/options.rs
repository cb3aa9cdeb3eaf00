//! Parses the options of `pi mcp`.

use super::usage;
use crate::output::Failure;

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionKind {
    Flag,
    Value,
    /// A value; the option may be repeated.
    List,
}

/// Parsed options.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct McpOptions {
    pub(super) positional: Vec<String>,
    /// In the order of the command line.
    values: Vec<(String, String)>,
}

impl McpOptions {
    /// Parses arguments. `--` ends the options, and so does the positional argument number `limit`: the rest belongs to a
    /// command.
    pub(super) fn parse(
        words: &[String],
        known: &[(&str, OptionKind)],
        limit: usize,
    ) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let name = match word.as_str() {
                "-l" => "--local",
                "-y" => "--yes",
                other => other,
            };
            if name == "--" {
                options.positional.extend(words.cloned());
                break;
            }
            let Some(name) = name.strip_prefix("--") else {
                options.positional.push(word.clone());
                if options.positional.len() >= limit {
                    options.positional.extend(words.cloned());
                    break;
                }
                continue;
            };
            let Some((_, kind)) = known.iter().find(|(known, _)| *known == name) else {
                return Err(usage(format!("unknown option {word}")));
            };
            let value = match kind {
                OptionKind::Flag => String::new(),
                OptionKind::Value | OptionKind::List => {
                    let value = words.next();
                    value
                        .ok_or_else(|| usage(format!("--{name} needs a value")))?
                        .clone()
                }
            };
            if *kind != OptionKind::List {
                options.values.retain(|(known, _)| known != name);
            }
            options.values.push((name.to_owned(), value));
        }
        Ok(options)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.list(name).next()
    }

    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.values.iter();
        values
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the only positional argument.
    pub(super) fn server(&self) -> Option<&str> {
        match self.positional.as_slice() {
            [name] if !name.is_empty() => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const KNOWN: [(&str, OptionKind); 3] = [
        ("local", OptionKind::Flag),
        ("url", OptionKind::Value),
        ("env", OptionKind::List),
    ];

    fn parse(line: &str) -> Result<McpOptions, Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        McpOptions::parse(&words, &KNOWN, 2)
    }

    #[test]
    fn the_rest_after_the_command_belongs_to_it() {
        for line in ["x -l -- cmd --url -l", "-l x cmd --url -l"] {
            let options = parse(line).unwrap();
            assert_eq!(options.positional, ["x", "cmd", "--url", "-l"], "{line}");
            assert!(options.has("local"));
            assert!(!options.has("url"));
        }
    }

    #[test]
    fn values_are_collected() {
        let options = parse("x --env A=1 --env B=2 --url a --url b").unwrap();
        assert_eq!(options.list("env").collect::<Vec<_>>(), ["A=1", "B=2"]);
        assert_eq!(options.value("url"), Some("b"));
        assert_eq!(options.server(), Some("x"));
    }

    #[test]
    fn unknown_options_and_missing_values_are_errors() {
        assert!(parse("x --nope").unwrap_err().cause.contains("--nope"));
        assert!(parse("x --url").unwrap_err().cause.contains("--url"));
    }
}
