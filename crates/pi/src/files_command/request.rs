//! Arguments of `pi files`.

use std::ffi::OsString;
use std::path::PathBuf;

use pi_checkpoint::Resolution;

use crate::output::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilesRequest {
    pub(super) action: FilesAction,
    pub(super) session: Option<String>,
    pub(super) session_dir: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilesAction {
    List,
    Diff {
        entry: String,
        path: Option<PathBuf>,
    },
    Restore {
        entry: String,
        path: Option<PathBuf>,
        resolution: Resolution,
    },
}

/// Parses the arguments after `files`; `None` means help.
pub(super) fn parse(words: Vec<OsString>) -> Result<Option<FilesRequest>, Failure> {
    let mut names = Vec::new();
    let mut session = None;
    let mut session_dir = None;
    let mut resolution = Resolution::Skip;
    let mut options_ended = false;
    let mut words = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            _ if options_ended => names.push(word),
            "--" => options_ended = true,
            "--help" | "-h" => return Ok(None),
            "--overwrite" => resolution = Resolution::Overwrite,
            "--next-to" => resolution = Resolution::WriteNextTo,
            "--session" => session = Some(value(words.next(), "--session needs a session")?),
            "--session-dir" => {
                session_dir = Some(value(words.next(), "--session-dir needs a directory")?);
            }
            option if option.starts_with('-') => {
                return Err(usage_error(format!("pi files has no option {option}")));
            }
            _ => names.push(word),
        }
    }
    let path = |path: &str| Some(PathBuf::from(path));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (entry, path) = match names.as_slice() {
        [] => return Ok(None),
        ["list"] => (String::new(), None),
        ["list", name] => {
            session = Some((*name).to_owned());
            (String::new(), None)
        }
        ["diff" | "restore", entry] => ((*entry).to_owned(), None),
        ["diff" | "restore", entry, name] => ((*entry).to_owned(), path(name)),
        ["diff" | "restore"] => return Err(usage_error("an entry ID is missing")),
        ["list" | "diff" | "restore", ..] => return Err(usage_error("too many arguments")),
        [word, ..] => return Err(usage_error(format!("pi files has no command {word}"))),
    };
    let action = match names.first() {
        Some(&"diff") => FilesAction::Diff { entry, path },
        Some(&"restore") => FilesAction::Restore {
            entry,
            path,
            resolution,
        },
        _ => FilesAction::List,
    };
    Ok(Some(FilesRequest {
        action,
        session,
        session_dir,
    }))
}

fn value(word: Option<String>, missing: &str) -> Result<String, Failure> {
    word.ok_or_else(|| usage_error(missing))
}

fn usage_error(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi files --help for usage")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(line: &str) -> Result<Option<FilesRequest>, Failure> {
        parse(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn arguments_select_the_action() {
        let request = |action| FilesRequest {
            action,
            session: None,
            session_dir: None,
        };
        let restore = |path: Option<&str>, resolution| FilesAction::Restore {
            entry: "e1".to_owned(),
            path: path.map(PathBuf::from),
            resolution,
        };
        let diff = FilesAction::Diff {
            entry: "e1".to_owned(),
            path: None,
        };
        for (line, expected) in [
            ("list", request(FilesAction::List)),
            (
                "list s1",
                FilesRequest {
                    session: Some("s1".to_owned()),
                    ..request(FilesAction::List)
                },
            ),
            ("diff e1", request(diff)),
            ("restore e1", request(restore(None, Resolution::Skip))),
            (
                "restore --next-to e1 -- -x",
                request(restore(Some("-x"), Resolution::WriteNextTo)),
            ),
            (
                "restore e1 src --overwrite --session s1 --session-dir d",
                FilesRequest {
                    session: Some("s1".to_owned()),
                    session_dir: Some("d".to_owned()),
                    ..request(restore(Some("src"), Resolution::Overwrite))
                },
            ),
        ] {
            assert_eq!(parsed(line), Ok(Some(expected)), "{line}");
        }
        assert_eq!(parsed(""), Ok(None));
        assert_eq!(parsed("restore --help"), Ok(None));
        for line in [
            "nope",
            "restore",
            "diff a b c",
            "list a b",
            "--nope",
            "restore a --session",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
