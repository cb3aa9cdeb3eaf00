//! An HTTP/1.1 server on the loopback interface that plays scripted replies, one per request.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificate::TestCertAuthority;
use crate::gate::Gates;
use crate::http1::{RecordedRequest, read_request};
use crate::scripted_reply::{ReplyHead, ReplyStep, ScriptedReply};

/// A running server; dropping it closes every connection.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    scheme: &'static str,
    script: Arc<ServerScript>,
    _accepting: JoinSet<()>,
}

#[derive(Debug, Default)]
struct ServerScript {
    replies: Mutex<VecDeque<ScriptedReply>>,
    conversations: Mutex<Vec<(String, VecDeque<ScriptedReply>)>>,
    gates: Gates,
    requests: watch::Sender<Vec<RecordedRequest>>,
    /// Indexes of the connections that the client has closed.
    disconnected: watch::Sender<Vec<usize>>,
}

impl ScriptedServer {
    /// Starts a server that sends these replies, in order of arrival of the requests.
    pub async fn start(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::listen(replies, None).await
    }

    /// Like [`start`](Self::start), over TLS with a certificate for `localhost` and `127.0.0.1`.
    pub async fn start_tls(
        authority: &TestCertAuthority,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        Self::listen(replies, Some(authority.acceptor())).await
    }

    async fn listen(
        replies: impl IntoIterator<Item = ScriptedReply>,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let script = Arc::new(ServerScript {
            replies: Mutex::new(replies.into_iter().collect()),
            ..ServerScript::default()
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, tls, Arc::clone(&script)));
        Self {
            address,
            scheme,
            script,
            _accepting: accepting,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server, without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Sends these replies, in order, to requests of a model whose first user message contains a text, instead of the
    /// other replies. For conversations that run at the same time.
    pub fn reply_to(&self, text: &str, replies: impl IntoIterator<Item = ScriptedReply>) {
        let conversations = &self.script.conversations;
        let mut conversations = conversations.lock().unwrap_or_else(PoisonError::into_inner);
        conversations.push((text.to_owned(), replies.into_iter().collect()));
    }

    /// Opens a gate permanently.
    pub fn open_gate(&self, gate: &str) {
        self.script.gates.open(gate);
    }

    /// Waits until a reply reaches a gate.
    pub async fn wait_for_gate(&self, gate: &str) {
        self.script.gates.wait_until_reached(gate).await;
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.script.requests.borrow().clone()
    }

    /// Waits for the request with this index, starting at 0.
    pub async fn wait_for_request(&self, index: usize) -> RecordedRequest {
        let mut requests = self.script.requests.subscribe();
        let arrived = requests
            .wait_for(|requests| requests.len() > index)
            .await
            .unwrap();
        arrived.get(index).unwrap().clone()
    }

    /// Waits until the client has closed the connection with this index, starting at 0.
    pub async fn wait_for_disconnect(&self, connection: usize) {
        let mut disconnected = self.script.disconnected.subscribe();
        disconnected
            .wait_for(|connections| connections.contains(&connection))
            .await
            .unwrap();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, script: Arc<ServerScript>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((socket, _)) = listener.accept().await else {
            return;
        };
        let (tls, script) = (tls.clone(), Arc::clone(&script));
        connections.spawn(async move {
            let outcome = match tls {
                None => script.serve(socket, number).await,
                Some(tls) => match tls.accept(socket).await {
                    Ok(socket) => script.serve(Box::new(socket), number).await,
                    Err(error) => Err(error),
                },
            };
            // A failed read or write means that the client has disconnected.
            if matches!(outcome, Err(_) | Ok(ClosedBy::Client)) {
                script
                    .disconnected
                    .send_modify(|connections| connections.push(number));
            }
        });
    }
}

enum ClosedBy {
    Client,
    Script,
}

/// A plain or TLS connection that gives access to its TCP socket, so it can be reset.
trait ResettableStream: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl ResettableStream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl ResettableStream for Box<TlsStream<TcpStream>> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl ServerScript {
    async fn serve(
        &self,
        mut socket: impl ResettableStream,
        connection: usize,
    ) -> io::Result<ClosedBy> {
        socket.tcp().set_nodelay(true)?;
        while let Some(request) = read_request(&mut socket, connection).await? {
            let next = self.next_reply(&request);
            self.requests.send_modify(|requests| requests.push(request));
            let reply =
                next.unwrap_or_else(|| ScriptedReply::full(500, &[], "no scripted reply left"));
            if let Some(closed_by) = self.play(&mut socket, reply).await? {
                return Ok(closed_by);
            }
        }
        Ok(ClosedBy::Client)
    }

    fn next_reply(&self, request: &RecordedRequest) -> Option<ScriptedReply> {
        let conversations = &self.conversations;
        let mut conversations = conversations.lock().unwrap_or_else(PoisonError::into_inner);
        if !conversations.is_empty() {
            let first = request.first_user_message().unwrap_or_default();
            let conversation = conversations
                .iter_mut()
                .find(|(text, _)| first.contains(text.as_str()));
            if let Some((_, replies)) = conversation {
                return replies.pop_front();
            }
        }
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.pop_front()
    }

    /// Performs the steps of a reply. Returns `None` if the connection can serve another request.
    async fn play(
        &self,
        socket: &mut impl ResettableStream,
        reply: ScriptedReply,
    ) -> io::Result<Option<ClosedBy>> {
        let mut is_chunked = false;
        for step in reply.steps {
            match step {
                ReplyStep::Head(head) => {
                    is_chunked = head.body.is_none();
                    socket.write_all(&head_bytes(&head)).await?;
                }
                ReplyStep::Chunk(bytes) => {
                    let size = format!("{:x}\r\n", bytes.len());
                    let chunk = [size.as_bytes(), &bytes, b"\r\n"].concat();
                    socket.write_all(&chunk).await?;
                }
                ReplyStep::Gate(name) => tokio::select! {
                    () = self.gates.pass(&name) => {}
                    () = client_disconnected(socket) => return Ok(Some(ClosedBy::Client)),
                },
                ReplyStep::Stall => {
                    client_disconnected(socket).await;
                    return Ok(Some(ClosedBy::Client));
                }
                ReplyStep::Reset => {
                    socket.tcp().set_zero_linger()?;
                    return Ok(Some(ClosedBy::Script));
                }
                ReplyStep::Disconnect => return Ok(Some(ClosedBy::Script)),
            }
            socket.flush().await?;
        }
        if is_chunked {
            socket.write_all(b"0\r\n\r\n").await?;
            socket.flush().await?;
        }
        Ok(None)
    }
}

/// Waits until the client closes its end, discarding anything it still sends.
async fn client_disconnected(socket: &mut impl ResettableStream) {
    let mut byte = [0];
    while let Ok(1..) = socket.read(&mut byte).await {}
}

fn head_bytes(head: &ReplyHead) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {} Scripted\r\n", head.status);
    let mut line = |name: &str, value: &str| {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    };
    for (name, value) in &head.headers {
        line(name, value);
    }
    match &head.body {
        Some(body) => line("content-length", &body.len().to_string()),
        None => line("transfer-encoding", "chunked"),
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(head.body.as_deref().unwrap_or_default());
    bytes
}
