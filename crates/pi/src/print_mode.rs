//! Print mode: the text of the last answer on standard output, and nothing else.

use pi_ai::{AgentMessage, AssistantBlock, AssistantMessage, StopReason};
use pi_runtime::SessionRuntime;

use crate::conversation::converse;
use crate::output::{Exit, Failure, print_foreign};
use crate::prompt_input::Prompts;

/// Says the prompts and prints what the model said last.
pub(crate) async fn run(runtime: &SessionRuntime, prompts: Prompts) -> Exit {
    if let Err(failure) = converse(runtime, prompts, |_session| {}).await {
        return failure.report();
    }
    let messages = match runtime.session().messages() {
        Ok(messages) => messages,
        Err(error) => return Failure::from(error).report(),
    };
    let Some(AgentMessage::Assistant(answer)) = messages.last().map(AsRef::as_ref) else {
        return Exit::Success;
    };
    match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => refused(answer).report(),
        _ => {
            let text = text_of(answer);
            // A reader that is slow must not keep signals waiting.
            let printing = tokio::task::spawn_blocking(move || print_foreign(&text));
            printing.await.unwrap_or(Exit::Failure)
        }
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
