//! Internals exposed for the fuzz checks. Not part of the public API; may change at any time.

use std::io;
use std::path::{Path, PathBuf};

use futures_util::future::{BoxFuture, FutureExt as _};
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use secrecy::SecretString;

use crate::channel_dir::ChannelDir;
use crate::chat::{ButtonChoice, ChatError, ChatMessage, ChatSink, StoreError};
use crate::config::{MattermostConfig, SlackConfig};
use crate::log::{ChannelLog, LogLine};
use crate::mattermost::Mattermost;
use crate::slack::{Slack, SlackTokens};

/// The ID of the bot.
pub const BOT_ID: &str = "UBOT";

/// The name of the bot.
pub const BOT_NAME: &str = "bot";

/// What lines of a socket lead to.
#[derive(Debug, Default)]
pub struct Received {
    pub messages: Vec<ChatMessage>,
    pub choices: Vec<ButtonChoice>,
}

/// Handles a line of Slack's socket.
pub async fn receive_slack(line: &str) -> Result<Received, ChatError> {
    let secret = || SecretString::from("token");
    let tokens = SlackTokens {
        app: secret(),
        bot: secret(),
    };
    let slack = Slack::new(
        &SlackConfig::default(),
        tokens,
        Env::fixed::<&str, &str>([]),
    );
    let sink = CollectingSink::default();
    slack.dispatch_offline(line, BOT_ID, &sink).await?;
    Ok(sink.received())
}

/// Handles a line of Mattermost's socket.
pub async fn receive_mattermost(line: &str) -> Result<Received, ChatError> {
    let config = MattermostConfig {
        url: "http://127.0.0.1:1".to_owned(),
    };
    let token = SecretString::from("token");
    let mattermost = Mattermost::new(&config, token, Env::fixed::<&str, &str>([]));
    let sink = CollectingSink::default();
    let bot = (BOT_ID, BOT_NAME);
    mattermost.dispatch_offline(line, bot, &sink).await?;
    Ok(sink.received())
}

/// Where a message was stored.
#[derive(Debug)]
pub struct StoredMessage {
    pub log: PathBuf,
    /// Whether the last line of the log has the message.
    pub is_last: bool,
    /// The files of the message once they are downloaded.
    pub attachments: Vec<PathBuf>,
}

/// Stores a message in the log of its channel; `None` if the channel has no valid ID.
pub fn store_message(workspace: &Path, message: &ChatMessage) -> io::Result<Option<StoredMessage>> {
    let Some(directory) = ChannelDir::new(workspace, &message.channel.id) else {
        return Ok(None);
    };
    directory.create()?;
    let attachments = directory.attachments(message.time_ms, &message.files);
    let line = LogLine {
        attachments: attachments.clone(),
        ..LogLine::new(
            &message.ts,
            message.user.clone(),
            &message.text,
            message.time_ms,
        )
    };
    ChannelLog::open(&directory.log(), |_line| {})?.append(vec![line.clone()])?;
    let mut last = None;
    ChannelLog::open(&directory.log(), |line| last = Some(line))?;
    let attachments = attachments.iter().map(|file| workspace.join(&file.local));
    Ok(Some(StoredMessage {
        log: directory.log(),
        is_last: last == Some(line),
        attachments: attachments.collect(),
    }))
}

#[derive(Default)]
struct CollectingSink(Mutex<Received>);

impl CollectingSink {
    fn received(self) -> Received {
        self.0.into_inner()
    }

    fn lock(&self) -> MutexGuard<'_, Received> {
        self.0.lock()
    }
}

impl ChatSink for CollectingSink {
    fn messages(&self, messages: Vec<ChatMessage>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.lock().messages.extend(messages);
        std::future::ready(Ok(())).boxed()
    }

    fn choice(&self, choice: ButtonChoice) -> BoxFuture<'_, ()> {
        self.lock().choices.push(choice);
        std::future::ready(()).boxed()
    }

    fn connected(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}
