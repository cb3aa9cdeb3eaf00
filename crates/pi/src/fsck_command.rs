//! `pi fsck`: checks session files and repairs them on request.
//!
//! `pi-session` finds and repairs problems; this command selects the files and prints the report.

mod report;
mod request;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pi_checkpoint::HistoryCheck;
use pi_env::Env;
use pi_session::listing::{self, SearchScope};
use pi_session::{SessionCheck, SessionRepair, file_history_directory};

use crate::output::{Exit, Failure, print};
use crate::session_locations::SessionLocations;
use report::{FsckOutcome, FsckSummary, HistoryOutcome};
use request::{FsckRequest, FsckTarget, parse};

const HELP: &str = "\
Usage:
  pi fsck [SESSION…] [--all] [--repair] [--json] [--session-dir DIR]

Check session files for torn and garbled lines, null bytes, missing or duplicate headers,
disconnected entries, and text that is not what pi wrote. SESSION is a file, an ID or an ID prefix; the default is all sessions of this
project.

  --all              Check the sessions of every project
  --repair           Repair damaged files; without it nothing is written
  --json             Print one line of JSON per file
  --session-dir DIR  Use this session directory

A repair keeps every readable record byte for byte. The original file stays as .jsonl.bak, and unreadable
parts are moved to .jsonl.lost. Of a file history (NAME.files), damaged and unused contents are removed. A session that is open in another pi is skipped. The exit code is 0 if all
files are intact or repaired, 1 if not, 2 for invalid arguments.
";

/// Runs the command; `words` follow its name.
pub(crate) fn run(words: Vec<OsString>, env: &Env) -> Exit {
    let request = match parse(words) {
        Ok(Some(request)) => request,
        Ok(None) => return print(HELP),
        Err(failure) => {
            failure.report();
            return Exit::Code(2);
        }
    };
    let locations = SessionLocations::of(request.session_dir.as_deref(), env);
    match locations.and_then(|locations| requested_files(&locations, &request)) {
        Ok(files) => serve(&request, &files, env),
        Err(failure) => failure.report(),
    }
}

fn serve(request: &FsckRequest, files: &BTreeSet<PathBuf>, env: &Env) -> Exit {
    let mut tally = FsckSummary::default();
    for file in files {
        let outcome = check_file(file, request.repair, env);
        let history = check_history(file, request.repair);
        tally.count(&outcome, &history);
        let text = if request.json {
            match outcome.json(file, &history) {
                Ok(line) => line,
                Err(error) => return Failure::from_chain(&error).report(),
            }
        } else {
            outcome.text(file, &history, request.subject.is_named())
        };
        if !text.is_empty() && print(&text) != Exit::Success {
            return Exit::Failure;
        }
    }
    if !request.json && print(&tally.text(request)) != Exit::Success {
        return Exit::Failure;
    }
    tally.exit()
}

fn check_file(file: &Path, repair: bool, env: &Env) -> FsckOutcome {
    let check = match SessionCheck::read(file) {
        Ok(check) => check,
        Err(error) => return FsckOutcome::Failed(None, Failure::from_chain(&error)),
    };
    if check.is_sound() || !repair {
        return FsckOutcome::Checked(check);
    }
    match SessionRepair::run(file, env) {
        Ok(Some(repair)) => FsckOutcome::Repaired(repair),
        // Another process repaired it in the meantime.
        Ok(None) => FsckOutcome::Checked(SessionCheck {
            damage: 0,
            problems: Vec::new(),
            ..check
        }),
        Err(error) => FsckOutcome::Failed(Some(check), Failure::from_chain(&error)),
    }
}

/// Checks the file history of a session. A repair removes contents that cannot be used.
fn check_history(file: &Path, repair: bool) -> HistoryOutcome {
    let directory = file_history_directory(file);
    let checked = HistoryCheck::read(&directory).and_then(|check| {
        if let Some(check) = &check
            && repair
        {
            check.remove_unusable(&directory)?;
        }
        Ok(check)
    });
    match checked {
        Ok(None) => HistoryOutcome::None,
        Ok(Some(check)) if repair && !check.is_sound() => HistoryOutcome::Repaired(check),
        Ok(Some(check)) => HistoryOutcome::Checked(check),
        Err(error) => HistoryOutcome::Failed(error.to_string()),
    }
}

/// Returns the requested files.
fn requested_files(
    locations: &SessionLocations,
    request: &FsckRequest,
) -> Result<BTreeSet<PathBuf>, Failure> {
    Ok(match &request.subject {
        FsckTarget::Project => {
            let here = SearchScope::Directory(locations.store.path());
            listing::files(here).into_iter().collect()
        }
        FsckTarget::All => locations.scopes().flat_map(listing::files).collect(),
        FsckTarget::Named(names) => {
            let found = names.iter().map(|name| locations.find(name));
            found.collect::<Result<_, Failure>>()?
        }
    })
}
