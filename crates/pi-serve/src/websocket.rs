//! Sockets of the web that carry lines: those of a session, and those of editors.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use pi_host::{ConnectionOptions, FeedStart, LineFrame, LineReader, LineWriter, serve_connection};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;

use crate::body::{MAX_BODY_BYTES, Reply, empty_reply};
use crate::elsewhere;
use crate::problem::Problem;
use crate::server::ServerState;
use crate::sessions::attach;

/// Bytes between a connection and its WebSocket.
const PIPE: usize = 64 * 1024;

/// Maximum length of a line to a client: `get_entries` sends a complete session.
const OUTPUT_LIMIT: usize = 1 << 30;

/// Serves a client of a session with the line protocol.
pub(crate) async fn session_socket(
    state: &Arc<ServerState>,
    id: &str,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let key = accept_key(&request)?;
    if let Some(link) = elsewhere::find(state, id).await {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let stop = state.options.stop.clone();
        let serving = async move {
            stop.run_until_cancelled(link.forward(theirs)).await;
        };
        return Ok(upgrade(state, request, &key, ours, Box::pin(serving)));
    }
    let handle = attach(state, id).await?;
    let options = ConnectionOptions {
        start: FeedStart::Immediate,
        notices: handle.client_ui(),
        stop: state.options.stop.clone(),
        ..ConnectionOptions::default()
    };
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let serving = async move {
        let (reader, writer) = tokio::io::split(theirs);
        let writer = LineWriter::start(writer);
        serve_connection(handle, reader, writer, options).await;
    };
    Ok(upgrade(state, request, &key, ours, Box::pin(serving)))
}

/// Serves an editor.
pub(crate) fn acp_socket(
    state: &Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let key = accept_key(&request)?;
    let handler = state.options.acp.as_ref();
    let handler =
        handler.ok_or_else(|| Problem::not_found("this server has no editors' endpoint"))?;
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = handler(Box::new(reader), Box::new(writer));
    Ok(upgrade(state, request, &key, ours, serving))
}

/// Returns the header that accepts a WebSocket.
fn accept_key(request: &Request<Incoming>) -> Result<HeaderValue, Problem> {
    let headers = request.headers();
    let has = |name: header::HeaderName, value: &str| {
        headers
            .get(name)
            .and_then(|header| header.to_str().ok())
            .is_some_and(|header| {
                header
                    .split(',')
                    .any(|part| part.trim().eq_ignore_ascii_case(value))
            })
    };
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let is_websocket = has(header::UPGRADE, "websocket")
        && has(header::CONNECTION, "upgrade")
        && has(header::SEC_WEBSOCKET_VERSION, "13");
    let Some(key) = key.filter(|_| is_websocket) else {
        let problem = "connect with a WebSocket of version 13";
        return Err(Problem::new(StatusCode::UPGRADE_REQUIRED, problem));
    };
    let accept = derive_accept_key(key.as_bytes());
    HeaderValue::from_str(&accept).map_err(|error| Problem::internal(&error))
}

/// Accepts the WebSocket and connects it with `pipe`, whose other end is served by `serving`.
fn upgrade(
    state: &Arc<ServerState>,
    mut request: Request<Incoming>,
    key: &HeaderValue,
    pipe: DuplexStream,
    serving: futures_util::future::BoxFuture<'static, ()>,
) -> Reply {
    let upgrading = hyper::upgrade::on(&mut request);
    state.tasks.spawn(async move {
        let upgraded = match upgrading.await {
            Ok(upgraded) => upgraded,
            Err(error) => {
                tracing::debug!(%error, "cannot upgrade to a WebSocket");
                return;
            }
        };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MAX_BODY_BYTES))
            .max_frame_size(Some(MAX_BODY_BYTES));
        let socket = OpenRead {
            inner: TokioIo::new(upgraded),
            ended: CancellationToken::new(),
        };
        let socket = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
        tokio::join!(serving, Box::pin(forward(socket, pipe)));
    });
    let mut reply = empty_reply(StatusCode::SWITCHING_PROTOCOLS);
    let headers = reply.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, key.clone());
    reply
}

/// A socket whose input does not end: a WebSocket sends nothing more after the end of its input, but a client that closed
/// only its side still reads.
struct OpenRead<S> {
    inner: S,
    /// Canceled at the end of the input.
    ended: CancellationToken,
}

impl<S: AsyncRead + Unpin> AsyncRead for OpenRead<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.inner).poll_read(context, buffer));
        if read.is_ok() && buffer.filled().len() == before && buffer.remaining() > 0 {
            self.ended.cancel();
            return Poll::Pending;
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for OpenRead<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Forwards messages as lines and lines as messages, until one side ends.
async fn forward<S>(socket: WebSocketStream<OpenRead<S>>, pipe: DuplexStream)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let ended = socket.get_ref().ended.clone();
    let (mut sink, mut messages) = socket.split();
    let (reader, mut writer) = tokio::io::split(pipe);
    let mut lines = LineReader::new(reader, OUTPUT_LIMIT);
    let receiving = async {
        while let Some(Some(Ok(message))) = ended.run_until_cancelled(messages.next()).await {
            let text = match message {
                Message::Text(text) => text,
                Message::Close(_) => break,
                _ => continue,
            };
            // A message is a line; line feeds in it would make it several.
            let mut line = text.replace(['\n', '\r'], " ");
            line.push('\n');
            if writer.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
        writer.shutdown().await.unwrap_or_default();
    };
    let sending = async {
        loop {
            // Lines that are there already are sent together.
            let frame = match lines.next().now_or_never() {
                Some(frame) => frame,
                None if sink.flush().await.is_err() => return,
                None => lines.next().await,
            };
            match frame {
                Ok(Some(LineFrame::Line(line))) => {
                    if sink.feed(Message::text(line)).await.is_err() {
                        return;
                    }
                }
                Ok(Some(LineFrame::TooLong)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        sink.close().await.unwrap_or_default();
    };
    let mut sending = std::pin::pin!(sending);
    tokio::select! {
        // What the client has sent is answered, even if it closes its side.
        () = receiving => sending.await,
        () = &mut sending => {}
    }
}
