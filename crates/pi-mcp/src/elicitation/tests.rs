use pretty_assertions::assert_eq;

use super::*;
use crate::test_session::ScriptedSession;

async fn ask(params: Value, answers: &[Option<&str>]) -> (Result<Value, McpError>, Vec<String>) {
    let session = ScriptedSession::new(answers);
    let result = elicit(&session, "garden", &params).await;
    (result, session.titles())
}

#[expect(clippy::needless_pass_by_value, reason = "callers write JSON")]
fn form(properties: Value, required: Value) -> Value {
    json!({
        "message": "Tell me more",
        "requestedSchema": {"type": "object", "properties": properties, "required": required},
    })
}

#[tokio::test]
async fn every_kind_of_field_has_a_dialog() {
    let properties = json!({
        "name": {"type": "string", "title": "Your name", "minLength": 2},
        "age": {"type": "integer", "minimum": 18},
        "height": {"type": "number"},
        "subscribe": {"type": "boolean", "default": true},
        "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, "minItems": 1},
        "note": {"type": "string"},
    });
    let required = json!([
        "name",
        "age",
        "height",
        "subscribe",
        "color",
        "size",
        "tags"
    ]);
    let answers = [
        "Answer", "x", "Ada", "17", "old", "36", "1.5", "No", "Green", "l", "[ ] A", "[ ] b",
        "[x] A", "(done)", "",
    ];
    let (result, titles) = ask(form(properties, required), &answers.map(Some)).await;
    assert_eq!(
        result,
        Ok(json!({
            "action": "accept",
            "content": {
                "name": "Ada", "age": 36, "height": 1.5, "subscribe": false, "color": "g", "size": "l",
                "tags": ["b"],
            },
        }))
    );
    assert!(
        titles[0].starts_with("MCP server \"garden\" asks: Tell me more\n• Your name (required)")
    );
    assert!(titles[2].contains("at least 2 characters"), "{}", titles[2]);
    assert!(titles[4].contains("at least 18"), "{}", titles[4]);
}

#[tokio::test]
async fn defaults_apply_to_empty_answers() {
    let properties = json!({
        "name": {"type": "string", "default": "Ada"},
        "age": {"type": "integer", "default": 36},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]},
    });
    let answers = ["Answer", "", "", "(done)"].map(Some);
    let (result, _) = ask(form(properties, json!([])), &answers).await;
    assert_eq!(
        result.unwrap()["content"],
        json!({"name": "Ada", "age": 36, "tags": ["b"]})
    );
}

#[tokio::test]
async fn a_user_may_decline_or_close_a_dialog() {
    let properties = json!({"name": {"type": "string"}});
    for (answers, action) in [
        (vec![Some("Decline")], "decline"),
        (vec![None], "cancel"),
        (vec![Some("Answer"), None], "cancel"),
    ] {
        let (result, _) = ask(form(properties.clone(), json!([])), &answers).await;
        assert_eq!(result, Ok(json!({ "action": action })), "{answers:?}");
    }
    let (result, _) = ask(form(json!({}), json!([])), &[Some("Accept")]).await;
    assert_eq!(result, Ok(json!({"action": "accept", "content": {}})));
}

#[tokio::test]
async fn invalid_requests_are_rejected_without_a_dialog() {
    let nested = json!({"a": {"type": "object", "properties": {}}});
    for params in [
        json!({"message": "m"}),
        json!({"message": "m", "mode": "fax"}),
        form(nested, json!([])),
        form(json!({"a": {"type": "string", "enum": [1]}}), json!([])),
        form(json!({"a": {"type": "array", "items": {}}}), json!([])),
        json!({"message": "m", "mode": "url"}),
        json!({"message": "m", "mode": "url", "url": "javascript:alert(1)"}),
        json!({"message": "m", "mode": "url", "url": "file:///etc/passwd"}),
        json!({"message": "m", "mode": "url", "url": "data:text/html,x"}),
    ] {
        let (result, titles) = ask(params.clone(), &[]).await;
        assert!(
            matches!(result, Err(McpError::Rpc { code: -32602, .. })),
            "{params}"
        );
        assert_eq!(titles, Vec::<String>::new(), "{params}");
    }
}

#[tokio::test]
async fn a_page_is_shown_with_its_host_and_opens_only_with_consent() {
    let params =
        json!({"message": "Sign in", "mode": "url", "url": "https://user@evil.example/a?b=c"});
    let (result, titles) = ask(params.clone(), &[Some("Decline")]).await;
    assert_eq!(result, Ok(json!({"action": "decline"})));
    assert!(
        titles[0].contains("a page of evil.example: Sign in"),
        "{}",
        titles[0]
    );
    let (result, _) = ask(params, &[None]).await;
    assert_eq!(result, Ok(json!({"action": "cancel"})));
}
