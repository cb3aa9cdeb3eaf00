//! Every row of the table of checks after a run and before a prompt.

use pi_ai::AssistantMessage;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    Path, answer, answer_of, calling, compaction, metadata, model, omission, replacement, result,
    user,
};

const SETTINGS: CompactionSettings = CompactionSettings {
    enabled: true,
    reserve_tokens: 100,
    keep_recent_tokens: 50,
};

struct Case {
    path: Path,
    /// The position of the answer to check.
    answer: usize,
    results: Vec<EntryId>,
    settings: CompactionSettings,
    recovery: RecoveryState,
    phase: CompactionPhase,
    model: Model,
}

impl Case {
    /// The last answer of a path, checked after the run.
    fn of(entries: Vec<Value>) -> Self {
        let path = Path::of(entries);
        let is_answer = |entry: &std::sync::Arc<crate::Entry>| {
            matches!(entry.body.as_message(), Some(AgentMessage::Assistant(_)))
        };
        Self {
            answer: path.entries.iter().rposition(is_answer).unwrap(),
            path,
            results: Vec::new(),
            settings: SETTINGS,
            recovery: RecoveryState::NotAttempted,
            phase: CompactionPhase::AfterRun,
            model: model(),
        }
    }

    fn need(&self) -> CompactionDecision {
        let entry = &self.path.entries[self.answer];
        let Some(AgentMessage::Assistant(answer)) = entry.body.as_message() else {
            panic!("no answer at {}", self.answer);
        };
        self.need_of(answer, Some(&entry.id))
    }

    fn need_of(&self, answer: &AssistantMessage, response_id: Option<&EntryId>) -> CompactionDecision {
        CompactionCheck {
            phase: self.phase,
            projection: &self.path.projection(),
            response: answer,
            response_id,
            result_ids: &self.results,
            model: &self.model,
            settings: &self.settings,
            recovery: self.recovery,
        }
        .decide()
    }
}

fn stopped(mut answer: Value, reason: &str) -> Value {
    answer["stopReason"] = json!(reason);
    answer
}

fn overflow() -> Value {
    let mut answer = stopped(answer(""), "error");
    answer["errorMessage"] = json!("prompt is too long: 1001 tokens > 1000 maximum");
    answer
}

fn failed() -> Value {
    let mut answer = stopped(answer(""), "error");
    answer["errorMessage"] = json!("the service is on fire");
    answer
}

fn length(output: u64) -> Value {
    let mut answer = stopped(answer("half"), "length");
    answer["usage"] = json!({"output": output, "input": 1, "totalTokens": output + 1});
    answer
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
fn an_answer_that_did_not_fit_is_left_out_and_asked_for_again() {
    assert_eq!(
        Case::of(vec![user("x"), overflow()]).decide(),
        recover(&["e1"])
    );
    assert_eq!(
        Case::of(vec![user("x"), length(99)]).decide(),
        recover(&["e1"])
    );
    let mut with_results = Case::of(vec![
        user("x"),
        stopped(calling(&["a"]), "length"),
        result("a", "r"),
    ]);
    with_results.results = vec![EntryId::from("e2")];
    assert_eq!(with_results.decide(), recover(&["e1", "e2"]));
}

#[test]
fn an_answer_that_used_all_it_may_stands() {
    assert_eq!(
        Case::of(vec![user("x"), length(100)]).decide(),
        CompactionDecision::Skip
    );
}

#[test]
fn recovery_is_tried_once() {
    for (answer, failure) in [
        (overflow(), RecoveryFailure::Overflow),
        (length(10), RecoveryFailure::Length),
    ] {
        let mut case = Case::of(vec![user("x"), answer]);
        case.recovery = RecoveryState::Attempted;
        assert_eq!(case.decide(), CompactionDecision::Failed(failure));
    }
}

#[test]
fn a_finished_answer_beyond_the_window_is_kept() {
    let mut answer = answer("done");
    answer["usage"] = json!({"input": 1001, "totalTokens": 1001});
    for recovery in [RecoveryState::NotAttempted, RecoveryState::Attempted] {
        let mut case = Case::of(vec![user("x"), answer.clone()]);
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
fn what_another_model_could_not_take_says_nothing() {
    for answer in [overflow(), length(10)] {
        let mut case = Case::of(vec![user("x"), answer]);
        case.model.id = "beta".into();
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
}

#[test]
fn the_threshold_is_the_window_less_the_reserve() {
    for (tokens, expected) in [
        (899, CompactionDecision::Skip),
        (900, CompactionDecision::Skip),
        (901, threshold()),
    ] {
        assert_eq!(
            Case::of(vec![user("x"), answer_of("a", tokens)]).decide(),
            expected
        );
    }
    let mut other_model = Case::of(vec![user("x"), answer_of("a", 901)]);
    other_model.model.id = "beta".into();
    assert_eq!(other_model.decide(), threshold());
    let mut unknown_window = Case::of(vec![user("x"), answer_of("a", 901)]);
    unknown_window.model.context_window = 0;
    assert_eq!(unknown_window.decide(), CompactionDecision::Skip);
}

#[test]
fn a_reserve_beyond_the_window_always_compacts() {
    let mut case = Case::of(vec![user("x"), answer_of("a", 1)]);
    case.settings.reserve_tokens = 2000;
    assert_eq!(case.decide(), threshold());
}

#[test]
fn compaction_may_be_off() {
    for answer in [overflow(), length(10), answer_of("a", 5000)] {
        let mut case = Case::of(vec![user("x"), answer]);
        case.settings.enabled = false;
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
}

#[test]
fn a_cancelled_answer_counts_only_before_a_prompt() {
    let mut case = Case::of(vec![user("x"), stopped(answer_of("a", 950), "aborted")]);
    assert_eq!(case.decide(), CompactionDecision::Skip);
    case.phase = CompactionPhase::BeforePrompt;
    assert_eq!(case.decide(), threshold());
}

#[test]
fn an_answer_from_before_the_compaction_is_skipped() {
    let path = || {
        vec![
            user("x"),
            answer_of("a", 950),
            compaction("s", "e0"),
            metadata(),
        ]
    };
    assert_eq!(Case::of(path()).decide(), CompactionDecision::Skip);
    let mut kept_overflow = path();
    kept_overflow[1] = overflow();
    assert_eq!(Case::of(kept_overflow).decide(), CompactionDecision::Skip);
}

#[test]
fn a_failed_answer_goes_by_the_last_that_counted() {
    let long = "abcd".repeat(100);
    let cases = [
        (
            vec![user("x"), answer_of("a", 850), user(&long), failed()],
            threshold(),
        ),
        (
            vec![user("x"), answer_of("a", 750), user(&long), failed()],
            CompactionDecision::Skip,
        ),
        (vec![user(&"abcd".repeat(950)), failed()], threshold()),
        (
            vec![
                user("x"),
                answer_of("a", 850),
                user(&long),
                answer_of("b", 0),
            ],
            threshold(),
        ),
        // The kept answer counted what the compaction has removed.
        (
            vec![
                user("x"),
                answer_of("a", 950),
                compaction("s", "e0"),
                user("y"),
                failed(),
            ],
            CompactionDecision::Skip,
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(Case::of(entries.clone()).decide(), expected, "{entries:?}");
    }
}

#[test]
fn edits_since_the_answer_make_its_report_worthless() {
    let huge = "abcd".repeat(2000);
    let shortened = vec![
        user(&huge),
        answer_of("a", 2000),
        replacement("e0", &json!("short")),
    ];
    assert_eq!(Case::of(shortened).decide(), CompactionDecision::Skip);
    let lengthened = vec![
        user("short"),
        answer_of("a", 5),
        replacement("e0", &json!(huge)),
    ];
    assert_eq!(Case::of(lengthened).decide(), threshold());
}

#[test]
fn an_attempt_that_was_left_out_is_not_recovered_again() {
    for answer in [overflow(), length(10)] {
        let case = Case::of(vec![user("x"), answer, omission("e1")]);
        assert_eq!(case.decide(), CompactionDecision::Skip);
    }
    // An edit elsewhere does not hide that the service refused.
    let case = Case::of(vec![user("x"), overflow(), replacement("e0", &json!("y"))]);
    assert_eq!(case.decide(), recover(&["e1"]));
}

#[test]
fn an_answer_without_an_entry_is_checked_too() {
    let case = Case::of(vec![user("x"), answer("a")]);
    let answer: AssistantMessage = serde_json::from_value(overflow()).unwrap();
    let fresh = AssistantMessage {
        timestamp: crate::testing::START_MS + 9000,
        ..answer
    };
    assert_eq!(case.need_of(&fresh, None), recover(&[]));
}

#[test]
fn before_the_next_answer_only_the_size_counts() {
    let path = |tokens| Path::of([user("x"), answer_of("a", tokens), result("c", "abcd")]);
    let needs = |path: &Path, settings| needs_compaction(&path.projection(), &model(), &settings);
    assert!(!needs(&path(899), SETTINGS));
    assert!(needs(&path(900), SETTINGS));
    let off = CompactionSettings {
        enabled: false,
        ..SETTINGS
    };
    assert!(!needs(&path(900), off));
}
