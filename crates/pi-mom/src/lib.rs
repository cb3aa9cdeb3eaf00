//! A chat bot: mention it in a channel, and it works in the channel's directory with a session of pi.
//!
//! [`Bot`] stores what a [`ChatService`] receives in the logs of the channels and runs their requests one at a time. A
//! request survives a crash at any point: the log has it before it is acknowledged, the session shows how far the model
//! got, and posts are found again by their keys.

mod attach_tool;
mod bot;
mod channel;
mod channel_dir;
mod chat;
mod command;
mod config;
mod context_sync;
mod delivery;
mod docker;
mod events;
#[doc(hidden)]
pub mod fuzz_support;
mod ledger;
mod line_file;
mod log;
mod mattermost;
mod prompt;
mod questions;
mod reconnect;
mod recovery;
mod run;
mod sandbox;
mod schedule;
mod session;
mod slack;

pub use bot::{Bot, BotOptions};
pub use chat::{
    Button, ButtonChoice, ChatChannel, ChatError, ChatFuture, ChatMessage, ChatService, ChatSink,
    ChatUser, HistoryPosition, NewPost, PostId, RemoteFile, StoreError, Upload,
};
pub use config::{
    ChannelConfig, ConfigError, InvalidSandbox, MattermostConfig, MomConfig, SandboxChoice,
    ServiceKind, SlackConfig,
};
pub use docker::docker_environment;
pub use events::{EventRunner, ListedEvent, list_events};
pub use mattermost::Mattermost;
pub use sandbox::check_sandbox;
pub use schedule::{EventError, EventStep, ScheduledEvent, Timing};
pub use session::IDLE_SESSION;
pub use slack::{Slack, SlackTokens};
