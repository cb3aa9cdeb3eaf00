//! How well a model matches a search.

use pi_protocol::Model;
use pi_tui::FuzzyQuery;

/// Added to the score of models that have the letters of the search, but not its words.
const SCATTERED: f64 = 1e6;

/// Returns the score of a model, lower being better; `None` if it does not match.
pub(super) fn score(query: &FuzzyQuery, model: &Model) -> Option<f64> {
    let searched = search_text(model);
    let score = query.score(&searched)?;
    if query.is_contained_in(&searched) {
        Some(score)
    } else {
        Some(score + SCATTERED)
    }
}

/// Returns the searched text. The provider comes first, so that `openai/gpt` finds OpenAI's own models before
/// those of resellers.
fn search_text(model: &Model) -> String {
    let Model {
        id, provider, name, ..
    } = model;
    format!("{provider} {provider}/{id} {provider} {id} {name}")
}
