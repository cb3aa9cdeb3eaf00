//! Sends what happens in a session to the client.
//!
//! Events of a run arrive through a listener, which the run awaits: a client that reads slowly slows the run down, and a
//! file can be read before the tool that changes it. Changes of the session arrive through its log.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_host::{AgentSession, Observer, OpenBuffers as _, SessionListener, SessionSubscription};
use pi_protocol::settings::AcpCommands;
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantMessage, JsonRpcError, Request, RequestId, SessionEvent,
    StopReason, json_object, single_line,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::backing::Backing;
use crate::capabilities::ClientCapabilities;
use crate::client_files::ClientFiles;
use crate::config_options::config_options;
use crate::connection::Connection;
use crate::content::{message_blocks, text_block};
use crate::permissions;
use crate::replay::replay;
use crate::updates::{UpdateMapper, chunk};

/// Longest title of a session, in characters.
const MAX_TITLE: usize = 120;

pub(crate) struct Feed {
    pub(crate) connection: Connection,
    pub(crate) client: ClientCapabilities,
    pub(crate) session_id: String,
    pub(crate) offered_commands: AcpCommands,
    backing: Backing,
    files: Option<ClientFiles>,
    /// Counts the ends of runs.
    settled: watch::Sender<u64>,
    state: Mutex<FeedState>,
}

struct FeedState {
    mapper: UpdateMapper,
    /// The session that is followed; another one after a replacement.
    followed: Option<(AgentSession, SessionSubscription)>,
    is_stopped: bool,
    /// Messages that the client has sent and therefore shows already.
    sent_prompts: usize,
    /// Prompts of the client without a response.
    open_prompts: usize,
    end: RunEnd,
    approvals: HashMap<RequestId, AbortHandle>,
    /// Canceled with the run, which withdraws open dialogs. An extension that waits for one does not notice that its
    /// hook was abandoned.
    dialogs: CancellationToken,
    compaction: Option<String>,
    is_planning: bool,
}

/// How the last run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum RunEnd {
    #[default]
    Completed,
    Length,
    Refused,
    Aborted,
    Failed(String),
}

impl RunEnd {
    fn of(response: &AssistantMessage) -> Self {
        let raw = response.raw_stop_reason.as_deref();
        match response.stop_reason {
            _ if raw == Some("refusal") => Self::Refused,
            StopReason::Length => Self::Length,
            StopReason::Aborted => Self::Aborted,
            StopReason::Error => {
                let message = response.error_message.clone();
                Self::Failed(message.unwrap_or_else(|| "the request failed".to_owned()))
            }
            _ => Self::Completed,
        }
    }
}

impl Feed {
    pub(crate) fn new(
        connection: Connection,
        client: ClientCapabilities,
        offered_commands: AcpCommands,
        backing: Backing,
        files: Option<ClientFiles>,
    ) -> Self {
        let session = backing.session();
        Self {
            connection,
            client,
            session_id: session.session_id(),
            offered_commands,
            backing,
            files,
            settled: watch::Sender::new(0),
            state: Mutex::new(FeedState {
                mapper: UpdateMapper::new(session.cwd().to_owned(), client.terminal_output),
                followed: None,
                is_stopped: false,
                sent_prompts: 0,
                open_prompts: 0,
                end: RunEnd::default(),
                approvals: HashMap::new(),
                dialogs: CancellationToken::new(),
                compaction: None,
                is_planning: false,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, FeedState> {
        self.state.lock()
    }

    /// Follows a session from now on, and no other. Returns its changes, for [`Feed::change`].
    pub(crate) fn follow(self: &Arc<Self>, session: &AgentSession) -> Observer {
        let subscription = session.subscribe(Arc::clone(self) as _);
        let observer = session.observe(None);
        let followed = Some((session.clone(), subscription));
        let unused = {
            let mut state = self.state();
            if state.is_stopped {
                followed
            } else {
                std::mem::replace(&mut state.followed, followed)
            }
        };
        drop(unused);
        observer
    }

    /// Returns a number that changes with every end of a run.
    pub(crate) fn settled(&self) -> watch::Receiver<u64> {
        self.settled.subscribe()
    }

    /// Returns what withdraws the dialogs that are open now.
    pub(crate) fn dialogs(&self) -> CancellationToken {
        self.state().dialogs.clone()
    }

    pub(crate) fn withdraw_dialogs(&self) {
        let dialogs = std::mem::take(&mut self.state().dialogs);
        dialogs.cancel();
    }

    /// Stops following for good, and withdraws open questions.
    pub(crate) fn stop(&self) {
        self.withdraw_dialogs();
        let (followed, approvals) = {
            let mut state = self.state();
            state.is_stopped = true;
            (state.followed.take(), std::mem::take(&mut state.approvals))
        };
        for task in approvals.into_values() {
            task.abort();
        }
        drop(followed);
    }

    fn session(&self) -> Option<AgentSession> {
        let state = self.state();
        state.followed.as_ref().map(|(session, _)| session.clone())
    }

    pub(crate) async fn send(&self, update: Value) {
        let id = self.session_id.as_str().into();
        let params = json_object([("sessionId", id), ("update", update)]);
        self.connection.notify("session/update", params).await;
    }

    /// Sends text that no model wrote.
    pub(crate) async fn say(&self, text: &str) {
        let id = uuid::Uuid::new_v4().to_string();
        self.send(chunk("agent_message_chunk", text_block(text), &id))
            .await;
    }

    /// Shows a notice. Clients without notices get important ones as text, if they wait for a response.
    pub(crate) async fn notice(&self, severity: &str, message: &str) {
        if self.client.notices {
            let (title, rest) = message.split_once('\n').unwrap_or((message, ""));
            let title = single_line(title, MAX_TITLE);
            if title.is_empty() {
                return;
            }
            let mut notice =
                json!({"sessionUpdate": "notice", "severity": severity, "title": title});
            let is_cut = title.ends_with('…');
            if let (true, Some(notice)) = (is_cut || !rest.is_empty(), notice.as_object_mut()) {
                notice.insert("description".to_owned(), message.into());
            }
            self.send(notice).await;
        } else if self.state().open_prompts > 0 {
            self.say(&format!("{message}\n\n")).await;
        }
    }

    /// Returns the options of the session.
    pub(crate) fn config(&self) -> Value {
        config_options(&self.backing, self.client, self.is_planning())
    }

    pub(crate) fn is_planning(&self) -> bool {
        self.state().is_planning
    }

    /// Records whether plan mode is on.
    pub(crate) async fn set_planning(&self, is_planning: bool) {
        let was_planning = std::mem::replace(&mut self.state().is_planning, is_planning);
        if was_planning != is_planning {
            self.send_config().await;
        }
    }

    pub(crate) async fn send_config(&self) {
        if self.session().is_some() {
            let options = self.config();
            self.send(json!({"sessionUpdate": "config_option_update", "configOptions": options}))
                .await;
        }
    }

    pub(crate) async fn send_title(&self, title: Option<&str>) {
        let title = title.map(|title| single_line(title, MAX_TITLE));
        self.send(json!({"sessionUpdate": "session_info_update", "title": title}))
            .await;
    }

    pub(crate) async fn send_usage(&self) {
        if let Some(usage) = self.session().as_ref().and_then(usage_update) {
            self.send(usage).await;
        }
    }

    /// Sends the stored conversation.
    pub(crate) async fn replay(&self, session: &AgentSession) -> Result<(), JsonRpcError> {
        let updates = replay(session, &mut self.state().mapper.ids)?;
        for update in updates {
            self.send(update).await;
        }
        Ok(())
    }

    /// Returns the ID by which the client knows a call.
    pub(crate) fn call_id(&self, id: &str) -> String {
        self.state().mapper.ids.current(id)
    }

    /// Begins a prompt of the client.
    pub(crate) fn begin_prompt(&self) {
        let mut state = self.state();
        state.open_prompts += 1;
        state.sent_prompts += 1;
    }

    /// Records that a prompt became no message.
    pub(crate) fn prompt_was_handled(&self) {
        let mut state = self.state();
        state.sent_prompts = state.sent_prompts.saturating_sub(1);
    }

    pub(crate) fn end_prompt(&self) -> RunEnd {
        let mut state = self.state();
        state.open_prompts = state.open_prompts.saturating_sub(1);
        if state.open_prompts == 0 {
            state.sent_prompts = 0;
        }
        state.end.clone()
    }

    fn agent_event(&self, event: &AgentEvent) -> Vec<Value> {
        let mut state = self.state();
        let mut updates = Vec::new();
        match event {
            AgentEvent::AgentStart => state.end = RunEnd::default(),
            AgentEvent::MessageStart { message } => {
                if let AgentMessage::User(user) = &**message {
                    if state.sent_prompts > 0 {
                        state.sent_prompts -= 1;
                    } else {
                        let id = uuid::Uuid::new_v4().to_string();
                        let blocks = message_blocks(&user.content).into_iter();
                        updates.extend(blocks.map(|block| chunk("user_message_chunk", block, &id)));
                    }
                }
            }
            AgentEvent::MessageEnd { message } => {
                if let AgentMessage::Assistant(response) = &**message {
                    state.end = RunEnd::of(response);
                }
            }
            _ => {}
        }
        updates.extend(state.mapper.agent_event(event));
        updates
    }

    /// Reads the text that the editor has of a file before a call changes it.
    async fn read_unsaved(&self, event: &AgentEvent) {
        let AgentEvent::ToolExecutionStart { tool_call_id, .. } = event else {
            return;
        };
        let Some(files) = &self.files else {
            return;
        };
        let path = self.state().mapper.changed_file(tool_call_id);
        if let Some(path) = path.filter(|path| path.is_file())
            && let Some(text) = files.text(&path).await
        {
            self.state().mapper.set_text_before(tool_call_id, text);
        }
    }

    /// Finds the text that a call has written through the editor.
    fn find_written(&self, event: &AgentEvent) {
        let AgentEvent::ToolExecutionEnd { tool_call_id, .. } = event else {
            return;
        };
        let mut state = self.state();
        if let (Some(files), Some(path)) = (&self.files, state.mapper.changed_file(tool_call_id))
            && let Some(text) = files.take_written(&path)
        {
            state.mapper.set_text_after(tool_call_id, text);
        }
    }

    async fn session_event(&self, event: &SessionEvent) {
        match event {
            SessionEvent::Agent(event) => {
                self.find_written(event);
                for update in self.agent_event(event) {
                    self.send(update).await;
                }
                self.read_unsaved(event).await;
                if let AgentEvent::MessageEnd { message } = event
                    && matches!(**message, AgentMessage::Assistant(_))
                {
                    self.send_usage().await;
                }
            }
            SessionEvent::AgentSettled { aborted } => {
                let open = {
                    let mut state = self.state();
                    if *aborted {
                        state.end = RunEnd::Aborted;
                    }
                    state.mapper.settle()
                };
                for update in open {
                    self.send(update).await;
                }
                self.settled.send_modify(|count| *count += 1);
            }
            SessionEvent::CompactionStart { .. } => {
                self.compaction("in_progress", None, None).await;
            }
            SessionEvent::CompactionEnd {
                result,
                aborted,
                error_message,
                ..
            } => {
                let summary = result.as_ref().map(|result| result.summary.as_str());
                let status = match (summary, aborted) {
                    (Some(_), _) => "completed",
                    (None, true) => "cancelled",
                    (None, false) => "failed",
                };
                self.compaction(status, summary, error_message.as_deref())
                    .await;
                self.send_usage().await;
            }
            SessionEvent::AutoRetryStart {
                attempt,
                max_attempts,
                delay_ms,
                error_message,
            } => {
                let seconds = delay_ms.div_ceil(1000);
                let message = format!(
                    "Retrying in {seconds} s (attempt {attempt} of {max_attempts})\n{error_message}"
                );
                if self.client.notices {
                    self.notice("warning", &message).await;
                }
            }
            _ => {}
        }
    }

    async fn compaction(&self, status: &str, summary: Option<&str>, error: Option<&str>) {
        let id = {
            let mut state = self.state();
            let id = state.compaction.take();
            let id = id.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
            if status == "in_progress" {
                state.compaction = Some(id.clone());
            }
            id
        };
        if self.client.compaction {
            let mut update = json!({
                "sessionUpdate": "compaction_update",
                "compactionId": id,
                "status": status,
            });
            if let Some(update) = update.as_object_mut() {
                if let Some(summary) = summary {
                    update.insert("summary".to_owned(), json!([text_block(summary)]));
                }
                if let Some(error) = error {
                    update.insert("error".to_owned(), error.into());
                }
            }
            self.send(update).await;
        } else if self.client.notices {
            let title = match status {
                "in_progress" => "Compacting the conversation",
                "completed" => "The conversation was compacted",
                "cancelled" => "Compaction canceled",
                _ => "Compaction failed",
            };
            let message =
                error.map_or_else(|| title.to_owned(), |error| format!("{title}\n{error}"));
            self.notice("info", &message).await;
        }
    }

    /// Sends a change of the session.
    pub(crate) async fn change(self: &Arc<Self>, event: &SessionEvent) {
        match event {
            SessionEvent::ModelChanged { .. } => {
                self.send_config().await;
                self.send_usage().await;
            }
            SessionEvent::ThinkingLevelChanged { .. } => self.send_config().await,
            SessionEvent::SessionInfoChanged { name } => self.send_title(name.as_deref()).await,
            SessionEvent::SessionWarning { message } => self.notice("warning", message).await,
            SessionEvent::ApprovalRequested { request } => self.ask_approval(request.clone()),
            SessionEvent::ApprovalResolved { request, .. } => {
                let task = self.state().approvals.remove(request);
                if let Some(task) = task {
                    task.abort();
                }
            }
            _ => {}
        }
    }

    /// Asks the client whether a call may run; the question is withdrawn when another client answers.
    fn ask_approval(self: &Arc<Self>, request: Request) {
        let Some(session) = self.session() else {
            return;
        };
        let (feed, id) = (Arc::clone(self), request.id.clone());
        let asking = tokio::spawn(async move {
            let answer = permissions::ask_approval(&feed, &request, session.cwd()).await;
            // Not aborted by the event that reports the answer.
            feed.state().approvals.remove(&request.id);
            feed.backing.answer(request.id, answer).await;
        });
        self.state().approvals.insert(id, asking.abort_handle());
    }
}

impl SessionListener for Feed {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(self.session_event(event))
    }
}

/// Returns the update with the used context and the cost so far.
fn usage_update(session: &AgentSession) -> Option<Value> {
    let history = session.history();
    let usage = history.context_usage().ok()??;
    let mut update = json!({
        "sessionUpdate": "usage_update",
        "used": usage.tokens?,
        "size": usage.context_window,
    });
    if let (Ok(totals), Some(update)) = (history.totals(), update.as_object_mut()) {
        let cost = json!({"amount": totals.cost, "currency": "USD"});
        update.insert("cost".to_owned(), cost);
    }
    Some(update)
}
