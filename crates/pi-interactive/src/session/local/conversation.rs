//! Prompts, the queue, shell commands, compaction and navigation.

use pi_host::{
    AgentSession, BashRequest, CompactError, NavigateOptions, NavigateOutcome, Prompt,
    SessionRuntime,
};
use pi_protocol::{Answer, Delivery, EntryId, RequestId};

use crate::session::outcome::{CompactFailure, SessionOutcome};
use crate::transcript::BashOutcome;

pub(super) async fn prompt(
    session: AgentSession,
    text: String,
    delivery: Delivery,
) -> SessionOutcome {
    let sent = session.prompt(with_delivery(text.clone(), delivery)).await;
    SessionOutcome::Prompted {
        text,
        delivery,
        refusal: sent.err().map(Into::into),
    }
}

pub(super) async fn prompt_in_turn(
    runtime: SessionRuntime,
    prompts: Vec<Prompt>,
) -> SessionOutcome {
    for prompt in prompts {
        let session = runtime.session();
        let text = prompt.text.clone();
        if let Err(refused) = session.prompt(prompt).await {
            let refused = Some((text, refused.into()));
            return SessionOutcome::PromptedInTurn { refused };
        }
        session.wait_for_idle().await;
    }
    SessionOutcome::PromptedInTurn { refused: None }
}

pub(super) async fn send_held(
    session: AgentSession,
    held: Vec<(String, Delivery)>,
) -> SessionOutcome {
    let mut refused = Vec::new();
    // Sequentially, to preserve their order.
    for (text, delivery) in held {
        if let Err(error) = session.prompt(with_delivery(text.clone(), delivery)).await {
            refused.push((text, error.into()));
        }
    }
    SessionOutcome::HeldSent { refused }
}

fn with_delivery(text: String, delivery: Delivery) -> Prompt {
    Prompt {
        streaming_behavior: Some(delivery),
        ..Prompt::text(text)
    }
}

pub(super) async fn answer(
    session: AgentSession,
    request: RequestId,
    answer: Answer,
) -> SessionOutcome {
    let answered = session.requests().answer(request, answer).await;
    SessionOutcome::Answered(answered.map_err(|error| pi_host::describe_error(&error)))
}

pub(super) async fn take_queue(
    session: AgentSession,
    interrupt: bool,
    held: Vec<String>,
) -> SessionOutcome {
    let queued = session.queue().clear().await;
    if interrupt {
        session.abort().await;
    }
    let mut texts = queued.steering;
    texts.extend(queued.follow_up);
    texts.extend(held);
    SessionOutcome::QueueTaken {
        texts,
        interrupted: interrupt,
    }
}

pub(super) async fn run_shell(
    session: AgentSession,
    command: String,
    excluded: bool,
) -> SessionOutcome {
    let request = BashRequest {
        id: None,
        command,
        exclude_from_context: excluded,
    };
    SessionOutcome::ShellEnded(match session.user_commands().run(request).await {
        Ok(result) => BashOutcome {
            exit_code: result.exit_code.map(i64::from),
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: result
                .full_output_path
                .map(|path| path.to_string_lossy().into_owned()),
            error: None,
        },
        Err(error) => BashOutcome {
            exit_code: None,
            cancelled: false,
            truncated: false,
            full_output_path: None,
            error: Some(error.to_string()),
        },
    })
}

pub(super) async fn compact(session: AgentSession, instructions: Option<String>) -> SessionOutcome {
    SessionOutcome::Compacted(match session.compaction().run(instructions).await {
        Ok(_) => Ok(()),
        Err(CompactError::Cancelled) => Err(CompactFailure::Canceled),
        Err(error) => Err(CompactFailure::Failed(pi_host::describe_error(&error))),
    })
}

pub(super) async fn undo_compaction(session: AgentSession) -> SessionOutcome {
    let undone = session.compaction().undo().await;
    let target = session.history().outline().leaf;
    SessionOutcome::Navigated {
        target: target.unwrap_or_else(|| EntryId::from(String::new())),
        result: undone
            .map(|_| NavigateOutcome::default())
            .map_err(|error| pi_host::describe_error(&error)),
    }
}

pub(super) async fn navigate(
    session: AgentSession,
    target: EntryId,
    options: NavigateOptions,
) -> SessionOutcome {
    if session.is_streaming() {
        session.abort().await;
    }
    let moved = session.navigation().navigate(&target, options).await;
    SessionOutcome::Navigated {
        target,
        result: moved.map_err(|error| pi_host::describe_error(&error)),
    }
}
