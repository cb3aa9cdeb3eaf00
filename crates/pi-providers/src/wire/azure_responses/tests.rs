//! URLs, deployments and bodies; decoding is tested next to the decoder.

use insta::assert_snapshot;
use pi_env::Env;
use pi_protocol::{ThinkingLevel, api};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::*;
use crate::options::StreamOptions;
use crate::wire::openai_responses::tests::{body_lines, prepared};
use crate::wire::testing::{
    assert_same_events_for_any_split, assert_truncation_is_an_error, decode, full_conversation,
    lines, model, request as request_of,
};

const TEXT: &[u8] = include_bytes!("../../../tests/fixtures/azure-openai-responses/text.sse");
const LATE_REASONING: &[u8] =
    include_bytes!("../../../tests/fixtures/azure-openai-responses/late_reasoning.sse");

type Variables<'a> = &'a [(&'a str, &'a str)];

fn azure_request(fields: Value, messages: Value, env: Variables<'_>) -> ModelRequest {
    let options = StreamOptions {
        api_key: Some("az-key".to_owned().into()),
        session_id: Some("session-1".to_owned()),
        reasoning: ThinkingLevel::Low,
        ..StreamOptions::default()
    };
    let model = model(api::AZURE_OPENAI_RESPONSES, fields);
    let request = request_of(model, messages, options);
    ModelRequest {
        env: Env::fixed(env.iter().copied()),
        ..request
    }
}

fn url_with(base_url: &str, env: Variables<'_>) -> Result<String, String> {
    let fields = json!({"baseUrl": base_url});
    url(&azure_request(fields, json!([]), env)).map_err(|error| error.message)
}

#[test]
fn the_url_comes_from_the_environment_or_the_model() {
    let base = |value| [("AZURE_OPENAI_BASE_URL", value)];
    let ours = "https://ours.openai.azure.com/openai/v1/responses?api-version=v1";
    let cases: [(&str, Variables<'_>, &str); 11] = [
        ("http://m/v1", &[], "http://m/v1/responses?api-version=v1"),
        (
            "http://m",
            &base("http://a/openai/v1/"),
            "http://a/openai/v1/responses?api-version=v1",
        ),
        ("", &[("AZURE_OPENAI_RESOURCE_NAME", "ours")], ours),
        (
            "http://m",
            &[
                ("AZURE_OPENAI_RESOURCE_NAME", "ours"),
                ("AZURE_OPENAI_BASE_URL", "http://a"),
            ],
            "http://a/responses?api-version=v1",
        ),
        ("", &base("https://ours.openai.azure.com"), ours),
        ("", &base("https://ours.openai.azure.com/openai/"), ours),
        (
            "",
            &base("https://ours.openai.azure.com/openai/v1/responses?api-version=x"),
            ours,
        ),
        (
            "",
            &base("https://ours.ai.azure.com/custom/path"),
            "https://ours.ai.azure.com/custom/path/responses?api-version=v1",
        ),
        (
            "",
            &base("https://ours.cognitiveservices.azure.com/"),
            "https://ours.cognitiveservices.azure.com/openai/v1/responses?api-version=v1",
        ),
        (
            "http://m",
            &[("AZURE_OPENAI_API_VERSION", "2026-01-01")],
            "http://m/responses?api-version=2026-01-01",
        ),
        ("http://m", &base("  "), "http://m/responses?api-version=v1"),
    ];
    for (model, env, expected) in cases {
        assert_eq!(
            url_with(model, env).as_deref(),
            Ok(expected),
            "{model} {env:?}"
        );
    }
    let missing = url_with("", &[]).unwrap_err();
    assert!(missing.contains("AZURE_OPENAI_RESOURCE_NAME"), "{missing}");
    let wrong = url_with("", &base("not an address")).unwrap_err();
    assert!(wrong.contains("not an address"), "{wrong}");
}

#[test]
fn options_override_the_environment() {
    let env = [
        ("AZURE_OPENAI_API_VERSION", "env"),
        ("AZURE_OPENAI_BASE_URL", "http://env"),
    ];
    let mut request = azure_request(json!({}), json!([]), &env);
    let options = json!({"azureBaseUrl": "http://option", "azureApiVersion": "option"});
    request.options.provider_options = options.as_object().cloned().unwrap();
    assert_eq!(
        url(&request).unwrap(),
        "http://option/responses?api-version=option"
    );
    request.options.provider_options.clear();
    let scoped = [(
        "AZURE_OPENAI_BASE_URL".to_owned(),
        "http://scoped".to_owned(),
    )];
    request.options.env = scoped.into();
    assert_eq!(
        url(&request).unwrap(),
        "http://scoped/responses?api-version=env"
    );
}

#[test]
fn deployments_are_resolved() {
    let cases = [
        ("", "alpha"),
        ("alpha=mine, other=x", "mine"),
        (" other=x , alpha = mine ,", "mine"),
        ("alpha=", "alpha"),
        ("alpha", "alpha"),
    ];
    for (map, expected) in cases {
        let env = [("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", map)];
        let mut request = azure_request(json!({}), json!([]), &env);
        assert_eq!(azure::deployment(&request), expected, "{map}");
        let option = ("azureDeploymentName".to_owned(), json!("asked"));
        request.options.provider_options.extend([option]);
        assert_eq!(azure::deployment(&request), "asked");
    }
}

#[test]
fn full_conversation_as_own_history() {
    let messages = full_conversation(
        "azure-openai-responses",
        api::AZURE_OPENAI_RESPONSES,
        "alpha",
    );
    let fields = json!({"provider": "azure-openai-responses",
        "compat": {"supportsOpenAIGrammarTools": true}});
    let env = [("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "alpha=mine")];
    let exchange = prepared(&AzureResponses, &azure_request(fields, messages, &env));
    let headers = HeaderOverrides::from([("api-key".to_owned(), Some("az-key".to_owned()))]);
    assert_eq!(exchange.headers, headers);
    assert_snapshot!(body_lines(&exchange.body.into_value()), @r#"
    model: "mine"
    input:
      {"role":"developer","content":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","id":"fc_1","call_id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","id":"fc_2","call_id":"call_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"A"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"function_call_output","call_id":"call_2","output":"no such file"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","id":"fc_3","call_id":"call_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false},"strict":true}
      {"type":"custom","name":"patch","description":"Applies a patch.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}}
      {"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}},"strict":false}
    reasoning: {"effort":"low","summary":"auto"}
    include: ["reasoning.encrypted_content"]
    "#);
}

#[test]
fn full_conversation_as_hand_off_to_another_provider() {
    let messages = full_conversation("openai", api::OPENAI_RESPONSES, "beta");
    let fields = json!({"provider": "pz", "compat": {"supportsStrictMode": false}});
    let exchange = prepared(&AzureResponses, &azure_request(fields, messages, &[]));
    assert_snapshot!(body_lines(&exchange.body.into_value()), @r#"
    model: "alpha"
    input:
      {"role":"developer","content":"You are precise.\n\nBe brief from here.\n\n<cwd>/home</cwd>"}
      {"role":"user","content":[{"type":"input_text","text":"look at this"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading.","annotations":[]}],"status":"completed","id":"msg_pi_1"}
      {"type":"function_call","call_id":"call_1_fc_1","name":"read","arguments":"{\"path\":\"a\"}"}
      {"type":"function_call","call_id":"call_2_fc_2","name":"read","arguments":"{\"path\":\"b\",\"limit\":2}"}
      {"type":"function_call_output","call_id":"call_1_fc_1","output":[{"type":"input_text","text":"A"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,<png>"}]}
      {"type":"function_call_output","call_id":"call_2_fc_2","output":"no such file"}
      {"role":"user","content":[{"type":"input_text","text":"and now?"}]}
      {"role":"user","content":[{"type":"input_text","text":"go on"}]}
      {"type":"function_call","call_id":"call_3_fc_3","name":"read","arguments":"{\"path\":\"c\"}"}
      {"type":"function_call_output","call_id":"call_3_fc_3","output":"No result: this call was interrupted, and the tool may not have run."}
      {"role":"user","content":[{"type":"input_text","text":"never mind the file"}]}
    stream: true
    prompt_cache_key: "session-1"
    store: false
    max_output_tokens: 8192
    tools:
      {"type":"function","name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}},"required":["path"]}}
      {"type":"function","name":"patch","description":"Applies a patch.","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}
      {"type":"function","name":"write","description":"Writes a file.","parameters":{"type":"object","properties":{}}}
    reasoning: {"effort":"low","summary":"auto"}
    include: ["reasoning.encrypted_content"]
    "#);
}

#[test]
fn reasoning_encrypted_only_at_the_end_can_be_replayed() {
    let request = azure_request(json!({}), json!([]), &[]);
    let decoder = AzureResponses.decoder(&request);
    let events = lines(&decode(decoder, &request.model, [LATE_REASONING]));
    assert!(
        events.contains(r#"\"encrypted_content\":\"late-enc\""#),
        "{events}"
    );
}

#[test]
fn splits_and_truncations_are_handled() {
    let request = azure_request(json!({}), json!([]), &[]);
    for body in [TEXT, LATE_REASONING] {
        let new_decoder = || AzureResponses.decoder(&request);
        assert_same_events_for_any_split(new_decoder, &request.model, body);
        assert_truncation_is_an_error(new_decoder, &request.model, body);
    }
}

#[test]
fn a_request_without_key_is_an_error() {
    let mut request = azure_request(json!({}), json!([]), &[]);
    request.options.api_key = None;
    let refused = futures_util::FutureExt::now_or_never(AzureResponses.prepare(&request));
    assert_eq!(
        refused.unwrap().unwrap_err().message,
        "No API key for provider mock"
    );
}
