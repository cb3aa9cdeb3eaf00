//! Content blocks of the protocol, and those of messages.

use pi_protocol::{ImageContent, InputBlock, JsonRpcError, MessageContent};
use serde_json::{Value, json};

/// What a prompt contains.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PromptContent {
    pub(crate) text: String,
    pub(crate) images: Vec<ImageContent>,
}

/// Converts the blocks of a prompt. Links are mentioned, never read; embedded files follow the text.
pub(crate) fn prompt_content(blocks: &[Value]) -> Result<PromptContent, JsonRpcError> {
    let mut content = PromptContent::default();
    let mut embedded = String::new();
    for (index, block) in blocks.iter().enumerate() {
        let invalid =
            |problem: &str| JsonRpcError::invalid_params(&format!("prompt[{index}]"), problem);
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") => {
                let text = field("text").ok_or_else(|| invalid("has no text"))?;
                content.text.push_str(text);
            }
            Some("image") => {
                let data = field("data").ok_or_else(|| invalid("has no data"))?;
                let media_type = field("mimeType").ok_or_else(|| invalid("has no mimeType"))?;
                content.images.push(ImageContent::new(data, media_type));
            }
            Some("resource_link") => {
                let uri = field("uri").ok_or_else(|| invalid("has no uri"))?;
                push_mention(&mut content.text, uri);
            }
            Some("resource") => {
                let resource = block.get("resource").unwrap_or(&Value::Null);
                let uri = resource.get("uri").and_then(Value::as_str);
                let uri = uri.ok_or_else(|| invalid("has no resource with a uri"))?;
                push_mention(&mut content.text, uri);
                push_resource(&mut content.images, &mut embedded, uri, resource);
            }
            Some("audio") => return Err(invalid("is audio, which is not supported")),
            _ => return Err(invalid("has an unknown type")),
        }
    }
    content.text.push_str(&embedded);
    Ok(content)
}

/// Adds a mention of a file or page; files by their path.
fn push_mention(text: &mut String, uri: &str) {
    if text
        .chars()
        .next_back()
        .is_some_and(|last| !last.is_whitespace())
    {
        text.push(' ');
    }
    text.push_str(&mention(uri));
}

fn mention(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    // Lines of a selection: `#L10:20` or `#L10-20`.
    let (path, lines) = path.split_once('#').unwrap_or((path, ""));
    let (path, _query) = path.split_once('?').unwrap_or((path, ""));
    let lines = lines.trim_start_matches('L').replace(':', "-");
    let path = percent_decoded(path);
    if lines.is_empty() {
        path
    } else {
        format!("{path}:{lines}")
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, decoded) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn push_resource(
    images: &mut Vec<ImageContent>,
    embedded: &mut String,
    uri: &str,
    resource: &Value,
) {
    let field = |name: &str| resource.get(name).and_then(Value::as_str);
    if let Some(text) = field("text") {
        let path = mention(uri).replace('"', "&quot;");
        for part in ["\n\n<file path=\"", &path, "\">\n", text, "\n</file>"] {
            embedded.push_str(part);
        }
        return;
    }
    let media_type = field("mimeType").unwrap_or_default();
    if let Some(blob) = field("blob")
        && media_type.starts_with("image/")
    {
        images.push(ImageContent::new(blob, media_type));
    }
}

pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Returns the blocks of a message that a client can show.
pub(crate) fn message_blocks(content: &MessageContent) -> Vec<Value> {
    match content {
        MessageContent::Text(text) if text.is_empty() => Vec::new(),
        MessageContent::Text(text) => vec![text_block(text)],
        MessageContent::Blocks(blocks) => blocks.iter().filter_map(input_block).collect(),
    }
}

pub(crate) fn input_block(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(text) if text.text.is_empty() => None,
        InputBlock::Text(text) => Some(text_block(&text.text)),
        InputBlock::Image(image) => Some(json!({
            "type": "image",
            "data": image.data,
            "mimeType": image.mime_type,
        })),
        InputBlock::Unknown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn blocks_become_text_and_images() {
        let blocks = [
            json!({"type": "text", "text": "Look at"}),
            json!({"type": "resource_link", "name": "a b.rs", "uri": "file:///p/a%20b.rs#L3:9"}),
            json!({"type": "resource_link", "name": "page", "uri": "https://e.org/x"}),
            json!({"type": "resource", "resource": {"uri": "file:///p/c.rs", "text": "fn c() {}"}}),
            json!({"type": "resource", "resource": {"uri": "file:///p/i.png", "blob": "AA==", "mimeType": "image/png"}}),
            json!({"type": "image", "data": "BB==", "mimeType": "image/jpeg"}),
        ];
        assert_eq!(
            prompt_content(&blocks).unwrap(),
            PromptContent {
                text: "Look at /p/a b.rs:3-9 https://e.org/x /p/c.rs /p/i.png\n\n<file path=\"/p/c.rs\">\nfn c() {}\n</file>".to_owned(),
                images: vec![
                    ImageContent::new("AA==", "image/png"),
                    ImageContent::new("BB==", "image/jpeg"),
                ],
            }
        );
    }

    #[test]
    fn an_invalid_block_is_named() {
        for (block, expected) in [
            (json!({"type": "text"}), "prompt[0] has no text"),
            (json!({"type": "video"}), "prompt[0] has an unknown type"),
            (json!(7), "prompt[0] has an unknown type"),
            (
                json!({"type": "audio", "data": "", "mimeType": "audio/wav"}),
                "prompt[0] is audio, which is not supported",
            ),
        ] {
            assert_eq!(prompt_content(&[block]).unwrap_err().message, expected);
        }
    }
}
