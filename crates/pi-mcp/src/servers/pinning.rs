//! Withholds tools that changed since the user accepted them.

use std::sync::Arc;

use pi_protocol::settings::McpPinning;
use pi_protocol::{McpState, hex};
use sha2::{Digest as _, Sha256};

use super::{ManagedServer, McpNoticeLevel, McpServers, ServersState};
use crate::connection::{ConnectionStatus, DeclaredTool, McpConnection};
use crate::pins::{PinChange, describe_changes, pinning};

/// Lines of a diff that a notice shows.
const MAX_NOTICE_LINES: usize = 60;

/// The result of comparing a server with its record.
#[derive(Default)]
pub(super) struct PinReview {
    /// What was compared.
    reviewed: Option<(Arc<Vec<DeclaredTool>>, Option<String>)>,
    /// What is withheld.
    withheld: Vec<PinChange>,
    /// Why nothing could be compared: everything is withheld.
    problem: Option<String>,
}

impl ManagedServer {
    /// Returns the changes that wait to be accepted.
    pub(super) fn changes(&self) -> &[PinChange] {
        &self.pins.withheld
    }

    /// Returns the names of what is withheld.
    pub(super) fn withheld_names(&self) -> Vec<String> {
        if self.pins.problem.is_some() {
            let status = self.live().map(McpConnection::status);
            return status.map_or_else(Vec::new, |status| super::report::tool_names(&status.tools));
        }
        let names = self.changes().iter().map(PinChange::subject);
        names.map(str::to_owned).collect()
    }

    pub(super) fn is_withheld(&self, tool: &str) -> bool {
        let mut changes = self.changes().iter();
        self.pins.problem.is_some() || changes.any(|change| change.tool.as_deref() == Some(tool))
    }

    pub(super) fn withholds(&self, tool: &DeclaredTool) -> bool {
        let name = tool.get("name").and_then(|name| name.as_str());
        name.is_some_and(|name| self.is_withheld(name))
    }

    /// Returns the instructions of the server, unless they are withheld.
    pub(super) fn instructions(&self) -> Option<String> {
        let mut changes = self.changes().iter();
        if self.pins.problem.is_some() || changes.any(|change| change.tool.is_none()) {
            return None;
        }
        self.live()?.status().instructions
    }
}

/// Identifies changes that a user has seen.
pub(super) fn fingerprint(changes: &[PinChange]) -> String {
    hex(&Sha256::digest(describe_changes(changes)))
}

impl McpServers {
    /// Accepts what a server has changed. An error is a message for the user.
    pub fn accept(&self, name: &str) -> Result<(), String> {
        let (server, status) = {
            let inner = self.0.inner();
            let server = inner.find(name);
            let server = server.ok_or_else(|| format!("no MCP server is named \"{name}\""))?;
            let live = server.live().map(McpConnection::status);
            let live = live.filter(|status| status.state == McpState::Connected);
            let status = live.ok_or_else(|| format!("MCP server \"{name}\" is not connected"))?;
            (server.configured.clone(), status)
        };
        let accepted = self.0.pins.accept(&server, &status);
        accepted.map_err(|error| error.to_string())?;
        if let Some(server) = self.0.inner().find_mut(name) {
            server.pins = PinReview::default();
        }
        self.0.register_tools(name);
        self.0.changed();
        Ok(())
    }

    /// Accepts changes if they are still those that the user has seen.
    pub(super) fn accept_shown(&self, name: &str, shown: &str) -> Result<(), String> {
        let is_same = {
            let inner = self.0.inner();
            let server = inner.find(name);
            server.is_some_and(|server| fingerprint(server.changes()) == shown)
        };
        if !is_same {
            return Err("The server changed its tools again. Review them once more.".to_owned());
        }
        self.accept(name)
    }
}

impl ServersState {
    /// Compares a connected server with its record, once per list of tools that it sends.
    pub(super) fn review_pins(self: &Arc<Self>, name: &str) {
        let (server, status) = {
            let inner = self.inner();
            let Some(server) = inner.find(name) else {
                return;
            };
            let Some(status) = server.live().map(McpConnection::status) else {
                return;
            };
            // A lazy server is reviewed with what it offered last.
            let is_known = matches!(status.state, McpState::Connected | McpState::Disconnected);
            if !is_known || server.pins.has_reviewed(&status) {
                return;
            }
            (server.configured.clone(), status)
        };
        let policy = pinning(self.options.pinning, server.scope);
        let mut review = PinReview {
            reviewed: Some((Arc::clone(&status.tools), status.instructions.clone())),
            ..PinReview::default()
        };
        let notice = match policy {
            McpPinning::Off => None,
            McpPinning::Warn | McpPinning::Ask => match self.pins.check(&server, &status) {
                Ok(changes) if changes.is_empty() => None,
                Ok(changes) if policy == McpPinning::Ask => {
                    let effect = format!(
                        "They are withheld. Run /mcp or pi mcp accept {name} to accept them."
                    );
                    let notice = notice(name, &changes, &effect);
                    review.withheld = changes;
                    Some(notice)
                }
                // It is shown again until a user sees it.
                Ok(_) if !self.session().is_some_and(|session| session.has_user()) => None,
                Ok(changes) => {
                    let accepted = self.pins.accept(&server, &status);
                    let effect = match accepted {
                        Ok(()) => "They are used as they are now.".to_owned(),
                        Err(error) => error.to_string(),
                    };
                    Some(notice(name, &changes, &effect))
                }
                Err(error) => {
                    if policy == McpPinning::Ask {
                        review.problem = Some(error.to_string());
                    }
                    Some(format!("MCP server \"{name}\": {error}"))
                }
            },
        };
        if let Some(server) = self.inner().find_mut(name) {
            server.pins = review;
        }
        if let (Some(notice), Some(session)) = (notice, self.session()) {
            self.tasks
                .spawn(async move { session.notify(McpNoticeLevel::Warning, notice).await });
        }
    }
}

impl PinReview {
    fn has_reviewed(&self, status: &ConnectionStatus) -> bool {
        let reviewed = self.reviewed.as_ref();
        reviewed.is_some_and(|(tools, instructions)| {
            Arc::ptr_eq(tools, &status.tools) && *instructions == status.instructions
        })
    }
}

fn notice(name: &str, changes: &[PinChange], effect: &str) -> String {
    let diff = describe_changes(changes);
    let mut lines: Vec<&str> = diff.lines().take(MAX_NOTICE_LINES).collect();
    if diff.lines().count() > lines.len() {
        lines.push("…");
    }
    format!(
        "MCP server \"{name}\" changed tools or instructions since you accepted them:\n{}\n{effect}",
        lines.join("\n")
    )
}
