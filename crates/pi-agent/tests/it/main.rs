//! The agent as an application uses it: real tasks, a scripted model, tools that wait, fail and
//! crash.

mod abort;
mod hooks;
mod script;
mod tools;
mod turns;
