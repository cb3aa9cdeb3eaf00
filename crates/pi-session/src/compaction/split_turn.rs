//! One summary of two: of the history, and of the beginning of the turn that a cut splits.

/// What stands for a history that was never there.
const NO_HISTORY: &str = "(Nothing came before this turn.)";

const HEADING: &str = "**Turn Context (split turn):**";

/// Joins the summary of the history with that of the turn's beginning.
pub(crate) fn joined_summary(history: Option<&str>, turn_prefix: &str) -> String {
    let history = history.unwrap_or(NO_HISTORY);
    format!("{history}\n\n---\n\n{HEADING}\n\n{turn_prefix}")
}
