//! Results of tools and contents of resources, as the model receives them.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_protocol::{ImageContent, InputBlock, ToolOutput, join_text};
use pi_tools::format_size;
use serde_json::{Map, Value, json};

/// Longer text is shortened in the middle.
const MAX_TEXT_BYTES: usize = 20 << 10;

/// Extensions of files with binary contents are short.
const MAX_EXTENSION_LENGTH: usize = 8;

/// Whether the resources that a result refers to can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkedResources {
    Readable,
    Unreadable,
}

/// Converts the result of a tool call; `None` if it is not one.
pub(crate) fn tool_output(
    server: &str,
    tool: &str,
    result: Value,
    links: LinkedResources,
) -> Option<ToolOutput> {
    let Value::Object(mut result) = result else {
        return None;
    };
    result.shift_remove("_meta");
    let blocks = match result.get("content") {
        Some(Value::Array(blocks)) => blocks.clone(),
        Some(_) => return None,
        None => {
            // What scripts receive always has a list of contents.
            let mut complete = Map::new();
            complete.insert("content".to_owned(), json!([]));
            complete.append(&mut result);
            result = complete;
            Vec::new()
        }
    };
    let mut content: Vec<InputBlock> = blocks
        .iter()
        .map(|block| to_block(server, block, links))
        .collect();
    if blocks.is_empty()
        && let Some(structured) = result.get("structuredContent")
    {
        let text = serde_json::to_string_pretty(structured).unwrap_or_default();
        content.push(InputBlock::text(text));
    }
    let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
    if is_error && texts(&content).is_empty() {
        content.push(InputBlock::text(format!(
            "The MCP tool {server}/{tool} returned an error"
        )));
    }
    let limited = limit_text(content);
    Some(ToolOutput {
        content: limited.content,
        details: Some(details(server, tool, limited.full_output.as_deref())),
        structured_content: Some(Value::Object(result)),
        is_error: is_error.then_some(true),
        ..ToolOutput::default()
    })
}

/// Returns the details of a result for the application.
pub(crate) fn details(server: &str, tool: &str, full_output: Option<&std::path::Path>) -> Value {
    let mut details = json!({"server": server, "tool": tool});
    if let (Value::Object(details), Some(path)) = (&mut details, full_output) {
        details.insert("fullOutputPath".to_owned(), json!(path.to_string_lossy()));
    }
    details
}

/// Converts contents of a resource. Several contents are labeled with their URIs.
pub(crate) fn resource_blocks(contents: &[Map<String, Value>]) -> Vec<InputBlock> {
    let mut blocks = Vec::new();
    for content in contents {
        if contents.len() > 1 {
            blocks.push(InputBlock::text(format!("{}:", text_of(content, "uri"))));
        }
        blocks.push(embedded(content));
    }
    blocks
}

/// Converts the messages of a prompt. Those of the assistant are labeled.
pub(crate) fn prompt_blocks(server: &str, messages: &[Value]) -> Vec<InputBlock> {
    let mut blocks = Vec::new();
    for message in messages {
        let Some(content) = message.get("content") else {
            continue;
        };
        let is_users = message.get("role").and_then(Value::as_str) != Some("assistant");
        let contents = content
            .as_array()
            .map_or(std::slice::from_ref(content), Vec::as_slice);
        for content in contents {
            let block = to_block(server, content, LinkedResources::Readable);
            blocks.push(match block {
                InputBlock::Text(text) if !is_users => {
                    InputBlock::text(format!("Assistant: {}", text.text))
                }
                other => other,
            });
        }
    }
    blocks
}

fn to_block(server: &str, block: &Value, links: LinkedResources) -> InputBlock {
    let empty = Map::new();
    let block = block.as_object().unwrap_or(&empty);
    match text_of(block, "type") {
        "text" => InputBlock::text(text_of(block, "text")),
        "image" => image(text_of(block, "data"), text_of(block, "mimeType")),
        "audio" => {
            let kind = text_of(block, "mimeType");
            let subtype = kind.rsplit('/').next().unwrap_or("bin").chars();
            let subtype = subtype.filter(char::is_ascii_alphanumeric);
            let subtype: String = subtype.take(MAX_EXTENSION_LENGTH).collect();
            let extension = format!(".{subtype}");
            InputBlock::text(saved("Audio", text_of(block, "data"), kind, &extension))
        }
        "resource_link" => InputBlock::text(resource_link(server, block, links)),
        "resource" => match block.get("resource") {
            Some(Value::Object(resource)) => embedded(resource),
            _ => InputBlock::text("[Resource without contents]"),
        },
        other => InputBlock::text(format!("[MCP content of the unknown type {other}]")),
    }
}

fn image(data: &str, kind: &str) -> InputBlock {
    InputBlock::Image(ImageContent::new(data, kind))
}

fn resource_link(server: &str, link: &Map<String, Value>, links: LinkedResources) -> String {
    let title = link.get("title").or_else(|| link.get("name"));
    let title = title.and_then(Value::as_str).unwrap_or_default();
    let mut text = format!("[Resource {} \"{title}\"", text_of(link, "uri"));
    let size = link.get("size").and_then(Value::as_u64);
    let size = size.and_then(|size| usize::try_from(size).ok());
    let kind = Some(text_of(link, "mimeType").to_owned()).filter(|kind| !kind.is_empty());
    let facts: Vec<String> = kind.into_iter().chain(size.map(format_size)).collect();
    if !facts.is_empty() {
        text.extend([" (", &facts.join(", "), ")"]);
    }
    let description = text_of(link, "description");
    if !description.is_empty() {
        text.extend([": ", description]);
    }
    if links == LinkedResources::Readable {
        text.extend([
            ". Read it with read_mcp_resource and server \"",
            server,
            "\"",
        ]);
    }
    text.push(']');
    text
}

/// Converts the contents of a resource: text as such, images as images, other data as a file.
fn embedded(resource: &Map<String, Value>) -> InputBlock {
    if let Some(Value::String(text)) = resource.get("text") {
        return InputBlock::text(text.as_str());
    }
    let (uri, kind) = (text_of(resource, "uri"), text_of(resource, "mimeType"));
    let blob = text_of(resource, "blob");
    if kind.starts_with("image/") {
        return image(blob, kind);
    }
    if is_text_type(kind) {
        let text = STANDARD.decode(blob).unwrap_or_default();
        return InputBlock::text(String::from_utf8_lossy(&text));
    }
    let subject = format!("Binary resource {uri}");
    InputBlock::text(saved(&subject, blob, kind, &extension_of(uri)))
}

/// Saves binary data and returns a text that names the file.
fn saved(subject: &str, data: &str, kind: &str, extension: &str) -> String {
    let kind = if kind.is_empty() {
        "unknown type"
    } else {
        kind
    };
    let Ok(data) = STANDARD.decode(data) else {
        return format!("[{subject} ({kind}) is not valid Base64]");
    };
    let size = format_size(data.len());
    match save(&data, extension) {
        Ok(path) => format!("[{subject} ({kind}, {size}) saved to {}]", path.display()),
        Err(error) => format!("[{subject} ({kind}, {size}) cannot be saved: {error}]"),
    }
}

fn is_text_type(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    kind.starts_with("text/")
        || kind == "application/json"
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
}

/// Returns the extension of the file that a URI names. Nothing else of the URI becomes part of a file name.
fn extension_of(uri: &str) -> String {
    let path = url::Url::parse(uri).map_or_else(|_| uri.to_owned(), |url| url.path().to_owned());
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    match extension {
        Some(extension)
            if (1..=MAX_EXTENSION_LENGTH).contains(&extension.len())
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(".{extension}")
        }
        _ => ".bin".to_owned(),
    }
}

/// Writes data to a new file that only the user can read.
fn save(data: &[u8], extension: &str) -> std::io::Result<PathBuf> {
    let number: u64 = rand::random();
    let path = std::env::temp_dir().join(format!("pi-mcp-{number:016x}{extension}"));
    pi_fs::private::write_new_file(&path, data)?;
    Ok(path)
}

/// Content whose text is not too long.
pub(crate) struct LimitedContent {
    pub(crate) content: Vec<InputBlock>,
    /// The file with the complete text.
    pub(crate) full_output: Option<PathBuf>,
}

/// Keeps the first and the last part of a long text, and saves all of it.
pub(crate) fn limit_text(content: Vec<InputBlock>) -> LimitedContent {
    let text = texts(&content);
    let Some(shortened) = shorten(&text) else {
        return LimitedContent {
            content,
            full_output: None,
        };
    };
    let saved = save(text.as_bytes(), ".txt");
    let location = match &saved {
        Ok(path) => format!(
            "[Full output: {} (read it with offset and limit)]",
            path.display()
        ),
        Err(error) => format!("[The full output cannot be saved: {error}]"),
    };
    let tokens = text.len().div_ceil(4);
    let lines = text.lines().count();
    let text = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: {lines}\n\n{shortened}\n\n{location}"
    );
    let images = content
        .into_iter()
        .filter(|block| block.as_text().is_none());
    LimitedContent {
        content: std::iter::once(InputBlock::text(text))
            .chain(images)
            .collect(),
        full_output: saved.ok(),
    }
}

/// Returns both ends of a text; `None` if it is short enough.
fn shorten(text: &str) -> Option<String> {
    if text.len() <= MAX_TEXT_BYTES {
        return None;
    }
    let half = MAX_TEXT_BYTES / 2;
    let head = text.get(..text.floor_char_boundary(half))?;
    let tail = text.get(text.ceil_char_boundary(text.len() - (MAX_TEXT_BYTES - half))..)?;
    let middle = text.get(head.len()..text.len() - tail.len())?;
    let removed = middle.chars().count();
    Some(format!("{head}…{removed} chars truncated…{tail}"))
}

fn texts(content: &[InputBlock]) -> String {
    join_text(content).into_owned()
}

fn text_of<'map>(map: &'map Map<String, Value>, key: &str) -> &'map str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn output(result: Value) -> ToolOutput {
        tool_output("s", "t", result, LinkedResources::Readable).unwrap()
    }

    fn text(result: Value) -> String {
        texts(&output(result).content)
    }

    fn block(block: &Value) -> String {
        text(json!({ "content": [block] }))
    }

    #[test]
    fn blocks_become_text_and_images() {
        let result = json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "two"}},
            {"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA", "mimeType": "image/gif"}},
            {"type": "strange"}
        ], "_meta": {"x": 1}});
        let output = output(result);
        assert_eq!(output.content.len(), 5);
        assert_eq!(
            texts(&output.content),
            "one\ntwo\n[MCP content of the unknown type strange]"
        );
        let structured = output.structured_content.unwrap();
        assert_eq!(structured.get("_meta"), None);
        assert_eq!(output.details, Some(json!({"server": "s", "tool": "t"})));
    }

    #[test]
    fn links_name_what_is_known() {
        let link = json!({
            "type": "resource_link", "uri": "a:b", "name": "n", "title": "T",
            "mimeType": "text/plain", "size": 2048, "description": "D"
        });
        let link = block(&link);
        for fact in [
            "a:b",
            "\"T\"",
            "text/plain, 2.0KB",
            "D",
            "read_mcp_resource",
        ] {
            assert!(link.contains(fact), "{link}");
        }
    }

    #[test]
    fn binary_data_is_saved() {
        let resource = json!({"uri": "file:///../../x.tar", "blob": "AAEC", "mimeType": "x/y"});
        let text = block(&json!({"type": "resource", "resource": resource}));
        let path = text.rsplit(' ').next().unwrap().trim_end_matches(']');
        assert_eq!(
            std::path::Path::new(path).parent(),
            Some(&*std::env::temp_dir())
        );
        assert_eq!(std::path::Path::new(path).extension(), Some("tar".as_ref()));
        assert_eq!(std::fs::read(path).unwrap(), [0, 1, 2]);
        std::fs::remove_file(path).unwrap();
        let json =
            json!({"uri": "a:b", "blob": STANDARD.encode("{}"), "mimeType": "application/json"});
        assert_eq!(block(&json!({"type": "resource", "resource": json})), "{}");
    }

    #[test]
    fn structured_content_replaces_missing_blocks() {
        assert_eq!(
            text(json!({"structuredContent": {"a": 1}})),
            "{\n  \"a\": 1\n}"
        );
        let empty = output(json!({}));
        assert!(empty.content.is_empty());
        assert_eq!(empty.structured_content, Some(json!({"content": []})));
        let error = output(json!({"content": [], "isError": true}));
        assert_eq!(error.is_error, Some(true));
        assert!(!texts(&error.content).is_empty());
    }

    #[test]
    fn other_values_are_no_results() {
        for value in [json!(null), json!([]), json!({"content": "text"})] {
            assert!(tool_output("s", "t", value, LinkedResources::Unreadable).is_none());
        }
    }

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shorten(&"x".repeat(MAX_TEXT_BYTES)), None);
        let long = "日本".repeat(6_000);
        let short = shorten(&long).unwrap();
        assert!(short.starts_with("日") && short.ends_with("本"));
        assert!(short.contains(" chars truncated…"));
        let output = output(json!({"content": [{"type": "text", "text": long}]}));
        let path = output.details.unwrap()["fullOutputPath"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(std::fs::read_to_string(&path).unwrap().len(), long.len());
        std::fs::remove_file(path).unwrap();
    }
}
