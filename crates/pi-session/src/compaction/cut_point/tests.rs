//! Where compactions cut, rule by rule.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    Path, answer, calling, compaction, custom_message, metadata, omission, replacement, result,
    user,
};

/// Text of so many tokens.
fn words(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

fn cut(entries: Vec<Value>, keep_recent_tokens: u64) -> CutPoint {
    let projection = Path::of(entries).projection();
    let start = usize::from(projection.compaction().is_some());
    find(projection.entries(), start, keep_recent_tokens)
}

fn whole_turn(first_kept: usize) -> CutPoint {
    CutPoint {
        first_kept,
        split_turn_start: None,
    }
}

fn split(turn_start: usize, first_kept: usize) -> CutPoint {
    CutPoint {
        first_kept,
        split_turn_start: Some(turn_start),
    }
}

/// A command, a message of an extension, a summary: what the model takes as the user's.
fn turn_starts() -> Vec<Value> {
    vec![
        user(&words(10)),
        json!({"role": "bashExecution", "command": words(4), "output": words(6)}),
        custom_message(&words(10)),
        json!({"role": "custom", "customType": "old", "content": words(10)}),
        json!({"type": "branch_summary", "fromId": "root", "summary": words(10)}),
        json!({"role": "compactionSummary", "summary": words(10)}),
    ]
}

#[test]
fn the_budget_decides_where_to_cut() {
    let path = || {
        vec![
            user(&words(10)),
            answer(&words(10)),
            user(&words(10)),
            answer(&words(10)),
        ]
    };
    for (keep, expected) in [
        (0, split(2, 3)),
        (10, split(2, 3)),
        (11, whole_turn(2)),
        (20, whole_turn(2)),
        (21, split(0, 1)),
        (40, whole_turn(0)),
        (41, whole_turn(0)),
        (1000, whole_turn(0)),
    ] {
        assert_eq!(cut(path(), keep), expected, "{keep}");
    }
}

#[test]
fn whatever_the_model_takes_as_the_users_starts_a_turn() {
    for start in turn_starts() {
        let path = vec![user("old"), answer("old"), start.clone(), answer("new")];
        assert_eq!(cut(path, 10), whole_turn(2), "{start}");
    }
}

#[test]
fn an_answer_may_lead_and_then_its_turn_is_split() {
    let path = vec![
        user("a"),
        answer("b"),
        user("c"),
        answer(&words(10)),
        answer(&words(10)),
    ];
    assert_eq!(cut(path.clone(), 10), split(2, 4));
    assert_eq!(cut(path, 20), split(2, 3));
    let no_turn_before = vec![answer(&words(10)), answer(&words(10))];
    assert_eq!(cut(no_turn_before, 10), whole_turn(1));
}

#[test]
fn a_result_is_never_the_first_and_never_without_its_call() {
    let path = || {
        vec![
            user("ask"),
            calling(&["a", "b"]),
            result("a", &words(10)),
            result("b", &words(10)),
        ]
    };
    for keep in [1, 10, 20] {
        assert_eq!(cut(path(), keep), split(0, 1), "{keep}");
    }
    let mut with_answer = path();
    with_answer.push(answer("done"));
    assert_eq!(cut(with_answer, 5), split(0, 4));

    // A message of an extension came in while the tools ran.
    let mut interrupted = path();
    interrupted.insert(2, custom_message(&words(10)));
    for keep in [1, 10, 25, 30] {
        assert_eq!(cut(interrupted.clone(), keep), split(0, 1), "{keep}");
    }
}

#[test]
fn no_message_can_lead() {
    assert_eq!(cut(vec![], 10), whole_turn(0));
    assert_eq!(cut(vec![metadata(), result("a", "x")], 0), whole_turn(0));
}

#[test]
fn metadata_before_the_cut_stays_with_it() {
    let path = vec![
        user("a"),
        answer("b"),
        metadata(),
        metadata(),
        user(&words(10)),
        answer("d"),
    ];
    // The cut stands before metadata then, which starts no turn.
    assert_eq!(cut(path, 5), split(0, 2));
    let at_the_beginning = vec![metadata(), user(&words(10)), answer("d")];
    assert_eq!(cut(at_the_beginning, 5), whole_turn(0));
    let omitted = vec![
        user("a"),
        answer("b"),
        user("left out"),
        user(&words(10)),
        omission("e2"),
    ];
    assert_eq!(cut(omitted, 5), split(0, 2));
}

#[test]
fn metadata_stays_behind_an_older_compaction() {
    let path = vec![
        user("0"),
        compaction("older", "e0"),
        user(&words(10)),
        compaction("newest", "e0"),
        answer(&words(10)),
    ];
    // In the context: newest, e0, older, e2, e4.
    assert_eq!(cut(path.clone(), 15), whole_turn(3));
    assert_eq!(cut(path, 10), split(3, 4));
}

#[test]
fn an_attempt_that_was_left_out_lets_its_input_be_summarized() {
    let input = || vec![user("a"), answer("b"), user(&words(10))];
    let recovered = || {
        let mut path = input();
        path.extend([
            calling(&["x"]),
            result("x", "r"),
            omission("e3"),
            omission("e4"),
        ]);
        path
    };
    assert_eq!(cut(recovered(), 5), split(2, 3));
    assert_eq!(
        cut(recovered(), 1000),
        whole_turn(0),
        "the budget was not exceeded"
    );

    let with = |more: Value| {
        let mut path = recovered();
        path.push(more);
        path
    };
    let cases = [
        ("metadata", metadata(), split(2, 3)),
        (
            "an edit of what is left out",
            replacement("e4", &json!("other")),
            whole_turn(2),
        ),
        (
            "an edit of the input",
            replacement("e2", &json!(words(10))),
            whole_turn(2),
        ),
        ("new input", custom_message(""), whole_turn(2)),
        (
            "an answer brought back",
            replacement("e3", &json!("")),
            whole_turn(2),
        ),
    ];
    for (name, more, expected) in cases {
        assert_eq!(cut(with(more), 5), expected, "{name}");
    }

    let replaced_then_omitted = {
        let mut path = recovered();
        path.extend([replacement("e4", &json!("other")), omission("e4")]);
        path
    };
    assert_eq!(cut(replaced_then_omitted, 5), split(2, 3));

    let mut only_metadata = input();
    only_metadata.extend([metadata(), metadata()]);
    assert_eq!(cut(only_metadata, 5), whole_turn(2));
    let mut no_attempt = input();
    no_attempt.extend([user(""), omission("e3")]);
    assert_eq!(cut(no_attempt, 5), whole_turn(2));
}
