//! What extensions ask and get at once: the program's side of our JavaScript.
//!
//! Everything here runs on the JavaScript thread and must not block. What takes time is begun here
//! and goes on with the program's own runtime; `requests` is for what an extension waits for.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Waker};

use pi_agent::{ToolOutput, UpdateSink};
use pi_ai::{Content, Layer, RefreshOptions, ThinkingLevel};
use pi_config::SourceInfo;
use pi_ext::{ConsoleLevel, ConsoleLine, Fault, Host, HostError, HostFuture};
use pi_session::EntryId;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::front_end::{ExtensionFailure, ExtensionNotice, ExtensionOptions, ExtensionUi};
use super::registration::{CommandData, FlagData, ProviderData, ToolData};
use super::{Extensions, Shared, wire};
use crate::hooks::CustomDraft;
use crate::runtime::{SessionRuntime, WeakRuntime};
use crate::services::Services;
use crate::session::{
    AgentSession, CustomDelivery, CustomSending, Delivery, Persist, PromptRefused,
};

/// Says that an extension holds on to something of a session that is gone.
const STALE: &str = "this extension's session is gone: another has taken its place or extensions were \
                     reloaded; use what the newest event or command was given";

/// Says that an extension acts before there is a session.
const LOADING: &str = "nothing but registering is possible while extensions load; act from an event \
                       or a command";

/// Where the session is.
enum Stage {
    Loading,
    Bound(AgentSession),
    Stale,
}

/// A command and whose it is.
pub(super) struct OwnedCommand {
    pub extension: String,
    pub source_info: SourceInfo,
    pub data: CommandData,
}

/// What the extensions have registered.
#[derive(Default)]
pub(super) struct Registry {
    pub tools: Vec<(String, ToolData)>,
    pub commands: Vec<OwnedCommand>,
    pub flags: BTreeMap<String, FlagData>,
    pub providers: Vec<(String, ProviderData)>,
    pub events: HashSet<String>,
    pub sources: HashMap<String, SourceInfo>,
}

impl Registry {
    /// Adds a command, or replaces the one of the same extension.
    pub(super) fn add_command(&mut self, extension: &str, source_info: &SourceInfo, data: CommandData) {
        let same = self
            .commands
            .iter_mut()
            .find(|known| known.extension == extension && known.data.name == data.name);
        match same {
            Some(known) => known.data = data,
            None => self.commands.push(OwnedCommand {
                extension: extension.to_owned(),
                source_info: source_info.clone(),
                data,
            }),
        }
    }

    /// Lists commands under the names they are called by: several of one name are numbered.
    pub(super) fn named_commands(&self) -> impl Iterator<Item = (String, &OwnedCommand)> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut totals: HashMap<&str, usize> = HashMap::new();
        for command in &self.commands {
            *totals.entry(command.data.name.as_str()).or_default() += 1;
        }
        self.commands.iter().map(move |command| {
            let name = command.data.name.as_str();
            let number = seen.entry(name).or_default();
            *number += 1;
            let is_alone = totals.get(name) == Some(&1);
            let name = if is_alone {
                name.to_owned()
            } else {
                format!("{name}:{number}")
            };
            (name, command)
        })
    }
}

/// The program as extensions see it.
pub(super) struct Bridge {
    stage: Mutex<Stage>,
    shared: OnceLock<Weak<Shared>>,
    runtime: OnceLock<WeakRuntime>,
    registry: Mutex<Registry>,
    pub(super) ui: Arc<dyn ExtensionUi>,
    pub(super) models: pi_ai::Models,
    cwd: PathBuf,
    is_trusted: bool,
    program: Handle,
    next_signal: AtomicU64,
    updates: Mutex<HashMap<u64, UpdateSink>>,
    streams: Mutex<HashMap<u64, mpsc::UnboundedSender<Value>>>,
}

impl Bridge {
    pub(super) fn new(services: &Services, options: &ExtensionOptions) -> Self {
        Self {
            stage: Mutex::new(Stage::Loading),
            shared: OnceLock::new(),
            runtime: OnceLock::new(),
            registry: Mutex::default(),
            ui: Arc::clone(&options.ui),
            models: services.models.clone(),
            cwd: services.cwd.clone(),
            is_trusted: services.project.is_trusted(),
            program: Handle::current(),
            next_signal: AtomicU64::new(1),
            updates: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    pub(super) fn bind(&self, session: AgentSession, shared: Weak<Shared>) {
        *lock(&self.stage) = Stage::Bound(session);
        // Bound once; what is bound again is the same.
        self.shared.set(shared).ok();
    }

    pub(super) fn attach(&self, runtime: WeakRuntime) {
        self.runtime.set(runtime).ok();
    }

    /// Lets the code that put another session in the place of its own work with that one.
    fn adopt(&self) -> Result<(), HostError> {
        let runtime = self.runtime.get().and_then(WeakRuntime::upgrade);
        let runtime = runtime.ok_or_else(|| HostError::new(STALE))?;
        *lock(&self.stage) = Stage::Bound(runtime.session());
        Ok(())
    }

    /// Ends the extensions' part: whatever they kept refuses to work.
    pub(super) fn retire(&self) {
        *lock(&self.stage) = Stage::Stale;
    }

    pub(super) fn session(&self) -> Result<AgentSession, HostError> {
        match &*lock(&self.stage) {
            Stage::Bound(session) => Ok(session.clone()),
            Stage::Loading => Err(HostError::new(LOADING)),
            Stage::Stale => Err(HostError::new(STALE)),
        }
    }

    pub(super) fn runtime(&self) -> Result<SessionRuntime, HostError> {
        self.session()?;
        let runtime = self.runtime.get().and_then(WeakRuntime::upgrade);
        runtime.ok_or_else(|| HostError::new(LOADING))
    }

    fn extensions(&self) -> Result<Extensions, HostError> {
        self.session()?;
        let shared = self.shared.get().and_then(Weak::upgrade);
        shared.map(Extensions).ok_or_else(|| HostError::new(STALE))
    }

    /// Tells whether anybody hears of an event.
    pub(super) fn hears(&self, event: &str) -> bool {
        self.registry().events.contains(event)
    }

    /// Returns a number for something that can be cancelled.
    pub(super) fn new_signal(&self) -> u64 {
        self.next_signal.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn open_updates(&self, signal: u64, updates: UpdateSink) {
        lock(&self.updates).insert(signal, updates);
    }

    pub(super) fn close_updates(&self, signal: u64) {
        lock(&self.updates).remove(&signal);
    }

    pub(super) fn open_stream(&self, signal: u64) -> mpsc::UnboundedReceiver<Value> {
        // Unbounded, since JavaScript cannot be made to wait; it ends with the answer.
        let (sender, receiver) = mpsc::unbounded_channel();
        lock(&self.streams).insert(signal, sender);
        receiver
    }

    pub(super) fn close_stream(&self, signal: u64) {
        lock(&self.streams).remove(&signal);
    }

    /// Begins something on the program's own runtime: it runs at once as far as it gets, as an
    /// asynchronous function of JavaScript does, and goes on there.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut work = Box::pin(work);
        let _program = self.program.enter();
        let mut context = Context::from_waker(Waker::noop());
        if work.as_mut().poll(&mut context).is_pending() {
            self.program.spawn(work);
        }
    }

    /// Lets the program's own runtime do what an extension waits for.
    pub(super) fn on_program(
        &self,
        work: impl Future<Output = Result<Value, HostError>> + Send + 'static,
    ) -> HostFuture {
        let work = self.program.spawn(work);
        Box::pin(async move {
            match work.await {
                Ok(answer) => answer,
                Err(error) => Err(HostError::new(error.to_string())),
            }
        })
    }

    pub(super) fn fail(&self, failure: ExtensionFailure) {
        self.begin(self.ui.fail(failure));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailureData {
    extension_path: Option<String>,
    event: String,
    error: String,
    stack: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageData {
    custom_type: String,
    #[serde(default)]
    content: Content,
    #[serde(default)]
    display: bool,
    details: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SendMessage {
    message: MessageData,
    #[serde(default)]
    options: SendOptions,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SendOptions {
    trigger_turn: Option<bool>,
    deliver_as: Option<String>,
    expand_prompt_templates: bool,
}

#[derive(Deserialize)]
pub(super) struct SendUserMessage {
    content: Content,
    #[serde(default)]
    options: SendOptions,
}

impl SendMessage {
    pub(super) fn into_parts(self) -> (CustomDraft, CustomSending) {
        let draft = CustomDraft {
            custom_type: self.message.custom_type,
            content: self.message.content,
            display: self.message.display,
            details: self.message.details,
        };
        let deliver_as = match self.options.deliver_as.as_deref() {
            Some("steer") => Some(CustomDelivery::Steer),
            Some("followUp") => Some(CustomDelivery::FollowUp),
            Some("nextTurn") => Some(CustomDelivery::NextTurn),
            _ => None,
        };
        let sending = CustomSending {
            trigger_turn: self.options.trigger_turn,
            deliver_as,
        };
        (draft, sending)
    }
}

impl SendUserMessage {
    pub(super) fn into_parts(self) -> (Content, Option<Delivery>, bool) {
        let delivery = match self.options.deliver_as.as_deref() {
            Some("steer") => Some(Delivery::Steer),
            Some("followUp") => Some(Delivery::FollowUp),
            _ => None,
        };
        (self.content, delivery, self.options.expand_prompt_templates)
    }
}

#[derive(Deserialize)]
struct Owned<Data> {
    extension: String,
    #[serde(alias = "tool", alias = "command", alias = "provider")]
    data: Data,
}

#[derive(Deserialize)]
struct Numbered {
    #[serde(rename = "signalId")]
    signal: u64,
    #[serde(alias = "partial", alias = "event")]
    data: Value,
}

impl Host for Bridge {
    fn console(&self, line: ConsoleLine) {
        let extension = line.extension.unwrap_or_default();
        match line.level {
            ConsoleLevel::Debug => tracing::debug!(extension, "{}", line.text),
            ConsoleLevel::Info => tracing::info!(extension, "{}", line.text),
            ConsoleLevel::Warning => tracing::warn!(extension, "{}", line.text),
            ConsoleLevel::Error => tracing::error!(extension, "{}", line.text),
        }
    }

    fn fault(&self, fault: Fault) {
        self.fail(ExtensionFailure {
            extension: fault.extension,
            event: "uncaught".to_owned(),
            error: fault.message,
            stack: fault.stack,
        });
    }

    fn call(
        &self,
        _extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        let (area, _) = method.split_once('.').unwrap_or((method, ""));
        match area {
            "session" | "entry" => self.call_session(method, arguments),
            "ui" => self.call_ui(method, arguments),
            "models" | "model" | "thinking" => self.call_models(method, arguments),
            "messages" => wire::call(method, arguments),
            "tool" | "command" | "provider" | "subscriptions" => {
                self.call_registry(method, arguments)
            }
            _ => self.call_program(method, arguments),
        }
    }

    fn request(&self, _extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        self.answer(method, arguments)
    }
}

impl Bridge {
    fn call_program(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "error" => {
                let failure: FailureData = read(arguments)?;
                self.fail(ExtensionFailure {
                    extension: failure.extension_path,
                    event: failure.event,
                    error: failure.error,
                    stack: failure.stack,
                });
            }
            "context" => return self.context(),
            "idle" => return Ok(self.session()?.is_idle().into()),
            "pending" => return Ok((self.session()?.pending_message_count() > 0).into()),
            "usage" => return spell(self.session()?.context_usage()),
            "systemPrompt" => return Ok(self.session()?.system_prompt().into()),
            "systemPrompt.options" => return Ok(json!({ "cwd": self.cwd })),
            "tools.active" => return Ok(self.session()?.active_tool_names().into()),
            "tools.all" => return Ok(wire::tools(&self.session()?)),
            "tools.setActive" => {
                let names: Vec<String> = field(&arguments, "names")?;
                self.session()?.set_active_tools(&names);
            }
            "commands" => return self.commands(),
            "abort" => {
                let session = self.session()?;
                self.begin(async move { session.abort().await });
            }
            "shutdown" => {
                self.session()?;
                self.ui.shut_down();
            }
            "replacement.adopt" => self.adopt()?,
            "replacement.release" => self.retire(),
            "message.send" => self.send_message(arguments)?,
            "message.sendUser" => self.send_user_message(arguments)?,
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }

    fn context(&self) -> Result<Value, HostError> {
        if matches!(&*lock(&self.stage), Stage::Stale) {
            return Err(HostError::new(STALE));
        }
        let mode = self.ui.mode();
        Ok(json!({
            "mode": mode.name(),
            "hasUI": mode.has_ui(),
            "cwd": self.cwd,
            "trusted": self.is_trusted,
        }))
    }

    fn commands(&self) -> Result<Value, HostError> {
        let mut commands = self.extensions()?.commands();
        if let Ok(runtime) = self.runtime() {
            commands.extend(runtime.resource_commands());
        }
        spell(Ok::<_, HostError>(commands))
    }

    fn send_message(&self, arguments: Value) -> Result<(), HostError> {
        let session = self.session()?;
        let (draft, sending) = read::<SendMessage>(arguments)?.into_parts();
        let ui = Arc::clone(&self.ui);
        self.begin(async move {
            if let Err(error) = session.send_custom_message(draft, sending).await {
                ui.fail(refusal("sendMessage", &error)).await;
            }
        });
        Ok(())
    }

    fn send_user_message(&self, arguments: Value) -> Result<(), HostError> {
        let session = self.session()?;
        let (content, delivery, expand) = read::<SendUserMessage>(arguments)?.into_parts();
        let ui = Arc::clone(&self.ui);
        self.begin(async move {
            let sent = session.send_user_message(content, delivery, expand).await;
            if let Err(error) = sent {
                ui.fail(refusal("sendUserMessage", &error)).await;
            }
        });
        Ok(())
    }

    fn call_session(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let session = self.session()?;
        match method {
            "session.name" => Ok(session.session_name().into()),
            "session.setName" => {
                let name: String = field(&arguments, "name")?;
                self.begin(async move {
                    if let Err(error) = session.set_session_name(&name).await {
                        tracing::warn!(%error, "an extension cannot name the session");
                    }
                });
                Ok(Value::Null)
            }
            "entry.append" => {
                let custom_type: String = field(&arguments, "customType")?;
                let data = arguments.get("data").cloned();
                self.begin(async move {
                    let appended = session.append_custom_entry(&custom_type, data).await;
                    if let Err(error) = appended {
                        tracing::warn!(%error, "an extension cannot append its entry");
                    }
                });
                Ok(Value::Null)
            }
            "entry.label" => {
                let id = EntryId::from(field::<String>(&arguments, "entryId")?);
                let label: Option<String> = field(&arguments, "label")?;
                session.set_label(&id, label.as_deref()).map_err(told)?;
                Ok(Value::Null)
            }
            _ => wire::session(&session, method, &arguments),
        }
    }

    fn call_ui(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "ui.tell" => {
                let notice: ExtensionNotice = read(arguments)?;
                self.begin(self.ui.tell(notice));
                Ok(Value::Null)
            }
            "ui.editorText" => Ok(self.ui.editor_text().into()),
            "ui.themes" => Ok(json!([])),
            "ui.setTheme" => Ok(json!({
                "success": false,
                "error": match self.ui.mode() {
                    super::ExtensionMode::Rpc => "Theme switching not supported in RPC mode",
                    _ => "UI not available",
                },
            })),
            _ => Err(unknown(method)),
        }
    }

    fn call_models(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        let provider = || field::<String>(&arguments, "provider");
        match method {
            "model" => spell(Ok::<_, HostError>(self.session()?.model())),
            "model.scoped" => Ok(wire::scoped_models(&self.session()?)),
            "thinking.level" => Ok(self.session()?.thinking_level().as_str().into()),
            "thinking.set" => {
                let level: ThinkingLevel = field(&arguments, "level")?;
                let session = self.session()?;
                self.begin(async move {
                    let set = session.set_thinking_level(level, Persist::Session).await;
                    if let Err(error) = set {
                        tracing::warn!(%error, "an extension cannot set the thinking level");
                    }
                });
                Ok(Value::Null)
            }
            "models.all" => spell(Ok::<_, HostError>(self.models.all())),
            "models.available" => spell(Ok::<_, HostError>(self.models.available())),
            "models.find" => {
                let id: String = field(&arguments, "id")?;
                spell(Ok::<_, HostError>(self.models.model(&provider()?, &id)))
            }
            "models.hasAuth" => Ok(self.models.is_authenticated(&provider()?).into()),
            "models.providerName" => {
                let id = provider()?;
                let known = self.models.provider(&id);
                Ok(known.map_or(id, |known| known.name().to_owned()).into())
            }
            "models.usesOAuth" => Ok(false.into()),
            _ => Err(unknown(method)),
        }
    }

    fn call_registry(&self, method: &str, arguments: Value) -> Result<Value, HostError> {
        match method {
            "subscriptions" => {
                let events: Vec<String> = read(arguments)?;
                self.registry().events = events.into_iter().collect();
            }
            "tool.update" => {
                let Numbered { signal, data } = read(arguments)?;
                let partial: ToolOutput = read(data)?;
                if let Some(updates) = lock(&self.updates).get(&signal) {
                    updates.send(partial);
                }
            }
            "provider.event" => {
                let Numbered { signal, data } = read(arguments)?;
                if let Some(stream) = lock(&self.streams).get(&signal) {
                    // Whoever read the answer may have stopped.
                    stream.send(data).ok();
                }
            }
            "tool.register" => {
                let Owned { extension, data } = read::<Owned<ToolData>>(arguments)?;
                let (session, extensions) = (self.session()?, self.extensions()?);
                session.register_tool(extensions.tool(&extension, &data));
                let tools = &mut self.registry().tools;
                tools.retain(|(_, known)| known.name != data.name);
                tools.push((extension, data));
            }
            "command.register" => {
                let Owned { extension, data } = read::<Owned<CommandData>>(arguments)?;
                let mut registry = self.registry();
                if let Some(source_info) = registry.sources.get(&extension).cloned() {
                    registry.add_command(&extension, &source_info, data);
                }
            }
            "provider.register" => {
                let Owned { extension, data } = read::<Owned<ProviderData>>(arguments)?;
                let extensions = self.extensions()?;
                let refresh = RefreshOptions {
                    providers: Some(vec![data.name.clone()]),
                    ..RefreshOptions::default()
                };
                extensions
                    .register_provider(&self.models, extension, data)
                    .map_err(told)?;
                let models = self.models.clone();
                self.begin(async move { drop(models.refresh(refresh).await) });
            }
            "provider.unregister" => {
                let name: String = field(&arguments, "name")?;
                self.models.unregister(&name, Layer::Extension);
            }
            _ => return Err(unknown(method)),
        }
        Ok(Value::Null)
    }
}

fn refusal(event: &str, error: &PromptRefused) -> ExtensionFailure {
    ExtensionFailure {
        extension: None,
        event: event.to_owned(),
        error: error.to_string(),
        stack: None,
    }
}

/// Reads what JavaScript gave.
pub(super) fn read<Data: DeserializeOwned>(value: Value) -> Result<Data, HostError> {
    serde_json::from_value(value).map_err(told)
}

/// Reads one member of what JavaScript gave; what is absent counts as null.
pub(super) fn field<Data: DeserializeOwned>(value: &Value, name: &str) -> Result<Data, HostError> {
    let member = value.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(member).map_err(|error| HostError::new(format!("{name}: {error}")))
}

/// Spells something for JavaScript.
pub(super) fn spell<Data: serde::Serialize, Failure: std::fmt::Display>(
    value: Result<Data, Failure>,
) -> Result<Value, HostError> {
    serde_json::to_value(value.map_err(told)?).map_err(told)
}

pub(super) fn told(error: impl std::fmt::Display) -> HostError {
    HostError::new(error.to_string())
}

pub(super) fn unknown(method: &str) -> HostError {
    HostError::new(format!("{method} is not offered by this program"))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
