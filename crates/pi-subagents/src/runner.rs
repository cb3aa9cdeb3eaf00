//! Starts the sub-agents of a session, and the tool with which its model does.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use pi_config::AgentFile;
use pi_host::{
    AgentSession, CustomDelivery, CustomMessageDraft, CustomMessageOptions, Host, RegisteredTool,
    SessionOptions, Tool, ToolContext, ToolError, ToolOrigin, ToolRegistry, ToolSource,
};
use pi_protocol::json::JsonObject;
use pi_protocol::{
    MessageContent, Tool as ToolDeclaration, ToolOutput, Usage, UsageEntry, matches_name_pattern,
};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::GENERAL;
use crate::arguments::{RequestedTasks, TOOL, TaskRequest, declaration};
use crate::child::{Child, ChildEnd, EndedChild, StopCause, TaskCall};
use crate::limits::{MAX_DEPTH, RunLimits, Slot};
use crate::result::{call_result, report};
use crate::run::run_child;

/// Type of the messages about sub-agents that have ended, and of what they used.
const MESSAGE_TYPE: &str = "task";

/// What a session shares with its sub-agents, and with theirs.
pub(crate) struct TaskTree {
    pub(crate) limits: RunLimits,
    pub(crate) agents: Vec<AgentFile>,
    running: Mutex<Vec<Arc<Child>>>,
    tracker: TaskTracker,
    /// Held while git adds or removes a worktree.
    pub(crate) worktrees: tokio::sync::Mutex<()>,
}

impl TaskTree {
    pub(crate) fn new(agents: Vec<AgentFile>) -> Self {
        Self {
            limits: RunLimits::new(),
            agents,
            running: Mutex::default(),
            tracker: TaskTracker::new(),
            worktrees: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the sub-agents that have not ended, oldest first.
    pub(crate) fn running(&self) -> Vec<Arc<Child>> {
        self.running.lock().clone()
    }

    pub(crate) fn stop_all(&self, cause: StopCause) {
        for child in self.running() {
            child.stop(cause);
        }
    }

    /// Stops all sub-agents and waits for their end.
    pub(crate) async fn shut_down(&self) {
        self.stop_all(StopCause::SessionEnd);
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Starts the sub-agents of one session.
pub(crate) struct TaskRunner {
    pub(crate) host: Host,
    /// What the session was started with.
    pub(crate) options: SessionOptions,
    pub(crate) tree: Arc<TaskTree>,
    pub(crate) is_project_trusted: bool,
    /// The agents that the session may use.
    agents: Vec<Arc<AgentFile>>,
    /// 0 for the session of a user.
    depth: usize,
    /// The slot of the session, if it is a sub-agent.
    slot: Option<Arc<Slot>>,
    /// From the moment the session exists until it ends.
    session: Mutex<Option<AgentSession>>,
}

impl TaskRunner {
    pub(crate) fn new(
        host: Host,
        options: SessionOptions,
        tree: Arc<TaskTree>,
        is_project_trusted: bool,
    ) -> Self {
        Self {
            host,
            options,
            agents: tree.agents.iter().cloned().map(Arc::new).collect(),
            tree,
            is_project_trusted,
            depth: 0,
            slot: None,
            session: Mutex::default(),
        }
    }

    /// Returns the agents that a sub-agent may delegate work to.
    pub(crate) fn delegates_of(&self, agent: &AgentFile) -> Vec<Arc<AgentFile>> {
        if self.depth + 1 >= MAX_DEPTH {
            return Vec::new();
        }
        let is_listed = |one: &&AgentFile| {
            let mut patterns = agent.agents.iter();
            patterns.any(|pattern| matches_name_pattern(pattern, &one.name))
        };
        let agents = self.tree.agents.iter().filter(is_listed);
        agents.cloned().map(Arc::new).collect()
    }

    /// Returns the runner for a sub-agent that may delegate work.
    pub(crate) fn for_child(
        &self,
        host: Host,
        options: SessionOptions,
        agents: Vec<Arc<AgentFile>>,
        slot: Arc<Slot>,
    ) -> Self {
        Self {
            host,
            options,
            tree: Arc::clone(&self.tree),
            is_project_trusted: self.is_project_trusted,
            agents,
            depth: self.depth + 1,
            slot: Some(slot),
            session: Mutex::default(),
        }
    }

    pub(crate) fn bind(&self, session: &AgentSession) {
        *self.session.lock() = Some(session.clone());
    }

    pub(crate) fn session(&self) -> Option<AgentSession> {
        self.session.lock().clone()
    }

    /// Forgets the session, which has ended.
    pub(crate) fn release(&self) {
        drop(self.session.lock().take());
    }

    pub(crate) fn tool(self: &Arc<Self>) -> RegisteredTool {
        let agents: Vec<_> = self.agents.iter().map(|agent| (**agent).clone()).collect();
        let tool = TaskTool {
            declaration: declaration(&agents),
            runner: Arc::clone(self),
        };
        let mut tool = RegisteredTool {
            origin: ToolOrigin::Extension,
            snippet: Some("Delegate work to sub-agents".to_owned()),
            ..RegisteredTool::new(Arc::new(tool))
        };
        tool.metadata.builtin_extension = Some(TOOL);
        tool
    }

    pub(crate) fn tool_source(self: &Arc<Self>) -> Arc<dyn ToolSource> {
        Arc::new(ToolRegistry::new(vec![self.tool()]))
    }

    /// Counts a response of a sub-agent. Beyond the budget, all of them stop.
    pub(crate) fn spend(&self, usage: &Usage) {
        let settings = self
            .session()
            .map(|session| session.settings().settings().task);
        let spent = self.tree.limits.spend(usage, &settings.unwrap_or_default());
        if let Err(limit) = spent {
            self.tree.stop_all(StopCause::Limit(limit));
        }
    }

    fn agent(&self, request: &TaskRequest) -> Result<Arc<AgentFile>, ToolError> {
        let name = request.agent.as_deref().unwrap_or(GENERAL);
        let agent = self.agents.iter().find(|agent| agent.name == name);
        agent.cloned().ok_or_else(|| {
            let names: Vec<_> = self
                .agents
                .iter()
                .map(|agent| agent.name.as_str())
                .collect();
            let names = names.join(", ");
            ToolError::new(format!("There is no agent {name:?}. Use one of: {names}."))
        })
    }

    async fn call(
        self: Arc<Self>,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> Result<ToolOutput, ToolError> {
        let requested = RequestedTasks::parse(arguments)?;
        let session = self.session();
        let session = session.ok_or_else(|| ToolError::new("The session has ended."))?;
        // Without a user the program ends with the run, and a sub-agent ends with its answer: no one would see a report.
        let has_later = self.depth == 0 && self.options.extensions.ui.mode().has_ui();
        let background = requested.background && has_later;
        let mut children = Vec::new();
        for request in requested.tasks {
            let agent = self.agent(&request)?;
            let call = cx.call.to_string();
            let child = Child::new(agent, request.prompt, request.worktree, call, background);
            children.push(Arc::new(child));
        }
        let settings = session.settings().settings().task;
        let admitted = self.tree.limits.admit(children.len(), &settings);
        admitted.map_err(|limit| ToolError::new(format!("Not started: {limit}.")))?;
        let call = Arc::new(TaskCall {
            children,
            progress: cx.progress.clone(),
            session,
        });
        let running: Vec<_> = call
            .children
            .iter()
            .map(|child| self.spawn(Arc::clone(child), Arc::clone(&call)))
            .collect();
        if background {
            self.report_later(&call, running);
            return Ok(started(&call));
        }
        let _stopping = StopOnDrop(&call.children);
        if let Some(slot) = &self.slot {
            slot.lend();
        }
        let mut joining = std::pin::pin!(join_all(running));
        let ended = tokio::select! {
            ended = &mut joining => ended,
            () = cx.cancel.cancelled() => {
                call.children.iter().for_each(|child| child.stop(StopCause::Parent));
                joining.await
            }
        };
        if let Some(slot) = &self.slot {
            slot.take_back(&cx.cancel).await;
        }
        let ended = ended.into_iter().zip(&call.children);
        let ended: Vec<_> = ended.map(|(one, child)| joined(one, child)).collect();
        Ok(call_result(&ended))
    }

    /// Runs a sub-agent. It is listed until it has ended.
    fn spawn(self: &Arc<Self>, child: Arc<Child>, call: Arc<TaskCall>) -> JoinHandle<EndedChild> {
        self.tree.running.lock().push(Arc::clone(&child));
        let listed = Listed {
            tree: Arc::clone(&self.tree),
            child: Arc::clone(&child),
        };
        let running = run_child(Arc::clone(self), child, call).boxed();
        self.tree.tracker.spawn(async move {
            let _listed = listed;
            running.await
        })
    }

    /// Sends a message for each sub-agent that ends.
    fn report_later(&self, call: &Arc<TaskCall>, running: Vec<JoinHandle<EndedChild>>) {
        for (child, running) in call.children.iter().cloned().zip(running) {
            let session = call.session.clone();
            self.tree.tracker.spawn(async move {
                let ended = joined(running.await, &child);
                report_end(&session, &ended).await;
            });
        }
    }
}

/// Removes a sub-agent from the list when dropped.
struct Listed {
    tree: Arc<TaskTree>,
    child: Arc<Child>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.tree
            .running
            .lock()
            .retain(|child| !Arc::ptr_eq(child, &self.child));
    }
}

/// Stops the sub-agents of a call that no longer waits for them.
struct StopOnDrop<'call>(&'call [Arc<Child>]);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        for child in self.0 {
            child.stop(StopCause::Parent);
        }
    }
}

fn joined(joined: Result<EndedChild, tokio::task::JoinError>, child: &Arc<Child>) -> EndedChild {
    joined.unwrap_or_else(|error| EndedChild {
        child: Arc::clone(child),
        end: ChildEnd::Failed {
            reason: format!("internal error: {error}"),
            output: None,
        },
        usage: Usage::default(),
        worktree: None,
        text_file: None,
    })
}

fn started(call: &TaskCall) -> ToolOutput {
    let tasks: Vec<_> = call.children.iter().map(|child| child.status()).collect();
    let names: Vec<_> = tasks
        .iter()
        .map(|task| format!("{} ({})", task.agent, task.id))
        .collect();
    let text = format!(
        "Started in the background: {}. A message reports each result; do not wait for it.",
        names.join(", ")
    );
    ToolOutput {
        details: Some(serde_json::json!({ "tasks": tasks })),
        ..ToolOutput::text(text)
    }
}

/// Adds what a sub-agent in the background has used, and reports its result to the model.
async fn report_end(session: &AgentSession, ended: &EndedChild) {
    let status = ended.child.status();
    let model = session.selection().model();
    let usage = UsageEntry {
        kind: MESSAGE_TYPE.to_owned(),
        provider: model
            .as_ref()
            .map(|model| model.provider.clone())
            .unwrap_or_default(),
        model: model.map(|model| model.id.clone()).unwrap_or_default(),
        usage: ended.usage.clone(),
        note: Some(format!("sub-agent {} ({})", status.agent, status.id)),
    };
    if let Err(error) = session.history().append_usage(usage).await {
        tracing::warn!(%error, "cannot store what a sub-agent has used");
    }
    if ended.child.stop_cause() == Some(StopCause::SessionEnd) {
        return;
    }
    let message = CustomMessageDraft {
        custom_type: MESSAGE_TYPE.to_owned(),
        content: MessageContent::Text(report(ended)),
        display: true,
        details: None,
    };
    let options = CustomMessageOptions {
        trigger_turn: Some(true),
        deliver_as: Some(CustomDelivery::FollowUp),
    };
    if let Err(error) = session.send_custom_message(message, options).await {
        tracing::warn!(%error, "cannot report the result of a sub-agent");
    }
}

/// The tool `task`.
struct TaskTool {
    declaration: ToolDeclaration,
    runner: Arc<TaskRunner>,
}

impl Tool for TaskTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Arc::clone(&self.runner).call(cx, arguments).boxed()
    }
}
