//! Session files that extensions open on their own.
//!
//! `SessionManager` in JavaScript holds a number; the session is kept here until JavaScript
//! releases it. Calls are short and handled synchronously on the JavaScript thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pi_config::AgentDir;
use pi_ext::{HostError, HostFuture};
use pi_protocol::{AgentMessage, EntryBody, EntryId};
use pi_session::{
    AccessMode, BranchSummary, NewSession, OpenSession, Session, SessionStore, listing,
    project_path,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::bridge::{ExtensionBridge, field, host_error, lock, read, result_to_json, unknown};
use super::session_json;

/// The open sessions, by number.
#[derive(Default)]
pub(super) struct OpenSessions {
    sessions: HashMap<u64, Session>,
    last: u64,
}

impl OpenSessions {
    fn insert(&mut self, session: Session) -> u64 {
        self.last += 1;
        self.sessions.insert(self.last, session);
        self.last
    }

    fn close(&mut self, number: u64) {
        self.sessions.remove(&number);
    }
}

/// Which session to open.
#[derive(Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
enum SessionSpec {
    Create {
        cwd: PathBuf,
        session_dir: Option<PathBuf>,
        id: Option<String>,
        parent_session: Option<PathBuf>,
    },
    Open {
        path: PathBuf,
        session_dir: Option<PathBuf>,
        cwd: Option<PathBuf>,
    },
    Recent {
        cwd: PathBuf,
        session_dir: Option<PathBuf>,
    },
    Memory {
        cwd: Option<PathBuf>,
        id: Option<String>,
        #[serde(default)]
        entries: Vec<Value>,
    },
    Fork {
        path: PathBuf,
        cwd: PathBuf,
        session_dir: Option<PathBuf>,
        id: Option<String>,
    },
}

impl ExtensionBridge {
    fn store(&self, cwd: &Path, chosen: Option<&Path>) -> SessionStore {
        let agent = self.agent_dir.path();
        match chosen {
            Some(chosen) => SessionStore::custom(chosen, agent, cwd),
            None => SessionStore::default_for(agent, cwd),
        }
    }

    fn open_spec(&self, spec: SessionSpec) -> Result<Session, HostError> {
        let new = |id: Option<String>, parent_session: Option<PathBuf>| NewSession {
            id,
            parent_session,
            env: self.env.clone(),
        };
        let session = match spec {
            SessionSpec::Create {
                cwd,
                session_dir,
                id,
                parent_session,
            } => {
                let store = self.store(&cwd, session_dir.as_deref());
                store.create(new(id, parent_session))
            }
            SessionSpec::Open {
                path,
                session_dir,
                cwd,
            } => Session::open(
                &path,
                OpenSession {
                    access: AccessMode::Write,
                    directory: session_dir,
                    cwd,
                    env: self.env.clone(),
                },
            ),
            SessionSpec::Recent { cwd, session_dir } => {
                let store = self.store(&cwd, session_dir.as_deref());
                store.continue_recent(&self.env)
            }
            SessionSpec::Memory { cwd, id, entries } => {
                let cwd = cwd.unwrap_or_else(|| self.cwd.clone());
                let entries = entries
                    .into_iter()
                    .filter(|entry| entry.get("type") != Some(&"session".into()))
                    .map(read);
                let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
                Session::in_memory_from(&cwd, new(id, None), &entries)
            }
            SessionSpec::Fork {
                path,
                cwd,
                session_dir,
                id,
            } => {
                let store = self.store(&cwd, session_dir.as_deref());
                store.fork_file(&path, new(id, None))
            }
        };
        session.map_err(host_error)
    }

    pub(super) fn call_open_sessions(
        &self,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match method {
            "shelf.open" => {
                let session = self.open_spec(read(arguments)?)?;
                Ok(lock(&self.open_sessions).insert(session).into())
            }
            "shelf.close" => {
                lock(&self.open_sessions).close(field(&arguments, "session")?);
                Ok(Value::Null)
            }
            "shelf.find" => {
                let cwd: PathBuf = field(&arguments, "cwd")?;
                let chosen: Option<PathBuf> = field(&arguments, "sessionDir")?;
                let store = self.store(&cwd, chosen.as_deref());
                let id: String = field(&arguments, "id")?;
                Ok(json!(store.find_by_id(&id)))
            }
            "shelf.project" => context_of(&field::<Vec<Value>>(&arguments, "entries")?),
            _ => {
                let number: u64 = field(&arguments, "session")?;
                let mut open = lock(&self.open_sessions);
                let session = open.sessions.get_mut(&number);
                let session = session.ok_or_else(|| HostError::new("this session was closed"))?;
                let method = method.strip_prefix("shelf.").unwrap_or(method);
                on_session(session, method, &arguments)
            }
        }
    }

    /// Lists the sessions of a directory, or all of them.
    pub(super) fn list_sessions(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let cwd: Option<PathBuf> = field(arguments, "cwd")?;
        let chosen: Option<PathBuf> = field(arguments, "sessionDir")?;
        let agent_dir: AgentDir = self.agent_dir.clone();
        let store = cwd.map(|cwd| self.store(&cwd, chosen.as_deref()));
        Ok(self.spawn_on_runtime(async move {
            let listing = tokio::task::spawn_blocking(move || {
                let text = listing::MessageText::Collect;
                match store {
                    Some(store) => store.list(text, &mut |_| {}, &|| false),
                    None => {
                        let root = pi_session::sessions_root(agent_dir.path());
                        let root = chosen.unwrap_or(root);
                        listing::list_all(&root, text, &mut |_| {}, &|| false)
                    }
                }
            });
            let found = listing.await.map_err(host_error)?.map_err(host_error)?;
            let infos = found.into_iter().map(|info| {
                json!({
                    "path": info.path,
                    "id": info.id,
                    "cwd": info.cwd,
                    "name": info.name,
                    "parentSessionPath": info.parent_session,
                    "created": info.created_ms.unwrap_or(info.modified_ms),
                    "modified": info.modified_ms,
                    "messageCount": info.message_count,
                    "firstMessage": info.first_message.as_deref().unwrap_or("(no messages)"),
                    "allMessagesText": info.text,
                })
            });
            Ok(infos.collect())
        }))
    }
}

/// Returns the model's context for entries held by the extension.
fn context_of(entries: &[Value]) -> Result<Value, HostError> {
    let entries = entries.iter().cloned().map(read::<pi_protocol::Entry>);
    let entries: Result<Vec<_>, _> = entries
        .map(|entry| entry.map(std::sync::Arc::new))
        .collect();
    let entries = entries?;
    let projection = project_path(&entries);
    let messages: Vec<&AgentMessage> = projection.messages().collect();
    let kept = projection
        .entries()
        .iter()
        .map(pi_session::ProjectedEntry::entry);
    Ok(json!({ "messages": messages, "entries": kept.collect::<Vec<_>>() }))
}

fn on_session(session: &mut Session, method: &str, arguments: &Value) -> Result<Value, HostError> {
    let id = |name: &str| -> Result<EntryId, HostError> {
        Ok(EntryId::from(field::<String>(arguments, name)?))
    };
    match method {
        "append" => {
            let body: EntryBody = read_body(arguments)?;
            let entry = session.append(body).map_err(host_error)?;
            Ok(json!(entry))
        }
        "appendMessage" => {
            let message: AgentMessage = field(arguments, "message")?;
            let entry = session.append_message(message).map_err(host_error)?;
            Ok(json!(entry))
        }
        "setName" => result_to_json(session.set_name(&field::<String>(arguments, "name")?)),
        "setLabel" => {
            let label: Option<String> = field(arguments, "label")?;
            let set = session.set_label(&id("targetId")?, label.as_deref());
            result_to_json(set)
        }
        "branchAt" => {
            session.branch(&id("id")?).map_err(host_error)?;
            Ok(Value::Null)
        }
        "resetLeaf" => {
            session.reset_leaf();
            Ok(Value::Null)
        }
        "branchWithSummary" => {
            let from: Option<String> = field(arguments, "fromId")?;
            let summary = BranchSummary {
                summary: field(arguments, "summary")?,
                details: arguments.get("details").filter(|it| !it.is_null()).cloned(),
                usage: field(arguments, "usage")?,
                from_hook: field(arguments, "fromHook")?,
            };
            let from = from.map(EntryId::from);
            result_to_json(session.branch_with_summary(from.as_ref(), summary))
        }
        "branched" => {
            *session = session.extract_branch(&id("leafId")?).map_err(host_error)?;
            Ok(json!(session.path()))
        }
        "context" => {
            let projection = session.projection().map_err(host_error)?;
            let settings = session.path_settings().map_err(host_error)?;
            let messages: Vec<&AgentMessage> = projection.messages().collect();
            Ok(json!({
                "messages": messages,
                "entries": session_json::projected_entries(&projection),
                "thinkingLevel": settings.thinking_level,
                "model": settings.model.map(|model| json!({
                    "provider": model.provider, "modelId": model.model_id,
                })),
            }))
        }
        "cwd" => Ok(json!(session.cwd())),
        "name" => Ok(json!(session.name())),
        _ => session_json::stored_session(session, &format!("session.{method}"), arguments),
    }
}

/// Parses an entry, filling in the members that the session assigns.
fn read_body(arguments: &Value) -> Result<EntryBody, HostError> {
    let body = arguments.get("entry").cloned().unwrap_or_default();
    let Value::Object(mut fields) = body else {
        return Err(unknown("a non-object entry"));
    };
    fields.insert("id".to_owned(), "draft".into());
    fields.insert("parentId".to_owned(), Value::Null);
    fields.insert("timestamp".to_owned(), "1970-01-01T00:00:00.000Z".into());
    let entry: pi_protocol::Entry = read(Value::Object(fields))?;
    Ok(entry.body)
}
