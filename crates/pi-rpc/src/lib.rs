//! pi's line protocol.
//!
//! A client sends commands as one JSON object per line, and reads responses and events the same
//! way. The [server](serve) exposes one session through the protocol; [`RpcClient`] starts a pi
//! process and talks to it. JSON mode writes the same events without commands.
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

mod barrier;
mod client_tools;
mod events;
mod pending_dialogs;
mod rpc_extension_ui;
mod server;

pub use barrier::RpcBarrier;
pub use client_tools::ClientTools;
pub use events::JsonEventWriter;
pub use pending_dialogs::{PendingDialog, PendingDialogs};
pub use pi_host::{
    ClientLine, DialogReply, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse, LineSink,
    LineWriter, OutputClosed, RejectedLine, RpcRequest,
};
pub use pi_rpc_client::{
    BashResponse, CompactResponse, CycleModelResponse, EntriesResponse, ForkResponse,
    MessagesResponse, ReplaceResponse, RpcClient, RpcClientError, RpcClientOptions, RpcEvent,
    RpcForkMessage, RpcModelCommands, RpcResponse, RpcSessionState, RpcSubscription,
};
pub use rpc_extension_ui::RpcExtensionUi;
pub use server::{ServeOptions, ServeOutcome, serve};

/// Compiles the examples of the manual as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rpc.md")]
mod manual {}
