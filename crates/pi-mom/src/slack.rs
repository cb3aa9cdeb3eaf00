//! Slack: the Web API, and events over a WebSocket (socket mode), so that no port has to be open.

mod events;
mod markup;
mod web_api;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_http::{HttpClient, WebSocket, WebSocketMessage};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::chat::{
    ButtonChoice, ChatChannel, ChatError, ChatFuture, ChatMessage, ChatService, ChatSink, ChatUser,
    HistoryPosition, NewPost, PostId, Upload,
};
use crate::config::SlackConfig;
use events::{SlackEvent, SocketLine};
use markup::{to_markdown_text, to_mrkdwn};
use web_api::WebApi;

/// Base of the Web API.
const API: &str = "https://slack.com/api/";

/// Slack truncates longer texts.
const MAX_TEXT: usize = 35_000;

/// Characters of a text with buttons.
const MAX_BLOCK_TEXT: usize = 2900;

/// Time to connect.
const CONNECT_TIME: Duration = Duration::from_secs(30);

/// A connection without events is replaced after this time, since a dead one cannot be recognized.
const IDLE_TIME: Duration = Duration::from_mins(10);

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Entries of a page.
const PAGE: &str = "999";

/// Messages among which a post is searched.
const SEARCHED: usize = 2000;

/// Name of the metadata that has the key of a post.
const METADATA: &str = "pi_mom_post";

/// Scopes that the bot token needs.
const SCOPES: [&str; 9] = [
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "files:read",
    "files:write",
    "im:history",
    "im:read",
    "users:read",
];

pub struct SlackTokens {
    /// `xapp-…`
    pub app: SecretString,
    /// `xoxb-…`
    pub bot: SecretString,
}

pub struct Slack {
    api: WebApi,
    tokens: SlackTokens,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    bot: Option<String>,
    users: HashMap<String, ChatUser>,
    channels: HashMap<String, ChatChannel>,
}

impl Slack {
    pub fn new(config: &SlackConfig, tokens: SlackTokens, env: Env) -> Self {
        let base = config.api_url.as_deref().unwrap_or(API);
        Self {
            api: WebApi::new(base, HttpClient::new(), env),
            tokens,
            names: Mutex::default(),
        }
    }

    async fn call(&self, method: &str, arguments: Value) -> Result<Value, ChatError> {
        self.api.call(method, &self.tokens.bot, arguments).await
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    /// Returns the user ID of the bot.
    async fn bot_user(&self) -> Result<String, ChatError> {
        if let Some(known) = self.names().bot.clone() {
            return Ok(known);
        }
        let identity = self.call("auth.test", json!({})).await?;
        let id = text(&identity, "user_id");
        self.names().bot = Some(id.clone());
        Ok(id)
    }

    /// Returns what is known about a user; only the ID if Slack does not answer.
    async fn user(&self, id: &str) -> ChatUser {
        if let Some(known) = self.names().users.get(id) {
            return known.clone();
        }
        let mut user = ChatUser {
            id: id.to_owned(),
            ..ChatUser::default()
        };
        match self.call("users.info", json!({ "user": id })).await {
            Ok(response) => {
                let found = response.get("user").cloned().unwrap_or_default();
                user.name = optional(&found, "name");
                user.display_name = optional(&found, "real_name");
                self.names().users.insert(id.to_owned(), user.clone());
            }
            Err(error) => tracing::debug!(%error, "the name of a user is not known"),
        }
        user
    }

    async fn channel(&self, id: &str, kind: Option<&str>) -> ChatChannel {
        if let Some(known) = self.names().channels.get(id) {
            return known.clone();
        }
        let mut channel = ChatChannel {
            id: id.to_owned(),
            name: id.to_owned(),
            is_direct: kind.map_or(id.starts_with('D'), |kind| kind == "im"),
        };
        if !channel.is_direct {
            match self
                .call("conversations.info", json!({ "channel": id }))
                .await
            {
                Ok(response) => {
                    let found = response.get("channel").cloned().unwrap_or_default();
                    channel = channel_of(&found).unwrap_or(channel);
                }
                Err(error) => tracing::debug!(%error, "the name of a channel is not known"),
            }
        }
        self.names().channels.insert(id.to_owned(), channel.clone());
        channel
    }

    async fn message(
        &self,
        event: SlackEvent,
        channel: Option<&ChatChannel>,
    ) -> Result<Option<ChatMessage>, ChatError> {
        let bot = self.bot_user().await?;
        if !event.is_from_user(&bot) {
            return Ok(None);
        }
        let Some(id) = event
            .channel
            .as_deref()
            .or(channel.map(|channel| channel.id.as_str()))
        else {
            return Ok(None);
        };
        let channel = match channel {
            Some(channel) => channel.clone(),
            None => self.channel(id, event.channel_type.as_deref()).await,
        };
        let user = self.user(event.user.as_deref().unwrap_or_default()).await;
        let mention = format!("<@{bot}>");
        let time_ms = event.time_ms();
        Ok(Some(ChatMessage {
            is_addressed: channel.is_direct || event.text.contains(&mention),
            text: to_markdown_text(&event.text.replace(&mention, ""))
                .trim()
                .to_owned(),
            files: event.remote_files(),
            ts: event.ts,
            time_ms,
            user,
            channel,
        }))
    }

    /// Connects once and receives until the connection ends.
    async fn receive_once(&self, sink: &dyn ChatSink) -> Result<(), ChatError> {
        let opened = self
            .api
            .call("apps.connections.open", &self.tokens.app, json!({}))
            .await?;
        let url = text(&opened, "url");
        let connecting = WebSocket::connect(
            self.api.http(),
            &url,
            pi_http::HeaderOverrides::new(),
            self.api.env(),
            Some(CONNECT_TIME),
        );
        // The address contains a ticket.
        let failed =
            |_error| ChatError::Network("cannot connect to the socket of Slack".to_owned());
        let (mut socket, _head) = connecting.await.map_err(failed)?;
        let mut is_ready = false;
        loop {
            let received = socket.receive(Some(IDLE_TIME)).await;
            let line = match received {
                Ok(WebSocketMessage::Text(line)) => line,
                Ok(WebSocketMessage::Closed { .. }) => return Ok(()),
                Err(error) => return Err(ChatError::Network(error.to_string())),
            };
            let Some(line) = SocketLine::parse(&line) else {
                tracing::debug!("Slack sent a line that is not known");
                continue;
            };
            if line.kind == "disconnect" {
                socket.close(1000, "").await;
                return Ok(());
            }
            if !is_ready {
                is_ready = true;
                // Before later messages are stored: the position of the last one is where missed ones begin.
                sink.connected().await;
            }
            let Some(envelope) = line.envelope_id.clone() else {
                continue;
            };
            self.dispatch(line, sink).await?;
            let acknowledgment = json!({ "envelope_id": envelope }).to_string();
            let sent = socket.send(acknowledgment).await;
            sent.map_err(|error| ChatError::Network(error.to_string()))?;
        }
    }

    async fn dispatch(&self, line: SocketLine, sink: &dyn ChatSink) -> Result<(), ChatError> {
        match line.kind.as_str() {
            "events_api" => {
                let event = line.payload.get("event").cloned().unwrap_or_default();
                let Some(event) = SlackEvent::parse(event) else {
                    return Ok(());
                };
                if let Some(message) = self.message(event, None).await? {
                    sink.messages(vec![message]).await?;
                }
            }
            "interactive" => {
                if let Some(choice) = choice_of(&line.payload) {
                    sink.choice(choice).await;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a line of the socket without calling Slack: only IDs of users and channels are known.
    pub(crate) async fn dispatch_offline(
        &self,
        line: &str,
        bot: &str,
        sink: &dyn ChatSink,
    ) -> Result<(), ChatError> {
        let Some(line) = SocketLine::parse(line) else {
            return Ok(());
        };
        let event = line.payload.get("event").cloned().unwrap_or_default();
        if let Some(event) = SlackEvent::parse(event) {
            let mut names = self.names();
            names.bot = Some(bot.to_owned());
            let user = ChatUser {
                id: event.user.unwrap_or_default(),
                ..ChatUser::default()
            };
            names.users.insert(user.id.clone(), user);
            let id = event.channel.unwrap_or_default();
            let channel = ChatChannel {
                name: id.clone(),
                id: id.clone(),
                is_direct: event.channel_type.as_deref() == Some("im"),
            };
            names.channels.insert(id, channel);
        }
        self.dispatch(line, sink).await
    }

    /// Returns the messages of a page of a history, newest first, and the cursor of the next page.
    async fn page(
        &self,
        method: &str,
        mut arguments: Value,
        cursor: Option<&str>,
    ) -> Result<(Vec<Value>, Option<String>), ChatError> {
        if let (Some(cursor), Some(arguments)) = (cursor, arguments.as_object_mut()) {
            arguments.insert("cursor".to_owned(), cursor.into());
        }
        let call = || self.call(method, arguments.clone());
        let response = crate::delivery::retried(call).await?;
        let messages = response.get("messages").and_then(Value::as_array);
        let next = response
            .pointer("/response_metadata/next_cursor")
            .and_then(Value::as_str);
        let next = next.filter(|next| !next.is_empty()).map(str::to_owned);
        Ok((messages.cloned().unwrap_or_default(), next))
    }
}

impl ChatService for Slack {
    fn name(&self) -> &'static str {
        "Slack"
    }

    fn max_text(&self) -> usize {
        MAX_TEXT
    }

    fn check(&self) -> ChatFuture<'_, Vec<String>> {
        async move {
            let (identity, scopes) = self
                .api
                .call_with_scopes("auth.test", &self.tokens.bot)
                .await?;
            let mut report = vec![format!(
                "Slack: @{} in {}",
                text(&identity, "user"),
                text(&identity, "team")
            )];
            if let Some(scopes) = scopes {
                let missing = SCOPES
                    .iter()
                    .filter(|scope| !scopes.split(',').any(|it| it.trim() == **scope));
                let missing: Vec<&str> = missing.copied().collect();
                report.push(if missing.is_empty() {
                    "Scopes: complete".to_owned()
                } else {
                    format!("Scopes: missing {}", missing.join(", "))
                });
            }
            self.api
                .call("apps.connections.open", &self.tokens.app, json!({}))
                .await?;
            report.push("Socket mode: on".to_owned());
            let channels = self.channels().await?;
            report.push(format!("Channels: {}", channels.len()));
            Ok(report)
        }
        .boxed()
    }

    fn receive<'a>(
        &'a self,
        sink: &'a dyn ChatSink,
        cancel: CancellationToken,
    ) -> ChatFuture<'a, ()> {
        crate::reconnect::keep_receiving("Slack", cancel, (FIRST_PAUSE, MAX_PAUSE), move || {
            self.receive_once(sink).boxed()
        })
        .boxed()
    }

    fn channels(&self) -> ChatFuture<'_, Vec<ChatChannel>> {
        async move {
            let mut channels = Vec::new();
            let mut cursor: Option<String> = None;
            loop {
                let arguments = json!({
                    "types": "public_channel,private_channel,im", "exclude_archived": true, "limit": PAGE,
                    "cursor": cursor.unwrap_or_default(),
                });
                let response = self.call("users.conversations", arguments).await?;
                let listed = response.get("channels").and_then(Value::as_array);
                channels.extend(listed.into_iter().flatten().filter_map(channel_of));
                let next = response.pointer("/response_metadata/next_cursor").and_then(Value::as_str);
                match next.filter(|next| !next.is_empty()) {
                    Some(next) => cursor = Some(next.to_owned()),
                    None => break,
                }
            }
            let mut names = self.names();
            for channel in &channels {
                names.channels.insert(channel.id.clone(), channel.clone());
            }
            drop(names);
            Ok(channels)
        }
        .boxed()
    }

    fn history<'a>(
        &'a self,
        channel: &'a ChatChannel,
        after: &'a HistoryPosition,
        limit: usize,
    ) -> ChatFuture<'a, Vec<ChatMessage>> {
        async move {
            let mut arguments = json!({ "channel": channel.id, "limit": PAGE });
            if let (false, Some(arguments)) = (after.ts.is_empty(), arguments.as_object_mut()) {
                arguments.insert("oldest".to_owned(), after.ts.clone().into());
            }
            let mut found = Vec::new();
            let mut cursor: Option<String> = None;
            loop {
                let page = self.page(
                    "conversations.history",
                    arguments.clone(),
                    cursor.as_deref(),
                );
                let (messages, next) = page.await?;
                for message in messages.into_iter().filter_map(SlackEvent::parse) {
                    found.extend(self.message(message, Some(channel)).await?);
                }
                if next.is_none() || found.len() >= limit {
                    break;
                }
                cursor = next;
            }
            found.truncate(limit);
            found.reverse();
            Ok(found)
        }
        .boxed()
    }

    fn post<'a>(&'a self, post: NewPost<'a>) -> ChatFuture<'a, PostId> {
        async move {
            let rendered = to_mrkdwn(post.text);
            let mut arguments = json!({
                "channel": post.channel, "text": rendered, "unfurl_links": false, "unfurl_media": false,
            });
            if let Some(fields) = arguments.as_object_mut() {
                if let Some(thread) = post.thread {
                    fields.insert("thread_ts".to_owned(), thread.0.clone().into());
                }
                if let Some(key) = post.key {
                    let metadata = json!({ "event_type": METADATA, "event_payload": { "key": key } });
                    fields.insert("metadata".to_owned(), metadata);
                }
                if !post.buttons.is_empty() {
                    fields.insert("blocks".to_owned(), blocks(&rendered, &post));
                }
            }
            let response = self.call("chat.postMessage", arguments).await?;
            Ok(PostId(text(&response, "ts")))
        }
        .boxed()
    }

    fn find_post<'a>(
        &'a self,
        channel: &'a str,
        thread: Option<&'a PostId>,
        key: &'a str,
        after: &'a HistoryPosition,
    ) -> ChatFuture<'a, Option<PostId>> {
        async move {
            let (method, arguments) = match thread {
                Some(thread) => (
                    "conversations.replies",
                    json!({"channel": channel, "ts": thread.0, "include_all_metadata": true, "limit": PAGE}),
                ),
                None => (
                    "conversations.history",
                    json!({"channel": channel, "oldest": after.ts, "include_all_metadata": true, "limit": PAGE}),
                ),
            };
            let mut cursor: Option<String> = None;
            let mut searched = 0;
            loop {
                let page = self.page(method, arguments.clone(), cursor.as_deref());
                let (messages, next) = page.await?;
                let found = messages.iter().find(|message| {
                    message.pointer("/metadata/event_payload/key").and_then(Value::as_str) == Some(key)
                });
                if let Some(found) = found {
                    return Ok(Some(PostId(text(found, "ts"))));
                }
                searched += messages.len();
                if next.is_none() || searched >= SEARCHED {
                    return Ok(None);
                }
                cursor = next;
            }
        }
        .boxed()
    }

    fn update<'a>(
        &'a self,
        channel: &'a str,
        post: &'a PostId,
        text: &'a str,
    ) -> ChatFuture<'a, ()> {
        async move {
            let arguments = json!({
                "channel": channel, "ts": post.0, "text": to_mrkdwn(text), "blocks": [],
            });
            self.call("chat.update", arguments).await.map(drop)
        }
        .boxed()
    }

    fn delete<'a>(&'a self, channel: &'a str, post: &'a PostId) -> ChatFuture<'a, ()> {
        async move {
            let deleted = self.call("chat.delete", json!({ "channel": channel, "ts": post.0 }));
            match deleted.await {
                Err(ChatError::Rejected { reason, .. }) if reason == "message_not_found" => Ok(()),
                deleted => deleted.map(drop),
            }
        }
        .boxed()
    }

    fn upload<'a>(&'a self, upload: Upload<'a>) -> ChatFuture<'a, ()> {
        async move {
            let target = json!({ "filename": upload.name, "length": upload.bytes.len() });
            let target = self.call("files.getUploadURLExternal", target).await?;
            self.api.put(&text(&target, "upload_url"), upload.bytes).await?;
            let mut arguments = json!({
                "channel_id": upload.channel,
                "files": [{ "id": text(&target, "file_id"), "title": upload.title.unwrap_or(upload.name) }],
            });
            if let (Some(thread), Some(fields)) = (upload.thread, arguments.as_object_mut()) {
                fields.insert("thread_ts".to_owned(), thread.0.clone().into());
            }
            self.call("files.completeUploadExternal", arguments).await.map(drop)
        }
        .boxed()
    }

    fn download<'a>(&'a self, url: &'a str, limit: u64) -> ChatFuture<'a, Vec<u8>> {
        async move { self.api.download(url, &self.tokens.bot, limit).await }.boxed()
    }
}

fn text(value: &Value, name: &str) -> String {
    optional(value, name).unwrap_or_default()
}

fn optional(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

fn channel_of(value: &Value) -> Option<ChatChannel> {
    let id = optional(value, "id")?;
    let is_direct = value
        .get("is_im")
        .and_then(Value::as_bool)
        .unwrap_or_default();
    let name = optional(value, "name").unwrap_or_else(|| id.clone());
    Some(ChatChannel {
        id,
        name,
        is_direct,
    })
}

fn choice_of(payload: &Value) -> Option<ButtonChoice> {
    let action = payload.get("actions")?.get(0)?;
    Some(ButtonChoice {
        channel: payload.pointer("/channel/id")?.as_str()?.to_owned(),
        post: PostId(payload.pointer("/message/ts")?.as_str()?.to_owned()),
        user: payload.pointer("/user/id")?.as_str()?.to_owned(),
        value: optional(action, "value")?,
    })
}

fn blocks(text: &str, post: &NewPost<'_>) -> Value {
    let text: String = text.chars().take(MAX_BLOCK_TEXT).collect();
    let buttons = post.buttons.iter().enumerate().map(|(index, button)| {
        let label: String = button.label.chars().take(75).collect();
        json!({
            "type": "button", "action_id": format!("answer_{index}"), "value": button.value,
            "text": {"type": "plain_text", "text": label},
        })
    });
    json!([
        {"type": "section", "text": {"type": "mrkdwn", "text": text}},
        {"type": "actions", "elements": buttons.take(25).collect::<Vec<_>>()},
    ])
}
