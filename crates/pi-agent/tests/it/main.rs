//! The agent as an application uses it: real tasks, a scripted model, tools that wait, fail and
//! crash.

#![expect(
    clippy::unwrap_used,
    reason = "a set-up that fails must fail the test at once"
)]

mod abort;
mod hooks;
mod script;
mod tools;
mod turns;
