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
mod rpc_extension_ui;
mod extension_ui;
mod framing;
mod line_sink;
mod response;
mod server;

pub use client::{RpcClient, RpcClientError, RpcClientOptions, RpcEvent, RpcSubscription};
pub use command::{ClientLine, RejectedLine, RpcCommand, RpcRequest, StreamingBehavior};
pub use events::JsonEventWriter;
pub use rpc_extension_ui::RpcExtensionUi;
pub use extension_ui::{
    PendingDialog, DialogReply, PendingDialogs, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse,
};
pub use framing::{COMMAND_LINE_LIMIT, LineFrame, LineDecoder};
pub use line_sink::{LineSink, LineWriter, OutputClosed};
pub use response::{
    BashResponse, CompactResponse, RpcContextUsage, CycleModelResponse, EntriesResponse, RpcForkMessage, ForkResponse, MessagesResponse,
    QueuedMessages, ReplaceResponse, RpcResponse, RpcSessionState, RpcSessionStats, TokenCounts,
};
pub use server::{ServeOutcome, ServeOptions, serve};

/// The examples of the manual, compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rpc.md")]
mod manual {}
