//! The batches of this machine, directories below `fleet/` in the agent directory, or of a fleet.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_env::Env;

use super::words::Failure;
use crate::driver::WorkerResources;
use crate::engine::{FleetEngine, LocalEngine, NatsEngine, RunOverview};
use crate::secrets::SecretStore;
use crate::settings::{self, FleetSettings};
use crate::store::ArtifactStore;
use crate::task::is_id;
use crate::workspace::ContainerOptions;

/// Overrides the agent directory, as for pi.
const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";

pub(super) struct Batches {
    root: PathBuf,
    /// The engine of a fleet of many machines.
    remote: Option<NatsEngine>,
    settings: FleetSettings,
}

/// What a user names.
pub(super) enum Target {
    Batch(String),
    Run { batch: String, run: String },
}

impl Batches {
    pub(super) fn of(env: &Env) -> Result<Self, Failure> {
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
        let settings = settings::read(&agent).map_err(|error| {
            let path = agent.join("settings.json");
            Failure::new(format!("cannot read settings: {}: {error}", path.display()))
        })?;
        Ok(Self {
            root,
            remote: None,
            settings,
        })
    }

    /// Works on the batches of a fleet instead of those of this machine.
    pub(super) fn use_engine(&mut self, remote: Option<NatsEngine>) {
        self.remote = remote;
    }

    pub(super) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    pub(super) fn remote(&self) -> Option<&NatsEngine> {
        self.remote.as_ref()
    }

    pub(super) fn settings(&self) -> &FleetSettings {
        &self.settings
    }

    /// Returns what a worker provides to runs. Secrets of the command line replace those of the settings.
    pub(super) fn resources(
        &self,
        env: &Env,
        secrets: &[(String, String)],
        store: Option<ArtifactStore>,
    ) -> Result<WorkerResources, Failure> {
        let sources = self
            .settings
            .secrets
            .iter()
            .chain(secrets.iter().map(|(name, source)| (name, source)));
        let sources = sources.map(|(name, source)| (name.as_str(), source.as_str()));
        let secrets = SecretStore::new(sources, env).map_err(|error| {
            Failure::new(error.to_string()).hint("see pi docs fleet for secrets")
        })?;
        let agent = self.root.parent().unwrap_or(&self.root).to_owned();
        Ok(WorkerResources {
            secrets: secrets.with_credentials(agent.join("auth.json")),
            store,
            container: ContainerOptions::new(self.settings.container.clone(), agent),
        })
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
        latest.ok_or_else(|| {
            Failure::new("no batches")
                .hint("start one with pi fleet run TASKS, or pi fleet submit TASKS")
        })
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
                super::warn_of_problems(&runs);
                let is_open =
                    |run: &RunOverview| run.state.result.is_none() && run.problem.is_none();
                let open = runs.into_iter().filter(is_open);
                open.map(|run| (batch.clone(), run.task.id)).collect()
            }
        })
    }
}
