//! Sessions with a scripted model: the order of events, faults, and cancelling at every phase.

mod aborts;
mod compaction;
mod concurrency;
mod faults;
mod hooks;
mod order;
mod prompts;
mod retries;
mod harness;
mod operations;
