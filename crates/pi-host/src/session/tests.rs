//! Sessions with a scripted model: event order, faults, and cancellation in every phase.

mod aborts;
mod compaction;
mod concurrency;
mod delivery;
mod faults;
mod harness;
mod nested_calls;
mod observers;
mod operations;
mod order;
mod participants;
mod prompts;
mod requests;
mod retries;
mod tool_sources;
