//! Collects the results of a batch in a directory.

use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use crate::engine::{EngineError, FleetEngine, RunOverview};
use crate::store::{ArtifactStore, StoreError};

/// Why results cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A worker has recorded it.
    #[error("the run `{run}` has a file with an invalid name: `{name}`")]
    InvalidName { run: String, name: String },
}

/// Writes `results.jsonl`, `preds.json` (the format of SWE-bench), and the sessions, patches and artifacts of the finished
/// runs. Returns their number.
pub async fn write_results(
    engine: &dyn FleetEngine,
    store: Option<&ArtifactStore>,
    runs: &[RunOverview],
    out: &Path,
) -> Result<usize, ResultsError> {
    pi_fs::private::create_directory(out).map_err(|error| write_error(out, error))?;
    let results = out.join("results.jsonl");
    let mut lines = String::new();
    let mut predictions = Vec::new();
    let mut count = 0;
    for run in runs {
        let Some(result) = &run.state.result else {
            continue;
        };
        count += 1;
        let line = serde_json::to_string(result);
        lines.push_str(&line.map_err(|error| write_error(&results, error.into()))?);
        lines.push('\n');
        for name in result.files() {
            if !is_inside(&name) {
                let run = result.run.clone();
                return Err(ResultsError::InvalidName { run, name });
            }
            let content = match store {
                Some(store) => store.get(&result.batch(), &name).await?,
                None => engine.read_file(&name).await?,
            };
            write(&out.join(&name), &content)?;
            if result.patch.as_ref() == Some(&name) {
                predictions.push(json!({
                    "instance_id": result.task,
                    "model_name_or_path": run.task.model.as_deref().unwrap_or("pi"),
                    "model_patch": String::from_utf8_lossy(&content),
                }));
            }
        }
    }
    write(&results, lines.as_bytes())?;
    let path = out.join("preds.json");
    let predictions = serde_json::to_string_pretty(&predictions);
    let predictions = predictions.map_err(|error| write_error(&path, error.into()))?;
    write(&path, predictions.as_bytes())?;
    Ok(count)
}

/// Whether a path cannot leave the directory of its batch.
fn is_inside(name: &str) -> bool {
    let mut components = Path::new(name).components();
    components.all(|one| matches!(one, Component::Normal(_)))
}

fn write(path: &Path, content: &[u8]) -> Result<(), ResultsError> {
    let created = path
        .parent()
        .map_or(Ok(()), pi_fs::private::create_directory);
    let written = created
        .and_then(|()| pi_fs::atomic_file::write(path, content, pi_fs::NewFileMode::Private));
    written.map_err(|error| write_error(path, error))
}

fn write_error(path: &Path, source: io::Error) -> ResultsError {
    ResultsError::Write {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{LocalEngine, NextRun};
    use crate::record::{LogEntry, RunRecord};
    use crate::task::parse_tasks;

    #[tokio::test]
    async fn results_cannot_leave_their_directory() {
        for name in ["../outside", "/outside", "patches/../../outside"] {
            let directory = tempfile::tempdir().unwrap();
            let batch = directory.path().join("b");
            let engine = LocalEngine::open(&batch).unwrap();
            let tasks = parse_tasks(r#"{"id":"a","prompt":"x"}"#).unwrap();
            engine.submit(&tasks).await.unwrap();
            let NextRun::Run(delivery) = engine.next().await.unwrap() else {
                panic!("no run");
            };
            let result = json!({
                "task": "a", "run": "b/a", "status": "done", "exit": 0, "turns": 1, "cost": 0.5, "patch": name,
                "usage": {"input": 1, "output": 1, "cacheRead": 0}, "attempts": 1, "cutRequests": 0,
                "interruptedCalls": 0, "workers": [], "artifacts": [],
            });
            let result = serde_json::from_value(result).unwrap();
            let end = LogEntry::new(1, RunRecord::End { result });
            let mut log = engine.open(&delivery).await.unwrap();
            log.append(end, Vec::new()).await.unwrap();
            std::fs::write(directory.path().join("outside"), "x").unwrap();
            let runs = engine.overview().await.unwrap();
            let out = directory.path().join("results/of/b");
            let error = write_results(&engine, None, &runs, &out).await.unwrap_err();
            assert!(matches!(error, ResultsError::InvalidName { .. }), "{error}");
            assert!(!directory.path().join("results/of/outside").exists());
        }
    }
}
