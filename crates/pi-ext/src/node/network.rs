//! Sockets: the Rust half of `net`, client and server, over TCP and Unix sockets.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Join};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::TlsStream;

use super::{NativeError, NativeFuture, Request, secure};
use crate::engine::{Realm, Reply};

/// Bytes that are handed to JavaScript at a time.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    id: u32,
    host: String,
    port: u16,
    path: Option<String>,
    /// Speaks TLS with a server of this name.
    secure: Option<String>,
    /// What TLS offers to speak.
    protocols: Vec<String>,
    /// Certificates (PEM) to trust in place of the platform's.
    authorities: String,
    /// What a server proves itself with.
    identity: u32,
    certificate: String,
    key: String,
}

type Reader = Box<dyn AsyncRead + Unpin>;
type Writer = Box<dyn AsyncWrite + Unpin>;

struct Socket {
    reader: Mutex<Option<Reader>>,
    writer: Mutex<Option<Writer>>,
    closed: tokio_util::sync::CancellationToken,
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

struct Server {
    listener: Listener,
    closed: tokio_util::sync::CancellationToken,
    path: RefCell<Option<String>>,
}

/// Begins an operation.
pub(super) fn start(realm: &Rc<Realm>, request: Request) -> NativeFuture {
    let realm = Rc::clone(realm);
    Box::pin(async move {
        let arguments: Arguments = request.read()?;
        match request.operation.as_str() {
            "connect" => connect(&realm, &arguments).await,
            "listen" => listen(&realm, &arguments).await,
            "accept" => accept(&realm, arguments.id).await,
            "closeServer" => {
                if let Some(server) = realm.resources.get::<Server>(arguments.id) {
                    server.closed.cancel();
                    if let Some(path) = server.path.borrow_mut().take() {
                        // Gone already is as good.
                        drop(std::fs::remove_file(path));
                    }
                }
                realm.resources.release(arguments.id);
                Ok(Reply::Nothing)
            }
            "secure" => secure(&realm, &arguments).await,
            "identity" => {
                let Arguments {
                    certificate,
                    key,
                    protocols,
                    ..
                } = &arguments;
                let identity = secure::identity(certificate, key, protocols)?;
                Ok(Reply::Json(json!({ "id": realm.resources.keep(identity) })))
            }
            "secureAccepted" => secure_accepted(&realm, &arguments).await,
            "read" => read(&realm, arguments.id).await,
            "write" => write(&realm, arguments.id, request.bytes.unwrap_or_default()).await,
            "end" => {
                if let Some(socket) = realm.resources.get::<Socket>(arguments.id)
                    && let Some(mut writer) = socket.writer.lock().await.take()
                {
                    // The other side may have gone first.
                    drop(writer.shutdown().await);
                }
                Ok(Reply::Nothing)
            }
            "destroy" => {
                if let Some(socket) = realm.resources.get::<Socket>(arguments.id) {
                    socket.closed.cancel();
                }
                realm.resources.release(arguments.id);
                Ok(Reply::Nothing)
            }
            "lookup" => lookup(&arguments.host).await,
            _ => Err(request.unknown("net")),
        }
    })
}

fn keep(realm: &Rc<Realm>, reader: Reader, writer: Writer) -> u32 {
    realm.resources.keep(Socket {
        reader: Mutex::new(Some(reader)),
        writer: Mutex::new(Some(writer)),
        closed: tokio_util::sync::CancellationToken::new(),
    })
}

fn keep_tcp(realm: &Rc<Realm>, stream: TcpStream) -> Value {
    let address = |address: std::io::Result<std::net::SocketAddr>| {
        address
            .ok()
            .map(|address| (address.ip().to_string(), address.port()))
    };
    let local = address(stream.local_addr());
    let remote = address(stream.peer_addr());
    let (reader, writer) = stream.into_split();
    let id = keep(realm, Box::new(reader), Box::new(writer));
    json!({ "id": id, "local": local, "remote": remote })
}

/// Keeps a connection whose hands are shaken.
fn keep_secure<Stream: AsyncRead + AsyncWrite + Unpin + 'static>(
    realm: &Rc<Realm>,
    stream: TlsStream<Stream>,
    remote: Option<&(String, u16)>,
) -> Reply {
    let (_, session) = stream.get_ref();
    let protocol = session
        .alpn_protocol()
        .map(|it| String::from_utf8_lossy(it).into_owned());
    let version = match session.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let (reader, writer) = tokio::io::split(stream);
    let id = keep(realm, Box::new(reader), Box::new(writer));
    Reply::Json(json!({ "id": id, "remote": remote, "protocol": protocol, "version": version }))
}

/// Takes the connection out of a socket, for another protocol over it; a read that is under way ends.
async fn take(realm: &Rc<Realm>, id: u32) -> Result<Join<Reader, Writer>, NativeError> {
    let gone = || NativeError::new("the socket has been closed").with_code("ERR_SOCKET_CLOSED");
    let socket = realm.resources.get::<Socket>(id).ok_or_else(gone)?;
    socket.closed.cancel();
    let reader = socket.reader.lock().await.take();
    let writer = socket.writer.lock().await.take();
    realm.resources.release(id);
    reader
        .zip(writer)
        .map(|(reader, writer)| tokio::io::join(reader, writer))
        .ok_or_else(gone)
}

fn peer<'a>(arguments: &'a Arguments, server: &'a str) -> secure::Peer<'a> {
    secure::Peer {
        server,
        protocols: &arguments.protocols,
        authorities: &arguments.authorities,
    }
}

/// Shakes hands with the server at the other end of a socket.
async fn secure(realm: &Rc<Realm>, arguments: &Arguments) -> Result<Reply, NativeError> {
    let server = arguments.secure.as_deref().unwrap_or("localhost");
    let stream = take(realm, arguments.id).await?;
    let stream = secure::handshake(stream, &peer(arguments, server)).await?;
    Ok(keep_secure(realm, stream.into(), None))
}

/// Shakes hands with the client at the other end of a socket.
async fn secure_accepted(realm: &Rc<Realm>, arguments: &Arguments) -> Result<Reply, NativeError> {
    let identity = realm
        .resources
        .get::<secure::Identity>(arguments.identity)
        .ok_or_else(|| NativeError::new("the server has no certificate"))?;
    let stream = take(realm, arguments.id).await?;
    let stream = secure::accept(stream, &identity).await?;
    Ok(keep_secure(realm, stream.into(), None))
}

#[cfg(unix)]
fn keep_unix(realm: &Rc<Realm>, stream: tokio::net::UnixStream) -> Value {
    let (reader, writer) = stream.into_split();
    json!({ "id": keep(realm, Box::new(reader), Box::new(writer)) })
}

async fn connect(realm: &Rc<Realm>, arguments: &Arguments) -> Result<Reply, NativeError> {
    #[cfg(unix)]
    if let Some(path) = &arguments.path {
        let stream = tokio::net::UnixStream::connect(path)
            .await
            .map_err(|error| NativeError::from_io(&error, "connect", Some(path)))?;
        return Ok(Reply::Json(keep_unix(realm, stream)));
    }
    let stream = TcpStream::connect((arguments.host.as_str(), arguments.port)).await;
    let stream = stream.map_err(|error| {
        let place = format!("{}:{}", arguments.host, arguments.port);
        NativeError::from_io(&error, "connect", Some(&place))
    })?;
    if let Some(server) = &arguments.secure {
        let address = stream.peer_addr().ok();
        let remote = address.map(|address| (address.ip().to_string(), address.port()));
        let stream = secure::handshake(stream, &peer(arguments, server)).await?;
        return Ok(keep_secure(realm, stream.into(), remote.as_ref()));
    }
    Ok(Reply::Json(keep_tcp(realm, stream)))
}

async fn listen(realm: &Rc<Realm>, arguments: &Arguments) -> Result<Reply, NativeError> {
    let closed = tokio_util::sync::CancellationToken::new();
    #[cfg(unix)]
    if let Some(path) = &arguments.path {
        let listener = tokio::net::UnixListener::bind(path)
            .map_err(|error| NativeError::from_io(&error, "listen", Some(path)))?;
        let path = RefCell::new(Some(path.clone()));
        let id = realm.resources.keep(Server {
            listener: Listener::Unix(listener),
            closed,
            path,
        });
        return Ok(Reply::Json(json!({ "id": id })));
    }
    let failed = |error: std::io::Error| {
        let place = format!("{}:{}", arguments.host, arguments.port);
        NativeError::from_io(&error, "listen", Some(&place))
    };
    let listener = TcpListener::bind((arguments.host.as_str(), arguments.port))
        .await
        .map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let server = Server {
        listener: Listener::Tcp(listener),
        closed,
        path: RefCell::new(None),
    };
    let id = realm.resources.keep(server);
    let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    Ok(Reply::Json(json!({
        "id": id, "address": address.ip().to_string(), "port": address.port(), "family": family,
    })))
}

/// Waits for a connection; nothing when the server was closed.
async fn accept(realm: &Rc<Realm>, id: u32) -> Result<Reply, NativeError> {
    let Some(server) = realm.resources.get::<Server>(id) else {
        return Ok(Reply::Nothing);
    };
    let accepted = async {
        match &server.listener {
            Listener::Tcp(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| keep_tcp(realm, stream)),
            #[cfg(unix)]
            Listener::Unix(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| keep_unix(realm, stream)),
        }
    };
    match server.closed.run_until_cancelled(accepted).await {
        Some(Ok(socket)) => Ok(Reply::Json(socket)),
        Some(Err(error)) => Err(NativeError::from_io(&error, "accept", None)),
        None => Ok(Reply::Nothing),
    }
}

/// Reads what there is; nothing at the end.
async fn read(realm: &Rc<Realm>, id: u32) -> Result<Reply, NativeError> {
    let Some(socket) = realm.resources.get::<Socket>(id) else {
        return Ok(Reply::Nothing);
    };
    let mut reader = socket.reader.lock().await;
    let Some(reader) = reader.as_mut() else {
        return Ok(Reply::Nothing);
    };
    let mut buffer = vec![0; CHUNK];
    match socket
        .closed
        .run_until_cancelled(reader.read(&mut buffer))
        .await
    {
        None | Some(Ok(0)) => Ok(Reply::Nothing),
        Some(Ok(count)) => {
            buffer.truncate(count);
            Ok(Reply::Bytes(buffer))
        }
        Some(Err(error)) => Err(NativeError::from_io(&error, "read", None)),
    }
}

async fn write(realm: &Rc<Realm>, id: u32, bytes: Vec<u8>) -> Result<Reply, NativeError> {
    let Some(socket) = realm.resources.get::<Socket>(id) else {
        return Err(NativeError::new("the socket has been closed").with_code("ERR_SOCKET_CLOSED"));
    };
    let mut writer = socket.writer.lock().await;
    let Some(writer) = writer.as_mut() else {
        return Err(NativeError::new("write after end").with_code("ERR_STREAM_WRITE_AFTER_END"));
    };
    let written = async {
        writer.write_all(&bytes).await?;
        writer.flush().await
    };
    match socket.closed.run_until_cancelled(written).await {
        Some(Err(error)) => Err(NativeError::from_io(&error, "write", None)),
        Some(Ok(())) | None => Ok(Reply::Nothing),
    }
}

async fn lookup(host: &str) -> Result<Reply, NativeError> {
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|_why| {
        NativeError::new(format!("getaddrinfo ENOTFOUND {host}")).with_code("ENOTFOUND")
    })?;
    let mut addresses: Vec<Value> = Vec::new();
    for address in found {
        let family = if address.is_ipv6() { 6 } else { 4 };
        let entry = json!({ "address": address.ip().to_string(), "family": family });
        if !addresses.contains(&entry) {
            addresses.push(entry);
        }
    }
    Ok(Reply::Json(Value::Array(addresses)))
}
