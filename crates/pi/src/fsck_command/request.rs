//! What a command line of `pi fsck` asks for.

use std::ffi::OsString;

use crate::output::Failure;

/// What is to be done with which files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FsckRequest {
    pub(super) subject: Subject,
    pub(super) repair: bool,
    pub(super) json: bool,
    pub(super) session_dir: Option<String>,
}

/// Which files are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    /// Those of the project.
    Project,
    /// Those of every project.
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Subject {
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Self::Named(_))
    }
}

/// Reads the words after `fsck`; none asks for help.
pub(super) fn parse(words: Vec<OsString>) -> Result<Option<FsckRequest>, Failure> {
    let mut request = FsckRequest {
        subject: Subject::Project,
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
                None => return Err(wrong("--session-dir needs a folder")),
            },
            option if option.starts_with('-') => {
                return Err(wrong(format!("pi fsck has no option {option}")));
            }
            _ => names.push(word),
        }
    }
    request.subject = match (all, names.is_empty()) {
        (true, true) => Subject::All,
        (false, true) => Subject::Project,
        (false, false) => Subject::Named(names),
        (true, false) => {
            return Err(wrong("--all cannot be combined with the name of a session"));
        }
    };
    Ok(Some(request))
}

fn wrong(cause: impl Into<String>) -> Failure {
    Failure::new(cause).hint("pi fsck --help shows what can be asked for")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parsed(line: &str) -> Result<Option<FsckRequest>, Failure> {
        parse(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn command_lines_say_which_files_and_what_to_do() {
        let request = |subject| FsckRequest {
            subject,
            repair: false,
            json: false,
            session_dir: None,
        };
        let named = |names: &[&str]| Subject::Named(names.iter().map(|&it| it.into()).collect());
        for (line, expected) in [
            ("", request(Subject::Project)),
            ("--all", request(Subject::All)),
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
