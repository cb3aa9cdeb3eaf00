//! The line protocol of pi.
//!
//! A client sends commands, one JSON object a line, and reads answers and events the same way. The
//! [server](serve) puts one live session behind the protocol; [`RpcClient`] starts a pi of its own and
//! talks to it. JSON mode writes the same events without the commands.

mod client;
mod command;
mod events;
mod extension_ui;
mod framing;
mod line_sink;
mod response;
mod server;

pub use client::{RpcClient, RpcClientError, RpcClientOptions, RpcEvent, RpcSubscription};
pub use command::{ClientLine, Rejected, RpcCommand, RpcRequest, StreamingBehavior};
pub use events::JsonEvents;
pub use extension_ui::{
    Dialog, DialogReply, Dialogs, ExtensionUiMethod, ExtensionUiRequest, ExtensionUiResponse,
};
pub use framing::{COMMAND_LINE_LIMIT, Frame, LineDecoder, LineReader};
pub use line_sink::{LineSink, LineWriter, OutputClosed};
pub use response::{
    BashFinished, Compacted, ContextFill, CycledModel, EntryList, ForkMessage, Forked, MessageList,
    QueuedMessages, Replaced, RpcResponse, SessionState, SessionStats, TokenCounts,
};
pub use server::{ServeEnd, ServeOptions, serve};
