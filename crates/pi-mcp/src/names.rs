//! Names of the tools of servers: unique, stable, and valid for every provider.

use std::collections::HashMap;

use pi_protocol::hex;
use sha2::{Digest as _, Sha256};

/// Limit of the providers.
const MAX_NAME_LENGTH: usize = 64;

/// Length of the hash in a name.
const HASH_LENGTH: usize = 8;

/// The names that are in use. A tool keeps its name as long as the session lives.
#[derive(Debug, Default)]
pub(crate) struct ToolNames {
    /// Names with their server and tool.
    owners: HashMap<String, (String, String)>,
}

impl ToolNames {
    /// Returns the names for the tools of a server. Tools whose names would be the same all get a hash, so that their names
    /// do not depend on their order.
    pub(crate) fn assign(&mut self, server: &str, tools: &[&str]) -> Vec<String> {
        let mut distinct: Vec<&str> = Vec::new();
        for tool in tools {
            if !distinct.contains(tool) {
                distinct.push(tool);
            }
        }
        let plain: Vec<String> = distinct
            .iter()
            .map(|tool| short_name(server, tool))
            .collect();
        let mut assigned: Vec<String> = Vec::new();
        for tool in tools {
            let name = short_name(server, tool);
            let is_shared = plain.iter().filter(|other| **other == name).count() > 1;
            let is_taken = self
                .owners
                .get(&name)
                .is_some_and(|(owner, owned)| (owner.as_str(), owned.as_str()) != (server, *tool));
            let name = if is_shared || is_taken || assigned.contains(&name) {
                hashed_name(server, tool)
            } else {
                name
            };
            let owner = (server.to_owned(), (*tool).to_owned());
            self.owners.insert(name.clone(), owner);
            assigned.push(name);
        }
        assigned
    }

    /// Returns the server of a tool.
    pub(crate) fn server_of(&self, name: &str) -> Option<&str> {
        self.owners.get(name).map(|(server, _)| server.as_str())
    }
}

fn plain_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{server}__{tool}");
    // One character of the name may be several UTF-16 units, each of which counts.
    let units = name.encode_utf16().map(|unit| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
        _ => '_',
    });
    units.collect()
}

/// Returns the name without a hash if it is not too long.
fn short_name(server: &str, tool: &str) -> String {
    let name = plain_name(server, tool);
    if name.len() <= MAX_NAME_LENGTH {
        return name;
    }
    hashed_name(server, tool)
}

fn hashed_name(server: &str, tool: &str) -> String {
    let mut name = plain_name(server, tool);
    name.truncate(MAX_NAME_LENGTH - HASH_LENGTH - 1);
    name.push('_');
    let hash = Sha256::digest(format!("{server}\0{tool}"));
    name.extend(hex(&hash).chars().take(HASH_LENGTH));
    name
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn other_characters_are_replaced() {
        let mut names = ToolNames::default();
        assert_eq!(
            names.assign("a-b", &["x.y", "z"]),
            ["mcp__a_b__x_y", "mcp__a_b__z"]
        );
        assert_eq!(names.server_of("mcp__a_b__z"), Some("a-b"));
    }

    #[test]
    fn tools_with_the_same_name_all_get_a_hash() {
        let mut names = ToolNames::default();
        let assigned = names.assign("s", &["a-b", "a_b", "c"]);
        assert!(assigned[0].starts_with("mcp__s__a_b_"), "{assigned:?}");
        assert!(assigned[1].starts_with("mcp__s__a_b_"), "{assigned:?}");
        assert_ne!(assigned[0], assigned[1]);
        assert_eq!(assigned[2], "mcp__s__c");
        assert_eq!(names.assign("s", &["a_b", "c", "a-b"])[1], "mcp__s__c");
    }

    #[test]
    fn long_names_are_cut() {
        let mut names = ToolNames::default();
        let [name] = names
            .assign("server", &[&"t".repeat(80)])
            .try_into()
            .unwrap();
        assert_eq!(name.len(), 64);
    }

    #[test]
    fn a_name_of_another_server_is_not_used() {
        let mut names = ToolNames::default();
        names.assign("a", &["b__c"]);
        let second = names.assign("a__b", &["c"]);
        assert!(second[0].starts_with("mcp__a__b__c_"), "{second:?}");
    }
}
