//! Collects the results of a batch in a directory.

use std::io;
use std::path::Path;

use serde_json::json;

use crate::engine::{EngineError, FleetEngine, RunOverview};

/// Why results cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes `results.jsonl`, `preds.json` (the format of SWE-bench), and the sessions, patches and artifacts of the finished
/// runs. Returns their number.
pub async fn write_results(
    engine: &dyn FleetEngine,
    runs: &[RunOverview],
    out: &Path,
) -> Result<usize, ResultsError> {
    pi_fs::private::create_directory(out)?;
    let mut lines = String::new();
    let mut predictions = Vec::new();
    let mut count = 0;
    for run in runs {
        let Some(result) = &run.state.result else {
            continue;
        };
        count += 1;
        lines.push_str(&serde_json::to_string(result).map_err(io::Error::from)?);
        lines.push('\n');
        for name in result.files() {
            let content = engine.read_file(&name).await?;
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
    write(&out.join("results.jsonl"), lines.as_bytes())?;
    let predictions = serde_json::to_string_pretty(&predictions).map_err(io::Error::from)?;
    write(&out.join("preds.json"), predictions.as_bytes())?;
    Ok(count)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        pi_fs::private::create_directory(parent)?;
    }
    pi_fs::atomic_file::write(path, content, pi_fs::NewFileMode::Private)
}
