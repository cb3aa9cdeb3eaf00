//! The line protocol of pi.
//!
//! A client sends commands, one JSON object a line, and reads answers and events the same way. The
//! [server](serve) puts one live session behind the protocol; [`RpcClient`] starts a pi of its own and
//! talks to it. JSON mode writes the same events without the commands.
//!
//! ```no_run
//! # async fn example() -> Result<(), pi_rpc::RpcClientError> {
//! use std::time::Duration;
//!
//! use pi_rpc::{RpcClient, RpcClientOptions};
//!
//! let client = RpcClient::start(&RpcClientOptions::new("pi"))?;
//! let minute = Duration::from_secs(60);
//! client.prompt_and_wait("What does this project do?", Vec::new(), minute).await?;
//! println!("{:?}", client.last_assistant_text().await?);
//! # Ok(())
//! # }
//! ```

mod client;
mod command;
mod events;
mod extension_lines;
mod extension_ui;
mod framing;
mod line_sink;
mod response;
mod server;

pub use client::{RpcClient, RpcClientError, RpcClientOptions, RpcEvent, RpcSubscription};
pub use command::{ClientLine, Rejected, RpcCommand, RpcRequest, StreamingBehavior};
pub use events::JsonEvents;
pub use extension_lines::ExtensionLines;
pub use extension_ui::{
    Dialog, DialogReply, Dialogs, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse,
};
pub use framing::{COMMAND_LINE_LIMIT, Frame, LineDecoder};
pub use line_sink::{LineSink, LineWriter, OutputClosed};
pub use response::{
    BashFinished, Compacted, ContextFill, CycledModel, EntryList, ForkMessage, Forked, MessageList,
    QueuedMessages, Replaced, RpcResponse, SessionState, SessionStats, TokenCounts,
};
pub use server::{ServeEnd, ServeOptions, serve};

/// The examples of the manual, compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rpc.md")]
mod manual {}
