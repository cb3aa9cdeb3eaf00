//! Serializes a session's entries for `get_entries` and `get_tree`.
//!
//! Entries are copied from the session file without parsing. The tree is written without recursion,
//! because it nests as deep as the conversation is long.

use pi_protocol::{EntryId, SessionTree};
use pi_session::{Session, SessionError};

/// Entries of a session that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryRange {
    /// Those after an entry, in file order.
    After(String),
    /// The last ones on the way to an entry, without the entry; `None` is the way to the leaf, with the leaf.
    Before { entry: Option<String>, limit: usize },
}

/// Why entries cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum ListingError {
    #[error("Entry not found: {0}")]
    UnknownEntry(String),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Serializes the data of `get_entries`: all entries in file order, or those after `since`.
pub fn session_entries_json(
    session: &Session,
    since: Option<&str>,
) -> Result<String, ListingError> {
    let nodes = session.entries().tree().nodes;
    let first = match since {
        None => 0,
        Some(since) => {
            let place = nodes.iter().position(|node| node.id.as_str() == since);
            place.ok_or_else(|| ListingError::UnknownEntry(since.to_owned()))? + 1
        }
    };
    let mut json = String::from("{\"entries\":[");
    for (place, node) in nodes.iter().skip(first).enumerate() {
        if place > 0 {
            json.push(',');
        }
        push_entry(&mut json, session, &node.id)?;
    }
    json.push(']');
    push_leaf(&mut json, session);
    json.push('}');
    Ok(json)
}

/// Serializes the data of a range of entries: `entries`, `hasMore` if there are older ones, and `leafId`.
pub fn entry_range_json(session: &Session, range: &EntryRange) -> Result<String, ListingError> {
    let mut json = entry_range_fields(session, range)?;
    json.insert(0, '{');
    push_leaf(&mut json, session);
    json.push('}');
    Ok(json)
}

/// Serializes the fields `entries` and `hasMore`.
pub fn entry_range_fields(session: &Session, range: &EntryRange) -> Result<String, ListingError> {
    let stored = session.entries();
    let unknown = |id: &str| ListingError::UnknownEntry(id.to_owned());
    let mut ids = Vec::new();
    let mut has_more = false;
    match range {
        EntryRange::After(entry) => {
            let nodes = stored.tree().nodes.into_iter().map(|node| node.id);
            let mut after = nodes.skip_while(|id| id.as_str() != entry);
            after.next().ok_or_else(|| unknown(entry))?;
            ids.extend(after);
        }
        // Without the tree of all entries: a page of a long session is as cheap as one of a short one.
        EntryRange::Before { entry, limit } => {
            let mut older = match entry {
                Some(entry) if !stored.contains(entry) => return Err(unknown(entry)),
                Some(entry) => stored.parent_id(&EntryId::from(entry.as_str()))?,
                None => session.leaf_id(),
            };
            while ids.len() < *limit
                && let Some(id) = older
            {
                ids.push(id.clone());
                older = stored.parent_id(id)?;
            }
            ids.reverse();
            has_more = older.is_some();
        }
    }
    let mut json = String::from("\"entries\":[");
    for (place, id) in ids.iter().enumerate() {
        if place > 0 {
            json.push(',');
        }
        push_entry(&mut json, session, id)?;
    }
    json.push_str("],\"hasMore\":");
    json.push_str(if has_more { "true" } else { "false" });
    Ok(json)
}

/// Serializes the data of `get_tree`.
pub fn session_tree_json(session: &Session) -> Result<String, ListingError> {
    let tree = session.entries().tree();
    let mut json = String::from("{\"tree\":");
    push_nodes(&mut json, session, &tree)?;
    push_leaf(&mut json, session);
    json.push('}');
    Ok(json)
}

fn push_nodes(
    json: &mut String,
    session: &Session,
    tree: &SessionTree,
) -> Result<(), ListingError> {
    // The remaining siblings of each open list, innermost last.
    let mut open = vec![tree.roots.iter()];
    let mut is_first = true;
    // The nodes whose child lists are open, innermost last.
    let mut parents = Vec::new();
    json.push('[');
    while let Some(siblings) = open.last_mut() {
        if let Some(position) = siblings.next() {
            let Some(node) = tree.nodes.get(*position) else {
                continue;
            };
            if !is_first {
                json.push(',');
            }
            json.push_str("{\"entry\":");
            push_entry(json, session, &node.id)?;
            json.push_str(",\"children\":[");
            open.push(node.children.iter());
            parents.push(node);
            is_first = true;
            continue;
        }
        open.pop();
        json.push(']');
        is_first = false;
        if let Some(node) = parents.pop() {
            if let Some(label) = &node.label {
                push_text(json, "label", &label.text);
                push_text(json, "labelTimestamp", &label.timestamp);
            }
            json.push('}');
        }
    }
    Ok(())
}

fn push_entry(json: &mut String, session: &Session, id: &EntryId) -> Result<(), ListingError> {
    let line = session.entries().read_json(id.as_str())?;
    let line = line.trim();
    // A session file may contain characters that break readers of JSON lines.
    if line.bytes().any(|byte| byte < 0x20) {
        let entry = session.entries().read(id.as_str())?;
        let text = pi_protocol::json::to_string(&entry).map_err(SessionError::Serialize)?;
        json.push_str(&text);
    } else {
        json.push_str(line);
    }
    Ok(())
}

fn push_leaf(json: &mut String, session: &Session) {
    match session.leaf_id() {
        Some(leaf) => push_text(json, "leafId", leaf.as_str()),
        None => json.push_str(",\"leafId\":null"),
    }
}

fn push_text(json: &mut String, key: &str, text: &str) {
    json.push_str(",\"");
    json.push_str(key);
    json.push_str("\":");
    json.push_str(&pi_protocol::json::value_to_string(&text.into()));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pi_protocol::{CustomEntry, SessionInfoEntry};
    use pi_session::NewSession;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    fn session() -> Session {
        Session::in_memory(Path::new("/project"), NewSession::default()).unwrap()
    }

    fn append(session: &mut Session, name: &str) -> EntryId {
        let name = Some(name.to_owned());
        session
            .append(SessionInfoEntry { name })
            .unwrap()
            .id
            .clone()
    }

    fn parse(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_empty_session_has_neither_entries_nor_a_leaf() {
        assert_eq!(
            session_entries_json(&session(), None).unwrap(),
            r#"{"entries":[],"leafId":null}"#
        );
        assert_eq!(
            session_tree_json(&session()).unwrap(),
            r#"{"tree":[],"leafId":null}"#
        );
    }

    #[test]
    fn entries_follow_the_file_and_may_begin_after_one() {
        let mut session = session();
        let ids = ["a", "b", "c"].map(|name| append(&mut session, name));
        let names = |since: Option<&str>| {
            let data = parse(&session_entries_json(&session, since).unwrap());
            assert_eq!(data["leafId"], ids[2].as_str());
            data["entries"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| entry["name"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["a", "b", "c"]);
        assert_eq!(names(Some(ids[0].as_str())), ["b", "c"]);
        assert!(names(Some(ids[2].as_str())).is_empty());
        let unknown = session_entries_json(&session, Some("nope")).unwrap_err();
        assert!(unknown.to_string().contains("nope"));
    }

    #[test]
    fn a_range_follows_the_branch_backwards() {
        let mut session = session();
        let ids = ["a", "b", "c"].map(|name| append(&mut session, name));
        session.branch(&ids[0]).unwrap();
        append(&mut session, "d");
        let names = |entry: Option<&str>, limit| {
            let entry = entry.map(str::to_owned);
            let data = entry_range_json(&session, &EntryRange::Before { entry, limit }).unwrap();
            let data = parse(&data);
            let entries = data["entries"].as_array().unwrap().iter();
            let names: Vec<_> = entries.map(|entry| entry["name"].clone()).collect();
            (names, data["hasMore"].as_bool().unwrap())
        };
        assert_eq!(names(None, 9), (vec![json!("a"), json!("d")], false));
        assert_eq!(names(None, 1), (vec![json!("d")], true));
        assert_eq!(names(Some(ids[2].as_str()), 1), (vec![json!("b")], true));
        assert_eq!(names(Some(ids[0].as_str()), 9), (vec![], false));
        assert_eq!(names(None, 0), (vec![], true));
        let unknown = EntryRange::Before {
            entry: Some("x".to_owned()),
            limit: 1,
        };
        assert!(entry_range_json(&session, &unknown).is_err());
    }

    #[test]
    fn branches_nest_and_carry_labels() {
        let mut session = session();
        let root = append(&mut session, "root");
        let left = append(&mut session, "left");
        session.branch(&root).unwrap();
        append(&mut session, "right \"1\"");
        session.set_label(&left, Some("mark")).unwrap();
        let data = parse(&session_tree_json(&session).unwrap());
        let root = &data["tree"][0];
        assert_eq!(root["entry"]["name"], "root");
        assert_eq!(root["children"][0]["entry"]["name"], "left");
        assert_eq!(root["children"][0]["label"], "mark");
        assert!(root["children"][0]["labelTimestamp"].is_string());
        assert_eq!(root["children"][0]["children"], json!([]));
        assert_eq!(root["children"][1]["entry"]["name"], "right \"1\"");
        assert_eq!(root["children"][1].get("label"), None);
        assert_eq!(root["children"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_long_conversation_is_serialized_without_recursion() {
        let mut session = session();
        for _ in 0..20_000 {
            session
                .append(CustomEntry {
                    custom_type: "x".to_owned(),
                    data: None,
                })
                .unwrap();
        }
        let json = session_tree_json(&session).unwrap();
        assert_eq!(json.matches("\"children\":[").count(), 20_000);
        assert_eq!(
            json.bytes().filter(|byte| *byte == b'{').count(),
            json.bytes().filter(|byte| *byte == b'}').count()
        );
    }
}
