//! The agent of a run: a pi process in RPC mode with barriers.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pi_protocol::{BarrierLine, Command, DialogReply, ExtensionUiResponse, RateLimitLine};
use pi_rpc_client::{
    RpcClient, RpcClientError, RpcClientOptions, RpcEvent, RpcSubscription, RpcSupervisor,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::ActiveRun;
use crate::live::LiveEvents;
use crate::workspace::RunContainer;

/// What a worker must respond to.
#[derive(Debug)]
pub(super) enum AgentEvent {
    Barrier(BarrierLine),
    RateLimited(RateLimitLine),
    /// The run is over.
    Settled,
    /// A question that has no user.
    Question(Question),
}

#[derive(Debug)]
pub(super) enum Question {
    /// Whether a call may run; the ID of the request.
    Approval(Value),
    /// A dialog of an extension; its ID.
    Dialog(String),
}

pub(super) struct Agent {
    pub(super) client: Arc<RpcClient>,
    pub(super) events: mpsc::UnboundedReceiver<AgentEvent>,
    _subscription: RpcSubscription,
}

impl Agent {
    /// Starts pi on a session that was begun, or on a new one.
    pub(super) async fn start(
        run: &ActiveRun<'_>,
        session: Option<PathBuf>,
        live: LiveEvents,
    ) -> Result<Self, RpcClientError> {
        let client = RpcClient::start(&options(run, session))?;
        let (sender, events) = mpsc::unbounded_channel();
        let trace = Arc::clone(&run.trace);
        let subscription = client.subscribe(move |event| {
            trace.observe(event.kind(), event.json());
            live.publish(event.json());
            if let Some(event) = agent_event(event) {
                // The worker may have stopped listening.
                sender.send(event).ok();
            }
        });
        let process = RpcSupervisor::of(&client).process_id().await;
        let epoch = run.log.state().epoch;
        let stored = process.map_or(Ok(()), |process| run.processes.store_agent(epoch, process));
        stored.map_err(|source| RpcClientError::Start {
            program: run.processes.agent_file(epoch),
            source,
        })?;
        Ok(Self {
            client: Arc::new(client),
            events,
            _subscription: subscription,
        })
    }

    /// Answers a question that no user can answer.
    pub(super) async fn refuse(&self, question: Question) -> Result<(), RpcClientError> {
        match question {
            Question::Approval(request) => {
                let reason = "No user can approve calls in a fleet. Continue without this call.";
                let command: Command = serde_json::from_value(json!({
                    "type": "answer", "request": request,
                    "answer": {"type": "deny", "reason": reason},
                }))?;
                self.client.request(&command).await.map(drop)
            }
            Question::Dialog(id) => {
                let reply = DialogReply::Cancelled;
                self.client.reply(&ExtensionUiResponse { id, reply }).await
            }
        }
    }

    pub(super) async fn stop(self) -> io::Result<()> {
        self.client.stop().await
    }
}

fn options(run: &ActiveRun<'_>, session: Option<PathBuf>) -> RpcClientOptions {
    let task = run.task;
    let directory = run.session_directory();
    let mut arguments: Vec<OsString> = vec![
        "--barrier".into(),
        "--no-approve".into(),
        "--session-dir".into(),
        directory.into(),
    ];
    arguments.extend(match session {
        // By its path: it names the directory of the machine where it began.
        Some(session) => ["--session".into(), session.into()],
        None => ["--session-id".into(), run.session_id().into()],
    });
    let tools = (!task.tools.is_empty()).then(|| task.tools.join(","));
    let flags = [
        ("--model", task.model.clone()),
        ("--thinking", task.thinking.clone()),
        ("--tools", tools),
    ];
    for (flag, value) in flags {
        if let Some(value) = value {
            arguments.extend([flag.into(), value.into()]);
        }
    }
    let more = &run.driver.options.arguments;
    arguments.extend(more.iter().map(OsString::from));
    let (program, leading_arguments) = match &run.workspace.container {
        Some(container) => container.start(RunContainer::pi()),
        None => (run.driver.options.program.clone(), Vec::new()),
    };
    RpcClientOptions {
        leading_arguments: leading_arguments.into_iter().map(OsString::from).collect(),
        arguments,
        cwd: Some(run.workspace.path.clone()),
        environment: run
            .workspace
            .environment
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        // Ctrl-C stops the worker, which then stops its agents.
        new_process_group: true,
        ..RpcClientOptions::new(program)
    }
}

fn agent_event(event: &RpcEvent) -> Option<AgentEvent> {
    let json = event.json();
    match event.kind() {
        "barrier" => {
            let barrier = serde_json::from_value(json.clone()).ok()?;
            Some(AgentEvent::Barrier(barrier))
        }
        "rate_limited" => {
            let limit = serde_json::from_value(json.clone()).ok()?;
            Some(AgentEvent::RateLimited(limit))
        }
        "agent_settled" => Some(AgentEvent::Settled),
        "approval_requested" => {
            let request = json.get("request")?.get("id")?.clone();
            Some(AgentEvent::Question(Question::Approval(request)))
        }
        "extension_ui_request" => {
            let is_dialog = matches!(
                json.get("method")?.as_str()?,
                "select" | "confirm" | "input" | "editor"
            );
            let id = json.get("id")?.as_str()?.to_owned();
            is_dialog.then_some(AgentEvent::Question(Question::Dialog(id)))
        }
        _ => None,
    }
}
