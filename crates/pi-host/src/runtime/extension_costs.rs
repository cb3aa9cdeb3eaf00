//! What the extensions of the current session cost.

use pi_protocol::{CacheMissReport, ExtensionCost};

use super::SessionRuntime;
use crate::session::AgentSession;

/// Returns what each extension of the current session costs.
pub async fn extension_costs(runtime: &SessionRuntime) -> Vec<ExtensionCost> {
    let (extensions, session) = {
        let current = runtime.current();
        (current.extensions.clone(), current.session.clone())
    };
    let Some(extensions) = extensions else {
        return Vec::new();
    };
    let reading = tokio::task::spawn_blocking(move || cache_misses(&session));
    extensions.costs(&reading.await.unwrap_or_default()).await
}

fn cache_misses(session: &AgentSession) -> Vec<CacheMissReport> {
    let misses = session.history().cache_misses();
    misses.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read the cache misses of the session");
        Vec::new()
    })
}
