//! Everything a session needs that is bound to a working directory: settings, trust, resources,
//! models.
//!
//! The order is the point: the user's settings, then the decision about the project, and only then
//! anything of the project. A session in another directory gets services of its own.

mod project_changes;
mod runtime_keys;
mod survey;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pi_ai::{
    CredentialStore, Env, HttpClient, HttpSettings, Models, ModelsOptions, ProviderConfig,
    RefreshOptions, Registration, Telemetry, env_vars as ai_vars,
};
use pi_config::{
    AgentDir, AuthFile, ConfigDiagnostic, DiagnosticLevel, MissingPackage, ModelsStoreFile,
    ProjectAccess, ResourceFlags, ResourceRequest, Resources, SettingsOverrides, SettingsStore,
    TrustChoice, TrustDecision, TrustStore, TrustUpdate, check_dir_permissions, load_resources,
    read_models_file, run_project_migrations,
};

use crate::system_prompt::{
    DocsPlaces, Instructions, SystemPromptParts, find_documentation, shell_command,
};
use crate::toolset::{RegisteredTool, ToolSelection, Toolset, ToolsetOptions, command_environment};

pub(crate) use project_changes::{changes_of_project, describe_changes, remember_changes};
pub use runtime_keys::RuntimeKeys;
pub(crate) use survey::Survey;

/// The asset root of an installation.
const PACKAGE_DIR: &str = "PI_PACKAGE_DIR";

/// Whether services learn which program asks; `1`, `true` or `yes`, whatever the settings say.
const TELEMETRY: &str = "PI_TELEMETRY";

/// Keeps a program from asking for newer versions.
const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";

/// Asks the user about a project; front ends without a user have none.
pub trait TrustPrompt: Send + Sync {
    /// Returns what the user chose; `None` leaves the project unasked.
    fn ask<'a>(
        &'a self,
        cwd: &'a Path,
        choices: Vec<TrustChoice>,
    ) -> BoxFuture<'a, Option<TrustChoice>>;
}

/// Installs packages that settings or the command line want and that are not there.
pub trait PackageSupplier: Send + Sync {
    /// Installs what can be had, and tells what could not.
    fn supply<'a>(
        &'a self,
        missing: &'a [MissingPackage],
        cwd: &'a Path,
        settings: &'a SettingsStore,
    ) -> BoxFuture<'a, Vec<ConfigDiagnostic>>;
}

/// What services are made for, whatever the directory.
#[derive(Clone)]
pub struct ServiceOptions {
    /// Where the user's files are.
    pub agent_dir: AgentDir,
    pub env: Env,
    /// What the command line says about trust (`--approve`, `--no-approve`).
    pub trust: Option<bool>,
    /// Whom to ask about a project.
    pub trust_prompt: Option<Arc<dyn TrustPrompt>>,
    /// What the command line says about resources.
    pub resources: ResourceFlags,
    /// Who installs packages that are missing; without one they are reported.
    pub packages: Option<Arc<dyn PackageSupplier>>,
    /// Settings to use instead of the files'.
    pub settings: Option<SettingsStore>,
    /// Settings that hold for this run, over those of the files.
    pub run_settings: SettingsOverrides,
    /// Credentials to use instead of `auth.json`.
    pub credentials: Option<Arc<dyn CredentialStore>>,
    /// Models to use instead of the usual ones; they are taken as they are.
    pub models: Option<Models>,
    /// Who may decide about a project before anybody is asked.
    pub trust_voter: Option<Arc<dyn TrustVoter>>,
    /// What was decided about projects in this run.
    pub decisions: TrustMemory,
    /// Keys that hold for this run.
    pub keys: RuntimeKeys,
    /// The connections that services share.
    pub http: SharedConnections,
}

impl ServiceOptions {
    /// Uses an agent directory and an environment, and nothing else special.
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
            trust_voter: None,
            decisions: TrustMemory::default(),
            keys: RuntimeKeys::default(),
            http: SharedConnections::default(),
        }
    }
}

/// Decides about projects nobody has decided about: the user's own extensions.
pub trait TrustVoter: Send + Sync {
    /// Returns what is decided; none leaves it to the user. What is said meanwhile comes to the diagnostics.
    fn vote<'a>(
        &'a self,
        options: &'a ServiceOptions,
        cwd: &'a Path,
        diagnostics: &'a mut Vec<ConfigDiagnostic>,
    ) -> BoxFuture<'a, Option<TrustVote>>;
}

/// What was decided about a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustVote {
    /// Whether the project's files count.
    pub access: ProjectAccess,
    /// Whether it holds for other runs, too.
    pub remember: bool,
}

/// What was decided about projects in this run, by their folders. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct TrustMemory(Arc<Mutex<HashMap<PathBuf, ProjectAccess>>>);

impl TrustMemory {
    fn get(&self, cwd: &Path) -> Option<ProjectAccess> {
        let decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.get(cwd).copied()
    }

    /// Forgets what was decided about a project, which may have changed since.
    pub(crate) fn forget(&self, cwd: &Path) {
        let mut decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.remove(cwd);
    }

    fn set(&self, cwd: &Path, access: ProjectAccess) {
        let mut decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.insert(cwd.to_owned(), access);
    }
}

/// The connections that services of several sessions share, as long as they go the same way.
#[derive(Debug, Clone, Default)]
pub struct SharedConnections(Arc<Mutex<Connections>>);

#[derive(Debug, Default)]
struct Connections {
    proxy: Option<String>,
    http: HttpClient,
}

impl SharedConnections {
    /// Returns the connections through a proxy, or directly.
    fn through(&self, proxy: Option<&str>) -> HttpClient {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.proxy.as_deref() != proxy {
            *shared = Connections {
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

/// Everything bound to a working directory.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Services {
    /// Where the user's files are.
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    /// Whether the project's files count.
    pub project: ProjectAccess,
    pub settings: SettingsStore,
    /// The models and their credentials.
    pub models: Models,
    /// Skills, templates, context files and the rest, and what is wrong with them: that is for a
    /// person to look at, not for the output of a script.
    pub resources: Arc<Resources>,
    /// What the user should know, whatever the front end.
    pub diagnostics: Vec<ConfigDiagnostic>,
}

impl Services {
    /// Makes the services of a directory. Nothing here fails: what is wrong with the user's files is
    /// among the diagnostics.
    pub async fn load(options: &ServiceOptions, cwd: &Path) -> Self {
        Self::load_surveyed(options, Survey::of(options, cwd)).await
    }

    /// Makes the services of a directory about which the user's files were read already.
    pub(crate) async fn load_surveyed(options: &ServiceOptions, survey: Survey) -> Self {
        let mut diagnostics = Vec::new();
        if options.settings.is_none() {
            diagnostics.extend(check_dir_permissions(&options.agent_dir));
        }
        let project = decide(options, &survey, &mut diagnostics).await;
        let Survey { cwd, settings, .. } = survey;
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
            None => make_models(options, &settings, &mut diagnostics).await,
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

    /// Builds the tools for a session here.
    pub fn toolset(
        &self,
        selection: ToolSelection,
        custom: Vec<RegisteredTool>,
        variables: &[(String, String)],
    ) -> Toolset {
        let settings = self.settings.settings();
        Toolset::new(ToolsetOptions {
            cwd: self.cwd.clone(),
            home: self.env.home_dir(),
            shell_path: settings.shell_path(&self.env),
            command_prefix: settings.shell_command_prefix.clone(),
            resize_images: settings.image_auto_resize(),
            environment: command_environment(std::env::vars_os(), variables, &self.agent_dir.bin()),
            selection,
            default_tools: settings.default_tools.clone(),
            custom,
        })
    }

    /// Returns what the system prompt of a session here is made of.
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
                .map(|file| Instructions {
                    path: file.path.clone(),
                    content: file.content.clone(),
                })
                .collect(),
            skills: pi_config::list_skills_for_model(&resources.skills),
            docs: DocsPlaces {
                documentation: find_documentation(package.as_deref(), program.as_deref()),
                program: shell_command(program.as_deref()),
                agent_directory: self.agent_dir.path().to_owned(),
            },
        }
    }
}

/// Finds the resources, installing packages that are missing where somebody can and may. A package that
/// cannot be had is reported, and the session goes on without it.
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
    let supplier = options.packages.as_ref().filter(|_| !is_offline);
    let Some(supplier) = supplier else {
        for missing in &resources.missing_packages {
            tracing::info!(source = missing.source, "a package is not installed");
        }
        return resources;
    };
    let missing = &resources.missing_packages;
    diagnostics.extend(
        supplier
            .supply(missing, &request.cwd, &request.settings)
            .await,
    );
    load_resources(request)
}

/// Returns the environment of a program that must not use the network by itself.
pub(crate) fn offline(env: &Env) -> Env {
    let variables = offline_variables().into_iter().collect();
    env.with_overrides(&variables)
}

/// The variables that keep pi and the programs it starts off the network.
pub(crate) fn offline_variables() -> [(String, String); 2] {
    [ai_vars::OFFLINE, SKIP_VERSION_CHECK].map(|name| (name.to_owned(), "1".to_owned()))
}

/// Decides about a project, asking the user where somebody can.
async fn decide(
    options: &ServiceOptions,
    survey: &Survey,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> ProjectAccess {
    let cwd = &survey.cwd;
    let decision = match &survey.decision {
        Ok(decision) => decision,
        Err(error) => {
            diagnostics.push(error.clone());
            return ProjectAccess::Denied;
        }
    };
    let TrustDecision::Prompt { choices } = decision else {
        return decision.access_without_prompt();
    };
    if let Some(voter) = &options.trust_voter
        && let Some(vote) = voter.vote(options, cwd, diagnostics).await
    {
        if vote.remember {
            let update = match vote.access {
                ProjectAccess::Trusted => TrustUpdate::trust(cwd),
                _ => TrustUpdate::deny(cwd),
            };
            if let Err(error) = TrustStore::new(&options.agent_dir).save(&[update]) {
                diagnostics.push(problem(DiagnosticLevel::Warning, &error, None));
            }
        }
        options.decisions.set(cwd, vote.access);
        return vote.access;
    }
    let Some(prompt) = &options.trust_prompt else {
        return decision.access_without_prompt();
    };
    let Some(choice) = prompt.ask(cwd, choices.clone()).await else {
        return decision.access_without_prompt();
    };
    if let Err(error) = TrustStore::new(&options.agent_dir).save(&choice.updates()) {
        diagnostics.push(problem(DiagnosticLevel::Warning, &error, None));
    }
    options.decisions.set(cwd, choice.access());
    choice.access()
}

/// Makes the models: the built-in ones, what `models.json` says, and which of them have credentials.
async fn make_models(
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
                diagnostics.push(problem(DiagnosticLevel::Warning, &error, Some(path)));
            }
            Arc::new(file)
        }
    };
    let is_told = match options.env.var(TELEMETRY) {
        Some(value) => ["1", "true", "yes"].contains(&value.to_ascii_lowercase().as_str()),
        None => values.enable_install_telemetry(),
    };
    let models = Models::new(ModelsOptions {
        credentials: Arc::new(options.keys.over(stored)),
        store: Arc::new(ModelsStoreFile::new(agent_dir.models_store_file())),
        http: options.http.through(values.http_proxy()),
        env: options.env.clone(),
        telemetry: if is_told {
            Telemetry::On
        } else {
            Telemetry::Off
        },
        ..ModelsOptions::default()
    });
    let file = agent_dir.models_file();
    match read_models_file::<ProviderConfig>(&file) {
        Ok(providers) => {
            for (id, config) in providers {
                if let Err(error) = models.register(&id, Registration::ModelsFile(config)) {
                    diagnostics.push(problem(
                        DiagnosticLevel::Warning,
                        &error,
                        Some(file.clone()),
                    ));
                }
            }
        }
        Err(error) => diagnostics.push(problem(DiagnosticLevel::Warning, &error, Some(file))),
    }
    let report = models.refresh(RefreshOptions::default()).await;
    for (provider, error) in report.errors {
        tracing::warn!(provider, %error, "a provider's credential or models are not known");
    }
    models
}

fn problem(
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
