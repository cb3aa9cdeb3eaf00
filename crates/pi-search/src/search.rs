//! Finds the entries that match a query: intersects posting lists, ranks with BM25, and reads the best entries from the
//! session files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use pi_protocol::{SearchRole, SessionSearchHit, SessionSearchResults};
use pi_session::listing::{EntryText, TextRole, read_text_at};

use crate::directory::IndexDirectory;
use crate::error::SearchError;
use crate::manifest::{FileRecord, Manifest};
use crate::query::{QueryTerm, SearchQuery};
use crate::segment::{Posting, SegmentReader, length_of};
use crate::snippet::snippet;
use crate::terms::{LocatedTerm, located_terms};
use crate::update::{FileState, SessionFiles, UpdateControl, UpdateOutcome, update};

/// How fast repeated words lose weight.
const K1: f64 = 1.2;
/// How much long entries lose weight.
const B: f64 = 0.75;

/// Entries whose text is read for a query; phrases are found among the best ones.
const MAX_CHECKED: usize = 2000;

/// An index over session files. Every call reads what is on disk.
#[derive(Debug)]
pub struct SearchIndex {
    directory: IndexDirectory,
}

/// What to find.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    pub query: SearchQuery,
    /// Only sessions with this working directory or one below it.
    pub cwd: Option<PathBuf>,
    /// Only entries of this time or later.
    pub since_ms: Option<i64>,
    pub role: Option<SearchRole>,
    pub limit: usize,
}

impl SearchIndex {
    /// Opens an index or creates its directory; one that other users control is refused.
    pub fn open(path: &Path) -> Result<Self, SearchError> {
        let directory = IndexDirectory::new(path);
        directory.claim()?;
        Ok(Self { directory })
    }

    /// Reads what was appended to session files since the last update. An index that is damaged is built again.
    pub fn update(
        &self,
        files: &SessionFiles,
        control: &mut UpdateControl<'_>,
    ) -> Result<UpdateOutcome, SearchError> {
        update(&self.directory, files, control)
    }

    /// Forgets everything, so that the next update builds the index again.
    pub fn clear(&self) -> Result<(), SearchError> {
        self.directory.remove_manifest()
    }

    /// Returns the best hits and how many entries match the words.
    pub fn search(&self, request: &SearchRequest) -> Result<SessionSearchResults, SearchError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let manifest = Manifest::read(&self.directory)?;
            match self.search_in(&manifest, request) {
                // Another process has merged segments meanwhile.
                Err(SearchError::Damaged { .. })
                    if attempts < 3 && Manifest::read(&self.directory)? != manifest => {}
                other => return other,
            }
        }
    }

    fn search_in(
        &self,
        manifest: &Manifest,
        request: &SearchRequest,
    ) -> Result<SessionSearchResults, SearchError> {
        let terms = request.query.terms();
        if terms.is_empty() {
            return Ok(SessionSearchResults::default());
        }
        let files = SearchedFiles::new(manifest, request);
        let mut matched = Vec::new();
        let mut statistics = Statistics::new(terms.len());
        for record in &manifest.segments {
            let segment = SegmentReader::open(&self.directory, record)?;
            statistics.documents += f64::from(segment.documents);
            statistics.terms += to_float(segment.total_terms);
            let lists = find_lists(&segment, &terms, &mut statistics)?;
            matched.push((segment, lists));
        }
        let mut candidates = Vec::new();
        for (position, (segment, lists)) in matched.iter().enumerate() {
            for document in intersect(lists) {
                let Some(file) = segment.file_of(document.document) else {
                    continue;
                };
                if !files.contains(file) {
                    continue;
                }
                let row = segment.row(document.document)?;
                let is_wanted = request.role.is_none_or(|role| role == wire_role(row.role))
                    && request
                        .since_ms
                        .is_none_or(|since| i64::from(row.seconds) >= since / 1000);
                if is_wanted {
                    candidates.push(Candidate {
                        score: statistics.score(&document.counts, length_of(row.length)),
                        seconds: row.seconds,
                        segment: position,
                        file,
                        offset: row.offset,
                    });
                }
            }
        }
        candidates.sort_unstable_by(Candidate::compare);
        let mut results = SessionSearchResults {
            total: candidates.len(),
            ..SessionSearchResults::default()
        };
        for candidate in candidates.iter().take(MAX_CHECKED) {
            if results.hits.len() >= request.limit {
                break;
            }
            match files.check(candidate, &request.query)? {
                Some(hit) => results.hits.push(hit),
                None => results.total -= 1,
            }
        }
        Ok(results)
    }
}

/// Returns the postings of every term; without one, none.
fn find_lists(
    segment: &SegmentReader,
    terms: &[QueryTerm],
    statistics: &mut Statistics,
) -> Result<Vec<Vec<Posting>>, SearchError> {
    let mut lists = Vec::new();
    for (term, frequency) in terms.iter().zip(&mut statistics.frequencies) {
        let list = segment.find(term)?;
        *frequency += to_float(list.len() as u64);
        lists.push(list);
    }
    Ok(lists)
}

/// A document that contains all terms, with how often each occurs.
struct MatchingDocument {
    document: u32,
    counts: Vec<u32>,
}

/// Returns the documents that are in all lists.
fn intersect(lists: &[Vec<Posting>]) -> Vec<MatchingDocument> {
    let Some(shortest) = lists.iter().min_by_key(|list| list.len()) else {
        return Vec::new();
    };
    let mut rests: Vec<&[Posting]> = lists.iter().map(Vec::as_slice).collect();
    let mut found = Vec::new();
    for wanted in shortest {
        let mut counts = Vec::with_capacity(rests.len());
        for rest in &mut rests {
            let skipped = rest.partition_point(|posting| posting.document < wanted.document);
            *rest = rest.get(skipped..).unwrap_or_default();
            let first = rest.first().filter(|it| it.document == wanted.document);
            counts.extend(first.map(|posting| posting.count));
        }
        if counts.len() == rests.len() {
            found.push(MatchingDocument {
                document: wanted.document,
                counts,
            });
        }
    }
    found
}

/// What BM25 needs to know of the whole index.
struct Statistics {
    documents: f64,
    terms: f64,
    /// How many documents contain each term of the query.
    frequencies: Vec<f64>,
}

impl Statistics {
    fn new(terms: usize) -> Self {
        Self {
            documents: 0.0,
            terms: 0.0,
            frequencies: vec![0.0; terms],
        }
    }

    fn score(&self, counts: &[u32], length: f64) -> f64 {
        let average = (self.terms / self.documents.max(1.0)).max(1.0);
        let norm = K1 * (1.0 - B + B * length / average);
        let weights = counts.iter().zip(&self.frequencies);
        let weights = weights.map(|(count, frequency)| {
            let count = f64::from(*count);
            let others = self.documents - frequency;
            let rarity = (1.0 + (others + 0.5) / (frequency + 0.5)).ln();
            rarity * count * (K1 + 1.0) / (count + norm)
        });
        weights.sum()
    }
}

struct Candidate {
    score: f64,
    seconds: u32,
    segment: usize,
    file: u32,
    offset: u64,
}

impl Candidate {
    /// Better ones first, then newer ones.
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(other.seconds.cmp(&self.seconds))
            .then(other.segment.cmp(&self.segment))
            .then((other.file, other.offset).cmp(&(self.file, self.offset)))
    }
}

/// The session files that a search includes, by their numbers.
struct SearchedFiles<'a> {
    files: HashMap<u32, (&'a Path, &'a FileRecord)>,
}

impl<'a> SearchedFiles<'a> {
    fn new(manifest: &'a Manifest, request: &SearchRequest) -> Self {
        let files = manifest.files.iter().filter(|(_, record)| {
            let cwd = Path::new(&record.cwd);
            let is_wanted = request.cwd.as_ref().is_none_or(|it| cwd.starts_with(it));
            is_wanted && !record.is_excluded
        });
        let files = files.map(|(path, record)| (record.number, (path.as_path(), record)));
        Self {
            files: files.collect(),
        }
    }

    fn contains(&self, file: u32) -> bool {
        self.files.contains_key(&file)
    }

    /// Returns the hit if the session file still contains it. A file that was not changed but has other text is damage
    /// of the index.
    fn check(
        &self,
        candidate: &Candidate,
        query: &SearchQuery,
    ) -> Result<Option<SessionSearchHit>, SearchError> {
        let Some((path, record)) = self.files.get(&candidate.file) else {
            return Ok(None);
        };
        let entry = read_text_at(path, candidate.offset).ok().flatten();
        let located: Vec<LocatedTerm> = entry
            .as_ref()
            .map(|entry| located_terms(&entry.text).collect())
            .unwrap_or_default();
        let terms = query.terms();
        let has_terms = terms
            .iter()
            .all(|term| located.iter().any(|found| term.matches(&found.term)));
        if let Some(entry) = entry.filter(|_| has_terms) {
            let is_match = query.matches(&located);
            return Ok(is_match.then(|| hit(path, record, &entry, &located, query)));
        }
        let state = fs::metadata(path).ok().as_ref().and_then(FileState::of);
        if state.is_some_and(|state| state.is_of(record)) {
            return Err(SearchError::damaged("a document"));
        }
        Ok(None)
    }
}

fn hit(
    path: &Path,
    record: &FileRecord,
    entry: &EntryText,
    located: &[LocatedTerm],
    query: &SearchQuery,
) -> SessionSearchHit {
    SessionSearchHit {
        path: path.to_owned(),
        session_id: record.id.clone(),
        cwd: record.cwd.clone(),
        title: record.title.clone(),
        entry_id: entry.id.clone(),
        role: wire_role(entry.role),
        timestamp_ms: entry.timestamp_ms,
        snippet: snippet(&entry.text, located, &query.matching(located)),
    }
}

const fn wire_role(role: TextRole) -> SearchRole {
    match role {
        TextRole::User => SearchRole::User,
        TextRole::Assistant => SearchRole::Assistant,
        TextRole::Tool => SearchRole::Tool,
        TextRole::Other => SearchRole::Other,
        TextRole::Name => SearchRole::Name,
    }
}

#[expect(clippy::cast_precision_loss, reason = "weights need no more digits")]
const fn to_float(number: u64) -> f64 {
    number as f64
}
