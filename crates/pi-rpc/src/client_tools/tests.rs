//! A client that implements tools.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn declared(tools: &ClientTools) -> Vec<String> {
    let tools = tools.tools();
    let names = tools.borrow();
    names.iter().map(|tool| tool.name().to_owned()).collect()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "parameters": {"type": "object"}})
}

fn register(tools: &ClientTools, list: &Value) -> Value {
    let line = json!({"id": 1, "type": "register_tools", "tools": list}).to_string();
    serde_json::from_str(&tools.receive(&line).unwrap().unwrap()).unwrap()
}

#[test]
fn a_registration_replaces_the_earlier_one() {
    let tools = ClientTools::default();
    let accepted = register(&tools, &json!([tool("one"), tool("two")]));
    assert_eq!(
        accepted,
        json!({"id": 1, "type": "response", "command": "register_tools", "success": true})
    );
    assert_eq!(declared(&tools), ["one", "two"]);
    register(&tools, &json!([tool("two"), tool("three")]));
    assert_eq!(declared(&tools), ["two", "three"]);
    register(&tools, &json!([]));
    assert!(declared(&tools).is_empty());
}

#[test]
fn an_invalid_registration_changes_nothing() {
    let tools = ClientTools::default();
    register(&tools, &json!([tool("kept")]));
    let many: Vec<Value> = (0..=MAX_TOOLS).map(|it| tool(&it.to_string())).collect();
    for (list, reason) in [
        (json!(7), "expected a sequence"),
        (json!([{"name": "x"}]), "missing field `description`"),
        (json!([tool("a"), tool("a")]), "two tools are named a"),
        (json!([tool("")]), "a tool has no name"),
        (
            json!([{"name": "x", "description": "", "parameters": 1}]),
            "the parameters of x must be a JSON schema",
        ),
        (json!(many), "more than 512 tools"),
    ] {
        let response = register(&tools, &list);
        assert_eq!(response["success"], false);
        let error = response["error"].as_str().unwrap();
        assert!(error.contains(reason), "{error}");
    }
    assert_eq!(declared(&tools), ["kept"]);
}

#[test]
fn other_lines_are_left_to_the_session() {
    let tools = ClientTools::default();
    for line in [
        "{",
        r#"{"type":"get_state"}"#,
        r#"{"type":"prompt","message":"call register_tools"}"#,
        r#"["tool_call_result"]"#,
    ] {
        assert_eq!(tools.receive(line), Err(NotAboutTools), "{line}");
    }
}

#[test]
fn results_of_unknown_calls_are_ignored_and_incomplete_ones_are_rejected() {
    let tools = ClientTools::default();
    let late = r#"{"type":"tool_call_result","id":"tool-9","result":{"content":[]}}"#;
    assert_eq!(tools.receive(late), Ok(None));
    let update = r#"{"type":"tool_call_update","id":"tool-9","partialResult":{"content":[]}}"#;
    assert_eq!(tools.receive(update), Ok(None));
    let empty = r#"{"type":"tool_call_result","id":"tool-9"}"#;
    let response = tools.receive(empty).unwrap().unwrap();
    assert!(
        response.contains("missing field `result` or `error`"),
        "{response}"
    );
}
