//! HTTP requests: native half of `fetch` and the `http` client.
//!
//! Redirects follow the `fetch` standard, and the extension controls the headers. Clients
//! are created on first use.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use futures_util::{Stream, StreamExt as _};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;

use super::{NativeError, NativeFuture, NativeRequest};
use crate::engine::{NativeReply, Realm};

/// Redirect limit of the `fetch` standard.
const MAX_REDIRECTS: usize = 20;

#[derive(Debug, Deserialize)]
struct FetchArguments {
    url: String,
    method: String,
    headers: Vec<(String, String)>,
    redirect: String,
}

type BodyChunks = Pin<Box<dyn Stream<Item = reqwest::Result<Vec<u8>>>>>;

/// A response body that is being read.
struct ResponseBody(RefCell<Option<BodyChunks>>);

/// HTTP clients of a realm, by redirect policy.
#[derive(Default)]
struct HttpClients {
    following: RefCell<Option<reqwest::Client>>,
    not_following: RefCell<Option<reqwest::Client>>,
}

thread_local! {
    static CLIENTS: HttpClients = HttpClients::default();
}

/// Starts an operation.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let id = request.number("id");
    let realm = Rc::clone(realm);
    Box::pin(async move {
        match request.operation.as_str() {
            "fetch" => fetch(&realm, request.read()?, request.bytes).await,
            "read" => read(&realm, id).await,
            "cancel" => {
                realm.resources.release(id);
                Ok(NativeReply::Nothing)
            }
            _ => Err(request.unknown("http")),
        }
    })
}

async fn fetch(
    realm: &Rc<Realm>,
    fetch: FetchArguments,
    body: Option<Vec<u8>>,
) -> Result<NativeReply, NativeError> {
    let client = client(realm, &fetch.redirect)?;
    let method = reqwest::Method::from_bytes(fetch.method.as_bytes())
        .map_err(|error| NativeError::new(error.to_string()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in &fetch.headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .zip(HeaderValue::from_str(value).ok());
        let (name, value) =
            header.ok_or_else(|| NativeError::new(format!("invalid header: {name}")))?;
        headers.append(name, value);
    }
    let mut builder = client.request(method, &fetch.url).headers(headers);
    if let Some(body) = body {
        builder = builder.body(body);
    }
    let response = builder
        .send()
        .await
        .map_err(|error| network_error(&error))?;
    if fetch.redirect == "error" && response.status().is_redirection() {
        return Err(NativeError::new("unexpected redirect"));
    }
    let headers: Vec<(String, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    let status = response.status();
    let url = response.url().to_string();
    let chunks = response
        .bytes_stream()
        .map(|chunk| chunk.map(|bytes| bytes.to_vec()));
    let body = realm
        .resources
        .insert(ResponseBody(RefCell::new(Some(Box::pin(chunks)))));
    Ok(NativeReply::Json(json!({
        "status": status.as_u16(),
        "statusText": status.canonical_reason().unwrap_or_default(),
        "headers": headers,
        "url": url,
        "body": body,
    })))
}

fn client(realm: &Realm, redirect: &str) -> Result<reqwest::Client, NativeError> {
    CLIENTS.with(|clients| {
        let (slot, policy) = match redirect {
            "follow" => (
                &clients.following,
                reqwest::redirect::Policy::limited(MAX_REDIRECTS),
            ),
            _ => (&clients.not_following, reqwest::redirect::Policy::none()),
        };
        if let Some(client) = &*slot.borrow() {
            return Ok(client.clone());
        }
        let mut builder = reqwest::Client::builder()
            .redirect(policy)
            .referer(false)
            .user_agent(concat!("pi/", env!("CARGO_PKG_VERSION")));
        // Environment variables override the setting, as for the program's own requests.
        if let Some(proxy) = &realm.options.proxy
            && !has_proxy(&realm.options.process.environment)
        {
            let exceptions = reqwest::NoProxy::from_env();
            let proxy = reqwest::Proxy::all(proxy).map_err(|error| network_error(&error))?;
            builder = builder.proxy(proxy.no_proxy(exceptions));
        }
        let client = builder.build().map_err(|error| network_error(&error))?;
        *slot.borrow_mut() = Some(client.clone());
        Ok(client)
    })
}

fn has_proxy(environment: &[(String, String)]) -> bool {
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    environment.iter().any(|(name, value)| {
        !value.is_empty() && names.iter().any(|it| it.eq_ignore_ascii_case(name))
    })
}

async fn read(realm: &Rc<Realm>, id: u32) -> Result<NativeReply, NativeError> {
    let Some(body) = realm.resources.get::<ResponseBody>(id) else {
        return Ok(NativeReply::Nothing);
    };
    // Taken during the read, so that a concurrent reader sees the end instead of a borrow error.
    let Some(mut chunks) = body.0.borrow_mut().take() else {
        return Ok(NativeReply::Nothing);
    };
    match chunks.next().await {
        Some(Ok(bytes)) => {
            *body.0.borrow_mut() = Some(chunks);
            Ok(NativeReply::Bytes(bytes))
        }
        Some(Err(error)) => Err(network_error(&error)),
        None => {
            realm.resources.release(id);
            Ok(NativeReply::Nothing)
        }
    }
}

/// Converts an error to its root cause, with Node's error code if there is one.
fn network_error(error: &reqwest::Error) -> NativeError {
    let mut message = error.to_string();
    let mut code = None;
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = cause.to_string();
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            code = Some(match io.kind() {
                std::io::ErrorKind::ConnectionRefused => "ECONNREFUSED",
                std::io::ErrorKind::ConnectionReset => "ECONNRESET",
                std::io::ErrorKind::TimedOut => "ETIMEDOUT",
                std::io::ErrorKind::BrokenPipe => "EPIPE",
                _ => "ENOTFOUND",
            });
        }
        source = cause.source();
    }
    let error = NativeError::new(message);
    match code {
        Some(code) => error.with_code(code),
        None => error,
    }
}
