//! A turn of the client: a prompt until the session has settled.

use std::sync::Arc;

use pi_protocol::{Command, Delivery, JsonRpcError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::commands;
use crate::content::{PromptContent, prompt_content};
use crate::feed::{Feed, RunEnd};
use crate::params;
use crate::session::AcpSession;

/// An open prompt; ends when dropped.
struct OpenPrompt {
    feed: Arc<Feed>,
    is_open: bool,
}

impl OpenPrompt {
    fn begin(feed: &Arc<Feed>) -> Self {
        feed.begin_prompt();
        Self {
            feed: Arc::clone(feed),
            is_open: true,
        }
    }

    fn end(mut self) -> RunEnd {
        self.is_open = false;
        self.feed.end_prompt()
    }
}

impl Drop for OpenPrompt {
    fn drop(&mut self) {
        if self.is_open {
            self.feed.end_prompt();
        }
    }
}

/// Sends a prompt and returns why the turn ended. During a run it steers the run, and returns when that has ended.
pub(crate) async fn prompt(session: Arc<AcpSession>, params: Value) -> Result<Value, JsonRpcError> {
    let cancel = session.cancellation();
    let content = prompt_content(params::list(&params, "prompt")?)?;
    if content.text.trim().is_empty() && content.images.is_empty() {
        return Err(JsonRpcError::invalid_params("prompt", "must not be empty"));
    }
    let open = OpenPrompt::begin(&session.feed);
    let settled = session.feed.settled();
    let sent = cancel
        .run_until_cancelled(Box::pin(send(&session, content)))
        .await;
    let ran = match sent {
        // Canceled before it was accepted.
        None => return Ok(stopped("cancelled")),
        Some(sent) => sent?,
    };
    let settled = if ran {
        wait(&session, settled, &cancel).await
    } else {
        Ok(())
    };
    let end = open.end();
    if cancel.is_cancelled() {
        return Ok(stopped("cancelled"));
    }
    settled?;
    if !ran {
        return Ok(stopped("end_turn"));
    }
    match end {
        RunEnd::Completed => Ok(stopped("end_turn")),
        RunEnd::Length => Ok(stopped("max_tokens")),
        RunEnd::Refused => Ok(stopped("refusal")),
        RunEnd::Aborted => Ok(stopped("cancelled")),
        RunEnd::Failed(message) => Err(JsonRpcError::internal(message)),
    }
}

fn stopped(reason: &str) -> Value {
    json!({ "stopReason": reason })
}

/// Sends the prompt to the session; returns whether a run follows.
async fn send(session: &Arc<AcpSession>, content: PromptContent) -> Result<bool, JsonRpcError> {
    session.started().await;
    let feed = &session.feed;
    if let Some(outcome) = Box::pin(commands::run(session, &content.text)).await {
        feed.prompt_was_handled();
        feed.say(&outcome?).await;
        return Ok(false);
    }
    commands::check_offered(session, &content.text).inspect_err(|_| feed.prompt_was_handled())?;
    let agent_session = session.session();
    let is_first =
        agent_session.session_name().is_none() && agent_session.history().message_count() == 0;
    let title = is_first.then(|| content.text.clone());
    let command = Command::Prompt {
        message: content.text,
        images: content.images,
        streaming_behavior: Some(Delivery::Steer),
    };
    let accepted = session.backing.prompt(command).await;
    let ran = accepted.inspect_err(|_| feed.prompt_was_handled())?;
    if !ran {
        feed.prompt_was_handled();
    } else if let Some(title) = title {
        let line = title.trim().lines().next().unwrap_or_default();
        feed.send_title(Some(line)).await;
    }
    Ok(ran)
}

/// Waits until the session has settled, or until the canceled run has ended.
async fn wait(
    session: &Arc<AcpSession>,
    settled: watch::Receiver<u64>,
    cancel: &CancellationToken,
) -> Result<(), JsonRpcError> {
    session.backing.settled(settled).await?;
    if cancel.is_cancelled() {
        // `AcpSession::cancel` also empties the queue.
        session.session().wait_for_idle().await;
    }
    Ok(())
}
