//! Names of streams and subjects of a fleet.

use sha2::{Digest as _, Sha256};

use crate::task::FleetTask;

/// Number of streams that share the logs: one stream has one writer in a cluster.
pub(super) const LOG_STREAMS: u8 = 16;

/// The consumers of the queue, in the order in which they are served.
pub(super) const CLASSES: [&str; 3] = ["high", "normal", "low"];

/// The label of runs that any worker takes.
pub(super) const ANY_LABEL: &str = "any";

/// Names of one fleet. Several fleets may use one server.
pub(super) struct Names {
    fleet: String,
}

impl Names {
    /// Returns the names; `None` if a fleet cannot have this name.
    pub(super) fn new(fleet: &str) -> Option<Self> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_valid = (1..=32).contains(&fleet.len()) && fleet.bytes().all(is_allowed);
        is_valid.then(|| Self {
            fleet: fleet.to_owned(),
        })
    }

    /// Returns the names of all streams.
    pub(super) fn streams(&self) -> Vec<String> {
        let logs = (0..LOG_STREAMS).map(|shard| self.log_stream(shard));
        let others = [
            self.runs_stream(),
            self.state_stream(),
            self.messages_stream(),
            self.files_stream(),
            self.costs_stream(),
            self.limits_stream(),
        ];
        others.into_iter().chain(logs).collect()
    }

    /// The queue.
    pub(super) fn runs_stream(&self) -> String {
        format!("PI_{}_RUNS", self.fleet)
    }

    /// Tasks and the last known state of each run.
    pub(super) fn state_stream(&self) -> String {
        format!("PI_{}_STATE", self.fleet)
    }

    /// Messages to runs.
    pub(super) fn messages_stream(&self) -> String {
        format!("PI_{}_MSG", self.fleet)
    }

    pub(super) fn log_stream(&self, shard: u8) -> String {
        format!("PI_{}_LOG_{shard}", self.fleet)
    }

    /// Files that runs leave.
    pub(super) fn files_stream(&self) -> String {
        format!("PI_{}_FILES", self.fleet)
    }

    /// What batches have cost.
    pub(super) fn costs_stream(&self) -> String {
        format!("PI_{}_COST", self.fleet)
    }

    /// Rate limits.
    pub(super) fn limits_stream(&self) -> String {
        format!("PI_{}_LIMIT", self.fleet)
    }

    fn class(priority: i64) -> &'static str {
        match priority {
            1.. => CLASSES[0],
            0 => CLASSES[1],
            _ => CLASSES[2],
        }
    }

    pub(super) fn queued(&self, class: &str, label: &str) -> String {
        format!("pi.{}.run.{class}.{label}.>", self.fleet)
    }

    pub(super) fn queue(&self, task: &FleetTask, run: &RunAddress) -> String {
        let class = Self::class(task.priority);
        let label = task.queue.as_deref().unwrap_or(ANY_LABEL);
        format!("pi.{}.run.{class}.{label}.{run}", self.fleet)
    }

    pub(super) fn task(&self, run: &RunAddress) -> String {
        format!("pi.{}.task.{run}", self.fleet)
    }

    pub(super) fn tasks(&self, batch: &str) -> String {
        format!("pi.{}.task.{}.*", self.fleet, token(batch))
    }

    pub(super) fn state(&self, run: &RunAddress) -> String {
        format!("pi.{}.state.{run}", self.fleet)
    }

    pub(super) fn states(&self, batch: &str) -> String {
        format!("pi.{}.state.{}.*", self.fleet, token(batch))
    }

    pub(super) fn messages(&self, run: &RunAddress) -> String {
        format!("pi.{}.msg.{run}", self.fleet)
    }

    pub(super) fn messages_of(&self, batch: &str) -> String {
        format!("pi.{}.msg.{}.*", self.fleet, token(batch))
    }

    /// File names have no limit, tokens do.
    pub(super) fn file(&self, batch: &str, name: &str) -> String {
        let digest = pi_protocol::hex(&Sha256::digest(name.as_bytes()));
        format!("pi.{}.file.{}.{digest}", self.fleet, token(batch))
    }

    /// The file of a task, which its content names.
    pub(super) fn task_file(&self, batch: &str, digest: &str) -> String {
        format!("pi.{}.file.{}.task.{digest}", self.fleet, token(batch))
    }

    /// The streams and subjects of everything that a batch has, with the queue first.
    pub(super) fn everything_of(&self, batch: &str) -> Vec<(String, String)> {
        let (fleet, batch_token) = (&self.fleet, token(batch));
        let of = |kind: &str| format!("pi.{fleet}.{kind}.{batch_token}.>");
        let mut subjects = vec![
            (
                self.runs_stream(),
                format!("pi.{fleet}.run.*.*.{batch_token}.*"),
            ),
            (self.messages_stream(), of("msg")),
            (self.files_stream(), of("file")),
        ];
        let logs =
            (0..LOG_STREAMS).map(|shard| (self.log_stream(shard), of(&format!("log.{shard}"))));
        subjects.extend(logs);
        subjects.extend([
            (self.costs_stream(), self.cost(batch)),
            (self.state_stream(), of("state")),
            (self.state_stream(), of("task")),
            (self.state_stream(), self.batch(batch)),
        ]);
        subjects
    }

    pub(super) fn batch(&self, batch: &str) -> String {
        format!("pi.{}.batch.{}", self.fleet, token(batch))
    }

    /// A counter in millionths of a dollar.
    pub(super) fn cost(&self, batch: &str) -> String {
        format!("pi.{}.cost.{}", self.fleet, token(batch))
    }

    /// A counter of all batches of a day.
    pub(super) fn day_cost(&self, day: u64) -> String {
        format!("pi.{}.cost.day.{day}", self.fleet)
    }

    pub(super) fn limit(&self, key: &str) -> String {
        format!("pi.{}.limit.{key}", self.fleet)
    }

    /// Where workers announce that a provider has refused a request.
    pub(super) fn drained(&self, key: &str) -> String {
        format!("pi.{}.drained.{key}", self.fleet)
    }

    /// Where the owner of a run answers.
    pub(super) fn owner(&self, run: &RunAddress) -> String {
        format!("pi.{}.owner.{run}", self.fleet)
    }

    /// Where the worker of a run takes commands of clients.
    pub(super) fn control(&self, run: &RunAddress) -> String {
        format!("pi.{}.ctl.{run}", self.fleet)
    }

    /// Where the worker of a run publishes events while a client watches.
    pub(super) fn live(&self, run: &RunAddress) -> String {
        format!("pi.{}.live.{run}", self.fleet)
    }

    pub(super) fn log(&self, run: &RunAddress) -> String {
        format!("pi.{}.log.{}.{run}", self.fleet, run.shard())
    }

    pub(super) fn logs(&self, shard: u8) -> String {
        format!("pi.{}.log.{shard}.>", self.fleet)
    }

    /// All subjects of a kind.
    pub(super) fn all(&self, kind: &str) -> String {
        format!("pi.{}.{kind}.>", self.fleet)
    }
}

/// A run of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RunAddress {
    pub(super) batch: String,
    pub(super) task: String,
}

impl RunAddress {
    pub(super) fn new(batch: &str, task: &str) -> Self {
        Self {
            batch: batch.to_owned(),
            task: task.to_owned(),
        }
    }

    /// Parses the end of a subject.
    pub(super) fn of_subject(subject: &str) -> Option<Self> {
        let mut tokens = subject.rsplit('.');
        let (task, batch) = (tokens.next()?, tokens.next()?);
        Some(Self {
            batch: batch.replace('=', "."),
            task: task.replace('=', "."),
        })
    }

    pub(super) fn shard(&self) -> u8 {
        let digest = Sha256::digest(self.to_string().as_bytes());
        digest.first().copied().unwrap_or_default() % LOG_STREAMS
    }
}

impl std::fmt::Display for RunAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", token(&self.batch), token(&self.task))
    }
}

/// Returns an ID as one token of a subject. IDs have no `=`, and tokens no `.`.
fn token(id: &str) -> String {
    id.replace('.', "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_their_subject() {
        let names = Names::new("main").unwrap();
        let run = RunAddress::new("b.1", "django-1.2");
        for (fields, expected) in [
            (r#""priority":2"#, "pi.main.run.high.any.b=1.django-1=2"),
            (r#""queue":"gpu""#, "pi.main.run.normal.gpu.b=1.django-1=2"),
        ] {
            let line = format!("{{\"id\":\"django-1.2\",\"prompt\":\"x\",{fields}}}");
            let tasks = crate::task::parse_tasks(&line).unwrap();
            let subject = names.queue(&tasks[0], &run);
            assert_eq!(subject, expected);
            assert_eq!(RunAddress::of_subject(&subject).as_ref(), Some(&run));
        }
    }

    #[test]
    fn a_fleet_is_one_token() {
        for name in ["", "a.b", "a b", "*", ">", "é"] {
            assert!(Names::new(name).is_none(), "{name}");
        }
    }
}
