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
    /// What the run has cost before it was started over, in US dollars.
    pub past_cost: f64,
    /// What budgets have counted for the run, in US dollars.
    pub counted: f64,
    /// The last snapshot of the workspace, with the commit it is based on.
    pub workspace: Option<(String, String)>,
    /// A snapshot after calls whose results are not in the log yet. It replaces `workspace` together with them.
    pub next_workspace: Option<(String, String)>,
    /// Number of control messages that were delivered.
    pub delivered: u64,
    pub result: Option<RunResult>,
    /// The prompt with which the run was opened again, and the length of its session at that time.
    pub prompt: Option<(String, u64)>,
}

impl RunState {
    pub fn of<'entries>(entries: impl IntoIterator<Item = &'entries LogEntry>) -> Self {
        let mut state = Self::default();
        for entry in entries {
            state.apply(entry);
        }
        state
    }

    /// Returns what the run has cost, in US dollars, also before it was started over.
    pub(crate) fn total_cost(&self) -> f64 {
        let result = self.result.as_ref();
        self.past_cost + result.map_or(self.usage.cost, |result| result.cost)
    }

    pub(crate) fn apply(&mut self, entry: &LogEntry) {
        self.epoch = self.epoch.max(entry.epoch);
        match &entry.record {
            RunRecord::Claim { worker, cut, .. } => {
                // What the previous worker has not completed is undone.
                self.next_workspace = None;
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
                counted,
            } => {
                self.length = *length;
                self.begun.clone_from(calls);
                if let Some(workspace) = self.next_workspace.take() {
                    self.workspace = Some(workspace);
                }
                self.has_requested = usage.is_some();
                if let Some(usage) = usage {
                    if usage.turns > self.usage.turns {
                        self.fruitless_attempts = 0;
                    }
                    self.usage = *usage;
                    self.counted = counted.unwrap_or(usage.cost);
                }
            }
            RunRecord::Tree { base, tree } => {
                let workspace = Some((base.clone(), tree.clone()));
                if self.begun.is_empty() {
                    self.workspace = workspace;
                } else {
                    self.next_workspace = workspace;
                }
            }
            RunRecord::Control { delivered } => self.delivered = *delivered,
            RunRecord::Release { counted } => {
                // The start was not in vain: the run had to wait.
                self.fruitless_attempts = self.fruitless_attempts.saturating_sub(1);
                self.counted = *counted;
            }
            RunRecord::End { result } => self.result = Some(RunResult::clone(result)),
            RunRecord::Reopen {
                prompt: None,
                delivered,
            } => {
                *self = Self {
                    epoch: self.epoch,
                    round: self.round + 1,
                    past_cost: self.total_cost(),
                    delivered: self.delivered.max(*delivered),
                    ..Self::default()
                };
            }
            RunRecord::Reopen {
                prompt: Some(prompt),
                delivered,
            } => {
                self.prompt = Some((prompt.clone(), self.length));
                self.delivered = self.delivered.max(*delivered);
                self.result = None;
                self.begun.clear();
                (self.attempts, self.fruitless_attempts) = (0, 0);
                (self.cut_requests, self.has_requested) = (0, false);
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
            pi: String::new(),
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
            counted: None,
        }
    }

    fn calls(ids: &[&str]) -> RunRecord {
        RunRecord::Bytes {
            length: 7,
            calls: ids.iter().map(|id| (*id).to_owned()).collect(),
            usage: None,
            counted: None,
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
    fn a_snapshot_and_the_results_before_it_are_one_step() {
        let tree = |tree: &str| RunRecord::Tree {
            base: "b".to_owned(),
            tree: tree.to_owned(),
        };
        let stored = |state: &RunState| state.workspace.clone().unwrap().1;
        let mut records = vec![tree("1"), calls(&["a"]), tree("2")];
        assert_eq!(stored(&state(records.clone())), "1");
        let mut killed = records.clone();
        killed.extend([claim("b"), request(1)]);
        assert_eq!(stored(&state(killed)), "1");
        records.push(request(1));
        assert_eq!(stored(&state(records)), "2");
    }

    #[test]
    fn a_start_that_ended_in_the_queue_is_not_fruitless() {
        let release = RunRecord::Release { counted: 0.5 };
        let state = state(vec![
            claim("a"),
            request(0),
            release.clone(),
            claim("a"),
            release,
            claim("a"),
        ]);
        assert_eq!((state.attempts, state.fruitless_attempts), (3, 1));
        assert!((state.counted - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_run_that_is_opened_again_starts_over() {
        let usage = |cost| RunRecord::Bytes {
            length: 1,
            calls: Vec::new(),
            usage: Some(SessionUsage {
                cost,
                ..SessionUsage::default()
            }),
            counted: None,
        };
        let reopen = || RunRecord::Reopen {
            prompt: None,
            delivered: 3,
        };
        let again = state(vec![usage(0.5), reopen(), usage(0.25), reopen()]);
        assert!((again.total_cost() - 0.75).abs() < f64::EPSILON);
        let state = state(vec![claim("a"), calls(&["a"]), reopen()]);
        assert_eq!(state.delivered, 3);
        assert_eq!((state.attempts, state.round, state.epoch), (0, 1, 1));
        assert!(state.begun.is_empty());
    }
    #[test]
    fn a_run_with_another_prompt_keeps_its_session_and_files() {
        let tree = RunRecord::Tree {
            base: "b".to_owned(),
            tree: "t".to_owned(),
        };
        let state = state(vec![
            claim("a"),
            tree,
            request(2),
            RunRecord::Reopen {
                prompt: Some("more".to_owned()),
                delivered: 0,
            },
        ]);
        assert_eq!((state.attempts, state.round, state.length), (0, 0, 20));
        assert_eq!(state.prompt, Some(("more".to_owned(), 20)));
        assert!(state.workspace.is_some() && !state.has_requested);
    }
}
