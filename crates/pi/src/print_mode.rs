//! Print mode: the text of the last answer on standard output, and nothing else.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_agent::{AgentEvent, SharedMessage};
use pi_ai::{AgentMessage, AssistantBlock, AssistantMessage, LiveMessage, StopReason};
use pi_runtime::{SessionEvent, SessionListener, SessionRuntime};

use crate::conversation::converse;
use crate::output::{Exit, Failure, print_foreign};
use crate::prompt_input::Prompts;

/// Says the prompts and prints what the model said last.
pub(crate) async fn run(runtime: &SessionRuntime, prompts: Prompts) -> Exit {
    let heard = Arc::new(LastAnswer::default());
    let mut subscription = None;
    let said = converse(runtime, prompts, |session| {
        subscription = Some(session.subscribe(Arc::clone(&heard) as _));
    });
    if let Err(failure) = said.await {
        return failure.report();
    }
    drop(subscription);
    let last = match heard.take() {
        Some(message) => Some(message),
        None => match runtime.session().messages() {
            Ok(messages) => messages.last().cloned(),
            Err(error) => return Failure::from(error).report(),
        },
    };
    let Some(AgentMessage::Assistant(answer)) = last.as_deref() else {
        return Exit::Success;
    };
    match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            if let Some(lost) = heard.unstored(answer) {
                put(text_of(&lost)).await;
            }
            refused(answer).report()
        }
        _ => put(text_of(answer)).await,
    }
}

async fn put(text: String) -> Exit {
    // A reader that is slow must not keep signals waiting.
    let printing = tokio::task::spawn_blocking(move || print_foreign(&text));
    printing.await.unwrap_or(Exit::Failure)
}

/// Remembers the last answer. The session alone does not tell: an answer that could not be stored, on a
/// full disk say, is not in it, and must not look like success.
#[derive(Default)]
struct LastAnswer {
    message: Mutex<Option<SharedMessage>>,
    /// The answer as it came from the model.
    live: Mutex<Option<LiveMessage>>,
}

impl LastAnswer {
    fn take(&self) -> Option<SharedMessage> {
        let mut message = self.message.lock().unwrap_or_else(PoisonError::into_inner);
        message.take()
    }

    /// Returns what the model said to its end where the answer that was kept is a failure: it could not be
    /// stored, but it was given.
    fn unstored(&self, kept: &AssistantMessage) -> Option<AssistantMessage> {
        let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
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
                *self.message.lock().unwrap_or_else(PoisonError::into_inner) = message;
            }
            SessionEvent::Agent(AgentEvent::MessageUpdate { message, .. }) => {
                let live = Some(message.clone());
                *self.live.lock().unwrap_or_else(PoisonError::into_inner) = live;
            }
            _ => {}
        }
        std::future::ready(()).boxed()
    }
}

fn refused(answer: &AssistantMessage) -> Failure {
    let message = answer.error_message.as_deref().unwrap_or_default();
    match (message, answer.stop_reason) {
        ("", StopReason::Aborted) => Failure::new("the answer was stopped"),
        ("", _) => Failure::new("the model gave no answer"),
        (message, _) => Failure::new(message),
    }
}

/// Returns every text block on a line of its own.
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
