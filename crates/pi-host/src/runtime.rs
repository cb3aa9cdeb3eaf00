//! The current session of a program, and how it is replaced.
//!
//! [`Host::start`] turns options into a session that accepts prompts. The other
//! operations replace the session: everything bound to the old session's directory ends before the
//! new one starts, and there is never more than one. Operations within a session belong to
//! [`AgentSession`].

mod build;
mod error;
mod extension_costs;
mod fallback;
mod open;
mod replace;
mod sandbox_mode;
mod session_options;

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pi_config::{Resources, run_startup_migrations};
use pi_extensions::{ExtensionUi, HookInterrupt, SessionExtensions};
use pi_mcp::McpServers;
use pi_protocol::settings::SandboxMode;
use pi_protocol::{CommandInfo, ConfigDiagnostic};
use pi_providers::{NetworkAccess, RefreshOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::{ReplaceError, StartError, no_model_hints};
pub use extension_costs::extension_costs;
pub use replace::ReplaceOutcome;
pub use sandbox_mode::{sandbox_modes, set_sandbox_mode};
pub use session_options::{ParticipantsFactory, SessionOptions, StartNotification};

use build::{InitialModel, build};
use open::open_session;

use crate::connection::ClientUi;
use crate::host::Host;
use crate::live;
use crate::native_extensions::NativeExtensions;
use crate::participants::{SessionShutdown, SessionStart, StartReason};
use crate::session::AgentSession;
use crate::workspace::{
    ProjectProbe, Workspace, WorkspaceOptions, describe_changes, find_project_changes,
    remember_changes,
};
use pi_search::SessionSearch;

/// Time limit for refreshing the model catalogs of all providers together.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(15);

/// The current session of a program. Handles are cheap to clone and refer to the same runtime.
#[derive(Clone)]
pub struct SessionRuntime(Arc<RuntimeInner>);

/// Returns the search over the stored sessions of the user.
pub fn session_search(runtime: &SessionRuntime) -> SessionSearch {
    let settings = runtime.workspace().settings.settings();
    let host = runtime.host();
    host.session_search(runtime.session().cwd(), &settings)
}

struct RuntimeInner {
    host: Host,
    options: SessionOptions,
    workspace: WorkspaceOptions,
    /// Held while the session is being replaced.
    replacing: tokio::sync::Mutex<()>,
    current: Mutex<CurrentSession>,
    sandbox_limit: Mutex<SandboxMode>,
    /// The start of the first session, until the front end is ready for `session_start`.
    deferred_start: Mutex<Option<SessionStart>>,
    sessions: watch::Sender<AgentSession>,
    background: TaskTracker,
    ended: CancellationToken,
}

/// The current session and the components it was built from.
struct CurrentSession {
    session: AgentSession,
    /// The directory of the session's file; `None` for a session in memory.
    directory: Option<PathBuf>,
    workspace: Arc<Workspace>,
    diagnostics: Vec<ConfigDiagnostic>,
    model_fallback: Option<String>,
    /// `None` if there are no extension files.
    extensions: Option<SessionExtensions>,
    native: NativeExtensions,
}

/// A weak handle to the runtime.
#[derive(Clone)]
pub(crate) struct WeakRuntime(Weak<RuntimeInner>);

impl WeakRuntime {
    /// Returns the runtime if it still exists.
    pub(crate) fn upgrade(&self) -> Option<SessionRuntime> {
        self.0.upgrade().map(SessionRuntime)
    }
}

/// Returns the MCP servers of the current session; `None` if they are disabled.
pub(crate) fn mcp_servers(runtime: &SessionRuntime) -> Option<McpServers> {
    runtime.current().native.mcp()
}

/// Returns the front end of extensions.
pub(crate) fn extension_ui(runtime: &SessionRuntime) -> &dyn ExtensionUi {
    &*runtime.0.options.extensions.ui
}

/// Returns what shows notices of extensions to clients, if the session was opened with it.
pub(crate) fn client_ui(runtime: &SessionRuntime) -> Option<ClientUi> {
    runtime.0.options.client_ui.clone()
}

impl SessionRuntime {
    /// Opens the chosen session and everything it needs.
    pub(crate) async fn start(host: Host, options: SessionOptions) -> Result<Self, StartError> {
        let mut workspace = options.workspace_options();
        let mut diagnostics = run_startup_migrations(&host.options().agent_dir);
        let mut probe = ProjectProbe::read(&host, &options.cwd);
        let session = open_session(&host, &options, &probe, &mut diagnostics)?;
        if session.cwd() != options.cwd {
            workspace.resources = options.resources_for_other_directory();
            probe = ProjectProbe::read(&host, session.cwd());
        }
        let start = SessionStart {
            reason: StartReason::Startup,
            previous_session_file: None,
        };
        let workspaces = host.workspaces();
        let loaded = workspaces.get(&host, &workspace, probe).await;
        let loaded = Workspace::limited(loaded, options.sandbox_limit);
        let choice = InitialModel::Resolve;
        let mut current = build(&host, &options, loaded, session, choice, diagnostics).await?;
        deduplicate(&mut current.diagnostics);
        let sessions = watch::Sender::new(current.session.clone());
        let runtime = Self(Arc::new(RuntimeInner {
            host,
            sandbox_limit: Mutex::new(options.sandbox_limit),
            options,
            workspace,
            replacing: tokio::sync::Mutex::default(),
            current: Mutex::new(current),
            deferred_start: Mutex::default(),
            sessions,
            background: TaskTracker::new(),
            ended: CancellationToken::new(),
        }));
        runtime.attach_extensions();
        if runtime.0.host.options().live {
            let listening =
                live::listen(WeakRuntime(Arc::downgrade(&runtime.0)), runtime.sessions());
            let listening = runtime.0.ended.clone().run_until_cancelled_owned(listening);
            runtime.0.background.spawn(listening);
        }
        match runtime.0.options.session_start {
            StartNotification::Immediate => {
                runtime.session().participants().session_start(start).await;
            }
            StartNotification::Deferred => *runtime.deferred_start() = Some(start),
        }
        Ok(runtime)
    }

    /// Fires `session_start` for the first session, for front ends that chose
    /// [`StartNotification::Deferred`].
    ///
    /// Hooks may open dialogs during this call, so the front end must keep
    /// handling them. A second call does nothing.
    pub async fn notify_session_start(&self) {
        let start = self.deferred_start().take();
        if let Some(start) = start {
            self.session().participants().session_start(start).await;
        }
    }

    fn deferred_start(&self) -> MutexGuard<'_, Option<SessionStart>> {
        self.0.deferred_start.lock()
    }

    pub fn session(&self) -> AgentSession {
        self.current().session.clone()
    }

    /// Returns a token that is canceled when the runtime is shut down.
    pub(crate) fn ended(&self) -> CancellationToken {
        self.0.ended.clone()
    }

    /// Returns the host that this session belongs to.
    pub fn host(&self) -> &Host {
        &self.0.host
    }

    /// Returns the workspace of the current session.
    pub fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(&self.current().workspace)
    }

    /// Returns problems the user should know about, found while the current session was built.
    pub fn diagnostics(&self) -> Vec<ConfigDiagnostic> {
        self.current().diagnostics.clone()
    }

    /// Finds files of the current session's project that are new or changed since its last use, if
    /// it was trusted then. The result is also added to the [diagnostics](Self::diagnostics).
    ///
    /// Code that changed is not reported here, but decided about before it is loaded. The check runs in
    /// the background, after the first frame. It starts with the call, and [`shutdown`](Self::shutdown)
    /// waits for it: the project's state is recorded even if the result is never awaited. Changes
    /// count as reported once the future resolves, and a second check does not find them. Nothing
    /// is checked with `--approve`, which trusts the files in their current state.
    pub fn project_changes(&self) -> impl Future<Output = Option<ConfigDiagnostic>> + Send + use<> {
        let workspace = self.workspace();
        let checking = self.check_project(&workspace);
        let runtime = self.clone();
        async move {
            let found = checking?.await.ok().flatten()?;
            let reported = Arc::clone(&workspace);
            let saving = move || reported.project_state.get().map(remember_changes);
            let saving = runtime.0.background.spawn_blocking(saving);
            saving.await.ok();
            let mut current = runtime.current();
            if current.workspace.cwd == workspace.cwd {
                current.diagnostics.push(found.clone());
            }
            Some(found)
        }
    }

    fn check_project(
        &self,
        workspace: &Arc<Workspace>,
    ) -> Option<JoinHandle<Option<ConfigDiagnostic>>> {
        let options = self.0.host.options();
        let flag = options.trust.as_ref();
        let is_given = flag
            .and_then(|flag| flag.decision(&workspace.cwd))
            .is_some()
            || options.settings.is_some();
        if is_given || !workspace.project.is_trusted() {
            return None;
        }
        let workspace = Arc::clone(workspace);
        let checking = move || {
            let changes = find_project_changes(&workspace)?;
            Some(describe_changes(changes, &workspace.cwd))
        };
        Some(self.0.background.spawn_blocking(checking))
    }

    /// Returns why the model differs from the one the session last used.
    pub fn model_fallback(&self) -> Option<String> {
        self.current().model_fallback.clone()
    }

    /// Watches the current session; it changes with every replacement.
    pub fn sessions(&self) -> watch::Receiver<AgentSession> {
        self.0.sessions.subscribe()
    }

    /// Lists the slash commands of extensions and resources.
    pub fn commands(&self) -> Vec<CommandInfo> {
        let (extensions, native) = {
            let current = self.current();
            (current.extensions.clone(), current.native.commands())
        };
        let mut commands = extensions.map_or_else(Vec::new, |extensions| extensions.commands());
        commands.extend(native);
        commands.extend(self.resource_commands());
        commands
    }

    /// Lists the slash commands of resources.
    pub(crate) fn resource_commands(&self) -> Vec<CommandInfo> {
        self.workspace().resources.commands()
    }

    /// Adds resources found by extensions; a resource with an existing name is skipped.
    pub(crate) fn extend_resources(&self, more: Resources) {
        let mut current = self.current();
        let mut workspace = Workspace::clone(&current.workspace);
        let mut resources = Resources::clone(&workspace.resources);
        add_missing(&mut resources.skills, more.skills, |one, other| {
            one.name == other.name
        });
        add_missing(
            &mut resources.prompt_templates,
            more.prompt_templates,
            |one, other| one.name == other.name,
        );
        add_missing(&mut resources.themes, more.themes, |one, other| {
            one.name == other.name
        });
        resources.diagnostics.extend(more.diagnostics);
        workspace.resources = Arc::new(resources);
        let expansion = Arc::clone(&workspace.resources) as _;
        current
            .session
            .tools()
            .set_resources(workspace.prompt(), expansion);
        current.workspace = Arc::new(workspace);
    }

    /// Gives the extensions of the current session access to the runtime.
    fn attach_extensions(&self) {
        let extensions = self.current().extensions.clone();
        if let Some(extensions) = extensions {
            extensions.attach(Box::new(WeakRuntime(Arc::downgrade(&self.0))));
        }
    }

    /// Updates the model catalogs from their providers in the background.
    pub fn refresh_catalogs(&self) {
        let models = self.workspace().models.clone();
        let cancel = self.0.ended.child_token();
        self.0.background.spawn(async move {
            let refresh = models.refresh(RefreshOptions {
                network: NetworkAccess::Allowed,
                cancel: cancel.clone(),
                ..RefreshOptions::default()
            });
            match tokio::time::timeout(CATALOG_TIMEOUT, refresh).await {
                Ok(report) => {
                    for (provider, error) in report.errors {
                        tracing::debug!(provider, %error, "cannot refresh model catalog");
                    }
                }
                Err(_) => tracing::debug!("refreshing model catalogs timed out"),
            }
        });
    }

    /// Shuts down the current session and waits for pending writes. A second call does nothing.
    pub async fn shutdown(&self) {
        // A hook that does not respond may hold up a replacement.
        self.session()
            .participants()
            .interrupt_hooks(HookInterrupt::Close);
        let _guard = self.0.replacing.lock().await;
        if self.0.ended.is_cancelled() {
            return;
        }
        self.0.ended.cancel();
        let session = self.session();
        let shutdown = SessionShutdown {
            next: None,
            target_session_file: None,
        };
        drop(self.deferred_start().take());
        session.participants().session_shutdown(shutdown).await;
        session.dispose().await;
        self.0.background.close();
        self.0.background.wait().await;
        self.workspace()
            .models
            .authenticator()
            .wait_for_refreshes()
            .await;
    }

    fn current(&self) -> MutexGuard<'_, CurrentSession> {
        self.0.current.lock()
    }
}

impl std::fmt::Debug for SessionRuntime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let session = self.session();
        formatter
            .debug_struct("SessionRuntime")
            .field("session", &session)
            .finish_non_exhaustive()
    }
}

/// Adds the items that are not in the list yet.
fn add_missing<Item>(
    known: &mut Vec<Item>,
    more: Vec<Item>,
    is_same: impl Fn(&Item, &Item) -> bool,
) {
    for item in more {
        if !known.iter().any(|one| is_same(one, &item)) {
            known.push(item);
        }
    }
}

fn deduplicate(diagnostics: &mut Vec<ConfigDiagnostic>) {
    let mut seen: Vec<ConfigDiagnostic> = Vec::new();
    diagnostics.retain(|diagnostic| {
        let is_new = !seen.contains(diagnostic);
        if is_new {
            seen.push(diagnostic.clone());
        }
        is_new
    });
}
