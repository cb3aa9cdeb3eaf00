//! Messages of an MCP server: lines, and the same as an event stream. The first byte is the chunk length.

use std::collections::BTreeMap;

use pi_mcp::fuzz_support::{assign_names, read_events, read_lines};
use pi_protocol::JsonRpcMessage;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::chunks::{chunkings, split_input};

/// Checks that neither lines nor events depend on chunk boundaries, that both carry the same messages, that every
/// request of a server gets one response, and that tools get names that every provider accepts.
pub fn mcp_messages(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let react = |pieces: &[&[u8]]| runtime.block_on(read_lines(pieces));
    let [complete, chunks, halves] = chunkings(bytes, length);
    let reaction = react(&complete);
    assert_eq!(react(&chunks), reaction);
    assert_eq!(react(&halves), reaction);

    let events = read_events(&complete);
    assert_eq!(read_events(&chunks), events);
    assert_eq!(read_events(&halves), events);
    same_messages(bytes);

    let mut expected: Vec<String> = requests(bytes).iter().map(Value::to_string).collect();
    let ids = reaction
        .responses
        .iter()
        .map(|response| response["id"].to_string());
    let mut responses: Vec<String> = ids.collect();
    expected.sort_unstable();
    responses.sort_unstable();
    assert_eq!(responses, expected);
    if let Some(tools) = &reaction.tools {
        names(tools);
    }
}

/// Returns the IDs of the requests in complete lines.
fn requests(bytes: &[u8]) -> Vec<Value> {
    let complete = bytes.split_inclusive(|byte| *byte == b'\n');
    let complete = complete.filter(|line| line.ends_with(b"\n"));
    let requests = complete.filter_map(|line| match JsonRpcMessage::read(line) {
        Ok(JsonRpcMessage::Request { id, .. }) => Some(id),
        _ => None,
    });
    requests.collect()
}

/// Lines of text are the same messages when they are sent as events.
fn same_messages(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let lines = text
        .split(['\n', '\r'])
        .filter(|line| !line.trim_ascii().is_empty());
    let lines: Vec<&str> = lines.collect();
    let stream = lines
        .iter()
        .map(|line| format!("event: message\ndata: {line}\n\n"));
    let stream: String = stream.collect();
    let (messages, ..) = read_events(&[stream.as_bytes()]).unwrap();
    assert_eq!(messages, lines);
}

fn names(tools: &[(String, String)]) {
    for (tool, name) in tools {
        let is_valid = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        assert!(
            is_valid && (1..=64).contains(&name.len()),
            "{tool:?}: {name:?}"
        );
    }
    let mut tools_by_name = BTreeMap::new();
    let mut names_by_tool = BTreeMap::new();
    let mut is_repeated = false;
    for (tool, name) in tools {
        let owner = *tools_by_name.entry(name).or_insert(tool);
        assert_eq!(owner, tool, "{name:?} has two tools");
        is_repeated |= names_by_tool.insert(tool.as_str(), name).is_some();
    }
    if is_repeated {
        return;
    }
    let backward: Vec<&str> = tools.iter().rev().map(|(tool, _)| tool.as_str()).collect();
    for (tool, name) in backward.iter().zip(assign_names(&backward)) {
        assert_eq!(
            names_by_tool.get(tool),
            Some(&&name),
            "the order of tools matters"
        );
    }
}
