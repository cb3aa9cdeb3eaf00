//! Arguments of `pi fsck`.

use std::ffi::OsString;

use crate::output::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FsckRequest {
    pub(super) subject: FsckTarget,
    pub(super) repair: bool,
    pub(super) json: bool,
    pub(super) session_dir: Option<String>,
}

/// The files to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FsckTarget {
    Project,
    All,
    Named(Vec<String>),
}

impl FsckTarget {
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Self::Named(_))
    }
}

/// Parses the arguments after `fsck`; `None` means help.
pub(super) fn parse(words: Vec<OsString>) -> Result<Option<FsckRequest>, Failure> {
    let mut request = FsckRequest {
        subject: FsckTarget::Project,
        repair: false,
        json: false,
        session_dir: None,
    };
    let mut names = Vec::new();
    let mut all = false;
    let mut options_ended = false;
    let mut words = words
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        match word.as_str() {
            _ if options_ended => names.push(word),
            "--" => options_ended = true,
            "--help" | "-h" => return Ok(None),
            "--all" => all = true,
            "--repair" => request.repair = true,
            "--json" => request.json = true,
            "--session-dir" => match words.next() {
                Some(directory) => request.session_dir = Some(directory),
                None => return Err(usage_error("--session-dir needs a directory")),
            },
            option if option.starts_with('-') => {
                return Err(usage_error(format!("pi fsck has no option {option}")));
            }
            _ => names.push(word),
        }
    }
    request.subject = match (all, names.is_empty()) {
        (true, true) => FsckTarget::All,
        (false, true) => FsckTarget::Project,
        (false, false) => FsckTarget::Named(names),
        (true, false) => {
            return Err(usage_error("--all cannot be combined with session names"));
        }
    };
    Ok(Some(request))
}

fn usage_error(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("run pi fsck --help for usage")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(line: &str) -> Result<Option<FsckRequest>, Failure> {
        parse(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn arguments_select_files_and_actions() {
        let request = |subject| FsckRequest {
            subject,
            repair: false,
            json: false,
            session_dir: None,
        };
        let named = |names: &[&str]| FsckTarget::Named(names.iter().map(|&it| it.into()).collect());
        for (line, expected) in [
            ("", request(FsckTarget::Project)),
            ("--all", request(FsckTarget::All)),
            ("a b.jsonl", request(named(&["a", "b.jsonl"]))),
            ("-- -a", request(named(&["-a"]))),
            (
                "--repair a --json --session-dir d",
                FsckRequest {
                    repair: true,
                    json: true,
                    session_dir: Some("d".to_owned()),
                    ..request(named(&["a"]))
                },
            ),
        ] {
            assert_eq!(parsed(line), Ok(Some(expected)), "{line}");
        }
        assert_eq!(parsed("--help x"), Ok(None));
        for line in ["--frobnicate", "-n", "--all a", "--session-dir"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
