//! The bot: stores what happens in the chat, and passes requests to their channels.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::{BoxFuture, FutureExt as _};
use jiff::tz::TimeZone;
use parking_lot::{Mutex, MutexGuard};
use pi_env::Env;
use pi_host::Host;
use tokio_util::task::TaskTracker;

use crate::channel::Channel;
use crate::channel_dir::ChannelDir;
use crate::chat::{
    ButtonChoice, ChatChannel, ChatMessage, ChatService, ChatSink, HistoryPosition, StoreError,
};
use crate::config::{MomConfig, SandboxChoice};
use crate::ledger::Charge;
use crate::log::LogLine;

/// Messages of a channel that are logged when the bot sees it for the first time.
const FIRST_HISTORY: usize = 1000;

/// Age of requests that are answered when the bot sees a channel for the first time, in milliseconds.
const FIRST_REQUESTS_MS: i64 = 60 * 60 * 1000;

/// Messages of a channel that are logged after an interruption.
const MISSED_HISTORY: usize = 100_000;

/// What a bot is made of.
pub struct BotOptions {
    pub service: Arc<dyn ChatService>,
    pub host: Host,
    pub config: MomConfig,
    /// Absolute and without links.
    pub workspace: PathBuf,
    /// `--sandbox`.
    pub sandbox: Option<SandboxChoice>,
    pub env: Env,
    pub zone: TimeZone,
}

/// What all channels share.
pub(crate) struct BotContext {
    pub(crate) service: Arc<dyn ChatService>,
    pub(crate) host: Host,
    pub(crate) config: MomConfig,
    pub(crate) workspace: PathBuf,
    pub(crate) sandbox: Option<SandboxChoice>,
    pub(crate) env: Env,
    pub(crate) zone: TimeZone,
    /// Costs of all channels.
    pub(crate) charges: Mutex<Vec<Charge>>,
    /// Background work.
    pub(crate) tasks: TaskTracker,
    /// Changes when a channel appears: what other channels may not see has changed.
    pub(crate) generation: AtomicU64,
}

pub struct Bot {
    context: Arc<BotContext>,
    channels: Mutex<BTreeMap<String, Arc<Channel>>>,
}

impl Bot {
    /// Opens the channels of the workspace, and continues what a crash has cut.
    pub fn open(options: BotOptions) -> Result<Arc<Self>, StoreError> {
        let context = BotContext {
            service: options.service,
            host: options.host,
            config: options.config,
            workspace: options.workspace,
            sandbox: options.sandbox,
            env: options.env,
            zone: options.zone,
            charges: Mutex::default(),
            tasks: TaskTracker::new(),
            generation: AtomicU64::new(0),
        };
        let bot = Self {
            context: Arc::new(context),
            channels: Mutex::default(),
        };
        let workspace = &bot.context.workspace;
        let existing = ChannelDir::existing(workspace).map_err(|source| StoreError {
            path: workspace.display().to_string(),
            source,
        })?;
        for directory in existing {
            if bot.context.config.allows_channel(directory.id()) {
                let channel = ChatChannel {
                    id: directory.id().to_owned(),
                    name: directory.id().to_owned(),
                    is_direct: false,
                };
                bot.channel(&channel)?;
            }
        }
        Ok(Arc::new(bot))
    }

    pub(crate) fn context(&self) -> &BotContext {
        &self.context
    }

    /// Stores the requests of an event. Returns whether its channel is allowed and valid.
    pub(crate) fn event(&self, channel: &str, line: LogLine) -> Result<bool, StoreError> {
        if !self.context.config.allows_channel(channel) {
            return Ok(false);
        }
        let info = ChatChannel {
            id: channel.to_owned(),
            name: channel.to_owned(),
            is_direct: false,
        };
        match self.channel(&info)? {
            Some(channel) => channel.store(vec![line]).map(|()| true),
            None => Ok(false),
        }
    }

    /// Returns a channel, which is created if needed; `None` if its ID is invalid.
    fn channel(&self, info: &ChatChannel) -> Result<Option<Arc<Channel>>, StoreError> {
        let mut channels = self.lock();
        if let Some(known) = channels.get(&info.id) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(directory) = ChannelDir::new(&self.context.workspace, &info.id) else {
            tracing::warn!(id = ?info.id, "a channel with an invalid ID is ignored");
            return Ok(None);
        };
        let opened = Channel::open(Arc::clone(&self.context), directory.clone());
        let channel = opened.map_err(|source| StoreError {
            path: directory.path().display().to_string(),
            source,
        })?;
        channels.insert(info.id.clone(), Arc::clone(&channel));
        self.context.generation.fetch_add(1, Ordering::Relaxed);
        Ok(Some(channel))
    }

    fn line_of(&self, directory: &ChannelDir, message: ChatMessage) -> LogLine {
        let is_request = message.is_addressed && self.context.config.allows_user(&message.user.id);
        let attachments = directory.attachments(message.time_ms, &message.files);
        LogLine {
            attachments,
            request: is_request,
            ..LogLine::new(&message.ts, message.user, &message.text, message.time_ms)
        }
    }

    fn store(&self, messages: Vec<ChatMessage>) -> Result<(), StoreError> {
        let mut by_channel: HashMap<String, (ChatChannel, Vec<ChatMessage>)> = HashMap::new();
        for message in messages {
            if self.context.config.allows_channel(&message.channel.id) {
                let info = message.channel.clone();
                let entry = by_channel.entry(info.id.clone());
                entry.or_insert_with(|| (info, Vec::new())).1.push(message);
            }
        }
        for (info, messages) in by_channel.into_values() {
            let Some(channel) = self.channel(&info)? else {
                continue;
            };
            channel.set_name(&info.name);
            let directory = channel.directory();
            let lines = messages.into_iter().map(|it| self.line_of(directory, it));
            channel.store(lines.collect())?;
        }
        Ok(())
    }

    /// Logs the messages of a channel that arrived while the bot was not connected.
    async fn backfill(&self, info: &ChatChannel) -> Result<(), crate::chat::ChatError> {
        let known = self.lock().get(&info.id).cloned();
        let last = known.and_then(|channel| channel.last_message());
        let is_new = last.is_none();
        let limit = if is_new {
            FIRST_HISTORY
        } else {
            MISSED_HISTORY
        };
        let after = last.unwrap_or_else(HistoryPosition::default);
        let history = || self.context.service.history(info, &after, limit);
        let mut messages = crate::delivery::retried(history).await?;
        if is_new {
            // What was said before the bot came is context, except for what may wait for it.
            let since = self.context.env.now_ms() - FIRST_REQUESTS_MS;
            for message in &mut messages {
                message.is_addressed &= message.time_ms >= since;
            }
        }
        if !messages.is_empty() {
            tracing::info!(
                channel = info.id,
                count = messages.len(),
                "missed messages are logged"
            );
            self.store(messages)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Channel>>> {
        self.channels.lock()
    }
}

impl ChatSink for Bot {
    fn messages(&self, messages: Vec<ChatMessage>) -> BoxFuture<'_, Result<(), StoreError>> {
        // Blocks for as long as a write to the disk takes.
        async move { tokio::task::block_in_place(|| self.store(messages)) }.boxed()
    }

    fn choice(&self, choice: ButtonChoice) -> BoxFuture<'_, ()> {
        async move {
            let channel = self.lock().get(&choice.channel).cloned();
            let Some(channel) = channel else {
                return;
            };
            if self.context.config.may_approve(&choice.user) {
                self.context
                    .tasks
                    .spawn(async move { channel.choose(choice).await });
            } else {
                tracing::info!(user = choice.user, "a user who is not listed has answered");
            }
        }
        .boxed()
    }

    fn connected(&self) -> BoxFuture<'_, ()> {
        async move {
            let list = || self.context.service.channels();
            let channels = match crate::delivery::retried(list).await {
                Ok(channels) => channels,
                Err(error) => {
                    tracing::warn!(%error, "cannot list the channels; missed messages are not logged");
                    return;
                }
            };
            for channel in channels {
                if !self.context.config.allows_channel(&channel.id) {
                    continue;
                }
                if let Some(known) = self.lock().get(&channel.id) {
                    known.set_name(&channel.name);
                }
                if let Err(error) = self.backfill(&channel).await {
                    tracing::warn!(channel = channel.id, %error, "missed messages are not logged");
                }
            }
        }
        .boxed()
    }
}
