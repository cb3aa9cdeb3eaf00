//! Joins the summaries of the history and of the start of a split turn.

/// Used if nothing precedes the split turn.
const NO_HISTORY: &str = "(No prior history.)";

const HEADING: &str = "**Turn Context (split turn):**";

pub(crate) fn joined_summary(history: Option<&str>, turn_prefix: &str) -> String {
    let history = history.unwrap_or(NO_HISTORY);
    format!("{history}\n\n---\n\n{HEADING}\n\n{turn_prefix}")
}
