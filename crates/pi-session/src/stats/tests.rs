//! Totals over all branches.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::testing::{TestPath, compaction, metadata, response, result, tool_calls, user};

fn usage(input: u64, cost: f64) -> Value {
    json!({"input": input, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 999,
        "cost": {"total": cost}})
}

fn with_usage(mut entry: Value, usage: Value) -> Value {
    entry["usage"] = usage;
    entry
}

#[test]
fn all_billed_usage_is_counted() {
    let mut routed = with_usage(tool_calls(&["a", "b"]), usage(10, 0.5));
    routed["responseModel"] = json!("gamma");
    let path = TestPath::of([
        json!({"role": "system", "content": "p"}),
        user("hi"),
        routed,
        result("a", "x"),
        with_usage(result("b", "x"), usage(20, 0.25)),
        with_usage(response("done"), usage(30, 0.0)),
        with_usage(compaction("s", "e1"), usage(40, 2.0)),
        with_usage(
            json!({"type": "branch_summary", "fromId": "root", "summary": "b"}),
            usage(50, 0.0),
        ),
        json!({"type": "usage", "kind": "cache_warm", "provider": "mock", "model": "gamma", "usage": usage(60, 4.0)}),
        response("nothing reported"),
        json!({"role": "assistant", "content": [], "provider": "idle", "model": "m"}),
        metadata(),
    ]);
    let totals = SessionTotals::of(path.entries.iter().map(AsRef::as_ref));
    let counts = [
        totals.user_messages,
        totals.assistant_messages,
        totals.tool_calls,
        totals.tool_results,
        totals.total_messages,
    ];
    assert_eq!(counts, [1, 4, 2, 2, 8]);
    let tokens = TokenTotals {
        input: 210,
        output: 12,
        cache_read: 18,
        cache_write: 24,
        total: 264,
    };
    assert_eq!((totals.tokens, totals.cost), (tokens, 6.75));
    let by_model: Vec<(&str, u64, f64)> = totals
        .by_model()
        .into_iter()
        .map(|model| (model.name.as_str(), model.tokens, model.cost))
        .collect();
    assert_eq!(
        by_model,
        [
            ("mock/gamma", 88, 4.5),
            ("Tools/summaries", 137, 2.25),
            ("mock/alpha", 39, 0.0),
        ]
    );
    assert_eq!(
        pi_protocol::json::to_string(&totals.tokens).unwrap(),
        r#"{"input":210,"output":12,"cacheRead":18,"cacheWrite":24,"total":264}"#
    );
}

#[test]
fn the_cache_share_is_that_of_the_last_response() {
    let reported = |read: u64, input: u64| {
        with_usage(
            response("a"),
            json!({"input": input, "cacheRead": read, "cacheWrite": 100}),
        )
    };
    let share = |entries: Vec<Value>| {
        let path = TestPath::of(entries);
        SessionTotals::of(path.entries.iter().map(AsRef::as_ref)).cache_hit_share
    };
    assert_eq!(share(vec![user("x")]), None);
    assert_eq!(share(vec![reported(0, 400)]), Some(0.0));
    assert_eq!(
        share(vec![reported(0, 400), reported(300, 0), user("x")]),
        Some(75.0)
    );
    assert_eq!(share(vec![reported(300, 0), response("unreported")]), None);
}

#[test]
fn absurd_usage_does_not_overflow() {
    let absurd = json!({"input": 1e300, "output": 1e300, "cacheRead": 1e300, "cacheWrite": 1e300});
    let path = TestPath::of([
        with_usage(response("a"), absurd.clone()),
        with_usage(response("b"), absurd),
        user("abcd"),
    ]);
    let totals = SessionTotals::of(path.entries.iter().map(AsRef::as_ref));
    assert_eq!(totals.tokens.total, u64::MAX);
}

/// Lines that are counted directly, and lines that require parsing the full entry.
#[test]
fn a_line_counts_the_same_as_its_entry() {
    let lines = [
        with_usage(tool_calls(&["a", "b"]), usage(10, 0.5)),
        with_usage(result("b", "x"), usage(20, 0.25)),
        user("hi"),
        json!({"role": "user", "content": [{"type": "image", "data": "", "mimeType": "image/png"}]}),
        json!({"role": "assistant", "content": [], "provider": "idle", "model": "m"}),
        json!({"role": "bashExecution", "command": "ls", "output": "toolCall"}),
        with_usage(compaction("s", "e1"), usage(40, 2.0)),
        json!({"type": "usage", "kind": "cache_warm", "provider": "mock", "model": "gamma", "usage": usage(60, 4.0)}),
        metadata(),
        json!({"type": "from_the_future", "usage": {"input": 7}}),
    ];
    let path = TestPath::of(lines);
    for entry in &path.entries {
        let line = serde_json::to_vec(entry).unwrap();
        assert_eq!(UsageRecord::read(&line), Some(UsageRecord::of(entry)));
    }
    for odd in [
        r#"{"type":"message","id":"1","message":{"role":"assistant","content":null}}"#,
        r#"{"type":"message","id":"1","message":{"role":"assistant","content":[],"usage":{"input":1.5}}}"#,
        r#"{"type":"usage","id":"1","usage":{"input":1}}"#,
        "{\"type\":\"message\",\"id\":\"a\nb\"}",
        "",
    ] {
        assert_eq!(UsageRecord::read(odd.as_bytes()), None, "{odd}");
    }
}
