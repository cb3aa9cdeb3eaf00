//! Failures that no caller receives.

use super::Participants;

/// Shows failures to the user.
pub trait FailureReporter: Send + Sync {
    /// Reports a failure that no caller receives.
    fn report(&self, failure: HookFailure);
}

/// A failure that no caller receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailure {
    /// The event or operation that failed.
    pub event: &'static str,
    /// The file or command involved, if any.
    pub origin: Option<String>,
    pub message: String,
}

impl Participants {
    /// Notifies the first reporter; without one, the failure is logged.
    pub(crate) fn report(&self, failure: HookFailure) {
        match self.failures.first() {
            Some(reporter) => reporter.report(failure),
            None => tracing::warn!(event = failure.event, "{}", failure.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use pretty_assertions::assert_eq;

    use super::*;

    #[derive(Default)]
    struct RecordingReporter(Mutex<Vec<String>>);

    impl FailureReporter for RecordingReporter {
        fn report(&self, failure: HookFailure) {
            self.0.lock().push(failure.message);
        }
    }

    #[test]
    fn only_the_first_reporter_receives_a_failure() {
        let reporters: [Arc<RecordingReporter>; 2] = Default::default();
        let [first, second] = reporters.each_ref().map(Arc::clone);
        let participants = Participants::builder().failures(first).failures(second);
        participants.build().report(HookFailure {
            event: "input",
            origin: None,
            message: "broken".to_owned(),
        });
        let received = reporters.map(|reporter| reporter.0.lock().clone());
        assert_eq!(received, [vec!["broken".to_owned()], vec![]]);
    }
}
