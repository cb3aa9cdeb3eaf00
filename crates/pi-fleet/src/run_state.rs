//! What the log of a run says.

use pi_protocol::SessionUsage;
use serde::{Deserialize, Serialize};

use crate::record::{LogEntry, RunRecord};
use crate::run_result::RunResult;

/// The state of a run after the records of its log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunState {
    /// The epoch of the last claim; 0 if no worker has claimed the run.
    pub epoch: u64,
    /// Number of starts since the run was opened.
    pub attempts: u32,
    /// Number of starts since the last new response.
    pub fruitless_attempts: u32,
    pub cut_requests: u32,
    /// Workers in the order of their first claim.
    pub workers: Vec<String>,
    /// How often the run was opened again.
    pub round: u32,
    /// The session file is complete up to here.
    pub length: u64,
    /// The calls that may have started since.
    pub begun: Vec<String>,
    /// Whether a request may have been sent since.
    pub has_requested: bool,
    pub usage: SessionUsage,
    /// The last snapshot of the workspace, with the commit it is based on.
    pub workspace: Option<(String, String)>,
    /// Number of control messages that were delivered.
    pub delivered: u64,
    pub result: Option<RunResult>,
}

impl RunState {
    pub fn of<'entries>(entries: impl IntoIterator<Item = &'entries LogEntry>) -> Self {
        let mut state = Self::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    pub(crate) fn apply(&mut self, entry: &LogEntry) {
        self.epoch = self.epoch.max(entry.epoch);
        match &entry.record {
            RunRecord::Claim { worker, cut, .. } => {
                self.attempts += 1;
                self.fruitless_attempts += 1;
                self.cut_requests += u32::from(*cut);
                if !self.workers.contains(worker) {
                    self.workers.push(worker.clone());
                }
            }
            RunRecord::Bytes {
                length,
                calls,
                usage,
            } => {
                self.length = *length;
                self.begun.clone_from(calls);
                self.has_requested = usage.is_some();
                if let Some(usage) = usage {
                    if usage.turns > self.usage.turns {
                        self.fruitless_attempts = 0;
                    }
                    self.usage = *usage;
                }
            }
            RunRecord::Tree { base, tree } => {
                self.workspace = Some((base.clone(), tree.clone()));
            }
            RunRecord::Control { delivered } => self.delivered = *delivered,
            RunRecord::End { result } => self.result = Some(RunResult::clone(result)),
            RunRecord::Reopen => {
                *self = Self {
                    epoch: self.epoch,
                    round: self.round + 1,
                    delivered: self.delivered,
                    ..Self::default()
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn claim(worker: &str) -> RunRecord {
        RunRecord::Claim {
            worker: worker.to_owned(),
            attempt: 1,
            cut: false,
            version: "1".to_owned(),
        }
    }

    fn request(turns: u64) -> RunRecord {
        let usage = SessionUsage {
            turns,
            ..SessionUsage::default()
        };
        RunRecord::Bytes {
            length: 10 * turns,
            calls: Vec::new(),
            usage: Some(usage),
        }
    }

    fn calls(ids: &[&str]) -> RunRecord {
        RunRecord::Bytes {
            length: 7,
            calls: ids.iter().map(|id| (*id).to_owned()).collect(),
            usage: None,
        }
    }

    fn state(records: Vec<RunRecord>) -> RunState {
        let entries: Vec<_> = records
            .into_iter()
            .map(|record| LogEntry::new(1, record))
            .collect();
        RunState::of(&entries)
    }

    #[test]
    fn calls_have_begun_until_the_next_barrier() {
        assert_eq!(state(vec![calls(&["a", "b"])]).begun, ["a", "b"]);
        assert_eq!(state(vec![calls(&["a"]), calls(&["b"])]).begun, ["b"]);
        let state = state(vec![calls(&["a"]), request(1)]);
        assert!(state.begun.is_empty() && state.has_requested);
    }

    #[test]
    fn only_starts_without_a_new_response_count_as_fruitless() {
        let state = state(vec![
            claim("a"),
            request(0),
            claim("a"),
            request(1),
            claim("b"),
            request(1),
            claim("b"),
        ]);
        assert_eq!((state.attempts, state.fruitless_attempts), (4, 2));
        assert_eq!(state.workers, ["a", "b"]);
    }

    #[test]
    fn a_run_that_is_opened_again_starts_over() {
        let state = state(vec![claim("a"), calls(&["a"]), RunRecord::Reopen]);
        assert_eq!((state.attempts, state.round, state.epoch), (0, 1, 1));
        assert!(state.begun.is_empty());
    }
}
