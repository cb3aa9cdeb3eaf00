//! What the tests of several crates share: loopback servers whose timing a test controls, a proxy
//! that records, certificates of our own, temporary homes, disks that fail.
//!
//! ```no_run
//! # async fn example() {
//! use pi_test_support::{GatedServer, Reply};
//!
//! let server = GatedServer::start([Reply::events().chunk("data: a\n\n").gate("more").chunk("data: b\n\n")]).await;
//! // ... a client connects to `server.url()` and reads the first event ...
//! server.reached("more").await;
//! server.release("more");
//! # }
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a set-up that fails must fail the test at once"
)]

mod certificate;
mod gate;
mod gated_server;
mod http1;
#[cfg(target_os = "linux")]
mod kernel_fault;
mod npm_registry;
mod pty_terminal;
mod recording_proxy;
mod reply;
mod temp_home;

pub use certificate::TestAuthority;
pub use gated_server::GatedServer;
pub use http1::RecordedRequest;
#[cfg(target_os = "linux")]
pub use kernel_fault::{DiskFault, DiskStep, install_kernel_fault, under_kernel_fault, was_killed};
pub use npm_registry::NpmRegistry;
pub use npm_registry::archive;
pub use portable_pty::CommandBuilder as PtyCommand;
pub use pty_terminal::PtyTerminal;
pub use recording_proxy::RecordingProxy;
pub use reply::Reply;
pub use temp_home::TempHome;
pub use vt100;
