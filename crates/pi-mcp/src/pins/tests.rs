use std::sync::Arc;

use pi_config::{McpApproval, parse_mcp_server};
use pi_protocol::McpState;
use pretty_assertions::assert_eq;

use super::*;

fn server(command: &str, scope: McpScope, source: &str) -> ConfiguredMcpServer {
    ConfiguredMcpServer {
        spec: parse_mcp_server("s", &json!({ "command": command })).unwrap(),
        source: source.into(),
        scope,
        override_file: None,
        approval: McpApproval::NotNeeded,
    }
}

fn status(tools: &[Value], instructions: Option<&str>) -> ConnectionStatus {
    let tools = tools.iter().map(|tool| tool.as_object().unwrap().clone());
    ConnectionStatus {
        state: McpState::Connected,
        error: None,
        tools: Arc::new(tools.collect()),
        has_resources: false,
        has_prompts: false,
        has_completions: false,
        prompts_version: 0,
        instructions: instructions.map(str::to_owned),
    }
}

fn pins(home: &tempfile::TempDir) -> McpPins {
    McpPins(McpRecords::new(home.path().join("mcp-pins.json")))
}

fn subjects(changes: &[PinChange]) -> Vec<&str> {
    changes.iter().map(PinChange::subject).collect()
}

#[test]
fn changes_are_found_until_they_are_accepted() {
    let home = tempfile::tempdir().unwrap();
    let (pins, server) = (pins(&home), server("x", McpScope::Global, "/mcp.json"));
    let tool = |description: &str| json!({"name": "t", "description": description});
    let first = status(&[tool("one")], Some("be kind"));
    assert_eq!(pins.check(&server, &first).unwrap(), []);
    assert_eq!(pins.check(&server, &first).unwrap(), []);
    let second = status(&[tool("two"), json!({"name": "new"})], Some("be rude"));
    for _ in 0..2 {
        let changes = pins.check(&server, &second).unwrap();
        assert_eq!(subjects(&changes), ["instructions", "t"]);
        let diff = describe_changes(&changes);
        assert!(
            diff.contains("be kind") && diff.contains("be rude"),
            "{diff}"
        );
    }
    pins.accept(&server, &second).unwrap();
    assert_eq!(pins.check(&server, &second).unwrap(), []);
    // A tool that comes back is compared with what it was.
    pins.check(&server, &status(&[], Some("be rude"))).unwrap();
    let changes = pins.check(&server, &status(&[tool("three")], Some("be rude")));
    assert_eq!(subjects(&changes.unwrap()), ["t"]);
}

#[test]
fn everything_that_a_model_sees_is_compared_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let (pins, server) = (pins(&home), server("x", McpScope::Global, "/mcp.json"));
    let tool =
        json!({"name": "t", "inputSchema": {"type": "object", "properties": {"a": {}, "b": {}}}});
    pins.check(&server, &status(std::slice::from_ref(&tool), None))
        .unwrap();
    let changed = |key: &str, value: Value| {
        let mut tool = tool.clone();
        tool[key] = value;
        !pins
            .check(&server, &status(&[tool], None))
            .unwrap()
            .is_empty()
    };
    let reordered = json!({"properties": {"b": {}, "a": {}}, "type": "object"});
    assert!(!changed("inputSchema", reordered));
    assert!(!changed("icons", json!([])));
    assert!(!changed("_meta", json!({"x": 1})));
    for key in ["title", "description", "outputSchema", "annotations"] {
        assert!(changed(key, json!("x")), "{key}");
    }
    assert!(changed(
        "inputSchema",
        json!({"type": "object", "properties": {"a": {}}})
    ));
    // Two tools with one name cannot take turns.
    let with_twin = |description: &str| {
        let twin = json!({"name": "t", "description": description});
        pins.check(&server, &status(&[tool.clone(), twin], None))
            .unwrap()
    };
    assert_eq!(with_twin("other"), []);
    assert_eq!(subjects(&with_twin("evil")), ["t"]);
}

#[test]
fn another_address_or_project_is_another_server() {
    let home = tempfile::tempdir().unwrap();
    let pins = pins(&home);
    let one = status(&[json!({"name": "t"})], None);
    let other = status(&[json!({"name": "t", "title": "x"})], None);
    for server in [
        server("x", McpScope::Global, "/a"),
        server("y", McpScope::Global, "/a"),
        server("x", McpScope::Project, "/a"),
        server("x", McpScope::Project, "/b"),
    ] {
        assert_eq!(pins.check(&server, &one).unwrap(), []);
        assert_eq!(subjects(&pins.check(&server, &other).unwrap()), ["t"]);
    }
    let secret = server("x --token hunter2", McpScope::Global, "/a");
    pins.check(&secret, &one).unwrap();
    let text = std::fs::read_to_string(pins.0.path()).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_large_definition_is_compared_by_its_hash() {
    let home = tempfile::tempdir().unwrap();
    let (pins, server) = (pins(&home), server("x", McpScope::Global, "/mcp.json"));
    let tool = |end: &str| json!({"name": "t", "description": "x".repeat(MAX_KEPT_BYTES) + end});
    pins.check(&server, &status(&[tool("")], None)).unwrap();
    let changes = pins.check(&server, &status(&[tool("!")], None)).unwrap();
    assert!(changes[0].diff().starts_with("(the earlier definition"));
    assert!(std::fs::metadata(pins.0.path()).unwrap().len() < 1_000);
}

#[test]
fn control_and_invisible_characters_are_escaped() {
    for (text, expected) in [
        ("plain ünï 日本", "plain ünï 日本"),
        ("a\nb", "a\nb"),
        ("\u{1b}[2J\r\u{9b}", "\\u{1b}[2J\\u{d}\\u{9b}"),
        (
            "a\u{200b}\u{202e}\u{e0041}b",
            "a\\u{200b}\\u{202e}\\u{e0041}b",
        ),
    ] {
        assert_eq!(visible(text), expected);
    }
}

#[test]
fn servers_of_projects_ask_by_default() {
    assert_eq!(pinning(None, McpScope::Project), McpPinning::Ask);
    assert_eq!(pinning(None, McpScope::Global), McpPinning::Warn);
    assert_eq!(
        pinning(Some(McpPinning::Off), McpScope::Project),
        McpPinning::Off
    );
}
