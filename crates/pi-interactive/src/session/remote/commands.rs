//! Translates commands of the application to commands of the protocol.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{CycleDirection, NavigateOutcome, RemoteError, RemoteSession, extension_costs_text};
use pi_protocol::{Command, Delivery, EntryId, ExtensionCost, ThinkingLevel};
use serde_json::Value;

use super::OWNER_ONLY;
use crate::session::command::SessionCommand;
use crate::session::outcome::{CompactFailure, PromptRefusal, RefusalReason, SessionOutcome};
use crate::transcript::BashOutcome;

type Work = BoxFuture<'static, SessionOutcome>;

/// Returns the work of a command; or the command, if the local copy can execute it.
pub(super) fn submit(
    remote: &RemoteSession,
    command: SessionCommand,
) -> Result<Work, SessionCommand> {
    let remote = remote.clone();
    let refused = || Err(OWNER_ONLY.to_owned());
    Ok(match command {
        SessionCommand::Prompt { text, delivery } => async move {
            SessionOutcome::Prompted {
                refusal: prompt(&remote, text.clone(), Vec::new(), delivery).await,
                text,
                delivery,
            }
        }
        .boxed(),
        SessionCommand::PromptInTurn(prompts) => async move {
            for next in prompts {
                let sending = prompt(&remote, next.text.clone(), next.images, Delivery::FollowUp);
                if let Some(refusal) = sending.await {
                    let refused = Some((next.text, refusal));
                    return SessionOutcome::PromptedInTurn { refused };
                }
            }
            SessionOutcome::PromptedInTurn { refused: None }
        }
        .boxed(),
        SessionCommand::SendHeld(held) => async move {
            let mut refused = Vec::new();
            for (text, delivery) in held {
                let sending = prompt(&remote, text.clone(), Vec::new(), delivery);
                refused.extend(sending.await.map(|refusal| (text, refusal)));
            }
            SessionOutcome::HeldSent { refused }
        }
        .boxed(),
        SessionCommand::TakeQueue { interrupt, held } => async move {
            let mut texts = take_queue(&remote).await;
            texts.extend(held);
            if interrupt {
                send(&remote, Command::Abort).await.ok();
            }
            SessionOutcome::QueueTaken {
                texts,
                interrupted: interrupt,
            }
        }
        .boxed(),
        SessionCommand::RunShell { command, excluded } => async move {
            let command = Command::Bash {
                command,
                exclude_from_context: Some(excluded),
            };
            SessionOutcome::ShellEnded(bash_outcome(send(&remote, command).await))
        }
        .boxed(),
        SessionCommand::Answer { request, answer } => async move {
            let answered = send(&remote, Command::Answer { request, answer }).await;
            SessionOutcome::Answered(answered.map(drop))
        }
        .boxed(),
        SessionCommand::Compact { instructions } => async move {
            let command = Command::Compact {
                custom_instructions: instructions,
                preview: false,
            };
            let compacted = send(&remote, command).await;
            SessionOutcome::Compacted(compacted.map(drop).map_err(CompactFailure::Failed))
        }
        .boxed(),
        SessionCommand::DescribeExtensions => async move {
            let costs = send(&remote, Command::GetExtensionCosts).await;
            let text = costs.and_then(|data| {
                let costs =
                    pi_protocol::json::from_value::<Vec<ExtensionCost>>(&data["extensions"]);
                let costs = costs.map_err(|error| error.to_string())?;
                Ok(extension_costs_text(&costs))
            });
            SessionOutcome::SessionDescribed(text)
        }
        .boxed(),
        SessionCommand::UndoCompaction => async move {
            let undone = send(&remote, Command::UndoCompaction).await;
            let leaf = undone.as_ref().ok().and_then(|it| it["leafId"].as_str());
            SessionOutcome::Navigated {
                target: EntryId::from(leaf.unwrap_or_default().to_owned()),
                result: undone.map(|_| NavigateOutcome::default()),
            }
        }
        .boxed(),
        SessionCommand::SetModel { model, persist } => async move {
            let command = Command::SetModel {
                provider: model.provider.clone(),
                model_id: model.id.clone(),
            };
            SessionOutcome::ModelSet {
                name: model.name.clone(),
                persist,
                result: send(&remote, command).await.map(drop),
            }
        }
        .boxed(),
        SessionCommand::CycleModel(CycleDirection::Forward) => async move {
            let cycled = send(&remote, Command::CycleModel).await;
            let name = |data: Value| Some(data.pointer("/model/name")?.as_str()?.to_owned());
            SessionOutcome::ModelCycled(cycled.map(name))
        }
        .boxed(),
        SessionCommand::CycleModel(CycleDirection::Backward) => {
            ready(SessionOutcome::ModelCycled(refused().map(|()| None)))
        }
        SessionCommand::SetThinking { level, persist } => async move {
            let command = Command::SetThinkingLevel {
                level: level.as_str().to_owned(),
            };
            SessionOutcome::ThinkingSet {
                persist,
                result: send(&remote, command).await.map(drop),
            }
        }
        .boxed(),
        SessionCommand::CycleThinking => async move {
            let cycled = send(&remote, Command::CycleThinkingLevel).await;
            let level = |data: Value| -> Option<ThinkingLevel> {
                serde_json::from_value(data.get("level")?.clone()).ok()
            };
            SessionOutcome::ThinkingCycled(cycled.map(level))
        }
        .boxed(),
        SessionCommand::SetName(name) => async move {
            let command = Command::SetSessionName { name: name.clone() };
            SessionOutcome::NameSet {
                name,
                result: send(&remote, command).await.map(drop),
            }
        }
        .boxed(),
        SessionCommand::RenameFile { path, name }
            if remote.runtime().session().session_file().as_ref() == Some(&path) =>
        {
            async move {
                let renamed = send(&remote, Command::SetSessionName { name }).await;
                SessionOutcome::FileRenamed(renamed.map(drop))
            }
            .boxed()
        }
        SessionCommand::NotifyStart => async move {
            remote.show_pending().await;
            SessionOutcome::StartNotified
        }
        .boxed(),
        SessionCommand::Pause => ready(SessionOutcome::Paused { was_running: false }),
        SessionCommand::CheckProject => ready(SessionOutcome::ProjectChecked(None)),
        SessionCommand::Replace(request) => ready(SessionOutcome::Replaced {
            request,
            result: Err(OWNER_ONLY.to_owned()),
        }),
        SessionCommand::Navigate { target, options } => async move {
            let command = Command::NavigateTree {
                entry_id: target.as_str().to_owned(),
                summarize: options.summarize,
                custom_instructions: options.instructions,
                step: Some(options.step),
            };
            let moved = send(&remote, command).await.map(|moved| NavigateOutcome {
                cancelled: moved["cancelled"] == true,
                needs_summary_choice: moved["needsSummaryChoice"] == true,
                editor_text: moved["text"].as_str().map(str::to_owned),
                ..NavigateOutcome::default()
            });
            SessionOutcome::Navigated {
                target,
                result: moved,
            }
        }
        .boxed(),
        SessionCommand::SaveTrust(_) => ready(SessionOutcome::TrustSaved(refused())),
        SessionCommand::SignIn { provider, .. } => ready(SessionOutcome::SignedIn {
            provider,
            result: refused(),
        }),
        SessionCommand::StoreKey { provider, .. } => ready(SessionOutcome::KeyStored {
            provider,
            result: refused(),
        }),
        SessionCommand::SignOut { provider } => ready(SessionOutcome::SignedOut {
            provider,
            result: refused(),
        }),
        // What only reads.
        command => return Err(command),
    })
}

fn ready(outcome: SessionOutcome) -> Work {
    std::future::ready(outcome).boxed()
}

async fn send(remote: &RemoteSession, command: Command) -> Result<Value, String> {
    let sent = remote.submit(&command).await;
    sent.map_err(|error| pi_host::describe_error(&error))
}

async fn prompt(
    remote: &RemoteSession,
    message: String,
    images: Vec<pi_protocol::ImageContent>,
    delivery: Delivery,
) -> Option<PromptRefusal> {
    let command = Command::Prompt {
        message,
        images,
        streaming_behavior: Some(delivery),
    };
    let refused = remote.submit(&command).await.err()?;
    let is_compacting = remote.state().activity.is_compacting;
    let reason = match refused {
        RemoteError::Rejected(_) if is_compacting => RefusalReason::Compacting,
        _ => RefusalReason::Other,
    };
    Some(PromptRefusal {
        reason,
        message: pi_host::describe_error(&refused),
    })
}

async fn take_queue(remote: &RemoteSession) -> Vec<String> {
    let taken = send(remote, Command::ClearQueue).await.unwrap_or_default();
    let texts = ["steering", "followUp"].into_iter().filter_map(|name| {
        let texts = taken.get(name)?.as_array()?;
        Some(
            texts
                .iter()
                .filter_map(|text| Some(text.as_str()?.to_owned())),
        )
    });
    texts.flatten().collect()
}

fn bash_outcome(result: Result<Value, String>) -> BashOutcome {
    let (result, error) = match result {
        Ok(result) => (result, None),
        Err(error) => (Value::Null, Some(error)),
    };
    let flag = |name: &str| result.get(name).and_then(Value::as_bool).unwrap_or(false);
    let path = result.get("fullOutputPath").and_then(Value::as_str);
    BashOutcome {
        exit_code: result.get("exitCode").and_then(Value::as_i64),
        cancelled: flag("cancelled"),
        truncated: flag("truncated"),
        full_output_path: path.map(str::to_owned),
        error,
    }
}
