//! Print mode: writes only the text of the last answer to stdout.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_host::{SessionListener, SessionRuntime};
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, AssistantMessage, LiveMessage, SessionEvent,
    SharedMessage, StopReason,
};

use crate::conversation::converse;
use crate::output::{Exit, Failure, print, warn};
use crate::prompt_input::Prompts;

/// Sends the prompts and prints the last answer.
pub(crate) async fn run(runtime: &SessionRuntime, prompts: Prompts) -> Exit {
    let last_answer = Arc::new(LastAnswer::default());
    let mut subscription = None;
    let sent = converse(runtime, prompts, |session| {
        subscription = Some(session.subscribe(Arc::clone(&last_answer) as _));
    });
    if let Err(failure) = sent.await {
        return failure.report();
    }
    drop(subscription);
    let last = match last_answer.take() {
        Some(message) => Some(message),
        None => match runtime.session().history().messages() {
            Ok(messages) => messages.last().cloned(),
            Err(error) => return Failure::from(error).report(),
        },
    };
    let Some(AgentMessage::Assistant(answer)) = last.as_deref() else {
        return Exit::Success;
    };
    match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            if let Some(lost) = last_answer.unstored(answer) {
                write_answer(text_of(&lost)).await;
            }
            answer_failure(answer).report()
        }
        StopReason::Length => {
            write_answer(text_of(answer)).await;
            warn("the answer is incomplete: it reached the output limit of the model");
            Exit::Failure
        }
        _ => write_answer(text_of(answer)).await,
    }
}

async fn write_answer(text: String) -> Exit {
    // A slow reader must not delay signal handling.
    let printing = tokio::task::spawn_blocking(move || print(&text));
    printing.await.unwrap_or(Exit::Failure)
}

/// Records the last answer. The session cannot be used for this: an answer that could not be stored (full
/// disk) is missing from it and must not look like success.
#[derive(Default)]
struct LastAnswer {
    message: Mutex<Option<SharedMessage>>,
    /// The answer as streamed by the model.
    live: Mutex<Option<LiveMessage>>,
}

impl LastAnswer {
    fn take(&self) -> Option<SharedMessage> {
        let mut message = self.message.lock();
        message.take()
    }

    /// Returns the complete answer if it could not be stored and `kept` is the resulting failure.
    fn unstored(&self, kept: &AssistantMessage) -> Option<AssistantMessage> {
        let live = self.live.lock();
        let given = live.as_ref()?.snapshot();
        let is_whole = !matches!(given.stop_reason, StopReason::Error | StopReason::Aborted);
        (is_whole && text_of(kept).trim().is_empty()).then_some(given)
    }
}

impl SessionListener for LastAnswer {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        match event {
            SessionEvent::Agent(AgentEvent::MessageEnd { message })
                if matches!(**message, AgentMessage::Assistant(_)) =>
            {
                let message = Some(SharedMessage::clone(message));
                *self.message.lock() = message;
            }
            SessionEvent::Agent(AgentEvent::MessageUpdate { live, .. }) => {
                self.live.lock().clone_from(live);
            }
            SessionEvent::SessionWarning { message } => warn(message),
            _ => {}
        }
        std::future::ready(()).boxed()
    }
}

fn answer_failure(answer: &AssistantMessage) -> Failure {
    let message = answer.error_message.as_deref().unwrap_or_default();
    match (message, answer.stop_reason) {
        ("", StopReason::Aborted) => Failure::new("the answer was aborted"),
        ("", _) => Failure::new("the model returned no answer"),
        (message, _) => Failure::new(message),
    }
}

/// Returns the text blocks, one per line.
fn text_of(answer: &AssistantMessage) -> String {
    let mut text = String::new();
    for block in &answer.content {
        if let AssistantBlock::Text(block) = block {
            text.push_str(&block.text);
            text.push('\n');
        }
    }
    text
}
