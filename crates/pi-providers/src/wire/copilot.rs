//! Headers that GitHub Copilot's gateway expects on every request, for any wire API.

use pi_http::HeaderOverrides;
use pi_protocol::{InputBlock, Message, MessageContent};

/// The provider ID these headers are for.
pub(crate) const PROVIDER: &str = "github-copilot";

/// Returns the headers of a request: its initiator, its intent, and whether it contains images.
///
/// The initiator is the user if the last message is from the user, and the agent after a tool
/// result or an assistant message. System messages are ignored.
pub(crate) fn headers(messages: &[Message]) -> HeaderOverrides {
    let last = messages
        .iter()
        .rfind(|message| message.as_system().is_none());
    let initiator = match last {
        None | Some(Message::User(_) | Message::System(_)) => "user",
        Some(Message::Assistant(_) | Message::ToolResult(_)) => "agent",
    };
    let mut headers = HeaderOverrides::from([
        ("X-Initiator".to_owned(), Some(initiator.to_owned())),
        (
            "Openai-Intent".to_owned(),
            Some("conversation-edits".to_owned()),
        ),
    ]);
    if messages.iter().any(has_image) {
        headers.insert("Copilot-Vision-Request".to_owned(), Some("true".to_owned()));
    }
    headers
}

fn has_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(user) => match &user.content {
            MessageContent::Text(_) => return false,
            MessageContent::Blocks(blocks) => blocks,
        },
        Message::ToolResult(result) => &result.content,
        Message::System(_) | Message::Assistant(_) => return false,
    };
    blocks
        .iter()
        .any(|block| matches!(block, InputBlock::Image(_)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_headers_contain_initiator_and_vision() {
        let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
        let user = json!({"role": "user", "content": "hi"});
        let system = json!({"role": "system", "content": "be brief"});
        let assistant = json!({"role": "assistant", "content": []});
        let result = |content: &Value| json!({"role": "toolResult", "content": content});
        let cases = [
            (json!([]), "user", false),
            (json!([user]), "user", false),
            (json!([user, system]), "user", false),
            (json!([user, assistant]), "agent", false),
            (
                json!([user, assistant, result(&json!([])), system]),
                "agent",
                false,
            ),
            (json!([user, assistant, result(&image)]), "agent", true),
            (json!([{"role": "user", "content": image}]), "user", true),
        ];
        for (messages, initiator, vision) in cases {
            let parsed: Vec<Message> = serde_json::from_value(messages.clone()).unwrap();
            let headers = headers(&parsed);
            let header = |name: &str| headers.get(name).cloned().flatten();
            assert_eq!(
                header("X-Initiator").as_deref(),
                Some(initiator),
                "{messages}"
            );
            assert_eq!(
                header("Copilot-Vision-Request").is_some(),
                vision,
                "{messages}"
            );
        }
    }
}
