//! Events of a session as lines of JSON, for RPC and for JSON mode.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_runtime::{SessionEvent, SessionListener, UpdateForm};
use tokio_util::sync::CancellationToken;

use crate::line_sink::LineSink;

/// Writes every event it hears as a line. The session waits until the line is taken, which holds
/// it back while the reader is slow.
#[derive(Debug, Clone)]
pub struct JsonEvents {
    sink: LineSink,
    form: UpdateForm,
    muted: CancellationToken,
}

impl JsonEvents {
    /// Writes to this sink.
    pub fn new(sink: LineSink, form: UpdateForm) -> Self {
        Self {
            sink,
            form,
            muted: CancellationToken::new(),
        }
    }

    /// Writes nothing more, and lets go of a session that waits for the reader.
    pub fn mute(&self) {
        self.muted.cancel();
    }
}

impl SessionListener for JsonEvents {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if self.muted.is_cancelled() {
            return std::future::ready(()).boxed();
        }
        let line = match event.to_json(self.form) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "an event cannot be spelled");
                return std::future::ready(()).boxed();
            }
        };
        if self.sink.try_send(&line) == Ok(true) {
            return std::future::ready(()).boxed();
        }
        async move {
            let sent = self.muted.run_until_cancelled(self.sink.send(line)).await;
            if let Some(Err(error)) = sent {
                tracing::debug!(%error, "an event has no reader");
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::task::unconstrained;

    use super::*;
    use crate::line_sink::LineWriter;

    #[tokio::test]
    async fn a_session_waits_for_the_reader_until_it_is_let_go() {
        let (near, _far) = tokio::io::duplex(1);
        let writer = LineWriter::start(near);
        let events = JsonEvents::new(writer.sink(), UpdateForm::Delta);
        let event = SessionEvent::AgentSettled;
        let mut taken = 0;
        let mut waiting = loop {
            let mut hearing = events.on_event(&event);
            if unconstrained(&mut hearing).now_or_never().is_none() {
                break hearing;
            }
            taken += 1;
            tokio::task::yield_now().await;
            assert!(taken < 10_000, "nothing holds the session back");
        };
        events.mute();
        assert!((&mut waiting).now_or_never().is_some());
        assert!(events.on_event(&event).now_or_never().is_some());
    }
}
