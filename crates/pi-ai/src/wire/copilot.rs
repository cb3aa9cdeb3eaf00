//! Headers that GitHub Copilot's gateway expects on every request, whichever wire API it carries.

use crate::content::{MessageContent, InputBlock};
use crate::message::Message;
use crate::options::HeaderOverrides;

/// The provider id these headers are for.
pub(crate) const PROVIDER: &str = "github-copilot";

/// Returns the headers of a request: who began it, what it is for, and whether it carries images.
///
/// A request is the user's when the user spoke last, and the agent's when it follows up on a tool
/// result or an answer. System messages belong to neither.
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
    fn the_headers_tell_who_asks_and_whether_images_are_sent() {
        let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
        let user = json!({"role": "user", "content": "hi"});
        let system = json!({"role": "system", "content": "be brief"});
        let answer = json!({"role": "assistant", "content": []});
        let result = |content: &Value| json!({"role": "toolResult", "content": content});
        let cases = [
            (json!([]), "user", false),
            (json!([user]), "user", false),
            (json!([user, system]), "user", false),
            (json!([user, answer]), "agent", false),
            (
                json!([user, answer, result(&json!([])), system]),
                "agent",
                false,
            ),
            (json!([user, answer, result(&image)]), "agent", true),
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
