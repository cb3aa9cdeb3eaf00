//! Runs a sub-agent from its session to its result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_host::{
    AgentSession, Host, InputSource, Observed, Prompt, PromptOutcome, SessionHandle, TrustFlag,
    describe_error,
};
use pi_protocol::{
    AgentEvent, AgentMessage, AssistantBlock, EntryBody, SessionEvent, StopReason, TaskState, Usage,
};

use crate::child::{Child, ChildEnd, EndedChild, StopCause, TaskCall};
use crate::child_session::child_session;
use crate::limits::Slot;
use crate::requests::RequestForwarder;
use crate::result::share;
use crate::runner::TaskRunner;
use crate::worktree::{KeptWorktree, Worktree};

/// File name of the session of a sub-agent, in its directory.
const SESSION_FILE: &str = "session.jsonl";

/// File name of an answer that is too long for a result.
const TEXT_FILE: &str = "answer.md";

/// Runs a sub-agent. Everything it started has ended when this returns.
pub(crate) async fn run_child(
    runner: Arc<TaskRunner>,
    child: Arc<Child>,
    call: Arc<TaskCall>,
) -> EndedChild {
    let slot = runner.tree.limits.slot(&child.cancel).await.map(Arc::new);
    let (end, usage, worktree): (_, _, Option<KeptWorktree>) = match slot {
        None => (stopped(&child, None), Usage::default(), None),
        Some(slot) => {
            child.change(|status| status.state = TaskState::Running);
            call.report(&child).await;
            run_in_place(&runner, &child, &call, slot).await
        }
    };
    let text_file = save_text(&child, &end, call.children.len()).await;
    child.change(|status| {
        status.state = end.state();
        status.tool = None;
        status.error = end.problem().map(str::to_owned);
        // With summaries, and with what its own sub-agents used.
        status.tokens = usage.context_tokens();
        status.cost = usage.cost.total;
        status.worktree = worktree.as_ref().map(|kept| kept.path.clone());
    });
    call.report(&child).await;
    EndedChild {
        child,
        end,
        usage,
        worktree,
        text_file,
    }
}

/// Runs a sub-agent in its own worktree, if it wants one, or in the directory of its parent.
async fn run_in_place(
    runner: &Arc<TaskRunner>,
    child: &Arc<Child>,
    call: &TaskCall,
    slot: Arc<Slot>,
) -> (ChildEnd, Usage, Option<KeptWorktree>) {
    let parent = call.session.clone();
    if !child.wants_worktree {
        let cwd = parent.cwd().to_owned();
        let (end, usage) = run_session(runner, child, call, slot, runner.host.clone(), cwd).await;
        return (end, usage, None);
    }
    let directory = runner.host.options().agent_dir.path().join("worktrees");
    let created = {
        // Git may fail if two worktrees are added at the same time.
        let _turn = runner.tree.worktrees.lock().await;
        Worktree::create(parent.cwd(), &directory, &child.id()).await
    };
    let worktree = match created {
        Ok(worktree) => worktree,
        Err(reason) => {
            let end = ChildEnd::Failed {
                reason: format!("no worktree: {reason}"),
                output: None,
            };
            return (end, Usage::default(), None);
        }
    };
    let cwd = worktree.cwd.clone();
    child.change(|status| status.worktree = Some(cwd.clone()));
    // The files are those of the project, so its trust applies.
    let trust = TrustFlag::new(runner.is_project_trusted, &cwd);
    let host = runner
        .host
        .with_options(|options| options.trust = Some(trust));
    let (end, usage) = run_session(runner, child, call, slot, host, cwd).await;
    let _turn = runner.tree.worktrees.lock().await;
    (end, usage, worktree.finish().await)
}

async fn run_session(
    runner: &Arc<TaskRunner>,
    child: &Arc<Child>,
    call: &TaskCall,
    slot: Arc<Slot>,
    host: Host,
    cwd: PathBuf,
) -> (ChildEnd, Usage) {
    let parent = &call.session;
    let file = parent
        .session_file()
        .map(|file| child_file(&file, &child.id()));
    child.change(|status| status.session_file = file);
    let delegates = runner.delegates_of(&child.agent);
    let may_delegate = !delegates.is_empty();
    let mut session = child_session(parent, &runner.options, child, cwd, may_delegate);
    let nested = may_delegate.then(|| {
        let (options, slot) = (session.options.clone(), Arc::clone(&slot));
        Arc::new(runner.for_child(host.clone(), options, delegates, slot))
    });
    session
        .options
        .tool_sources
        .extend(nested.as_ref().map(TaskRunner::tool_source));
    let opening = Box::pin(host.open(session.options));
    let handle = match child.cancel.run_until_cancelled(opening).await {
        None => return (stopped(child, None), Usage::default()),
        Some(Err(error)) => return (failed(describe_error(&error), None), Usage::default()),
        Some(Ok(handle)) => handle,
    };
    let opened = handle.session();
    if let Some(active) = &session.active_tools {
        opened.tools().set_active(active);
    }
    if let Some(nested) = &nested {
        nested.bind(&opened);
    }
    let end = follow(runner, child, call, &handle).await;
    let usage = used_by(&opened);
    // A client may have replaced the session.
    Box::pin(host.close(&handle.id())).await;
    if let Some(nested) = nested {
        nested.release();
    }
    (end, usage)
}

/// Returns the file of a sub-agent, in a directory next to the file of its parent.
fn child_file(parent: &Path, id: &str) -> PathBuf {
    parent.with_extension("").join(id).join(SESSION_FILE)
}

/// Sends the prompt and follows the run to its end.
async fn follow(
    runner: &TaskRunner,
    child: &Child,
    call: &TaskCall,
    handle: &SessionHandle,
) -> ChildEnd {
    let session = handle.session();
    let mut events = session.observe(None);
    let prompt = Prompt {
        expand: false,
        source: InputSource::Extension,
        ..Prompt::text(&child.prompt)
    };
    let prompting = Box::pin(session.prompt(prompt));
    match child.cancel.run_until_cancelled(prompting).await {
        None | Some(Ok(PromptOutcome::Started | PromptOutcome::Queued)) => {}
        Some(Err(error)) => return failed(describe_error(&error), None),
        Some(Ok(PromptOutcome::Handled)) => {
            return failed("an extension handled the prompt".to_owned(), None);
        }
    }
    let label = format!("{} {}", child.agent.name, child.id());
    let ui = Arc::clone(&runner.options.extensions.ui);
    let mut requests = RequestForwarder::new(call.session.clone(), ui, session.clone(), label);
    let mut idle = Box::pin(session.wait_for_idle());
    loop {
        tokio::select! {
            observed = events.next() => match observed {
                Some(Observed::Event(envelope)) => {
                    let changes = apply(runner, child, &mut requests, &envelope.event);
                    if changes {
                        call.report(child).await;
                    }
                }
                Some(Observed::Lagged) => {}
                // Closed by a client or with the program.
                None => break,
            },
            () = requests.answer_next() => {}
            () = &mut idle => break,
            () = child.cancel.cancelled() => {
                Box::pin(session.abort()).await;
                break;
            }
        }
    }
    while let Some(Observed::Event(envelope)) = events.try_next() {
        apply(runner, child, &mut requests, &envelope.event);
    }
    end_of(child, &session)
}

/// Applies an event to the status of a sub-agent; returns whether the status has changed.
fn apply(
    runner: &TaskRunner,
    child: &Child,
    requests: &mut RequestForwarder,
    event: &SessionEvent,
) -> bool {
    match event {
        SessionEvent::Agent(AgentEvent::ToolExecutionStart {
            tool_name,
            parent_tool_call_id: None,
            ..
        }) => child.change(|status| status.tool = Some(tool_name.clone())),
        SessionEvent::Agent(AgentEvent::ToolExecutionEnd {
            parent_tool_call_id: None,
            ..
        }) => child.change(|status| status.tool = None),
        SessionEvent::Agent(AgentEvent::MessageEnd { message }) => {
            let AgentMessage::Assistant(response) = &**message else {
                return false;
            };
            child.change(|status| {
                status.turns += 1;
                status.tokens += response.usage.context_tokens();
                status.cost += response.usage.cost.total;
            });
            runner.spend(&response.usage);
        }
        SessionEvent::ApprovalRequested { request } | SessionEvent::DialogRequested { request } => {
            requests.forward(request);
            child.change(|status| status.state = TaskState::Asking);
        }
        SessionEvent::ApprovalResolved { request, .. }
        | SessionEvent::DialogResolved { request, .. } => {
            requests.withdraw(request);
            if !requests.is_waiting() {
                child.change(|status| status.state = TaskState::Running);
            }
        }
        _ => return false,
    }
    true
}

/// Returns how a sub-agent ended, by its last response.
fn end_of(child: &Child, session: &AgentSession) -> ChildEnd {
    let messages = match session.history().messages() {
        Ok(messages) => messages,
        Err(error) => return failed(describe_error(&error), None),
    };
    let last = messages.iter().rev().find_map(|message| match &**message {
        AgentMessage::Assistant(response) => Some(response),
        _ => None,
    });
    let text = last.map(|response| {
        let texts = response.content.iter().filter_map(AssistantBlock::as_text);
        texts.collect::<String>().trim().to_owned()
    });
    let text = text.filter(|text| !text.is_empty());
    if child.stop_cause().is_some() {
        return stopped(child, text);
    }
    let Some(response) = last else {
        return failed("it has sent no response".to_owned(), None);
    };
    match response.stop_reason {
        StopReason::Error => {
            let reason = response.error_message.clone();
            failed(
                reason.unwrap_or_else(|| "the request failed".to_owned()),
                text,
            )
        }
        StopReason::Aborted => ChildEnd::Stopped {
            reason: StopCause::User.to_string(),
            output: text,
        },
        StopReason::Length => failed(
            "its answer exceeds the output limit of the model".to_owned(),
            text,
        ),
        _ => match text {
            Some(text) => ChildEnd::Completed(text),
            None => failed("its last message is empty".to_owned(), None),
        },
    }
}

fn failed(reason: String, output: Option<String>) -> ChildEnd {
    ChildEnd::Failed { reason, output }
}

fn stopped(child: &Child, output: Option<String>) -> ChildEnd {
    let cause = child.stop_cause().unwrap_or(StopCause::Parent);
    ChildEnd::Stopped {
        reason: cause.to_string(),
        output,
    }
}

/// Returns what a session has used, with its own sub-agents and summaries.
fn used_by(session: &AgentSession) -> Usage {
    let entries = match session.history().entries_since(None) {
        Ok(since) => since.entries,
        Err(error) => {
            tracing::warn!(%error, "cannot count what a sub-agent has used");
            return Usage::default();
        }
    };
    let used = entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Message(AgentMessage::Assistant(response)) => Some(&response.usage),
        EntryBody::Message(AgentMessage::ToolResult(result)) => result.usage.as_ref(),
        EntryBody::Usage(usage) => Some(&usage.usage),
        EntryBody::Compaction(compaction) => compaction.usage.as_ref(),
        EntryBody::BranchSummary(branch) => branch.usage.as_ref(),
        _ => None,
    });
    used.fold(Usage::default(), |sum, usage| sum.plus(usage))
}

/// Saves a text that does not fit into the result.
async fn save_text(child: &Child, end: &ChildEnd, tasks: usize) -> Option<PathBuf> {
    let text = end
        .text()
        .filter(|text| text.len() > share(tasks))?
        .to_owned();
    let status = child.status();
    let path = match &status.session_file {
        Some(file) => file.with_file_name(TEXT_FILE),
        None => std::env::temp_dir().join(format!("pi-{}.md", status.id)),
    };
    let target = path.clone();
    let writing =
        move || pi_fs::atomic_file::write(&target, text.as_bytes(), pi_fs::NewFileMode::Private);
    match tokio::task::spawn_blocking(writing).await {
        Ok(Ok(())) => Some(path),
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot save the answer of a sub-agent");
            None
        }
        Err(_) => None,
    }
}
