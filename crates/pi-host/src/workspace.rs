//! What belongs to a working directory: settings, trust, resources, models.
//!
//! The load order enforces trust: first the user's settings, then the trust decision, and only then
//! anything from the project. A session in another directory gets its own workspace.

mod project_changes;
mod project_probe;
mod project_trust;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use pi_config::{
    AgentDir, AuthFile, BuiltinExtension, BuiltinExtensions, MissingPackage, ModelsStoreFile,
    PackageAddress, ProjectChanges, ResourceFlags, ResourceRequest, Resources, SettingsStore,
    check_dir_permissions, load_resources, read_models_file, run_project_migrations, shell_path,
};
use pi_context::{
    DocsPaths, ProjectInstructions, PromptSkill, SystemPromptParts, find_documentation,
    shell_command,
};
use pi_core::{Environment, ToolSource};
use pi_env::{Env, env_vars as ai_vars};
use pi_protocol::settings::{Checked, SandboxMode};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};
use pi_providers::{
    Models, ModelsOptions, ProviderConfig, RefreshOptions, Registration, Telemetry,
};
use pi_sandbox::{Roots, Sandbox, SandboxError};
use pi_tools::{BufferedFiles, FallbackCommands, LocalShell, OpenBuffers, local_environment};

use crate::host::{Host, TrustResolver, resolve_trust};
use crate::native_extensions::{ConfinableEnvironment, NativeExtensions};
use crate::toolset::{ToolSelection, Toolset, ToolsetOptions, command_variables};

pub(crate) use project_changes::{
    describe_changes, find_project_changes, remember_changes, remember_state,
};
pub(crate) use project_probe::ProjectProbe;
pub use project_probe::settings_before_trust;
pub(crate) use shared::SharedWorkspaces;

/// Root directory of the installed assets.
const PACKAGE_DIR: &str = "PI_PACKAGE_DIR";

/// Whether requests identify pi to providers: `1`, `true` or `yes`; overrides the settings.
const TELEMETRY: &str = "PI_TELEMETRY";

/// Disables checks for newer versions.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Installs packages that are configured but missing.
pub trait MissingPackageInstaller: Send + Sync {
    /// Installs the packages and returns diagnostics for those that failed.
    fn install_missing<'a>(
        &'a self,
        missing: &'a [MissingPackage],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, Vec<ConfigDiagnostic>>;

    /// Updates installed packages of the command line and returns whether any may have changed. A package that
    /// cannot be updated is kept.
    fn refresh<'a>(
        &'a self,
        packages: &'a [PackageAddress],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, bool>;
}

/// How a workspace is loaded.
#[derive(Clone, Default)]
pub struct WorkspaceOptions {
    pub resources: ResourceFlags,
    /// May decide about a project before the user is prompted.
    pub trust_resolver: Option<Arc<dyn TrustResolver>>,
}

/// What belongs to a working directory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Workspace {
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    /// Commands for the model's shell, on machines that do not have them.
    pub(crate) fallback_commands: Option<Arc<FallbackCommands>>,
    /// Whether the project's files are used.
    pub project: ProjectAccess,
    /// The state of a trusted project before its code was loaded, which is what was trusted.
    pub(crate) project_state: Arc<OnceLock<ProjectChanges>>,
    pub settings: SettingsStore,
    pub models: Models,
    /// Skills, templates, context files and other resources, with their diagnostics. Those are
    /// meant for interactive display, not for the output of a script.
    pub resources: Arc<Resources>,
    /// Problems to report in every front end.
    pub diagnostics: Vec<ConfigDiagnostic>,
    /// What the session allows at most, whatever the settings allow.
    sandbox_limit: SandboxMode,
    /// Started when it is first used.
    sandbox: Arc<OnceLock<WorkspaceSandbox>>,
}

/// The sandbox of a workspace; `None` if it has none.
type WorkspaceSandbox = Result<Option<Arc<Sandbox>>, Arc<SandboxError>>;

impl Workspace {
    /// Loads the workspace of a directory. Never fails: problems in the user's files are reported in
    /// `diagnostics`.
    pub async fn load(host: &Host, options: &WorkspaceOptions, cwd: &Path) -> Self {
        Self::load_probed(host, options, ProjectProbe::read(host, cwd)).await
    }

    /// Loads the workspace of a directory that was already probed.
    pub(crate) fn load_probed<'a>(
        host: &'a Host,
        workspace: &'a WorkspaceOptions,
        probe: ProjectProbe,
    ) -> BoxFuture<'a, Self> {
        Box::pin(async move {
            let options = host.options();
            let mut diagnostics = Vec::new();
            if options.settings.is_none() {
                diagnostics.extend(check_dir_permissions(&options.agent_dir));
            }
            let project = resolve_trust(host, workspace, &probe, &mut diagnostics).await;
            let ProjectProbe {
                cwd,
                settings,
                mut state,
                ..
            } = probe;
            settings.set_project_access(project);
            if project.is_trusted() && options.settings.is_none() {
                diagnostics.extend(run_project_migrations(&cwd));
            }
            diagnostics.extend(settings.take_diagnostics());
            let (resources, were_installed) = find_resources(
                host,
                &ResourceRequest {
                    agent_dir: options.agent_dir.clone(),
                    cwd: cwd.clone(),
                    env: options.env.clone(),
                    settings: settings.clone(),
                    project,
                    flags: workspace.resources.clone(),
                },
                &mut diagnostics,
            )
            .await;
            if were_installed && project.is_trusted() && state.get().is_some() {
                // The packages are those of the project's settings and lock file, which were compared.
                state = Arc::default();
                remember_state(&state, &options.agent_dir, &cwd);
            }
            let models = match &options.model_collection {
                Some(models) => models.clone(),
                None => {
                    let extensions = &resources.builtin_extensions;
                    build_models(host, &settings, extensions, &mut diagnostics).await
                }
            };
            Self {
                agent_dir: options.agent_dir.clone(),
                cwd,
                env: options.env.clone(),
                fallback_commands: options.fallback_commands.clone(),
                project,
                project_state: state,
                settings,
                models,
                resources: Arc::new(resources),
                diagnostics,
                sandbox_limit: SandboxMode::Off,
                sandbox: Arc::default(),
            }
        })
    }

    /// Returns a workspace with a sandbox that allows no more than a mode.
    pub(crate) fn limited(workspace: Arc<Self>, limit: SandboxMode) -> Arc<Self> {
        if workspace.sandbox_limit == limit {
            return workspace;
        }
        Arc::new(Self {
            sandbox_limit: limit,
            sandbox: Arc::default(),
            ..Self::clone(&workspace)
        })
    }

    /// Returns the mode that the settings choose; the strictest one if they are invalid.
    pub(crate) fn configured_sandbox(&self) -> SandboxMode {
        match &self.settings.settings().sandbox.mode {
            None => SandboxMode::Off,
            Some(Checked::Valid(mode)) => *mode,
            Some(Checked::Invalid(_)) => SandboxMode::ReadOnly,
        }
    }

    /// Returns the mode of [`Workspace::sandbox`].
    pub fn sandbox_mode(&self) -> SandboxMode {
        self.configured_sandbox().max(self.sandbox_limit)
    }

    /// Returns the sandbox that the settings require. A session is not started without it.
    pub fn sandbox(&self) -> WorkspaceSandbox {
        let start = || {
            let mut sandbox = self.settings.settings().sandbox.clone();
            if self.sandbox_limit > self.configured_sandbox() {
                sandbox.mode = Some(self.sandbox_limit.into());
            }
            if sandbox.is_off() {
                return Ok(None);
            }
            let roots = Roots::find(&self.cwd, self.agent_dir.path(), &self.env);
            let started = Sandbox::start(&sandbox, &roots);
            started
                .map(|sandbox| sandbox.map(Arc::new))
                .map_err(Arc::new)
        };
        self.sandbox.get_or_init(start).clone()
    }

    /// Starts the sandbox in which commands are tried. Its mode is `try`, whatever the settings say.
    pub fn try_sandbox(&self) -> Result<Arc<Sandbox>, Arc<SandboxError>> {
        match self.sandbox_mode() {
            SandboxMode::Off | SandboxMode::Workspace => {}
            SandboxMode::Try => {
                let started = self.sandbox()?;
                return started.ok_or_else(|| Arc::new(SandboxError::NothingToKeep));
            }
            SandboxMode::ReadOnly => return Err(Arc::new(SandboxError::NothingToKeep)),
        }
        let mut settings = self.settings.settings().sandbox.clone();
        settings.mode = Some(SandboxMode::Try.into());
        let roots = Roots::find(&self.cwd, self.agent_dir.path(), &self.env);
        let started = Sandbox::start(&settings, &roots).map_err(Arc::new)?;
        let started = started.ok_or_else(|| Arc::new(SandboxError::NothingToKeep))?;
        Ok(Arc::new(started))
    }

    /// Builds the tools for a session in this directory, whose sandbox has started. They read open buffers instead of files
    /// on disk, through the wrappers of extensions.
    pub(crate) fn session_toolset(
        &self,
        selection: ToolSelection,
        sources: Vec<Arc<dyn ToolSource>>,
        variables: &[(String, String)],
        (remote, buffers): (Option<Arc<Environment>>, Option<Arc<dyn OpenBuffers>>),
        native: &NativeExtensions,
    ) -> Toolset {
        let settings = self.settings.settings();
        let toolset = |environment| {
            Toolset::new(ToolsetOptions {
                cwd: self.cwd.clone(),
                environment,
                command_prefix: settings.shell_command_prefix.clone(),
                resize_images: settings.images.auto_resize(),
                selection,
                default_tools: settings.default_tools.clone(),
                sources,
            })
        };
        if let Some(remote) = remote {
            return toolset(remote);
        }
        let sandbox = self.sandbox().ok().flatten();
        let shell = shell_path(&settings, &self.env);
        let shell = shell
            .map_or_else(LocalShell::default, LocalShell::at)
            .with_fallbacks(self.fallback_commands.clone());
        let mut environment = Environment {
            vars: command_variables(std::env::vars_os(), variables, &self.agent_dir.bin()),
            home: self.env.home_dir(),
            ..local_environment()
        };
        if let Some(buffers) = buffers {
            let local = environment.files;
            environment.files = Arc::new(BufferedFiles { local, buffers });
        }
        environment.files = native.wrap_files(environment.files);
        let confinable = ConfinableEnvironment { environment, shell };
        let environment = native
            .wrap_environment(&confinable)
            .unwrap_or_else(|| confinable.confined(sandbox.as_ref()));
        toolset(Arc::new(environment))
    }

    /// Returns the inputs of the system prompt for a session in this directory.
    pub fn prompt(&self) -> SystemPromptParts {
        let package = self.env.var(PACKAGE_DIR).map(PathBuf::from);
        let program = std::env::current_exe().ok();
        let resources = &self.resources;
        SystemPromptParts {
            cwd: self.cwd.clone(),
            custom: resources.system_prompt.clone(),
            append: resources.append_system_prompt.clone(),
            instructions: resources
                .context_files
                .iter()
                .map(|file| ProjectInstructions {
                    path: file.path.clone(),
                    content: file.content.clone(),
                })
                .collect(),
            skills: pi_config::list_skills_for_model(&resources.skills)
                .into_iter()
                .map(|skill| PromptSkill {
                    name: skill.name,
                    description: skill.description,
                    location: skill.location,
                })
                .collect(),
            docs: DocsPaths {
                documentation: find_documentation(package.as_deref(), program.as_deref()),
                program: shell_command(program.as_deref()),
                agent_directory: self.agent_dir.path().to_owned(),
            },
        }
    }
}

/// Loads the resources, installs missing packages and updates temporary ones if possible and allowed. A package
/// that cannot be installed is reported, and the session continues without it. Also returns whether packages
/// were installed.
async fn find_resources(
    host: &Host,
    request: &ResourceRequest,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> (Resources, bool) {
    let resources = load_resources(request);
    let missing = &resources.missing_packages;
    let temporary = &resources.temporary_packages;
    if missing.is_empty() && temporary.is_empty() {
        return (resources, false);
    }
    let options = host.options();
    let is_offline = options.env.var(ai_vars::OFFLINE).is_some();
    let installer = options.packages.as_ref().filter(|_| !is_offline);
    let Some(installer) = installer else {
        for missing in missing {
            tracing::info!(source = missing.source, "package is not installed");
        }
        return (resources, false);
    };
    let (cwd, settings) = (&request.cwd, &request.settings);
    let were_updated = !temporary.is_empty() && installer.refresh(temporary, cwd, settings).await;
    if missing.is_empty() {
        let resources = if were_updated {
            load_resources(request)
        } else {
            resources
        };
        return (resources, false);
    }
    diagnostics.extend(installer.install_missing(missing, cwd, settings).await);
    (load_resources(request), true)
}

/// Returns an environment in which pi makes no network requests on its own.
pub(crate) fn offline(env: &Env) -> Env {
    let variables = offline_variables().into_iter().collect();
    env.with_overrides(&variables)
}

/// Environment variables that keep pi and its child processes offline.
pub(crate) fn offline_variables() -> [(String, String); 2] {
    [ai_vars::OFFLINE, SKIP_VERSION_CHECK].map(|name| (name.to_owned(), "1".to_owned()))
}

/// Builds the models: the built-in ones and those of `models.json`, with their credential status.
async fn build_models(
    host: &Host,
    settings: &SettingsStore,
    extensions: &BuiltinExtensions,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Models {
    let options = host.options();
    let agent_dir = &options.agent_dir;
    let values = settings.settings();
    let stored = match &options.credentials {
        Some(credentials) => Arc::clone(credentials),
        None => {
            let file = AuthFile::new(agent_dir.auth_file());
            if let Err(error) = file.create_if_missing().await {
                let path = agent_dir.auth_file();
                diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, Some(path)));
            }
            Arc::new(file)
        }
    };
    let is_enabled = match options.env.var(TELEMETRY) {
        Some(value) => ["1", "true", "yes"].contains(&value.to_ascii_lowercase().as_str()),
        None => values.enable_install_telemetry(),
    };
    let models = Models::new(ModelsOptions {
        credentials: Arc::new(host.keys().wrap(stored)),
        store: Arc::new(ModelsStoreFile::new(agent_dir.models_store_file())),
        http: host.http().client_for(values.http_proxy()),
        env: options.env.clone(),
        telemetry: if is_enabled {
            Telemetry::On
        } else {
            Telemetry::Off
        },
        wire_apis: vec![pi_bedrock::wire_api()],
        has_local_server: extensions.contains(BuiltinExtension::LlamaCpp),
        image_models_file: Some(agent_dir.image_models_file()),
        ..ModelsOptions::default()
    });
    if let Err(error) = pi_model_tasks::register_providers(&models) {
        diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, None));
    }
    let file = agent_dir.models_file();
    match read_models_file::<ProviderConfig>(&file) {
        Ok(providers) => {
            for (id, config) in providers {
                if let Err(error) = models.register(&id, Registration::ModelsFile(config)) {
                    diagnostics.push(diagnostic(
                        DiagnosticLevel::Warning,
                        &error,
                        Some(file.clone()),
                    ));
                }
            }
        }
        Err(error) => diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, Some(file))),
    }
    let report = models.refresh(RefreshOptions::default()).await;
    for (provider, error) in report.errors {
        tracing::warn!(provider, %error, "cannot load credential or models of provider");
    }
    models
}

pub(crate) fn diagnostic(
    level: DiagnosticLevel,
    error: &dyn std::error::Error,
    path: Option<PathBuf>,
) -> ConfigDiagnostic {
    ConfigDiagnostic {
        level,
        message: error.to_string(),
        path,
    }
}
