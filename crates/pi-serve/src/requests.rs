//! Routes without a session: signing in, devices, files, the description of the API.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderValue, Request, StatusCode, Uri, header};
use hyper::body::Incoming;
use pi_host::{ExportColor, ExportTheme};
use serde_json::json;

use crate::body::{BodyLimit, Reply, empty_reply, json, json_text, read_object, text_field};
use crate::credentials::{Caller, SignInProblem};
use crate::problem::Problem;
use crate::server::{ServerState, too_many_attempts};

/// How long a browser stays signed in, in seconds.
const COOKIE_SECONDS: u32 = 365 * 24 * 60 * 60;

/// Characters of the name of a device.
const MAX_NAME: usize = 64;

/// The description of the API.
const OPENAPI: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.deflate"));

pub(crate) async fn sign_in(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let body = read_object(request, BodyLimit::SIGN_IN).await?;
    let sent = (text_field(&body, "code")?, text_field(&body, "token")?);
    let ((Some(code), None) | (None, Some(code))) = sent else {
        return Err(Problem::bad_request("send either code or token"));
    };
    let name = text_field(&body, "name")?.unwrap_or_default();
    let name = name.chars().filter(|c| !c.is_control()).take(MAX_NAME);
    let name: String = name.collect();
    let signed_in = match state.credentials.sign_in(&code, name) {
        Ok(signed_in) => signed_in.map_err(|error| Problem::internal(&error))?,
        Err(SignInProblem::TooManyAttempts) => return Err(too_many_attempts()),
        Err(SignInProblem::Invalid) => {
            let problem = "the code is wrong, was used before or has expired; run `pi serve --pair` for a new one";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, problem));
        }
    };
    let (device, secret) = signed_in;
    let mut reply = json(
        StatusCode::OK,
        &json!({"device": {"id": device.id, "name": device.name}}),
    )?;
    let cookie = format!("{}={secret}", state.cookie_name());
    set_cookie(&mut reply, &cookie, COOKIE_SECONDS)?;
    Ok(reply)
}

fn set_cookie(reply: &mut Reply, cookie: &str, seconds: u32) -> Result<(), Problem> {
    let cookie = format!("{cookie}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict");
    let cookie = HeaderValue::from_str(&cookie).map_err(|error| Problem::internal(&error))?;
    reply.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(())
}

pub(crate) fn sign_out(state: &Arc<ServerState>, caller: &Caller) -> Result<Reply, Problem> {
    if let Caller::Device(id) = caller {
        state.credentials.revoke(id);
    }
    let mut reply = empty_reply(StatusCode::NO_CONTENT);
    set_cookie(&mut reply, &format!("{}=", state.cookie_name()), 0)?;
    Ok(reply)
}

pub(crate) fn list_devices(state: &Arc<ServerState>, caller: &Caller) -> Result<Reply, Problem> {
    let devices = state.credentials.devices().into_iter().map(|device| {
        let is_current = matches!(caller, Caller::Device(id) if *id == device.id);
        json!({
            "id": device.id,
            "name": device.name,
            "created": device.created,
            "lastUsed": device.last_used,
            "current": is_current,
        })
    });
    let devices: Vec<_> = devices.collect();
    json(StatusCode::OK, &json!({ "devices": devices }))
}

pub(crate) fn revoke_device(state: &Arc<ServerState>, id: &str) -> Result<Reply, Problem> {
    if state.credentials.revoke(id) {
        Ok(empty_reply(StatusCode::NO_CONTENT))
    } else {
        Err(Problem::not_found("there is no such device"))
    }
}

/// Offers a code for a further browser. A browser cannot do that: a page that got hold of one session would survive
/// signing out.
pub(crate) fn pair(state: &Arc<ServerState>, caller: &Caller) -> Result<Reply, Problem> {
    if *caller != Caller::Owner {
        let problem = "run `pi serve --pair` to sign in a further browser";
        return Err(Problem::new(StatusCode::FORBIDDEN, problem));
    }
    let offer = state.pair().map_err(|error| Problem::internal(&error))?;
    json(
        StatusCode::OK,
        &json!({"code": offer.code, "url": offer.url, "remoteUrl": offer.remote_url}),
    )
}

/// Returns the value of a parameter of the query.
pub(crate) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.into_owned())
}

pub(crate) async fn find_files(state: &Arc<ServerState>, uri: &Uri) -> Result<Reply, Problem> {
    let query = parameter(uri, "q").unwrap_or_default();
    let cwd = working_directory(state, parameter(uri, "cwd"))?;
    let roots = state.options.host.sessions();
    let is_root = roots.iter().any(|session| session.cwd() == cwd) || cwd == state.options.cwd;
    if !is_root {
        let problem = "cwd must be the directory of a live session";
        return Err(Problem::new(StatusCode::FORBIDDEN, problem));
    }
    let files = state.options.host.find_files(cwd, query).await;
    json(StatusCode::OK, &json!({ "files": files }))
}

/// Returns an absolute directory that exists; that of the server by default.
pub(crate) fn working_directory(
    state: &ServerState,
    wanted: Option<String>,
) -> Result<PathBuf, Problem> {
    let Some(wanted) = wanted else {
        return Ok(state.options.cwd.clone());
    };
    let path = PathBuf::from(&wanted);
    if !path.is_absolute() || wanted.contains('\0') {
        return Err(Problem::bad_request("cwd must be an absolute path"));
    }
    if !path.is_dir() {
        return Err(Problem::bad_request(format!(
            "cwd is not a directory: {wanted}"
        )));
    }
    Ok(path)
}

/// Returns the colors of the user's theme, for the page.
pub(crate) fn theme(state: &ServerState) -> Result<Reply, Problem> {
    let source = state.options.page_theme.as_ref();
    let theme = source.map_or_else(ExportTheme::default, |source| source());
    let text = |color: Option<ExportColor>| color.map(|color| color.to_string());
    json(
        StatusCode::OK,
        &json!({
            "scheme": theme.scheme_name(),
            "page": text(theme.page_background),
            "card": text(theme.card_background),
            "note": text(theme.info_background),
        }),
    )
}

pub(crate) fn openapi() -> Result<Reply, Problem> {
    let document = pi_packed::unpack(OPENAPI).map_err(|error| Problem::internal(&error))?;
    Ok(json_text(StatusCode::OK, document))
}
