//! The bot's process against a Slack and a model on loopback.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "a failure in the harness fails the test"
)]

mod crash;
mod docker;
mod harness;
mod loopback_mattermost;
mod loopback_slack;
mod mattermost;
mod slack;
mod workspace;
