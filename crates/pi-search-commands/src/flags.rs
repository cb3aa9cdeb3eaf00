//! Splits a command line into flags and operands.

use std::ffi::OsString;

/// A flag by its long name, its letter, and whether it takes a value.
pub(crate) type Flag = (&'static str, Option<char>, Takes);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    /// A value only after `=`.
    OptionalValue,
    /// All words up to the end or to `;`.
    Command,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Flag(&'static str, String),
    /// A flag with a command.
    Command(&'static str, Vec<OsString>),
    Operand(OsString),
}

/// Splits words; `--` makes the rest operands.
pub(crate) fn split(flags: &[Flag], words: Vec<OsString>) -> Result<Vec<Word>, String> {
    let mut split = Vec::new();
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "--" {
            split.extend(rest.by_ref().map(Word::Operand));
        } else if let Some(name) = text.strip_prefix("--") {
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let known = flags.iter().find(|(long, ..)| *long == name);
            let flag = known.ok_or_else(|| format!("unrecognized flag --{name}"))?;
            split.push(complete(*flag, value, &mut rest)?);
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            split_letters(flags, letters, &mut rest, &mut split)?;
        } else {
            split.push(Word::Operand(word));
        }
    }
    Ok(split)
}

/// Splits letters like `-inC3`.
fn split_letters(
    flags: &[Flag],
    letters: &str,
    rest: &mut impl Iterator<Item = OsString>,
    split: &mut Vec<Word>,
) -> Result<(), String> {
    let mut letters = letters.chars();
    while let Some(letter) = letters.next() {
        let known = flags.iter().find(|(_, short, _)| *short == Some(letter));
        let flag = known.ok_or_else(|| format!("unrecognized flag -{letter}"))?;
        let attached = match flag.2 {
            Takes::Value => letters
                .as_str()
                .strip_prefix('=')
                .or(Some(letters.as_str())),
            _ => None,
        };
        let attached = attached.filter(|value| !value.is_empty());
        split.push(complete(*flag, attached.map(str::to_owned), rest)?);
        if attached.is_some() {
            break;
        }
    }
    Ok(())
}

fn complete(
    (name, _, takes): Flag,
    value: Option<String>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<Word, String> {
    match (takes, value) {
        (Takes::Nothing, Some(_)) => Err(format!("flag --{name} takes no value")),
        (Takes::Command, _) => {
            let command: Vec<OsString> = rest.take_while(|word| word != ";").collect();
            if command.is_empty() {
                return Err(format!("missing command for flag --{name}"));
            }
            Ok(Word::Command(name, command))
        }
        (Takes::Nothing | Takes::OptionalValue, value) => {
            Ok(Word::Flag(name, value.unwrap_or_default()))
        }
        (Takes::Value, Some(value)) => Ok(Word::Flag(name, value)),
        (Takes::Value, None) => {
            let value = rest.next().and_then(|word| word.into_string().ok());
            let value = value.ok_or_else(|| format!("missing value for flag --{name}"))?;
            Ok(Word::Flag(name, value))
        }
    }
}

/// Returns the flags as a list for people.
pub(crate) fn list(flags: &[Flag]) -> String {
    let mut text = String::from("options:");
    for (long, short, takes) in flags {
        text.push_str("\n  ");
        match short {
            Some(letter) => text.extend(['-', *letter, ',', ' ']),
            None => text.push_str("    "),
        }
        text.push_str("--");
        text.push_str(long);
        text.push_str(match takes {
            Takes::Nothing => "",
            Takes::Value => " VALUE",
            Takes::OptionalValue => "[=VALUE]",
            Takes::Command => " COMMAND",
        });
    }
    text
}

/// Parses the number of a flag.
pub(crate) fn number<Number: std::str::FromStr>(name: &str, value: &str) -> Result<Number, String> {
    let number = value.trim().parse();
    number.map_err(|_error| format!("--{name} needs a number, got {value:?}"))
}

/// Parses a size like `10M`; the suffixes are powers of 1024, or of 1000 where `decimal` is set and no `i` follows.
pub(crate) fn size(name: &str, value: &str, decimal: bool) -> Result<u64, String> {
    let digits = value.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let suffix = value.strip_prefix(digits).unwrap_or_default();
    let suffix = suffix.to_ascii_lowercase();
    let base: u64 = if decimal && !suffix.contains('i') {
        1000
    } else {
        1024
    };
    let power = match suffix.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return Err(format!("--{name} needs a size like 10M, got {value:?}")),
    };
    number::<u64>(name, digits)?
        .checked_mul(base.pow(power))
        .ok_or_else(|| format!("--{name}: {value} is too large"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const FLAGS: [Flag; 4] = [
        ("ignore-case", Some('i'), Takes::Nothing),
        ("context", Some('C'), Takes::Value),
        ("color", None, Takes::OptionalValue),
        ("exec", Some('x'), Takes::Command),
    ];

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn flags_and_operands_are_split() {
        let flag = |name, value: &str| Word::Flag(name, value.to_owned());
        let operand = |text: &str| Word::Operand(text.into());
        for (line, expected) in [
            (
                "-iC3 x",
                vec![flag("ignore-case", ""), flag("context", "3"), operand("x")],
            ),
            (
                "-C 3 --context=4",
                vec![flag("context", "3"), flag("context", "4")],
            ),
            (
                "--color=never - a",
                vec![flag("color", "never"), operand("-"), operand("a")],
            ),
            ("-i -- -C", vec![flag("ignore-case", ""), operand("-C")]),
            (
                "a -x echo {} -i ; b",
                vec![
                    operand("a"),
                    Word::Command("exec", words("echo {} -i")),
                    operand("b"),
                ],
            ),
        ] {
            assert_eq!(split(&FLAGS, words(line)), Ok(expected), "{line}");
        }
    }

    #[test]
    fn wrong_flags_are_named() {
        for (line, problem) in [
            ("--nope", "unrecognized flag --nope"),
            ("-iZ", "unrecognized flag -Z"),
            ("-C", "missing value for flag --context"),
            ("--ignore-case=1", "flag --ignore-case takes no value"),
            ("-x", "missing command for flag --exec"),
        ] {
            assert_eq!(split(&FLAGS, words(line)), Err(problem.to_owned()));
        }
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(size("s", "10", false), Ok(10));
        assert_eq!(size("s", "2K", false), Ok(2048));
        assert_eq!(size("s", "1mb", true), Ok(1_000_000));
        assert_eq!(size("s", "1mi", true), Ok(1_048_576));
        assert!(size("s", "x", false).is_err());
        assert!(size("s", "99999999999999999999k", false).is_err());
        assert!(size("s", "9999999999999999t", false).is_err());
    }
}
