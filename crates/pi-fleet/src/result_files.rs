//! Collects the results of a batch in a directory.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::json;

use crate::engine::RunOverview;

/// Writes `results.jsonl`, `preds.json` (the format of SWE-bench), and the sessions, patches and artifacts of the finished
/// runs. Returns their number.
pub fn write_results(batch: &Path, runs: &[RunOverview], out: &Path) -> io::Result<usize> {
    pi_fs::private::create_directory(out)?;
    let mut lines = String::new();
    let mut predictions = Vec::new();
    let mut count = 0;
    for run in runs {
        let Some(result) = &run.state.result else {
            continue;
        };
        count += 1;
        lines.push_str(&serde_json::to_string(result)?);
        lines.push('\n');
        let artifacts = result.artifacts.iter();
        let artifacts = artifacts.map(|name| format!("artifacts/{}/{name}", result.task));
        let files = result.session.iter().chain(&result.patch).cloned();
        for name in files.chain(artifacts) {
            copy(&batch.join(&name), &out.join(&name))?;
        }
        if let Some(patch) = &result.patch {
            let patch = fs::read(batch.join(patch))?;
            predictions.push(json!({
                "instance_id": result.task,
                "model_name_or_path": run.task.model.as_deref().unwrap_or("pi"),
                "model_patch": String::from_utf8_lossy(&patch),
            }));
        }
    }
    write(&out.join("results.jsonl"), lines.as_bytes())?;
    let predictions = serde_json::to_string_pretty(&predictions)?;
    write(&out.join("preds.json"), predictions.as_bytes())?;
    Ok(count)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    write(to, &fs::read(from)?)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        pi_fs::private::create_directory(parent)?;
    }
    pi_fs::atomic_file::write(path, content, pi_fs::NewFileMode::Private)
}
