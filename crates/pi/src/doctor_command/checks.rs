//! Checks of files and settings. They read only.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pi_config::{
    AgentDir, AuthFile, McpConfigFiles, SettingsStore, load_mcp_config, read_models_file,
};
use pi_env::Env;
use pi_host::{Host, HostOptions, PermissionRules, Workspace, WorkspaceOptions};
use pi_protocol::{DiagnosticLevel, ProjectAccess};
use pi_providers::ProviderConfig;
use pi_session::listing::{self, SearchScope};
use pi_session::sessions_root;

use super::finding::Finding;
use crate::project_trust::saved_access;
use crate::startup::working_directory;

/// A lock that was not renewed for this long belongs to a killed process; the next writer removes it.
const LOCK_AGE: Duration = Duration::from_mins(1);

/// Less free space than this is reported.
#[cfg(unix)]
const MIN_FREE_BYTES: u64 = 200 * 1024 * 1024;

pub(super) async fn run(env: &Env) -> Vec<Finding> {
    let agent_dir = AgentDir::from_env(env);
    let mut findings = vec![Finding::ok(
        "version",
        format!("pi {} ({})", pi_env::VERSION, pi_env::release()),
    )];
    findings.extend(check_agent_dir(agent_dir.path()));
    let Ok(cwd) = working_directory() else {
        findings.push(Finding::error(
            "directory",
            "the current directory does not exist",
        ));
        return findings;
    };
    let access = saved_access(None, &agent_dir, &cwd, env);
    findings.push(trust(&cwd, access));
    findings.extend(configuration(&agent_dir, &cwd, env).await);
    findings.extend(credentials(&agent_dir).await);
    findings.extend(mcp_servers(&agent_dir, &cwd, access, env));
    findings.push(sessions(&agent_dir));
    findings.extend(locks(agent_dir.path()));
    findings
}

/// Checks that pi can write its files and others cannot read secrets.
fn check_agent_dir(directory: &Path) -> Vec<Finding> {
    let area = "files";
    if !directory.exists() {
        return vec![Finding::ok(
            area,
            format!("{} does not exist yet", directory.display()),
        )];
    }
    let mut findings = Vec::new();
    match fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => {
            findings.push(Finding::error(
                area,
                format!("{} is not a directory", directory.display()),
            ));
        }
        Ok(metadata) if metadata.permissions().readonly() => {
            findings.push(
                Finding::error(area, format!("{} is read-only", directory.display()))
                    .fix(format!("chmod u+w {}", directory.display())),
            );
        }
        Ok(_) => findings.push(Finding::ok(area, directory.display().to_string())),
        Err(error) => findings.push(Finding::error(
            area,
            format!("{}: {error}", directory.display()),
        )),
    }
    #[cfg(unix)]
    {
        findings.extend(check_modes(directory));
        findings.extend(check_free_space(directory));
    }
    findings
}

#[cfg(unix)]
fn check_modes(directory: &Path) -> Vec<Finding> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut findings = Vec::new();
    for name in ["auth.json", "mcp-auth.json"] {
        let path = directory.join(name);
        let mode = fs::metadata(&path).map(|metadata| metadata.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let message = format!("other users can access {}", path.display());
            let fix = format!("chmod 600 {}", path.display());
            findings.push(Finding::error("credentials", message).fix(fix));
        }
    }
    findings
}

#[cfg(unix)]
fn check_free_space(directory: &Path) -> Option<Finding> {
    let space = rustix::fs::statvfs(directory).ok()?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    (free < MIN_FREE_BYTES).then(|| {
        let message = format!(
            "{} MB are free in {}",
            free / 1_000_000,
            directory.display()
        );
        Finding::warning("disk", message)
    })
}

fn trust(cwd: &Path, access: ProjectAccess) -> Finding {
    let area = "trust";
    if !cwd.join(".pi").exists() && !cwd.join(".mcp.json").exists() {
        return Finding::ok(area, "this project has no .pi files");
    }
    if access.is_trusted() {
        return Finding::ok(area, "this project is trusted");
    }
    Finding::warning(
        area,
        "this project is not trusted: its .pi files are ignored",
    )
    .fix("run /trust in pi, or start it with --approve")
}

/// Checks settings, models, keys, themes and other resources, as a session would load them.
async fn configuration(agent_dir: &AgentDir, cwd: &Path, env: &Env) -> Vec<Finding> {
    let host = Host::new(HostOptions::new(agent_dir.clone(), env.clone()));
    let workspace = Workspace::load(&host, &WorkspaceOptions::default(), cwd).await;
    let mut findings = Vec::new();
    if let Some(invalid) = workspace.settings.invalid_restriction() {
        let finding = Finding::error("configuration", invalid.to_string());
        findings.push(finding.fix("correct the file; pi does not start with it"));
    }
    let settings = workspace.settings.settings();
    let home = env.home_dir();
    let rules = PermissionRules::parse(&settings.permissions, cwd, home.as_deref());
    let sandbox = workspace.sandbox();
    let restrictions = [
        rules.err().map(|error| pi_host::describe_error(&error)),
        sandbox.err().map(|error| pi_host::describe_error(&*error)),
    ];
    for problem in restrictions.into_iter().flatten() {
        let finding = Finding::error("configuration", problem);
        findings.push(finding.fix("correct the settings; pi does not start with them"));
    }
    for diagnostic in &workspace.diagnostics {
        let message = diagnostic.message_with_path();
        match diagnostic.level {
            DiagnosticLevel::Info => {}
            DiagnosticLevel::Warning => findings.push(Finding::warning("configuration", message)),
            DiagnosticLevel::Error => findings.push(Finding::error("configuration", message)),
        }
    }
    if let Err(error) = read_models_file::<ProviderConfig>(&agent_dir.models_file()) {
        let message = pi_host::describe_error(&error);
        if !findings
            .iter()
            .any(|known| known.message.contains(&message))
        {
            findings.push(Finding::error("configuration", message));
        }
    }
    if findings.is_empty() {
        let extensions = workspace.resources.extensions.len();
        let skills = workspace.resources.skills.len();
        let message = format!("settings are valid; {extensions} extensions, {skills} skills");
        findings.push(Finding::ok("configuration", message));
    }
    findings
}

async fn credentials(agent_dir: &AgentDir) -> Vec<Finding> {
    let area = "credentials";
    let file = AuthFile::new(agent_dir.auth_file());
    match pi_auth::CredentialStore::list(&file).await {
        Err(error) => vec![Finding::error(area, pi_host::describe_error(&error))],
        Ok(stored) if stored.is_empty() => {
            vec![Finding::ok(
                area,
                "none are stored; environment variables may provide some",
            )]
        }
        Ok(stored) => {
            let mut names: Vec<String> = stored.into_iter().map(|it| it.provider).collect();
            names.sort();
            vec![Finding::ok(
                area,
                format!("stored for {}", names.join(", ")),
            )]
        }
    }
}

fn mcp_servers(
    agent_dir: &AgentDir,
    cwd: &Path,
    project: ProjectAccess,
    _env: &Env,
) -> Vec<Finding> {
    let area = "mcp";
    let settings = SettingsStore::open(agent_dir, cwd, ProjectAccess::Denied);
    let config = load_mcp_config(McpConfigFiles {
        agent_dir,
        cwd,
        project,
        dot_mcp_json: settings.settings().mcp.dot_mcp_json.unwrap_or_default(),
        more: &[],
    });
    let mut findings: Vec<Finding> = config
        .errors
        .iter()
        .map(|error| Finding::error(area, error.clone()))
        .collect();
    if findings.is_empty() {
        let message = match config.servers.len() {
            0 => "no servers are configured".to_owned(),
            count => format!("{count} servers are configured; `pi mcp list` connects to them"),
        };
        findings.push(Finding::ok(area, message));
    }
    findings
}

fn sessions(agent_dir: &AgentDir) -> Finding {
    let root = sessions_root(agent_dir.path());
    let files = listing::files(SearchScope::AllProjects(&root));
    let unreadable = files.iter().filter(|file| fs::File::open(file).is_err());
    match unreadable.count() {
        0 => Finding::ok("sessions", format!("{} files", files.len())),
        count => Finding::error("sessions", format!("{count} files cannot be read"))
            .fix("pi fsck --all checks the sessions of every project"),
    }
}

/// Finds locks of killed processes.
fn locks(directory: &Path) -> Vec<Finding> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        let is_lock = path.extension().is_some_and(|it| it == "lock") && path.is_dir();
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        let age = modified.map(|modified| SystemTime::now().duration_since(modified));
        if is_lock && matches!(age, Ok(Ok(age)) if age > LOCK_AGE) {
            let message = format!("{} was left by a killed process", path.display());
            let fix = format!("rmdir {}", path.display());
            findings.push(Finding::warning("locks", message).fix(fix));
        }
    }
    findings
}
