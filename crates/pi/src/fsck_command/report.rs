//! What is told of session files that were looked at.

use std::fmt::Write as _;
use std::path::Path;

use pi_session::{SessionProblem, SessionRepair, SessionCheck, Severity};
use serde::Serialize;

use super::request::{FsckRequest, Subject};
use crate::output::{Exit, Failure};

/// How many problems of one file a person is shown.
const MOST_SHOWN: usize = 20;

/// What became of a file.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was looked at.
    Checked(SessionCheck),
    Repaired(SessionRepair),
    /// It could not be looked at, or not be repaired.
    Failed(Option<SessionCheck>, Failure),
}

/// A file as scripts read it.
#[derive(Debug, Serialize)]
struct Line<'outcome> {
    path: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    damage: usize,
    notes: usize,
    problems: Vec<ProblemLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'outcome str>,
}

#[derive(Debug, Serialize)]
struct ProblemLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    kind: &'static str,
    severity: &'static str,
    cause: String,
    meaning: &'static str,
}

impl ProblemLine {
    fn of(problem: &SessionProblem) -> Self {
        Self {
            line: problem.line,
            kind: problem.kind.name(),
            severity: match problem.kind.severity() {
                Severity::Damage => "damage",
                Severity::Note => "note",
            },
            cause: problem.kind.description(),
            meaning: problem.kind.consequence(),
        }
    }
}

impl Outcome {
    fn check(&self) -> Option<&SessionCheck> {
        match self {
            Self::Checked(check) => Some(check),
            Self::Repaired(repair) => Some(&repair.found),
            Self::Failed(check, _) => check.as_ref(),
        }
    }

    fn status(&self) -> &'static str {
        match self {
            Self::Checked(check) if check.is_sound() => "sound",
            Self::Checked(_) => "damaged",
            Self::Repaired(_) => "repaired",
            Self::Failed(..) => "failed",
        }
    }

    /// Spells the outcome as a line of JSON.
    pub(super) fn json(&self, file: &Path) -> Result<String, serde_json::Error> {
        let check = self.check();
        let named = |path: &Path| path.to_string_lossy().into_owned();
        let (backup, lost) = match self {
            Self::Repaired(repair) => {
                let lost = repair.lost.as_deref().map(named);
                (Some(named(&repair.backup)), lost)
            }
            Self::Checked(_) | Self::Failed(..) => (None, None),
        };
        let problems = check.map(|check| check.problems.iter().map(ProblemLine::of).collect());
        let line = Line {
            path: named(file),
            status: self.status(),
            entries: check.map(|check| check.entries),
            damage: check.map_or(0, |check| check.damage),
            notes: check.map_or(0, |check| check.notes),
            problems: problems.unwrap_or_default(),
            backup,
            lost,
            error: match self {
                Self::Failed(_, failure) => Some(failure.cause.as_str()),
                Self::Checked(_) | Self::Repaired(_) => None,
            },
        };
        Ok(pi_ai::json::to_string(&line)? + "\n")
    }

    /// Tells a person; of a sound file only when it was asked for by name.
    pub(super) fn text(&self, file: &Path, is_named: bool) -> String {
        let mut text = String::new();
        if matches!(self, Self::Checked(check) if check.is_sound()) && !is_named {
            return text;
        }
        push(&mut text, 0, &file.display().to_string());
        if let Some(check) = self.check() {
            push_problems(&mut text, check);
        }
        match self {
            Self::Checked(check) if check.is_sound() => {
                push(&mut text, 1, &format!("sound, {}", entries(check.entries)));
            }
            Self::Checked(check) => {
                push(
                    &mut text,
                    1,
                    &format!("damaged, {} can be read", entries(check.entries)),
                );
            }
            Self::Repaired(repair) => push_repair(&mut text, repair),
            Self::Failed(_, failure) => push(&mut text, 1, &format!("error: {}", failure.cause)),
        }
        text
    }
}

fn push(text: &mut String, depth: usize, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{}{line}", "  ".repeat(depth)).ok();
}

fn push_problems(text: &mut String, check: &SessionCheck) {
    for problem in check.problems.iter().take(MOST_SHOWN) {
        let place = match problem.line {
            Some(line) => format!("line {line}: "),
            None => String::new(),
        };
        push(text, 1, &format!("{place}{}", problem.kind.description()));
        push(text, 2, problem.kind.consequence());
    }
    let hidden = (check.damage + check.notes).saturating_sub(MOST_SHOWN);
    if hidden > 0 {
        push(text, 1, &format!("and {hidden} more; --json lists them"));
    }
}

fn push_repair(text: &mut String, repair: &SessionRepair) {
    push(
        text,
        1,
        &format!("repaired, {} kept", entries(repair.found.entries)),
    );
    if repair.placeholders > 0 {
        let count = repair.placeholders;
        push(
            text,
            1,
            &format!("entries that stand in for lost ones: {count}"),
        );
    }
    if let Some(lost) = &repair.lost {
        push(text, 1, &format!("set aside: {}", lost.display()));
    }
    push(text, 1, &format!("as it was: {}", repair.backup.display()));
}

fn entries(count: usize) -> String {
    match count {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    }
}

/// How many files were found how.
#[derive(Debug, Default)]
pub(super) struct Tally {
    sound: usize,
    damaged: usize,
    repaired: usize,
    failed: usize,
}

impl Tally {
    pub(super) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Checked(check) if check.is_sound() => self.sound += 1,
            Outcome::Checked(_) => self.damaged += 1,
            Outcome::Repaired(_) => self.repaired += 1,
            Outcome::Failed(..) => self.failed += 1,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        if self.damaged + self.failed > 0 {
            Exit::Failure
        } else {
            Exit::Success
        }
    }

    /// Sums up, and says what to do next.
    pub(super) fn text(&self, request: &FsckRequest) -> String {
        let total = self.sound + self.damaged + self.repaired + self.failed;
        if total == 0 {
            return match request.subject {
                Subject::Project => {
                    "this project has no sessions; pi fsck --all checks those of every project\n"
                }
                Subject::All | Subject::Named(_) => "there are no sessions\n",
            }
            .to_owned();
        }
        let mut parts = Vec::new();
        for (count, word) in [
            (self.sound, "sound"),
            (self.damaged, "damaged"),
            (self.repaired, "repaired"),
            (self.failed, "not checked or not repaired"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let noun = if total == 1 { "session" } else { "sessions" };
        let mut text = format!("{total} {noun}: {}\n", parts.join(", "));
        if self.damaged > 0 {
            let arguments = match &request.subject {
                Subject::Project => String::new(),
                Subject::All => " --all".to_owned(),
                Subject::Named(names) => format!(" {}", names.join(" ")),
            };
            push(
                &mut text,
                0,
                &format!(
                    "pi fsck --repair{arguments} repairs them and keeps the files as they are beside them"
                ),
            );
        }
        text
    }
}
