//! Migrates files of older formats. Version 1 had no IDs: its entries form a single chain. Version
//! 2 stored extension messages with the role `hookMessage`. The file is replaced atomically, so a
//! crash leaves the old or the new one. Lines that are not JSON are kept in place.

use std::path::Path;

use pi_protocol::json::JsonObject;
use pi_protocol::{EntryId, SessionHeader};
use serde_json::Value;

use crate::error::SessionError;
use crate::load::parse;
use crate::log::{AppendLog, read_range};
use crate::session::encode_record;
use crate::session::open::open_log;
use crate::session_id::new_entry_id;
use crate::storage::{AccessMode, LogStorage, MemoryFile};

/// The fields that every entry starts with, in order.
const LEADING_FIELDS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// Returns a log in the current format. With read access, the file is not changed and the log is a
/// copy in memory.
pub(crate) fn migrate_log(
    storage: &dyn LogStorage,
    log: &AppendLog,
    path: &Path,
) -> Result<AppendLog, SessionError> {
    if log.is_locked_elsewhere() {
        return Err(SessionError::InUse {
            path: path.to_owned(),
        });
    }
    let unreadable = |source| SessionError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let content = read_range(log.file(), 0, log.length()).map_err(unreadable)?;
    let content = migrate_content(&content)?;
    if log.access() == AccessMode::Read {
        let copy = Box::new(MemoryFile::new(content));
        return AppendLog::new(copy, Some(path.to_owned()), AccessMode::Read).map_err(unreadable);
    }
    storage
        .replace(path, &content)
        .map_err(|source| SessionError::Unwritable {
            path: path.to_owned(),
            source,
        })?;
    open_log(storage, path, AccessMode::Write)
}

/// Rewrites file content in the current format; content in the current format is returned
/// unchanged.
pub(crate) fn migrate_content(content: &[u8]) -> Result<Vec<u8>, SessionError> {
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let mut objects: Vec<Option<JsonObject>> = lines.iter().map(|line| parse(line)).collect();
    let version = objects
        .iter()
        .flatten()
        .find(|object| is_header(object))
        .map_or(SessionHeader::CURRENT_VERSION, |header| {
            header.get("version").and_then(Value::as_u64).unwrap_or(1)
        });
    if version >= SessionHeader::CURRENT_VERSION {
        return Ok(content.to_vec());
    }
    if version < 2 {
        assign_ids(&mut objects);
    }
    rename_hook_messages(&mut objects);
    let mut migrated = Vec::with_capacity(content.len() + content.len() / 8);
    for (line, object) in lines.iter().zip(&objects) {
        match object {
            Some(object) => migrated.extend(encode_record(object)?),
            None if line.is_empty() => {}
            None => {
                migrated.extend_from_slice(line);
                migrated.push(b'\n');
            }
        }
    }
    Ok(migrated)
}

fn is_header(object: &JsonObject) -> bool {
    object.get("type").and_then(Value::as_str) == Some("session")
}

/// Assigns an ID to every entry and links it to the previous one.
fn assign_ids(objects: &mut [Option<JsonObject>]) {
    // `firstKeptEntryIndex` of version 1 counts entries including the header.
    let mut ids: Vec<Option<EntryId>> = Vec::new();
    let mut taken = std::collections::HashSet::new();
    let mut parent = Value::Null;
    for object in objects.iter_mut().flatten() {
        if is_header(object) {
            ids.push(None);
            continue;
        }
        let id = new_entry_id(|id| taken.contains(id));
        taken.insert(id.clone());
        ids.push(Some(id.clone()));
        let id = Value::from(id.as_str());
        *object = with_leading_fields(std::mem::take(object), id.clone(), parent);
        if object.get("type").and_then(Value::as_str) == Some("compaction") {
            resolve_first_kept(object, &ids);
        }
        parent = id;
    }
}

fn resolve_first_kept(compaction: &mut JsonObject, ids: &[Option<EntryId>]) {
    let Some(Value::Number(index)) = compaction.shift_remove("firstKeptEntryIndex") else {
        return;
    };
    let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
    if let Some(Some(id)) = index.and_then(|index| ids.get(index)) {
        let id = Value::from(id.as_str());
        compaction.insert("firstKeptEntryId".to_owned(), id);
    }
}

/// Moves the fields that every entry has before the others.
fn with_leading_fields(mut object: JsonObject, id: Value, parent: Value) -> JsonObject {
    object.insert("id".to_owned(), id);
    object.insert("parentId".to_owned(), parent);
    let mut ordered = JsonObject::with_capacity(object.len());
    for name in LEADING_FIELDS {
        if let Some(value) = object.shift_remove(name) {
            ordered.insert(name.to_owned(), value);
        }
    }
    ordered.extend(object);
    ordered
}

/// Renames the role of extension messages and updates the header version.
fn rename_hook_messages(objects: &mut [Option<JsonObject>]) {
    for object in objects.iter_mut().flatten() {
        if is_header(object) {
            set_current_version(object);
            continue;
        }
        let message = object.get_mut("message").and_then(Value::as_object_mut);
        if let Some(role) = message.and_then(|message| message.get_mut("role"))
            && role.as_str() == Some("hookMessage")
        {
            *role = Value::from("custom");
        }
    }
}

/// Sets the current version in a header; a new field is placed after the type.
fn set_current_version(header: &mut JsonObject) {
    let version = Value::from(SessionHeader::CURRENT_VERSION);
    if header.contains_key("version") {
        header.insert("version".to_owned(), version);
        return;
    }
    let mut ordered = JsonObject::with_capacity(header.len() + 1);
    for (name, value) in std::mem::take(header) {
        let is_type = name == "type";
        ordered.insert(name, value);
        if is_type {
            ordered.insert("version".to_owned(), version.clone());
        }
    }
    *header = ordered;
}
