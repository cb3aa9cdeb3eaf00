//! Lists sessions: those in files, with the state of those that are live.

use std::collections::HashSet;
use std::sync::Arc;

use http::{StatusCode, Uri};
use pi_host::{
    AgentSession, AttachError, HostOptions, IndexFreshness, LiveSession, SessionSearchError,
    SessionSearchOptions, settings_before_trust,
};
use pi_protocol::{ClientHello, SessionInfo, SessionScope};
use serde::Serialize;
use serde_json::{Value, json};

use crate::body::{Reply, json};
use crate::elsewhere;
use crate::problem::Problem;
use crate::requests::{parameter, working_directory};
use crate::server::ServerState;
use crate::sessions::{catalog, number};

/// Sessions of a page, unless the client asks for another number.
const PAGE: usize = 50;

const MAX_PAGE: usize = 500;

/// Characters of the first message that a list shows.
const PREVIEW: usize = 200;

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedSession {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The start of the first message.
    preview: Option<String>,
    pub(crate) cwd: String,
    /// Milliseconds since the Unix epoch.
    created: Option<i64>,
    modified: i64,
    message_count: usize,
    pub(crate) live: Option<LiveState>,
}

/// The state of a session that is open in this server or in another process.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LiveState {
    pub(crate) status: Value,
    /// Number of requests that wait for an answer.
    pub(crate) pending: usize,
    /// Unknown for a session of another process.
    cost: Option<f64>,
}

impl ListedSession {
    fn stored(info: &SessionInfo) -> Self {
        Self {
            id: info.id.clone(),
            name: info.name.clone(),
            preview: info
                .first_message
                .as_ref()
                .map(|text| text.chars().take(PREVIEW).collect()),
            cwd: info.cwd.clone(),
            created: info.created_ms,
            modified: info.modified_ms,
            message_count: info.message_count,
            live: None,
        }
    }

    pub(crate) fn live(session: &AgentSession) -> Self {
        let outline = session.history().outline();
        // A session that has no file yet was used last when it was opened.
        let opened = i64::try_from(session.observe(None).cursor().epoch).unwrap_or_default();
        Self {
            id: session.session_id(),
            name: outline.name,
            preview: None,
            cwd: session.cwd().to_string_lossy().into_owned(),
            created: None,
            modified: opened,
            message_count: session.history().message_count(),
            live: Some(LiveState::of(session)),
        }
    }
}

impl LiveState {
    pub(crate) fn of(session: &AgentSession) -> Self {
        let snapshot = session.snapshot();
        let totals = session.history().totals();
        Self {
            status: json!(snapshot.status),
            pending: snapshot.pending.len(),
            cost: Some(totals.map_or(0.0, |totals| totals.cost)),
        }
    }

    fn elsewhere(session: &LiveSession) -> Self {
        Self {
            status: json!(session.activity),
            pending: session.pending_requests,
            cost: None,
        }
    }
}

/// Lists the sessions of a directory or of all, newest first.
pub(crate) async fn list(state: &Arc<ServerState>, uri: &Uri) -> Result<Reply, Problem> {
    let cwd = parameter(uri, "cwd");
    let scope = match cwd {
        Some(_) => SessionScope::Project,
        None => SessionScope::All,
    };
    let directory = working_directory(state, cwd.clone())?;
    let limit = number(uri, "limit", PAGE)?.clamp(1, MAX_PAGE);
    let mut sessions = all(state, &directory, scope).await?;
    if let Some(cwd) = &cwd {
        sessions.retain(|session| session.cwd == *cwd);
    }
    if let Some(query) = parameter(uri, "q") {
        let query = query.to_lowercase();
        sessions.retain(|session| {
            let mut texts = [&session.name, &session.preview].into_iter().flatten();
            texts.any(|text| text.to_lowercase().contains(&query))
                || session.cwd.to_lowercase().contains(&query)
        });
    }
    let first = match parameter(uri, "cursor") {
        Some(cursor) => {
            let position = sessions.iter().position(|session| session.id == cursor);
            position.map_or(sessions.len(), |position| position + 1)
        }
        None => 0,
    };
    let page: Vec<ListedSession> = sessions.iter().skip(first).take(limit).cloned().collect();
    let has_more = first + page.len() < sessions.len();
    let next = page
        .last()
        .filter(|_| has_more)
        .map(|session| session.id.clone());
    let cwd = state.options.cwd.to_string_lossy();
    json(
        StatusCode::OK,
        &json!({"sessions": page, "nextCursor": next, "cwd": cwd}),
    )
}

/// Returns the stored and the live sessions, newest first.
async fn all(
    state: &Arc<ServerState>,
    directory: &std::path::Path,
    scope: SessionScope,
) -> Result<Vec<ListedSession>, Problem> {
    let catalog = catalog(state, directory);
    let stored = tokio::task::spawn_blocking(move || catalog.list_titles(scope));
    let stored = stored.await.map_err(|error| Problem::internal(&error))?;
    let mut sessions: Vec<_> = stored
        .iter()
        .map(|info| ListedSession::stored(info))
        .collect();
    let known: HashSet<String> = sessions.iter().map(|session| session.id.clone()).collect();
    for session in state.options.host.sessions() {
        let id = session.session_id();
        if known.contains(&id) {
            let listed = sessions.iter_mut().find(|listed| listed.id == id);
            if let Some(listed) = listed {
                listed.live = Some(LiveState::of(&session));
            }
        } else {
            sessions.insert(0, ListedSession::live(&session));
        }
    }
    for running in elsewhere::running(state).await {
        let mut listed = sessions.iter_mut();
        if let Some(listed) = listed.find(|listed| listed.id == running.id) {
            listed.live = Some(LiveState::elsewhere(&running));
        }
    }
    Ok(sessions)
}

/// Finds entries by their text, in all stored sessions or those of a directory.
pub(crate) async fn search(state: &Arc<ServerState>, uri: &Uri) -> Result<Reply, Problem> {
    let cwd = parameter(uri, "cwd");
    let options = SessionSearchOptions {
        query: parameter(uri, "q").unwrap_or_default(),
        is_incomplete: parameter(uri, "incomplete").as_deref() == Some("true"),
        cwd: match cwd {
            Some(_) => Some(working_directory(state, cwd)?),
            None => None,
        },
        limit: number(uri, "limit", PAGE)?.clamp(1, MAX_PAGE),
        ..SessionSearchOptions::default()
    };
    let (host, directory) = (state.options.host.clone(), state.options.cwd.clone());
    let searching = tokio::task::spawn_blocking(move || {
        let HostOptions {
            agent_dir,
            run_settings,
            ..
        } = host.options();
        let settings = settings_before_trust(agent_dir, &directory, run_settings);
        let search = host.session_search(&directory, &settings);
        search.search(&options, IndexFreshness::SoFar)
    });
    let found = searching
        .await
        .map_err(|error| Problem::internal(&error))?
        .map_err(|error| match error {
            SessionSearchError::EmptyQuery => Problem::bad_request(error),
            SessionSearchError::TurnedOff => Problem::new(StatusCode::FORBIDDEN, error),
            error @ SessionSearchError::Index(_) => Problem::internal(&error),
        })?;
    json(StatusCode::OK, &found)
}

/// Returns the facts of one session, without opening it.
pub(crate) async fn read(state: &Arc<ServerState>, id: &str) -> Result<Reply, Problem> {
    let live = state.options.host.sessions();
    let live = live.iter().find(|session| session.session_id() == id);
    if let Some(session) = live {
        let mut facts = json!(ListedSession::live(session));
        if let Value::Object(facts) = &mut facts {
            facts.insert("snapshot".to_owned(), json!(session.snapshot()));
        }
        return json(StatusCode::OK, &facts);
    }
    let sessions = all(state, &state.options.cwd, SessionScope::All).await?;
    match sessions.into_iter().find(|session| session.id == id) {
        Some(session) => {
            let mut facts = json!(session);
            if let Some(link) = elsewhere::find(state, id).await
                && let Value::Object(facts) = &mut facts
            {
                let snapshot = link.state(ClientHello::default()).await?;
                facts.insert("snapshot".to_owned(), snapshot);
            }
            json(StatusCode::OK, &facts)
        }
        None => Err(Problem::not_found(AttachError::NotFound(id.to_owned()))),
    }
}
