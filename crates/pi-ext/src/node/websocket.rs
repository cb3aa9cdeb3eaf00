//! Native half of the global `WebSocket`.

use std::rc::Rc;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use super::{NativeError, NativeFuture, NativeRequest, tls};
use crate::engine::{NativeReply, Realm};

/// Maximum size of an incoming message, in bytes.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WebSocketArguments {
    id: u32,
    url: String,
    protocols: Vec<String>,
    headers: Vec<(String, String)>,
    text: Option<String>,
    code: Option<u16>,
    reason: String,
}

trait AsyncDuplex: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> AsyncDuplex for T {}

type WebSocketIo = WebSocketStream<Box<dyn AsyncDuplex>>;

struct WebSocketConnection {
    sink: Mutex<SplitSink<WebSocketIo, Message>>,
    stream: Mutex<SplitStream<WebSocketIo>>,
}

/// Starts an operation.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let realm = Rc::clone(realm);
    Box::pin(async move {
        let arguments: WebSocketArguments = request.read()?;
        if request.operation == "connect" {
            return connect(&realm, arguments).await;
        }
        let Some(socket) = realm.resources.get::<WebSocketConnection>(arguments.id) else {
            return Ok(NativeReply::Nothing);
        };
        match request.operation.as_str() {
            "read" => {
                let next = socket.stream.lock().await.next().await;
                if matches!(next, None | Some(Err(_) | Ok(Message::Close(_)))) {
                    realm.resources.release(arguments.id);
                }
                message_to_reply(next)
            }
            "send" => {
                let message = match (arguments.text, request.bytes) {
                    (Some(text), _) => Message::text(text),
                    (None, bytes) => Message::binary(bytes.unwrap_or_default()),
                };
                let sent = socket.sink.lock().await.send(message).await;
                sent.map_err(|error| websocket_error(&error))?;
                Ok(NativeReply::Nothing)
            }
            "close" => {
                let frame = arguments.code.map(|code| CloseFrame {
                    code: CloseCode::from(code),
                    reason: arguments.reason.into(),
                });
                let mut sink = socket.sink.lock().await;
                // The peer may already have disconnected.
                drop(sink.send(Message::Close(frame)).await);
                Ok(NativeReply::Nothing)
            }
            "drop" => {
                realm.resources.release(arguments.id);
                Ok(NativeReply::Nothing)
            }
            _ => Err(request.unknown("websocket")),
        }
    })
}

async fn connect(
    realm: &Rc<Realm>,
    arguments: WebSocketArguments,
) -> Result<NativeReply, NativeError> {
    let invalid = |what: &str| NativeError::new(format!("invalid WebSocket {what}"));
    let address = url::Url::parse(&arguments.url).map_err(|_invalid| invalid("URL"))?;
    let host = address.host_str().ok_or_else(|| invalid("URL"))?;
    let port = address.port_or_known_default().unwrap_or(80);
    let mut request = arguments
        .url
        .as_str()
        .into_client_request()
        .map_err(|error| websocket_error(&error))?;
    let mut headers = arguments.headers;
    if !arguments.protocols.is_empty() {
        let protocols = arguments.protocols.join(", ");
        headers.push(("sec-websocket-protocol".to_owned(), protocols));
    }
    for (name, value) in &headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_bad| invalid("header"))?;
        let value = HeaderValue::from_str(value).map_err(|_bad| invalid("header"))?;
        request.headers_mut().insert(name, value);
    }
    // IPv6 addresses are enclosed in brackets.
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, port)).await.map_err(|error| {
        NativeError::from_io(&error, "connect", Some(&format!("{host}:{port}")))
    })?;
    let peer = tls::TlsPeer {
        server: bare,
        protocols: &[],
        authorities: "",
    };
    let stream: Box<dyn AsyncDuplex> = match address.scheme() {
        "wss" | "https" => Box::new(tls::handshake(stream, &peer).await?),
        _ => Box::new(stream),
    };
    let limits = WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE));
    let connected =
        tokio_tungstenite::client_async_with_config(request, stream, Some(limits)).await;
    let (stream, response) = connected.map_err(|error| websocket_error(&error))?;
    let protocol = response.headers().get("sec-websocket-protocol");
    let protocol = protocol.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let protocol = protocol.to_owned();
    let (sink, stream) = stream.split();
    let id = realm.resources.insert(WebSocketConnection {
        sink: Mutex::new(sink),
        stream: Mutex::new(stream),
    });
    Ok(NativeReply::Json(json!({ "id": id, "protocol": protocol })))
}

/// Converts a message for JavaScript: text, bytes, or the close code. Control frames become nothing.
fn message_to_reply(
    next: Option<tungstenite::Result<Message>>,
) -> Result<NativeReply, NativeError> {
    match next {
        Some(Ok(Message::Text(text))) => Ok(NativeReply::Json(json!({ "text": text.as_str() }))),
        Some(Ok(Message::Binary(bytes))) => Ok(NativeReply::Bytes(bytes.to_vec())),
        Some(Ok(Message::Close(frame))) => {
            let (code, reason) = frame.map_or((1005, String::new()), |frame| {
                (u16::from(frame.code), frame.reason.as_str().to_owned())
            });
            Ok(NativeReply::Json(json!({ "code": code, "reason": reason })))
        }
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
            Ok(NativeReply::Nothing)
        }
        Some(Err(error)) => Err(websocket_error(&error)),
        None => Ok(NativeReply::Json(json!({ "code": 1006, "reason": "" }))),
    }
}

fn websocket_error(error: &tungstenite::Error) -> NativeError {
    match error {
        tungstenite::Error::Io(error) => NativeError::from_io(error, "websocket", None),
        tungstenite::Error::Http(response) => {
            NativeError::new(format!("Unexpected server response: {}", response.status()))
        }
        other => NativeError::new(other.to_string()),
    }
}
