//! Who may connect to a local socket: processes of the same user that are not confined.

use thiserror::Error;
use tokio::net::UnixStream;

/// Why a connection is closed at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RefusedPeer {
    #[error("the process belongs to another user")]
    OtherUser,
    #[error("the process runs in a sandbox, or has ended")]
    Confined,
}

/// Checks the process that has connected to a socket of this one. A confined process may not steer a session outside of its
/// sandbox, wherever the socket is and whenever it was created.
pub fn check_peer(stream: &UnixStream) -> Result<(), RefusedPeer> {
    let peer = stream
        .peer_cred()
        .map_err(|_unknown| RefusedPeer::OtherUser)?;
    if peer.uid() != pi_fs::private::effective_user() {
        return Err(RefusedPeer::OtherUser);
    }
    #[cfg(target_os = "linux")]
    if peer.pid().is_some_and(pi_sandbox::is_confined) {
        return Err(RefusedPeer::Confined);
    }
    Ok(())
}
