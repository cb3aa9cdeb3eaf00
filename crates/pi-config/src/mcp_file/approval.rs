//! Whether the user has accepted a server of a file that other clients use, too.
//!
//! An acceptance holds for one entry of one file as it is: a change of the entry asks again.

use std::path::Path;

use pi_protocol::{McpServerSpec, hex};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::ConfiguredMcpServer;
use crate::AgentDir;
use crate::mcp_records::{McpRecords, McpRecordsError};

const HASH: &str = "sha256";

/// Whether a server may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpApproval {
    /// It is configured in a file of pi.
    NotNeeded,
    Accepted,
    Missing,
}

/// Accepts a server as it is configured now.
pub fn accept_mcp_server(
    agent_dir: &AgentDir,
    server: &ConfiguredMcpServer,
) -> Result<(), McpRecordsError> {
    let records = McpRecords::new(agent_dir.mcp_approvals_file());
    let hash = hash(&server.spec);
    records.change(&key(&server.source, &server.spec.name), |record| {
        record.insert(HASH.to_owned(), hash.into());
        true
    })
}

/// Withdraws the acceptance of a server.
pub fn withdraw_mcp_server(
    agent_dir: &AgentDir,
    server: &ConfiguredMcpServer,
) -> Result<(), McpRecordsError> {
    let records = McpRecords::new(agent_dir.mcp_approvals_file());
    records.change(&key(&server.source, &server.spec.name), |record| {
        record.shift_remove(HASH).is_some()
    })
}

/// Returns whether the user has accepted this entry of a file.
pub(super) fn find(
    approvals: &McpRecords,
    file: &Path,
    spec: &McpServerSpec,
) -> Result<McpApproval, String> {
    let record = approvals.read(&key(file, &spec.name));
    let record = record.map_err(|error| error.to_string())?;
    let accepted = record.and_then(|mut record| record.shift_remove(HASH));
    Ok(match accepted.as_ref().and_then(Value::as_str) {
        Some(accepted) if accepted == hash(spec) => McpApproval::Accepted,
        _ => McpApproval::Missing,
    })
}

fn key(file: &Path, server: &str) -> String {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    format!("{}|{server}", file.display())
}

/// Options that a user may change without another acceptance.
const OPTIONS: [&str; 5] = [
    "enabled",
    "exposure",
    "toolExposure",
    "description",
    "timeout",
];

fn hash(spec: &McpServerSpec) -> String {
    let mut entries: Vec<_> = spec.config.iter().collect();
    entries.retain(|(key, _)| !OPTIONS.contains(&key.as_str()));
    pi_protocol::sort_by_key(&mut entries, |(key, _)| *key);
    let mut hash = Sha256::new();
    for (key, value) in entries {
        let value = value.to_string();
        for part in [key, &value] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hex(&hash.finalize())
}
