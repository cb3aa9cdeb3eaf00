//! The agent as an application uses it: real tasks, a scripted model, and tools that wait, fail and
//! panic.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod abort;
mod hooks;
mod script;
mod tools;
mod turns;
