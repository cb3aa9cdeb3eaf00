//! A request, from the status post to the answer.
//!
//! Every step can be repeated: the status post is found by its key, the session shows how far the model got, and the
//! answer replaces the text of the status post.

use std::sync::Arc;

use base64::Engine as _;
use pi_core::Observed;
use pi_host::{AgentSession, Handover, Prompt, PromptOutcome, SessionHandle};
use pi_protocol::{AgentEvent, AgentMessage, ImageContent, InputBlock, SessionEvent, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::channel::Channel;
use crate::chat::{ChatError, NewPost, PostId};
use crate::command::{today, today_of_all};
use crate::context_sync::UnseenMessages;
use crate::delivery::{StatusPost, post_once, retried, split_text};
use crate::ledger::RequestOutcome;
use crate::log::{EVENT, LogLine, LoggedFile, read_log};
use crate::questions::fenced;
use crate::recovery::{
    REQUEST_MARKER, RESTART_MARKER, RunStage, cost_before, last_request, request_marker, stage_of,
};
use crate::session::{CONTAINER_WORKSPACE, ChannelSessionError};

/// Begins an answer that is not posted.
const SILENT: &str = "[SILENT]";

/// Processes that may continue a run before it is reported as interrupted.
const MAX_RESTARTS: usize = 3;

/// Characters of arguments or of a result in the thread.
const MAX_DETAIL: usize = 1500;

/// Characters of the action in the status post.
const MAX_ACTION: usize = 100;

/// Largest image that is sent to the model with a message, in bytes.
const MAX_IMAGE: u64 = 10 * 1024 * 1024;

/// Pause before an answer is sent again to a service that cannot be reached.
const RESEND_PAUSE: std::time::Duration = std::time::Duration::from_secs(30);

/// A run that did not get as far as the model.
#[derive(Debug, thiserror::Error)]
enum RunError {
    #[error(transparent)]
    Session(#[from] ChannelSessionError),
    #[error(transparent)]
    Prompt(#[from] pi_host::PromptError),
    #[error(transparent)]
    History(#[from] pi_session::SessionError),
    #[error("cannot read the log: {0}")]
    Log(#[from] std::io::Error),
    #[error("the message is not in the log")]
    MissingLine,
}

/// What a run ended with.
struct RunAnswer {
    text: String,
    /// US dollars.
    cost: f64,
}

impl Channel {
    /// Runs a request until its answer is posted.
    pub(crate) async fn run(
        self: &Arc<Self>,
        line: &LogLine,
        is_resumed: bool,
        stop: &CancellationToken,
    ) {
        let status = self.status_post(line, is_resumed).await;
        let shown = status.clone().map(|post| {
            StatusPost::new(
                Arc::clone(&self.context.service),
                self.id().to_owned(),
                post,
            )
        });
        let answer = match self.reached_limit() {
            Some(limit) if !is_resumed => RunAnswer {
                text: limit,
                cost: 0.0,
            },
            _ => {
                self.answer(line, status.as_ref(), shown.as_ref(), stop)
                    .await
            }
        };
        if let Some(shown) = shown {
            shown.close().await;
        }
        self.deliver(line, status, answer, is_resumed).await;
    }

    /// Returns the post that shows the state of a request; events have none, since they may end silently.
    async fn status_post(&self, line: &LogLine, is_resumed: bool) -> Option<PostId> {
        let known = self.ledger().status_post(&line.ts);
        if known.is_some() || line.user == EVENT {
            return known;
        }
        let post = NewPost {
            channel: self.id(),
            thread: None,
            text: "_Thinking_",
            key: Some(&line.ts),
            buttons: &[],
        };
        let service = &*self.context.service;
        match post_once(service, post, &line.position(), is_resumed).await {
            Ok(post) => {
                if let Err(error) = self.ledger().set_status_post(&line.ts, &post) {
                    tracing::warn!(%error, channel = self.id(), "the status post is not recorded");
                }
                Some(post)
            }
            Err(error) => {
                tracing::warn!(%error, channel = self.id(), "cannot post the status");
                None
            }
        }
    }

    /// Returns what is posted if the cost of the day does not allow a run.
    fn reached_limit(&self) -> Option<String> {
        self.limit_after(0.0)
    }

    /// Returns what is posted if a run with this cost so far must end.
    fn limit_after(&self, cost: f64) -> Option<String> {
        let config = &self.context.config;
        let own = config
            .overrides
            .get(self.id())
            .and_then(|it| it.max_cost_per_day);
        let own = own.filter(|limit| today(self) + cost >= *limit);
        let general = config.max_cost_per_day;
        let general = general.filter(|limit| today_of_all(self) + cost >= *limit);
        let limit = own.or(general)?;
        Some(format!("_The limit of ${limit:.2} per day is reached._"))
    }

    async fn answer(
        self: &Arc<Self>,
        line: &LogLine,
        status: Option<&PostId>,
        shown: Option<&StatusPost>,
        stop: &CancellationToken,
    ) -> RunAnswer {
        match self.run_session(line, status, shown, stop).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::warn!(%error, channel = self.id(), "a run did not start");
                RunAnswer {
                    text: format!("_Cannot answer: {error}_"),
                    cost: 0.0,
                }
            }
        }
    }

    async fn run_session(
        self: &Arc<Self>,
        line: &LogLine,
        status: Option<&PostId>,
        shown: Option<&StatusPost>,
        stop: &CancellationToken,
    ) -> Result<RunAnswer, RunError> {
        let handle = self.open_session().await?;
        let session = handle.session();
        let mut following = Following {
            channel: self,
            handle: &handle,
            status,
            shown,
            limit: None,
            cost_before: 0.0,
        };
        let stage = current_stage(&session, &line.ts)?;
        let markers = custom_data(&session, REQUEST_MARKER)?;
        following.cost_before = match cost_before(&markers, &line.ts) {
            Some(cost) => cost,
            None => session.history().stats()?.cost,
        };
        if stop.is_cancelled() && stage == RunStage::NotStarted {
            return Ok(RunAnswer {
                text: "_Stopped_".to_owned(),
                cost: 0.0,
            });
        }
        let mut observer = handle.observe(None);
        let restart = match &stage {
            RunStage::NotStarted => {
                self.start(&session, line, &markers, following.cost_before)
                    .await?;
                true
            }
            RunStage::AwaitsModel { restarts } | RunStage::CutInTools { restarts, .. }
                if *restarts >= MAX_RESTARTS =>
            {
                let cost = following.cost()?;
                let text = "_This run was interrupted several times and was not continued._";
                return Ok(RunAnswer {
                    text: text.to_owned(),
                    cost,
                });
            }
            RunStage::AwaitsModel { .. } => {
                session
                    .history()
                    .append_custom_entry(RESTART_MARKER, None)
                    .await?;
                Handover::of(&session).resume().await?;
                true
            }
            RunStage::CutInTools { tools, .. } => {
                session
                    .history()
                    .append_custom_entry(RESTART_MARKER, None)
                    .await?;
                let text = format!(
                    "[pi-mom was restarted while these tools ran: {}. Their results are lost, and their effects may be \
                     partial. Check before you repeat anything, then finish the task.]",
                    tools.join(", ")
                );
                prompt(&session, text, Vec::new()).await?;
                true
            }
            RunStage::Answered(_) | RunStage::Failed { .. } => false,
        };
        if restart {
            following.until_idle(&mut observer, stop).await;
        }
        let cost = following.cost()?;
        if let Some(limit) = following.limit {
            return Ok(RunAnswer { text: limit, cost });
        }
        let text = match current_stage(&session, &line.ts)? {
            RunStage::Answered(text) if text.is_empty() => "_Done_".to_owned(),
            RunStage::Answered(text) => text,
            RunStage::Failed {
                is_aborted: true, ..
            } => "_Stopped_".to_owned(),
            RunStage::Failed { reason, .. } => format!("_The model failed: {}_", fenced(&reason)),
            _ if stop.is_cancelled() => "_Stopped_".to_owned(),
            _ => "_The run ended without an answer._".to_owned(),
        };
        Ok(RunAnswer { text, cost })
    }

    /// Sends a request to the model.
    async fn start(
        &self,
        session: &AgentSession,
        line: &LogLine,
        markers: &[Value],
        cost: f64,
    ) -> Result<(), RunError> {
        let mut unseen = UnseenMessages::new(last_request(markers), &line.ts);
        read_log(&self.directory().log(), |line| unseen.add(line))?;
        let directory = self.tools_workspace();
        let (found, mut text) = unseen
            .finish(&self.context.zone, &directory)
            .ok_or(RunError::MissingLine)?;
        let limit = self.context.config.max_attachment();
        let service = &*self.context.service;
        let failed = self
            .directory()
            .download(service, &found.attachments, limit)
            .await;
        for reason in failed {
            text.push_str("\n[not downloaded: ");
            text.push_str(&reason);
            text.push(']');
        }
        let images = images(self.directory().workspace(), &found.attachments);
        let marker = request_marker(&line.ts, cost);
        session
            .history()
            .append_custom_entry(REQUEST_MARKER, Some(marker))
            .await?;
        prompt(session, text, images).await?;
        Ok(())
    }

    /// Returns the workspace, as the tools see it.
    fn tools_workspace(&self) -> String {
        let context = &self.context;
        match context
            .config
            .sandbox_of(self.id(), context.sandbox.as_ref())
        {
            crate::config::SandboxChoice::Docker(_) => CONTAINER_WORKSPACE.to_owned(),
            _ => self.directory().workspace().display().to_string(),
        }
    }

    /// Posts an answer, and repeats that until the service accepts or rejects it.
    async fn deliver(
        &self,
        line: &LogLine,
        mut status: Option<PostId>,
        answer: RunAnswer,
        is_resumed: bool,
    ) {
        let service = &*self.context.service;
        if answer.text.trim_start().starts_with(SILENT) {
            if let Some(post) = &status
                && let Err(error) = retried(|| service.delete(self.id(), post)).await
            {
                tracing::warn!(%error, channel = self.id(), "cannot delete the status post");
            }
            self.finish(line, RequestOutcome::Silent, answer.cost);
            return;
        }
        loop {
            match self
                .post_answer(line, status.as_ref(), &answer.text, is_resumed)
                .await
            {
                Ok(post) => {
                    self.log_answer(&post, &answer.text);
                    self.finish(line, RequestOutcome::Answered, answer.cost);
                    return;
                }
                Err(error) if error.is_temporary() => {
                    tracing::warn!(%error, channel = self.id(), "an answer is posted later");
                    tokio::time::sleep(RESEND_PAUSE).await;
                }
                // A user may have deleted the status post.
                Err(error) if status.is_some() => {
                    tracing::warn!(%error, channel = self.id(), "the status post cannot be changed");
                    status = None;
                }
                Err(error) => {
                    tracing::error!(%error, channel = self.id(), "an answer cannot be posted");
                    self.finish(line, RequestOutcome::Answered, answer.cost);
                    return;
                }
            }
        }
    }

    async fn post_answer(
        &self,
        line: &LogLine,
        status: Option<&PostId>,
        text: &str,
        is_resumed: bool,
    ) -> Result<PostId, ChatError> {
        let service = &*self.context.service;
        let after = line.position();
        let mut parts = split_text(text, service.max_text()).into_iter();
        let first = parts.next().unwrap_or_default();
        let main = match status {
            Some(post) => {
                retried(|| service.update(self.id(), post, &first)).await?;
                post.clone()
            }
            None => {
                let key = format!("{}#answer", line.ts);
                let post = NewPost {
                    channel: self.id(),
                    thread: None,
                    text: &first,
                    key: Some(&key),
                    buttons: &[],
                };
                post_once(service, post, &after, is_resumed).await?
            }
        };
        for (index, part) in parts.enumerate() {
            let key = format!("{}#{index}", line.ts);
            let post = NewPost {
                channel: self.id(),
                thread: Some(&main),
                text: &part,
                key: Some(&key),
                buttons: &[],
            };
            post_once(service, post, &after, is_resumed).await?;
        }
        Ok(main)
    }
}

async fn prompt(
    session: &AgentSession,
    text: String,
    images: Vec<ImageContent>,
) -> Result<PromptOutcome, RunError> {
    // Text of users must not run commands or expand templates.
    let prompt = Prompt {
        images,
        expand: false,
        ..Prompt::text(text)
    };
    Ok(session.prompt(prompt).await?)
}

fn current_stage(session: &AgentSession, ts: &str) -> Result<RunStage, RunError> {
    let branch = session
        .history()
        .with_session(|session| session.current_branch().entries())?;
    Ok(stage_of(&branch, ts))
}

fn custom_data(session: &AgentSession, kind: &str) -> Result<Vec<Value>, RunError> {
    Ok(session
        .history()
        .with_session(|session| session.current_branch().custom_data(kind))?)
}

/// Returns the attachments that are images.
fn images(workspace: &std::path::Path, files: &[LoggedFile]) -> Vec<ImageContent> {
    let images = files.iter().filter_map(|file| {
        let path = workspace.join(&file.local);
        let size = std::fs::metadata(&path).ok()?.len();
        if size > MAX_IMAGE {
            return None;
        }
        let bytes = std::fs::read(&path).ok()?;
        let media_type = pi_tools::sniff_image(&bytes)?;
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        Some(ImageContent::new(data, media_type))
    });
    images.collect()
}

/// Shows the progress of a run.
struct Following<'a> {
    channel: &'a Arc<Channel>,
    handle: &'a SessionHandle,
    status: Option<&'a PostId>,
    shown: Option<&'a StatusPost>,
    /// What is posted if the run ended because of its cost.
    limit: Option<String>,
    cost_before: f64,
}

impl Following<'_> {
    fn cost(&self) -> Result<f64, RunError> {
        let total = self.handle.session().history().stats()?.cost;
        Ok((total - self.cost_before).max(0.0))
    }

    async fn until_idle(&mut self, observer: &mut pi_host::Observer, stop: &CancellationToken) {
        let session = self.handle.session();
        let mut idle = std::pin::pin!(session.wait_for_idle());
        let mut is_stopped = false;
        for request in session.requests().pending() {
            self.ask(request);
        }
        loop {
            tokio::select! {
                next = observer.next() => match next {
                    Some(Observed::Event(event)) => self.show(&event.event).await,
                    Some(Observed::Lagged) => {}
                    None => break,
                },
                () = stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    let session = session.clone();
                    self.channel.context.tasks.spawn(async move { session.abort().await });
                }
                () = &mut idle => break,
            }
        }
        while let Some(Observed::Event(envelope)) = observer.try_next() {
            self.show(&envelope.event).await;
        }
    }

    fn ask(&self, request: pi_protocol::Request) {
        let questions = self.channel.questions.clone();
        let (session, thread) = (self.handle.session(), self.status.cloned());
        let asking = async move { questions.ask(session, thread, request).await };
        self.channel.context.tasks.spawn(asking);
    }

    async fn show(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ApprovalRequested { request }
            | SessionEvent::DialogRequested { request } => {
                self.ask(request.clone());
            }
            SessionEvent::ApprovalResolved { request, .. }
            | SessionEvent::DialogResolved { request, .. } => {
                self.channel.questions.resolved(request).await;
            }
            SessionEvent::Agent(AgentEvent::ToolExecutionStart {
                tool_name, args, ..
            }) => {
                if let Some(shown) = self.shown {
                    shown.show(action(tool_name, args));
                }
            }
            SessionEvent::Agent(AgentEvent::ToolExecutionEnd {
                tool_name,
                result,
                is_error,
                duration_ms,
                ..
            }) => {
                if let Some(thread) = self.status {
                    let detail = detail(tool_name, result, *is_error, *duration_ms);
                    self.channel.details.post(thread, detail);
                }
            }
            SessionEvent::Agent(AgentEvent::MessageEnd { message }) => {
                self.show_message(message);
            }
            _ => {}
        }
    }

    fn show_message(&mut self, message: &AgentMessage) {
        let AgentMessage::Assistant(response) = message else {
            return;
        };
        if let Some(thread) = self.status
            && response.tool_calls().next().is_some()
        {
            let texts = response
                .content
                .iter()
                .filter_map(pi_protocol::AssistantBlock::as_text);
            let text = texts.collect::<String>();
            if !text.trim().is_empty() {
                self.channel.details.post(thread, text.trim().to_owned());
            }
            for call in response.tool_calls() {
                let args = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
                let args = fenced(&shortened(&args, MAX_DETAIL));
                let text = format!("**{}**\n```\n{args}\n```", call.name);
                self.channel.details.post(thread, text);
            }
        }
        let cost = self.cost().unwrap_or_default();
        if self.limit.is_none()
            && response.tool_calls().next().is_some()
            && let Some(limit) = self.channel.limit_after(cost)
        {
            self.limit = Some(limit);
            let session = self.handle.session();
            self.channel
                .context
                .tasks
                .spawn(async move { session.abort().await });
        }
    }
}

/// Returns the status while a tool runs.
fn action(tool: &str, args: &Value) -> String {
    let subject = ["command", "path", "file_path", "pattern", "title"]
        .iter()
        .find_map(|name| args.get(name).and_then(Value::as_str));
    let subject = subject
        .and_then(|text| text.lines().next())
        .unwrap_or_default();
    let subject: String = subject.chars().filter(|c| !"`_*".contains(*c)).collect();
    format!("_{tool} {}_", shortened(&subject, MAX_ACTION)).replace(" _", "_")
}

fn detail(tool: &str, result: &ToolOutput, is_error: bool, duration_ms: Option<u64>) -> String {
    let mark = if is_error { "✗" } else { "✓" };
    let seconds = duration_ms.map_or_else(String::new, |ms| {
        format!(" ({}.{}s)", ms / 1000, ms % 1000 / 100)
    });
    let texts = result.content.iter().filter_map(|block| match block {
        InputBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let text = fenced(&shortened(text.trim(), MAX_DETAIL));
    if text.is_empty() {
        return format!("{mark} **{tool}**{seconds}");
    }
    format!("{mark} **{tool}**{seconds}\n```\n{text}\n```")
}

fn shortened(text: &str, limit: usize) -> String {
    let mut chars = text.chars();
    let mut short: String = chars.by_ref().take(limit).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}
