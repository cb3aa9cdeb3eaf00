//! Routes of a session.

use std::sync::Arc;

use http::{Request, StatusCode, Uri};
use hyper::body::Incoming;
use pi_host::{
    AttachError, ClientLine, EntryRange, ExtensionUi as _, SessionCatalog, SessionHandle,
    SessionOptions, execute_line,
};
use pi_protocol::{Answer, ClientHello, ClientRight, Command, RequestId, ScreenSize, SessionScope};
use serde_json::json;

use crate::body::{
    BodyLimit, Reply, empty_reply, json, json_text, read_body, read_object, text_field,
};
use crate::elsewhere;
use crate::problem::Problem;
use crate::requests::{parameter, working_directory};
use crate::server::ServerState;

/// Entries of a page, unless the client asks for another number.
const PAGE: usize = 100;

const MAX_PAGE: usize = 1000;

/// Returns the options of a session in a directory, which is opened for a client with this screen.
fn session_options(
    state: &ServerState,
    cwd: &std::path::Path,
    screen: Option<ScreenSize>,
) -> Result<SessionOptions, Problem> {
    let options = (state.options.sessions)(cwd).map_err(Problem::bad_request)?;
    let ui = options.client_ui.clone().unwrap_or_default();
    if let (Some(size), Some(screen)) = (screen, ui.client_screen()) {
        screen.prepare(size);
    }
    Ok(options.with_client_ui(ui))
}

/// Attaches to a live session, or opens a stored one.
pub(crate) async fn attach(state: &ServerState, id: &str) -> Result<SessionHandle, Problem> {
    attach_with_screen(state, id, None).await
}

pub(crate) async fn attach_with_screen(
    state: &ServerState,
    id: &str,
    screen: Option<ScreenSize>,
) -> Result<SessionHandle, Problem> {
    let options = session_options(state, &state.options.cwd, screen)?;
    let attaching = Box::pin(state.options.host.attach(id, options));
    attaching.await.map_err(|error| match error {
        AttachError::NotFound(_) => Problem::not_found(error),
        error => Problem::new(StatusCode::CONFLICT, error),
    })
}

/// Reads the size of a screen, such as `100x30`.
pub(crate) fn screen_size(text: &str) -> Result<ScreenSize, Problem> {
    let size = text.split_once('x').and_then(|(cols, rows)| {
        let (cols, rows) = (cols.parse().ok()?, rows.parse().ok()?);
        Some(ScreenSize { cols, rows })
    });
    size.ok_or_else(|| Problem::bad_request("`screen` must be COLSxROWS, such as 100x30"))
}

/// Opens a session: a new one, or the stored one with an ID.
pub(crate) async fn open(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let body = read_object(request, BodyLimit::REQUEST).await?;
    let screen = text_field(&body, "screen")?;
    let screen = screen.as_deref().map(screen_size).transpose()?;
    let handle = if let Some(id) = text_field(&body, "session")? {
        if let Some(link) = elsewhere::find(state, &id).await {
            let snapshot = link.state(ClientHello::default()).await?;
            return json(StatusCode::CREATED, &snapshot);
        }
        attach_with_screen(state, &id, screen).await?
    } else {
        let cwd = working_directory(state, text_field(&body, "cwd")?)?;
        let mut options = session_options(state, &cwd, screen)?;
        options.name = text_field(&body, "name")?;
        let opening = Box::pin(state.options.host.open(options));
        opening
            .await
            .map_err(|error| Problem::new(StatusCode::CONFLICT, error))?
    };
    json(StatusCode::CREATED, &handle.snapshot())
}

/// Changes the name of a session.
pub(crate) async fn change(
    state: &Arc<ServerState>,
    id: &str,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let body = read_object(request, BodyLimit::REQUEST).await?;
    let name = text_field(&body, "name")?.ok_or_else(|| Problem::bad_request("send a name"))?;
    if let Some(link) = elsewhere::find(state, id).await {
        let name = name.trim().to_owned();
        link.execute(&Command::SetSessionName { name }).await?;
        return Ok(empty_reply(StatusCode::NO_CONTENT));
    }
    let handle = attach(state, id).await?;
    let session = handle.session();
    let named = session.history().set_name(name.trim()).await;
    named.map_err(|error| Problem::new(StatusCode::CONFLICT, error))?;
    Ok(empty_reply(StatusCode::NO_CONTENT))
}

/// Closes a session and deletes its file, unless another process has it open.
pub(crate) async fn delete(state: &Arc<ServerState>, id: &str) -> Result<Reply, Problem> {
    state.options.host.close(id).await;
    let catalog = catalog(state, &state.options.cwd);
    let wanted = id.to_owned();
    let deleting = tokio::task::spawn_blocking(move || {
        let sessions = catalog.list_titles(SessionScope::All);
        let found = sessions.iter().find(|session| session.id == wanted)?;
        Some(
            catalog
                .delete(&found.path)
                .map_err(|error| error.to_string()),
        )
    });
    match deleting.await {
        Ok(Some(Ok(()))) => Ok(empty_reply(StatusCode::NO_CONTENT)),
        Ok(Some(Err(error))) => Err(Problem::new(StatusCode::CONFLICT, error)),
        Ok(None) => Err(Problem::not_found(AttachError::NotFound(id.to_owned()))),
        Err(error) => Err(Problem::internal(&error)),
    }
}

pub(crate) fn catalog(state: &ServerState, cwd: &std::path::Path) -> SessionCatalog {
    let session_dir = state.options.session_dir.as_deref();
    SessionCatalog::for_directory(&state.options.host, cwd, session_dir)
}

/// Executes a command of the line protocol.
pub(crate) async fn send_command(
    state: &Arc<ServerState>,
    id: &str,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let body = read_body(request, BodyLimit::REQUEST).await?;
    let line = std::str::from_utf8(&body)
        .map_err(|_invalid| Problem::bad_request("the body must be UTF-8"))?;
    let response = if let Some(link) = elsewhere::find(state, id).await {
        link.command(line).await?
    } else {
        let handle = attach(state, id).await?;
        let line = ClientLine::parse(line);
        let executing = Box::pin(execute_line(&handle, ClientRight::Control, line));
        let (response, run) = executing.await;
        drop(run);
        response
    };
    match response {
        Some(line) => Ok(json_text(StatusCode::OK, line)),
        None => Ok(empty_reply(StatusCode::NO_CONTENT)),
    }
}

pub(crate) async fn read_entries(
    state: &Arc<ServerState>,
    id: &str,
    uri: &Uri,
) -> Result<Reply, Problem> {
    let limit = number(uri, "limit", PAGE)?.min(MAX_PAGE);
    if let Some(link) = elsewhere::find(state, id).await {
        let since = parameter(uri, "since");
        let hello = ClientHello {
            entries: since.is_none().then_some(limit),
            before: parameter(uri, "before"),
            entry: since,
            ..ClientHello::default()
        };
        let state = link.state(hello).await?;
        let (Some(entries), Some(has_more)) = (state.get("entries"), state.get("hasMore")) else {
            return Err(Problem::not_found("there is no such entry"));
        };
        let page = json!({"entries": entries, "hasMore": has_more});
        return json(StatusCode::OK, &page);
    }
    let range = match parameter(uri, "since") {
        Some(since) => EntryRange::After(since),
        None => EntryRange::Before {
            entry: parameter(uri, "before"),
            limit,
        },
    };
    let handle = attach(state, id).await?;
    let entries = handle.session().history().entries_json(&range);
    let entries = entries.map_err(Problem::not_found)?;
    Ok(json_text(StatusCode::OK, entries))
}

pub(crate) fn number(uri: &Uri, name: &str, default: usize) -> Result<usize, Problem> {
    let Some(text) = parameter(uri, name) else {
        return Ok(default);
    };
    text.parse()
        .map_err(|_invalid| Problem::bad_request(format!("{name} must be a number")))
}

pub(crate) async fn list_requests(state: &Arc<ServerState>, id: &str) -> Result<Reply, Problem> {
    if let Some(link) = elsewhere::find(state, id).await {
        let state = link.state(ClientHello::default()).await?;
        let pending = state.get("pending");
        return json(StatusCode::OK, &json!({ "requests": pending }));
    }
    let handle = attach(state, id).await?;
    let pending = handle.session().requests().pending();
    json(StatusCode::OK, &json!({ "requests": pending }))
}

pub(crate) async fn answer_request(
    state: &Arc<ServerState>,
    id: &str,
    question: &str,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let body = read_object(request, BodyLimit::REQUEST).await?;
    let answer: Answer = serde_json::from_value(body)
        .map_err(|error| Problem::bad_request(format!("invalid answer: {error}")))?;
    let question = RequestId(question.to_owned());
    if let Some(link) = elsewhere::find(state, id).await {
        let answer = Command::Answer {
            request: question,
            answer,
        };
        link.execute(&answer).await?;
        return Ok(empty_reply(StatusCode::NO_CONTENT));
    }
    let handle = attach(state, id).await?;
    let session = handle.session();
    let answering = session.requests().answer(question, answer);
    answering
        .await
        .map_err(|error| Problem::new(StatusCode::CONFLICT, error))?;
    Ok(empty_reply(StatusCode::NO_CONTENT))
}
