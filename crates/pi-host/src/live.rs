//! Live attach: other processes of the user follow and control the sessions of this one.
//!
//! A session that has a file listens on a socket in a private directory ([`LiveDirectory`]). Only processes of the same
//! user can connect. Listening is one task on the runtime of the session; a fault in it is logged and never reaches the
//! session.

mod directory;
mod link;
#[cfg(unix)]
mod listener;
mod listing;
#[cfg(unix)]
mod peer;
mod remote_error;
mod remote_session;
mod remote_state;
mod socket;

pub use directory::{LiveDirectory, LiveSocketError};
pub use listing::LiveSession;
pub use remote_error::RemoteError;
pub use remote_session::{LinkStatus, RemoteSession};
pub use remote_state::RemoteState;
pub use socket::{GREETING_TIME, LiveConnection, LiveLines, LiveWriter};

#[cfg(unix)]
pub(crate) use listener::listen;
#[cfg(unix)]
pub use peer::{RefusedPeer, check_peer};

#[cfg(not(unix))]
pub(crate) async fn listen(_runtime: crate::runtime::WeakRuntime, _sessions: Sessions) {}

/// The current session of a runtime.
pub(crate) type Sessions = tokio::sync::watch::Receiver<crate::session::AgentSession>;
