//! Fleets of many machines: where the engine is, and the commands that only they have.

use std::path::Path;
use std::sync::Arc;

use pi_env::Env;
use pi_fs::NewFileMode;
use tokio_util::sync::CancellationToken;

use super::batches::Batches;
use super::signals::Signals;
use super::words::{Failure, SubmitArgs, WorkerArgs};
use super::{
    BUDGET_REACHED, INTERRUPTED, SLOTS, STOPPING, SUCCESS, eprint_line, print, programs,
    reopen_with_new_prompts, result_line, worker_name,
};
use crate::budget::Budget;
use crate::driver::{DriverOptions, WorkerResources};
use crate::engine::{
    CREDENTIALS_VARIABLE, EngineError, FleetEngine as _, NatsEngine, NatsOptions, URL_VARIABLE,
};
use crate::run_result::RunResult;
use crate::settings::FleetSettings;
use crate::store::ArtifactStore;
use crate::worker_pool::{WhenEmpty, WorkerPool};

/// What the command line says about the engine.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RemoteArgs {
    pub(super) engine: Option<String>,
    pub(super) fleet: Option<String>,
    pub(super) artifacts: Option<String>,
}

impl RemoteArgs {
    /// Takes the options of the engine from the words of any command.
    pub(super) fn take(words: &mut Vec<String>) -> Result<Self, Failure> {
        Ok(Self {
            engine: take_option(words, "--engine")?,
            fleet: take_option(words, "--fleet")?,
            artifacts: take_option(words, "--artifacts")?,
        })
    }

    /// Opens the store of results; `None` if they are stored with the engine.
    pub(super) fn store(&self, settings: &FleetSettings) -> Result<Option<ArtifactStore>, Failure> {
        let Some(url) = self.artifacts.as_ref().or(settings.artifacts.as_ref()) else {
            return Ok(None);
        };
        let store = ArtifactStore::open(url);
        store
            .map(Some)
            .map_err(|error| Failure::new(error.to_string()))
    }

    /// Connects to the engine; `None` for that of this machine.
    pub(super) async fn connect(
        &self,
        env: &Env,
        settings: &FleetSettings,
        labels: Vec<String>,
    ) -> Result<Option<NatsEngine>, Failure> {
        let variable = |name: &str| env.var(name).filter(|value| !value.is_empty());
        let engine = self.engine.clone();
        let engine = engine.or_else(|| variable(URL_VARIABLE));
        let Some(url) = engine.or_else(|| settings.engine.clone()) else {
            return Ok(None);
        };
        if url == "local" {
            return Ok(None);
        }
        let mut options = NatsOptions::new(url);
        options.labels = labels;
        if let Some(lease) = settings.lease {
            options.lease = lease;
        }
        if let Some(fleet) = &self.fleet {
            options.fleet.clone_from(fleet);
        }
        if let Some(path) = variable(CREDENTIALS_VARIABLE) {
            options.credentials = Some(read_credentials(Path::new(&path))?);
        }
        Ok(Some(connect(&options).await?))
    }
}

/// Which user of a server a command needs.
pub(super) const USERS: &str = "the user of PI_FLEET_CREDENTIALS may not do this: workers need `worker`, clients `submit`, resubmit \
                                and new fleets `admin`";

pub(super) async fn connect(options: &NatsOptions) -> Result<NatsEngine, Failure> {
    NatsEngine::connect(options, "").await.map_err(|error| {
        let failure = Failure::new(error.to_string());
        match error {
            EngineError::OldServer(_) => {
                failure.hint("older servers may accept two writers of one run: install a newer one")
            }
            EngineError::Denied(_) => failure.hint(USERS),
            EngineError::Server { .. } => failure.hint(format!(
                "start the engine with pi fleet up, and set {CREDENTIALS_VARIABLE} to a file that it wrote"
            )),
            _ => failure,
        }
    })
}

fn take_option(words: &mut Vec<String>, name: &str) -> Result<Option<String>, Failure> {
    let options = words.iter().take_while(|word| *word != "--");
    let Some(index) = options.into_iter().position(|word| word == name) else {
        return Ok(None);
    };
    words.remove(index);
    if index < words.len() {
        return Ok(Some(words.remove(index)));
    }
    Err(super::words::usage(format!("{name} needs a value")))
}

/// Reads a file with `USER:PASSWORD` that only its owner can read.
fn read_credentials(path: &Path) -> Result<(String, String), Failure> {
    let failed = |reason: String| Failure::new(format!("cannot use {}: {reason}", path.display()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(failed("other users can read it".to_owned())
                .hint(format!("chmod 600 {}", path.display())));
        }
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let found = text.trim().split_once(':');
    let (user, password) = found.ok_or_else(|| failed("expected USER:PASSWORD".to_owned()))?;
    Ok((user.to_owned(), password.to_owned()))
}

/// Returns the engine of a command that needs one.
pub(super) fn required(engine: Option<NatsEngine>) -> Result<NatsEngine, Failure> {
    engine.ok_or_else(|| {
        Failure::new("this command needs an engine for many machines").hint(format!(
            "pass --engine nats://HOST:4222, or set {URL_VARIABLE}"
        ))
    })
}

/// Adds tasks to the queue, and prints the name of their batch.
pub(super) async fn submit(
    engine: &NatsEngine,
    words: &SubmitArgs,
    settings: &FleetSettings,
) -> Result<u8, Failure> {
    let (name, tasks) = words.batch.load(settings)?;
    let engine = engine.batch(&name);
    engine.add(words.batch.cost).await?;
    let before = engine.overview().await?;
    let added = engine.submit(&tasks).await?;
    let reopened = reopen_with_new_prompts(&engine, &before, &tasks).await?;
    eprint_line(&format!("{added} of {} tasks are new", tasks.len()));
    if reopened > 0 {
        eprint_line(&format!(
            "{reopened} finished tasks continue with another prompt"
        ));
    }
    print(&name);
    Ok(SUCCESS)
}

/// Drives runs of all batches until it is stopped.
pub(super) async fn work(
    batches: &Batches,
    engine: NatsEngine,
    words: WorkerArgs,
    resources: WorkerResources,
) -> Result<u8, Failure> {
    let pi = programs::required(words.program.as_deref()).await?;
    let slots = words.slots.or(batches.settings().slots).unwrap_or(SLOTS);
    let stop = CancellationToken::new();
    let when_empty = if words.drain {
        WhenEmpty::Stop
    } else {
        WhenEmpty::Wait
    };
    let pool = WorkerPool {
        engine: Arc::new(engine),
        options: DriverOptions {
            batches: batches.all(),
            mirrors: batches.mirrors(),
            program: pi.path,
            pi_version: pi.version,
            arguments: words.arguments,
            worker: worker_name(),
            resources,
        },
        slots,
        when_empty,
        // The engine counts for all workers.
        budget: Arc::new(Budget::new(None)),
        limits: batches.settings().limits.clone(),
        stop: stop.clone(),
        on_result: Arc::new(|result: &RunResult| eprint_line(&result_line(result))),
        on_problem: Arc::new(|run, problem| {
            eprint_line(&format!("warning: {run}: {problem}"));
        }),
    };
    eprint_line(&format!("{}: {slots} slots", worker_name()));
    let mut signals = Signals::listen()?;
    let running = pool.run();
    let mut running = std::pin::pin!(running);
    let summary = loop {
        tokio::select! {
            biased;
            () = signals.next() => {
                if stop.is_cancelled() {
                    return Ok(INTERRUPTED);
                }
                eprint_line(STOPPING);
                stop.cancel();
            }
            summary = &mut running => break summary?,
        }
    };
    Ok(if summary.is_interrupted {
        INTERRUPTED
    } else if summary.is_out_of_budget {
        BUDGET_REACHED
    } else {
        SUCCESS
    })
}

/// Writes a file that only its owner can read.
pub(super) fn write_private(path: &Path, content: &str) -> Result<(), Failure> {
    pi_fs::atomic_file::write(path, content.as_bytes(), NewFileMode::Private)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn options_of_the_engine_are_taken_from_any_command() {
        let parse = |line: &str| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let remote = RemoteArgs::take(&mut words);
            remote.map(|remote| (remote, words.join(" "))).ok()
        };
        let (remote, rest) = parse("ls --engine nats://h b --fleet f").unwrap();
        assert_eq!(remote.engine.as_deref(), Some("nats://h"));
        assert_eq!(remote.fleet.as_deref(), Some("f"));
        assert_eq!(rest, "ls b");
        let (remote, rest) = parse("run t -- --engine x").unwrap();
        assert_eq!(
            (remote, rest.as_str()),
            (RemoteArgs::default(), "run t -- --engine x")
        );
        assert_eq!(parse("ls --engine"), None);
    }

    #[cfg(unix)]
    #[test]
    fn credentials_that_others_can_read_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("worker");
        write_private(&path, "worker:secret\n").unwrap();
        let expected = ("worker".to_owned(), "secret".to_owned());
        assert_eq!(read_credentials(&path).unwrap(), expected);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let failure = read_credentials(&path).unwrap_err();
        assert!(failure.cause.contains("other users"), "{failure:?}");
    }
}
