//! The end of a run: its check, its files, its result.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::artifacts::{self, CopiedArtifacts};
use super::supervise::Unready;
use super::{ActiveRun, DriveError, RunEnd, STORE_ATTEMPTS, STORE_RETRY};
use crate::record::RunRecord;
use crate::regular_file;
use crate::run_result::{RunResult, RunStatus, VerifyResult};
use crate::session_file::{self, SessionSummary};
use crate::store::ArtifactStore;
use crate::workspace::WorkspaceError;

impl ActiveRun<'_> {
    /// Ends a run whose agent has settled: the check decides whether its task is done.
    pub(super) async fn finish_settled(&mut self) -> Result<Option<RunEnd>, DriveError> {
        let session = self.summary()?;
        let failed = match session.last_stop.as_deref() {
            Some("error" | "aborted") => Some(
                session
                    .last_error
                    .unwrap_or_else(|| "the agent ended with an error".to_owned()),
            ),
            Some(_) => None,
            None => Some("the agent ended without a response".to_owned()),
        };
        if failed.is_some() {
            return self.finish(RunStatus::Failed, failed).await;
        }
        let Some(command) = &self.task.verify else {
            return self.finish(RunStatus::Done, None).await;
        };
        let started = Instant::now();
        let ran = match self.supervise(self.workspace.shell(command)).await {
            Ok(ran) => ran,
            Err(Unready::Interrupted(interruption)) => return self.end_early(interruption).await,
            Err(Unready::Workspace(error)) => Err(error),
            Err(Unready::Drive(error)) => return Err(error),
        };
        let (exit, output) = match ran {
            Ok(ran) => (ran.status.code().unwrap_or(-1), ran.tail),
            Err(error) => (-1, error.to_string()),
        };
        let seconds = started.elapsed().as_secs();
        let verify = Some(VerifyResult { exit, seconds });
        if exit == 0 {
            return self.store_result(RunStatus::Done, None, verify).await;
        }
        let error = Some(format!("verify exited with code {exit}: {output}"));
        self.store_result(RunStatus::Failed, error, verify).await
    }

    /// Ends a run without a check.
    pub(super) async fn finish(
        &mut self,
        status: RunStatus,
        error: Option<String>,
    ) -> Result<Option<RunEnd>, DriveError> {
        self.store_result(status, error, None).await
    }

    /// Stores the files and the result of a run.
    async fn store_result(
        &mut self,
        status: RunStatus,
        error: Option<String>,
        verify: Option<VerifyResult>,
    ) -> Result<Option<RunEnd>, DriveError> {
        let session = self.summary()?;
        let mut status = status;
        let mut problems = Vec::new();
        let patch = match self.write_patch().await? {
            Ok(patch) => patch,
            Err(problem) => {
                problems.push(format!("cannot create the patch: {problem}"));
                None
            }
        };
        let copied = self.copy_artifacts().await?;
        problems.extend(copied.problems);
        if status == RunStatus::Done && !problems.is_empty() {
            // A run without its changes or files is not done.
            status = RunStatus::Failed;
        }
        let error: Vec<String> = error.into_iter().chain(problems).collect();
        let error = (!error.is_empty()).then(|| error.join("; "));
        let error = error.map(|error| self.mask.apply_to_text(&error));
        let state = self.log.state();
        let result = RunResult {
            task: self.task.id.clone(),
            run: format!("{}/{}", self.delivery.batch, self.task.id),
            exit: i32::from(status != RunStatus::Done),
            status,
            verify,
            turns: session.turns,
            cost: session.cost,
            usage: session.usage,
            attempts: state.attempts,
            cut_requests: state.cut_requests,
            interrupted_calls: session.interrupted_calls,
            workers: state.workers.clone(),
            session: self.session_file()?.and_then(|file| {
                let name = file.strip_prefix(&self.batch).ok()?;
                Some(name.to_string_lossy().into_owned())
            }),
            patch,
            artifacts: copied.names,
            error,
        };
        let total = self.log.state().past_cost + result.cost;
        self.driver.budget.set(&self.task.id, total);
        self.charge(result.cost, 0.0).await?;
        self.store_files(&result).await?;
        let record = RunRecord::End {
            result: Box::new(result.clone()),
        };
        self.record(record, Vec::new()).await?;
        // The result is stored; what is left of the workspace is only disk space.
        self.workspace.remove().await.ok();
        self.processes.forget_agents(self.log.state().epoch);
        Ok(Some(RunEnd::Finished(result)))
    }

    fn summary(&self) -> Result<SessionSummary, DriveError> {
        match self.session_file()? {
            Some(file) => session_file::summarize(&file, u64::MAX).map_err(DriveError::Session),
            None => Ok(SessionSummary::default()),
        }
    }

    /// Writes the changes of the workspace up to its last snapshot; returns the name of the file. The inner error is one
    /// of the task.
    async fn write_patch(&self) -> Result<Result<Option<String>, WorkspaceError>, DriveError> {
        let Some((base, tree)) = &self.log.state().workspace else {
            return Ok(Ok(None));
        };
        if !self.workspace.exists() {
            return Ok(Ok(None));
        }
        let patch = match self.workspace.patch(base, tree).await {
            Ok(patch) => patch,
            Err(error) => return Ok(Err(error)),
        };
        let directory = self.batch.join("patches");
        let file = directory.join(format!("{}.patch", self.task.id));
        write_private(&file, &self.mask.apply(patch))
            .map_err(|error| results_error(&file, error))?;
        Ok(Ok(name_in("patches")(&file)))
    }

    /// Stores the files of a result where clients of other machines find them.
    async fn store_files(&self, result: &RunResult) -> Result<(), DriveError> {
        for name in result.files() {
            let path = self.batch.join(&name);
            let content = regular_file::read(&path).map_err(|error| results_error(&path, error))?;
            let content = self.mask.apply(content);
            if let Some(store) = &self.driver.options.resources.store {
                self.put(store, &name, content).await?;
                continue;
            }
            let engine = &self.driver.engine;
            let store = || engine.store_file(self.delivery, &name, &content);
            self.driver.when_reachable(store).await?;
        }
        Ok(())
    }

    /// Stores a file at a URL; several times, since a new start only to store it would be in vain.
    async fn put(
        &self,
        store: &ArtifactStore,
        name: &str,
        content: Vec<u8>,
    ) -> Result<(), DriveError> {
        let content = bytes::Bytes::from(content);
        let mut delay = STORE_RETRY;
        for _ in 1..STORE_ATTEMPTS {
            let stored = store.put(&self.delivery.batch, name, content.clone()).await;
            if stored.is_ok() {
                return Ok(());
            }
            let waiting = tokio::time::sleep(delay);
            if self
                .driver
                .stop
                .run_until_cancelled(waiting)
                .await
                .is_none()
            {
                return Ok(stored?);
            }
            delay *= 2;
        }
        Ok(store.put(&self.delivery.batch, name, content).await?)
    }

    /// Copies the files that the task asks for.
    async fn copy_artifacts(&self) -> Result<CopiedArtifacts, DriveError> {
        let directory = self.batch.join("artifacts").join(&self.task.id);
        let target = directory.clone();
        let patterns = self.task.artifacts.clone();
        let (workspace, mask) = (self.workspace.path.clone(), self.mask.clone());
        let copying = move || artifacts::copy(&workspace, &patterns, &target, &mask);
        let copied = tokio::task::spawn_blocking(copying).await;
        let copied = copied.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
        copied.map_err(|error| results_error(&directory, error))
    }
}

fn name_in(directory: &'static str) -> impl Fn(&Path) -> Option<String> {
    move |path| {
        Some(format!(
            "{directory}/{}",
            path.file_name()?.to_string_lossy()
        ))
    }
}

fn results_error(path: &Path, source: io::Error) -> DriveError {
    DriveError::Results {
        path: path.to_owned(),
        source,
    }
}

pub(super) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        pi_fs::private::create_directory(parent)?;
    }
    pi_fs::atomic_file::write(path, content, pi_fs::NewFileMode::Private)
}
