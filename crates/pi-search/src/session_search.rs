//! Full-text search over the stored sessions of a user.
//!
//! Nothing is indexed before the first search. A search waits briefly for new entries to be indexed; if there are many,
//! it returns what is indexed so far and a thread continues with a part of one core.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pi_config::{expand_home, session_directory};
use pi_env::Env;
use pi_protocol::settings::Settings;
use pi_protocol::{IndexingProgress, SearchRole, SessionSearchResults};
use pi_session::listing::{self, SearchScope};
use pi_session::sessions_root;
use thiserror::Error;

use crate::error::SearchError;
use crate::query::SearchQuery;
use crate::search::{SearchIndex, SearchRequest};
use crate::update::{SessionFiles, UpdateControl, UpdatePace, UpdateProgress};

/// Where the index is, in the agent directory.
const DIRECTORY: &str = "search";

/// How long a search waits for new entries to be indexed.
const UPDATE_PATIENCE: Duration = Duration::from_millis(250);

const DEFAULT_LIMIT: usize = 20;

/// More hits than this are not returned.
const MAX_LIMIT: usize = 500;

#[derive(Debug, Error)]
pub enum SessionSearchError {
    #[error("search over sessions is turned off by the setting search.enabled")]
    TurnedOff,
    #[error("the query has no words to search for")]
    EmptyQuery,
    #[error(transparent)]
    Index(#[from] SearchError),
}

/// What to find in which sessions.
#[derive(Debug, Clone, Default)]
pub struct SessionSearchOptions {
    /// Words that must all occur, phrases in double quotes, and starts of words with `*`.
    pub query: String,
    /// Whether the last word is still being typed, so that longer words match.
    pub is_incomplete: bool,
    /// Only sessions with this working directory or one below it.
    pub cwd: Option<PathBuf>,
    /// Only entries of this time or later, in milliseconds since the epoch.
    pub since_ms: Option<i64>,
    pub role: Option<SearchRole>,
    /// Maximum number of hits; zero for the default.
    pub limit: usize,
}

/// Whether a search waits until all sessions are indexed.
#[derive(Clone, Copy)]
pub enum IndexFreshness<'a> {
    /// New entries are indexed first; the progress is reported.
    Complete(&'a dyn Fn(IndexingProgress)),
    /// Waits briefly, and indexes the rest in the background.
    SoFar,
}

/// An update that runs in the background of a process, if any.
#[derive(Debug, Clone, Default)]
pub struct BackgroundIndexing(Arc<Mutex<Option<UpdateProgress>>>);

impl BackgroundIndexing {
    fn lock(&self) -> MutexGuard<'_, Option<UpdateProgress>> {
        self.0.lock()
    }
}

/// Searches the sessions of an agent directory. All methods block on disk access.
#[derive(Debug, Clone)]
pub struct SessionSearch {
    directory: PathBuf,
    scopes: Vec<PathBuf>,
    root: PathBuf,
    excluded: Vec<PathBuf>,
    is_enabled: bool,
    background: BackgroundIndexing,
}

impl SessionSearch {
    /// `settings` are those of the user; a directory of sessions they name is searched, too.
    pub fn new(
        agent_dir: &Path,
        cwd: &Path,
        settings: &Settings,
        env: &Env,
        background: BackgroundIndexing,
    ) -> Self {
        let excluded = settings.search.exclude.iter().flatten();
        Self {
            directory: agent_dir.join(DIRECTORY),
            scopes: session_directory(None, env, settings, cwd)
                .into_iter()
                .collect(),
            root: sessions_root(agent_dir),
            excluded: excluded.map(|folder| expand_home(folder, env)).collect(),
            is_enabled: settings.search.enabled.unwrap_or(true),
            background,
        }
    }

    /// Finds entries, best first.
    pub fn search(
        &self,
        options: &SessionSearchOptions,
        freshness: IndexFreshness<'_>,
    ) -> Result<SessionSearchResults, SessionSearchError> {
        if !self.is_enabled {
            return Err(SessionSearchError::TurnedOff);
        }
        let request = request(options);
        if request.query.is_empty() {
            return Err(SessionSearchError::EmptyQuery);
        }
        let index = SearchIndex::open(&self.directory)?;
        self.refresh(&index, freshness)?;
        let mut results = match index.search(&request) {
            Err(error @ SearchError::Damaged { .. }) => {
                tracing::warn!(%error, "the search index is built again");
                index.clear()?;
                self.refresh(&index, freshness)?;
                index.search(&request)?
            }
            other => other?,
        };
        results.indexing = self.background.lock().map(to_wire);
        Ok(results)
    }

    fn refresh(
        &self,
        index: &SearchIndex,
        freshness: IndexFreshness<'_>,
    ) -> Result<(), SessionSearchError> {
        match freshness {
            IndexFreshness::Complete(on_progress) => {
                index.update(
                    &self.files(),
                    &mut UpdateControl {
                        pace: UpdatePace::Full,
                        on_progress: &mut |progress| on_progress(to_wire(progress)),
                        is_canceled: &|| false,
                    },
                )?;
            }
            IndexFreshness::SoFar => self.refresh_in_background(),
        }
        Ok(())
    }

    /// Starts an update unless one runs, and waits for it for a moment.
    fn refresh_in_background(&self) {
        {
            let mut running = self.background.lock();
            if running.is_some() {
                return;
            }
            *running = Some(UpdateProgress::default());
        }
        let (ended, end) = mpsc::channel();
        let search = self.clone();
        let started = thread::Builder::new()
            .name("pi-search-index".to_owned())
            .spawn(move || {
                search.update_at_rest();
                *search.background.lock() = None;
                // The search may not wait any more.
                ended.send(()).ok();
            });
        match started {
            Ok(_thread) => {
                end.recv_timeout(UPDATE_PATIENCE).ok();
            }
            Err(error) => {
                tracing::warn!(%error, "cannot start a thread to index sessions");
                *self.background.lock() = None;
            }
        }
    }

    fn update_at_rest(&self) {
        let updated = SearchIndex::open(&self.directory).and_then(|index| {
            index.update(
                &self.files(),
                &mut UpdateControl {
                    pace: UpdatePace::Background {
                        after: UPDATE_PATIENCE,
                    },
                    on_progress: &mut |progress| *self.background.lock() = Some(progress),
                    is_canceled: &|| false,
                },
            )
        });
        if let Err(error) = updated {
            tracing::warn!(%error, "cannot index sessions");
        }
    }

    fn files(&self) -> SessionFiles {
        let chosen = self.scopes.iter();
        let chosen = chosen.map(|directory| SearchScope::Directory(directory));
        let scopes = chosen.chain([SearchScope::AllProjects(&self.root)]);
        let mut paths: Vec<PathBuf> = scopes.flat_map(listing::files).collect();
        paths.sort_unstable();
        paths.dedup();
        SessionFiles {
            paths,
            excluded: self.excluded.clone(),
        }
    }
}

fn request(options: &SessionSearchOptions) -> SearchRequest {
    SearchRequest {
        query: if options.is_incomplete {
            SearchQuery::parse_incomplete(&options.query)
        } else {
            SearchQuery::parse(&options.query)
        },
        cwd: options.cwd.clone(),
        since_ms: options.since_ms,
        role: options.role,
        limit: match options.limit {
            0 => DEFAULT_LIMIT,
            limit => limit.min(MAX_LIMIT),
        },
    }
}

const fn to_wire(progress: UpdateProgress) -> IndexingProgress {
    IndexingProgress {
        done: progress.done,
        total: progress.total,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    fn home() -> TempDir {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("sessions/--p--");
        fs::create_dir_all(&directory).unwrap();
        let lines = "{\"type\":\"session\",\"id\":\"s1\",\"cwd\":\"/p\"}\n\
            {\"type\":\"message\",\"id\":\"e1\",\"message\":{\"role\":\"user\",\"content\":\"the retry budget\"}}\n";
        fs::write(directory.join("1_s1.jsonl"), lines).unwrap();
        home
    }

    fn search_with(home: &TempDir, settings: &Settings) -> SessionSearch {
        SessionSearch::new(
            home.path(),
            Path::new("/p"),
            settings,
            &Env::fixed([("HOME", "/home/u")]),
            BackgroundIndexing::default(),
        )
    }

    fn options(query: &str) -> SessionSearchOptions {
        SessionSearchOptions {
            query: query.to_owned(),
            ..SessionSearchOptions::default()
        }
    }

    #[test]
    fn a_search_builds_the_index_and_repairs_it() {
        let home = home();
        let search = search_with(&home, &Settings::default());
        let find = || {
            let freshness = IndexFreshness::Complete(&|_| {});
            search
                .search(&options("retry budget"), freshness)
                .unwrap()
                .hits
        };
        assert_eq!(find()[0].entry_id, "e1");
        for file in fs::read_dir(home.path().join("search")).unwrap() {
            let path = file.unwrap().path();
            fs::write(path, "of another program").unwrap();
            assert_eq!(find().len(), 1);
        }
    }

    #[test]
    fn a_search_does_not_wait_for_the_index() {
        let home = home();
        let search = search_with(&home, &Settings::default());
        loop {
            let found = search
                .search(&options("retry"), IndexFreshness::SoFar)
                .unwrap();
            if found.indexing.is_none() {
                assert_eq!(found.hits.len(), 1);
                break;
            }
        }
    }

    #[test]
    fn settings_turn_search_off_or_leave_folders_out() {
        let home = home();
        let mut settings = Settings::default();
        settings.search.exclude = Some(vec!["/p".to_owned()]);
        let found = search_with(&home, &settings)
            .search(&options("retry"), IndexFreshness::Complete(&|_| {}))
            .unwrap();
        assert_eq!(found.total, 0);
        settings.search.enabled = Some(false);
        let refused =
            search_with(&home, &settings).search(&options("retry"), IndexFreshness::SoFar);
        assert!(matches!(refused, Err(SessionSearchError::TurnedOff)));
    }
}
