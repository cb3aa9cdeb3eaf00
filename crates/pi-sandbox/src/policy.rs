//! What a sandbox allows: the settings applied to the directories of a session. No file is accessed here, except to resolve
//! links when a path is checked.

use std::path::{Path, PathBuf};

use pi_protocol::settings::{Checked, SandboxMode, SandboxNetwork, SandboxSettings};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::git_dirs::{COMMON_DIR, DOT_GIT};
use crate::path_pattern::{InvalidGlob, PathPatterns};
use crate::roots::Roots;

/// Files in the user's directory of pi with keys and tokens: of providers, of MCP servers, and of `pi serve`.
const CREDENTIALS: [&str; 3] = ["auth.json", "mcp-auth.json", "serve.json"];

/// Sockets of pi there, which steer sessions outside of the sandbox.
const OWN_SOCKETS: [&str; 2] = ["live", "serve.sock"];

/// What a confined process may access. Paths are absolute and real.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub mode: SandboxMode,
    /// Directories of the session; empty lists of `write` mean that they cannot be written.
    pub roots: Vec<PathBuf>,
    /// Directories and files that may be written.
    pub write: Vec<PathBuf>,
    /// In the mode `try`: temporary directories and caches. What a tried command writes there is discarded in any case.
    pub scratch: Vec<PathBuf>,
    /// Paths below `write` that may not be written, whether they exist or not.
    pub protect: Vec<PathBuf>,
    /// The user's directory of pi. A confined process sees what it contains when the process starts, without sockets and
    /// credentials.
    pub agent_dir: PathBuf,
    /// Everything else may be read.
    pub deny_read: PathPatterns,
    /// Sockets that lead out of the sandbox, and their directories.
    pub hidden_sockets: Vec<PathBuf>,
    pub network: SandboxNetwork,
}

#[derive(Debug, Error)]
pub enum InvalidPolicy {
    #[error("sandbox.{name}: invalid value {value}")]
    Value {
        name: &'static str,
        value: serde_json::Value,
    },
    #[error("sandbox.protect: `{0}` must be a relative path without `..`")]
    Protect(String),
    #[error("sandbox.denyRead: {0}")]
    Glob(#[from] InvalidGlob),
    #[error("the workspace is the root directory; start pi in the directory of a project")]
    RootDirectory,
}

impl Policy {
    /// Applies settings to the directories of a session. Returns `None` if they turn the sandbox off.
    pub fn new(settings: &SandboxSettings, roots: &Roots) -> Result<Option<Self>, InvalidPolicy> {
        let mode = valid("mode", settings.mode.as_ref())?.copied();
        let mode = mode.unwrap_or_default();
        if mode == SandboxMode::Off {
            return Ok(None);
        }
        if mode != SandboxMode::ReadOnly && roots.workspace.parent().is_none() {
            return Err(InvalidPolicy::RootDirectory);
        }
        valid("onDenied", settings.on_denied.as_ref())?;
        let network = valid("network", settings.network.as_ref())?.copied();
        let deny_read = match valid("denyRead", settings.deny_read.as_ref())? {
            Some(patterns) => PathPatterns::new(patterns, roots)?,
            None => PathPatterns::new(&SandboxSettings::DENY_READ, roots)?,
        };
        let protect = match valid("protect", settings.protect.as_ref())? {
            Some(paths) => paths.clone(),
            None => SandboxSettings::PROTECT.map(str::to_owned).into(),
        };
        let (write, scratch) = match mode {
            SandboxMode::Workspace => (writable_paths(settings, roots, &roots.caches), Vec::new()),
            SandboxMode::Try => (writable_paths(settings, roots, &[]), roots.caches.clone()),
            SandboxMode::Off | SandboxMode::ReadOnly => (Vec::new(), Vec::new()),
        };
        let own_sockets = OWN_SOCKETS.iter().map(|name| roots.agent_dir.join(name));
        Ok(Some(Self {
            mode,
            roots: vec![roots.workspace.clone()],
            write,
            scratch,
            protect: protected_paths(&protect, roots)?,
            deny_read: CREDENTIALS.iter().fold(deny_read, |deny_read, name| {
                deny_read.with_path(roots.agent_dir.join(name))
            }),
            hidden_sockets: own_sockets.chain(roots.sockets.iter().cloned()).collect(),
            agent_dir: roots.agent_dir.clone(),
            network: network.unwrap_or_default(),
        }))
    }

    /// Returns why a real path may not be written.
    pub fn check_write(&self, path: &Path) -> Result<(), crate::Denial> {
        use crate::Denial;
        if self.mode == SandboxMode::ReadOnly {
            return Err(Denial::ReadOnly(path.to_owned()));
        }
        if self.is_protected(path) {
            return Err(Denial::Protected(path.to_owned()));
        }
        let mut writable = self.write.iter().chain(&self.scratch);
        if !writable.any(|allowed| path.starts_with(allowed)) {
            return Err(Denial::Write(path.to_owned()));
        }
        // What may not be read may not be replaced.
        self.check_read(path)
    }

    /// Returns why a file may not be written at a real path. A directory above a protected path cannot become a file, which
    /// could lead to another directory.
    pub fn check_write_file(&self, path: &Path) -> Result<(), crate::Denial> {
        if self.is_above_protected(path) {
            return Err(crate::Denial::Protected(path.to_owned()));
        }
        self.check_write(path)
    }

    /// Returns why a real path may not be read.
    pub fn check_read(&self, path: &Path) -> Result<(), crate::Denial> {
        if self.deny_read.matches(path) {
            return Err(crate::Denial::Read(path.to_owned()));
        }
        Ok(())
    }

    /// Whether a real path may not be written although its directory may. A writable directory in a protected one is not
    /// protected, such as a worktree in the directory of pi.
    pub(crate) fn is_protected(&self, path: &Path) -> bool {
        let is_in = |protected: &Path| {
            let mut write = self.write.iter();
            is_below(path, protected)
                && !write.any(|write| {
                    write != protected && is_below(write, protected) && path.starts_with(write)
                })
        };
        self.protect.iter().any(|protected| {
            is_in(protected)
                // It may have been a link before the command.
                || protected.canonicalize().is_ok_and(|target| is_in(&target))
        })
    }

    /// Whether a protected path is below a path.
    pub(crate) fn is_above_protected(&self, path: &Path) -> bool {
        let mut protect = self.protect.iter();
        protect.any(|protected| protected != path && is_below(protected, path))
    }
}

/// Whether a path is a directory or below it, on file systems that ignore case, too.
fn is_below(path: &Path, directory: &Path) -> bool {
    let mut components = path.components();
    directory.components().all(|expected| {
        components.next().is_some_and(|component| {
            let (component, expected) = (component.as_os_str(), expected.as_os_str());
            component == expected
                || (cfg!(not(target_os = "linux")) && component.eq_ignore_ascii_case(expected))
        })
    })
}

fn valid<'a, T>(
    name: &'static str,
    value: Option<&'a Checked<T>>,
) -> Result<Option<&'a T>, InvalidPolicy> {
    match value {
        None => Ok(None),
        Some(Checked::Valid(value)) => Ok(Some(value)),
        Some(Checked::Invalid(value)) => Err(InvalidPolicy::Value {
            name,
            value: value.clone(),
        }),
    }
}

fn writable_paths(settings: &SandboxSettings, roots: &Roots, caches: &[PathBuf]) -> Vec<PathBuf> {
    let configured = settings.writable.iter().flatten();
    let mut write: Vec<PathBuf> = configured.map(|path| roots.resolve(path)).collect();
    write.push(roots.workspace.clone());
    write.extend(roots.git_dirs.iter().cloned());
    write.extend(caches.iter().cloned());
    write.sort();
    write.dedup();
    write
}

/// Returns the protected paths in the workspace and in the git directories that belong to it.
fn protected_paths(names: &[String], roots: &Roots) -> Result<Vec<PathBuf>, InvalidPolicy> {
    let mut protect = vec![roots.agent_dir.clone()];
    let mut protects_git = false;
    for name in names {
        let relative = Path::new(name);
        let is_plain = |component| matches!(component, std::path::Component::Normal(_));
        if name.is_empty() || !relative.components().all(is_plain) {
            return Err(InvalidPolicy::Protect(name.clone()));
        }
        protect.push(roots.workspace.join(relative));
        if let Ok(in_git) = relative.strip_prefix(DOT_GIT) {
            protect.extend(roots.git_dirs.iter().map(|git| git.join(in_git)));
            protects_git = true;
        }
    }
    if protects_git {
        // What is protected could otherwise be that of another directory.
        let dot_git = roots.workspace.join(DOT_GIT);
        let git_dirs = std::iter::once(&dot_git).chain(&roots.git_dirs);
        protect.extend(git_dirs.map(|git| git.join(COMMON_DIR)));
        protect.extend(roots.git_files.iter().cloned());
    }
    protect.sort();
    protect.dedup();
    Ok(protect)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn roots() -> Roots {
        Roots {
            workspace: "/var/code/project".into(),
            git_dirs: vec!["/var/code/.git".into()],
            git_files: vec!["/var/code/.git/worktrees/w/commondir".into()],
            home: Some("/home/me".into()),
            agent_dir: "/home/me/.pi/agent".into(),
            caches: vec!["/tmp".into()],
            sockets: vec!["/run/docker.sock".into()],
        }
    }

    fn policy(settings: serde_json::Value) -> Result<Option<Policy>, InvalidPolicy> {
        Policy::new(&serde_json::from_value(settings).unwrap(), &roots())
    }

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn nothing_is_confined_by_default() {
        assert_eq!(policy(json!({})).unwrap(), None);
        assert_eq!(policy(json!({ "mode": "off" })).unwrap(), None);
    }

    #[test]
    fn a_workspace_is_writable_except_for_what_runs_outside() {
        let policy = policy(json!({ "mode": "workspace", "writable": ["~/out", "sub"] }));
        let policy = policy.unwrap().unwrap();
        assert_eq!(
            policy.write,
            paths(&[
                "/home/me/out",
                "/tmp",
                "/var/code/.git",
                "/var/code/project",
                "/var/code/project/sub"
            ])
        );
        assert_eq!(
            policy.protect,
            paths(&[
                "/home/me/.pi/agent",
                "/var/code/.git/commondir",
                "/var/code/.git/config",
                "/var/code/.git/hooks",
                "/var/code/.git/worktrees/w/commondir",
                "/var/code/project/.git/commondir",
                "/var/code/project/.git/config",
                "/var/code/project/.git/hooks",
                "/var/code/project/.mcp.json",
                "/var/code/project/.pi",
            ])
        );
        for (path, is_allowed) in [
            ("/var/code/project/src/main.rs", true),
            ("/tmp/x", true),
            ("/var/code/.git/index", true),
            ("/var/code/.git/hooks/pre-commit", false),
            ("/var/code/project/.pi", false),
            ("/var/code/project/.pi/settings.json", false),
            ("/var/code/project/.env", false),
            ("/var/code/projects", false),
            ("/var/code", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(
                policy.check_write(Path::new(path)).is_ok(),
                is_allowed,
                "{path}"
            );
        }
    }

    #[test]
    fn a_directory_above_a_protected_path_stays_one() {
        let policy = policy(json!({ "mode": "workspace" })).unwrap().unwrap();
        for (path, is_allowed) in [
            ("/var/code/project/.git", false),
            ("/var/code/project/.git/index", true),
            ("/var/code/project/.github", true),
        ] {
            let path = Path::new(path);
            assert!(policy.check_write(path).is_ok(), "{path:?}");
            assert_eq!(
                policy.check_write_file(path).is_ok(),
                is_allowed,
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_worktree_in_the_directory_of_pi_is_writable() {
        let worktree = PathBuf::from("/home/me/.pi/agent/worktrees/one");
        let roots = Roots {
            workspace: worktree.clone(),
            ..roots()
        };
        let settings = serde_json::from_value(json!({ "mode": "workspace" })).unwrap();
        let policy = Policy::new(&settings, &roots).unwrap().unwrap();
        for (path, is_allowed) in [
            ("src/main.rs", true),
            (".pi/settings.json", false),
            ("../two/src/main.rs", false),
        ] {
            let path = roots.resolve(worktree.join(path).to_str().unwrap());
            assert_eq!(policy.check_write(&path).is_ok(), is_allowed, "{path:?}");
        }
    }

    #[test]
    fn secrets_cannot_be_read() {
        let policy = policy(json!({ "mode": "read-only" })).unwrap().unwrap();
        assert_eq!(policy.write, paths(&[]));
        for (path, is_allowed) in [
            ("/etc/passwd", true),
            ("/var/code/project/.env.example", true),
            ("/var/code/project/app/.env", false),
            ("/home/me/.ssh/id_ed25519", false),
            ("/home/me/.pi/agent/auth.json", false),
            ("/home/me/.pi/agent/mcp-auth.json", false),
            ("/home/me/.pi/agent/serve.json", false),
            ("/home/me/.pi/agent/settings.json", true),
        ] {
            assert_eq!(
                policy.check_read(Path::new(path)).is_ok(),
                is_allowed,
                "{path}"
            );
        }
        assert!(
            policy
                .check_write(Path::new("/var/code/project/x"))
                .is_err()
        );
    }

    #[test]
    fn invalid_settings_are_errors() {
        for (settings, error) in [
            (
                json!({ "mode": "strict" }),
                "sandbox.mode: invalid value \"strict\"",
            ),
            (
                json!({ "mode": "workspace", "network": 0 }),
                "sandbox.network: invalid value 0",
            ),
            (
                json!({ "mode": "workspace", "denyRead": ".env" }),
                "sandbox.denyRead: invalid value \".env\"",
            ),
            (
                json!({ "mode": "workspace", "protect": ["../x"] }),
                "sandbox.protect: `../x` must be a relative path without `..`",
            ),
        ] {
            assert_eq!(policy(settings).unwrap_err().to_string(), error);
        }
    }
}
