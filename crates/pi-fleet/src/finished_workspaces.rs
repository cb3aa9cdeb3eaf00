//! Removes the workspaces of finished runs whose worker was killed between the end of the run and their removal.

use std::fs::File;
use std::path::Path;

use pi_fs::file_lock::{LockState, try_lock};

use crate::engine::LocalEngine;
use crate::run_state::RunState;
use crate::saved_runs;
use crate::task::{FleetTask, is_id};
use crate::workspace::{Mirrors, RunWorkspace};

/// Takes the lock that keeps other processes of this machine from the workspace of a run; `None` if one holds it.
pub(crate) fn lock(batch: &Path, run: &str) -> Option<File> {
    let path = batch.join("runs").join(format!("{run}.lock"));
    let file = pi_fs::private::open_or_create(&path).ok()?;
    (try_lock(&file, &path) == LockState::Acquired).then_some(file)
}

/// Removes the workspaces of finished runs of all batches of this machine. Those that cannot be removed now stay.
pub(crate) async fn remove(batches: &Path, mirrors: &Mirrors) {
    for batch in names(batches) {
        let directory = batches.join(&batch);
        for run in names(&directory.join("work")) {
            let Some(_lock) = lock(&directory, &run) else {
                continue;
            };
            let Some((task, state)) = stored_run(&directory, &run) else {
                continue;
            };
            if state.result.is_some() {
                let workspace =
                    RunWorkspace::new(&directory, &batch, &task, mirrors.clone(), Vec::new());
                workspace.remove().await.ok();
            }
        }
    }
}

/// Returns what this machine knows about a run: the log of its batch, or the copy of a worker.
fn stored_run(batch: &Path, run: &str) -> Option<(FleetTask, RunState)> {
    if batch.join("batch.jsonl").is_file() {
        return LocalEngine::open(batch).ok()?.stored_run(run);
    }
    saved_runs::read_run(&batch.join("runs"), run)
}

/// Returns the entries of a directory that can be batches or runs.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| is_id(name)).collect()
}
