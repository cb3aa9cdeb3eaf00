//! Forwards the phase of the current request from its stream to watchers of the agent.

use pi_protocol::StreamPhase;
use pi_stream::AssistantStream;
use tokio::sync::watch;

/// Publishes the phases of one request. Dropping it resets the published phase to `None`.
pub(crate) struct PhaseRelay {
    shown: watch::Sender<Option<StreamPhase>>,
    phase: watch::Receiver<StreamPhase>,
}

impl PhaseRelay {
    pub(crate) fn new(
        shown: &watch::Sender<Option<StreamPhase>>,
        response: &AssistantStream,
    ) -> Self {
        let relay = Self {
            shown: shown.clone(),
            phase: response.phase(),
        };
        relay.show(StreamPhase::default());
        relay
    }

    /// Waits for the next phase; never returns once the last phase was seen.
    pub(crate) async fn changed(&mut self) {
        if self.phase.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Publishes the current phase if it changed.
    pub(crate) fn catch_up(&mut self) {
        let phase = *self.phase.borrow_and_update();
        self.show(phase);
    }

    fn show(&self, phase: StreamPhase) {
        self.shown.send_if_modified(|shown| {
            let changes = *shown != Some(phase);
            *shown = Some(phase);
            changes
        });
    }
}

impl Drop for PhaseRelay {
    fn drop(&mut self) {
        self.shown.send_replace(None);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;
    use pi_protocol::Model;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn phases_are_shown_while_the_request_lives_and_not_after() {
        let model: Model = serde_json::from_value(json!({"id": "m", "name": "m", "api": "a",
            "provider": "p", "baseUrl": "", "reasoning": true, "input": ["text"], "cost": {},
            "contextWindow": 1000, "maxTokens": 100}))
        .unwrap();
        let shown = watch::Sender::new(None);
        let (go, gate) = tokio::sync::oneshot::channel::<()>();
        let mut response = AssistantStream::produce(&model, 0, |writer| async move {
            writer.set_phase(StreamPhase::Connecting);
            gate.await.ok();
            writer.set_phase(StreamPhase::Receiving);
            writer.complete().await;
        });
        let mut relay = PhaseRelay::new(&shown, &response);
        assert_eq!(*shown.borrow(), Some(StreamPhase::Preparing));
        tokio::select! {
            biased;
            _ = response.next() => panic!("nothing was streamed yet"),
            () = relay.changed() => relay.catch_up(),
        }
        assert_eq!(*shown.borrow(), Some(StreamPhase::Connecting));
        go.send(()).unwrap();
        while response.next().await.is_some() {}
        relay.catch_up();
        assert_eq!(*shown.borrow(), Some(StreamPhase::Ended));
        drop(relay);
        assert_eq!(*shown.borrow(), None);
    }
}
