//! The session of a sub-agent: what it inherits, and what its agent changes.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_config::{AgentFile, AgentSource};
use pi_host::{
    AgentSession, AgentStart, AgentStartChanges, ClientUi, ExtensionOptions, ModelFlags,
    Participants, ParticipantsFactory, PromptHook, RegisteredTool, SessionChoice, SessionOptions,
    StartNotification, ToolOrigin, ToolSelection, Toolset, Workspace, matches_a_model,
};
use pi_protocol::matches_name_pattern;

use crate::arguments::TOOL;
use crate::child::Child;

/// Section of the system prompt with the instructions of the agent.
const SECTION: &str = "agent";

const ROLE: &str = "You are a sub-agent: another agent delegated one task to you, which is the first message. \
    Complete it without asking back. Your last message is the result, and the other agent sees nothing else of your work, \
    so it must contain everything that was asked for.";

/// What the session of a sub-agent is made of.
pub(crate) struct ChildSession {
    pub(crate) options: SessionOptions,
    /// The tools that it starts with; `None` if its agent lists them.
    pub(crate) active_tools: Option<Vec<String>>,
}

/// Returns the session of a sub-agent. It has at most the tools of its parent, and the same rules, resources and
/// extensions. `may_delegate` is whether it has sub-agents, for which it gets another tool.
pub(crate) fn child_session(
    parent: &AgentSession,
    inherited: &SessionOptions,
    child: &Child,
    cwd: PathBuf,
    may_delegate: bool,
) -> ChildSession {
    let status = child.status();
    let (id, parent_file) = (status.id, parent.session_file());
    let session = match &status.session_file {
        Some(path) => SessionChoice::NewAt {
            path: path.clone(),
            id,
            parent: parent_file,
        },
        None => SessionChoice::InMemory { id: Some(id) },
    };
    let toolset = parent.tools().toolset();
    let active = parent.tools().active_names();
    let tools = tool_selection(
        &child.agent,
        &inherited.tools,
        &toolset,
        &active,
        may_delegate,
    );
    let has_ui = inherited.extensions.ui.mode().has_ui();
    let options = SessionOptions {
        cwd,
        session,
        name: Some(format!("{}: {}", status.agent, status.title)),
        cwd_override: None,
        models: model_flags(&child.agent, parent),
        tools,
        extensions: ExtensionOptions {
            flags: inherited.extensions.flags.clone(),
            engine: inherited.extensions.engine,
            ..ExtensionOptions::default()
        },
        session_start: StartNotification::Immediate,
        participants: Arc::new(ChildParticipants {
            inherited: Arc::clone(&inherited.participants),
            role: Arc::new(AgentRole(instructions(&child.agent))),
        }),
        client_ui: None,
        // The call of the parent is supervised.
        barrier: None,
        ..inherited.clone()
    };
    // Without a user, questions have no answer, as in the session of the parent.
    let options = if has_ui {
        options.with_client_ui(ClientUi::default())
    } else {
        options
    };
    let active_tools = child.agent.tools.is_none().then(|| {
        let mut active = active;
        active.retain(|name| name != TOOL || may_delegate);
        active
    });
    ChildSession {
        options,
        active_tools,
    }
}

/// Returns which tools exist for a sub-agent.
fn tool_selection(
    agent: &AgentFile,
    inherited: &ToolSelection,
    parent: &Toolset,
    active: &[String],
    may_delegate: bool,
) -> ToolSelection {
    let mut selection = inherited.clone();
    if !may_delegate {
        selection.exclude.push(TOOL.to_owned());
    }
    let known = || parent.tools().iter().map(RegisteredTool::name);
    if let Some(tools) = &agent.tools {
        let is_listed = |name: &&str| tools.iter().any(|entry| matches_name_pattern(entry, name));
        selection.changes = Vec::new();
        selection.allow = Some(match &inherited.allow {
            // Tools of servers may appear later, so patterns are kept.
            None if inherited.defaults == pi_host::DefaultTools::All => tools.clone(),
            _ => known().filter(is_listed).map(str::to_owned).collect(),
        });
        if may_delegate {
            selection
                .allow
                .get_or_insert_default()
                .push(TOOL.to_owned());
        }
        return selection;
    }
    // What the user has turned off stays off.
    let inactive = parent.tools().iter().filter(|tool| {
        tool.origin != ToolOrigin::Builtin
            && tool.activates_on_registration()
            && !active.iter().any(|name| name == tool.name())
    });
    let inactive = inactive.map(|tool| tool.name().to_owned());
    selection
        .exclude
        .extend(inactive.filter(|name| name != TOOL));
    selection
}

fn model_flags(agent: &AgentFile, parent: &AgentSession) -> ModelFlags {
    let selection = parent.selection();
    let chosen = agent.model.as_ref().filter(|pattern| {
        // Files of other programs name models of one provider, which the user may not have.
        agent.source != AgentSource::Imported
            || matches_a_model(pattern, &parent.models().available())
    });
    let thinking = agent.thinking;
    match (chosen, selection.model()) {
        (Some(pattern), _) => ModelFlags {
            model: Some(pattern.clone()),
            thinking,
            ..ModelFlags::default()
        },
        (None, Some(model)) => ModelFlags {
            provider: Some(model.provider.clone()),
            model: Some(model.id.clone()),
            thinking: thinking.or_else(|| Some(selection.thinking_level())),
            ..ModelFlags::default()
        },
        (None, None) => ModelFlags::default(),
    }
}

fn instructions(agent: &AgentFile) -> String {
    match agent.prompt.as_str() {
        "" => ROLE.to_owned(),
        prompt => format!("{ROLE}\n\n{prompt}"),
    }
}

/// The participants of the embedding program, and the instructions of the agent.
struct ChildParticipants {
    inherited: Arc<dyn ParticipantsFactory>,
    role: Arc<AgentRole>,
}

impl ParticipantsFactory for ChildParticipants {
    fn create_participants<'a>(&'a self, workspace: &'a Workspace) -> BoxFuture<'a, Participants> {
        async move {
            let role = Participants::builder().prompt(Arc::clone(&self.role));
            let inherited = self.inherited.create_participants(workspace).await;
            inherited.then(role.build())
        }
        .boxed()
    }
}

struct AgentRole(String);

impl PromptHook for AgentRole {
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        let mut sections = start.sections;
        if let Err(error) = sections.set_extension(SECTION, &*self.0) {
            tracing::warn!(%error, "cannot add the instructions of an agent");
        }
        let changes = AgentStartChanges {
            sections: Some(sections),
            ..AgentStartChanges::default()
        };
        std::future::ready(changes).boxed()
    }
}
