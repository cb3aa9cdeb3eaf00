//! `pi fsck`: looks session files over, says what is wrong, and repairs them when asked to.
//!
//! What can be wrong and how it is mended is `pi-session`'s; here it is decided which files are meant and
//! what a person or a script is told.

mod report;
mod request;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pi_ai::Env;
use pi_config::{AgentDir, ProjectAccess, SettingsStore, session_directory};
use pi_session::listing::{self, FoundSession, SearchScope};
use pi_session::{Repair, SessionCheck, SessionDirectory, sessions_root};

use crate::output::{Exit, Failure, print, print_foreign};
use crate::startup::working_directory;
use report::{Outcome, Tally};
use request::{FsckRequest, Subject, parse};

const HELP: &str = "\
Usage:
  pi fsck [SESSION…] [--all] [--repair] [--json] [--session-dir DIR]

Checks session files: torn and garbled lines, null bytes, lost or doubled headers, entries cut off from
the rest. Without SESSION it looks at those of this project. SESSION is a file, an id or the beginning of
one, as for --session.

  --all              Check the sessions of every project
  --repair           Repair what is damaged; without it nothing is written
  --json             Print a line of JSON for every file
  --session-dir DIR  Look in this folder instead of the usual one

A repair keeps every record that can be read, byte for byte. The file as it was stays beside it as
.jsonl.bak, what cannot be read is set aside in .jsonl.lost. A session that is open in another pi is left
alone. The exit code is 0 if all files are sound or were repaired, 1 if not, 2 for a wrong command line.
";

/// Serves the command; `words` follow its name.
pub(crate) fn run(words: Vec<OsString>, env: &Env) -> Exit {
    let request = match parse(words) {
        Ok(Some(request)) => request,
        Ok(None) => return print(HELP),
        Err(failure) => {
            failure.report();
            return Exit::Code(2);
        }
    };
    match Places::of(&request, env).and_then(|places| places.files(&request)) {
        Ok(files) => serve(&request, &files, env),
        Err(failure) => failure.report(),
    }
}

fn serve(request: &FsckRequest, files: &BTreeSet<PathBuf>, env: &Env) -> Exit {
    let mut tally = Tally::default();
    for file in files {
        let outcome = look_at(file, request.repair, env);
        tally.count(&outcome);
        let text = if request.json {
            match outcome.json(file) {
                Ok(line) => line,
                Err(error) => return Failure::from_chain(&error).report(),
            }
        } else {
            outcome.text(file, request.subject.is_named())
        };
        if !text.is_empty() && print_foreign(&text) != Exit::Success {
            return Exit::Failure;
        }
    }
    if !request.json && print(&tally.text(request)) != Exit::Success {
        return Exit::Failure;
    }
    tally.exit()
}

fn look_at(file: &Path, repair: bool, env: &Env) -> Outcome {
    let check = match SessionCheck::read(file) {
        Ok(check) => check,
        Err(error) => return Outcome::Failed(None, Failure::from_chain(&error)),
    };
    if check.is_sound() || !repair {
        return Outcome::Checked(check);
    }
    match Repair::perform(file, env) {
        Ok(Some(repair)) => Outcome::Repaired(repair),
        // It was mended by somebody else between the two looks.
        Ok(None) => Outcome::Checked(SessionCheck {
            damage: 0,
            problems: Vec::new(),
            ..check
        }),
        Err(error) => Outcome::Failed(Some(check), Failure::from_chain(&error)),
    }
}

/// Where sessions are looked for.
struct Places {
    directory: SessionDirectory,
    /// The folder that holds those of all projects.
    root: PathBuf,
    /// The folder the user chose.
    chosen: Option<PathBuf>,
    cwd: PathBuf,
}

impl Places {
    fn of(request: &FsckRequest, env: &Env) -> Result<Self, Failure> {
        let cwd = working_directory()?;
        let agent_dir = AgentDir::from_env(env);
        // What a project says does not count: nobody asked whether it is trusted.
        let settings = SettingsStore::open(&agent_dir, &cwd, ProjectAccess::Denied);
        let flag = request.session_dir.as_deref();
        let chosen = session_directory(flag, env, &settings.settings(), &cwd);
        let directory = match &chosen {
            Some(chosen) => SessionDirectory::chosen(chosen, agent_dir.path(), &cwd),
            None => SessionDirectory::default_for(agent_dir.path(), &cwd),
        };
        Ok(Self {
            directory,
            root: sessions_root(agent_dir.path()),
            chosen,
            cwd,
        })
    }

    /// Finds the files that are meant.
    fn files(&self, request: &FsckRequest) -> Result<BTreeSet<PathBuf>, Failure> {
        Ok(match &request.subject {
            Subject::Project => {
                let here = SearchScope::Within(self.directory.path());
                listing::files(here).into_iter().collect()
            }
            Subject::All => self.scopes().flat_map(listing::files).collect(),
            Subject::Named(names) => {
                let found = names.iter().map(|name| self.find(name));
                found.collect::<Result<_, Failure>>()?
            }
        })
    }

    fn scopes(&self) -> impl Iterator<Item = SearchScope<'_>> {
        let chosen = self.chosen.as_deref().map(SearchScope::Within);
        chosen
            .into_iter()
            .chain(std::iter::once(SearchScope::Everywhere(&self.root)))
    }

    /// Finds a session by its file, its id or the beginning of that.
    fn find(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = Path::new(name);
        let is_file = path.extension().is_some_and(|it| it == "jsonl");
        if is_file || name.contains(['/', '\\']) {
            return Ok(self.cwd.join(path));
        }
        let found = self
            .scopes()
            .find_map(|scope| listing::find(&self.directory, scope, name));
        if let Some(FoundSession::Here(path) | FoundSession::Elsewhere { path, .. }) = found {
            return Ok(path);
        }
        // A session that lost its header is still called after its id.
        let mut files = self.scopes().flat_map(listing::files);
        files.find(|file| is_called(file, name)).ok_or_else(|| {
            Failure::new(format!("no session matches \"{name}\""))
                .hint("pi fsck --all checks the sessions of every project")
        })
    }
}

/// Returns whether the name of a session file ends with an id that begins like this.
fn is_called(file: &Path, name: &str) -> bool {
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    stem.and_then(|stem| stem.split_once('_'))
        .is_some_and(|(_, id)| id.starts_with(name))
}
