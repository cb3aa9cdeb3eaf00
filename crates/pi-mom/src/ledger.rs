//! What has been done about each request of a channel, outside of the directory that the model sees.
//!
//! The log has the requests; the ledger adds the post that shows a request's state, the session of the channel, and
//! the outcome. A request without an outcome is taken up again after a restart.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chat::PostId;
use crate::line_file::LineFile;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestOutcome {
    Answered,
    /// The answer was `[SILENT]`.
    Silent,
    /// The queue was full, or the user may not ask.
    Rejected,
    /// It was stopped while it waited.
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LedgerLine {
    /// The channel's session from here on.
    Session { id: String },
    /// The post that shows the state of a request, and later the answer.
    Status { request: String, post: String },
    Done {
        request: String,
        outcome: RequestOutcome,
        /// Cost in US dollars.
        cost: f64,
        /// Milliseconds since the Unix epoch.
        at: i64,
    },
}

/// A cost and when it arose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Charge {
    pub(crate) cost: f64,
    /// Milliseconds since the Unix epoch.
    pub(crate) at: i64,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    file: LineFile,
    state: LedgerState,
}

#[derive(Debug, Default)]
struct LedgerState {
    session: Option<String>,
    open: HashMap<String, PostId>,
    done: HashSet<String>,
    charges: Vec<Charge>,
}

impl LedgerState {
    fn apply(&mut self, line: LedgerLine) {
        match line {
            LedgerLine::Session { id } => self.session = Some(id),
            LedgerLine::Status { request, post } => {
                self.open.insert(request, PostId(post));
            }
            LedgerLine::Done {
                request, cost, at, ..
            } => {
                self.open.remove(&request);
                self.done.insert(request);
                self.charges.push(Charge { cost, at });
            }
        }
    }
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut ledger = LedgerState::default();
        let file = LineFile::open(path, |bytes| match serde_json::from_slice(bytes) {
            Ok(line) => ledger.apply(line),
            Err(error) => tracing::debug!(%error, "a line of the ledger is not valid"),
        })?;
        Ok(Self {
            file,
            state: ledger,
        })
    }

    fn write(&mut self, line: LedgerLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.file.append(&text)?;
        self.state.apply(line);
        Ok(())
    }

    /// Returns the ID of the channel's session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.state.session.as_deref()
    }

    pub(crate) fn set_session(&mut self, id: &str) -> io::Result<()> {
        self.write(LedgerLine::Session { id: id.to_owned() })
    }

    pub(crate) fn status_post(&self, request: &str) -> Option<PostId> {
        self.state.open.get(request).cloned()
    }

    pub(crate) fn set_status_post(&mut self, request: &str, post: &PostId) -> io::Result<()> {
        self.write(LedgerLine::Status {
            request: request.to_owned(),
            post: post.0.clone(),
        })
    }

    pub(crate) fn is_done(&self, request: &str) -> bool {
        self.state.done.contains(request)
    }

    pub(crate) fn finish(
        &mut self,
        request: &str,
        outcome: RequestOutcome,
        charge: Charge,
    ) -> io::Result<()> {
        self.write(LedgerLine::Done {
            request: request.to_owned(),
            outcome,
            cost: charge.cost,
            at: charge.at,
        })
    }

    pub(crate) fn charges(&self) -> &[Charge] {
        &self.state.charges
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_reopened_ledger_knows_everything() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("C1.jsonl");
        let mut ledger = Ledger::open(&path).unwrap();
        ledger.set_session("s1").unwrap();
        ledger
            .set_status_post("1.0", &PostId("9.0".to_owned()))
            .unwrap();
        ledger
            .set_status_post("2.0", &PostId("9.1".to_owned()))
            .unwrap();
        let charge = Charge { cost: 0.25, at: 7 };
        ledger
            .finish("1.0", RequestOutcome::Answered, charge)
            .unwrap();
        // The write of a killed process.
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"type\":\"do")
            .unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        ledger
            .finish("3.0", RequestOutcome::Rejected, Charge { cost: 0.0, at: 8 })
            .unwrap();
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.session(), Some("s1"));
        assert_eq!(ledger.status_post("2.0"), Some(PostId("9.1".to_owned())));
        assert_eq!(ledger.status_post("1.0"), None);
        assert_eq!(
            ["1.0", "2.0", "3.0"].map(|ts| ledger.is_done(ts)),
            [true, false, true]
        );
        assert_eq!(ledger.charges().first(), Some(&charge));
    }
}
