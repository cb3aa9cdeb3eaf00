//! Events and changes of the selection, which participants process before clients see them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_protocol::{Model, SessionEvent, ThinkingLevel};

use super::{Participants, ready};

/// Processes events; the session awaits it.
pub trait EventHook: Send + Sync {
    /// Called with run events, settling and name changes, before the listeners.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let _ = event;
        ready(())
    }

    /// Called after the model changed.
    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        let _ = selected;
        ready(())
    }

    /// Called after the thinking level changed.
    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        let _ = (level, previous);
        ready(())
    }
}

/// A model change.
#[derive(Debug, Clone)]
pub struct ModelSelected {
    pub model: Arc<Model>,
    pub previous: Option<Arc<Model>>,
    pub source: ModelSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Set,
    Cycle,
    /// Restored from the session's history.
    Restore,
}

impl Participants {
    pub(crate) async fn on_event(&self, event: &SessionEvent) {
        for hook in &self.events {
            hook.on_event(event).await;
        }
    }

    pub(crate) async fn model_selected(&self, selected: ModelSelected) {
        for hook in &self.events {
            hook.model_selected(selected.clone()).await;
        }
    }

    pub(crate) async fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) {
        for hook in &self.events {
            hook.thinking_level_selected(level, previous).await;
        }
    }
}

#[cfg(test)]
mod tests {

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    /// Records its calls with its name.
    struct NamedHook(&'static str, Arc<Mutex<Vec<String>>>);

    impl NamedHook {
        fn note(&self, call: &str) -> BoxFuture<'_, ()> {
            self.1.lock().push(format!("{} {call}", self.0));
            ready(())
        }
    }

    impl EventHook for NamedHook {
        fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
            assert!(matches!(event, SessionEvent::AgentSettled { .. }));
            self.note("settled")
        }

        fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
            self.note(&selected.model.id)
        }

        fn thinking_level_selected(
            &self,
            level: ThinkingLevel,
            _previous: ThinkingLevel,
        ) -> BoxFuture<'_, ()> {
            self.note(level.as_str())
        }
    }

    #[tokio::test]
    async fn every_hook_is_called_in_order() {
        let log = Arc::new(Mutex::default());
        let hook = |name| Arc::new(NamedHook(name, Arc::clone(&log)));
        let first = Participants::builder().events(hook("a")).build();
        let later = Participants::builder().events(hook("b")).build();
        let participants = first.then(later);
        participants
            .on_event(&SessionEvent::AgentSettled { aborted: false })
            .await;
        participants
            .model_selected(ModelSelected {
                model: Arc::new(Model::unknown()),
                previous: None,
                source: ModelSource::Set,
            })
            .await;
        participants
            .thinking_level_selected(ThinkingLevel::High, ThinkingLevel::Off)
            .await;
        assert_eq!(
            *log.lock(),
            [
                "a settled",
                "b settled",
                "a unknown",
                "b unknown",
                "a high",
                "b high"
            ]
        );
    }
}
