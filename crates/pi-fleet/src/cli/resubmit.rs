//! `pi fleet resubmit`: adds the runs of a directory with their progress to a fleet.

use std::path::Path;

use super::batches::Batches;
use super::words::Failure;
use super::{SUCCESS, eprint_line, print};
use crate::engine::{FleetEngine as _, LocalEngine, NatsEngine, SavedRun};
use crate::regular_file;
use crate::run_state::RunState;
use crate::secrets::SecretStore;
use crate::session_file;
use crate::task::{FleetTask, is_id};
use crate::workspace::{Mirrors, RunWorkspace};

/// Adds the runs of a directory of a batch, of a worker or of `pi fleet run`.
pub(super) async fn resubmit(
    batches: &Batches,
    engine: &NatsEngine,
    secrets: &SecretStore,
    directory: &Path,
) -> Result<u8, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot read {}: {error}", directory.display()))
    };
    let directory = &std::path::absolute(directory).map_err(|error| failed(&error))?;
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let runs = directory.join("runs");
    if !is_id(&name) || !runs.is_dir() {
        let hint = format!("batches are below {}", batches.all().display());
        return Err(Failure::new(format!("{} is not a batch", directory.display())).hint(hint));
    }
    let mut saved = crate::saved_runs::read(&runs).map_err(|error| failed(&error))?;
    if directory.join("batch.jsonl").is_file() {
        for run in LocalEngine::open(directory)?.overview().await? {
            if run.is_active {
                let hint = "stop its pi fleet run first";
                return Err(
                    Failure::new(format!("{name}/{} is in progress", run.task.id)).hint(hint),
                );
            }
            if let Some(problem) = run.problem {
                let run = format!("{name}/{}", run.task.id);
                return Err(Failure::new(format!("cannot read {run}: {problem}")));
            }
            saved.push((run.task, run.state));
        }
    }
    let engine = engine.batch(&name);
    engine.add(None).await?;
    let mirrors = Mirrors::new(batches.mirrors());
    let (mut added, count) = (0, saved.len());
    for (task, state) in saved {
        let id = task.id.clone();
        let run = collect(directory, &name, &mirrors, secrets, task, state).await;
        let run =
            run.map_err(|error| Failure::new(format!("cannot resubmit {name}/{id}: {error}")))?;
        if engine.import(run).await? {
            added += 1;
        } else {
            eprint_line(&format!("{name}/{id} is in the fleet"));
        }
    }
    print(&format!("{added} of {count} runs were added to {name}."));
    Ok(SUCCESS)
}

/// Collects the files of a run. Secrets are hidden as its worker would, so their values must be known.
async fn collect(
    directory: &Path,
    batch: &str,
    mirrors: &Mirrors,
    secrets: &SecretStore,
    task: FleetTask,
    mut state: RunState,
) -> Result<SavedRun, String> {
    let failed = |error: std::io::Error| error.to_string();
    let variables = secrets.variables(&task.secrets).await;
    let variables = variables.map_err(|error| {
        format!("{error}, so its value cannot be hidden; add it to fleet.secrets of settings.json")
    })?;
    let mask = secrets.mask(&variables, task.repo.as_deref());
    let sessions = crate::driver::session_directory(directory, &task);
    let id = crate::driver::session_id(&task, state.round);
    let session = match session_file::find(&sessions, &id).map_err(failed)? {
        Some(file) => session_file::read_range(&file, 0..state.length)
            .map(|session| mask.apply(session))
            .map_err(failed)?,
        None if state.length == 0 => Vec::new(),
        None => return Err(format!("it has no session in {}", sessions.display())),
    };
    let workspace = RunWorkspace::new(directory, batch, &task, mirrors.clone(), Vec::new());
    let mut pack = Vec::new();
    if let Some((base, tree)) = &state.workspace {
        match workspace.pack(base, tree).await {
            Ok(found) => pack = found,
            // A finished run has its patch.
            Err(_missing) if state.result.is_some() => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    let mut files = Vec::new();
    for name in state
        .result
        .iter()
        .flat_map(crate::run_result::RunResult::files)
    {
        let content = regular_file::read(&directory.join(&name)).map_err(failed)?;
        files.push((name, mask.apply(content)));
    }
    // Messages stay in the old queue.
    state.delivered = 0;
    Ok(SavedRun {
        task,
        state,
        session,
        pack,
        files,
    })
}

#[cfg(test)]
mod tests {
    use pi_env::Env;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn secrets_are_hidden_in_sessions_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let line = r#"{"id":"a","prompt":"x","secrets":["token"]}"#;
        let task = crate::task::parse_tasks(line).unwrap().remove(0);
        for (name, content) in [
            ("sessions/1_a.jsonl", "{\"text\":\"value-of-token\"}\n"),
            ("patches/a.patch", "+value-of-token\n"),
        ] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let result = json!({
            "task": "a", "run": "b/a", "status": "done", "exit": 0, "turns": 1, "cost": 0.5, "patch": "patches/a.patch",
            "usage": {"input": 1, "output": 1, "cacheRead": 0}, "attempts": 1, "cutRequests": 0,
            "interruptedCalls": 0, "workers": [], "artifacts": [],
        });
        let state = RunState {
            length: 26,
            result: serde_json::from_value(result).unwrap(),
            ..RunState::default()
        };
        let collect = async |offered: &[(&str, &str)]| {
            let env = Env::fixed([("TOKEN", "value-of-token")]);
            let secrets = SecretStore::new(offered.iter().copied(), &env).unwrap();
            let mirrors = Mirrors::new(directory.path().join("mirrors"));
            let (task, state) = (task.clone(), state.clone());
            collect(directory.path(), "b", &mirrors, &secrets, task, state).await
        };
        let run = collect(&[("token", "$TOKEN")]).await.unwrap();
        assert_eq!(run.session, b"{\"text\":\"**************\"}\n");
        let patch = ("patches/a.patch".to_owned(), b"+**************\n".to_vec());
        assert_eq!(run.files, [patch]);
        let error = collect(&[]).await.err().unwrap();
        assert!(
            error.contains("does not offer the secret `token`"),
            "{error}"
        );
    }
}
