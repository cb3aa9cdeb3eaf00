//! How messages reach a server. One type for all transports, so that the client is compiled once.

use std::sync::Weak;

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::error::McpError;

/// Limit for a message of a server.
pub(crate) const MAX_MESSAGE_BYTES: usize = 32 << 20;

/// Sends messages to a server.
pub(crate) trait Transport: Send + Sync {
    /// Sends a message. The order of messages is that of the calls, not of polling the results. The result of a request is
    /// the response's only if the transport has separate responses.
    fn send(&self, message: Value) -> BoxFuture<'static, Result<(), McpError>>;

    /// Called when the version of the protocol is known.
    fn set_protocol_version(&self, version: &str);

    /// Stops waiting for the response to a request. Returns whether the server notices that, so that it need not be notified.
    fn abandon(&self, request: u64) -> bool {
        let _ = request;
        false
    }

    /// Removes the credentials of the server from what it reports.
    fn redact(&self, text: String) -> String {
        text
    }

    /// Returns the end of what the server wrote to its standard error.
    fn error_output(&self) -> Option<String> {
        None
    }

    /// Ends the connection; returns when nothing of it is left.
    fn close(&self) -> BoxFuture<'static, ()>;
}

/// Receives the messages of a server.
pub(crate) trait Inbox: Send + Sync {
    fn receive(&self, message: Value);

    /// Called once if the server ends the connection.
    fn connection_lost(&self);
}

/// The receiver, which owns the transport.
pub(crate) type WeakInbox = Weak<dyn Inbox>;
