//! Test helpers shared by several crates: loopback servers whose timing a test controls, a recording
//! proxy, a browser, test certificates, temporary home directories and disk faults.
//!
//! ```no_run
//! # async fn example() {
//! use pi_test_support::{ScriptedServer, ScriptedReply};
//!
//! let reply = ScriptedReply::event_stream().chunk("data: a\n\n").gate("more").chunk("data: b\n\n");
//! let server = ScriptedServer::start([reply]).await;
//! // ... a client connects to `server.url()` and reads the first event ...
//! server.wait_for_gate("more").await;
//! server.open_gate("more");
//! # }
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "failed setup must fail the test immediately"
)]

mod browser;
mod certificate;
mod fake_npm_registry;
mod gate;
mod hostile_texts;
mod http1;
#[cfg(target_os = "linux")]
mod kernel_fault;
#[cfg(unix)]
mod process_state;
mod program;
mod pty_terminal;
mod recording_proxy;
mod scripted_reply;
mod scripted_server;
mod temp_home;

pub use browser::{Browser, find_browser};
pub use certificate::TestCertAuthority;
pub use fake_npm_registry::{FakeNpmRegistry, npm_archive};
pub use hostile_texts::HOSTILE_TEXTS;
pub use http1::RecordedRequest;
#[cfg(target_os = "linux")]
pub use kernel_fault::{
    DiskFault, DiskOperation, install_kernel_fault, kernel_fault_command, was_killed_by_fault,
};
pub use portable_pty::CommandBuilder as PtyCommand;
#[cfg(unix)]
pub use process_state::is_running;
pub use program::{copy_program, write_program};
pub use pty_terminal::PtyTerminal;
pub use recording_proxy::RecordingProxy;
pub use scripted_reply::ScriptedReply;
pub use scripted_server::ScriptedServer;
pub use temp_home::TempHome;
pub use vt100;
