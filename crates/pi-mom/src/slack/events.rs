//! Lines of the socket and messages, as Slack sends them.

use serde::Deserialize;
use serde_json::Value;

use crate::chat::RemoteFile;

/// A line of the socket.
#[derive(Debug, Deserialize)]
pub(super) struct SocketLine {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) envelope_id: Option<String>,
    #[serde(default)]
    pub(super) payload: Value,
}

impl SocketLine {
    pub(super) fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// A message in an event or in a history.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SlackEvent {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    bot_id: Option<String>,
    pub(super) channel: Option<String>,
    pub(super) channel_type: Option<String>,
    pub(super) user: Option<String>,
    pub(super) text: String,
    pub(super) ts: String,
    files: Vec<SlackFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SlackFile {
    name: Option<String>,
    url_private: Option<String>,
    url_private_download: Option<String>,
    size: Option<u64>,
}

impl SlackEvent {
    pub(super) fn parse(value: Value) -> Option<Self> {
        let event: Self = serde_json::from_value(value).ok()?;
        let is_message = matches!(event.kind.as_str(), "message" | "app_mention");
        (is_message && !event.ts.is_empty()).then_some(event)
    }

    /// Whether a user has written it: not a bot, and not a change of another message.
    pub(super) fn is_from_user(&self, bot: &str) -> bool {
        let is_plain = matches!(
            self.subtype.as_deref(),
            None | Some("file_share" | "thread_broadcast")
        );
        let user = self.user.as_deref().unwrap_or_default();
        let is_user = !user.is_empty() && user != bot;
        is_plain && is_user && self.bot_id.is_none()
    }

    /// Returns milliseconds since the Unix epoch.
    pub(super) fn time_ms(&self) -> i64 {
        let (seconds, fraction) = self.ts.split_once('.').unwrap_or((&self.ts, ""));
        let seconds: i64 = seconds.parse().unwrap_or_default();
        let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
        let millis: i64 = millis.parse().unwrap_or_default();
        seconds.saturating_mul(1000).saturating_add(millis)
    }

    pub(super) fn remote_files(&self) -> Vec<RemoteFile> {
        let files = self.files.iter().filter_map(|file| {
            let url = file
                .url_private_download
                .as_ref()
                .or(file.url_private.as_ref())?;
            Some(RemoteFile {
                name: file.name.clone().unwrap_or_default(),
                url: url.clone(),
                size: file.size,
            })
        });
        files.collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_messages_of_users_are_read() {
        let event = |value: Value| {
            SlackEvent::parse(value).map(|event| (event.time_ms(), event.is_from_user("B")))
        };
        let ts = "1764153840.123456";
        for (value, expected) in [
            (
                json!({"type": "message", "user": "U", "ts": ts}),
                Some((1_764_153_840_123, true)),
            ),
            (
                json!({"type": "app_mention", "user": "U", "ts": "1.5"}),
                Some((1500, true)),
            ),
            (
                json!({"type": "message", "user": "B", "ts": "1"}),
                Some((1000, false)),
            ),
            (
                json!({"type": "message", "user": "", "ts": "1"}),
                Some((1000, false)),
            ),
            (
                json!({"type": "message", "user": "U", "bot_id": "X", "ts": "1"}),
                Some((1000, false)),
            ),
            (
                json!({"type": "message", "subtype": "message_changed", "user": "U", "ts": "1"}),
                Some((1000, false)),
            ),
            (
                json!({"type": "reaction_added", "user": "U", "ts": "1"}),
                None,
            ),
            (json!({"type": "message", "user": "U"}), None),
            (json!([]), None),
        ] {
            assert_eq!(event(value.clone()), expected, "{value}");
        }
    }
}
