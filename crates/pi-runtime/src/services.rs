//! Components of a session that are bound to a working directory: settings, trust, resources,
//! models.
//!
//! The load order enforces trust: first the user's settings, then the trust decision, and only then
//! anything from the project. A session in another directory gets its own services.

mod project_changes;
mod project_probe;
mod runtime_keys;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_auth::CredentialStore;
use pi_config::{
    AgentDir, AuthFile, ConfigDiagnostic, DiagnosticLevel, MissingPackage, ModelsStoreFile,
    ProjectAccess, ResourceFlags, ResourceRequest, Resources, SettingsOverrides, SettingsStore,
    TrustChoice, TrustDecision, TrustStore, TrustUpdate, check_dir_permissions, load_resources,
    read_models_file, run_project_migrations,
};
use pi_context::{
    DocsPaths, ProjectInstructions, PromptSkill, SystemPromptParts, find_documentation,
    shell_command,
};
use pi_core::{Environment, ToolSource};
use pi_env::{Env, env_vars as ai_vars};
use pi_http::{HttpClient, HttpSettings};
use pi_providers::{
    Models, ModelsOptions, ProviderConfig, RefreshOptions, Registration, Telemetry,
};
use pi_tools::{LocalShell, local_environment};

use crate::toolset::{ToolSelection, Toolset, ToolsetOptions, command_variables};

pub(crate) use project_changes::{describe_changes, find_project_changes, remember_changes};
pub(crate) use project_probe::ProjectProbe;
pub use runtime_keys::RuntimeKeys;

/// Root directory of the installed assets.
const PACKAGE_DIR: &str = "PI_PACKAGE_DIR";

/// Whether requests identify pi to providers: `1`, `true` or `yes`; overrides the settings.
const TELEMETRY: &str = "PI_TELEMETRY";

/// Disables checks for newer versions.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Prompts the user about a project's trust; front ends without a user have none.
pub trait TrustPrompt: Send + Sync {
    /// Returns the user's choice; `None` leaves the decision open.
    fn prompt<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
    ) -> BoxFuture<'a, Option<TrustChoice>>;
}

/// Installs packages that are configured but missing.
pub trait MissingPackageInstaller: Send + Sync {
    /// Installs the packages and returns diagnostics for those that failed.
    fn install_missing<'a>(
        &'a self,
        missing: &'a [MissingPackage],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, Vec<ConfigDiagnostic>>;
}

/// Options of services, independent of the directory.
#[derive(Clone)]
pub struct ServiceOptions {
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    pub env: Env,
    /// Trust flags (`--approve`, `--no-approve`).
    pub trust: Option<bool>,
    /// Prompts the user about a project's trust.
    pub trust_prompt: Option<Arc<dyn TrustPrompt>>,
    pub resources: ResourceFlags,
    /// Installs missing packages; without it they are only reported.
    pub packages: Option<Arc<dyn MissingPackageInstaller>>,
    /// Settings to use instead of the settings files.
    pub settings: Option<SettingsStore>,
    /// Settings for this run; they override those of the files.
    pub run_settings: SettingsOverrides,
    /// Credentials to use instead of `auth.json`.
    pub credentials: Option<Arc<dyn CredentialStore>>,
    /// Models to use instead of the default ones, without further configuration.
    pub models: Option<Models>,
    /// May decide about a project before the user is prompted.
    pub trust_resolver: Option<Arc<dyn TrustResolver>>,
    /// Trust decisions of this run.
    pub decisions: TrustDecisions,
    /// API keys for this run.
    pub keys: RuntimeKeys,
    /// HTTP connections shared by services.
    pub http: SharedConnections,
}

impl ServiceOptions {
    pub fn new(agent_dir: AgentDir, env: Env) -> Self {
        Self {
            agent_dir,
            env,
            trust: None,
            trust_prompt: None,
            resources: ResourceFlags::default(),
            packages: None,
            settings: None,
            run_settings: SettingsOverrides::default(),
            credentials: None,
            models: None,
            trust_resolver: None,
            decisions: TrustDecisions::default(),
            keys: RuntimeKeys::default(),
            http: SharedConnections::default(),
        }
    }
}

/// Decides about projects without a trust decision; implemented by the user's extensions.
pub trait TrustResolver: Send + Sync {
    /// Returns the decision; `None` leaves it to the user. Messages raised while deciding are added
    /// to `diagnostics`.
    fn resolve<'a>(
        &'a self,
        options: &'a ServiceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustResolution>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustResolution {
    pub access: ProjectAccess,
    /// Whether to remember the decision for other runs.
    pub remember: bool,
}

/// Trust decisions of this run, by project directory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct TrustDecisions(Arc<Mutex<HashMap<PathBuf, ProjectAccess>>>);

impl TrustDecisions {
    fn get(&self, cwd: &Path) -> Option<ProjectAccess> {
        let decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.get(cwd).copied()
    }

    /// Removes the decision about a project, which may have changed since.
    pub(crate) fn remove(&self, cwd: &Path) {
        let mut decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.remove(cwd);
    }

    fn set(&self, cwd: &Path, access: ProjectAccess) {
        let mut decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(cwd.to_owned(), access);
    }
}

/// HTTP connections shared by the services of several sessions, as long as the proxy is the same.
#[derive(Debug, Clone, Default)]
pub struct SharedConnections(Arc<Mutex<ProxyConnections>>);

#[derive(Debug, Default)]
struct ProxyConnections {
    proxy: Option<String>,
    http: HttpClient,
}

impl SharedConnections {
    /// Returns a client that connects through the proxy, or directly.
    fn client_for(&self, proxy: Option<&str>) -> HttpClient {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.proxy.as_deref() != proxy {
            *shared = ProxyConnections {
                proxy: proxy.map(str::to_owned),
                http: match proxy {
                    Some(proxy) => {
                        HttpClient::with_settings(HttpSettings::default().with_proxy(proxy))
                    }
                    None => HttpClient::new(),
                },
            };
        }
        shared.http.clone()
    }
}

/// Components bound to a working directory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Services {
    /// Directory of the user's files.
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    /// Whether the project's files are used.
    pub project: ProjectAccess,
    pub settings: SettingsStore,
    pub models: Models,
    /// Skills, templates, context files and other resources, with their diagnostics. Those are
    /// meant for interactive display, not for the output of a script.
    pub resources: Arc<Resources>,
    /// Problems to report in every front end.
    pub diagnostics: Vec<ConfigDiagnostic>,
}

impl Services {
    /// Loads the services of a directory. Never fails: problems in the user's files are reported in
    /// `diagnostics`.
    pub async fn load(options: &ServiceOptions, cwd: &Path) -> Self {
        Self::load_probed(options, ProjectProbe::read(options, cwd)).await
    }

    /// Loads the services of a directory that was already probed.
    pub(crate) async fn load_probed(options: &ServiceOptions, probe: ProjectProbe) -> Self {
        let mut diagnostics = Vec::new();
        if options.settings.is_none() {
            diagnostics.extend(check_dir_permissions(&options.agent_dir));
        }
        let project = resolve_trust(options, &probe, &mut diagnostics).await;
        let ProjectProbe { cwd, settings, .. } = probe;
        settings.set_project_access(project);
        if project.is_trusted() && options.settings.is_none() {
            diagnostics.extend(run_project_migrations(&cwd));
        }
        diagnostics.extend(settings.take_diagnostics());
        let resources = find_resources(
            options,
            &ResourceRequest {
                agent_dir: options.agent_dir.clone(),
                cwd: cwd.clone(),
                env: options.env.clone(),
                settings: settings.clone(),
                project,
                flags: options.resources.clone(),
            },
            &mut diagnostics,
        )
        .await;
        let models = match &options.models {
            Some(models) => models.clone(),
            None => build_models(options, &settings, &mut diagnostics).await,
        };
        Self {
            agent_dir: options.agent_dir.clone(),
            cwd,
            env: options.env.clone(),
            project,
            settings,
            models,
            resources: Arc::new(resources),
            diagnostics,
        }
    }

    /// Builds the tools for a session in this directory.
    pub fn toolset(
        &self,
        selection: ToolSelection,
        sources: Vec<Arc<dyn ToolSource>>,
        variables: &[(String, String)],
    ) -> Toolset {
        let settings = self.settings.settings();
        let shell = settings.shell_path(&self.env);
        let shell = shell.map_or_else(LocalShell::default, LocalShell::at);
        let environment = Environment {
            processes: Arc::new(shell),
            vars: command_variables(std::env::vars_os(), variables, &self.agent_dir.bin()),
            home: self.env.home_dir(),
            ..local_environment()
        };
        Toolset::new(ToolsetOptions {
            cwd: self.cwd.clone(),
            environment: Arc::new(environment),
            command_prefix: settings.shell_command_prefix.clone(),
            resize_images: settings.images.auto_resize(),
            selection,
            default_tools: settings.default_tools.clone(),
            sources,
        })
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

/// Loads the resources and installs missing packages if possible and allowed. A package that cannot
/// be installed is reported, and the session continues without it.
async fn find_resources(
    options: &ServiceOptions,
    request: &ResourceRequest,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Resources {
    let resources = load_resources(request);
    if resources.missing_packages.is_empty() {
        return resources;
    }
    let is_offline = options.env.var(ai_vars::OFFLINE).is_some();
    let installer = options.packages.as_ref().filter(|_| !is_offline);
    let Some(installer) = installer else {
        for missing in &resources.missing_packages {
            tracing::info!(source = missing.source, "package is not installed");
        }
        return resources;
    };
    let missing = &resources.missing_packages;
    diagnostics.extend(
        installer
            .install_missing(missing, &request.cwd, &request.settings)
            .await,
    );
    load_resources(request)
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

/// Decides about a project's trust; prompts the user if possible.
async fn resolve_trust(
    options: &ServiceOptions,
    probe: &ProjectProbe,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> ProjectAccess {
    let cwd = &probe.cwd;
    let decision = match &probe.decision {
        Ok(decision) => decision,
        Err(error) => {
            diagnostics.push(error.clone());
            return ProjectAccess::Denied;
        }
    };
    let TrustDecision::Prompt { choices } = decision else {
        return decision.access_without_prompt();
    };
    if let Some(resolver) = &options.trust_resolver
        && let Some(resolution) = resolver.resolve(options, cwd, diagnostics).await
    {
        if resolution.remember {
            let update = match resolution.access {
                ProjectAccess::Trusted => TrustUpdate::trust(cwd),
                _ => TrustUpdate::deny(cwd),
            };
            if let Err(error) = TrustStore::new(&options.agent_dir).save(&[update]) {
                diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, None));
            }
        }
        options.decisions.set(cwd, resolution.access);
        return resolution.access;
    }
    let Some(prompt) = &options.trust_prompt else {
        return decision.access_without_prompt();
    };
    let Some(choice) = prompt.prompt(cwd, choices.clone()).await else {
        return decision.access_without_prompt();
    };
    if let Err(error) = TrustStore::new(&options.agent_dir).save(&choice.updates()) {
        diagnostics.push(diagnostic(DiagnosticLevel::Warning, &error, None));
    }
    options.decisions.set(cwd, choice.access());
    choice.access()
}

/// Builds the models: the built-in ones and those of `models.json`, with their credential status.
async fn build_models(
    options: &ServiceOptions,
    settings: &SettingsStore,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Models {
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
        credentials: Arc::new(options.keys.wrap(stored)),
        store: Arc::new(ModelsStoreFile::new(agent_dir.models_store_file())),
        http: options.http.client_for(values.http_proxy()),
        env: options.env.clone(),
        telemetry: if is_enabled {
            Telemetry::On
        } else {
            Telemetry::Off
        },
        wire_apis: vec![pi_bedrock::wire_api()],
        ..ModelsOptions::default()
    });
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

fn diagnostic(
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
