//! The report of `pi fsck`, as text and JSON.

use std::fmt::Write as _;
use std::path::Path;

use pi_checkpoint::HistoryCheck;
use pi_session::{SessionCheck, SessionProblem, SessionRepair, Severity};
use serde::Serialize;

use super::request::{FsckRequest, FsckTarget};
use crate::output::{Exit, Failure};

/// Problems shown per file in the text report.
const MAX_SHOWN: usize = 20;

/// The result for one file.
#[derive(Debug)]
pub(super) enum FsckOutcome {
    Checked(SessionCheck),
    Repaired(SessionRepair),
    /// The file could not be checked or repaired.
    Failed(Option<SessionCheck>, Failure),
}

/// The result for the file history of a session.
#[derive(Debug)]
pub(super) enum HistoryOutcome {
    None,
    Checked(HistoryCheck),
    Repaired(HistoryCheck),
    Failed(String),
}

impl HistoryOutcome {
    fn is_damaged(&self) -> bool {
        match self {
            Self::None | Self::Repaired(_) => false,
            Self::Checked(check) => !check.is_sound(),
            Self::Failed(_) => true,
        }
    }

    fn text(&self) -> Option<String> {
        let (check, repaired) = match self {
            Self::None => return None,
            Self::Failed(error) => return Some(format!("file history: error: {error}")),
            Self::Checked(check) => (check, ""),
            Self::Repaired(check) => (check, ", repaired"),
        };
        let HistoryCheck {
            changes, contents, ..
        } = check;
        let damage = if check.is_sound() {
            "ok".to_owned()
        } else {
            let (lines, damaged) = (check.invalid_lines, check.damaged.len());
            format!("{lines} invalid lines, {damaged} damaged contents{repaired}")
        };
        let unused = check.unused.len();
        Some(format!(
            "file history: {damage}, {changes} changes, {contents} contents, {unused} unused"
        ))
    }
}

/// The file history in the JSON line of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct HistoryLine {
    status: &'static str,
    changes: usize,
    contents: usize,
    invalid_lines: usize,
    damaged: usize,
    unused: usize,
}

impl HistoryLine {
    fn of(outcome: &HistoryOutcome) -> Option<Self> {
        let failed = HistoryCheck::default();
        let (check, status) = match outcome {
            HistoryOutcome::None => return None,
            HistoryOutcome::Failed(_) => (&failed, "failed"),
            HistoryOutcome::Repaired(check) => (check, "repaired"),
            HistoryOutcome::Checked(check) if check.is_sound() => (check, "sound"),
            HistoryOutcome::Checked(check) => (check, "damaged"),
        };
        Some(Self {
            status,
            changes: check.changes,
            contents: check.contents,
            invalid_lines: check.invalid_lines,
            damaged: check.damaged.len(),
            unused: check.unused.len(),
        })
    }
}

/// The JSON line of one file.
#[derive(Debug, Serialize)]
struct FileLine<'outcome> {
    path: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<usize>,
    damage: usize,
    notes: usize,
    problems: Vec<ProblemLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'outcome str>,
    #[serde(rename = "fileHistory", skip_serializing_if = "Option::is_none")]
    file_history: Option<HistoryLine>,
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

impl FsckOutcome {
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

    /// Serializes the outcome as a line of JSON.
    pub(super) fn json(
        &self,
        file: &Path,
        history: &HistoryOutcome,
    ) -> Result<String, serde_json::Error> {
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
        let line = FileLine {
            path: named(file),
            status: self.status(),
            entries: check.map(|check| check.entries),
            verified: check.map(|check| check.verified),
            damage: check.map_or(0, |check| check.damage),
            notes: check.map_or(0, |check| check.notes),
            problems: problems.unwrap_or_default(),
            backup,
            lost,
            error: match self {
                Self::Failed(_, failure) => Some(failure.cause.as_str()),
                Self::Checked(_) | Self::Repaired(_) => None,
            },
            file_history: HistoryLine::of(history),
        };
        Ok(pi_protocol::json::to_string(&line)? + "\n")
    }

    /// Formats the outcome; an intact file is omitted unless it was named.
    pub(super) fn text(&self, file: &Path, history: &HistoryOutcome, is_named: bool) -> String {
        let mut text = String::new();
        let is_sound = matches!(self, Self::Checked(check) if check.is_sound());
        if is_sound && !history.is_damaged() && !is_named {
            return text;
        }
        push(&mut text, 0, &file.display().to_string());
        if let Some(check) = self.check() {
            push_problems(&mut text, check);
        }
        match self {
            Self::Checked(check) if check.is_sound() => {
                let found = entries(check.entries);
                let verified = check.verified;
                let line = format!("ok, {found}, {verified} verified by checksums");
                push(&mut text, 1, &line);
            }
            Self::Checked(check) => {
                push(
                    &mut text,
                    1,
                    &format!("damaged, {} readable", entries(check.entries)),
                );
            }
            Self::Repaired(repair) => push_repair(&mut text, repair),
            Self::Failed(_, failure) => push(&mut text, 1, &format!("error: {}", failure.cause)),
        }
        if let Some(line) = history.text() {
            push(&mut text, 1, &line);
        }
        text
    }
}

fn push(text: &mut String, depth: usize, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{}{line}", "  ".repeat(depth)).ok();
}

fn push_problems(text: &mut String, check: &SessionCheck) {
    for problem in check.problems.iter().take(MAX_SHOWN) {
        let place = match problem.line {
            Some(line) => format!("line {line}: "),
            None => String::new(),
        };
        push(text, 1, &format!("{place}{}", problem.kind.description()));
        push(text, 2, problem.kind.consequence());
    }
    let hidden = (check.damage + check.notes).saturating_sub(MAX_SHOWN);
    if hidden > 0 {
        push(
            text,
            1,
            &format!("and {hidden} more; use --json to list all"),
        );
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
        push(text, 1, &format!("placeholders for lost entries: {count}"));
    }
    if let Some(lost) = &repair.lost {
        push(text, 1, &format!("unreadable parts: {}", lost.display()));
    }
    push(text, 1, &format!("original: {}", repair.backup.display()));
}

fn entries(count: usize) -> String {
    match count {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    }
}

/// Number of files per result.
#[derive(Debug, Default)]
pub(super) struct FsckSummary {
    sound: usize,
    damaged: usize,
    repaired: usize,
    failed: usize,
}

impl FsckSummary {
    pub(super) fn count(&mut self, outcome: &FsckOutcome, history: &HistoryOutcome) {
        match outcome {
            FsckOutcome::Checked(check) if check.is_sound() && history.is_damaged() => {
                self.damaged += 1;
            }
            FsckOutcome::Checked(check) if check.is_sound() => self.sound += 1,
            FsckOutcome::Checked(_) => self.damaged += 1,
            FsckOutcome::Repaired(_) => self.repaired += 1,
            FsckOutcome::Failed(..) => self.failed += 1,
        }
    }

    pub(super) fn exit(&self) -> Exit {
        if self.damaged + self.failed > 0 {
            Exit::Failure
        } else {
            Exit::Success
        }
    }

    /// Formats the summary with the next step.
    pub(super) fn text(&self, request: &FsckRequest) -> String {
        let total = self.sound + self.damaged + self.repaired + self.failed;
        if total == 0 {
            return match request.subject {
                FsckTarget::Project => {
                    "this project has no sessions; use --all to check all projects\n"
                }
                FsckTarget::All | FsckTarget::Named(_) => "no sessions found\n",
            }
            .to_owned();
        }
        let mut parts = Vec::new();
        for (count, word) in [
            (self.sound, "ok"),
            (self.damaged, "damaged"),
            (self.repaired, "repaired"),
            (self.failed, "failed"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let noun = if total == 1 { "session" } else { "sessions" };
        let mut text = format!("{total} {noun}: {}\n", parts.join(", "));
        if self.damaged > 0 {
            let arguments = match &request.subject {
                FsckTarget::Project => String::new(),
                FsckTarget::All => " --all".to_owned(),
                FsckTarget::Named(names) => format!(" {}", names.join(" ")),
            };
            push(
                &mut text,
                0,
                &format!(
                    "run pi fsck --repair{arguments} to repair them; the original files are kept"
                ),
            );
        }
        text
    }
}
