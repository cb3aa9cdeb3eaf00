//! Adds runs with their progress to a fleet, after its server has lost them.

use std::sync::Arc;

use super::log::NatsLog;
use super::{EngineError, NatsEngine, files};
use crate::engine::RunLog as _;
use crate::record::{LogEntry, RunRecord};
use crate::run_state::RunState;
use crate::task::FleetTask;

/// A run as a machine knows it.
pub(crate) struct SavedRun {
    pub(crate) task: FleetTask,
    pub(crate) state: RunState,
    /// The session file up to its length in the state.
    pub(crate) session: Vec<u8>,
    /// The objects of the last snapshot that its base does not have.
    pub(crate) pack: Vec<u8>,
    /// Files of the result, by name.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl NatsEngine {
    /// Adds a run to the batch; returns `false` if the fleet has it.
    pub(crate) async fn import(&self, saved: SavedRun) -> Result<bool, EngineError> {
        let run = self.run(&saved.task.id);
        let mut log = NatsLog::open(Arc::clone(&self.fleet.server), run).await?;
        if log.state().epoch > 0 {
            return Ok(false);
        }
        for (name, content) in &saved.files {
            files::store(self.server(), &self.batch, name, content).await?;
        }
        for (record, payload) in records(&saved) {
            let entry = LogEntry::new(saved.state.epoch.max(1), record);
            log.append(entry, payload)
                .await
                .map_err(|error| super::server_error("store the log of a run", &error))?;
        }
        // Only now may a worker take it.
        self.store(&[saved.task]).await?;
        Ok(true)
    }
}

/// Returns the records that lead to the state of a run.
fn records(saved: &SavedRun) -> Vec<(RunRecord, Vec<u8>)> {
    let state = &saved.state;
    let mut records = Vec::new();
    let mut add = |record: RunRecord, payload: Vec<u8>| records.push((record, payload));
    for _ in 0..state.round {
        let reopen = RunRecord::Reopen {
            prompt: None,
            delivered: 0,
        };
        add(reopen, Vec::new());
    }
    for (worker, attempt) in state.workers.iter().zip(1..) {
        let claim = RunRecord::Claim {
            worker: worker.clone(),
            attempt,
            cut: false,
            version: pi_env::release(),
            pi: String::new(),
        };
        add(claim, Vec::new());
    }
    if let Some((base, tree)) = &state.workspace {
        let (base, tree) = (base.clone(), tree.clone());
        add(RunRecord::Tree { base, tree }, saved.pack.clone());
    }
    let mut session = saved.session.as_slice();
    if let Some((prompt, length)) = &state.prompt {
        let length = usize::try_from(*length).unwrap_or(usize::MAX);
        let (before, after) = session.split_at(length.min(session.len()));
        let bytes = RunRecord::Bytes {
            length: before.len() as u64,
            calls: Vec::new(),
            usage: None,
            counted: None,
        };
        add(bytes, before.to_vec());
        let reopen = RunRecord::Reopen {
            prompt: Some(prompt.clone()),
            delivered: 0,
        };
        add(reopen, Vec::new());
        session = after;
    }
    let bytes = |calls: &[String], has_requested: bool| RunRecord::Bytes {
        length: saved.session.len() as u64,
        calls: calls.to_vec(),
        usage: has_requested.then_some(state.usage),
        counted: has_requested.then_some(state.counted),
    };
    // The usage of a run and its calls are in different records.
    add(bytes(&[], true), session.to_vec());
    if !state.begun.is_empty() || !state.has_requested {
        add(bytes(&state.begun, false), Vec::new());
    }
    if let Some(result) = &state.result {
        let result = Box::new(result.clone());
        add(RunRecord::End { result }, Vec::new());
    }
    records
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_records_lead_to_the_state_of_the_run() {
        let mut state = RunState {
            epoch: 4,
            attempts: 2,
            round: 1,
            workers: vec!["a".to_owned(), "b".to_owned()],
            length: 9,
            begun: vec!["call".to_owned()],
            workspace: Some(("base".to_owned(), "tree".to_owned())),
            ..RunState::default()
        };
        state.usage.turns = 3;
        state.counted = 0.5;
        for prompt in [None, Some(("more".to_owned(), 4))] {
            if prompt.is_some() {
                state.attempts = 0;
            }
            state.prompt = prompt;
            let saved = SavedRun {
                task: crate::task::parse_tasks(r#"{"id":"a","prompt":"x"}"#)
                    .unwrap()
                    .remove(0),
                state: state.clone(),
                session: b"123456789".to_vec(),
                pack: b"PACK".to_vec(),
                files: Vec::new(),
            };
            let records = records(&saved);
            let session: Vec<u8> = records
                .iter()
                .filter(|(record, _)| matches!(record, RunRecord::Bytes { .. }))
                .flat_map(|(_, payload)| payload.clone())
                .collect();
            assert_eq!(session, saved.session);
            let entries: Vec<_> = records
                .into_iter()
                .map(|(record, _)| LogEntry::new(state.epoch, record))
                .collect();
            assert_eq!(RunState::of(&entries), state);
        }
    }
}
