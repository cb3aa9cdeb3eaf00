//! `pi fsck`: checks session files and repairs them on request.
//!
//! `pi-session` finds and repairs problems; this command selects the files and prints the report.

mod report;
mod request;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pi_config::{AgentDir, SettingsStore, session_directory};
use pi_env::Env;
use pi_protocol::ProjectAccess;
use pi_session::listing::{self, FoundSession, SearchScope};
use pi_session::{SessionCheck, SessionRepair, SessionStore, sessions_root};

use crate::output::{Exit, Failure, print};
use crate::startup::working_directory;
use report::{FsckOutcome, FsckSummary};
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
parts are moved to .jsonl.lost. A session that is open in another pi is skipped. The exit code is 0 if all
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
    match SessionLocations::of(&request, env).and_then(|places| places.files(&request)) {
        Ok(files) => serve(&request, &files, env),
        Err(failure) => failure.report(),
    }
}

fn serve(request: &FsckRequest, files: &BTreeSet<PathBuf>, env: &Env) -> Exit {
    let mut tally = FsckSummary::default();
    for file in files {
        let outcome = check_file(file, request.repair, env);
        tally.count(&outcome);
        let text = if request.json {
            match outcome.json(file) {
                Ok(line) => line,
                Err(error) => return Failure::from_chain(&error).report(),
            }
        } else {
            outcome.text(file, request.subject.is_named())
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

/// The directories to search.
struct SessionLocations {
    store: SessionStore,
    /// The directory that contains the sessions of all projects.
    root: PathBuf,
    /// The directory the user chose.
    chosen: Option<PathBuf>,
    cwd: PathBuf,
}

impl SessionLocations {
    fn of(request: &FsckRequest, env: &Env) -> Result<Self, Failure> {
        let cwd = working_directory()?;
        let agent_dir = AgentDir::from_env(env);
        // Ignore project settings, since trust was not decided.
        let settings = SettingsStore::open(&agent_dir, &cwd, ProjectAccess::Denied);
        let flag = request.session_dir.as_deref();
        let chosen = session_directory(flag, env, &settings.settings(), &cwd);
        let store = match &chosen {
            Some(chosen) => SessionStore::custom(chosen, agent_dir.path(), &cwd),
            None => SessionStore::default_for(agent_dir.path(), &cwd),
        };
        Ok(Self {
            store,
            root: sessions_root(agent_dir.path()),
            chosen,
            cwd,
        })
    }

    /// Returns the requested files.
    fn files(&self, request: &FsckRequest) -> Result<BTreeSet<PathBuf>, Failure> {
        Ok(match &request.subject {
            FsckTarget::Project => {
                let here = SearchScope::Directory(self.store.path());
                listing::files(here).into_iter().collect()
            }
            FsckTarget::All => self.scopes().flat_map(listing::files).collect(),
            FsckTarget::Named(names) => {
                let found = names.iter().map(|name| self.find(name));
                found.collect::<Result<_, Failure>>()?
            }
        })
    }

    fn scopes(&self) -> impl Iterator<Item = SearchScope<'_>> {
        let chosen = self.chosen.as_deref().map(SearchScope::Directory);
        chosen
            .into_iter()
            .chain(std::iter::once(SearchScope::AllProjects(&self.root)))
    }

    /// Finds a session by file, ID or ID prefix.
    fn find(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = Path::new(name);
        let is_file = path.extension().is_some_and(|it| it == "jsonl");
        if is_file || name.contains(['/', '\\']) {
            return Ok(self.cwd.join(path));
        }
        let found = self.scopes().find_map(|scope| self.store.find(scope, name));
        if let Some(FoundSession::Local(path) | FoundSession::OtherProject { path, .. }) = found {
            return Ok(path);
        }
        // A session without a header still has its ID in the file name.
        let mut files = self.scopes().flat_map(listing::files);
        files.find(|file| has_id_prefix(file, name)).ok_or_else(|| {
            Failure::new(format!("no session matches \"{name}\""))
                .hint("pi fsck --all checks the sessions of every project")
        })
    }
}

/// Returns whether the ID in the name of a session file starts with `name`.
fn has_id_prefix(file: &Path, name: &str) -> bool {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.and_then(|stem| stem.split_once('_'))
        .is_some_and(|(_, id)| id.starts_with(name))
}
