//! Mattermost: its REST API, and events over a WebSocket. Buttons are reactions, which need no open port.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use futures_util::future::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_http::{HttpClient, WebSocket, WebSocketMessage, user_agent};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::chat::{
    ButtonChoice, ChatChannel, ChatError, ChatFuture, ChatMessage, ChatService, ChatSink, ChatUser,
    HistoryPosition, NewPost, PostId, RemoteFile, Upload,
};
use crate::config::MattermostConfig;

const SERVICE: &str = "Mattermost";

/// Limit of a post on the server.
const MAX_TEXT: usize = 16_000;

const CALL_TIME: Duration = Duration::from_mins(1);
const CONNECT_TIME: Duration = Duration::from_secs(30);
const IDLE_TIME: Duration = Duration::from_mins(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(30);
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// Posts of a page.
const PAGE: usize = 200;

/// Property that has the key of a post.
const KEY: &str = "pi_mom_key";

/// Reactions that stand for the first buttons.
const REACTIONS: [&str; 9] = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
];

pub struct Mattermost {
    base: String,
    token: SecretString,
    http: HttpClient,
    env: Env,
    names: Mutex<Names>,
}

#[derive(Default)]
struct Names {
    /// ID and name of the bot.
    bot: Option<(String, String)>,
    users: HashMap<String, ChatUser>,
    channels: HashMap<String, ChatChannel>,
}

impl Mattermost {
    pub fn new(config: &MattermostConfig, token: SecretString, env: Env) -> Self {
        Self {
            base: config.url.trim_end_matches('/').to_owned(),
            token,
            http: HttpClient::new(),
            env,
            names: Mutex::default(),
        }
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, ChatError> {
        let url = Url::parse(&format!("{}/api/v4/{path}", self.base));
        let url = url.map_err(|error| ChatError::Network(format!("mattermost.url: {error}")))?;
        let client = self.http.client_for(&url, &self.env);
        let client = client.map_err(|error| ChatError::Network(error.to_string()))?;
        let request = client
            .request(method, url)
            .header("user-agent", user_agent());
        Ok(request
            .bearer_auth(self.token.expose_secret())
            .timeout(CALL_TIME))
    }

    async fn send(&self, request: RequestBuilder, path: &str) -> Result<Response, ChatError> {
        let response = request.send().await.map_err(network)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            let wait = response.headers().get("x-ratelimit-reset");
            let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
            let wait = wait.map_or(DEFAULT_WAIT, Duration::from_secs);
            return Err(ChatError::RateLimited {
                service: SERVICE,
                wait,
            });
        }
        if status.is_server_error() {
            return Err(ChatError::Network(format!("Mattermost failed: {status}")));
        }
        let text = response.text().await.unwrap_or_default();
        let reason = serde_json::from_str::<Value>(&text).ok();
        let reason = reason.and_then(|value| Some(value.get("message")?.as_str()?.to_owned()));
        let reason = reason.unwrap_or_else(|| status.to_string());
        if status == StatusCode::UNAUTHORIZED {
            return Err(ChatError::Token {
                service: SERVICE,
                reason,
            });
        }
        let method = path.split('?').next().unwrap_or(path).to_owned();
        Err(ChatError::Rejected {
            service: SERVICE,
            method,
            reason,
        })
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, ChatError> {
        let mut request = self.request(method, path)?;
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = self.send(request, path).await?;
        let text = response.text().await.map_err(network)?;
        serde_json::from_str(&text).map_err(|error| ChatError::Protocol {
            service: SERVICE,
            method: path.to_owned(),
            reason: error.to_string(),
        })
    }

    async fn get(&self, path: &str) -> Result<Value, ChatError> {
        self.call(Method::GET, path, None).await
    }

    /// Returns ID and name of the bot.
    async fn bot(&self) -> Result<(String, String), ChatError> {
        if let Some(known) = self.names().bot.clone() {
            return Ok(known);
        }
        let me = self.get("users/me").await?;
        let bot = (text(&me, "id"), text(&me, "username"));
        self.names().bot = Some(bot.clone());
        Ok(bot)
    }

    async fn user(&self, id: &str) -> ChatUser {
        if let Some(known) = self.names().users.get(id) {
            return known.clone();
        }
        let mut user = ChatUser {
            id: id.to_owned(),
            ..ChatUser::default()
        };
        match self.get(&format!("users/{}", plain_id(id))).await {
            Ok(found) => {
                user.name = Some(text(&found, "username"));
                let full = format!(
                    "{} {}",
                    text(&found, "first_name"),
                    text(&found, "last_name")
                );
                user.display_name = Some(full.trim().to_owned()).filter(|name| !name.is_empty());
                self.names().users.insert(id.to_owned(), user.clone());
            }
            Err(error) => tracing::debug!(%error, "the name of a user is not known"),
        }
        user
    }

    async fn channel(&self, id: &str) -> Result<ChatChannel, ChatError> {
        if let Some(known) = self.names().channels.get(id) {
            return Ok(known.clone());
        }
        let channel = channel_of(&self.get(&format!("channels/{}", plain_id(id))).await?);
        self.names().channels.insert(id.to_owned(), channel.clone());
        Ok(channel)
    }

    /// Converts a post; `None` if no user has written it, or if it has no ID.
    async fn message(&self, post: &Value) -> Result<Option<ChatMessage>, ChatError> {
        let (bot, name) = self.bot().await?;
        let (user, id) = (text(post, "user_id"), text(post, "id"));
        let is_system = !text(post, "type").is_empty();
        let is_bot = post.pointer("/props/from_bot").is_some();
        if user == bot || is_system || is_bot || user.is_empty() || id.is_empty() {
            return Ok(None);
        }
        let channel = self.channel(&text(post, "channel_id")).await?;
        let message = text(post, "message");
        let mention = format!("@{name}");
        let files = post.pointer("/metadata/files").and_then(Value::as_array);
        let files = files.into_iter().flatten().map(|file| RemoteFile {
            name: text(file, "name"),
            url: text(file, "id"),
            size: file.get("size").and_then(Value::as_u64),
        });
        Ok(Some(ChatMessage {
            is_addressed: channel.is_direct || mentions(&message, &mention),
            text: message.replacen(&mention, "", 1).trim().to_owned(),
            files: files.collect(),
            ts: id,
            time_ms: post
                .get("create_at")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            user: self.user(&user).await,
            channel,
        }))
    }

    async fn receive_once(&self, sink: &dyn ChatSink) -> Result<(), ChatError> {
        let url = format!("{}/api/v4/websocket", self.base.replacen("http", "ws", 1));
        let mut headers = pi_http::HeaderOverrides::new();
        let authorization = format!("Bearer {}", self.token.expose_secret());
        headers.insert("authorization".to_owned(), Some(authorization));
        let connecting =
            WebSocket::connect(&self.http, &url, headers, &self.env, Some(CONNECT_TIME));
        let failed =
            |_error| ChatError::Network("cannot connect to the socket of Mattermost".to_owned());
        let (mut socket, _head) = connecting.await.map_err(failed)?;
        sink.connected().await;
        loop {
            let line = match socket.receive(Some(IDLE_TIME)).await {
                Ok(WebSocketMessage::Text(line)) => line,
                Ok(WebSocketMessage::Closed { .. }) => return Ok(()),
                Err(error) => return Err(ChatError::Network(error.to_string())),
            };
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            self.dispatch(&event, sink).await?;
        }
    }

    async fn dispatch(&self, event: &Value, sink: &dyn ChatSink) -> Result<(), ChatError> {
        // Parts of events are JSON in a string.
        let nested = |name: &str| {
            let text = event.get("data")?.get(name)?.as_str()?;
            serde_json::from_str::<Value>(text).ok()
        };
        match event.get("event").and_then(Value::as_str) {
            Some("posted") => {
                let post = nested("post").unwrap_or_default();
                if let Some(message) = self.message(&post).await? {
                    sink.messages(vec![message]).await?;
                }
            }
            Some("reaction_added") => {
                let reaction = nested("reaction").unwrap_or_default();
                let (bot, _name) = self.bot().await?;
                let name = text(&reaction, "emoji_name");
                let index = REACTIONS.iter().position(|known| *known == name);
                let user = text(&reaction, "user_id");
                if let Some(index) = index.filter(|_| user != bot) {
                    let channel = event
                        .pointer("/broadcast/channel_id")
                        .and_then(Value::as_str);
                    let choice = ButtonChoice {
                        channel: channel.unwrap_or_default().to_owned(),
                        post: PostId(text(&reaction, "post_id")),
                        user,
                        value: index.to_string(),
                    };
                    sink.choice(choice).await;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a line of the socket without calling the server: only IDs of users and channels are known.
    pub(crate) async fn dispatch_offline(
        &self,
        line: &str,
        (bot, name): (&str, &str),
        sink: &dyn ChatSink,
    ) -> Result<(), ChatError> {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        {
            let mut names = self.names();
            names.bot = Some((bot.to_owned(), name.to_owned()));
            let post = event.pointer("/data/post").and_then(Value::as_str);
            let post: Option<Value> = post.and_then(|post| serde_json::from_str(post).ok());
            if let Some(post) = post {
                let user = ChatUser {
                    id: text(&post, "user_id"),
                    ..ChatUser::default()
                };
                names.users.insert(user.id.clone(), user);
                let id = text(&post, "channel_id");
                let channel = channel_of(&json!({ "id": id }));
                names.channels.insert(id, channel);
            }
        }
        self.dispatch(&event, sink).await
    }

    /// Returns the posts of a list, newest first.
    fn posts(list: &Value) -> Vec<Value> {
        let order = list.get("order").and_then(Value::as_array);
        let ids = order.into_iter().flatten().filter_map(Value::as_str);
        let posts = ids.filter_map(|id| list.get("posts")?.get(id).cloned());
        posts.collect()
    }

    /// Returns the posts of a channel since a time, oldest first; at most the latest `limit`.
    async fn posts_since(
        &self,
        channel: &str,
        since_ms: i64,
        limit: usize,
    ) -> Result<Vec<Value>, ChatError> {
        let mut found = Vec::new();
        for page in 0.. {
            let path = format!(
                "channels/{}/posts?page={page}&per_page={PAGE}",
                plain_id(channel)
            );
            let call = || self.get(&path);
            let posts = Self::posts(&crate::delivery::retried(call).await?);
            let is_last = posts.len() < PAGE;
            let created = |post: &Value| {
                post.get("create_at")
                    .and_then(Value::as_i64)
                    .unwrap_or_default()
            };
            let reached = posts.iter().any(|post| created(post) < since_ms);
            found.extend(posts.into_iter().filter(|post| created(post) >= since_ms));
            if is_last || reached || found.len() >= limit {
                break;
            }
        }
        found.truncate(limit);
        found.reverse();
        Ok(found)
    }
}

impl ChatService for Mattermost {
    fn name(&self) -> &'static str {
        SERVICE
    }

    fn max_text(&self) -> usize {
        MAX_TEXT
    }

    fn check(&self) -> ChatFuture<'_, Vec<String>> {
        async move {
            let (_id, name) = self.bot().await?;
            let channels = self.channels().await?;
            Ok(vec![
                format!("Mattermost: @{name} at {}", self.base),
                format!("Channels: {}", channels.len()),
            ])
        }
        .boxed()
    }

    fn receive<'a>(
        &'a self,
        sink: &'a dyn ChatSink,
        cancel: CancellationToken,
    ) -> ChatFuture<'a, ()> {
        crate::reconnect::keep_receiving(SERVICE, cancel, (FIRST_PAUSE, MAX_PAUSE), move || {
            self.receive_once(sink).boxed()
        })
        .boxed()
    }

    fn channels(&self) -> ChatFuture<'_, Vec<ChatChannel>> {
        async move {
            let listed = self.get("users/me/channels").await?;
            let channels: Vec<ChatChannel> = listed
                .as_array()
                .into_iter()
                .flatten()
                .map(channel_of)
                .collect();
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
            let mut messages = Vec::new();
            for post in self.posts_since(&channel.id, after.time_ms, limit).await? {
                messages.extend(self.message(&post).await?);
            }
            Ok(messages)
        }
        .boxed()
    }

    fn post<'a>(&'a self, post: NewPost<'a>) -> ChatFuture<'a, PostId> {
        async move {
            let mut message = post.text.to_owned();
            let buttons = post.buttons.iter().zip(REACTIONS);
            for (button, reaction) in buttons.clone() {
                write!(message, "\n:{reaction}: {}", button.label).ok();
            }
            let mut body = json!({ "channel_id": post.channel, "message": message });
            if let Some(fields) = body.as_object_mut() {
                if let Some(thread) = post.thread {
                    fields.insert("root_id".to_owned(), thread.0.clone().into());
                }
                if let Some(key) = post.key {
                    fields.insert("props".to_owned(), json!({ KEY: key }));
                }
            }
            let posted = PostId(text(
                &self.call(Method::POST, "posts", Some(body)).await?,
                "id",
            ));
            let (bot, _name) = self.bot().await?;
            for (_, reaction) in buttons {
                let body = json!({ "user_id": bot, "post_id": posted.0, "emoji_name": reaction });
                if let Err(error) = self.call(Method::POST, "reactions", Some(body)).await {
                    tracing::debug!(%error, "a reaction is not shown");
                }
            }
            Ok(posted)
        }
        .boxed()
    }

    fn find_post<'a>(
        &'a self,
        channel: &'a str,
        _thread: Option<&'a PostId>,
        key: &'a str,
        after: &'a HistoryPosition,
    ) -> ChatFuture<'a, Option<PostId>> {
        async move {
            let posts = self.posts_since(channel, after.time_ms, PAGE * 10).await?;
            let has_key = |post: &&Value| {
                post.get("props")
                    .and_then(|props| props.get(KEY))
                    .and_then(Value::as_str)
                    == Some(key)
            };
            Ok(posts
                .iter()
                .find(has_key)
                .map(|post| PostId(text(post, "id"))))
        }
        .boxed()
    }

    fn update<'a>(
        &'a self,
        _channel: &'a str,
        post: &'a PostId,
        text: &'a str,
    ) -> ChatFuture<'a, ()> {
        async move {
            let path = format!("posts/{}/patch", plain_id(&post.0));
            self.call(Method::PUT, &path, Some(json!({ "message": text })))
                .await
                .map(drop)
        }
        .boxed()
    }

    fn delete<'a>(&'a self, _channel: &'a str, post: &'a PostId) -> ChatFuture<'a, ()> {
        async move {
            let path = format!("posts/{}", plain_id(&post.0));
            match self.call(Method::DELETE, &path, None).await {
                Err(ChatError::Rejected { .. }) => Ok(()),
                deleted => deleted.map(drop),
            }
        }
        .boxed()
    }

    fn upload<'a>(&'a self, upload: Upload<'a>) -> ChatFuture<'a, ()> {
        async move {
            let mut path = Url::parse("path:files").map_err(|error| ChatError::Network(error.to_string()))?;
            path.query_pairs_mut()
                .append_pair("channel_id", upload.channel)
                .append_pair("filename", upload.name);
            let path = format!("files?{}", path.query().unwrap_or_default());
            let request = self.request(Method::POST, &path)?.body(upload.bytes.to_vec());
            let response = self.send(request, &path).await?;
            let stored = response.text().await.map_err(network)?;
            let stored: Value = serde_json::from_str(&stored).unwrap_or_default();
            let id = stored.pointer("/file_infos/0/id").and_then(Value::as_str).unwrap_or_default();
            let mut body = json!({
                "channel_id": upload.channel, "message": upload.title.unwrap_or_default(), "file_ids": [id],
            });
            if let (Some(thread), Some(fields)) = (upload.thread, body.as_object_mut()) {
                fields.insert("root_id".to_owned(), thread.0.clone().into());
            }
            self.call(Method::POST, "posts", Some(body)).await.map(drop)
        }
        .boxed()
    }

    fn download<'a>(&'a self, url: &'a str, limit: u64) -> ChatFuture<'a, Vec<u8>> {
        async move {
            let path = format!("files/{}", plain_id(url));
            let mut response = self.send(self.request(Method::GET, &path)?, &path).await?;
            let mut bytes = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(network)? {
                if bytes.len() as u64 + chunk.len() as u64 > limit {
                    return Err(ChatError::TooLarge(limit));
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(bytes)
        }
        .boxed()
    }
}

fn text(value: &Value, name: &str) -> String {
    value
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns an ID that cannot lead to another path of the API.
fn plain_id(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).collect()
}

fn channel_of(value: &Value) -> ChatChannel {
    let id = text(value, "id");
    let is_direct = text(value, "type") == "D";
    let name = Some(text(value, "name")).filter(|name| !is_direct && !name.is_empty());
    ChatChannel {
        name: name.unwrap_or_else(|| id.clone()),
        id,
        is_direct,
    }
}

/// Whether a text has a mention that is not part of a longer name.
fn mentions(text: &str, mention: &str) -> bool {
    text.match_indices(mention).any(|(at, found)| {
        let next = text
            .get(at + found.len()..)
            .and_then(|rest| rest.chars().next());
        next.is_none_or(|c| !c.is_alphanumeric() && !"_-".contains(c))
    })
}

fn network(error: reqwest::Error) -> ChatError {
    let error = error.without_url();
    ChatError::Network(format!(
        "cannot reach Mattermost: {}",
        pi_http::root_cause(&error)
    ))
}
