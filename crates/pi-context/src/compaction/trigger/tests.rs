//! Checks after a run and before a prompt, case by case.

use pi_protocol::AssistantMessage;
use pi_session::testing::{
    TestPath, compaction, metadata, model, omission, replacement, response, response_with_tokens,
    result, tool_calls, user,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

const SETTINGS: CompactionSettings = CompactionSettings {
    enabled: true,
    reserve_tokens: 100,
    keep_recent_tokens: 50,
};

struct CheckCase {
    path: TestPath,
    response: usize,
    results: Vec<EntryId>,
    settings: CompactionSettings,
    recovery: RecoveryState,
    phase: CompactionPhase,
    model: Model,
}

impl CheckCase {
    /// The last response of a path, checked after the run.
    fn of(entries: Vec<Value>) -> Self {
        let path = TestPath::of(entries);
        let is_response = |entry: &std::sync::Arc<pi_protocol::Entry>| {
            matches!(entry.body.as_message(), Some(AgentMessage::Assistant(_)))
        };
        Self {
            response: path.entries.iter().rposition(is_response).unwrap(),
            path,
            results: Vec::new(),
            settings: SETTINGS,
            recovery: RecoveryState::NotAttempted,
            phase: CompactionPhase::AfterRun,
            model: model(),
        }
    }

    fn decide(&self) -> CompactionDecision {
        let entry = &self.path.entries[self.response];
        let Some(AgentMessage::Assistant(response)) = entry.body.as_message() else {
            panic!("no response at {}", self.response);
        };
        self.decide_for(response, Some(&entry.id))
    }

    fn decide_for(
        &self,
        response: &AssistantMessage,
        response_id: Option<&EntryId>,
    ) -> CompactionDecision {
        CompactionCheck {
            phase: self.phase,
            projection: &self.path.projection(),
            response,
            response_id,
            result_ids: &self.results,
            model: &self.model,
            settings: &self.settings,
            recovery: self.recovery,
        }
        .decide()
    }
}

fn stopped(mut response: Value, reason: &str) -> Value {
    response["stopReason"] = json!(reason);
    response
}

fn overflow() -> Value {
    let mut response = stopped(response(""), "error");
    response["errorMessage"] = json!("prompt is too long: 1001 tokens > 1000 maximum");
    response
}

fn failed() -> Value {
    let mut response = stopped(response(""), "error");
    response["errorMessage"] = json!("service unavailable");
    response
}

fn length(output: u64) -> Value {
    let mut response = stopped(response("half"), "length");
    response["usage"] = json!({"output": output, "input": 1, "totalTokens": output + 1});
    response
}

fn recover(omit: &[&str]) -> CompactionDecision {
    CompactionDecision::Compact {
        reason: CompactionReason::Overflow,
        omit: omit.iter().copied().map(EntryId::from).collect(),
        retry: true,
    }
}

fn threshold() -> CompactionDecision {
    CompactionDecision::Compact {
        reason: CompactionReason::Threshold,
        omit: Vec::new(),
        retry: false,
    }
}

#[test]
fn a_response_that_did_not_fit_is_omitted_and_retried() {
    assert_eq!(
        CheckCase::of(vec![user("x"), overflow()]).decide(),
        recover(&["e1"])
    );
    assert_eq!(
        CheckCase::of(vec![user("x"), length(99)]).decide(),
        recover(&["e1"])
    );
    let mut with_results = CheckCase::of(vec![
        user("x"),
        stopped(tool_calls(&["a"]), "length"),
        result("a", "r"),
    ]);
    with_results.results = vec![EntryId::from("e2")];
    assert_eq!(with_results.decide(), recover(&["e1", "e2"]));
}

#[test]
fn a_response_that_used_its_full_output_limit_is_kept() {
    assert_eq!(
        CheckCase::of(vec![user("x"), length(100)]).decide(),
        CompactionDecision::Skip
    );
}

#[test]
fn recovery_is_attempted_once() {
    for (response, failure) in [
        (overflow(), RecoveryFailure::Overflow),
        (length(10), RecoveryFailure::Length),
    ] {
        let mut case = CheckCase::of(vec![user("x"), response]);
        case.recovery = RecoveryState::Attempted;
        assert_eq!(case.decide(), CompactionDecision::Failed(failure));
    }
}

#[test]
fn a_completed_response_beyond_the_window_is_kept() {
    let mut response = response("done");
    response["usage"] = json!({"input": 1001, "totalTokens": 1001});
    for recovery in [RecoveryState::NotAttempted, RecoveryState::Attempted] {
        let mut case = CheckCase::of(vec![user("x"), response.clone()]);
        case.recovery = recovery;
        let expected = CompactionDecision::Compact {
            reason: CompactionReason::Overflow,
            omit: Vec::new(),
            retry: false,
        };
        assert_eq!(case.decide(), expected);
    }
}

#[test]
fn failures_of_another_model_are_ignored() {
    for response in [overflow(), length(10)] {
        let mut case = CheckCase::of(vec![user("x"), response]);
        case.model.id = "beta".into();
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
}

#[test]
fn the_threshold_is_the_window_minus_the_reserve() {
    for (tokens, expected) in [
        (899, CompactionDecision::Skip),
        (900, CompactionDecision::Skip),
        (901, threshold()),
    ] {
        assert_eq!(
            CheckCase::of(vec![user("x"), response_with_tokens("a", tokens)]).decide(),
            expected
        );
    }
    let mut other_model = CheckCase::of(vec![user("x"), response_with_tokens("a", 901)]);
    other_model.model.id = "beta".into();
    assert_eq!(other_model.decide(), threshold());
    let mut unknown_window = CheckCase::of(vec![user("x"), response_with_tokens("a", 901)]);
    unknown_window.model.context_window = 0;
    assert_eq!(unknown_window.decide(), CompactionDecision::Skip);
}

#[test]
fn a_reserve_larger_than_the_window_always_compacts() {
    let mut case = CheckCase::of(vec![user("x"), response_with_tokens("a", 1)]);
    case.settings.reserve_tokens = 2000;
    assert_eq!(case.decide(), threshold());
}

#[test]
fn compaction_can_be_disabled() {
    for response in [overflow(), length(10), response_with_tokens("a", 5000)] {
        let mut case = CheckCase::of(vec![user("x"), response]);
        case.settings.enabled = false;
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
}

#[test]
fn an_aborted_response_counts_only_before_a_prompt() {
    let mut case = CheckCase::of(vec![
        user("x"),
        stopped(response_with_tokens("a", 950), "aborted"),
    ]);
    assert_eq!(case.decide(), CompactionDecision::Skip);
    case.phase = CompactionPhase::BeforePrompt;
    assert_eq!(case.decide(), threshold());
}

#[test]
fn a_response_from_before_the_compaction_is_skipped() {
    let path = || {
        vec![
            user("x"),
            response_with_tokens("a", 950),
            compaction("s", "e0"),
            metadata(),
        ]
    };
    assert_eq!(CheckCase::of(path()).decide(), CompactionDecision::Skip);
    let mut kept_overflow = path();
    kept_overflow[1] = overflow();
    assert_eq!(
        CheckCase::of(kept_overflow).decide(),
        CompactionDecision::Skip
    );
}

#[test]
fn a_response_in_the_millisecond_of_the_compaction_is_checked() {
    let mut retried = overflow();
    retried["timestamp"] = json!(pi_session::testing::START_MS + 2000);
    let mut case = CheckCase::of(vec![
        user("x"),
        response("a"),
        compaction("s", "e0"),
        retried,
    ]);
    case.recovery = RecoveryState::Attempted;
    assert_eq!(
        case.decide(),
        CompactionDecision::Failed(RecoveryFailure::Overflow)
    );
}

#[test]
fn a_failed_response_falls_back_to_the_last_report() {
    let long = "abcd".repeat(100);
    let cases = [
        (
            vec![
                user("x"),
                response_with_tokens("a", 850),
                user(&long),
                failed(),
            ],
            threshold(),
        ),
        (
            vec![
                user("x"),
                response_with_tokens("a", 750),
                user(&long),
                failed(),
            ],
            CompactionDecision::Skip,
        ),
        (vec![user(&"abcd".repeat(950)), failed()], threshold()),
        (
            vec![
                user("x"),
                response_with_tokens("a", 850),
                user(&long),
                response_with_tokens("b", 0),
            ],
            threshold(),
        ),
        // The kept response reported what the compaction has removed.
        (
            vec![
                user("x"),
                response_with_tokens("a", 950),
                compaction("s", "e0"),
                user("y"),
                failed(),
            ],
            CompactionDecision::Skip,
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(
            CheckCase::of(entries.clone()).decide(),
            expected,
            "{entries:?}"
        );
    }
}

#[test]
fn edits_after_the_response_invalidate_its_report() {
    let huge = "abcd".repeat(2000);
    let shortened = vec![
        user(&huge),
        response_with_tokens("a", 2000),
        replacement("e0", &json!("short")),
    ];
    assert_eq!(CheckCase::of(shortened).decide(), CompactionDecision::Skip);
    let lengthened = vec![
        user("short"),
        response_with_tokens("a", 5),
        replacement("e0", &json!(huge)),
    ];
    assert_eq!(CheckCase::of(lengthened).decide(), threshold());
}

#[test]
fn an_omitted_attempt_is_not_recovered_again() {
    for response in [overflow(), length(10)] {
        let case = CheckCase::of(vec![user("x"), response, omission("e1")]);
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
    // An edit of another entry does not hide that the request was rejected.
    let case = CheckCase::of(vec![user("x"), overflow(), replacement("e0", &json!("y"))]);
    assert_eq!(case.decide(), recover(&["e1"]));
}

#[test]
fn a_response_without_an_entry_is_checked_too() {
    let case = CheckCase::of(vec![user("x"), response("a")]);
    let response: AssistantMessage = serde_json::from_value(overflow()).unwrap();
    let fresh = AssistantMessage {
        timestamp: pi_session::testing::START_MS + 9000,
        ..response
    };
    assert_eq!(case.decide_for(&fresh, None), recover(&[]));
}

#[test]
fn before_the_next_response_only_the_size_is_checked() {
    let path = |tokens| {
        TestPath::of([
            user("x"),
            response_with_tokens("a", tokens),
            result("c", "abcd"),
        ])
    };
    let needs =
        |path: &TestPath, settings| needs_compaction(&path.projection(), &model(), &settings);
    assert!(!needs(&path(899), SETTINGS));
    assert!(needs(&path(900), SETTINGS));
    let off = CompactionSettings {
        enabled: false,
        ..SETTINGS
    };
    assert!(!needs(&path(900), off));
}
