//! The events of a live session for one client, as lines with a cursor each.
//!
//! A feed never delays the session. One that fell behind, or continues at a cursor of another log, receives a snapshot
//! and continues from there. It follows the session when another one replaces it.

use std::time::Duration;

use pi_core::{Observed, Observer, join_waiting};
use pi_export::EntryRange;
use pi_extensions::ScreenFeed;
use pi_protocol::{
    AgentEvent, Cursor, EntryId, Request, RequestKind, ScreenSize, SessionEvent, UpdateFormat,
};
use serde::Serialize;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use super::client_ui::ClientUi;
use super::event_lines::EventLines;
use super::snapshot_line::snapshot_line;
use crate::host::SessionHandle;
use crate::runtime::extension_ui;
use crate::session::AgentSession;

/// Time between two reads of a message that grows. What arrives meanwhile is read together: waking up for every delta
/// would take more time than sending it.
const UPDATE_INTERVAL: Duration = Duration::from_millis(4);

/// Events that end such a pause: many more would fall out of the log.
const MAX_UPDATES: u64 = 256;

/// A line of a feed, without its line ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedLine {
    /// The state; replaces everything that the client has.
    Snapshot { cursor: Cursor, json: String },
    /// An event. Continue after its cursor to receive the next ones.
    Event { cursor: Cursor, json: String },
    /// A notice of an extension, which has no position.
    Notice { json: String },
}

impl FeedLine {
    pub fn json(&self) -> &str {
        let (Self::Snapshot { json, .. } | Self::Event { json, .. } | Self::Notice { json }) = self;
        json
    }

    pub fn into_json(self) -> String {
        let (Self::Snapshot { json, .. } | Self::Event { json, .. } | Self::Notice { json }) = self;
        json
    }
}

/// What a client wants to receive.
#[derive(Debug, Clone, Default)]
pub struct FeedOptions {
    /// The last event that the client has seen. Without it, the feed starts with a snapshot.
    pub since: Option<Cursor>,
    /// The entries of a snapshot.
    pub entries: Option<EntryRange>,
    /// Whether the first snapshot has the index of the session file.
    pub index: bool,
    /// How much of a growing message its updates repeat.
    pub updates: UpdateFormat,
    /// Omit what clients of the TypeScript pi do not know: snapshots, and events that only this pi has.
    pub compatible: bool,
    /// The notices of extensions.
    pub notices: Option<ClientUi>,
    /// The size of the client's screen, if it shows components of extensions.
    pub screen: Option<ScreenSize>,
}

/// The events of a live session for one client.
pub struct SessionFeed {
    handle: SessionHandle,
    session: AgentSession,
    sessions: watch::Receiver<AgentSession>,
    observer: Observer,
    needs_snapshot: bool,
    /// Lines to send before the next event.
    ready: std::vec::IntoIter<FeedLine>,
    notices: Option<broadcast::Receiver<String>>,
    screen: Option<Box<dyn ScreenFeed>>,
    lines: EventLines,
    /// When to look for the next event, while a message grows.
    resume_at: Option<Instant>,
    options: FeedOptions,
}

impl SessionFeed {
    pub fn new(handle: SessionHandle, options: FeedOptions) -> Self {
        let mut sessions = handle.runtime().sessions();
        let session = sessions.borrow_and_update().clone();
        let (shown, notices) = match &options.notices {
            Some(ui) => {
                let (shown, notices) = ui.subscribe();
                (shown, Some(notices))
            }
            None => (Vec::new(), None),
        };
        let screen = options
            .screen
            .and_then(|size| Some(extension_ui(handle.runtime()).client_screen()?.open(size)));
        let shown: Vec<FeedLine> = shown
            .into_iter()
            .map(|json| FeedLine::Notice { json })
            .collect();
        Self {
            observer: session.observe(options.since),
            needs_snapshot: options.since.is_none() && !options.compatible,
            ready: shown.into_iter(),
            notices,
            screen,
            lines: EventLines::new(options.updates),
            resume_at: None,
            handle,
            session,
            sessions,
            options,
        }
    }

    /// Returns the session whose events the feed returns.
    pub fn session(&self) -> &AgentSession {
        &self.session
    }

    /// Waits for the next line; `None` once the session was closed and everything was read.
    pub async fn next(&mut self) -> Option<FeedLine> {
        loop {
            if let Some(line) = self.try_next() {
                return Some(line);
            }
            let observed = tokio::select! {
                biased;
                observed = next_after(&mut self.observer, self.resume_at) => observed,
                notice = next_notice(&mut self.notices) => {
                    return Some(FeedLine::Notice { json: notice });
                }
                json = next_screen_line(&mut self.screen) => {
                    return Some(FeedLine::Notice { json });
                }
            };
            match observed {
                Some(observed) => {
                    self.resume_at = grows(&observed).then(|| Instant::now() + UPDATE_INTERVAL);
                    if let Some(line) = self.line_of(observed) {
                        return Some(line);
                    }
                }
                None => self.follow_replacement().await?,
            }
        }
    }

    /// Returns the next line if it is there, except notices of extensions.
    pub fn try_next(&mut self) -> Option<FeedLine> {
        loop {
            if std::mem::take(&mut self.needs_snapshot) {
                return Some(self.snapshot());
            }
            if let Some(line) = self.ready.next() {
                return Some(line);
            }
            let observed = self.observer.try_next()?;
            if let Some(line) = self.line_of(observed) {
                return Some(line);
            }
        }
    }

    /// Returns the line of an event; `None` if the client gets none now.
    fn line_of(&mut self, observed: Observed) -> Option<FeedLine> {
        match observed {
            Observed::Event(envelope) => {
                // Programs made for the TypeScript pi may count the pieces.
                let joined = (!self.options.compatible)
                    .then(|| join_waiting(&envelope.event, &mut self.observer))
                    .flatten();
                let cursor = self.observer.cursor();
                let json = self.event_line(joined.as_ref().unwrap_or(&envelope.event))?;
                Some(FeedLine::Event { cursor, json })
            }
            // Also for a compatible client: it would otherwise wait for the end of what it missed.
            Observed::Lagged => {
                self.needs_snapshot = true;
                None
            }
        }
    }

    fn snapshot(&mut self) -> FeedLine {
        let has_index = std::mem::take(&mut self.options.index);
        let entries = self.options.entries.as_ref();
        let (cursor, json) = snapshot_line(&self.session, entries, has_index);
        self.observer = self.session.observe(Some(cursor));
        FeedLine::Snapshot { cursor, json }
    }

    /// Waits for the session that replaces the closed one; `None` if there is none.
    async fn follow_replacement(&mut self) -> Option<()> {
        let ended = self.handle.runtime().ended();
        tokio::select! {
            biased;
            changed = self.sessions.changed() => changed.ok()?,
            () = ended.cancelled() => return None,
        }
        self.session = self.sessions.borrow_and_update().clone();
        self.observer = self.session.observe(None);
        // The entries that the client has are those of the other session.
        if let Some(EntryRange::After(_)) = self.options.entries {
            self.options.entries = None;
        }
        self.needs_snapshot = !self.options.compatible;
        Some(())
    }

    fn event_line(&self, event: &SessionEvent) -> Option<String> {
        let line = match event {
            SessionEvent::DialogRequested { request } => request_line(request).map(Some),
            SessionEvent::DialogResolved { request, answer } => {
                let resolved = RequestResolved {
                    r#type: "request_resolved",
                    request: &request.0,
                    answer,
                };
                pi_protocol::json::to_string(&resolved).map(Some)
            }
            SessionEvent::Agent(AgentEvent::MessageUpdate { .. }) => self.lines.compatible(event),
            _ if self.options.compatible => self.lines.compatible(event),
            SessionEvent::Agent(AgentEvent::MessageEnd { message }) => {
                let entry = self.session.history().entry_of(message);
                let entry = entry.as_ref().map(EntryId::as_str);
                pi_protocol::json::to_string(&StoredMessage {
                    event,
                    entry_id: entry,
                })
                .map(Some)
            }
            _ => pi_protocol::json::to_string(event).map(Some),
        };
        line.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot serialize event");
            None
        })
    }
}

/// A question to the user, with the fields of the TypeScript pi.
#[derive(Serialize)]
struct RequestLine<'request> {
    r#type: &'static str,
    #[serde(flatten)]
    request: &'request Request,
}

/// A question that was answered, or canceled.
#[derive(Serialize)]
struct RequestResolved<'event> {
    r#type: &'static str,
    request: &'event str,
    answer: &'event pi_protocol::Answer,
}

/// The end of a message with the entry that stores it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredMessage<'event> {
    #[serde(flatten)]
    event: &'event SessionEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry_id: Option<&'event str>,
}

/// Returns the line that asks the client.
pub(super) fn request_line(request: &Request) -> serde_json::Result<String> {
    if let RequestKind::Approval { .. } = request.kind {
        let request = request.clone();
        return pi_protocol::json::to_string(&SessionEvent::ApprovalRequested { request });
    }
    pi_protocol::json::to_string(&RequestLine {
        r#type: "extension_ui_request",
        request,
    })
}

/// Waits for the next event, and not before `time` unless there are many.
async fn next_after(observer: &mut Observer, time: Option<Instant>) -> Option<Observed> {
    if let Some(time) = time {
        tokio::select! {
            () = tokio::time::sleep_until(time) => {}
            () = observer.backlog(MAX_UPDATES) => {}
        }
    }
    observer.next().await
}

/// Whether more updates are likely to follow at once.
fn grows(observed: &Observed) -> bool {
    let Observed::Event(envelope) = observed else {
        return false;
    };
    matches!(
        envelope.event,
        SessionEvent::Agent(
            AgentEvent::MessageUpdate { .. } | AgentEvent::ToolExecutionUpdate { .. }
        ) | SessionEvent::BashExecutionUpdate { .. }
    )
}

/// Waits for a change of the screen; forever if the client has none.
async fn next_screen_line(screen: &mut Option<Box<dyn ScreenFeed>>) -> String {
    match screen {
        Some(screen) => screen.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for a notice; forever if there are none. A client that was too slow misses some: they are not part of the state.
async fn next_notice(notices: &mut Option<broadcast::Receiver<String>>) -> String {
    loop {
        let Some(receiver) = notices else {
            return std::future::pending().await;
        };
        match receiver.recv().await {
            Ok(notice) => return notice,
            Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => *notices = None,
        }
    }
}
