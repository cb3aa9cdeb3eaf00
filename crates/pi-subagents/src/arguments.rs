//! The arguments of the tool `task`, and how it is declared to the model.

use pi_config::AgentFile;
use pi_host::ToolError;
use pi_protocol::Tool as ToolDeclaration;
use pi_protocol::json::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GENERAL;
use crate::limits::MAX_PER_CALL;

pub(crate) const TOOL: &str = "task";

/// Bytes of an agent's description that the model receives. Those of other programs contain whole conversations.
const MAX_DESCRIPTION: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TaskRequest {
    pub(crate) agent: Option<String>,
    pub(crate) prompt: String,
    pub(crate) worktree: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TaskArguments {
    #[serde(flatten)]
    single: TaskRequest,
    background: bool,
    tasks: Vec<TaskRequest>,
}

/// What a call asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestedTasks {
    pub(crate) tasks: Vec<TaskRequest>,
    pub(crate) background: bool,
}

impl RequestedTasks {
    pub(crate) fn parse(arguments: JsonObject) -> Result<Self, ToolError> {
        let arguments: TaskArguments = pi_protocol::json::from_value(&Value::Object(arguments))
            .map_err(|error| ToolError::new(format!("Invalid arguments: {error}")))?;
        let has_single = arguments.single != TaskRequest::default();
        let tasks = match (has_single, arguments.tasks) {
            (true, tasks) if tasks.is_empty() => vec![arguments.single],
            (false, tasks) if !tasks.is_empty() => tasks,
            _ => return Err(ToolError::new("Pass either prompt or tasks.")),
        };
        if tasks.len() > MAX_PER_CALL {
            let message = format!("At most {MAX_PER_CALL} tasks can run in one call.");
            return Err(ToolError::new(message));
        }
        if tasks.iter().any(|task| task.prompt.trim().is_empty()) {
            return Err(ToolError::new("Every task needs a prompt."));
        }
        Ok(Self {
            tasks,
            background: arguments.background,
        })
    }
}

pub(crate) fn declaration(agents: &[AgentFile]) -> ToolDeclaration {
    let mut description =
        "Delegate work to sub-agents. A sub-agent has its own context and sees only its prompt, \
        so include everything it needs to know. Its last message is the result. \
        Pass tasks to run several independent sub-agents in parallel. Agents:"
            .to_owned();
    for agent in agents {
        let text = shortened(&agent.description);
        let more = format!("\n- {}: {text}", agent.name);
        description.push_str(&more);
    }
    let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let default = names.contains(&GENERAL).then_some(GENERAL);
    let default = default.map_or_else(String::new, |name| format!(" (default: {name})"));
    let agent = json!({"type": "string", "enum": names, "description": format!("Name of the agent{default}")});
    let prompt = json!({"type": "string", "description": "The complete task, with all context"});
    let worktree = json!({
        "type": "boolean",
        "description": "Work in a new git worktree of the last commit instead of the project directory; kept if it has changes",
    });
    ToolDeclaration {
        name: TOOL.to_owned(),
        description,
        parameters: json!({
            "type": "object",
            "properties": {
                "agent": agent,
                "prompt": prompt,
                "worktree": worktree,
                "background": {"type": "boolean", "description": "Return at once; a message reports the result later"},
                "tasks": {
                    "type": "array",
                    "description": "Several tasks instead of agent and prompt",
                    "maxItems": MAX_PER_CALL,
                    "items": {
                        "type": "object",
                        "required": ["prompt"],
                        "properties": {"agent": agent, "prompt": prompt, "worktree": worktree},
                    },
                },
            },
        }),
        constrained_sampling: None,
        extra: JsonObject::new(),
    }
}

fn shortened(description: &str) -> String {
    let end = description.floor_char_boundary(MAX_DESCRIPTION);
    match description.split_at(end) {
        (all, "") => all.to_owned(),
        (start, _) => format!("{start}…"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn parse(arguments: Value) -> Result<RequestedTasks, String> {
        let Value::Object(arguments) = arguments else {
            panic!("{arguments}");
        };
        RequestedTasks::parse(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn a_call_has_one_task_or_a_list() {
        let task = |agent: Option<&str>, prompt: &str| TaskRequest {
            agent: agent.map(str::to_owned),
            prompt: prompt.to_owned(),
            worktree: false,
        };
        let one = parse(json!({"agent": "a", "prompt": "p", "background": true}));
        let expected = RequestedTasks {
            tasks: vec![task(Some("a"), "p")],
            background: true,
        };
        assert_eq!(one, Ok(expected));
        let two =
            parse(json!({"tasks": [{"prompt": "x"}, {"agent": "b", "prompt": "y"}]})).unwrap();
        assert_eq!(two.tasks, [task(None, "x"), task(Some("b"), "y")]);
        for (arguments, expected) in [
            (json!({}), "either prompt or tasks"),
            (
                json!({"prompt": "p", "tasks": [{"prompt": "x"}]}),
                "either prompt or tasks",
            ),
            (json!({"agent": "a"}), "needs a prompt"),
            (
                json!({"tasks": vec![json!({"prompt": "x"}); 9]}),
                "At most 8",
            ),
            (json!({"prompt": 1}), "Invalid arguments"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_model_sees_the_agents_with_short_descriptions() {
        let agent = |name: &str, description: String| AgentFile {
            name: name.to_owned(),
            description,
            ..AgentFile::default()
        };
        let agents = [agent("a", "First".to_owned()), agent("b", "ü".repeat(900))];
        let declared = declaration(&agents);
        assert!(declared.description.contains("\n- a: First\n- b: üü"));
        assert!(declared.description.len() < 1000);
        let names = &declared.parameters["properties"]["agent"]["enum"];
        assert_eq!(*names, json!(["a", "b"]));
    }
}
