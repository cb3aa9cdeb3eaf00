//! What a session costs and contains: cache misses, context, cost by turn.

use pi_context::{CacheReporter, TurnCost, context_report, turn_costs};
use pi_protocol::{CacheMissReport, ContextReport};
use pi_providers::Models;
use pi_session::{Session, SessionError};

use super::History;

impl History<'_> {
    /// Returns the prompt cache misses of all branches, oldest first. Blocking.
    pub fn cache_misses(self) -> Result<Vec<CacheMissReport>, SessionError> {
        let models = self.session.0.models.clone();
        self.with_copy(|session| cache_misses(session, &models))
    }

    /// Returns what fills the context.
    pub fn context_report(self) -> Result<ContextReport, SessionError> {
        let model = self.session.selection().limits_model();
        let window = model.map_or(0, |model| model.context_window);
        let mut transcript = self.session.0.transcript();
        Ok(context_report(transcript.projection()?, window))
    }

    /// Returns the cost of every turn of the current branch. Blocking.
    pub fn turn_costs(self) -> Result<Vec<TurnCost>, SessionError> {
        self.with_copy(|session| {
            let entries = session.current_branch().entries()?;
            Ok(turn_costs(entries.iter().map(|entry| &**entry)))
        })
    }
}

/// Returns the cache misses of a session file, with prices of the catalog.
pub fn cache_misses(
    session: &Session,
    models: &Models,
) -> Result<Vec<CacheMissReport>, SessionError> {
    let read_rate = |provider: &str, model: &str| {
        let model = models.model(provider, model);
        model.map_or(0.0, |model| model.cost.rates.cache_read)
    };
    let mut reporter = CacheReporter::default();
    let mut misses = Vec::new();
    for entry in session.entries().iter() {
        misses.extend(reporter.observe(&*entry?, read_rate));
    }
    Ok(misses)
}
