//! `pi install`, `remove`, `update`, `list` and `config`.
//!
//! The settings list the installed packages; `pi-packages` downloads them. Local directories are used in place.

mod check_report;
mod help;
mod node_extensions;
mod progress_bar;
mod relative_path;
mod request;
mod self_update;
mod update;
mod used;

use std::io::IsTerminal as _;
use std::path::Path;

use pi_config::{
    AgentDir, PackageAddress, PackageLocations, ProjectChanges, ResourceFlags, ResourceRequest,
    SettingsStore, load_resources,
};
use pi_env::Env;
use pi_host::MissingPackageInstaller as _;
use pi_packages::{
    ConfiguredPackage, InstallerOptions, PackageError, PackageInstaller, ScriptPolicy,
    save_registry,
};
use pi_protocol::settings::PackageSource;
use pi_protocol::{ConfigScope, ProjectAccess, SourceScope};

use crate::confirm::ask;
use crate::mode::Terminals;
use crate::output::{Exit, Failure, notice, print, warn};
use crate::project_trust::{project_access, saved_access};
use crate::signals::{Signal, Signals};
use relative_path::relative;
use request::{CommandName, PackageRequest, PackageTask, ParsedCommand, parse};

pub(crate) use self_update::newer_release;
pub(crate) use used::{StartupInstaller, installer, used_packages};

/// Returns whether `word` is a package command.
pub(crate) fn is_command(word: &str) -> bool {
    CommandName::parse(word).is_some()
}

/// Runs the command; `words` start with its name.
pub(crate) async fn run(words: &[String], cwd: &Path, env: &Env) -> Exit {
    let outcome = match parse(words) {
        Ok(ParsedCommand::Help(command)) => return print(help::text(command)),
        Ok(ParsedCommand::Request(request)) => {
            match run_until_interrupted(&request, cwd, env).await {
                Ok(outcome) => outcome,
                Err(signal) => {
                    progress_bar::clear(std::io::stderr().is_terminal());
                    return signal.exit();
                }
            }
        }
        Err(failure) => Err(failure),
    };
    progress_bar::clear(std::io::stderr().is_terminal());
    match outcome {
        Ok(text) => print(&text),
        Err(failure) => failure.report(),
    }
}

/// Runs a request until a signal interrupts it; cleans up in that case.
async fn run_until_interrupted(
    request: &PackageRequest,
    cwd: &Path,
    env: &Env,
) -> Result<Result<String, Failure>, Signal> {
    let serving = Box::pin(serve(request, cwd, env));
    // The dialog receives Ctrl+C as a key.
    if request.task == PackageTask::Config {
        return Ok(serving.await);
    }
    match Signals::listen() {
        Ok(mut signals) => signals.guard(serving, async {}).await,
        Err(error) => Ok(Err(Failure::new(format!(
            "cannot install signal handlers: {error}"
        )))),
    }
}

async fn serve(request: &PackageRequest, cwd: &Path, env: &Env) -> Result<String, Failure> {
    let agent_dir = AgentDir::from_env(env);
    let access = match request.task {
        PackageTask::Update(_) => saved_access(request.trust, &agent_dir, cwd, env),
        _ => project_access(request.trust, &agent_dir, cwd, env),
    };
    let settings = SettingsStore::open(&agent_dir, cwd, access);
    for diagnostic in settings.take_diagnostics() {
        warn(&diagnostic.message);
    }
    if request.local && !access.is_trusted() {
        return Err(Failure::new("this project is not trusted")
            .hint("use --approve to trust it for this command"));
    }
    let packages = Packages {
        locations: PackageLocations {
            agent_dir: &agent_dir,
            cwd,
            env,
        },
        settings: &settings,
        scope: if request.local {
            ConfigScope::Project
        } else {
            ConfigScope::User
        },
    };
    let done = match &request.task {
        PackageTask::Install { source, scripts } => packages.install(source, scripts).await,
        PackageTask::Check(source) => check_report::check(&packages, source).await,
        PackageTask::Remove(source) => packages.remove(source).await,
        PackageTask::List => Ok(packages.list(access)),
        PackageTask::Update(target) => update::update(&packages, target).await,
        PackageTask::Config => packages.configure(access).await,
    };
    // With `--approve`, the project is trusted for this run only.
    if done.is_ok() && access.is_trusted() && request.trust.is_none() {
        remember_project(&agent_dir, cwd);
    }
    done
}

/// Records the state of a trusted project, so that what the user changed with this command is not asked about again.
fn remember_project(agent_dir: &AgentDir, cwd: &Path) {
    let remembered = ProjectChanges::find(agent_dir, cwd).and_then(|changes| {
        if changes.is_unrecorded() {
            changes.mark_seen()?;
        }
        Ok(())
    });
    if let Err(error) = remembered {
        tracing::debug!(%error, "cannot remember the state of the project");
    }
}

/// Converts an error, with its hints.
pub(crate) fn package_failure(error: &PackageError) -> Failure {
    let hints = error.hints();
    hints
        .into_iter()
        .fold(Failure::new(error.to_string()), Failure::hint)
}

/// The error for a missing path; a bare name may be meant for the registry.
fn path_not_found(source: &str, path: &Path) -> Failure {
    let failure = Failure::new(format!("{} does not exist", path.display()));
    if source.starts_with(['.', '/', '~']) {
        return failure;
    }
    failure.hint(format!(
        "to install it from your npm registry, run pi install npm:{source}"
    ))
}

/// Asked once: the answer is saved in the user's npm configuration.
const REGISTRY_QUESTION: &str =
    "No npm registry is configured. URL of your registry (Enter cancels):";

/// The packages in the settings.
struct Packages<'a> {
    locations: PackageLocations<'a>,
    settings: &'a SettingsStore,
    /// The settings to change.
    scope: ConfigScope,
}

impl Packages<'_> {
    async fn install(&self, source: &str, scripts: &[String]) -> Result<String, Failure> {
        let address = PackageAddress::parse(source)?;
        let scope = self.source_scope();
        let written = match &address {
            PackageAddress::Local(_) => {
                let path = self
                    .locations
                    .install_path(&address, SourceScope::Temporary);
                if !path.exists() {
                    return Err(path_not_found(source, &path));
                }
                relative(&path, &self.locations.base(scope))
            }
            PackageAddress::Npm(_) | PackageAddress::Git(_) => {
                notice(&format!("Installing {source}"));
                let package = ConfiguredPackage {
                    address: address.clone(),
                    scope,
                };
                let mut installed = self.installer(scripts).install(&package).await;
                if matches!(installed, Err(PackageError::NoRegistry))
                    && let Some(address) = ask(REGISTRY_QUESTION)
                {
                    let saved = save_registry(&address, self.locations.env);
                    let file = saved.map_err(|error| package_failure(&error))?;
                    notice(&format!("Saved in {}", file.display()));
                    installed = self.installer(scripts).install(&package).await;
                }
                installed.map_err(|error| package_failure(&error))?;
                source.trim().to_owned()
            }
        };
        self.settings.update(self.scope, |settings| {
            let packages = settings.packages.get_or_insert_default();
            match packages
                .iter_mut()
                .find(|package| self.is_same(package, &address))
            {
                Some(PackageSource::Unfiltered(source)) => *source = written,
                Some(PackageSource::Filtered(filter)) => filter.source = written,
                None => packages.push(PackageSource::Unfiltered(written)),
            }
        })?;
        Ok(format!("Installed {source}\n"))
    }

    /// Shows all resources in a dialog, after installing missing packages.
    async fn configure(&self, access: ProjectAccess) -> Result<String, Failure> {
        let terminals = Terminals::of_process();
        if !terminals.stdin || !terminals.stdout {
            return Err(Failure::new("pi config needs a terminal")
                .hint("edit `packages`, `extensions`, `skills`, `prompts` and `themes` in settings.json instead"));
        }
        let PackageLocations {
            agent_dir,
            cwd,
            env,
        } = self.locations;
        let request = ResourceRequest {
            agent_dir: agent_dir.clone(),
            cwd: cwd.to_owned(),
            env: env.clone(),
            settings: self.settings.clone(),
            project: access,
            flags: ResourceFlags::default(),
        };
        if env.var(pi_env::env_vars::OFFLINE).is_none() {
            let supplier = StartupInstaller::new(agent_dir.clone(), env.clone());
            let missing = load_resources(&request).missing_packages;
            for problem in supplier.install_missing(&missing, cwd, self.settings).await {
                warn(&problem.message);
            }
        }
        pi_interactive::configure_resources(request, self.scope).await?;
        Ok(String::new())
    }

    async fn remove(&self, source: &str) -> Result<String, Failure> {
        let address = PackageAddress::parse(source)?;
        let settings = self.settings.scope(self.scope);
        let packages = settings.packages.as_deref().unwrap_or_default();
        if !packages
            .iter()
            .any(|package| self.is_same(package, &address))
        {
            return Err(self.unknown(source));
        }
        let package = ConfiguredPackage {
            address: address.clone(),
            scope: self.source_scope(),
        };
        let removed = self.installer(&[]).remove(&package).await;
        removed.map_err(|error| package_failure(&error))?;
        self.settings.update(self.scope, |settings| {
            if let Some(packages) = &mut settings.packages {
                packages.retain(|package| !self.is_same(package, &address));
            }
        })?;
        Ok(format!("Removed {source}\n"))
    }

    /// The error for a source that is not installed, with a suggestion.
    fn unknown(&self, source: &str) -> Failure {
        let failure = Failure::new(format!("package {source} is not installed"));
        let wanted = source.trim();
        let similar = [ConfigScope::User, ConfigScope::Project]
            .into_iter()
            .find_map(|scope| {
                let settings = self.settings.scope(scope);
                let packages = settings.packages.as_deref().unwrap_or_default().iter();
                packages
                    .map(PackageSource::source)
                    .find(|known| matches_source(known, wanted))
                    .map(str::to_owned)
            });
        match similar {
            Some(similar) => failure.hint(format!("did you mean {similar}?")),
            None => failure.hint("run pi list to list installed packages"),
        }
    }

    fn list(&self, access: ProjectAccess) -> String {
        let mut sections = Vec::new();
        for (title, scope, source_scope) in [
            ("User packages:\n", ConfigScope::User, SourceScope::User),
            (
                "Project packages:\n",
                ConfigScope::Project,
                SourceScope::Project,
            ),
        ] {
            let settings = self.settings.scope(scope);
            let packages = settings.packages.as_deref().unwrap_or_default();
            if !packages.is_empty() {
                let lines = packages
                    .iter()
                    .map(|package| self.describe(package, source_scope));
                sections.push(format!("{title}{}", lines.collect::<String>()));
            }
        }
        if sections.is_empty() {
            sections.push("No packages installed.\n".to_owned());
        }
        sections.push(node_extensions::section(self, access));
        sections.retain(|section| !section.is_empty());
        sections.join("\n")
    }

    fn describe(&self, package: &PackageSource, scope: SourceScope) -> String {
        let source = package.source();
        let mark = match package {
            PackageSource::Unfiltered(_) => "",
            PackageSource::Filtered(_) => " (filtered)",
        };
        let address = PackageAddress::parse(source).ok();
        let path = address.map(|address| self.locations.install_path(&address, scope));
        match path.filter(|path| path.exists()) {
            Some(path) => format!("  {source}{mark}\n    {}\n", path.display()),
            None => format!("  {source}{mark}\n"),
        }
    }

    /// Returns whether an entry of the settings has this address.
    fn is_same(&self, entry: &PackageSource, address: &PackageAddress) -> bool {
        let wanted = self.locations.identity(address, SourceScope::Temporary);
        PackageAddress::parse(entry.source())
            .is_ok_and(|address| self.locations.identity(&address, self.source_scope()) == wanted)
    }

    /// Returns an installer that may run the scripts allowed by the settings or this command.
    fn installer(&self, scripts: &[String]) -> PackageInstaller {
        let user = self.settings.scope(ConfigScope::User);
        let allowed = user.allow_install_scripts.iter().flatten();
        PackageInstaller::new(InstallerOptions {
            scripts: ScriptPolicy::allowing(allowed.chain(scripts).cloned()),
            progress: progress_bar::listener(),
            ..used::options(self.locations, self.settings)
        })
    }

    fn source_scope(&self) -> SourceScope {
        match self.scope {
            ConfigScope::User => SourceScope::User,
            ConfigScope::Project => SourceScope::Project,
        }
    }
}

/// Returns whether `wanted` may refer to the source `known`.
fn matches_source(known: &str, wanted: &str) -> bool {
    match PackageAddress::parse(known) {
        Ok(PackageAddress::Npm(npm)) => {
            npm.name == wanted || known.trim().strip_prefix("npm:") == Some(wanted)
        }
        Ok(PackageAddress::Git(git)) => {
            let short = format!("{}/{}", git.host, git.path);
            wanted == short
                || wanted
                    .strip_prefix(&short)
                    .is_some_and(|rest| rest.starts_with('@'))
        }
        Ok(PackageAddress::Local(_)) | Err(_) => false,
    }
}
