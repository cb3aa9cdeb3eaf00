//! Rendered lines: text with ANSI sequences, shared and immutable.
//!
//! Lines are plain strings because extension components deliver strings. Sharing makes a cached
//! component cost one reference count per frame and lets the renderer detect unchanged lines by
//! address.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// One rendered line: text with SGR and OSC 8 sequences, without a line break.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(Arc<str>);

impl Line {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both share one allocation, which implies equal text.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Line {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl PartialEq<str> for Line {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Line {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl Deref for Line {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Line {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, formatter)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl From<std::borrow::Cow<'_, str>> for Line {
    fn from(text: std::borrow::Cow<'_, str>) -> Self {
        Self(Arc::from(text))
    }
}

/// The lines a component rendered, from top to bottom.
///
/// A component that caches returns a clone of its previous result, so its parent can detect with a
/// single [`Lines::ptr_eq`] that nothing below it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines(Arc<[Line]>);

impl Lines {
    pub fn empty() -> Self {
        Self(Arc::from([]))
    }

    /// Whether both share one allocation, which implies equal lines.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::empty()
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.0
    }
}

impl From<Vec<Line>> for Lines {
    fn from(lines: Vec<Line>) -> Self {
        Self(Arc::from(lines))
    }
}

impl From<Vec<String>> for Lines {
    fn from(lines: Vec<String>) -> Self {
        lines.into_iter().collect()
    }
}

impl<L: Into<Line>> FromIterator<L> for Lines {
    fn from_iter<I: IntoIterator<Item = L>>(lines: I) -> Self {
        Self(lines.into_iter().map(Into::into).collect())
    }
}

impl<'a> IntoIterator for &'a Lines {
    type Item = &'a Line;
    type IntoIter = std::slice::Iter<'a, Line>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
