//! Names of streams and subjects of a fleet.

use sha2::{Digest as _, Sha256};

/// Number of streams that share the logs: one stream has one writer in a cluster.
pub(super) const LOG_STREAMS: u8 = 16;

/// The consumers of the queue, in the order in which they are served.
pub(super) const CLASSES: [&str; 3] = ["high", "normal", "low"];

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

    pub(super) fn class(priority: i64) -> &'static str {
        match priority {
            1.. => CLASSES[0],
            0 => CLASSES[1],
            _ => CLASSES[2],
        }
    }

    pub(super) fn queued(&self, class: &str) -> String {
        format!("pi.{}.run.{class}.>", self.fleet)
    }

    pub(super) fn queue(&self, class: &str, run: &RunAddress) -> String {
        format!("pi.{}.run.{class}.{run}", self.fleet)
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

    pub(super) fn batch(&self, batch: &str) -> String {
        format!("pi.{}.batch.{}", self.fleet, token(batch))
    }

    /// A counter in millionths of a dollar.
    pub(super) fn cost(&self, batch: &str) -> String {
        format!("pi.{}.cost.{}", self.fleet, token(batch))
    }

    /// Where the owner of a run answers.
    pub(super) fn owner(&self, run: &RunAddress) -> String {
        format!("pi.{}.owner.{run}", self.fleet)
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
        let subject = names.queue("high", &run);
        assert_eq!(subject, "pi.main.run.high.b=1.django-1=2");
        assert_eq!(RunAddress::of_subject(&subject), Some(run));
    }

    #[test]
    fn a_fleet_is_one_token() {
        for name in ["", "a.b", "a b", "*", ">", "é"] {
            assert!(Names::new(name).is_none(), "{name}");
        }
    }
}
