//! The JSON of messages: parsing and serializing is lossless.

use pi_protocol::{AgentMessage, AssistantBlock, InputBlock, Message, json};
use pretty_assertions::assert_eq;

fn round_trip(line: &str) -> String {
    match serde_json::from_str::<AgentMessage>(line) {
        Ok(message) => json::to_string(&message).unwrap_or_else(|error| error.to_string()),
        Err(error) => format!("{error} in {line}"),
    }
}

/// One line for every role, with every field.
const EVERY_ROLE: [&str; 16] = [
    r#"{"role":"system","content":"","timestamp":1733234400000}"#,
    r#"{"role":"system","content":[{"type":"text","text":"a"}],"sections":{"preamble":"You","skills":null},"toolsAdded":[{"name":"read","description":"Reads.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"constrainedSampling":{"type":"json_schema","strict":"prefer"}},{"name":"patch","description":"","parameters":{},"constrainedSampling":{"type":"grammar","variants":{"openai_lark":"start: X"}}},{"name":"free","description":"","parameters":true,"constrainedSampling":false}],"toolsRemoved":[{"name":"write"}],"timestamp":1733234400000}"#,
    r#"{"role":"user","content":"Hello","timestamp":1733234401000}"#,
    r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","data":"AA==","mimeType":"image/png"}],"timestamp":1733234401000}"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"thinking","thinking":"","thinkingSignature":"enc","redacted":true},{"type":"text","text":"Hi","textSignature":"{\"v\":1,\"id\":\"msg_1\"}"},{"type":"toolCall","id":"call_1|fc_1","name":"read","arguments":{"path":"a","limit":1.5,"deep":{"z":[],"a":null}},"thoughtSignature":"ts","namespace":"ns"}],"api":"openai-responses","provider":"openai","model":"gpt","responseModel":"gpt-2","responseId":"resp_1","providerThinkingLevel":"high","diagnostics":[{"type":"transport","timestamp":1733234402000,"error":{"name":"Error","message":"m","stack":"s","code":"ECONNRESET"},"details":{"attempt":1}},{"type":"t","timestamp":1,"error":{"message":"m","code":7}}],"usage":{"input":12,"output":3,"cacheRead":100,"cacheWrite":4,"cacheWrite1h":2,"reasoning":1,"totalTokens":119,"cost":{"input":0.000036,"output":0.000045,"cacheRead":3e-8,"cacheWrite":0,"total":0.00008103}},"stopReason":"toolUse","rawStopReason":"completed","endTurn":false,"timestamp":1733234402000}"#,
    r#"{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"529 overloaded","timestamp":1}"#,
    r#"{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"deferred","deferred":{"provider":"p","modelId":"m","api":"a","id":"d1","expiresAt":2,"pollAfterMs":500,"data":{"k":null}},"timestamp":1}"#,
    r#"{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"ok"},{"type":"image","data":"AA==","mimeType":"image/png"}],"details":{"exitCode":0},"usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"isError":false,"timestamp":1733234403000}"#,
    r#"{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{"input":1,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":1,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"end_turn","timestamp":1,"durationMs":79,"thinkingLevel":"ultra"}"#,
    r#"{"role":"toolResult","toolCallId":"c","toolName":"code","content":[],"isError":true,"durationMs":5,"timestamp":1,"nestedCalls":{"calls":[{"id":"c/1","name":"read","status":"ok","arguments":{"path":"a"},"durationMs":1},{"id":"c/2","name":"write","status":"error","argumentsBytes":9000,"durationMs":2,"error":"denied"},{"id":"c/3","name":"bash","status":"unfinished","arguments":{}}],"complete":false}}"#,
    r#"{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[],"details":null,"isError":true,"timestamp":1733234403000}"#,
    r#"{"role":"bashExecution","command":"ls","output":"a\nb","exitCode":3221225786,"cancelled":false,"truncated":true,"fullOutputPath":"/tmp/out","excludeFromContext":true,"timestamp":5}"#,
    r#"{"role":"custom","customType":"note","content":"text","display":true,"details":[1,"x",null],"timestamp":5}"#,
    r#"{"role":"branchSummary","summary":"s","fromId":"a1b2c3d4","timestamp":5}"#,
    r#"{"role":"branchSummary","summary":"s","fromId":null,"timestamp":5}"#,
    r#"{"role":"compactionSummary","summary":"s","tokensBefore":50000,"timestamp":5}"#,
];

#[test]
fn every_role_round_trips() {
    for line in EVERY_ROLE {
        assert_eq!(round_trip(line), line);
        let message: AgentMessage = serde_json::from_str(line).unwrap();
        assert!(!matches!(message, AgentMessage::Unknown(_)), "{line}");
    }
}

#[test]
fn unknown_fields_and_roles_round_trip() {
    let lines = [
        r#"{"role":"hologram","depth":3,"content":{"x":[1]}}"#,
        r#"{"role":"system","content":"","timestamp":1,"replace":true}"#,
        r#"{"role":"system","content":"","toolsAdded":[{"name":"n","description":"d","parameters":{},"icon":"x"}],"toolsRemoved":[{"name":"o","why":1}],"timestamp":1}"#,
        r#"{"role":"user","content":[{"type":"video","url":"u","parts":[{"a":1}]},{"type":"text","text":"t","lang":"de"},{"type":"image","data":"","mimeType":"m","alt":"a"}],"timestamp":1,"mood":"calm"}"#,
        r#"{"role":"assistant","content":[{"type":"audio","data":"x"},{"type":"text","text":"t","x":1},{"type":"thinking","thinking":"t","x":1},{"type":"toolCall","id":"i","name":"n","arguments":{},"x":1}],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0,"search":0.01},"searches":2},"stopReason":"stop","timestamp":1,"mood":"high"}"#,
        r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false,"timestamp":1,"nestedTools":[{"id":"x"}]}"#,
        r#"{"role":"bashExecution","command":"c","output":"","cancelled":false,"truncated":false,"timestamp":1,"shell":"zsh"}"#,
        r#"{"role":"custom","customType":"t","content":[],"display":false,"timestamp":1,"x":{}}"#,
    ];
    for line in lines {
        assert_eq!(round_trip(line), line);
    }
}

#[test]
fn old_and_lenient_files_are_parsed() {
    let usage = r#""usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
    let assistant = |content: &str| {
        format!(
            r#"{{"role":"assistant","content":{content},"api":"a","provider":"p","model":"m",{usage},"stopReason":"stop","timestamp":1}}"#
        )
    };
    let cases = [
        (
            r#"{"role":"user","content":null,"timestamp":1}"#.to_owned(),
            r#"{"role":"user","content":[],"timestamp":1}"#.to_owned(),
        ),
        (
            r#"{"role":"user","timestamp":1.0}"#.to_owned(),
            r#"{"role":"user","content":[],"timestamp":1}"#.to_owned(),
        ),
        (
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":"plain","isError":false,"timestamp":1}"#.to_owned(),
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[{"type":"text","text":"plain"}],"isError":false,"timestamp":1}"#.to_owned(),
        ),
        (
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false,"timestamp":1,"nestedCalls":[{"id":"x"}]}"#.to_owned(),
            r#"{"role":"toolResult","toolCallId":"c","toolName":"t","content":[],"isError":false,"timestamp":1}"#.to_owned(),
        ),
        (assistant("null"), assistant("[]")),
        (
            assistant(r#""plain""#),
            assistant(r#"[{"type":"text","text":"plain"}]"#),
        ),
        (
            assistant(r#"[{"type":"toolCall","id":"i","name":"n","arguments":null}]"#),
            assistant(r#"[{"type":"toolCall","id":"i","name":"n","arguments":{}}]"#),
        ),
        (
            assistant("[]").replace(r#""input":0,"output":0,"cacheRead""#, r#""input":0.0,"output":null,"cacheRead""#),
            assistant("[]"),
        ),
        (
            assistant("[]").replace(usage, r#""usage":null"#),
            assistant("[]"),
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(round_trip(&line), expected, "{line}");
    }
}

#[test]
fn blocks_of_unknown_types_do_not_affect_others() {
    let message: Message = serde_json::from_str(
        r#"{"role":"user","content":[{"type":"video"},{"type":"text","text":"t"}],"timestamp":1}"#,
    )
    .unwrap();
    let Message::User(user) = message else {
        panic!("expected a user message");
    };
    let pi_protocol::MessageContent::Blocks(blocks) = &user.content else {
        panic!("blocks");
    };
    assert!(matches!(blocks[0], InputBlock::Unknown(_)));
    assert_eq!(blocks[1].as_text(), Some("t"));

    let block: AssistantBlock = serde_json::from_str(r#"{"type":"toolCall","id":"i"}"#).unwrap();
    assert!(
        matches!(block, AssistantBlock::Unknown(_)),
        "a call without a name is not a tool call"
    );
}
