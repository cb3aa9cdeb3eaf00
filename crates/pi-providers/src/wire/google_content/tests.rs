//! Requests and recorded responses of both of Google's APIs.

use insta::assert_snapshot;
use pi_auth::GoogleCredentials;
use pi_http::{HttpClient, ResponseHead};
use pi_protocol::json::value_to_string;
use pi_protocol::{ErrorClass, Model, ThinkingBudgets, ThinkingLevel, ToolChoice};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::options::{ModelRequest, StreamOptions};
use crate::wire::google_generative::GoogleGenerative;
use crate::wire::google_vertex::GoogleVertex;
use crate::wire::testing::{
    self, PNG, assert_same_events_for_any_split, assert_truncation_is_an_error, full_conversation,
    lines,
};
use crate::wire::{Decoder, HttpProtocol};

const APIS: [&str; 2] = ["google-generative-ai", "google-vertex"];

fn model(api: &str, id: &str) -> Model {
    testing::model(api, json!({"id": id}))
}

fn request(model: Model, messages: Value, options: StreamOptions) -> ModelRequest {
    testing::request(model, messages, options)
}

fn decoder(api: &str, model: &Model) -> Box<dyn Decoder> {
    let request = request(model.clone(), json!([]), StreamOptions::default());
    match api {
        "google-vertex" => {
            GoogleVertex::new(GoogleCredentials::new(HttpClient::new())).decoder(&request)
        }
        _ => GoogleGenerative.decoder(&request),
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(
            "../../../tests/fixtures/google-generative-ai/",
            $name,
            ".sse"
        ))
    };
}

/// Decodes a body with both APIs, which must only differ in their name.
fn decoded(body: &str) -> String {
    let decoded_events = APIS.map(|api| {
        let model = model(api, "gemini-3-flash-preview");
        let events = testing::decode(decoder(api, &model), &model, [body.as_bytes()]);
        lines(&events).replace(api, "google-*")
    });
    assert_eq!(decoded_events[0], decoded_events[1]);
    decoded_events[0].clone()
}

#[test]
fn text_is_one_block_and_ends_with_an_empty_part() {
    assert_snapshot!(decoded(fixture!("text")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"Hel"}
    {"type":"text_delta","contentIndex":0,"delta":"lo \"wörld\" 🎉\n"}
    {"type":"text_delta","contentIndex":0,"delta":""}
    {"type":"text_end","contentIndex":0,"content":"Hello \"wörld\" 🎉\n"}
    {"type":"done","reason":"stop","message":{"content":[{"type":"text","text":"Hello \"wörld\" 🎉\n"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":8,"output":6,"cacheRead":4,"cacheWrite":0,"reasoning":0,"totalTokens":18,"cost":{"input":0.000024,"output":0.00009,"cacheRead":0.0000012,"cacheWrite":0,"total":0.00011520000000000001,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"STOP","timestamp":1700000000000}}
    "#);
}

#[test]
fn thinking_and_text_keep_their_signatures() {
    assert_snapshot!(decoded(fixture!("thinking")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"**Plan**\n"}
    {"type":"thinking_delta","contentIndex":0,"delta":"two steps"}
    {"type":"thinking_end","contentIndex":0,"content":"**Plan**\ntwo steps"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"Done"}
    {"type":"text_delta","contentIndex":1,"delta":"."}
    {"type":"text_end","contentIndex":1,"content":"Done."}
    {"type":"done","reason":"stop","message":{"content":[{"type":"thinking","thinking":"**Plan**\ntwo steps","thinkingSignature":"dGhvdWdodA=="},{"type":"text","text":"Done.","textSignature":"dGV4dA=="}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":20,"output":43,"cacheRead":0,"cacheWrite":0,"reasoning":40,"totalTokens":63,"cost":{"input":0.00006,"output":0.0006450000000000001,"cacheRead":0,"cacheWrite":0,"total":0.0007050000000000001,"totalFromProvider":false}},"stopReason":"stop","rawStopReason":"STOP","timestamp":1700000000000}}
    "#);
}

#[test]
fn parallel_calls_get_unique_ids() {
    assert_snapshot!(decoded(fixture!("parallel_tools")), @r#"
    {"type":"start"}
    {"type":"thinking_start","contentIndex":0}
    {"type":"thinking_delta","contentIndex":0,"delta":"hm"}
    {"type":"thinking_end","contentIndex":0,"content":"hm"}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":"Reading."}
    {"type":"text_end","contentIndex":1,"content":"Reading."}
    {"type":"toolcall_start","contentIndex":2,"id":"call-a","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":2,"delta":"{\"path\":\"a.txt\"}"}
    {"type":"toolcall_end","contentIndex":2,"toolCall":{"type":"toolCall","id":"call-a","name":"read","arguments":{"path":"a.txt"},"thoughtSignature":"Y2FsbA=="}}
    {"type":"toolcall_start","contentIndex":3,"id":"read_1700000000000_2","toolName":"read"}
    {"type":"toolcall_delta","contentIndex":3,"delta":"{\"path\":\"b\",\"limit\":2}"}
    {"type":"toolcall_end","contentIndex":3,"toolCall":{"type":"toolCall","id":"read_1700000000000_2","name":"read","arguments":{"path":"b","limit":2}}}
    {"type":"toolcall_start","contentIndex":4,"id":"ls_1700000000000_3","toolName":"ls"}
    {"type":"toolcall_delta","contentIndex":4,"delta":"{}"}
    {"type":"toolcall_end","contentIndex":4,"toolCall":{"type":"toolCall","id":"ls_1700000000000_3","name":"ls","arguments":{}}}
    {"type":"text_start","contentIndex":5}
    {"type":"text_delta","contentIndex":5,"delta":""}
    {"type":"text_end","contentIndex":5,"content":""}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Reading."},{"type":"toolCall","id":"call-a","name":"read","arguments":{"path":"a.txt"},"thoughtSignature":"Y2FsbA=="},{"type":"toolCall","id":"read_1700000000000_2","name":"read","arguments":{"path":"b","limit":2}},{"type":"toolCall","id":"ls_1700000000000_3","name":"ls","arguments":{}},{"type":"text","text":""}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":30,"output":17,"cacheRead":0,"cacheWrite":0,"reasoning":5,"totalTokens":47,"cost":{"input":0.00009,"output":0.000255,"cacheRead":0,"cacheWrite":0,"total":0.00034500000000000004,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"STOP","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_call_is_emitted_complete() {
    assert_snapshot!(decoded(fixture!("tool_in_pieces")), @r#"
    {"type":"start"}
    {"type":"toolcall_start","contentIndex":0,"id":"w1","toolName":"write"}
    {"type":"toolcall_delta","contentIndex":0,"delta":"{\"path\":\"ü.md\",\"content\":\"line \\\"one\\\"\\nline two\\\\\",\"mode\":null,\"deep\":{\"n\":[1,2.5,-300],\"ok\":true}}"}
    {"type":"toolcall_end","contentIndex":0,"toolCall":{"type":"toolCall","id":"w1","name":"write","arguments":{"path":"ü.md","content":"line \"one\"\nline two\\","mode":null,"deep":{"n":[1,2.5,-300],"ok":true}}}}
    {"type":"text_start","contentIndex":1}
    {"type":"text_delta","contentIndex":1,"delta":""}
    {"type":"text_end","contentIndex":1,"content":""}
    {"type":"done","reason":"toolUse","message":{"content":[{"type":"toolCall","id":"w1","name":"write","arguments":{"path":"ü.md","content":"line \"one\"\nline two\\","mode":null,"deep":{"n":[1,2.5,-300],"ok":true}}},{"type":"text","text":"","textSignature":"ZW5k"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":8,"output":9,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":17,"cost":{"input":0.000024,"output":0.000135,"cacheRead":0,"cacheWrite":0,"total":0.00015900000000000002,"totalFromProvider":false}},"stopReason":"toolUse","rawStopReason":"STOP","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_response_stopped_by_a_filter_is_an_error() {
    assert_snapshot!(decoded(fixture!("safety")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"I can"}
    {"type":"text_end","contentIndex":0,"content":"I can"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"I can"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":9,"output":2,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":11,"cost":{"input":0.000027,"output":0.00003,"cacheRead":0,"cacheWrite":0,"total":0.000057,"totalFromProvider":false}},"stopReason":"error","errorMessage":"The model stopped with SAFETY","rawStopReason":"SAFETY","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_blocked_prompt_is_an_error() {
    assert_snapshot!(decoded(fixture!("prompt_blocked")), @r#"
    {"type":"start"}
    {"type":"error","reason":"error","error":{"content":[],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":7,"output":0,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":7,"cost":{"input":0.000021000000000000002,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.000021000000000000002,"totalFromProvider":false}},"stopReason":"error","errorMessage":"The prompt was blocked with PROHIBITED_CONTENT: not allowed here","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_malformed_call_is_an_error() {
    assert_snapshot!(decoded(fixture!("malformed_call")), @r#"
    {"type":"start"}
    {"type":"error","reason":"error","error":{"content":[],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":9,"output":0,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":9,"cost":{"input":0.000027,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.000027,"totalFromProvider":false}},"stopReason":"error","errorMessage":"The model stopped with MALFORMED_FUNCTION_CALL: Malformed function call: read(","rawStopReason":"MALFORMED_FUNCTION_CALL","timestamp":1700000000000}}
    "#);
}

#[test]
fn the_output_limit_ends_in_length() {
    assert_snapshot!(decoded(fixture!("length")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"one two thr"}
    {"type":"text_end","contentIndex":0,"content":"one two thr"}
    {"type":"done","reason":"length","message":{"content":[{"type":"text","text":"one two thr"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":5,"output":8192,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":8197,"cost":{"input":0.000015,"output":0.12288,"cacheRead":0,"cacheWrite":0,"total":0.122895,"totalFromProvider":false}},"stopReason":"length","rawStopReason":"MAX_TOKENS","timestamp":1700000000000}}
    "#);
}

#[test]
fn an_error_in_the_stream_keeps_the_partial_message() {
    assert_snapshot!(decoded(fixture!("stream_error")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"text_end","contentIndex":0,"content":"par"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"par"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The service failed during the response: The model is overloaded. Please try again later. (503, UNAVAILABLE)","timestamp":1700000000000}}
    "#);
}

#[test]
fn a_response_that_ends_early_is_an_error() {
    assert_snapshot!(decoded(fixture!("cut")), @r#"
    {"type":"start"}
    {"type":"text_start","contentIndex":0}
    {"type":"text_delta","contentIndex":0,"delta":"par"}
    {"type":"text_delta","contentIndex":0,"delta":"tial"}
    {"type":"text_end","contentIndex":0,"content":"partial"}
    {"type":"error","reason":"error","error":{"content":[{"type":"text","text":"partial"}],"api":"google-*","provider":"mock","model":"gemini-3-flash-preview","responseId":"gx1","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"error","errorMessage":"The stream ended without a finish reason","timestamp":1700000000000}}
    "#);
}

#[test]
fn an_error_instead_of_a_stream_is_reported() {
    let body = "{\"error\":\n{\"code\": 400, \"message\": \"bad proxy\", \"status\": \"X\"}\n}";
    let events = decoded(body);
    assert!(events.contains("The service failed during the response: bad proxy (400, X)"));
    assert!(decoded("<html>").contains("The stream ended without a finish reason"));
    assert!(
        decoded("data: {\"candidates\": 5}\n\n").contains("The service sent a malformed chunk")
    );
}

#[test]
fn any_split_yields_the_same_events() {
    for api in APIS {
        let model = model(api, "gemini-3-flash-preview");
        for body in [
            fixture!("text"),
            fixture!("thinking"),
            fixture!("parallel_tools"),
            fixture!("tool_in_pieces"),
            fixture!("safety"),
            fixture!("prompt_blocked"),
            fixture!("stream_error"),
        ] {
            assert_same_events_for_any_split(|| decoder(api, &model), &model, body.as_bytes());
        }
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    for api in APIS {
        let model = model(api, "gemini-3-flash-preview");
        for body in [
            fixture!("text"),
            fixture!("thinking"),
            fixture!("parallel_tools"),
            fixture!("tool_in_pieces"),
            fixture!("length"),
        ] {
            assert_truncation_is_an_error(|| decoder(api, &model), &model, body.as_bytes());
        }
    }
}

/// Formats a body for snapshots: one line per turn and per other field.
fn format_body(body: &Value) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match value {
            Value::Array(turns) if name == "contents" => {
                lines.extend(turns.iter().map(value_to_string));
            }
            _ => lines.push(format!("{name} {}", value_to_string(value))),
        }
    }
    lines.join("\n").replace(PNG, "PNG")
}

fn request_body_for(api: &str, id: &str, source: (&str, &str, &str)) -> String {
    let (provider, source_api, source_model) = source;
    let messages = full_conversation(provider, source_api, source_model);
    let options = StreamOptions {
        temperature: Some(0.2),
        reasoning: ThinkingLevel::Medium,
        ..StreamOptions::default()
    };
    let request = request(model(api, id), messages, options);
    format_body(&request_body(&request).unwrap())
}

#[test]
fn full_conversation_as_own_history() {
    let id = "gemini-3-pro-preview";
    let own = APIS.map(|api| request_body_for(api, id, ("mock", api, id)));
    assert_eq!(own[0], own[1]);
    assert_snapshot!(own[0], @r#"
    {"parts":[{"text":"look at this"},{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"role":"user"}
    {"parts":[{"thought":true,"text":"two reads","thoughtSignature":"c2lnbmF0dXJl"},{"text":"Reading."},{"functionCall":{"name":"read","args":{"path":"a"},"id":"call_1|fc_1"}},{"functionCall":{"name":"read","args":{"path":"b","limit":2},"id":"call_2|fc_2"}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"output":"A"},"parts":[{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"id":"call_1|fc_1"}},{"functionResponse":{"name":"read","response":{"error":"no such file"},"id":"call_2|fc_2"}}],"role":"user"}
    {"parts":[{"text":"and now?"}],"role":"user"}
    {"parts":[{"text":"go on"}],"role":"user"}
    {"parts":[{"functionCall":{"name":"read","args":{"path":"c"},"id":"call_3|fc_3"}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"error":"No result: this call was interrupted, and the tool may not have run."},"id":"call_3|fc_3"}}],"role":"user"}
    {"parts":[{"text":"never mind the file"}],"role":"user"}
    systemInstruction {"parts":[{"text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}],"role":"user"}
    tools [{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false}},{"name":"patch","description":"Applies a patch.","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}},{"name":"write","description":"Writes a file.","parametersJsonSchema":{"type":"object","properties":{}}}]}]
    toolConfig {"functionCallingConfig":{"mode":"VALIDATED"}}
    generationConfig {"temperature":0.2,"maxOutputTokens":8192,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MEDIUM"}}
    "#);
}

#[test]
fn full_conversation_as_hand_off() {
    let source = ("openai", "openai-responses", "gpt-5.5");
    let handed = APIS.map(|api| request_body_for(api, "gemini-3-pro-preview", source));
    assert_eq!(handed[0], handed[1]);
    assert_snapshot!(handed[0], @r#"
    {"parts":[{"text":"look at this"},{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"role":"user"}
    {"parts":[{"text":"Reading."},{"functionCall":{"name":"read","args":{"path":"a"},"id":"call_1_fc_1"}},{"functionCall":{"name":"read","args":{"path":"b","limit":2},"id":"call_2_fc_2"}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"output":"A"},"parts":[{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"id":"call_1_fc_1"}},{"functionResponse":{"name":"read","response":{"error":"no such file"},"id":"call_2_fc_2"}}],"role":"user"}
    {"parts":[{"text":"and now?"}],"role":"user"}
    {"parts":[{"text":"go on"}],"role":"user"}
    {"parts":[{"functionCall":{"name":"read","args":{"path":"c"},"id":"call_3_fc_3"}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"error":"No result: this call was interrupted, and the tool may not have run."},"id":"call_3_fc_3"}}],"role":"user"}
    {"parts":[{"text":"never mind the file"}],"role":"user"}
    systemInstruction {"parts":[{"text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}],"role":"user"}
    tools [{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false}},{"name":"patch","description":"Applies a patch.","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}},{"name":"write","description":"Writes a file.","parametersJsonSchema":{"type":"object","properties":{}}}]}]
    toolConfig {"functionCallingConfig":{"mode":"VALIDATED"}}
    generationConfig {"temperature":0.2,"maxOutputTokens":8192,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MEDIUM"}}
    "#);
}

#[test]
fn older_models_get_images_in_a_separate_turn() {
    let id = "gemini-2.5-flash";
    assert_snapshot!(request_body_for(APIS[0], id, ("mock", APIS[0], id)), @r#"
    {"parts":[{"text":"look at this"},{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"role":"user"}
    {"parts":[{"thought":true,"text":"two reads","thoughtSignature":"c2lnbmF0dXJl"},{"text":"Reading."},{"functionCall":{"name":"read","args":{"path":"a"}}},{"functionCall":{"name":"read","args":{"path":"b","limit":2}}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"output":"A"}}},{"functionResponse":{"name":"read","response":{"error":"no such file"}}}],"role":"user"}
    {"parts":[{"text":"Tool result image:"},{"inlineData":{"mimeType":"image/png","data":"PNG"}}],"role":"user"}
    {"parts":[{"text":"and now?"}],"role":"user"}
    {"parts":[{"text":"go on"}],"role":"user"}
    {"parts":[{"functionCall":{"name":"read","args":{"path":"c"}}}],"role":"model"}
    {"parts":[{"functionResponse":{"name":"read","response":{"error":"No result: this call was interrupted, and the tool may not have run."}}}],"role":"user"}
    {"parts":[{"text":"never mind the file"}],"role":"user"}
    systemInstruction {"parts":[{"text":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}],"role":"user"}
    tools [{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}},{"name":"patch","description":"Applies a patch.","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}},{"name":"write","description":"Writes a file.","parametersJsonSchema":{"type":"object","properties":{}}}]}]
    generationConfig {"temperature":0.2,"maxOutputTokens":8192,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}
    "#);
}

fn thinking_of(model: Model, options: StreamOptions) -> Result<Value, ProviderError> {
    let request = request(model, json!([]), options);
    request_body(&request).map(|body| body["generationConfig"]["thinkingConfig"].clone())
}

fn reasoning(level: ThinkingLevel) -> StreamOptions {
    StreamOptions {
        reasoning: level,
        ..StreamOptions::default()
    }
}

#[test]
fn thinking_settings_depend_on_the_model_family() {
    use ThinkingLevel::{High, Low, Max, Medium, Minimal, Off, Xhigh};
    let budget = |tokens: i64| json!({"includeThoughts": true, "thinkingBudget": tokens});
    let level = |name: &str| json!({"includeThoughts": true, "thinkingLevel": name});
    let none = json!({"thinkingBudget": 0});
    let least = |name: &str| json!({"thinkingLevel": name});
    let flash_levels = json!({"off": null, "minimal": "minimal", "low": "low", "medium": "medium",
        "high": "high", "xhigh": null, "max": null});
    let pro_levels = json!({"off": null, "minimal": null, "low": "low", "medium": "medium",
        "high": "high", "xhigh": null, "max": null});
    let gemma_levels = json!({"off": null, "minimal": "MINIMAL", "low": null, "medium": null,
        "high": "HIGH"});
    let cases = [
        ("gemini-2.5-pro", Value::Null, Off, none.clone()),
        ("gemini-2.5-pro", Value::Null, Minimal, budget(128)),
        ("gemini-2.5-pro", Value::Null, Low, budget(2048)),
        ("gemini-2.5-pro", Value::Null, Medium, budget(8192)),
        ("gemini-2.5-pro", Value::Null, High, budget(32768)),
        ("gemini-2.5-pro", Value::Null, Xhigh, budget(32768)),
        ("gemini-2.5-flash", Value::Null, Minimal, budget(128)),
        ("gemini-2.5-flash", Value::Null, Max, budget(24576)),
        ("gemini-2.5-flash-lite", Value::Null, Minimal, budget(512)),
        ("gemini-2.5-flash-lite", Value::Null, High, budget(24576)),
        ("deep-research-preview", Value::Null, Medium, budget(-1)),
        ("deep-research-preview", Value::Null, Off, none.clone()),
        ("gemini-3-flash-preview", Value::Null, Off, none),
        ("gemini-3-flash-preview", Value::Null, Max, level("HIGH")),
        (
            "gemini-3.5-flash",
            flash_levels.clone(),
            Off,
            least("MINIMAL"),
        ),
        ("gemini-3.5-flash", flash_levels, Minimal, level("MINIMAL")),
        (
            "gemini-3.1-pro-preview",
            pro_levels.clone(),
            Off,
            least("LOW"),
        ),
        ("gemini-3.1-pro-preview", pro_levels, Minimal, level("LOW")),
        (
            "gemma-4-31b-it",
            gemma_levels.clone(),
            Off,
            least("MINIMAL"),
        ),
        ("gemma-4-31b-it", gemma_levels, Low, level("HIGH")),
        (
            "gemini-flash-latest",
            json!({"xhigh": "high"}),
            Xhigh,
            level("HIGH"),
        ),
    ];
    for (id, map, level, expected) in cases {
        let mut fields = json!({"id": id});
        if !map.is_null() {
            fields["thinkingLevelMap"] = map;
        }
        for api in APIS {
            let model = testing::model(api, fields.clone());
            let config = thinking_of(model, reasoning(level)).unwrap();
            assert_eq!(config, expected, "{id} {level:?}");
        }
    }
}

#[test]
fn budgets_and_explicit_thinking_override_the_table() {
    let pro = || model(APIS[0], "gemini-2.5-pro");
    let custom = StreamOptions {
        thinking_budgets: ThinkingBudgets {
            low: Some(777),
            ..ThinkingBudgets::default()
        },
        ..reasoning(ThinkingLevel::Low)
    };
    assert_eq!(thinking_of(pro(), custom).unwrap()["thinkingBudget"], 777);
    let explicit = |option: Value| {
        let mut options = reasoning(ThinkingLevel::High);
        options.provider_options.insert("thinking".into(), option);
        thinking_of(pro(), options)
    };
    assert_eq!(
        explicit(json!({"enabled": true, "budgetTokens": 5})).unwrap(),
        json!({"includeThoughts": true, "thinkingBudget": 5})
    );
    assert_eq!(
        explicit(json!({"enabled": true, "level": "LOW", "budgetTokens": 5})).unwrap(),
        json!({"includeThoughts": true, "thinkingLevel": "LOW"})
    );
    assert_eq!(
        explicit(json!({"enabled": false})).unwrap(),
        json!({"thinkingBudget": 0})
    );
    let malformed = explicit(json!("yes")).unwrap_err();
    assert_eq!(malformed.class, ErrorClass::InvalidRequest);

    let mapped = json!({"id": "gemini-3-flash", "thinkingLevelMap": {"high": "ultra"}});
    let error = thinking_of(
        testing::model(APIS[0], mapped),
        reasoning(ThinkingLevel::High),
    );
    assert_snapshot!(error.unwrap_err(), @r#"
    The thinking level high of mock/gemini-3-flash is mapped to "ultra"; Google supports minimal, low, medium and high
    "#);
    let plain = json!({"id": "gemini-2.5-pro", "reasoning": false});
    let config = thinking_of(
        testing::model(APIS[0], plain),
        reasoning(ThinkingLevel::High),
    );
    assert_eq!(config.unwrap(), Value::Null);
}

#[test]
fn the_calling_mode_follows_choice_and_strictness() {
    let tools = |strict: bool| {
        let mut tool = json!({"name": "read", "description": "", "parameters": {"type": "object",
            "properties": {"path": {"type": "string"}}}});
        if strict {
            tool["constrainedSampling"] = json!({"type": "json_schema", "strict": "prefer"});
        }
        json!([{"role": "system", "content": "", "toolsAdded": [tool]}])
    };
    let any = Some("any");
    let cases = [
        ("gemini-3-flash", true, None, None, json!("VALIDATED")),
        (
            "gemini-3-flash",
            true,
            Some(ToolChoice::Auto),
            None,
            json!("VALIDATED"),
        ),
        (
            "gemini-3-flash",
            true,
            Some(ToolChoice::None),
            None,
            json!("NONE"),
        ),
        ("gemini-3-flash", true, None, any, json!("ANY")),
        ("gemini-3-flash", false, None, None, Value::Null),
        (
            "gemini-3-flash",
            false,
            Some(ToolChoice::Auto),
            None,
            json!("AUTO"),
        ),
        ("gemini-2.5-pro", true, None, None, Value::Null),
        (
            "gemini-2.5-pro",
            true,
            Some(ToolChoice::Auto),
            None,
            json!("AUTO"),
        ),
    ];
    for (id, strict, tool_choice, option, expected) in cases {
        let mut options = StreamOptions {
            tool_choice,
            ..StreamOptions::default()
        };
        if let Some(option) = option {
            options
                .provider_options
                .insert("toolChoice".into(), option.into());
        }
        let body = request_body(&request(model(APIS[0], id), tools(strict), options)).unwrap();
        let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
        assert_eq!(*mode, expected, "{id} {strict} {tool_choice:?} {option:?}");
    }
    let chosen = StreamOptions {
        tool_choice: Some(ToolChoice::None),
        ..StreamOptions::default()
    };
    let body = request_body(&request(
        model(APIS[0], "gemini-3-flash"),
        json!([]),
        chosen,
    ))
    .unwrap();
    assert_eq!((body.get("tools"), body.get("toolConfig")), (None, None));
}

#[test]
fn failed_responses_are_described_and_classified() {
    let seconds = std::time::Duration::from_secs;
    let limited = |retry_after| ErrorClass::RateLimited { retry_after };
    let cases = [
        (
            400,
            r#"{"error": {"code": 400, "message": "bad field", "status": "INVALID_ARGUMENT"}}"#,
            ErrorClass::InvalidRequest,
            r#"The service rejected the request: {"error":{"code":400,"message":"bad field","status":"INVALID_ARGUMENT"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            ErrorClass::Auth,
            r#"The service rejected the request: {"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"The input token count (2) exceeds the maximum number of tokens allowed (1)."}}"#,
            ErrorClass::ContextOverflow,
            r#"The service rejected the request: {"error":{"message":"The input token count (2) exceeds the maximum number of tokens allowed (1)."}}"#,
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"slow","details":[{"reason":"X"},{"retryDelay":"37s"}]}}"#,
            limited(Some(seconds(37))),
            r#"Too many requests: {"error":{"code":429,"message":"slow","details":[{"reason":"X"},{"retryDelay":"37s"}]}}"#,
        ),
        (
            429,
            "",
            limited(None),
            "The service responded with HTTP 429",
        ),
        (
            503,
            r#"{"error":{"code":"busy","message":"busy"}}"#,
            ErrorClass::Overloaded,
            r#"Service unavailable: {"error":{"code":"busy","message":"busy"}}"#,
        ),
        (
            502,
            "<html>Bad Gateway</html>",
            ErrorClass::Overloaded,
            "The service responded with HTTP 502: <html>Bad Gateway</html>",
        ),
        (
            403,
            r#"{"error":{"details":"odd"}}"#,
            ErrorClass::Auth,
            r#"The credential was rejected: {"error":{"details":"odd"}}"#,
        ),
    ];
    for (status, body, class, message) in cases {
        let head = ResponseHead {
            status,
            headers: std::collections::BTreeMap::new(),
        };
        let error = http_error(&head, body);
        assert_eq!((error.class, error.message.as_str()), (class, message));
        assert_eq!(error.status, Some(status));
    }
}
