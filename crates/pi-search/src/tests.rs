//! The index as its users see it: against a linear scan, across changes of session files, damage and crashes.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use pi_protocol::SearchRole;
use pi_session::listing::{TextFlow, each_text};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use crate::SearchError;
use crate::directory::IndexDirectory;
use crate::query::SearchQuery;
use crate::search::{SearchIndex, SearchRequest};
use crate::terms::located_terms;
use crate::update::{SessionFiles, UpdateControl, UpdateOutcome, UpdatePace, update};

/// Session files and an index in a temporary directory.
struct Corpus {
    home: TempDir,
    files: SessionFiles,
}

/// Pseudo-random numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }

    /// Few words are frequent and many are rare.
    fn word(&mut self) -> String {
        let range = 1 << self.below(12);
        let number = self.below(range);
        match number % 7 {
            0 => format!("retryBudget{number}"),
            1 => format!("größe{number}"),
            _ => format!("w{number}"),
        }
    }

    fn text(&mut self) -> String {
        let count = 1 + self.below(40);
        let words: Vec<String> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }
}

fn message(id: usize, role: &str, text: &str) -> String {
    let at = 1_700_000_000_000_u64 + id as u64 * 60_000;
    let message = serde_json::json!({
        "type": "message", "id": format!("{id:08}"), "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": role, "timestamp": at, "content": [{"type": "text", "text": text}]},
    });
    format!("{message}\n")
}

impl Corpus {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self {
            home,
            files: SessionFiles::default(),
        }
    }

    fn random(sessions: usize, entries: usize) -> Self {
        let mut corpus = Self::new();
        let mut numbers = Numbers(7);
        for session in 0..sessions {
            let path = corpus.create(session, &format!("/project/{}", session % 3));
            let lines = (0..entries).map(|entry| {
                let role = ["user", "assistant", "toolResult"][entry % 3];
                message(entry, role, &numbers.text())
            });
            append(&path, &lines.collect::<String>());
        }
        corpus
    }

    fn create(&mut self, number: usize, cwd: &str) -> PathBuf {
        let path = self.home.path().join(format!("s{number}.jsonl"));
        let header = serde_json::json!({
            "type": "session", "version": 3, "id": format!("session-{number}"),
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd,
        });
        fs::write(&path, format!("{header}\n")).unwrap();
        self.files.paths.push(path.clone());
        path
    }

    fn index_path(&self) -> PathBuf {
        self.home.path().join("search")
    }

    fn index(&self) -> SearchIndex {
        SearchIndex::open(&self.index_path()).unwrap()
    }

    fn update(&self) -> UpdateOutcome {
        self.index().update(&self.files, &mut control()).unwrap()
    }

    /// Returns session and entry of every hit.
    fn find(&self, query: &str) -> BTreeSet<(String, String)> {
        found(&self.index(), query).unwrap()
    }

    /// Returns what [`Self::find`] has to return, by reading all files.
    fn scan(&self, query: &str) -> BTreeSet<(String, String)> {
        let query = SearchQuery::parse(query);
        let mut found = BTreeSet::new();
        for path in &self.files.paths {
            let Some(header) = pi_session::listing::read_header(path) else {
                continue;
            };
            each_text(path, 0, |entry| {
                let terms: Vec<_> = located_terms(&entry.text).collect();
                if query.matches(&terms) {
                    found.insert((header.id.clone(), entry.id));
                }
                TextFlow::Continue
            })
            .unwrap();
        }
        found
    }

    fn assert_complete(&self) {
        let mut numbers = Numbers(99);
        for round in 0..60 {
            let (one, other) = (numbers.word(), numbers.word());
            let query = match round % 4 {
                0 => one,
                1 => format!("{one} {other}"),
                2 => format!("\"{one} {other}\""),
                _ => format!("{}*", one.get(..3).unwrap_or(&one)),
            };
            assert_eq!(self.find(&query), self.scan(&query), "{query}");
        }
    }
}

fn found(index: &SearchIndex, query: &str) -> Result<BTreeSet<(String, String)>, SearchError> {
    let results = index.search(&SearchRequest {
        query: SearchQuery::parse(query),
        limit: usize::MAX,
        ..SearchRequest::default()
    })?;
    let hits = results.hits.into_iter();
    Ok(hits.map(|hit| (hit.session_id, hit.entry_id)).collect())
}

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn control() -> UpdateControl<'static> {
    UpdateControl {
        pace: UpdatePace::Full,
        on_progress: Box::leak(Box::new(|_| {})),
        is_canceled: &|| false,
    }
}

#[test]
fn hits_are_those_of_a_linear_scan() {
    let corpus = Corpus::random(12, 150);
    assert_eq!(corpus.update(), UpdateOutcome::Complete);
    corpus.assert_complete();
}

#[test]
fn appended_entries_are_found_and_segments_are_merged() {
    let mut corpus = Corpus::random(3, 20);
    let mut numbers = Numbers(3);
    for round in 0..25 {
        let path = corpus.files.paths[round % 3].clone();
        append(&path, &message(1000 + round, "user", &numbers.text()));
        corpus.update();
    }
    corpus.create(9, "/project/1");
    corpus.update();
    corpus.assert_complete();
    let files = fs::read_dir(corpus.index_path()).unwrap().count();
    assert!(files <= 2 + 8, "{files} files");
}

#[test]
fn rewritten_shortened_and_deleted_sessions_lose_their_entries() {
    let mut corpus = Corpus::new();
    let kept = corpus.create(0, "/p");
    append(&kept, &message(1, "user", "alpha beta"));
    let rewritten = corpus.create(1, "/p");
    append(&rewritten, &message(1, "user", "alpha gamma"));
    let deleted = corpus.create(2, "/p");
    append(&deleted, &message(1, "user", "alpha delta"));
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 3);

    // Before any update.
    fs::remove_file(&deleted).unwrap();
    assert_eq!(corpus.find("alpha").len(), 2);
    assert_eq!(corpus.find("delta").len(), 0);

    fs::remove_file(&rewritten).unwrap();
    corpus.files.paths.truncate(1);
    corpus.create(1, "/p");
    append(
        &rewritten,
        &message(1, "user", "epsilon alpha, of another length"),
    );
    corpus.update();
    assert_eq!(corpus.find("gamma").len(), 0);
    assert_eq!(corpus.find("epsilon").len(), 1);
    corpus.update();
    // Two of three documents are gone, so the first segment was written again.
    let sizes = fs::read_dir(corpus.index_path()).unwrap();
    let text: Vec<u8> = sizes
        .flat_map(|it| fs::read(it.unwrap().path()).unwrap())
        .collect();
    let has = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    assert!(has(b"epsilon") && !has(b"gamma") && !has(b"delta"));
}

#[test]
fn an_unfinished_line_is_found_when_it_is_complete() {
    let mut corpus = Corpus::new();
    let path = corpus.create(0, "/p");
    let line = message(1, "user", "alpha");
    let (start, end) = line.split_at(line.len() / 2);
    append(&path, start);
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 0);
    append(&path, end);
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 1);
}

#[test]
fn filters_and_the_order_apply() {
    let mut corpus = Corpus::new();
    let one = corpus.create(0, "/code/one");
    append(
        &one,
        &message(
            1,
            "user",
            "alpha and many other words in a long entry of a session",
        ),
    );
    append(&one, &message(2, "assistant", "alpha"));
    let other = corpus.create(1, "/code/other");
    append(&other, &message(3, "toolResult", "alpha"));
    corpus.update();
    let find = |request: SearchRequest| {
        let request = SearchRequest {
            query: SearchQuery::parse("alpha"),
            limit: 10,
            ..request
        };
        let results = corpus.index().search(&request).unwrap();
        assert_eq!(results.total, results.hits.len());
        let hits = results.hits.into_iter();
        hits.map(|hit| hit.entry_id.trim_start_matches('0').to_owned())
            .collect::<Vec<_>>()
    };
    // The short ones first, of these the newer one.
    assert_eq!(find(SearchRequest::default()), ["3", "2", "1"]);
    let cwd = Some(PathBuf::from("/code/one"));
    assert_eq!(
        find(SearchRequest {
            cwd,
            ..SearchRequest::default()
        }),
        ["2", "1"]
    );
    let role = Some(SearchRole::User);
    assert_eq!(
        find(SearchRequest {
            role,
            ..SearchRequest::default()
        }),
        ["1"]
    );
    let since_ms = Some(1_700_000_000_000 + 120_000);
    assert_eq!(
        find(SearchRequest {
            since_ms,
            ..SearchRequest::default()
        }),
        ["3", "2"]
    );
}

#[test]
fn excluded_folders_are_left_out_when_the_setting_changes() {
    let mut corpus = Corpus::new();
    let path = corpus.create(0, "/secret/one");
    append(&path, &message(1, "user", "alpha"));
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 1);
    corpus.files.excluded = vec![PathBuf::from("/secret")];
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 0);
    corpus.files.excluded.clear();
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 1);
}

#[test]
fn binary_files_pipes_and_files_without_header_are_no_sessions() {
    let mut corpus = Corpus::new();
    let path = corpus.create(0, "/p");
    append(&path, &message(1, "user", "alpha"));
    let binary = corpus.home.path().join("b.jsonl");
    fs::write(&binary, [0_u8, 159, 146, 150].repeat(100_000)).unwrap();
    let headless = corpus.home.path().join("h.jsonl");
    fs::write(&headless, message(2, "user", "alpha")).unwrap();
    let directory = corpus.home.path().join("d.jsonl");
    fs::create_dir(&directory).unwrap();
    corpus.files.paths.extend([binary, headless, directory]);
    corpus.update();
    assert_eq!(corpus.find("alpha").len(), 1);
}

/// Changes every byte of every file of an index in turn: the hits are right, or damage is reported.
#[test]
fn damage_is_found_and_repaired() {
    let corpus = Corpus::random(2, 12);
    corpus.update();
    let queries = ["w0", "w1", "retryBudget0", "w0 w1"];
    let expected: Vec<_> = queries.iter().map(|query| corpus.scan(query)).collect();
    let mut reported = 0;
    let mut changes = 0;
    for file in fs::read_dir(corpus.index_path()).unwrap() {
        let path = file.unwrap().path();
        let content = fs::read(&path).unwrap();
        for position in (0..content.len()).step_by(61) {
            let mut damaged = content.clone();
            damaged[position] ^= 0x41;
            fs::write(&path, damaged).unwrap();
            changes += 1;
            for (query, expected) in queries.iter().zip(&expected) {
                match found(&corpus.index(), query) {
                    Ok(found) => assert_eq!(&found, expected, "{query} at {position}"),
                    Err(SearchError::Damaged { .. }) => reported += 1,
                    Err(other) => panic!("{other}"),
                }
            }
        }
        for length in [0, 1, content.len() / 2, content.len().saturating_sub(1)] {
            if length < content.len() {
                fs::write(&path, &content[..length]).unwrap();
                assert!(found(&corpus.index(), "w0").is_err());
            }
        }
        fs::write(&path, &content).unwrap();
    }
    assert!(reported > changes / 2, "{reported} of {changes}");

    // An update repairs what an opened segment shows, and `clear` what only a search shows.
    fs::write(corpus.index_path().join("manifest"), "of another program").unwrap();
    corpus.update();
    corpus.assert_complete();
    corpus.index().clear().unwrap();
    corpus.update();
    corpus.assert_complete();
}

/// Kills an update before every change it makes to the directory.
#[test]
fn an_update_can_be_killed_at_any_point() {
    for changes in 0..40 {
        let corpus = Corpus::random(2, 20);
        let directory = IndexDirectory::new(&corpus.index_path());
        directory.claim().unwrap();
        let mut is_killed = false;
        // Small updates, so that segments are merged.
        for round in 0..10 {
            append(
                &corpus.files.paths[0],
                &message(500 + round, "user", "alpha w0"),
            );
            directory
                .crash
                .changes_left
                .set((round == 9).then_some(changes));
            is_killed = update(&directory, &corpus.files, &mut control()).is_err();
        }
        let before = found(&corpus.index(), "alpha").unwrap();
        assert!(
            before.len() >= 9,
            "{} after {changes} changes",
            before.len()
        );
        corpus.update();
        corpus.assert_complete();
        if !is_killed {
            assert!(changes > 2);
            return;
        }
    }
    panic!("the update makes more changes than expected");
}

#[test]
fn a_canceled_update_continues_later() {
    let corpus = Corpus::random(4, 400);
    let index = corpus.index();
    let canceled = index.update(
        &corpus.files,
        &mut UpdateControl {
            is_canceled: &|| true,
            ..control()
        },
    );
    // A fast machine may be done before it asks.
    assert!(canceled.is_ok() || matches!(canceled, Err(SearchError::Canceled)));
    corpus.update();
    corpus.assert_complete();
}

#[test]
fn processes_share_an_index() {
    let corpus = Corpus::random(4, 100);
    corpus.update();
    let expected = corpus.scan("w0");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..40 {
                append(
                    &corpus.files.paths[1],
                    &message(900 + round, "user", "beta"),
                );
                corpus.update();
            }
        });
        while !writer.is_finished() {
            assert_eq!(corpus.find("w0"), expected);
        }
    });
    assert_eq!(corpus.find("beta").len(), 40);
}
