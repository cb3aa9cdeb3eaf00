//! What the bot needs from a chat service. Slack and Mattermost implement it; nothing above knows which one is used.
//!
//! Posts have a key. A service that finds the key again lets the bot repeat a post whose outcome a crash has hidden
//! without showing it twice.

use std::time::Duration;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio_util::sync::CancellationToken;

pub type ChatFuture<'a, T> = BoxFuture<'a, Result<T, ChatError>>;

/// Connects to a chat service. Texts are the Markdown of models; implementations convert it.
pub trait ChatService: Send + Sync {
    /// Name for messages to the user, such as `Slack`.
    fn name(&self) -> &'static str;

    /// Longest text of a post, in characters.
    fn max_text(&self) -> usize;

    /// Verifies the tokens and reports who the bot is and what it may do, one sentence each.
    fn check(&self) -> ChatFuture<'_, Vec<String>>;

    /// Receives until canceled and reconnects as needed. A message is acknowledged to the service only after the sink has
    /// stored it.
    fn receive<'a>(
        &'a self,
        sink: &'a dyn ChatSink,
        cancel: CancellationToken,
    ) -> ChatFuture<'a, ()>;

    /// Lists the channels that the bot is in.
    fn channels(&self) -> ChatFuture<'_, Vec<ChatChannel>>;

    /// Returns the messages of users after a position, oldest first; at most `limit`, the latest ones.
    fn history<'a>(
        &'a self,
        channel: &'a ChatChannel,
        after: &'a HistoryPosition,
        limit: usize,
    ) -> ChatFuture<'a, Vec<ChatMessage>>;

    fn post<'a>(&'a self, post: NewPost<'a>) -> ChatFuture<'a, PostId>;

    /// Returns the bot's post with a key: in a thread, or among those after a message.
    fn find_post<'a>(
        &'a self,
        channel: &'a str,
        thread: Option<&'a PostId>,
        key: &'a str,
        after: &'a HistoryPosition,
    ) -> ChatFuture<'a, Option<PostId>>;

    /// Replaces the text of a post, and its buttons with none.
    fn update<'a>(
        &'a self,
        channel: &'a str,
        post: &'a PostId,
        text: &'a str,
    ) -> ChatFuture<'a, ()>;

    fn delete<'a>(&'a self, channel: &'a str, post: &'a PostId) -> ChatFuture<'a, ()>;

    fn upload<'a>(&'a self, upload: Upload<'a>) -> ChatFuture<'a, ()>;

    /// Downloads a file of a message. Fails if it is larger than `limit` bytes.
    fn download<'a>(&'a self, url: &'a str, limit: u64) -> ChatFuture<'a, Vec<u8>>;
}

/// Receives what happens in the chat.
pub trait ChatSink: Send + Sync {
    /// Stores messages. When this returns they survive a crash, and may be acknowledged.
    fn messages(&self, messages: Vec<ChatMessage>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// A user has pressed a button.
    fn choice(&self, choice: ButtonChoice) -> BoxFuture<'_, ()>;

    /// The connection was opened: messages may have been missed.
    fn connected(&self) -> BoxFuture<'_, ()>;
}

/// Why a message could not be stored.
#[derive(Debug, Error)]
#[error("cannot write {path}: {source}")]
pub struct StoreError {
    pub path: String,
    #[source]
    pub source: std::io::Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatChannel {
    pub id: String,
    /// Without `#`; the ID if it has none.
    pub name: String,
    pub is_direct: bool,
}

/// The last message that is known, as the service needs it to list those that follow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryPosition {
    /// The message's ID; empty for the beginning.
    pub ts: String,
    /// Milliseconds since the Unix epoch.
    pub time_ms: i64,
}

/// A message of a user. All texts are untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    pub channel: ChatChannel,
    /// Unique in the channel, and the order of messages.
    pub ts: String,
    /// Milliseconds since the Unix epoch.
    pub time_ms: i64,
    pub user: ChatUser,
    /// Without the mention of the bot.
    pub text: String,
    /// Whether the message mentions the bot or is a direct message.
    pub is_addressed: bool,
    pub files: Vec<RemoteFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatUser {
    pub id: String,
    pub name: Option<String>,
    pub display_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    pub name: String,
    pub url: String,
    pub size: Option<u64>,
}

/// Identifies a post in its channel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PostId(pub String);

#[derive(Debug, Clone, Copy)]
pub struct NewPost<'a> {
    pub channel: &'a str,
    /// The post whose thread it joins.
    pub thread: Option<&'a PostId>,
    pub text: &'a str,
    /// Identifies the post after a crash.
    pub key: Option<&'a str>,
    pub buttons: &'a [Button],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    /// Returned in the choice.
    pub value: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ButtonChoice {
    pub channel: String,
    pub post: PostId,
    pub user: String,
    pub value: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Upload<'a> {
    pub channel: &'a str,
    pub thread: Option<&'a PostId>,
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub bytes: &'a [u8],
}

/// Why a call to the service failed. No variant contains a token.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The service does not accept the token.
    #[error("{service} rejected the token ({reason})")]
    Token {
        service: &'static str,
        reason: String,
    },
    #[error("{service} rejected {method}: {reason}")]
    Rejected {
        service: &'static str,
        method: String,
        reason: String,
    },
    #[error("{service} limits requests; it asked to wait {}s", wait.as_secs())]
    RateLimited {
        service: &'static str,
        wait: Duration,
    },
    #[error("{service} sent an unexpected response to {method}: {reason}")]
    Protocol {
        service: &'static str,
        method: String,
        reason: String,
    },
    #[error("{0}")]
    Network(String),
    #[error("the file is larger than {0} bytes")]
    TooLarge(u64),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChatError {
    /// Whether the same call may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Network(_))
    }
}
