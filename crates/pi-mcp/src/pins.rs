//! What the tools of servers were when the user accepted them, to notice a server that changes them later.
//!
//! The first contact with a server records its tools and instructions. A tool that is added later is recorded, too; one
//! that changes is reported with a diff. Records of withdrawn tools are kept: a tool that comes back is compared.

use std::fmt::Write as _;

use pi_config::{AgentDir, ConfiguredMcpServer, McpRecords, McpRecordsError};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::McpPinning;
use pi_protocol::{McpScope, hex};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::connection::{ConnectionStatus, DeclaredTool};

/// What of a tool reaches a model or its callers.
const PINNED_KEYS: [&str; 6] = [
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
];

/// A record keeps definitions up to this size, in bytes, for diffs.
const MAX_KEPT_BYTES: usize = 1 << 20;

const TOOLS: &str = "tools";
const INSTRUCTIONS: &str = "instructions";

/// The records of all servers. Clones refer to the same file.
#[derive(Debug, Clone)]
pub struct McpPins(McpRecords);

/// A difference between a server and its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinChange {
    /// `None` for the instructions of the server.
    pub tool: Option<String>,
    /// `None` if the record has only the hash.
    before: Option<String>,
    after: String,
}

impl PinChange {
    pub fn subject(&self) -> &str {
        self.tool.as_deref().unwrap_or(INSTRUCTIONS)
    }

    /// Returns the changed lines, with control and invisible characters escaped.
    pub fn diff(&self) -> String {
        let after = visible(&self.after);
        match &self.before {
            Some(before) => pi_tools::line_diff(&visible(before), &after),
            None => format!("(the earlier definition is too large to be kept)\n{after}"),
        }
    }
}

/// Returns the diffs of changes, each below its name.
pub fn describe_changes(changes: &[PinChange]) -> String {
    let mut text = String::new();
    for change in changes {
        // Writing to a string never fails.
        writeln!(text, "{}:\n{}", visible(change.subject()), change.diff()).ok();
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns what happens when a tool of a server changes.
pub(crate) fn pinning(setting: Option<McpPinning>, scope: McpScope) -> McpPinning {
    setting.unwrap_or(match scope {
        McpScope::Project => McpPinning::Ask,
        McpScope::Global | McpScope::Extension => McpPinning::Warn,
    })
}

impl McpPins {
    pub fn new(agent_dir: &AgentDir) -> Self {
        Self(McpRecords::new(agent_dir.mcp_pins_file()))
    }

    /// Compares a connected server with its record.
    pub fn changes(
        &self,
        server: &ConfiguredMcpServer,
        status: &ConnectionStatus,
    ) -> Result<Vec<PinChange>, McpRecordsError> {
        let record = self.0.read(&key(server))?;
        let record = record.unwrap_or_default();
        Ok(compare(&record, &current(status)))
    }

    /// Records what is new about a server, and returns what has changed.
    pub fn check(
        &self,
        server: &ConfiguredMcpServer,
        status: &ConnectionStatus,
    ) -> Result<Vec<PinChange>, McpRecordsError> {
        let (key, current) = (key(server), current(status));
        let record = self.0.read(&key)?.unwrap_or_default();
        if add_new(&mut record.clone(), &current) {
            self.0.change(&key, |record| add_new(record, &current))?;
        }
        Ok(compare(&record, &current))
    }

    /// Records a server as it is.
    pub fn accept(
        &self,
        server: &ConfiguredMcpServer,
        status: &ConnectionStatus,
    ) -> Result<(), McpRecordsError> {
        let current = current(status);
        self.0.change(&key(server), |record| {
            if let Some(Value::Object(tools)) = record.get_mut(TOOLS) {
                tools.retain(|name, _| !current.iter().any(|pinned| pinned.key == *name));
            }
            record.shift_remove(INSTRUCTIONS);
            add_new(record, &current);
            true
        })
    }
}

/// Identifies a server: another URL or command is another server. A server of a project belongs to its file. The address
/// is hashed because it may contain secrets.
fn key(server: &ConfiguredMcpServer) -> String {
    let mut hash = Sha256::new();
    hash.update(server.spec.address());
    if server.scope == McpScope::Project {
        hash.update([0]);
        hash.update(server.source.as_os_str().as_encoded_bytes());
    }
    let hash = hex(&hash.finalize());
    format!("{}|{}", server.spec.name, hash.get(..16).unwrap_or(&hash))
}

/// Something of a server that is recorded.
struct Pinned {
    /// The tool, `None` for the instructions.
    tool: Option<String>,
    /// The name in the record, which counts tools with the same name.
    key: String,
    definition: Value,
}

impl Pinned {
    fn hash(&self) -> String {
        hex(&Sha256::digest(self.definition.to_string()))
    }

    fn record(&self) -> Value {
        let mut record = json!({"sha256": self.hash()});
        if self.definition.to_string().len() <= MAX_KEPT_BYTES {
            record["definition"] = self.definition.clone();
        }
        record
    }
}

/// Returns what a server states now.
fn current(status: &ConnectionStatus) -> Vec<Pinned> {
    let mut pinned = vec![Pinned {
        tool: None,
        key: INSTRUCTIONS.to_owned(),
        definition: status.instructions.clone().into(),
    }];
    for tool in status.tools.iter() {
        let Some(name) = tool.get("name").and_then(Value::as_str) else {
            continue;
        };
        let same = pinned
            .iter()
            .filter(|other| other.tool.as_deref() == Some(name))
            .count();
        let key = match same {
            0 => name.to_owned(),
            count => format!("{name}#{}", count + 1),
        };
        pinned.push(Pinned {
            tool: Some(name.to_owned()),
            key,
            definition: definition(tool),
        });
    }
    pinned
}

fn definition(tool: &DeclaredTool) -> Value {
    let entries = PINNED_KEYS.iter().filter_map(|key| {
        let value = tool.get(*key)?;
        Some(((*key).to_owned(), sorted(value)))
    });
    Value::Object(entries.collect())
}

/// Returns a value whose keys have a fixed order, so that another order is no change.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            pi_protocol::sort_by_key(&mut entries, |(key, _)| *key);
            let entries = entries.into_iter();
            let entries = entries.map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

fn recorded<'a>(record: &'a JsonObject, pinned: &Pinned) -> Option<&'a Value> {
    match pinned.tool {
        Some(_) => record.get(TOOLS)?.get(&pinned.key),
        None => record.get(INSTRUCTIONS),
    }
}

fn compare(record: &JsonObject, current: &[Pinned]) -> Vec<PinChange> {
    let changes = current.iter().filter_map(|pinned| {
        let known = recorded(record, pinned)?;
        let hash = known.get("sha256").and_then(Value::as_str);
        (hash != Some(&pinned.hash())).then(|| PinChange {
            tool: pinned.tool.clone(),
            before: known.get("definition").map(readable),
            after: readable(&pinned.definition),
        })
    });
    changes.collect()
}

/// Adds what the record does not know; returns whether there was something.
fn add_new(record: &mut JsonObject, current: &[Pinned]) -> bool {
    let mut is_changed = false;
    for pinned in current {
        if recorded(record, pinned).is_some() {
            continue;
        }
        let place = match pinned.tool {
            Some(_) => {
                let tools = record.entry(TOOLS).or_insert_with(|| json!({}));
                if !tools.is_object() {
                    *tools = json!({});
                }
                tools.as_object_mut()
            }
            None => Some(&mut *record),
        };
        if let Some(place) = place {
            place.insert(pinned.key.clone(), pinned.record());
            is_changed = true;
        }
    }
    is_changed
}

/// Returns a definition as lines of text.
fn readable(definition: &Value) -> String {
    let mut definition = definition.clone();
    if let Some(text) = definition.get_mut("description")
        && let Some(lines) = text.as_str().filter(|text| text.contains('\n'))
    {
        *text = lines.lines().collect();
    }
    match definition {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => format!("{other:#}"),
    }
}

/// Shows control and invisible characters as escapes.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '\n' && (character.is_control() || pi_tools::is_invisible(character)) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
