//! The line protocol below the front ends: what a client sends and receives, independent of the transport.
//!
//! Any number of clients can be connected to a live session ([`serve_connection`]). Each reads the events at its own pace
//! ([`SessionFeed`]), and any of them may answer a request of the session; the first answer wins.

mod client_line;
mod client_ui;
mod event_lines;
mod index_line;
mod response_line;
mod serve_connection;
mod session_feed;
mod snapshot_line;

pub use client_line::{ClientLine, RejectedLine, RpcRequest};
pub use client_ui::ClientUi;
pub use event_lines::EventLines;
pub(crate) use index_line::IndexLine;
pub use pi_extensions::{ExtensionErrorLine, ExtensionUiMethod, ExtensionUiRequest};
pub use pi_lines::{LineSink, LineWriter, OutputClosed};
pub use pi_protocol::{DialogReply, ExtensionUiResponse};
pub use response_line::{failure_line, outcome_line, success_line};
pub use serve_connection::{
    ConnectionEnd, ConnectionOptions, FeedStart, execute_line, serve_connection,
};
pub use session_feed::{FeedLine, FeedOptions, SessionFeed};
