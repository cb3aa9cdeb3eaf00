//! Estimates, plans, requests and results of compactions.

mod properties;
mod reference;

use pi_protocol::estimate::ContextEstimate;
use pi_protocol::{AssistantMessage, CacheRetention, Message, Model, ThinkingLevel};
use pi_session::testing::{
    TestPath, compaction, custom_message, described, metadata, model, omission, replacement,
    response, response_with_tokens, result, tool_calls, user,
};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::chunks::ChunkedSummary;
use super::*;
use crate::estimate::message_tokens;

/// Returns a text of this many tokens.
fn text_of(tokens: usize) -> String {
    "abcd".repeat(tokens)
}

fn keeping(keep_recent_tokens: u64) -> CompactionSettings {
    CompactionSettings {
        keep_recent_tokens,
        ..CompactionSettings::default()
    }
}

fn plan(entries: Vec<Value>, keep: u64) -> Result<CompactionPlan, NothingToCompact> {
    CompactionPlan::new(&TestPath::of(entries).projection(), &keeping(keep))
}

#[test]
fn four_characters_make_a_token_in_every_role() {
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let tools = json!([{"name": "t", "description": "", "parameters": {}}]);
    let tools_length = tools.to_string().len() as u64;
    let cases = [
        (json!({"role": "user", "content": "abcde"}), 2),
        (
            json!({"role": "user", "content": [{"type": "text", "text": "a"}, image]}),
            1201,
        ),
        (
            json!({"role": "toolResult", "content": [{"type": "text", "text": "abcd"}]}),
            1,
        ),
        (
            json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "abc"}, {"type": "text", "text": "de"}]}),
            2,
        ),
        (
            json!({"role": "bashExecution", "command": "ab", "output": "cde"}),
            2,
        ),
        (
            json!({"role": "custom", "customType": "c", "content": "😀😀a"}),
            2,
        ),
        (json!({"role": "branchSummary", "summary": "abcde"}), 2),
        (json!({"role": "compactionSummary", "summary": "abcd"}), 1),
        (
            json!({"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            "sections": {"x": "cd", "gone": null}, "toolsAdded": tools, "toolsRemoved": [{"name": "z"}]}),
            (4 + tools_length).div_ceil(4),
        ),
        (json!({"role": "fromTheFuture", "content": "abcd"}), 0),
    ];
    for (message, expected) in cases {
        let message: AgentMessage = serde_json::from_value(message).unwrap();
        assert_eq!(message_tokens(&message), expected, "{message:?}");
    }
}

#[test]
fn the_last_usable_report_is_used_unless_the_context_changed_since() {
    let reported = |usage_tokens: u64, trailing_tokens: u64, index: usize| ContextEstimate {
        tokens: usage_tokens + trailing_tokens,
        usage_tokens,
        trailing_tokens,
        last_usage_index: Some(index),
    };
    let estimated = |tokens: u64| ContextEstimate {
        tokens,
        usage_tokens: 0,
        trailing_tokens: tokens,
        last_usage_index: None,
    };
    let stopped = |reason: &str| {
        let mut response = response_with_tokens("abcd", 900);
        response["stopReason"] = json!(reason);
        response
    };
    let mut parts = response("abcd");
    parts["usage"] = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4});
    let system = |text: &str| json!({"role": "system", "content": "", "sections": {"a": text}});
    let cases = [
        ("nothing", vec![], estimated(0)),
        (
            "no report",
            vec![user("abcd"), response("abcd")],
            estimated(2),
        ),
        (
            "a total",
            vec![user("abcd"), response_with_tokens("a", 50), user("abcd")],
            reported(50, 1, 1),
        ),
        (
            "the sum of its parts",
            vec![user("abcd"), parts],
            reported(10, 0, 1),
        ),
        (
            "failed",
            vec![response_with_tokens("a", 50), stopped("error")],
            reported(50, 1, 0),
        ),
        (
            "canceled",
            vec![response_with_tokens("a", 50), stopped("aborted")],
            reported(50, 1, 0),
        ),
        (
            "truncated",
            vec![response_with_tokens("a", 50), stopped("length")],
            reported(900, 0, 1),
        ),
        (
            "zero",
            vec![
                response_with_tokens("a", 50),
                response_with_tokens("abcd", 0),
            ],
            reported(50, 1, 0),
        ),
        (
            "metadata since",
            vec![response_with_tokens("a", 50), metadata()],
            reported(50, 0, 0),
        ),
        (
            "edited since",
            vec![
                user("abcd"),
                response_with_tokens("abcd", 50),
                replacement("e0", &json!("abcdefgh")),
            ],
            estimated(3),
        ),
        (
            "edited before",
            vec![
                user("abcd"),
                omission("e0"),
                response_with_tokens("abcd", 50),
            ],
            reported(50, 0, 0),
        ),
        (
            "compacted since",
            vec![
                response_with_tokens("abcd", 50),
                compaction("abcd", "e0"),
                user("abcd"),
            ],
            estimated(3),
        ),
        (
            "compacted before",
            vec![
                user("x"),
                compaction("abcd", "e0"),
                response_with_tokens("abcd", 50),
            ],
            reported(50, 0, 2),
        ),
        (
            "only the current prompt",
            vec![system("12345678"), system("1234"), user("abcd")],
            estimated(2),
        ),
    ];
    for (name, entries, expected) in cases {
        assert_eq!(
            context_tokens(&TestPath::of(entries).projection()),
            expected,
            "{name}"
        );
    }
}

#[test]
fn nothing_is_planned_if_nothing_would_be_summarized() {
    let long = || user(&text_of(100));
    let cases = [
        (vec![], NothingToCompact::TooSmall),
        (vec![metadata()], NothingToCompact::TooSmall),
        (vec![user("a"), response("b")], NothingToCompact::TooSmall),
        (
            vec![long(), response("b"), compaction("s", "e1")],
            NothingToCompact::AlreadyCompacted,
        ),
        (
            vec![
                json!({"role": "system", "content": "p"}),
                long(),
                response("b"),
            ],
            NothingToCompact::TooSmall,
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(
            plan(entries.clone(), 50).unwrap_err(),
            expected,
            "{entries:?}"
        );
    }
    // Entries kept by an earlier compaction are summarized by the next one.
    let kept = plan(vec![user("a"), compaction("s", "e0"), long()], 50).unwrap();
    assert_eq!(described(kept.history_messages()), ["user a"]);
}

#[test]
fn a_plan_starts_after_the_previous_compaction_and_updates_its_summary() {
    let mut previous = compaction("previous", "e2");
    previous["details"] = json!({"readFiles": ["old"], "modifiedFiles": ["m"]});
    let mut entries = vec![
        user("gone"),
        response("gone"),
        user("kept"),
        response("kept"),
        previous,
        json!({"role": "system", "content": "", "sections": {"cwd": "/"}}),
        custom_message("note"),
        tool_calls(&["f"]),
        result("f", "x"),
        user(&text_of(20)),
        response("end"),
    ];
    let planned = plan(entries.clone(), 10).unwrap();
    assert_eq!(planned.first_kept_entry_id, "e9");
    assert_eq!(planned.previous_summary.as_deref(), Some("previous"));
    assert!(!planned.is_split_turn());
    assert_eq!(
        described(planned.history_messages()),
        [
            "user kept",
            "assistant [kept]",
            "custom note",
            "assistant [call<f>]",
            "toolResult [x]"
        ]
    );
    let files = planned.files.lists();
    assert_eq!(
        (files.read, files.modified),
        (vec!["f".into(), "old".into()], vec!["m".into()])
    );

    entries[4]["fromHook"] = json!(true);
    assert_eq!(plan(entries, 10).unwrap().files.lists().read, ["f"]);
}

#[test]
fn a_compaction_that_was_edited_out_has_no_summary_to_update() {
    let entries = vec![
        user("0"),
        compaction("hidden", "e0"),
        omission("e1"),
        response("a"),
        user(&text_of(20)),
    ];
    let planned = plan(entries, 10).unwrap();
    assert_eq!(planned.previous_summary, None);
    assert_eq!(
        described(planned.history_messages()),
        ["user 0", "assistant [a]"]
    );
}

#[test]
fn a_split_turn_has_a_separate_prefix() {
    let entries = vec![
        user("before"),
        response("before"),
        user("ask"),
        tool_calls(&["a"]),
        result("a", "ra"),
        tool_calls(&["b"]),
        result("b", &text_of(20)),
    ];
    let planned = plan(entries.clone(), 10).unwrap();
    assert!(planned.is_split_turn());
    assert_eq!(planned.first_kept_entry_id, "e5");
    assert_eq!(
        described(planned.history_messages()),
        ["user before", "assistant [before]"]
    );
    assert_eq!(
        described(planned.turn_prefix_messages()),
        ["user ask", "assistant [call<a>]", "toolResult [ra]"]
    );
    assert_eq!(planned.files.lists().read, ["a"]);
    let first_turn = plan(entries[2..].to_vec(), 10).unwrap();
    assert_eq!(first_turn.history_messages().count(), 0);
    assert_eq!(first_turn.turn_prefix_messages().count(), 3);
}

fn summarizer(model: &Model) -> Summarizer<'_> {
    Summarizer {
        model,
        thinking_level: ThinkingLevel::Medium,
        now_ms: 7,
    }
}

fn text(request: &SummaryRequest) -> String {
    let [Message::System(system), Message::User(user)] = request.messages.as_slice() else {
        panic!("not a prompt and a message: {:?}", request.messages);
    };
    assert!(!system.content.is_empty() && system.tools_added.is_none());
    user.content.joined_text()
}

fn split_plan(previous: Option<&str>) -> CompactionPlan {
    let turn = vec![
        user("ask"),
        tool_calls(&["a"]),
        result("a", "ra"),
        response(&text_of(20)),
    ];
    let leading = previous.map(|summary| compaction(summary, "none"));
    plan(leading.into_iter().chain(turn).collect(), 10).unwrap()
}

#[test]
fn the_history_is_requested_before_the_turn_prefix() {
    let entries = vec![
        user("before"),
        response("b"),
        user("ask"),
        tool_calls(&["a"]),
        result("a", &text_of(20)),
    ];
    let planned = plan(entries, 10).unwrap();
    let requests = planned.requests(&summarizer(&model()), Some("the names"));
    let purposes: Vec<_> = requests
        .iter()
        .map(|request| (request.purpose, request.reasoning))
        .collect();
    assert_eq!(
        purposes,
        [
            (SummaryPurpose::History, ThinkingLevel::Medium),
            (SummaryPurpose::TurnPrefix, ThinkingLevel::Medium),
        ]
    );
    assert!(
        text(&requests[0])
            .contains("<conversation>\n[User]: before\n\n[Assistant]: b\n</conversation>")
    );
    assert!(text(&requests[0]).ends_with("the names"));
    assert!(text(&requests[1]).contains("<conversation>\n[User]: ask\n</conversation>"));
    assert!(text(&requests[1]).ends_with("the names"));
    assert_eq!(requests[0].cache_retention, CacheRetention::None);
}

#[test]
fn a_model_without_reasoning_summarizes_without_it() {
    let mut small = model();
    small.reasoning = false;
    let request = &split_plan(None).requests(&summarizer(&small), None)[0];
    assert_eq!(request.reasoning, ThinkingLevel::Off);
}

#[test]
fn the_previous_summary_is_included_for_update() {
    let entries = |previous: &str| {
        vec![
            compaction(previous, "none"),
            user("a"),
            response("b"),
            user(&text_of(20)),
            response("d"),
        ]
    };
    let request_text = |previous: &str| {
        let planned = plan(entries(previous), 10).unwrap();
        text(&planned.requests(&summarizer(&model()), None)[0])
    };
    assert!(
        request_text("old notes").contains("<previous-summary>\nold notes\n</previous-summary>")
    );
    assert!(!request_text("").contains("previous-summary"));
}

#[test]
fn what_follows_the_last_part_is_quoted_after_the_summary_so_far() {
    let prompts = (1..=71).map(|n| user(&format!("prompt {n} {}", "x".repeat(3000))));
    let planned = plan(prompts.collect(), 10).unwrap();
    let model = model();
    let summarizer = summarizer(&model);
    let request = &planned.requests(&summarizer, None)[0];
    let chunked = || {
        let mut chunks = ChunkedSummary::new(&planned, request, 0);
        // A request that is too large is not a part.
        while chunks.shrink() {}
        chunks
    };
    let mut chunks = chunked();
    let mut parts = 0;
    while chunks.next_request(&summarizer, None).is_some() {
        parts += 1;
        chunks.accept(summary(
            SummaryPurpose::History,
            &format!("1 to {parts}"),
            1,
        ));
    }
    assert_eq!((parts, chunks.is_complete()), (64, false));
    let finished = chunks.finish();
    assert_eq!(finished.usage.input, 64);
    let quoted = |text: &str, n: u32| text.contains(&format!("\n- prompt {n} x"));
    let text = &finished.text;
    assert!(text.starts_with("1 to 64\n\nThis part of the"), "{text}");
    assert!(
        !quoted(text, 64) && quoted(text, 65) && quoted(text, 70),
        "{text}"
    );

    let text = chunked().finish().text;
    assert!(text.starts_with("This part of the"), "{text}");
    assert!(
        text.contains("\n- (40 earlier ones)") && quoted(&text, 41),
        "{text}"
    );
}

fn summary(purpose: SummaryPurpose, text: &str, input: u64) -> Summary {
    let usage =
        json!({"input": input, "output": 1, "totalTokens": input + 1, "cost": {"total": 0.5}});
    Summary {
        purpose,
        text: text.to_owned(),
        usage: serde_json::from_value(usage).unwrap(),
    }
}

#[test]
fn summaries_are_joined_with_files_and_usage() {
    let prefix = || summary(SummaryPurpose::TurnPrefix, "P", 10);
    let files = "\n\n<read-files>\na\n</read-files>";
    for (previous, expected) in [
        (
            None,
            format!("(No prior history.)\n\n---\n\n**Turn Context (split turn):**\n\nP{files}"),
        ),
        (
            Some("old"),
            format!("old\n\n---\n\n**Turn Context (split turn):**\n\nP{files}"),
        ),
    ] {
        let planned = split_plan(previous);
        assert_eq!(planned.requests(&summarizer(&model()), None).len(), 1);
        let result = planned.finish(&[prefix()]).unwrap();
        assert_eq!(result.summary, expected);
        assert_eq!(result.usage, Some(prefix().usage));
    }
    let entries = vec![
        user("before"),
        tool_calls(&["a"]),
        result("a", "r"),
        user("ask"),
        response("x"),
        response(&text_of(20)),
    ];
    let planned = plan(entries, 10).unwrap();
    let result = planned
        .finish(&[summary(SummaryPurpose::History, "H", 30), prefix()])
        .unwrap();
    assert_eq!(
        result.summary,
        format!("H\n\n---\n\n**Turn Context (split turn):**\n\nP{files}")
    );
    let usage = result.usage.unwrap();
    assert_eq!(
        (
            usage.input,
            usage.output,
            usage.total_tokens,
            usage.cost.total
        ),
        (40, 2, 42, 1.0)
    );
    assert_eq!(
        result.details,
        Some(json!({"readFiles": ["a"], "modifiedFiles": []}))
    );
    assert_eq!(planned.finish(&[prefix()]), Err(SummaryError::Missing));
    assert_eq!(planned.finish(&[]), Err(SummaryError::Missing));
}

#[test]
fn an_incomplete_summary_is_an_error() {
    let planned = split_plan(None);
    let request = &planned.requests(&summarizer(&model()), None)[0];
    let read = |response: Value| {
        let response: AssistantMessage = serde_json::from_value(response).unwrap();
        request.read(&response).map(|summary| summary.text)
    };
    let text = json!([{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "t"}, {"type": "text", "text": "b"}]);
    let failed = |message: &str| Err(SummaryError::Failed(message.to_owned()));
    let cases = [
        (
            json!({"stopReason": "stop", "content": text}),
            Ok("a\nb".to_owned()),
        ),
        (
            json!({"stopReason": "error", "content": text, "errorMessage": "400 {\"no\"}"}),
            failed("400 {\"no\"}"),
        ),
        (
            json!({"stopReason": "error", "content": text}),
            failed("no error message from the provider"),
        ),
        (
            json!({"stopReason": "length", "content": text}),
            Err(SummaryError::Truncated),
        ),
        (
            json!({"stopReason": "aborted", "content": text}),
            Err(SummaryError::Aborted),
        ),
        (
            json!({"stopReason": "toolUse", "content": [{"type": "toolCall", "id": "1", "name": "ls", "arguments": {}}]}),
            Err(SummaryError::CalledTool("ls".to_owned())),
        ),
        (
            json!({"stopReason": "stop", "content": [{"type": "text", "text": " \n"}]}),
            Err(SummaryError::Empty),
        ),
        (
            json!({"stopReason": "deferred", "content": text}),
            failed("the response is not complete"),
        ),
    ];
    for (response, expected) in cases {
        assert_eq!(read(response.clone()), expected, "{response}");
    }
}

#[test]
fn the_entry_contains_the_current_prompt_and_tools() {
    let path = TestPath::of([
        json!({"role": "system", "content": "", "sections": {"a": "1", "b": "2"}, "toolsAdded": [{"name": "t", "description": "", "parameters": {}}]}),
        user("hi"),
        json!({"role": "system", "content": "", "sections": {"a": null, "c": "3"}}),
    ]);
    let result = CompactionResult {
        summary: "s".into(),
        first_kept_entry_id: None,
        tokens_before: 5,
        details: None,
        usage: None,
    };
    let entry = result
        .clone()
        .into_entry(&path.projection(), SummaryAuthor::Extension, 99);
    let body = EntryBody::Compaction(entry);
    assert_eq!(
        pi_protocol::json::to_string(&body).unwrap(),
        r#"{"summary":"s","tokensBefore":5,"fromHook":true,"systemMessage":{"role":"system","content":"","sections":{"b":"2","c":"3"},"toolsAdded":[{"name":"t","description":"","parameters":{}}],"timestamp":99}}"#
    );
    let bare = result.into_entry(
        &TestPath::of([user("hi")]).projection(),
        SummaryAuthor::Pi,
        99,
    );
    assert_eq!((bare.from_hook, bare.system_message), (Some(false), None));
}
