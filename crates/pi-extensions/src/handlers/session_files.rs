//! Session files that extensions open on their own.
//!
//! `SessionManager` in JavaScript holds a number; the session is kept here until JavaScript
//! releases it. Calls are short and handled synchronously on the JavaScript thread.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_config::AgentDir;
use pi_ext::HostError;
use pi_protocol::{AgentMessage, Entry, EntryBody, EntryId, SessionHeader, Usage};
use pi_session::{
    AccessMode, BranchSummary, NewSession, OpenSession, ProjectedEntry, Session, SessionError,
    SessionStore, listing, project_path,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Caller, session};
use crate::bridge::{ExtensionBridge, host_error};
use crate::calls::{
    ContextModelInfo, FileContext, ListedSession, Pending, ProjectedPath, SessionFileCalls,
    SessionInfo, SessionWriteCalls,
};

/// The open sessions, by number.
#[derive(Default)]
pub(crate) struct OpenSessions {
    sessions: HashMap<u64, Session>,
    /// Sessions that were handed over to agents.
    live: HashMap<u64, u64>,
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
        self.live.remove(&number);
    }

    /// Hands a session over to an agent, through which it is used from then on.
    pub(crate) fn hand_over(&mut self, number: u64, agent: u64) -> Result<Session, HostError> {
        let session = self.sessions.remove(&number);
        let session = session.ok_or_else(|| HostError::new("this session is in use"))?;
        self.live.insert(number, agent);
        Ok(session)
    }

    fn get(&mut self, number: u64) -> Result<&mut Session, HostError> {
        let session = self.sessions.get_mut(&number);
        session.ok_or_else(|| HostError::new("this session was closed"))
    }
}

/// Which session to open.
#[derive(Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum SessionSpec {
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
            } => {
                let new_cwd = cwd.clone().unwrap_or_else(|| self.cwd.clone());
                let options = OpenSession {
                    access: AccessMode::Write,
                    directory: session_dir,
                    cwd,
                    env: self.env.clone(),
                    ..OpenSession::default()
                };
                match Session::open(&path, options) {
                    // A session that is written to this path later.
                    Err(SessionError::Missing { .. }) => {
                        Session::create_at(&path, &new_cwd, new(None, None))
                    }
                    opened => opened,
                }
            }
            SessionSpec::Recent { cwd, session_dir } => {
                let store = self.store(&cwd, session_dir.as_deref());
                store.continue_recent(&self.env)
            }
            SessionSpec::Memory { cwd, id, entries } => {
                let cwd = cwd.unwrap_or_else(|| self.cwd.clone());
                let entries = entries
                    .into_iter()
                    .filter(|entry| entry.get("type") != Some(&"session".into()))
                    .map(serde_json::from_value);
                let entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(host_error)?;
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
}

impl Caller<'_> {
    fn agent_of(&self, number: u64) -> Option<u64> {
        self.bridge.open_sessions.lock().live.get(&number).copied()
    }

    /// Reads a session that an extension opened.
    fn read_open<Data>(
        &self,
        number: u64,
        read: impl FnOnce(&Session) -> Result<Data, HostError>,
    ) -> Result<Data, HostError> {
        match self.agent_of(number) {
            Some(agent) => self.agent(agent)?.with(read)?,
            None => read(self.bridge.open_sessions.lock().get(number)?),
        }
    }

    /// Changes a session that an extension opened.
    fn change_open<Data>(
        &self,
        number: u64,
        change: impl FnOnce(&mut Session) -> Result<Data, SessionError>,
    ) -> Result<Data, HostError> {
        let Some(agent) = self.agent_of(number) else {
            let mut open = self.bridge.open_sessions.lock();
            return change(open.get(number)?).map_err(host_error);
        };
        let mut change = Some(change);
        let mut changed = None;
        self.agent(agent)?.change(&mut |session| {
            if let Some(change) = change.take() {
                changed = Some(change(session)?);
            }
            Ok(())
        })?;
        changed.ok_or_else(|| HostError::new("the session was not changed"))
    }
}

impl SessionFileCalls for Caller<'_> {
    fn open(&self, spec: SessionSpec) -> Result<u64, HostError> {
        let session = self.bridge.open_spec(spec)?;
        Ok(self.bridge.open_sessions.lock().insert(session))
    }

    fn close(&self, session: u64) -> Result<(), HostError> {
        self.bridge.open_sessions.lock().close(session);
        Ok(())
    }

    fn find(
        &self,
        cwd: PathBuf,
        id: String,
        session_dir: Option<PathBuf>,
    ) -> Result<Option<PathBuf>, HostError> {
        let store = self.bridge.store(&cwd, session_dir.as_deref());
        Ok(store.find_by_id(&id))
    }

    fn list(
        &self,
        cwd: Option<PathBuf>,
        session_dir: Option<PathBuf>,
    ) -> Result<Pending<Vec<ListedSession>>, HostError> {
        let agent_dir: AgentDir = self.bridge.agent_dir.clone();
        let store = cwd.map(|cwd| self.bridge.store(&cwd, session_dir.as_deref()));
        Ok(self.bridge.spawn_blocking(move || {
            let text = listing::MessageText::Collect;
            let found = match store {
                Some(store) => store.list(text, &mut |_| {}, &|| false),
                None => {
                    let root = pi_session::sessions_root(agent_dir.path());
                    let root = session_dir.unwrap_or(root);
                    listing::list_all(&root, text, &mut |_| {}, &|| false)
                }
            };
            let found = found.map_err(host_error)?;
            Ok(found.iter().map(|info| (&**info).into()).collect())
        }))
    }

    fn project(&self, entries: Vec<Entry>) -> Result<ProjectedPath, HostError> {
        let entries: Vec<_> = entries.into_iter().map(Arc::new).collect();
        let projection = project_path(&entries);
        let kept = projection.entries().iter().map(ProjectedEntry::entry);
        Ok(ProjectedPath {
            messages: projection.messages().cloned().collect(),
            entries: kept.cloned().collect(),
        })
    }

    fn info(&self, session: u64) -> Result<SessionInfo, HostError> {
        self.read_open(session, |session| Ok(session::info(session)))
    }

    fn cwd(&self, session: u64) -> Result<PathBuf, HostError> {
        self.read_open(session, |session| Ok(session.cwd().to_owned()))
    }

    fn name(&self, session: u64) -> Result<Option<String>, HostError> {
        self.read_open(session, |session| Ok(session.name().map(str::to_owned)))
    }

    fn header(&self, session: u64) -> Result<SessionHeader, HostError> {
        self.read_open(session, |session| Ok(session.header().clone()))
    }

    fn entry(&self, session: u64, id: Option<String>) -> Result<Option<Arc<Entry>>, HostError> {
        self.read_open(session, |session| session::entry(session, id.as_deref()))
    }

    fn entries(&self, session: u64) -> Result<Vec<Arc<Entry>>, HostError> {
        self.read_open(session, session::entries)
    }

    fn branch(&self, session: u64, from: Option<String>) -> Result<Vec<Arc<Entry>>, HostError> {
        self.read_open(session, |session| session::branch(session, from))
    }

    fn label(&self, session: u64, id: Option<String>) -> Result<Option<String>, HostError> {
        self.read_open(session, |session| Ok(session::label(session, id)))
    }

    fn context(&self, session: u64) -> Result<FileContext, HostError> {
        self.read_open(session, |session| {
            let branch = session.current_branch();
            let projection = branch.projection().map_err(host_error)?;
            let settings = branch.settings().map_err(host_error)?;
            Ok(FileContext {
                messages: projection.messages().cloned().collect(),
                entries: session::entry_messages(&projection),
                thinking_level: settings.thinking_level,
                model: settings.model.map(|model| ContextModelInfo {
                    provider: model.provider,
                    model_id: model.model_id,
                }),
            })
        })
    }
}

impl SessionWriteCalls for Caller<'_> {
    fn append(&self, session: u64, entry: Value) -> Result<Arc<Entry>, HostError> {
        let body = read_body(entry)?;
        self.change_open(session, |session| session.append(body))
    }

    fn append_message(&self, session: u64, message: AgentMessage) -> Result<Arc<Entry>, HostError> {
        self.change_open(session, |session| session.append_message(message))
    }

    fn set_name(&self, session: u64, name: String) -> Result<Arc<Entry>, HostError> {
        self.change_open(session, |session| session.set_name(&name))
    }

    fn set_label(
        &self,
        session: u64,
        target: String,
        label: Option<String>,
    ) -> Result<Arc<Entry>, HostError> {
        let target = EntryId::from(target);
        self.change_open(session, |session| {
            session.set_label(&target, label.as_deref())
        })
    }

    fn set_leaf(&self, session: u64, id: String) -> Result<(), HostError> {
        self.change_open(session, |session| session.branch(&EntryId::from(id)))
    }

    fn reset_leaf(&self, session: u64) -> Result<(), HostError> {
        self.change_open(session, |session| {
            session.reset_leaf();
            Ok(())
        })
    }

    fn branch_with_summary(
        &self,
        session: u64,
        from: Option<String>,
        summary: String,
        details: Option<Value>,
        from_hook: Option<bool>,
        usage: Option<Usage>,
    ) -> Result<Arc<Entry>, HostError> {
        let summary = BranchSummary {
            summary,
            details,
            usage,
            from_hook,
        };
        let from = from.map(EntryId::from);
        self.change_open(session, |session| {
            session.branch_with_summary(from.as_ref(), summary)
        })
    }

    fn extract_branch(&self, session: u64, leaf: String) -> Result<Option<PathBuf>, HostError> {
        self.change_open(session, |session| {
            *session = session.extract_branch(&EntryId::from(leaf))?;
            Ok(session.path().map(ToOwned::to_owned))
        })
    }
}

impl From<&pi_protocol::SessionInfo> for ListedSession {
    fn from(info: &pi_protocol::SessionInfo) -> Self {
        Self {
            path: info.path.clone(),
            id: info.id.clone(),
            cwd: info.cwd.clone(),
            name: info.name.clone(),
            parent_session_path: info.parent_session.clone(),
            created: info.created_ms.unwrap_or(info.modified_ms),
            modified: info.modified_ms,
            message_count: info.message_count,
            first_message: info
                .first_message
                .clone()
                .unwrap_or_else(|| "(no messages)".to_owned()),
            all_messages_text: info.text.clone(),
        }
    }
}

/// Parses an entry, filling in the members that the session assigns.
fn read_body(entry: Value) -> Result<EntryBody, HostError> {
    let Value::Object(mut fields) = entry else {
        return Err(HostError::new("an entry must be an object"));
    };
    fields.insert("id".to_owned(), "draft".into());
    fields.insert("parentId".to_owned(), Value::Null);
    fields.insert("timestamp".to_owned(), "1970-01-01T00:00:00.000Z".into());
    let entry: Entry = pi_protocol::json::from_value(&Value::Object(fields)).map_err(host_error)?;
    Ok(entry.body)
}
