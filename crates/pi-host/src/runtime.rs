//! The current session of a program, and how it is replaced.
//!
//! [`Host::start`] turns options into a session that accepts prompts. The other
//! operations replace the session: everything bound to the old session's directory ends before the
//! new one starts, and there is never more than one. Operations within a session belong to
//! [`AgentSession`].

mod error;
mod fallback;
mod replace;
mod session_options;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use pi_config::{
    CommandInfo, ConfigDiagnostic, DiagnosticLevel, ProjectChanges, Resources,
    run_startup_migrations, session_directory,
};
use pi_core::{ToolRegistry, ToolSource};
use pi_extensions::SessionExtensions;
use pi_protocol::{Model, ThinkingLevel};
use pi_providers::{NetworkAccess, RefreshOptions, ScopedModel};
use pi_session::{OpenReport, Session};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use error::{ReplaceError, StartError, no_model_hints};
pub use replace::ReplaceOutcome;
pub use session_options::{ParticipantsFactory, SessionOptions, StartNotification};

use crate::extension_adapter;
use crate::host::Host;
use crate::model_choice::{ModelChoice, ModelChoiceError, PriorChoice, choose_model};
use crate::participants::{Participants, SessionShutdown, SessionStart, StartReason};
use crate::session::{AgentSession, SessionParts};
use crate::session_choice::SessionResolver;
use crate::workspace::{
    ProjectProbe, Workspace, WorkspaceOptions, describe_changes, find_project_changes,
    remember_changes,
};

/// Time limit for refreshing the model catalogs of all providers together.
const CATALOG_TIMEOUT: Duration = Duration::from_secs(15);

/// The current session of a program. Handles are cheap to clone and refer to the same runtime.
#[derive(Clone)]
pub struct SessionRuntime(Arc<RuntimeInner>);

struct RuntimeInner {
    host: Host,
    options: SessionOptions,
    workspace: WorkspaceOptions,
    /// Held while the session is being replaced.
    replacing: tokio::sync::Mutex<()>,
    current: Mutex<CurrentSession>,
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
        let choice = InitialModel::Resolve;
        let mut current = build(&host, &options, loaded, session, choice, diagnostics).await?;
        deduplicate(&mut current.diagnostics);
        let sessions = watch::Sender::new(current.session.clone());
        let runtime = Self(Arc::new(RuntimeInner {
            host,
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
        let deferred_start = &self.0.deferred_start;
        deferred_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn session(&self) -> AgentSession {
        self.current().session.clone()
    }

    /// Returns whether the runtime was shut down.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
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
    /// The check is informational and reads up to a megabyte in the background, so it can run after
    /// the first frame. It starts with the call, and [`shutdown`](Self::shutdown)
    /// waits for it: the project's state is recorded even if the result is never awaited. Changes
    /// count as reported once the future resolves, and a second check does not find them. Nothing
    /// is checked with `--approve`, which trusts the files in their current state.
    pub fn project_changes(&self) -> impl Future<Output = Option<ConfigDiagnostic>> + Send + use<> {
        let workspace = self.workspace();
        let checking = self.check_project(&workspace);
        let runtime = self.clone();
        async move {
            let changes = checking?.await.ok().flatten()?;
            let found = describe_changes(&changes, &workspace.cwd);
            let saving = move || remember_changes(&changes);
            let saving = runtime.0.background.spawn_blocking(saving);
            saving.await.ok();
            let mut current = runtime.current();
            if current.workspace.cwd == workspace.cwd {
                current.diagnostics.push(found.clone());
            }
            Some(found)
        }
    }

    fn check_project(&self, workspace: &Workspace) -> Option<JoinHandle<Option<ProjectChanges>>> {
        let options = self.0.host.options();
        let flag = options.trust.as_ref();
        let is_given = flag
            .and_then(|flag| flag.decision(&workspace.cwd))
            .is_some()
            || options.settings.is_some();
        if is_given || !workspace.project.is_trusted() {
            return None;
        }
        let (agent_dir, cwd) = (workspace.agent_dir.clone(), workspace.cwd.clone());
        let checking = move || find_project_changes(&agent_dir, &cwd);
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
        let extensions = self.current().extensions.clone();
        let mut commands = extensions.map_or_else(Vec::new, |extensions| extensions.commands());
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
        // Without a `session_start`, hooks get no `session_shutdown` either.
        let was_deferred = self.deferred_start().take().is_some();
        if !was_deferred {
            session.participants().session_shutdown(shutdown).await;
        }
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
        let current = &self.0.current;
        current.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Opens the chosen session before any other project file is read.
fn open_session(
    host: &Host,
    options: &SessionOptions,
    probe: &ProjectProbe,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Result<Session, StartError> {
    let resolver = SessionResolver {
        agent_dir: host.options().agent_dir.clone(),
        chosen: chosen_directory(host, options, probe),
        cwd: options.cwd.clone(),
        cwd_override: options.cwd_override.clone(),
        env: host.env().clone(),
    };
    let mut session = resolver.open(options.session.clone(), diagnostics)?;
    check_cwd(&session, &options.cwd)?;
    diagnostics.extend(open_warnings(&session));
    if let Some(name) = &options.name {
        let name = name.split(['\r', '\n']).filter(|part| !part.is_empty());
        let name = name.collect::<Vec<_>>().join(" ");
        match name.trim() {
            "" => return Err(StartError::BlankName),
            name => session.set_name(name)?,
        };
    }
    Ok(session)
}

/// Returns the configured session directory. Project settings apply only if the project is trusted,
/// and the user is not prompted here: the session may belong to another project.
fn chosen_directory(
    host: &Host,
    options: &SessionOptions,
    probe: &ProjectProbe,
) -> Option<PathBuf> {
    session_directory(
        options.session_dir.as_deref(),
        host.env(),
        &probe.settings().settings(),
        &options.cwd,
    )
}

fn check_cwd(session: &Session, fallback_cwd: &Path) -> Result<(), StartError> {
    if session.path().is_some() && session.check_cwd().is_err() {
        return Err(StartError::MissingCwd {
            cwd: session.cwd().to_owned(),
            session_file: session.path().map(Path::to_owned).unwrap_or_default(),
            instead: fallback_cwd.to_owned(),
        });
    }
    Ok(())
}

/// Returns warnings about the session file for the user.
fn open_warnings(session: &Session) -> Vec<ConfigDiagnostic> {
    let OpenReport {
        torn_tail,
        locked_elsewhere,
        ..
    } = session.open_report();
    let warnings = [
        (
            *torn_tail,
            "the last record of the session is incomplete and was skipped",
        ),
        (
            *locked_elsewhere,
            "the session is open in another pi process; close it there before you continue here",
        ),
    ];
    warnings
        .into_iter()
        .filter(|(applies, _)| *applies)
        .map(|(_, message)| ConfigDiagnostic {
            level: DiagnosticLevel::Warning,
            message: message.to_owned(),
            path: session.path().map(Path::to_owned),
        })
        .collect()
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

/// How the model of a session is chosen.
#[derive(Clone)]
enum InitialModel {
    /// From flags, the session and the settings.
    Resolve,
    /// Keep the values of the session before a reload.
    Keep {
        model: Option<Arc<Model>>,
        thinking_level: ThinkingLevel,
        scoped_models: Vec<ScopedModel>,
    },
}

impl InitialModel {
    fn keep(session: &AgentSession) -> Self {
        Self::Keep {
            model: session.selection().model(),
            thinking_level: session.selection().thinking_level(),
            scoped_models: session.selection().scoped_models(),
        }
    }
}

/// Builds an [`AgentSession`] from a stored session.
async fn build(
    host: &Host,
    options: &SessionOptions,
    workspace: Arc<Workspace>,
    session: Session,
    choice: InitialModel,
    mut diagnostics: Vec<ConfigDiagnostic>,
) -> Result<CurrentSession, StartError> {
    diagnostics.extend(workspace.diagnostics.iter().cloned());
    diagnostics.extend(workspace.resources.extension_errors.iter().cloned());
    let environment = extension_adapter::environment(&workspace);
    let extensions =
        SessionExtensions::load(environment, &options.extensions, &mut diagnostics).await;
    let mut choice = match choice {
        InitialModel::Resolve => choose(host, options, &workspace, &session)
            .await
            .map_err(|error| error.after(&diagnostics))?,
        InitialModel::Keep {
            model,
            thinking_level,
            scoped_models,
        } => ModelChoice {
            model,
            thinking_level,
            scoped_models,
            ..ModelChoice::default()
        },
    };
    diagnostics.append(&mut choice.diagnostics);
    let mut sources: Vec<Arc<dyn ToolSource>> = Vec::new();
    if let Some(extensions) = &extensions {
        let tools = extension_adapter::tools(extensions);
        sources.push(Arc::new(ToolRegistry::new(tools)));
    }
    sources.extend(options.tool_sources.iter().cloned());
    let tools = workspace.toolset(
        options.tools.clone(),
        sources,
        &host.options().child_environment,
    );
    let extension_participants = extensions
        .as_ref()
        .map_or_else(Participants::default, extension_adapter::participants);
    let program = options.participants.create_participants(&workspace).await;
    let participants = extension_participants.then(program);
    let directory = session
        .path()
        .is_some()
        .then(|| session.directory().to_owned());
    let session = AgentSession::new(SessionParts {
        session,
        settings: workspace.settings.clone(),
        models: workspace.models.clone(),
        model: choice.model,
        thinking_level: choice.thinking_level,
        scoped_models: choice.scoped_models,
        tools,
        prompt: workspace.prompt(),
        resources: Arc::clone(&workspace.resources) as _,
        cwd: workspace.cwd.clone(),
        env: workspace.env.clone(),
        participants,
    })?;
    match (&extensions, options.extensions.ui.screen()) {
        (Some(extensions), _) => extensions.bind(Arc::new(session.clone())),
        (None, Some(screen)) => screen.connect(None),
        (None, None) => {}
    }
    Ok(CurrentSession {
        extensions,
        session,
        directory,
        workspace,
        diagnostics,
        model_fallback: choice.fallback,
    })
}

async fn choose(
    host: &Host,
    options: &SessionOptions,
    workspace: &Workspace,
    session: &Session,
) -> Result<ModelChoice, StartError> {
    let prior = PriorChoice::from_session(session)?;
    let flags = &options.models;
    let settings = workspace.settings.settings();
    let choice = choose_model(&workspace.models, &settings, flags, prior.as_ref()).await?;
    if let Some(key) = &flags.api_key {
        let model = choice.model.as_ref();
        let provider = &model.ok_or(ModelChoiceError::KeyWithoutModel)?.provider;
        host.keys().set(provider, key.clone());
        let refresh = RefreshOptions {
            providers: Some(vec![provider.clone()]),
            ..RefreshOptions::default()
        };
        workspace.models.refresh(refresh).await;
    }
    Ok(choice)
}
