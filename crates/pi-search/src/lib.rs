//! Full-text search over session files.
//!
//! The index is a directory of immutable segments and a manifest that lists them with the state of every session file.
//! [`SearchIndex::update`] reads what was appended to session files since; [`SearchIndex::search`] finds the entries that
//! contain the words of a [`SearchQuery`], ranked with BM25, and reads their text from the session files. A hit is shown
//! only if the session file still contains it, and parts of the index that fail their checksums are rebuilt, so the index
//! is never trusted more than a cache.
//!
//! [`SessionSearch`] is the search over the sessions of a user. Any number of processes may search; the one that holds the lock updates. All functions block on disk access.
#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "test files need no atomic writes"
    )
)]

mod directory;
mod error;
mod manifest;
mod query;
mod search;
mod segment;
mod session_search;
mod snippet;
mod terms;
mod update;

pub use error::SearchError;
pub use query::SearchQuery;
pub use search::{SearchIndex, SearchRequest};
pub use session_search::{
    BackgroundIndexing, IndexFreshness, SessionSearch, SessionSearchError, SessionSearchOptions,
};
pub use update::{SessionFiles, UpdateControl, UpdateOutcome, UpdatePace, UpdateProgress};

#[cfg(test)]
mod tests;
