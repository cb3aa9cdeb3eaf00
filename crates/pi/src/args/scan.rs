//! Splits the command line into flags, values, files and messages, without interpreting values.

use super::UnknownFlag;
use super::flag::{Flag, Takes};
use super::sandbox_mode::resembles_mode;

/// One argument, or a flag with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// A built-in flag with its value.
    Flag(Flag, Option<String>),
    /// A built-in flag without its required value.
    Missing(Flag),
    UnknownShort(String),
    /// A long flag that an extension may register.
    UnknownLong(UnknownFlag),
    /// `@` and a path.
    File(String),
    Message(String),
}

pub(super) fn scan(words: &[String]) -> Vec<Word> {
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut scanned = Vec::with_capacity(words.len());
    while let Some(word) = rest.next() {
        if word == "--" {
            scanned.extend(rest.map(positional));
            break;
        }
        // A flag without its value at the end of the line is left to extensions.
        let flag = Flag::find(word)
            .filter(|flag| !matches!(flag.takes(), Takes::Value(_)) || rest.peek().is_some());
        scanned.push(match flag {
            Some(flag) => known(flag, &mut rest),
            None => unknown(word, &mut rest),
        });
    }
    scanned
}

fn known<'a>(flag: Flag, rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Word {
    let value = match flag.takes() {
        Takes::Nothing => return Word::Flag(flag, None),
        Takes::Value(_) | Takes::Required(_) => rest.next(),
        Takes::RequiredWord(_) => rest.next_if(|next| !next.starts_with('-')),
        Takes::Optional(_) => {
            let value = rest.next_if(|next| is_value(next));
            return Word::Flag(flag, value.map(str::to_owned));
        }
        Takes::OptionalWord(_, words) => {
            let value = rest.next_if(|next| {
                words.contains(next) || flag == Flag::Sandbox && resembles_mode(next)
            });
            return Word::Flag(flag, value.map(str::to_owned));
        }
        Takes::Message(_) => {
            let value = rest.next_if(|next| is_value(next) || next.starts_with("---"));
            return Word::Flag(flag, value.map(str::to_owned));
        }
    };
    match value {
        Some(value) => Word::Flag(flag, Some(value.to_owned())),
        None => Word::Missing(flag),
    }
}

fn unknown<'a>(word: &str, rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> Word {
    let Some(long) = word.strip_prefix("--") else {
        return if word.starts_with('-') {
            Word::UnknownShort(word.to_owned())
        } else {
            positional(word)
        };
    };
    let (name, value) = match long.split_once('=') {
        Some(("sandbox", mode)) => return Word::Flag(Flag::Sandbox, Some(mode.to_owned())),
        Some((name, value)) => (name, Some(value)),
        None => (long, rest.next_if(|next| is_value(next))),
    };
    Word::UnknownLong(UnknownFlag {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    })
}

fn positional(word: &str) -> Word {
    match word.strip_prefix('@') {
        Some(path) => Word::File(path.to_owned()),
        None => Word::Message(word.to_owned()),
    }
}

fn is_value(word: &str) -> bool {
    !word.starts_with(['-', '@'])
}
