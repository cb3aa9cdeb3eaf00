//! The batches of this machine, directories below `fleet/` in the agent directory, or of a fleet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;
use pi_fs::file_lock::{LockState, try_lock};

use super::words::Failure;
use super::{SOME_FAILED, SUCCESS, print};
use crate::engine::{FleetEngine, LocalEngine, NatsEngine};
use crate::task::is_id;

/// Overrides the agent directory, as for pi.
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

pub(super) struct Batches {
    root: PathBuf,
    /// The engine of a fleet of many machines.
    remote: Option<NatsEngine>,
}

/// What a user names.
pub(super) enum Target {
    Batch(String),
    Run { batch: String, run: String },
}

impl Batches {
    pub(super) fn of(env: &Env, remote: Option<NatsEngine>) -> Result<Self, Failure> {
        let chosen = env.var(AGENT_DIR).filter(|path| !path.is_empty());
        let agent = match chosen {
            Some(path) => match (path.strip_prefix("~/"), env.home_dir()) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(path),
            },
            None => {
                let home = env.home_dir();
                let home = home.ok_or_else(|| Failure::new("cannot find the home directory"))?;
                home.join(".pi/agent")
            }
        };
        let root = std::path::absolute(agent.join("fleet"))
            .map_err(|error| Failure::new(format!("cannot use the agent directory: {error}")))?;
        Ok(Self { root, remote })
    }

    pub(super) fn mirrors(&self) -> PathBuf {
        self.root.join("mirrors")
    }

    /// The directory of the batches.
    pub(super) fn all(&self) -> PathBuf {
        self.root.join("batches")
    }

    pub(super) fn directory(&self, name: &str) -> PathBuf {
        self.all().join(name)
    }

    /// Creates the directory of a batch, unless it exists.
    pub(super) fn create(&self, name: &str) -> Result<PathBuf, Failure> {
        let directory = self.directory(name);
        pi_fs::private::create_directory(&directory).map_err(|error| {
            Failure::new(format!("cannot create {}: {error}", directory.display()))
        })?;
        Ok(directory)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) async fn open(&self, name: &str) -> Result<Arc<dyn FleetEngine>, Failure> {
        if let Some(remote) = &self.remote {
            if remote.batches().await?.iter().any(|batch| batch == name) {
                return Ok(Arc::new(remote.batch(name)));
            }
            return Err(Failure::new(format!("no batch `{name}`"))
                .hint("run pi fleet ls for the batches of this fleet"));
        }
        let directory = self.directory(name);
        if !is_id(name) || !directory.is_dir() {
            return Err(Failure::new(format!("no batch `{name}`"))
                .hint("run pi fleet ls for the batches of this machine"));
        }
        Ok(Arc::new(LocalEngine::open(&directory)?))
    }

    /// Returns the names of all batches, the latest last.
    pub(super) async fn names(&self) -> Result<Vec<String>, Failure> {
        match &self.remote {
            Some(remote) => Ok(remote.batches().await?),
            None => self.local_names(),
        }
    }

    fn local_names(&self) -> Result<Vec<String>, Failure> {
        let entries = match std::fs::read_dir(self.all()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                let path = self.root.display();
                return Err(Failure::new(format!("cannot read {path}: {error}")));
            }
        };
        let named = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let created = entry.path().join("batch.jsonl").metadata().ok()?.modified();
            Some((created.ok()?, entry.file_name().into_string().ok()?))
        });
        let mut named: Vec<_> = named.collect();
        named.sort();
        Ok(named.into_iter().map(|(_, name)| name).collect())
    }

    pub(super) async fn latest(&self) -> Result<String, Failure> {
        let latest = self.names().await?.pop();
        latest.ok_or_else(|| Failure::new("no batches"))
    }

    pub(super) async fn target(&self, text: &str) -> Result<Target, Failure> {
        match text.split_once('/') {
            Some(_) => {
                let (batch, run) = self.find_run(text).await?;
                Ok(Target::Run { batch, run })
            }
            None => {
                self.open(text).await?;
                Ok(Target::Batch(text.to_owned()))
            }
        }
    }

    /// Splits `BATCH/TASK`.
    pub(super) async fn find_run(&self, text: &str) -> Result<(String, String), Failure> {
        let Some((batch, run)) = text.split_once('/') else {
            return Err(
                Failure::new(format!("`{text}` is not a run")).hint("name it as BATCH/TASK")
            );
        };
        self.open(batch).await?;
        Ok((batch.to_owned(), run.to_owned()))
    }

    /// Returns the runs that a user names: one, or all of a batch that are not finished.
    pub(super) async fn runs(&self, target: &str) -> Result<Vec<(String, String)>, Failure> {
        Ok(match self.target(target).await? {
            Target::Run { batch, run } => vec![(batch, run)],
            Target::Batch(batch) => {
                let runs = self.open(&batch).await?.overview().await?;
                let open = runs.into_iter().filter(|run| run.state.result.is_none());
                open.map(|run| (batch.clone(), run.task.id)).collect()
            }
        })
    }

    /// Checks what runs need; returns the exit code.
    pub(super) async fn check(&self, program: Option<&str>) -> Result<u8, Failure> {
        let mut is_sound = true;
        let mut line = |name: &str, found: Result<String, String>| {
            let (mark, text) = match found {
                Ok(text) => ("ok", text),
                Err(text) => {
                    is_sound = false;
                    ("failed", text)
                }
            };
            print(&format!("{mark:7} {name}: {text}"));
        };
        line("git", version("git").await);
        let found = pi_program(program).map_err(|failure| failure.cause);
        let found = match found {
            Ok(path) => version(&path.to_string_lossy()).await,
            Err(cause) => Err(cause),
        };
        line("pi", found);
        line("file locks", self.check_locks());
        if let Some(remote) = &self.remote {
            // Connecting has checked the version.
            line("engine", Ok(remote.server_version()));
            let checked = if remote.may_delete_streams().await {
                Err("this user may delete streams: give workers the user `worker`".to_owned())
            } else {
                Ok("may not delete streams".to_owned())
            };
            line("permissions", checked);
        }
        Ok(if is_sound { SUCCESS } else { SOME_FAILED })
    }

    fn check_locks(&self) -> Result<String, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.root.display());
        pi_fs::private::create_directory(&self.root).map_err(failed)?;
        let path = self.root.join("check.lock");
        let open = || pi_fs::private::open_or_create(&path).map_err(failed);
        let (first, second) = (open()?, open()?);
        match (try_lock(&first, &path), try_lock(&second, &path)) {
            (LockState::Acquired, LockState::HeldElsewhere) => Ok(self.root.display().to_string()),
            (LockState::HeldElsewhere, _) => Ok("held by another check".to_owned()),
            _ => Err(format!(
                "{} does not support file locks",
                self.root.display()
            )),
        }
    }
}

async fn version(program: &str) -> Result<String, String> {
    let output = tokio::process::Command::new(program)
        .arg("--version")
        .output()
        .await;
    match output {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
        Ok(output) => Err(format!("{program} exited with {}", output.status)),
        Err(error) => Err(format!("cannot start {program}: {error}")),
    }
}

/// Returns the pi program: the chosen one, or the one next to this program.
pub(super) fn pi_program(chosen: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(program) = chosen {
        return super::absolute(program);
    }
    let this = std::env::current_exe().ok();
    let directory = this.as_deref().and_then(Path::parent);
    let name = if cfg!(windows) { "pi.exe" } else { "pi" };
    let next = directory.map(|directory| directory.join(name));
    next.filter(|path| path.is_file()).ok_or_else(|| {
        Failure::new("cannot find pi next to this program").hint("pass --pi PROGRAM")
    })
}
