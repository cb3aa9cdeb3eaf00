//! A session as an application uses it: real tasks, a scripted model, tools that wait, fail and
//! panic, and hooks that make requests.

#![expect(clippy::unwrap_used, reason = "a failing setup must fail the test")]

mod abort;
mod approval;
mod backend;
mod client;
mod hooks;
mod lanes;
mod panics;
mod requests_in_hooks;
mod script;
mod tools;
mod turns;
