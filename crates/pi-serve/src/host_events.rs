//! Server-sent events of the host: which sessions are live, and what they are doing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{BoxFuture, select_all};
use pi_host::Observer;
use serde_json::json;
use tokio::sync::mpsc;

use crate::body::Reply;
use crate::events::{event, stream};
use crate::server::ServerState;
use crate::session_list::ListedSession;

/// How long changes are collected before they are sent.
const COLLECT: Duration = Duration::from_millis(200);

/// How often an idle stream sends a comment.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Sends the live sessions: first all of them, then each that changes.
pub(crate) fn host_events(state: &Arc<ServerState>) -> Reply {
    let watching = Arc::clone(state);
    stream(state, |output| Box::pin(send_changes(watching, output)))
}

async fn send_changes(state: Arc<ServerState>, output: mpsc::Sender<Bytes>) {
    let mut known: Option<BTreeMap<String, ListedSession>> = None;
    let mut changes = state.options.host.changes();
    loop {
        changes.mark_unchanged();
        let sessions = state.options.host.sessions();
        // Observed before their state is read, so that no change is missed.
        let observers = sessions.iter().map(|session| session.observe(None));
        let observers: Vec<Observer> = observers.collect();
        let current = sessions.iter().map(ListedSession::live);
        let current: BTreeMap<_, _> = current.map(|live| (live.id.clone(), live)).collect();
        if send_difference(known.as_ref(), &current, &output)
            .await
            .is_err()
        {
            return;
        }
        known = Some(current);
        let changed = async {
            tokio::select! {
                changed = changes.changed() => changed.unwrap_or_default(),
                () = any_event(observers) => {}
            }
        };
        if tokio::time::timeout(KEEP_ALIVE, changed).await.is_err()
            && output.send(Bytes::from_static(b": \n\n")).await.is_err()
        {
            return;
        }
        tokio::time::sleep(COLLECT).await;
    }
}

/// Sends what differs from the last state that the client knows.
async fn send_difference(
    known: Option<&BTreeMap<String, ListedSession>>,
    current: &BTreeMap<String, ListedSession>,
    output: &mpsc::Sender<Bytes>,
) -> Result<(), mpsc::error::SendError<Bytes>> {
    let Some(known) = known else {
        let sessions: Vec<_> = current.values().collect();
        let snapshot = json!({ "sessions": sessions }).to_string();
        return output.send(event(Some("snapshot"), None, &snapshot)).await;
    };
    for (id, session) in current {
        let kind = match known.get(id) {
            Some(before) if before == session => continue,
            Some(_) => "session_changed",
            None => "session_opened",
        };
        let line = json!({"type": kind, "session": session}).to_string();
        output.send(event(None, None, &line)).await?;
    }
    for id in known.keys().filter(|id| !current.contains_key(*id)) {
        let line = json!({"type": "session_closed", "id": id}).to_string();
        output.send(event(None, None, &line)).await?;
    }
    Ok(())
}

/// Waits for an event of any session; forever if there is none.
async fn any_event(observers: Vec<Observer>) {
    let waiting = observers
        .into_iter()
        .map(|mut observer| -> BoxFuture<'_, ()> {
            Box::pin(async move {
                observer.next().await;
            })
        });
    let waiting: Vec<_> = waiting.collect();
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    select_all(waiting).await;
}
