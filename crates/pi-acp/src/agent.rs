//! The methods that a client calls.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_host::{
    AttachError, LiveDirectory, RemoteSession, SessionCatalog, SessionChoice, SessionOptions,
    StartError,
};
use pi_protocol::settings::SandboxMode;
use pi_protocol::{JsonRpcError, SessionInfo, SessionScope, single_line};
use serde_json::{Value, json};

use crate::backing::Backing;
use crate::capabilities::{ClientCapabilities, SIGN_IN_METHOD, initialized};
use crate::client_files::ClientFiles;
use crate::config_options::set_config_option;
use crate::connection::Connection;
use crate::error;
use crate::feed::Feed;
use crate::params;
use crate::prompt::prompt;
use crate::server::AcpOptions;
use crate::session::AcpSession;
use crate::session_setup::SessionSetup;
use crate::session_ui::SessionUi;

/// Sessions in a page of `session/list`.
const PAGE: usize = 100;

pub(crate) struct Agent {
    options: AcpOptions,
    connection: Connection,
    state: Mutex<AgentState>,
}

#[derive(Default)]
struct AgentState {
    client: ClientCapabilities,
    /// The sessions that the client has opened, by ID.
    sessions: HashMap<String, Arc<AcpSession>>,
}

/// What a session uses of the client.
struct ClientParts {
    ui: SessionUi,
    files: Option<ClientFiles>,
}

/// A result, and what follows it.
pub(crate) struct Reply {
    pub(crate) result: Value,
    /// A session that the client knows after it has received the result, with a notice about it.
    pub(crate) opened: Option<(Arc<AcpSession>, Option<String>)>,
}

impl From<Value> for Reply {
    fn from(result: Value) -> Self {
        Self {
            result,
            opened: None,
        }
    }
}

impl Agent {
    pub(crate) fn new(options: AcpOptions, connection: Connection) -> Self {
        Self {
            options,
            connection,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock()
    }

    fn session(&self, params: &Value) -> Result<Arc<AcpSession>, JsonRpcError> {
        let id = params::text(params, "sessionId")?;
        let session = self.state().sessions.get(id).cloned();
        session.ok_or_else(|| error::unknown_session(id))
    }

    /// Executes a request. `id` identifies it in questions to the user.
    pub(crate) async fn call(
        &self,
        id: &Value,
        method: &str,
        params: Value,
    ) -> Result<Reply, JsonRpcError> {
        match method {
            "initialize" => self.initialize(&params).map(Reply::from),
            "authenticate" => authenticate(&params).map(Reply::from),
            "session/new" => Box::pin(self.new_session(id, &params)).await,
            "session/load" => Box::pin(self.load(id, &params, true)).await,
            "session/resume" => Box::pin(self.load(id, &params, false)).await,
            "session/fork" => Box::pin(self.fork(id, &params)).await,
            "session/list" => self.list(&params).await.map(Reply::from),
            "session/close" => {
                let session = self.session(&params)?;
                self.state().sessions.remove(session.id());
                session.close(&self.options.host).await;
                Ok(json!({}).into())
            }
            "session/delete" => self.delete(&params).await.map(Reply::from),
            "session/prompt" => {
                let turn = prompt(self.session(&params)?, params);
                Box::pin(turn).await.map(Reply::from)
            }
            "session/set_config_option" => {
                let session = self.session(&params)?;
                set_config_option(&session, &params).await?;
                Ok(json!({"configOptions": session.config()}).into())
            }
            "session/set_mode" => {
                self.session(&params)?;
                let problem = "is unknown: select the option `mode` with session/set_config_option";
                Err(JsonRpcError::invalid_params("modeId", problem))
            }
            other => Err(JsonRpcError::unknown_method(other)),
        }
    }

    /// Executes a notification; unknown ones are ignored.
    pub(crate) async fn notified(&self, method: &str, params: &Value) {
        if method == "session/cancel"
            && let Ok(session) = self.session(params)
        {
            session.cancel().await;
        }
    }

    /// Stops the run of a prompt whose request was canceled.
    pub(crate) async fn cancel_prompt(&self, params: &Value) {
        if let Ok(session) = self.session(params) {
            session.cancel().await;
        }
    }

    fn initialize(&self, params: &Value) -> Result<Value, JsonRpcError> {
        if params
            .get("protocolVersion")
            .and_then(Value::as_u64)
            .is_none()
        {
            return Err(JsonRpcError::invalid_params(
                "protocolVersion",
                "must be a number",
            ));
        }
        let client = ClientCapabilities::from_params(params);
        self.state().client = client;
        if client.forms {
            self.options.trust.connect(self.connection.clone());
        }
        Ok(initialized(client, &self.options.version))
    }

    /// Returns the options of a session for what the client passed.
    fn session_options(
        &self,
        setup: SessionSetup,
        parts: &ClientParts,
    ) -> Result<SessionOptions, JsonRpcError> {
        let options = (self.options.sessions)(&setup.cwd);
        let mut options = options.map_err(JsonRpcError::internal)?;
        options.extensions.ui = Arc::new(parts.ui.clone());
        if let Some(files) = &parts.files {
            options.open_buffers = Some(Arc::new(files.clone()));
        }
        options.cwd_override = Some(setup.cwd.clone());
        setup.apply(&mut options);
        Ok(options)
    }

    /// Returns what a session uses of the client.
    fn client_parts(&self, setup: &SessionSetup) -> ClientParts {
        let client = self.state().client;
        let access = self.options.settings.client_files.unwrap_or_default();
        let connection = self.connection.clone();
        ClientParts {
            ui: SessionUi::default(),
            files: ClientFiles::new(connection, client, access, setup.roots()),
        }
    }

    /// Adds a session that was opened.
    fn add(&self, backing: Backing, parts: ClientParts) -> Arc<AcpSession> {
        let client = self.state().client;
        let commands = self.options.settings.commands.unwrap_or_default();
        if let Some(files) = &parts.files {
            files.set_session(&backing.session().session_id());
        }
        let connection = self.connection.clone();
        let feed = Feed::new(connection, client, commands, backing.clone(), parts.files);
        let session = AcpSession::new(backing, feed, parts.ui);
        let mut state = self.state();
        state
            .sessions
            .insert(session.id().to_owned(), Arc::clone(&session));
        session
    }

    fn opened(
        &self,
        session: Arc<AcpSession>,
        setup_cwd: &std::path::Path,
        result: Value,
    ) -> Reply {
        let unasked = self.options.trust.take_unasked(setup_cwd);
        let notice = unasked.then(|| {
            "This project is not trusted, so its settings and extensions are not used. Run pi in its directory to decide."
                .to_owned()
        });
        Reply {
            result,
            opened: Some((session, notice)),
        }
    }

    async fn new_session(&self, id: &Value, params: &Value) -> Result<Reply, JsonRpcError> {
        let setup = SessionSetup::from_params(params)?;
        let parts = self.client_parts(&setup);
        let cwd = setup.cwd.clone();
        let options = self.session_options(setup, &parts)?;
        self.open(id, &cwd, parts, options).await
    }

    async fn open(
        &self,
        id: &Value,
        cwd: &std::path::Path,
        parts: ClientParts,
        options: SessionOptions,
    ) -> Result<Reply, JsonRpcError> {
        self.options.trust.begin(cwd, id);
        let opened = self.options.host.open(options).await;
        let handle = opened.map_err(|error| start_error(&error))?;
        let session = self.add(Backing::Local(handle), parts);
        let result = json!({"sessionId": session.id(), "configOptions": session.config()});
        Ok(self.opened(session, cwd, result))
    }

    /// Opens a stored session, or returns the open one. `shows` is whether the conversation is sent.
    async fn load(&self, id: &Value, params: &Value, shows: bool) -> Result<Reply, JsonRpcError> {
        let wanted = params::text(params, "sessionId")?;
        let setup = SessionSetup::from_params(params)?;
        let known = self.state().sessions.get(wanted).cloned();
        if let Some(session) = &known {
            session.backing.restored().await;
        }
        let (lost, known): (Vec<_>, Vec<_>) = known
            .into_iter()
            .partition(|session| session.backing.is_lost());
        for session in lost {
            session.close(&self.options.host).await;
        }
        let (session, is_new, cwd) = match known.into_iter().next() {
            Some(session) => (session, false, setup.cwd),
            None => {
                let (cwd, parts) = (setup.cwd.clone(), self.client_parts(&setup));
                let options = self.session_options(setup, &parts)?;
                self.options.trust.begin(&cwd, id);
                let backing = self.attach(wanted, options).await?;
                (self.add(backing, parts), true, cwd)
            }
        };
        if shows {
            session.feed.replay(&session.session()).await?;
            session.feed.send_usage().await;
        }
        let result = json!({ "configOptions": session.config() });
        if is_new {
            Ok(self.opened(session, &cwd, result))
        } else {
            session.feed.send(session.commands()).await;
            Ok(result.into())
        }
    }

    async fn attach(&self, id: &str, options: SessionOptions) -> Result<Backing, JsonRpcError> {
        if let Some(remote) = self.attach_elsewhere(id, &options).await {
            return Ok(Backing::Remote(remote));
        }
        let host = &self.options.host;
        match host.attach(id, options.clone()).await {
            Ok(handle) => return Ok(Backing::Local(handle)),
            Err(AttachError::Start(error)) => return Err(start_error(&error)),
            Err(_) => {}
        }
        // A session directory outside of the default one.
        let stored = self.stored(Some(&options.cwd)).await;
        let found = stored.into_iter().find(|info| info.id == id);
        let found = found.ok_or_else(|| error::unknown_session(id))?;
        let options = SessionOptions {
            session: SessionChoice::Open(found.path.clone()),
            ..options
        };
        let opened = host.open(options).await;
        opened
            .map(Backing::Local)
            .map_err(|error| start_error(&error))
    }

    /// Attaches to a session that another process of the user runs; `None` if there is none.
    async fn attach_elsewhere(&self, id: &str, options: &SessionOptions) -> Option<RemoteSession> {
        let host = &self.options.host;
        if host.sessions().iter().any(|it| it.session_id() == id) {
            return None;
        }
        let directory = LiveDirectory::new(host.options().agent_dir.path(), &host.options().env);
        if !directory.has_socket(id).await {
            return None;
        }
        let attaching = RemoteSession::attach(host, options.clone(), id, false);
        match Box::pin(attaching).await {
            Ok(remote) => Some(remote),
            Err(error) => {
                tracing::debug!(%error, session = id, "no other process runs the session");
                None
            }
        }
    }

    async fn fork(&self, id: &Value, params: &Value) -> Result<Reply, JsonRpcError> {
        let wanted = params::text(params, "sessionId")?;
        let setup = SessionSetup::from_params(params)?;
        let open = self.state().sessions.get(wanted).cloned();
        // A copy may change no more than its original.
        let sandbox_limit = open.as_ref().map_or(SandboxMode::Off, |open| {
            open.backing.runtime().workspace().sandbox_mode()
        });
        let file = match open.map(|session| session.session().session_file()) {
            Some(Some(file)) if file.is_file() => file,
            Some(file) => {
                let message = match file {
                    Some(_) => "the session has no messages; send one before you fork it",
                    None => {
                        "the session is not stored, because pi was started with --no-session, and cannot be forked"
                    }
                };
                return Err(JsonRpcError::invalid_request(message));
            }
            None => {
                let stored = self.stored(None).await;
                let found = stored.into_iter().find(|info| info.id == wanted);
                let found = found.ok_or_else(|| error::unknown_session(wanted))?;
                found.path.clone()
            }
        };
        let parts = self.client_parts(&setup);
        let cwd = setup.cwd.clone();
        let options = SessionOptions {
            session: SessionChoice::Fork {
                source: file.to_string_lossy().into_owned(),
                id: None,
            },
            sandbox_limit,
            ..self.session_options(setup, &parts)?
        };
        self.open(id, &cwd, parts, options).await
    }

    /// Returns the stored sessions of a directory or of all, newest first.
    async fn stored(&self, cwd: Option<&std::path::Path>) -> Vec<Arc<SessionInfo>> {
        let host = self.options.host.clone();
        let session_dir = self.options.session_dir.clone();
        let directory = cwd.unwrap_or(&self.options.cwd).to_owned();
        let scopes: &[SessionScope] = match cwd {
            Some(_) => &[SessionScope::Project],
            None => &[SessionScope::All, SessionScope::Project],
        };
        let reading = move || {
            let catalog = SessionCatalog::for_directory(&host, &directory, session_dir.as_deref());
            let mut sessions: Vec<Arc<SessionInfo>> = Vec::new();
            for scope in scopes {
                for info in catalog.list_titles(*scope) {
                    if !sessions.iter().any(|known| known.path == info.path) {
                        sessions.push(info);
                    }
                }
            }
            pi_protocol::sort_by_key(&mut sessions, |info| std::cmp::Reverse(info.modified_ms));
            sessions
        };
        tokio::task::spawn_blocking(reading)
            .await
            .unwrap_or_default()
    }

    async fn list(&self, params: &Value) -> Result<Value, JsonRpcError> {
        let cwd = match params::optional_text(params, "cwd")? {
            Some(_) => Some(params::absolute_path(params, "cwd")?),
            None => None,
        };
        let start = match params::optional_text(params, "cursor")? {
            Some(cursor) => {
                let start = cursor.parse::<usize>().ok();
                start.ok_or_else(|| {
                    JsonRpcError::invalid_params("cursor", "is not one of this agent")
                })?
            }
            None => 0,
        };
        let stored = self.stored(cwd.as_deref()).await;
        // Only sessions with a directory can be opened.
        let usable: Vec<_> = stored.iter().filter(|info| !info.cwd.is_empty()).collect();
        let page = usable.iter().skip(start).take(PAGE).map(|info| {
            json!({
                "sessionId": info.id,
                "cwd": info.cwd,
                "title": info.title().map(|title| single_line(title, 120)),
                "updatedAt": pi_protocol::timestamp::to_iso(info.modified_ms),
            })
        });
        let mut result = json!({ "sessions": page.collect::<Vec<_>>() });
        let next = start.saturating_add(PAGE);
        if let (true, Some(result)) = (next < usable.len(), result.as_object_mut()) {
            result.insert("nextCursor".to_owned(), next.to_string().into());
        }
        Ok(result)
    }

    /// Deletes a session; one that does not exist is already deleted.
    async fn delete(&self, params: &Value) -> Result<Value, JsonRpcError> {
        let id = params::text(params, "sessionId")?;
        let open = self.state().sessions.remove(id);
        if let Some(session) = open {
            session.close(&self.options.host).await;
        }
        let stored = self.stored(None).await;
        let Some(info) = stored.into_iter().find(|info| info.id == id) else {
            return Ok(json!({}));
        };
        let (host, session_dir) = (self.options.host.clone(), self.options.session_dir.clone());
        let cwd = self.options.cwd.clone();
        let deleting = move || {
            let catalog = SessionCatalog::for_directory(&host, &cwd, session_dir.as_deref());
            catalog
                .delete(&info.path)
                .map_err(|error| error.to_string())
        };
        let deleted = tokio::task::spawn_blocking(deleting).await;
        match deleted {
            Ok(Ok(())) => Ok(json!({})),
            Ok(Err(problem)) => Err(JsonRpcError::internal(problem)),
            Err(error) => Err(JsonRpcError::internal(error.to_string())),
        }
    }

    /// Closes the sessions of the client, which is gone.
    pub(crate) async fn close(&self) {
        self.options.trust.disconnect();
        let sessions = std::mem::take(&mut self.state().sessions);
        let closing = sessions
            .values()
            .map(|session| session.close(&self.options.host));
        futures_util::future::join_all(closing).await;
        self.options.host.shutdown().await;
    }
}

/// Credentials are shared with the terminal; whether one is missing shows when a prompt is sent.
fn authenticate(params: &Value) -> Result<Value, JsonRpcError> {
    match params::text(params, "methodId")? {
        SIGN_IN_METHOD => Ok(json!({})),
        _ => Err(JsonRpcError::invalid_params(
            "methodId",
            "is not a sign-in method of this agent",
        )),
    }
}

fn start_error(error: &StartError) -> JsonRpcError {
    let mut message = pi_host::describe_error(error);
    for hint in error.hints() {
        message.push('\n');
        message.push_str(&hint);
    }
    JsonRpcError::internal(message)
}
