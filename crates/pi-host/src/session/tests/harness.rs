//! A session in a temporary directory with a scripted model, and a recorder for its events.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::SettingsStore;
use pi_context::SystemPromptParts;
use pi_core::{
    Progress, Prompt, RegisteredTool, Tool, ToolContext, ToolError, ToolRegistry, ToolSource,
};
use pi_env::Env;
use pi_protocol::json::JsonObject;
use pi_protocol::settings::Settings;
use pi_protocol::{
    ErrorClass, ProviderError, SessionEvent, ThinkingLevel, Tool as ToolDeclaration, ToolOutput,
};
use pi_providers::{FauxModel, FauxProvider, Models, ModelsOptions, Registration};
use pi_session::{NewSession, Session};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::participants::Participants;
use crate::session::{
    AgentSession, NoExpansion, SessionListener, SessionParts, SessionSubscription,
};
use crate::toolset::{DefaultTools, ToolSelection, Toolset, ToolsetOptions};

pub(super) struct HarnessOptions {
    pub models: Vec<FauxModel>,
    pub thinking_level: ThinkingLevel,
    pub settings: Settings,
    pub tools: Vec<Arc<dyn Tool>>,
    /// Sources to use instead of a fixed list of tools.
    pub sources: Vec<Arc<dyn ToolSource>>,
    pub participants: Participants,
    pub session: Option<Session>,
}

impl Default for HarnessOptions {
    fn default() -> Self {
        Self {
            models: vec![FauxModel::new("one")],
            thinking_level: ThinkingLevel::Off,
            settings: Settings::default(),
            tools: vec![echo()],
            sources: Vec::new(),
            participants: Participants::default(),
            session: None,
        }
    }
}

pub(super) struct SessionHarness {
    pub faux: FauxProvider,
    pub session: AgentSession,
    pub events: Arc<EventRecorder>,
    pub directory: TempDir,
    _subscription: SessionSubscription,
}

impl SessionHarness {
    pub(super) fn new() -> Self {
        Self::with_options(HarnessOptions::default())
    }

    pub(super) fn with_options(setting: HarnessOptions) -> Self {
        let directory = TempDir::new().unwrap();
        let faux = FauxProvider::new().with_models(setting.models);
        // Time stands still: everything may happen in the same millisecond.
        let now = Env::process().now_ms();
        let env = Env::process().with_clock(move || now);
        let models = Models::new(ModelsOptions {
            env: env.clone(),
            ..ModelsOptions::default()
        });
        models
            .register(faux.id(), Registration::Provider(Arc::new(faux.clone())))
            .unwrap();
        let tools = Toolset::new(tool_options(setting.tools, setting.sources, &directory));
        let session = setting.session.unwrap_or_else(|| {
            let path = directory.path().join("session.jsonl");
            let new = NewSession {
                env: env.clone(),
                ..NewSession::default()
            };
            Session::create_at(&path, directory.path(), new).unwrap()
        });
        let session = AgentSession::new(SessionParts {
            session,
            settings: SettingsStore::in_memory(setting.settings),
            models,
            model: Some(Arc::new(faux.model())),
            thinking_level: setting.thinking_level,
            scoped_models: Vec::new(),
            tools,
            prompt: SystemPromptParts {
                custom: Some("A test.".to_owned()),
                ..SystemPromptParts::default()
            },
            resources: Arc::new(NoExpansion),
            cwd: directory.path().to_owned(),
            env,
            participants: setting.participants,
            barrier: None,
        })
        .unwrap();
        let events = Arc::new(EventRecorder::default());
        let subscription = session.subscribe(Arc::clone(&events) as _);
        Self {
            faux,
            session,
            events,
            directory,
            _subscription: subscription,
        }
    }

    pub(super) async fn prompt(&self, text: &str) {
        self.session.prompt(Prompt::text(text)).await.unwrap();
        self.session.wait_for_idle().await;
    }

    /// Returns the events since the last call, without updates of growing messages.
    pub(super) fn lines(&self) -> Vec<String> {
        self.events.take()
    }

    /// Returns the types of all entries in file order; messages by their role.
    pub(super) fn entries(&self) -> Vec<String> {
        self.session.history().with_session(|session| {
            session
                .entries()
                .iter()
                .map(|entry| {
                    let entry = serde_json::to_value(&*entry.unwrap()).unwrap();
                    match &entry["message"]["role"] {
                        Value::String(role) => role.clone(),
                        _ => entry["type"].as_str().unwrap().to_owned(),
                    }
                })
                .collect()
        })
    }

    /// Returns the model's context, as role and text.
    pub(super) fn context(&self) -> Vec<String> {
        let messages = self.session.history().messages().unwrap();
        let values = messages
            .iter()
            .map(|one| serde_json::to_value(&**one).unwrap());
        values.map(|value| described(&value)).collect()
    }
}

/// Returns options with only these tools.
fn tool_options(
    tools: Vec<Arc<dyn Tool>>,
    mut sources: Vec<Arc<dyn ToolSource>>,
    directory: &TempDir,
) -> ToolsetOptions {
    let names = tools.iter().map(|tool| tool.declaration().name.clone());
    let selection = ToolSelection {
        allow: sources.is_empty().then(|| names.collect()),
        defaults: DefaultTools::NoBuiltin,
        ..ToolSelection::default()
    };
    if sources.is_empty() {
        let tools = tools.into_iter().map(RegisteredTool::new).collect();
        sources.push(Arc::new(ToolRegistry::new(tools)));
    }
    ToolsetOptions {
        selection,
        sources,
        ..ToolsetOptions::new(directory.path())
    }
}

fn described(message: &Value) -> String {
    let role = message["role"].as_str().unwrap();
    let text = match (
        &message["content"],
        &message["summary"],
        &message["command"],
    ) {
        (Value::String(text), _, _) | (_, Value::String(text), _) | (_, _, Value::String(text)) => {
            text.clone()
        }
        (Value::Array(blocks), _, _) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect()
        }
        _ => String::new(),
    };
    format!("{role} {text}").trim_end().to_owned()
}

/// Records one line per event.
#[derive(Default)]
pub(super) struct EventRecorder {
    lines: Mutex<Vec<String>>,
    changed: Notify,
}

impl EventRecorder {
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock())
    }

    /// Waits until a line was recorded.
    pub(super) async fn wait_for(&self, line: &str) {
        loop {
            let changed = self.changed.notified();
            if self.lines.lock().iter().any(|one| one.starts_with(line)) {
                return;
            }
            changed.await;
        }
    }
}

impl SessionListener for EventRecorder {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(line) = line(event) {
                self.lines.lock().push(line);
                self.changed.notify_waiters();
            }
        })
    }
}

/// Describes an event; `None` for updates of growing messages.
pub(super) fn line(event: &SessionEvent) -> Option<String> {
    let event = serde_json::to_value(event).unwrap();
    let name = event["type"].as_str().unwrap();
    let detail = match name {
        "message_update" => return None,
        "message_start" => event["message"]["role"].as_str().unwrap().to_owned(),
        "message_end" => match event["message"]["stopReason"].as_str() {
            Some(reason) => format!("assistant {reason}"),
            None => event["message"]["role"].as_str().unwrap().to_owned(),
        },
        "agent_end" if event["willRetry"] == json!(true) => "will retry".to_owned(),
        "tool_execution_start" | "tool_execution_end" | "tool_execution_update" => {
            event["toolName"].as_str().unwrap().to_owned()
        }
        "queue_update" => format!("{} {}", event["steering"], event["followUp"]),
        "entry_appended" => event["entry"]["type"].as_str().unwrap().to_owned(),
        "compaction_start" => event["reason"].as_str().unwrap().to_owned(),
        "compaction_end" => {
            let outcome = match (&event["result"], &event["aborted"], &event["willRetry"]) {
                (Value::Null, Value::Bool(true), _) => "aborted",
                (Value::Null, _, _) => "failed",
                (_, _, Value::Bool(true)) => "will retry",
                _ => "done",
            };
            format!("{} {outcome}", event["reason"].as_str().unwrap())
        }
        "auto_retry_start" => format!(
            "{}/{} {}",
            event["attempt"], event["maxAttempts"], event["delayMs"]
        ),
        "auto_retry_end" => format!("{} {}", event["attempt"], event["success"]),
        "summarization_retry_scheduled" => event["attempt"].to_string(),
        "thinking_level_changed" => event["level"].as_str().unwrap().to_owned(),
        "bash_execution_update" => event["delta"].as_str().unwrap().trim().to_owned(),
        "session_info_changed" => event["name"].to_string(),
        _ => String::new(),
    };
    Some(format!("{name} {detail}").trim_end().to_owned())
}

/// The lines of a prompt that gets a response in one turn, starting with the user message.
pub(super) fn one_turn(outcome: &str) -> Vec<String> {
    let end = format!("message_end assistant {outcome}");
    let lines = [
        "agent_start",
        "turn_start",
        "message_start user",
        "message_end user",
        "message_start assistant",
        &end,
        "turn_end",
        "agent_end",
    ];
    lines.map(str::to_owned).to_vec()
}

pub(super) fn overloaded() -> ProviderError {
    ProviderError::new(ErrorClass::Overloaded, "529 the service is overloaded").with_status(529)
}

pub(super) fn too_long() -> ProviderError {
    ProviderError::new(
        ErrorClass::ContextOverflow,
        "prompt is too long: 9 tokens > 8 maximum",
    )
    .with_status(400)
}

type ToolBody = dyn Fn(JsonObject, Progress, CancellationToken) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
    + Send
    + Sync;

/// A tool implemented by a closure.
struct TestTool {
    declaration: ToolDeclaration,
    body: Box<ToolBody>,
}

pub(super) fn tool<Running>(
    name: &str,
    body: impl Fn(JsonObject, Progress, CancellationToken) -> Running + Send + Sync + 'static,
) -> Arc<dyn Tool>
where
    Running: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
{
    Arc::new(TestTool {
        declaration: ToolDeclaration {
            name: name.to_owned(),
            description: "For tests.".to_owned(),
            parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
            constrained_sampling: None,
            extra: JsonObject::new(),
        },
        body: Box::new(move |arguments, updates, cancel| {
            Box::pin(body(arguments, updates, cancel))
        }),
    })
}

pub(super) fn echo() -> Arc<dyn Tool> {
    tool("echo", |arguments, _, _| async move {
        let text = arguments.get("text").and_then(Value::as_str);
        Ok(ToolOutput::text(text.unwrap_or_default()))
    })
}

/// A tool that runs until it is canceled.
pub(super) fn endless() -> Arc<dyn Tool> {
    tool("endless", |_, _, cancel| async move {
        cancel.cancelled().await;
        Err(ToolError::new("stopped"))
    })
}

impl Tool for TestTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        (self.body)(arguments, cx.progress, cx.cancel)
    }
}

/// A model with a context window that a long response fills.
pub(super) fn small_model() -> FauxModel {
    FauxModel {
        context_window: 2000,
        max_tokens: 1500,
        ..FauxModel::new("small")
    }
}

/// Settings that compact early and keep little.
pub(super) fn tight() -> Settings {
    let mut settings = Settings::default();
    settings.compaction.reserve_tokens = Some(500);
    settings.compaction.keep_recent_tokens = Some(60);
    settings
}

/// A text of about this many tokens.
pub(super) fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}
