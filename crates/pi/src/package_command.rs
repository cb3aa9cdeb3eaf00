//! `pi install`, `remove` and `list`: which packages the settings name.
//!
//! Local folders only: they stay where they are, so that naming them is all there is to do. Packages of npm and
//! git that are installed already are listed and loaded; fetching them, `update` and `config` are not
//! part of this build.

mod relative_path;
mod request;

use std::path::Path;

use pi_ai::Env;
use pi_config::{
    AgentDir, PackageAddress, PackageLocations, PackageSource, ProjectAccess, Scope, SettingsStore,
    SourceScope, TrustInputs, decide_trust,
};

use crate::output::{Exit, Failure, print, warn};
use relative_path::relative;
use request::{PackageRequest, PackageTask, parse};

/// The words that begin a command of this kind.
const COMMANDS: [&str; 6] = ["install", "remove", "uninstall", "update", "list", "config"];

const HELP: &str = "\
Usage:
  pi install FOLDER [-l]   Use a package of extensions, skills, prompts and themes
  pi remove FOLDER [-l]    Use it no longer; uninstall is the same
  pi list                  Show the packages in use

Options:
  -l, --local         In the project's settings, not the user's
  -a, --approve       Trust the project's own files for this command
  -na, --no-approve   Ignore the project's own files for this command

This build takes packages from local folders. It does not fetch packages from npm or git, and has no
`pi update` and `pi config`.
";

/// Tells whether a command line begins such a command.
pub(crate) fn is_command(word: &str) -> bool {
    COMMANDS.contains(&word)
}

/// Serves the command; `words` begin with its name.
pub(crate) fn run(words: &[String], cwd: &Path, env: &Env) -> Exit {
    let outcome = match parse(words) {
        Ok(None) => return print(HELP),
        Ok(Some(request)) => serve(&request, cwd, env),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(text) => print(&text),
        Err(failure) => failure.report(),
    }
}

fn serve(request: &PackageRequest, cwd: &Path, env: &Env) -> Result<String, Failure> {
    let agent_dir = AgentDir::from_env(env);
    let access = project_access(request.trust, &agent_dir, cwd, env);
    let settings = SettingsStore::open(&agent_dir, cwd, access);
    for diagnostic in settings.take_diagnostics() {
        warn(&diagnostic.message);
    }
    let packages = Packages {
        locations: PackageLocations {
            agent_dir: &agent_dir,
            cwd,
            env,
        },
        settings: &settings,
        scope: if request.local {
            Scope::Project
        } else {
            Scope::User
        },
    };
    if request.local && !access.is_trusted() {
        return Err(Failure::new("this project is not trusted")
            .hint("--approve trusts it for this command"));
    }
    match &request.task {
        PackageTask::Install(source) => packages.install(source),
        PackageTask::Remove(source) => packages.remove(source),
        PackageTask::List => Ok(packages.list()),
    }
}

fn project_access(cli: Option<bool>, agent_dir: &AgentDir, cwd: &Path, env: &Env) -> ProjectAccess {
    let user = SettingsStore::open(agent_dir, cwd, ProjectAccess::Refused);
    let decision = decide_trust(&TrustInputs {
        cwd,
        home: env.home_dir().as_deref(),
        agent_dir,
        cli,
        default: user.settings().default_project_trust(),
    });
    match decision {
        Ok(decision) => decision.without_asking(),
        Err(error) => {
            warn(&error.to_string());
            ProjectAccess::Refused
        }
    }
}

/// The packages that settings name.
struct Packages<'a> {
    locations: PackageLocations<'a>,
    settings: &'a SettingsStore,
    /// Whose settings are changed.
    scope: Scope,
}

impl Packages<'_> {
    fn install(&self, source: &str) -> Result<String, Failure> {
        let address = PackageAddress::parse(source)?;
        if !matches!(address, PackageAddress::Local(_)) {
            return Err(Failure::new(format!("this build cannot fetch {source}"))
                .hint("fetch it yourself, then: pi install FOLDER"));
        }
        let path = self
            .locations
            .install_path(&address, SourceScope::Temporary);
        if !path.exists() {
            return Err(Failure::new(format!("there is no {}", path.display())));
        }
        let written = relative(&path, &self.locations.base(self.source_scope()));
        self.settings.update(self.scope, |settings| {
            let packages = settings.packages.get_or_insert_default();
            match packages
                .iter_mut()
                .find(|package| self.is_same(package, &address))
            {
                Some(PackageSource::Whole(source)) => *source = written,
                Some(PackageSource::Filtered(filter)) => filter.source = written,
                None => packages.push(PackageSource::Whole(written)),
            }
        })?;
        Ok(format!("Installed {source}\n"))
    }

    fn remove(&self, source: &str) -> Result<String, Failure> {
        let address = PackageAddress::parse(source)?;
        let settings = self.settings.scope(self.scope);
        let packages = settings.packages.as_deref().unwrap_or_default();
        if !packages
            .iter()
            .any(|package| self.is_same(package, &address))
        {
            return Err(Failure::new(format!("no package in use is {source}"))
                .hint("pi list shows those there are"));
        }
        self.settings.update(self.scope, |settings| {
            if let Some(packages) = &mut settings.packages {
                packages.retain(|package| !self.is_same(package, &address));
            }
        })?;
        Ok(format!("Removed {source}\n"))
    }

    fn list(&self) -> String {
        let mut sections = Vec::new();
        for (title, scope, source_scope) in [
            ("User packages:\n", Scope::User, SourceScope::User),
            ("Project packages:\n", Scope::Project, SourceScope::Project),
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
            "No packages installed.\n".to_owned()
        } else {
            sections.join("\n")
        }
    }

    fn describe(&self, package: &PackageSource, scope: SourceScope) -> String {
        let source = package.source();
        let mark = match package {
            PackageSource::Whole(_) => "",
            PackageSource::Filtered(_) => " (filtered)",
        };
        let address = PackageAddress::parse(source).ok();
        let path = address.map(|address| self.locations.install_path(&address, scope));
        match path.filter(|path| path.exists()) {
            Some(path) => format!("  {source}{mark}\n    {}\n", path.display()),
            None => format!("  {source}{mark}\n"),
        }
    }

    /// Tells whether an entry of the settings is what the command line names.
    fn is_same(&self, entry: &PackageSource, wanted: &PackageAddress) -> bool {
        let wanted = self.locations.identity(wanted, SourceScope::Temporary);
        PackageAddress::parse(entry.source())
            .is_ok_and(|address| self.locations.identity(&address, self.source_scope()) == wanted)
    }

    fn source_scope(&self) -> SourceScope {
        match self.scope {
            Scope::User => SourceScope::User,
            Scope::Project => SourceScope::Project,
        }
    }
}
