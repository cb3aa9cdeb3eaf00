//! Follows a session of another process: publishes its events in this one, reconnects, and attaches to the session that
//! replaces it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_extensions::ExtensionNotice;
use pi_protocol::json;
use pi_protocol::{Request, RequestId, ScreenEvent, SessionEvent};
use serde::Deserialize as _;
use serde_json::Value;

use super::components::screen_size;
use super::{LinkStatus, RemoteInner, RemoteSession, connect, hello};
use crate::connection::ExtensionUiRequest;
use crate::live::link::{SnapshotLine, SocketLink, kind};
use crate::live::remote_error::RemoteError;
use crate::live::remote_state::may_store;
use crate::session::Follower;

/// How long a client tries to connect again: another process may take the session over.
const RECONNECT_TIME: Duration = Duration::from_secs(5);

const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

impl RemoteInner {
    /// Handles lines until the process that runs the session has ended and no other takes over.
    pub(super) async fn follow(self: Arc<Self>, mut link: SocketLink) {
        loop {
            while let Some(line) = link.next().await {
                if let Some(next) = self.receive(line).await {
                    self.close_dialogs();
                    self.hide_components();
                    self.follow_successor(next, link).await;
                    return;
                }
            }
            self.close_dialogs();
            self.hide_components();
            let Some(next) = self.reconnect().await else {
                self.status.send_replace(LinkStatus::Ended);
                return;
            };
            link = next;
            self.connect_components();
            self.show_again();
            self.ask_pending().await;
        }
    }

    /// Attaches to the session that replaced this one. It listens once it has a file; the other process then reports its
    /// observers. Until then, another session may replace it.
    async fn follow_successor(&self, mut next: String, mut link: SocketLink) {
        if self.attach_successor(&next).await {
            return;
        }
        self.status.send_replace(LinkStatus::Replaced);
        while let Some(line) = link.next().await {
            if let Some(id) = session_of(&line) {
                next = id;
            }
            if self.attach_successor(&next).await {
                return;
            }
        }
        self.status.send_replace(LinkStatus::Ended);
    }

    /// Attaches to a session that listens. Returns whether it does.
    async fn attach_successor(&self, id: &str) -> bool {
        if self.directory.socket_creation(id).is_none() {
            return false;
        }
        match self.attach_to(id).await {
            Ok(successor) => {
                *self.successor.lock() = Some(successor);
                self.status.send_replace(LinkStatus::Succeeded);
                true
            }
            Err(error) => {
                tracing::debug!(%error, "cannot follow the session yet");
                false
            }
        }
    }

    /// A separate function because attaching contains following, and that attaching.
    fn attach_to<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<RemoteSession, RemoteError>> {
        let options = self.options.clone();
        Box::pin(RemoteSession::attach(
            &self.host,
            options,
            id,
            self.is_read_only,
        ))
    }

    async fn reconnect(&self) -> Option<SocketLink> {
        let trying = async {
            loop {
                tokio::time::sleep(RECONNECT_PAUSE).await;
                let screen = screen_size(&*self.ui);
                let hello = hello(self.is_read_only, screen);
                let connected = connect(&self.directory, &self.id, hello).await;
                if let Ok((link, first)) = connected
                    && self.apply_snapshot(&first).is_ok()
                {
                    self.commands.lock().clone_from(&link.commands);
                    self.screen_connected(screen);
                    return link;
                }
            }
        };
        tokio::time::timeout(RECONNECT_TIME, trying).await.ok()
    }

    /// Handles a line. Returns the ID of the session that replaced this one.
    async fn receive(self: &Arc<Self>, line: Value) -> Option<String> {
        if let Some(session) = session_of(&line).filter(|session| *session != self.id) {
            return Some(session);
        }
        match kind(&line) {
            Some("snapshot") => match json::from_value::<SnapshotLine>(&line) {
                Ok(first) => {
                    if let Err(error) = self.apply_snapshot(&first) {
                        tracing::warn!(%error, "cannot apply the state of the session");
                    }
                    self.show_again();
                }
                Err(error) => tracing::warn!(%error, "invalid state of the session"),
            },
            Some("extension_ui_request") => match Request::deserialize(&line) {
                Ok(request) => self.ask(request).await,
                Err(_) => self.show_notice(&line).await,
            },
            Some("screen_mount" | "screen_lines" | "screen_unmount") => {
                match ScreenEvent::deserialize(&line) {
                    Ok(event) => self.change_component(event),
                    Err(error) => tracing::debug!(%error, "unknown line of a component"),
                }
            }
            Some("request_resolved") => {
                if let Some(id) = line.get("request").and_then(Value::as_str) {
                    self.resolved(&RequestId(id.to_owned()));
                }
            }
            _ => match SessionEvent::deserialize(&line) {
                Ok(event) => self.publish(event).await,
                Err(error) => tracing::debug!(%error, "unknown line of the session"),
            },
        }
        None
    }

    /// Shows a notice of an extension. The prompt of this terminal is its user's.
    async fn show_notice(&self, line: &Value) {
        let notice = ExtensionUiRequest::deserialize(line);
        match notice.map(|request| request.method.into_notice()) {
            Ok(
                None
                | Some(ExtensionNotice::EditorText { .. } | ExtensionNotice::EditorPaste { .. }),
            ) => {}
            Ok(Some(notice)) => self.ui.notify(notice).await,
            Err(error) => tracing::debug!(%error, "unknown notice of an extension"),
        }
    }

    /// Lets the front end show the session from the start.
    fn show_again(&self) {
        self.status.send_modify(|status| {
            if let LinkStatus::Connected(count) = status {
                *count += 1;
            }
        });
    }

    /// Publishes an event in this process.
    async fn publish(self: &Arc<Self>, mut event: SessionEvent) {
        let session = self.session();
        if may_store(&event)
            && let Err(error) = Follower::of(&session).read_appended()
        {
            tracing::warn!(%error, "cannot read the session file");
        }
        match &event {
            SessionEvent::ModelChanged { provider, model_id } => {
                let model = session.models().model(provider, model_id);
                let level = session.selection().thinking_level();
                self.select(model, level);
            }
            SessionEvent::ThinkingLevelChanged { level } => {
                self.select(session.selection().model(), *level);
            }
            SessionEvent::LeafMoved { leaf_id } => {
                if let Err(error) = Follower::of(&session).move_to(leaf_id.as_ref()) {
                    tracing::warn!(%error, "cannot follow a move in the tree");
                }
                self.show_again();
                return;
            }
            SessionEvent::DialogRequested { request } => {
                self.ask(request.clone()).await;
                return;
            }
            SessionEvent::DialogResolved { request, .. } => {
                self.resolved(request);
                return;
            }
            _ => {}
        }
        self.state().fold(&mut event);
        Follower::of(&session).publish(event).await;
    }
}

/// Returns the ID of the session that a line announces: a snapshot, or the end of the session before it.
fn session_of(line: &Value) -> Option<String> {
    let announces = matches!(kind(line), Some("snapshot" | "session_replaced"));
    let session = line.get("session").filter(|_| announces)?;
    session.as_str().map(str::to_owned)
}
