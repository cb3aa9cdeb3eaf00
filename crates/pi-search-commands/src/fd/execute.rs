//! Runs a command with the results.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{FOUND, report};

/// Bytes of paths in one command line; systems accept at least twice as much.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Runs a command for each result, and returns the exit code of `fd`.
pub(super) fn each(command: &[OsString], found: &[PathBuf]) -> u8 {
    let mut code = FOUND;
    for path in found {
        let words = expand(command, std::slice::from_ref(path));
        code = code.max(run(&words));
    }
    code
}

/// Runs a command with all results, several times if they do not fit.
pub(super) fn batch(command: &[OsString], found: &[PathBuf]) -> u8 {
    let mut code = FOUND;
    let mut rest = found;
    while !rest.is_empty() {
        let mut bytes = 0;
        let count = rest
            .iter()
            .take_while(|path| {
                bytes += path.as_os_str().len() + 1;
                bytes <= MAX_BATCH_BYTES
            })
            .count();
        let (paths, later) = rest.split_at(count.max(1));
        code = code.max(run(&expand(command, paths)));
        rest = later;
    }
    code
}

fn run(words: &[OsString]) -> u8 {
    let Some((program, arguments)) = words.split_first() else {
        return FOUND;
    };
    match Command::new(program).args(arguments).status() {
        Ok(status) => u8::from(!status.success()),
        Err(error) => {
            report("fd", &format!("{}: {error}", program.display()));
            1
        }
    }
}

/// Replaces placeholders; a word that is one becomes a word per path, and without any the paths are added at the end.
fn expand(command: &[OsString], paths: &[PathBuf]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut has_placeholder = false;
    for word in command {
        let text = word.to_str().unwrap_or_default();
        if PLACEHOLDERS.iter().any(|(name, _)| text.contains(name)) {
            has_placeholder = true;
            words.extend(paths.iter().map(|path| filled(text, path)));
        } else {
            words.push(word.clone());
        }
    }
    if !has_placeholder {
        words.extend(paths.iter().map(|path| path.clone().into_os_string()));
    }
    words
}

/// A placeholder, and the part of the path that replaces it. Longer ones come first.
type Placeholder = (&'static str, fn(&Path) -> OsString);

const PLACEHOLDERS: [Placeholder; 5] = [
    ("{//}", |path| {
        let parent = path.parent().unwrap_or(path);
        if parent.as_os_str().is_empty() {
            ".".into()
        } else {
            parent.into()
        }
    }),
    ("{/.}", |path| {
        path.file_stem().unwrap_or_default().to_owned()
    }),
    ("{/}", |path| {
        path.file_name().unwrap_or_default().to_owned()
    }),
    ("{.}", |path| path.with_extension("").into_os_string()),
    ("{}", |path| path.as_os_str().to_owned()),
];

fn filled(text: &str, path: &Path) -> OsString {
    let mut filled = OsString::new();
    let mut rest = text;
    while !rest.is_empty() {
        let next = PLACEHOLDERS.iter().find_map(|(name, part)| {
            let after = rest.strip_prefix(name)?;
            Some((part(path), after))
        });
        match next {
            Some((part, after)) => {
                filled.push(part);
                rest = after;
            }
            None => {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                let (letter, after) = rest.split_at(length);
                filled.push(OsStr::new(letter));
                rest = after;
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let paths = [PathBuf::from("src/a.rs"), PathBuf::from("b.txt")];
        for (command, expected) in [
            ("wc -l", "wc -l src/a.rs b.txt"),
            ("echo {}", "echo src/a.rs b.txt"),
            ("x {/}:{.} y", "x a.rs:src/a b.txt:b y"),
            ("x {//} {/.}", "x src . a b"),
        ] {
            assert_eq!(
                expand(&words(command), &paths),
                words(expected),
                "{command}"
            );
        }
    }
}
