//! The live session as the terminal application sees it.
//!
//! Everything that touches a session goes through [`SessionPort`](port::SessionPort): commands in, outcomes,
//! events and snapshots out. `local` implements it for a session in this process, `remote` for one that another process runs.

pub(crate) mod command;
pub(crate) mod events;
pub(crate) mod history;
pub(crate) mod local;
pub(crate) mod outcome;
pub(crate) mod port;
pub(crate) mod remote;
mod report;
pub(crate) mod snapshot;
