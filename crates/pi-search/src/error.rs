//! Why a search or an update failed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum SearchError {
    /// The directory is a link, a file or belongs to another user.
    #[error("cannot use the search index: {}", path.display())]
    Refused { path: PathBuf, source: io::Error },
    #[error("cannot access the search index: {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// A part of the index does not have the content that was written.
    #[error("the search index is damaged: {what}")]
    Damaged { what: &'static str },
    #[error("the update of the search index was canceled")]
    Canceled,
}

impl SearchError {
    pub(crate) const fn damaged(what: &'static str) -> Self {
        Self::Damaged { what }
    }
}
