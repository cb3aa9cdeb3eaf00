//! Cut point rules.

use pi_session::testing::{
    TestPath, compaction, custom_message, metadata, omission, replacement, response, result,
    tool_calls, user,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;

/// Returns a text of this many tokens.
fn text_of(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

fn cut(entries: Vec<Value>, keep_recent_tokens: u64) -> CutPoint {
    let projection = TestPath::of(entries).projection();
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

/// One message of each kind that the model sees as a user message.
fn turn_starts() -> Vec<Value> {
    vec![
        user(&text_of(10)),
        json!({"role": "bashExecution", "command": text_of(4), "output": text_of(6)}),
        custom_message(&text_of(10)),
        json!({"role": "custom", "customType": "old", "content": text_of(10)}),
        json!({"type": "branch_summary", "fromId": "root", "summary": text_of(10)}),
        json!({"role": "compactionSummary", "summary": text_of(10)}),
    ]
}

#[test]
fn the_budget_decides_where_to_cut() {
    let path = || {
        vec![
            user(&text_of(10)),
            response(&text_of(10)),
            user(&text_of(10)),
            response(&text_of(10)),
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
fn any_message_seen_as_a_user_message_starts_a_turn() {
    for start in turn_starts() {
        let path = vec![user("old"), response("old"), start.clone(), response("new")];
        assert_eq!(cut(path, 10), whole_turn(2), "{start}");
    }
}

#[test]
fn a_response_may_start_the_context_and_splits_its_turn() {
    let path = vec![
        user("a"),
        response("b"),
        user("c"),
        response(&text_of(10)),
        response(&text_of(10)),
    ];
    assert_eq!(cut(path.clone(), 10), split(2, 4));
    assert_eq!(cut(path, 20), split(2, 3));
    let no_turn_before = vec![response(&text_of(10)), response(&text_of(10))];
    assert_eq!(cut(no_turn_before, 10), whole_turn(1));
}

#[test]
fn a_result_never_comes_first_and_never_without_its_call() {
    let path = || {
        vec![
            user("ask"),
            tool_calls(&["a", "b"]),
            result("a", &text_of(10)),
            result("b", &text_of(10)),
        ]
    };
    for keep in [1, 10, 20] {
        assert_eq!(cut(path(), keep), split(0, 1), "{keep}");
    }
    let mut with_response = path();
    with_response.push(response("done"));
    assert_eq!(cut(with_response, 5), split(0, 4));

    // An extension message arrived while the tools ran.
    let mut interrupted = path();
    interrupted.insert(2, custom_message(&text_of(10)));
    for keep in [1, 10, 25, 30] {
        assert_eq!(cut(interrupted.clone(), keep), split(0, 1), "{keep}");
    }
}

#[test]
fn no_message_can_start_the_context() {
    assert_eq!(cut(vec![], 10), whole_turn(0));
    assert_eq!(cut(vec![metadata(), result("a", "x")], 0), whole_turn(0));
}

#[test]
fn metadata_before_the_cut_is_kept_with_it() {
    let path = vec![
        user("a"),
        response("b"),
        metadata(),
        metadata(),
        user(&text_of(10)),
        response("d"),
    ];
    // The cut is then before metadata, which starts no turn.
    assert_eq!(cut(path, 5), split(0, 2));
    let at_the_start = vec![metadata(), user(&text_of(10)), response("d")];
    assert_eq!(cut(at_the_start, 5), whole_turn(0));
    let omitted = vec![
        user("a"),
        response("b"),
        user("omitted"),
        user(&text_of(10)),
        omission("e2"),
    ];
    assert_eq!(cut(omitted, 5), split(0, 2));
}

#[test]
fn metadata_stays_after_an_older_compaction() {
    let path = vec![
        user("0"),
        compaction("older", "e0"),
        user(&text_of(10)),
        compaction("newest", "e0"),
        response(&text_of(10)),
    ];
    // Context order: newest, e0, older, e2, e4.
    assert_eq!(cut(path.clone(), 15), whole_turn(3));
    assert_eq!(cut(path, 10), split(3, 4));
}

#[test]
fn the_input_of_an_omitted_attempt_can_be_summarized() {
    let input = || vec![user("a"), response("b"), user(&text_of(10))];
    let recovered = || {
        let mut path = input();
        path.extend([
            tool_calls(&["x"]),
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
            "an edit of the omitted result",
            replacement("e4", &json!("other")),
            whole_turn(2),
        ),
        (
            "an edit of the input",
            replacement("e2", &json!(text_of(10))),
            whole_turn(2),
        ),
        ("new input", custom_message(""), whole_turn(2)),
        (
            "a restored response",
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
