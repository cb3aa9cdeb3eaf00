//! An HTTP/1.1 server on the loopback interface that follows a script, one reply per request.

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

use crate::certificate::TestAuthority;
use crate::gate::Gates;
use crate::http1::{RecordedRequest, read_request};
use crate::reply::{Head, Reply, Step};

/// A running server; dropping it closes every connection.
#[derive(Debug)]
pub struct GatedServer {
    address: SocketAddr,
    scheme: &'static str,
    script: Arc<Script>,
    _accepting: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    gates: Gates,
    requests: watch::Sender<Vec<RecordedRequest>>,
    /// The numbers of connections that the client has closed.
    left: watch::Sender<Vec<usize>>,
}

impl GatedServer {
    /// Starts a server that gives these replies, in the order requests arrive.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen(replies, None).await
    }

    /// Starts a server that speaks TLS with a certificate for `localhost` and `127.0.0.1`.
    pub async fn start_tls(
        authority: &TestAuthority,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Self {
        Self::listen(replies, Some(authority.acceptor())).await
    }

    async fn listen(replies: impl IntoIterator<Item = Reply>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let script = Arc::new(Script {
            replies: Mutex::new(replies.into_iter().collect()),
            ..Script::default()
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

    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the server, without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Opens a gate, for good.
    pub fn release(&self, gate: &str) {
        self.script.gates.open(gate);
    }

    /// Waits until the script stops at a gate.
    pub async fn reached(&self, gate: &str) {
        self.script.gates.reached(gate).await;
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.script.requests.borrow().clone()
    }

    /// Waits for the request with this number, the first being 0.
    pub async fn request(&self, number: usize) -> RecordedRequest {
        let mut requests = self.script.requests.subscribe();
        let arrived = requests
            .wait_for(|requests| requests.len() > number)
            .await
            .unwrap();
        arrived.get(number).unwrap().clone()
    }

    /// Waits until the client has closed the connection with this number, the first being 0.
    pub async fn left(&self, connection: usize) {
        let mut left = self.script.left.subscribe();
        left.wait_for(|left| left.contains(&connection))
            .await
            .unwrap();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, script: Arc<Script>) {
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
            // A failed read or write means that the client went away.
            if matches!(outcome, Err(_) | Ok(Ended::ByClient)) {
                script.left.send_modify(|left| left.push(number));
            }
        });
    }
}

/// Who ended a connection.
enum Ended {
    ByClient,
    ByScript,
}

/// A connection that can be reset.
trait Socket: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Socket for Box<TlsStream<TcpStream>> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl Script {
    async fn serve(&self, mut socket: impl Socket, connection: usize) -> io::Result<Ended> {
        socket.tcp().set_nodelay(true)?;
        while let Some(request) = read_request(&mut socket, connection).await? {
            self.requests.send_modify(|requests| requests.push(request));
            let next = self
                .replies
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let reply = next.unwrap_or_else(|| Reply::whole(500, &[], "the script is over"));
            if let Some(ended) = self.answer(&mut socket, reply).await? {
                return Ok(ended);
            }
        }
        Ok(Ended::ByClient)
    }

    /// Follows one reply; `None` when the connection can serve another request.
    async fn answer(&self, socket: &mut impl Socket, reply: Reply) -> io::Result<Option<Ended>> {
        let mut in_chunks = false;
        for step in reply.steps {
            match step {
                Step::Head(head) => {
                    in_chunks = head.body.is_none();
                    socket.write_all(&head_bytes(&head)).await?;
                }
                Step::Chunk(bytes) => {
                    let size = format!("{:x}\r\n", bytes.len());
                    let chunk = [size.as_bytes(), &bytes, b"\r\n"].concat();
                    socket.write_all(&chunk).await?;
                }
                Step::Gate(name) => tokio::select! {
                    () = self.gates.pass(&name) => {}
                    () = client_gone(socket) => return Ok(Some(Ended::ByClient)),
                },
                Step::Stall => {
                    client_gone(socket).await;
                    return Ok(Some(Ended::ByClient));
                }
                Step::Reset => {
                    socket.tcp().set_zero_linger()?;
                    return Ok(Some(Ended::ByScript));
                }
                Step::Cut => return Ok(Some(Ended::ByScript)),
            }
            socket.flush().await?;
        }
        if in_chunks {
            socket.write_all(b"0\r\n\r\n").await?;
            socket.flush().await?;
        }
        Ok(None)
    }
}

/// Waits until the client closes its end. A client that has sent a request says nothing more.
async fn client_gone(socket: &mut impl Socket) {
    let mut byte = [0];
    while let Ok(1..) = socket.read(&mut byte).await {}
}

fn head_bytes(head: &Head) -> Vec<u8> {
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
