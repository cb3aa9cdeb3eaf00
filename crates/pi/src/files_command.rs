//! `pi files`: lists what the file history of a session has recorded, and restores it.
//!
//! `pi-checkpoint` has the history; this command selects session, entry and paths, and prints.

mod request;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pi_builtins::restore_patch;
use pi_checkpoint::{
    Change, ChangeSource, FileCondition, FileHistory, FileState, Resolution, RestorePlan,
};
use pi_config::{AgentDir, SettingsStore};
use pi_env::Env;
use pi_protocol::{AgentMessage, EntryBody, EntryId, ProjectAccess};
use pi_session::listing::{self, SearchScope};
use pi_session::{AccessMode, OpenSession, Session, file_history_directory};

use crate::output::{Exit, Failure, print};
use crate::session_locations::SessionLocations;
use crate::startup::working_directory;
use request::{FilesAction, FilesRequest, parse};

const HELP: &str = "\
Usage:
  pi files list [SESSION]           List the file changes of a session
  pi files diff ENTRY [PATH]        Show what restoring the files of an entry would change
  pi files restore ENTRY [PATH]     Restore the files of an entry

Show and restore what the setting fileHistory has recorded. ENTRY is the ID of an entry in the session
tree, as the list shows it, or a prefix: files become what they were then. PATH is a file or a directory.

  --session SESSION  Use this session, by file, ID or ID prefix; the default is the latest of this
                     project that has a file history
  --session-dir DIR  Use this session directory
  --overwrite        Also restore files that were changed outside pi since
  --next-to          Write such files to NAME.restored

Files that were changed outside pi are skipped by default. The exit code is 0 if all files are restored, 1
if not, 2 for invalid arguments.
";

/// Characters of a prompt in the list.
const MAX_PROMPT: usize = 60;

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
    let opened = RecordedSession::open(&request, env);
    let done = opened.and_then(|mut recorded| match &request.action {
        FilesAction::List => Ok(recorded.list()),
        FilesAction::Diff { entry, path } => recorded.diff(entry, path.as_deref()),
        FilesAction::Restore {
            entry,
            path,
            resolution,
        } => recorded.restore(entry, path.as_deref(), *resolution),
    });
    match done {
        Ok(exit) => exit,
        Err(failure) => failure.report(),
    }
}

/// A session with its file history.
struct RecordedSession {
    session: Session,
    history: FileHistory,
    cwd: PathBuf,
}

impl RecordedSession {
    fn open(request: &FilesRequest, env: &Env) -> Result<Self, Failure> {
        let cwd = working_directory()?;
        let locations = SessionLocations::of(request.session_dir.as_deref(), env)?;
        let file = match &request.session {
            Some(name) => locations.find(name)?,
            None => latest_with_history(&locations)?,
        };
        let options = OpenSession {
            access: AccessMode::Read,
            env: env.clone(),
            ..OpenSession::default()
        };
        let session = Session::open(&file, options).map_err(|error| Failure::from_chain(&error))?;
        // Ignore project settings, since trust was not decided.
        let settings = SettingsStore::open(&AgentDir::from_env(env), &cwd, ProjectAccess::Denied);
        let max_bytes = settings.settings().file_history_max_bytes();
        let history = FileHistory::open(&file_history_directory(&file), max_bytes)
            .map_err(|error| Failure::from_chain(&error))?;
        Ok(Self {
            session,
            history,
            cwd,
        })
    }

    fn list(&self) -> Exit {
        let mut text = String::new();
        let mut turn = None;
        let changes = self.history.changes().iter();
        for change in changes.filter(|change| change.source != ChangeSource::Move) {
            if change.turn != turn {
                turn.clone_from(&change.turn);
                if let Some(id) = &turn {
                    let prompt = self.prompt(id).unwrap_or_default();
                    // Writing to a string cannot fail.
                    writeln!(text, "{id}  {prompt}").ok();
                }
            }
            let entry = change.entry.as_ref().map_or("-", EntryId::as_str);
            let source = match change.source {
                ChangeSource::Tool { .. } | ChangeSource::Move => "",
                ChangeSource::Other => " (outside pi)",
                ChangeSource::Restore { .. } => " (restored)",
            };
            let (action, path) = (action(change), self.shown(&change.path));
            writeln!(text, "  {entry}  {action:6}  {path}{source}").ok();
        }
        if text.is_empty() {
            text.push_str("No file changes are recorded for this session\n");
        }
        print(&text)
    }

    /// Returns the start of a prompt.
    fn prompt(&self, id: &EntryId) -> Option<String> {
        let entry = self.session.entries().read(id.as_str()).ok()?;
        let EntryBody::Message(AgentMessage::User(message)) = &entry.body else {
            return None;
        };
        let text = message.content.joined_text();
        let line = text.lines().next().unwrap_or_default();
        Some(line.chars().take(MAX_PROMPT).collect())
    }

    fn diff(&self, entry: &str, path: Option<&Path>) -> Result<Exit, Failure> {
        let plan = self.plan(entry, path)?;
        let patches = plan.files.iter();
        let patches = patches.map(|file| restore_patch(&self.history, &file.path, &file.wanted));
        Ok(print(&patches.collect::<String>()))
    }

    fn restore(
        &mut self,
        entry: &str,
        path: Option<&Path>,
        resolution: Resolution,
    ) -> Result<Exit, Failure> {
        let plan = self.plan(entry, path)?;
        if plan.is_empty() {
            return Ok(print("Nothing to restore: the files are as they were\n"));
        }
        let unavailable = plan.count(FileCondition::Unavailable);
        let report = self
            .history
            .restore(&plan, resolution)
            .map_err(|error| Failure::from_chain(&error))?;
        let mut text = String::new();
        for path in &report.restored {
            writeln!(text, "restored {}", self.shown(path)).ok();
        }
        for path in &report.written_next_to {
            writeln!(text, "wrote {}", self.shown(path)).ok();
        }
        for path in &report.skipped {
            writeln!(text, "skipped {}", self.shown(path)).ok();
        }
        for (path, error) in &report.failed {
            writeln!(text, "cannot restore {}: {error}", self.shown(path)).ok();
        }
        if report.skipped.len() > unavailable {
            text.push_str("skipped files were changed outside pi; use --overwrite or --next-to\n");
        }
        if unavailable > 0 {
            writeln!(text, "contents not stored: {unavailable}").ok();
        }
        let is_complete = report.skipped.is_empty() && report.failed.is_empty();
        match print(&text) {
            Exit::Success if !is_complete => Ok(Exit::Failure),
            exit => Ok(exit),
        }
    }

    fn plan(&self, entry: &str, path: Option<&Path>) -> Result<RestorePlan, Failure> {
        let entry = self.entry(entry)?;
        let branch = self.session.entries().branch_to(&entry);
        let branch = branch.map_err(|error| Failure::from_chain(&error))?.ids();
        let plan = self.history.plan(&branch);
        let mut plan = plan.map_err(|error| Failure::from_chain(&error))?;
        if let Some(path) = path {
            let path = self.cwd.join(path);
            // The history has real paths; the file itself may be missing or a link.
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            let real = parent.zip(path.file_name());
            let real = real.map_or_else(|| path.clone(), |(parent, name)| parent.join(name));
            plan = plan.below(&real);
        }
        Ok(plan)
    }

    /// Finds an entry by its ID or a unique prefix.
    fn entry(&self, name: &str) -> Result<EntryId, Failure> {
        let tree = self.session.entries().tree();
        let mut found = tree.nodes.into_iter().map(|node| node.id);
        let mut found = found.by_ref().filter(|id| id.as_str().starts_with(name));
        let missing = || {
            Failure::new(format!("no entry matches \"{name}\"")).hint("pi files list shows entries")
        };
        let first = found.next().ok_or_else(missing)?;
        match found.next() {
            Some(_) if first.as_str() != name => {
                Err(Failure::new(format!("several entries match \"{name}\"")))
            }
            _ => Ok(first),
        }
    }

    fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.cwd).unwrap_or(path).display()
    }
}

fn action(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (FileState::Missing, _) => "create",
        (_, FileState::Missing) => "delete",
        _ => "change",
    }
}

/// Returns the session of this project that was written last and has a file history.
fn latest_with_history(locations: &SessionLocations) -> Result<PathBuf, Failure> {
    let files = listing::files(SearchScope::Directory(locations.store.path()));
    let recorded = files
        .into_iter()
        .filter(|file| file_history_directory(file).is_dir());
    let modified = |file: &PathBuf| file.metadata().and_then(|found| found.modified()).ok();
    recorded.max_by_key(modified).ok_or_else(|| {
        Failure::new("no session of this project has a file history")
            .hint("set \"fileHistory\": \"edits\" in settings.json to record changes")
    })
}
