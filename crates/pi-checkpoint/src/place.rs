//! Where a file is restored: an entry of a directory that was reached without following links, so that a link that appears
//! meanwhile leads nowhere.

#[cfg(not(unix))]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::Place;
#[cfg(unix)]
pub(crate) use unix::Place;

/// Whether missing directories of a path are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Fail,
}
