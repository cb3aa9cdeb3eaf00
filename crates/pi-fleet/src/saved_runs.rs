//! Copies of the state of runs on the machine of their worker. The log is in the engine; if it loses its disk, the copies
//! and the files next to them are what is left.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;

use crate::engine::{AppendError, RunContent, RunLog};
use crate::record::LogEntry;
use crate::run_state::RunState;
use crate::task::FleetTask;

const EXTENSION: &str = "copy";

/// A log whose state is also written to a file of this machine.
pub(crate) struct CopiedLog {
    log: Box<dyn RunLog>,
    file: File,
}

impl CopiedLog {
    /// Begins the copy of a run: a line with its task, then one with its state after each record.
    pub(crate) fn begin(runs: &Path, task: &FleetTask, log: Box<dyn RunLog>) -> io::Result<Self> {
        let path = runs.join(format!("{}.{EXTENSION}", task.id));
        let mut file = pi_fs::private::open_or_create(&path)?;
        file.set_len(0)?;
        file.write_all(&line(task)?)?;
        let mut copied = Self { log, file };
        copied.write()?;
        Ok(copied)
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.write_all(&line(self.log.state())?)
    }
}

fn line(value: &impl serde::Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

impl RunLog for CopiedLog {
    fn state(&self) -> &RunState {
        self.log.state()
    }

    fn is_portable(&self) -> bool {
        self.log.is_portable()
    }

    fn take_content(&mut self) -> RunContent {
        self.log.take_content()
    }

    fn check_owner(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        self.log.check_owner()
    }

    fn append(
        &mut self,
        entry: LogEntry,
        payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move {
            self.log.append(entry, payload).await?;
            // The log counts: a copy that cannot be written, as on a full disk, does not stop the run.
            self.write().ok();
            Ok(())
        })
    }
}

/// Reads the copies of a batch.
pub(crate) fn read(runs: &Path) -> io::Result<Vec<(FleetTask, RunState)>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(runs)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == EXTENSION)
        })
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        found.extend(read_file(&path)?);
    }
    Ok(found)
}

/// Reads the copy of one run; `None` if there is none that can be read.
pub(crate) fn read_run(runs: &Path, run: &str) -> Option<(FleetTask, RunState)> {
    let path = runs.join(format!("{run}.{EXTENSION}"));
    read_file(&path).ok().flatten()
}

fn read_file(path: &Path) -> io::Result<Option<(FleetTask, RunState)>> {
    let text = crate::journal::read(path)?;
    let mut lines = text.lines();
    let (Some(task), Some(state)) = (lines.next(), lines.next_back()) else {
        return Ok(None);
    };
    Ok(Some((
        serde_json::from_str(task)?,
        serde_json::from_str(state)?,
    )))
}
