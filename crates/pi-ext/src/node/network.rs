//! Sockets: native half of `net` and `tls`, client and server, over TCP and Unix sockets.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Join};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio_rustls::TlsStream;

use super::{NativeError, NativeFuture, NativeRequest, tls};
use crate::engine::{NativeReply, Realm};

/// Maximum size of a chunk passed to JavaScript.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NetArguments {
    id: u32,
    host: String,
    port: u16,
    path: Option<String>,
    /// Server name for TLS. `None` means plain TCP.
    secure: Option<String>,
    /// ALPN protocols.
    protocols: Vec<String>,
    /// PEM certificates to trust instead of the platform's.
    authorities: String,
    /// ID of the server's certificate and key.
    identity: u32,
    certificate: String,
    key: String,
}

type SocketReader = Box<dyn AsyncRead + Unpin>;
type SocketWriter = Box<dyn AsyncWrite + Unpin>;

struct NetSocket {
    reader: Mutex<Option<SocketReader>>,
    writer: Mutex<Option<SocketWriter>>,
    closed: tokio_util::sync::CancellationToken,
}

enum NetListener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(tokio::net::UnixListener),
}

struct NetServer {
    listener: NetListener,
    closed: tokio_util::sync::CancellationToken,
    path: RefCell<Option<String>>,
}

/// Starts an operation.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let realm = Rc::clone(realm);
    Box::pin(async move {
        let arguments: NetArguments = request.read()?;
        match request.operation.as_str() {
            "connect" => connect(&realm, &arguments).await,
            "listen" => listen(&realm, &arguments).await,
            "accept" => accept(&realm, arguments.id).await,
            "closeServer" => {
                if let Some(server) = realm.resources.get::<NetServer>(arguments.id) {
                    server.closed.cancel();
                    if let Some(path) = server.path.borrow_mut().take() {
                        // The socket file may already have been removed.
                        drop(std::fs::remove_file(path));
                    }
                }
                realm.resources.release(arguments.id);
                Ok(NativeReply::Nothing)
            }
            "secure" => connect_tls(&realm, &arguments).await,
            "identity" => {
                let NetArguments {
                    certificate,
                    key,
                    protocols,
                    ..
                } = &arguments;
                let identity = tls::identity(certificate, key, protocols)?;
                Ok(NativeReply::Json(
                    json!({ "id": realm.resources.insert(identity) }),
                ))
            }
            "secureAccepted" => accept_tls(&realm, &arguments).await,
            "read" => read(&realm, arguments.id).await,
            "write" => write(&realm, arguments.id, request.bytes.unwrap_or_default()).await,
            "end" => {
                if let Some(socket) = realm.resources.get::<NetSocket>(arguments.id)
                    && let Some(mut writer) = socket.writer.lock().await.take()
                {
                    // The peer may already have disconnected.
                    drop(writer.shutdown().await);
                }
                Ok(NativeReply::Nothing)
            }
            "destroy" => {
                if let Some(socket) = realm.resources.get::<NetSocket>(arguments.id) {
                    socket.closed.cancel();
                }
                realm.resources.release(arguments.id);
                Ok(NativeReply::Nothing)
            }
            "lookup" => lookup(&arguments.host).await,
            _ => Err(request.unknown("net")),
        }
    })
}

fn add_socket(realm: &Rc<Realm>, reader: SocketReader, writer: SocketWriter) -> u32 {
    realm.resources.insert(NetSocket {
        reader: Mutex::new(Some(reader)),
        writer: Mutex::new(Some(writer)),
        closed: tokio_util::sync::CancellationToken::new(),
    })
}

fn add_tcp_socket(realm: &Rc<Realm>, stream: TcpStream) -> Value {
    let address = |address: std::io::Result<std::net::SocketAddr>| {
        address
            .ok()
            .map(|address| (address.ip().to_string(), address.port()))
    };
    let local = address(stream.local_addr());
    let remote = address(stream.peer_addr());
    let (reader, writer) = stream.into_split();
    let id = add_socket(realm, Box::new(reader), Box::new(writer));
    json!({ "id": id, "local": local, "remote": remote })
}

/// Adds a TLS connection after its handshake.
fn add_tls_socket<Stream: AsyncRead + AsyncWrite + Unpin + 'static>(
    realm: &Rc<Realm>,
    stream: TlsStream<Stream>,
    remote: Option<&(String, u16)>,
) -> NativeReply {
    let (_, session) = stream.get_ref();
    let protocol = session
        .alpn_protocol()
        .map(|it| String::from_utf8_lossy(it).into_owned());
    let version = match session.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
        _ => "TLSv1.2",
    };
    let (reader, writer) = tokio::io::split(stream);
    let id = add_socket(realm, Box::new(reader), Box::new(writer));
    NativeReply::Json(
        json!({ "id": id, "remote": remote, "protocol": protocol, "version": version }),
    )
}

/// Takes the connection out of a socket, to layer TLS on top. Cancels a pending read.
async fn take_connection(
    realm: &Rc<Realm>,
    id: u32,
) -> Result<Join<SocketReader, SocketWriter>, NativeError> {
    let closed = || NativeError::new("the socket has been closed").with_code("ERR_SOCKET_CLOSED");
    let socket = realm.resources.get::<NetSocket>(id).ok_or_else(closed)?;
    socket.closed.cancel();
    let reader = socket.reader.lock().await.take();
    let writer = socket.writer.lock().await.take();
    realm.resources.release(id);
    reader
        .zip(writer)
        .map(|(reader, writer)| tokio::io::join(reader, writer))
        .ok_or_else(closed)
}

fn tls_peer<'a>(arguments: &'a NetArguments, server: &'a str) -> tls::TlsPeer<'a> {
    tls::TlsPeer {
        server,
        protocols: &arguments.protocols,
        authorities: &arguments.authorities,
    }
}

/// Performs a TLS handshake as client on an existing socket.
async fn connect_tls(
    realm: &Rc<Realm>,
    arguments: &NetArguments,
) -> Result<NativeReply, NativeError> {
    let server = arguments.secure.as_deref().unwrap_or("localhost");
    let stream = take_connection(realm, arguments.id).await?;
    let stream = tls::handshake(stream, &tls_peer(arguments, server)).await?;
    Ok(add_tls_socket(realm, stream.into(), None))
}

/// Performs a TLS handshake as server on an accepted socket.
async fn accept_tls(
    realm: &Rc<Realm>,
    arguments: &NetArguments,
) -> Result<NativeReply, NativeError> {
    let identity = realm
        .resources
        .get::<tls::ServerIdentity>(arguments.identity)
        .ok_or_else(|| NativeError::new("the server has no certificate"))?;
    let stream = take_connection(realm, arguments.id).await?;
    let stream = tls::accept(stream, &identity).await?;
    Ok(add_tls_socket(realm, stream.into(), None))
}

#[cfg(unix)]
fn add_unix_socket(realm: &Rc<Realm>, stream: tokio::net::UnixStream) -> Value {
    let (reader, writer) = stream.into_split();
    json!({ "id": add_socket(realm, Box::new(reader), Box::new(writer)) })
}

async fn connect(realm: &Rc<Realm>, arguments: &NetArguments) -> Result<NativeReply, NativeError> {
    #[cfg(unix)]
    if let Some(path) = &arguments.path {
        let stream = tokio::net::UnixStream::connect(path)
            .await
            .map_err(|error| NativeError::from_io(&error, "connect", Some(path)))?;
        return Ok(NativeReply::Json(add_unix_socket(realm, stream)));
    }
    let stream = TcpStream::connect((arguments.host.as_str(), arguments.port)).await;
    let stream = stream.map_err(|error| {
        let address_text = format!("{}:{}", arguments.host, arguments.port);
        NativeError::from_io(&error, "connect", Some(&address_text))
    })?;
    if let Some(server) = &arguments.secure {
        let address = stream.peer_addr().ok();
        let remote = address.map(|address| (address.ip().to_string(), address.port()));
        let stream = tls::handshake(stream, &tls_peer(arguments, server)).await?;
        return Ok(add_tls_socket(realm, stream.into(), remote.as_ref()));
    }
    Ok(NativeReply::Json(add_tcp_socket(realm, stream)))
}

async fn listen(realm: &Rc<Realm>, arguments: &NetArguments) -> Result<NativeReply, NativeError> {
    let closed = tokio_util::sync::CancellationToken::new();
    #[cfg(unix)]
    if let Some(path) = &arguments.path {
        let listener = tokio::net::UnixListener::bind(path)
            .map_err(|error| NativeError::from_io(&error, "listen", Some(path)))?;
        let path = RefCell::new(Some(path.clone()));
        let id = realm.resources.insert(NetServer {
            listener: NetListener::Unix(listener),
            closed,
            path,
        });
        return Ok(NativeReply::Json(json!({ "id": id })));
    }
    let failed = |error: std::io::Error| {
        let address_text = format!("{}:{}", arguments.host, arguments.port);
        NativeError::from_io(&error, "listen", Some(&address_text))
    };
    let listener = TcpListener::bind((arguments.host.as_str(), arguments.port))
        .await
        .map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let server = NetServer {
        listener: NetListener::Tcp(listener),
        closed,
        path: RefCell::new(None),
    };
    let id = realm.resources.insert(server);
    let family = if address.is_ipv6() { "IPv6" } else { "IPv4" };
    Ok(NativeReply::Json(json!({
        "id": id, "address": address.ip().to_string(), "port": address.port(), "family": family,
    })))
}

/// Waits for a connection. Returns nothing once the server is closed.
async fn accept(realm: &Rc<Realm>, id: u32) -> Result<NativeReply, NativeError> {
    let Some(server) = realm.resources.get::<NetServer>(id) else {
        return Ok(NativeReply::Nothing);
    };
    let accepted = async {
        match &server.listener {
            NetListener::Tcp(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| add_tcp_socket(realm, stream)),
            #[cfg(unix)]
            NetListener::Unix(listener) => listener
                .accept()
                .await
                .map(|(stream, _)| add_unix_socket(realm, stream)),
        }
    };
    match server.closed.run_until_cancelled(accepted).await {
        Some(Ok(socket)) => Ok(NativeReply::Json(socket)),
        Some(Err(error)) => Err(NativeError::from_io(&error, "accept", None)),
        None => Ok(NativeReply::Nothing),
    }
}

/// Reads available bytes. Returns nothing at the end of the stream.
async fn read(realm: &Rc<Realm>, id: u32) -> Result<NativeReply, NativeError> {
    let Some(socket) = realm.resources.get::<NetSocket>(id) else {
        return Ok(NativeReply::Nothing);
    };
    let mut reader = socket.reader.lock().await;
    let Some(reader) = reader.as_mut() else {
        return Ok(NativeReply::Nothing);
    };
    let mut buffer = vec![0; CHUNK];
    match socket
        .closed
        .run_until_cancelled(reader.read(&mut buffer))
        .await
    {
        None | Some(Ok(0)) => Ok(NativeReply::Nothing),
        Some(Ok(count)) => {
            buffer.truncate(count);
            Ok(NativeReply::Bytes(buffer))
        }
        Some(Err(error)) => Err(NativeError::from_io(&error, "read", None)),
    }
}

async fn write(realm: &Rc<Realm>, id: u32, bytes: Vec<u8>) -> Result<NativeReply, NativeError> {
    let Some(socket) = realm.resources.get::<NetSocket>(id) else {
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
        Some(Ok(())) | None => Ok(NativeReply::Nothing),
    }
}

async fn lookup(host: &str) -> Result<NativeReply, NativeError> {
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
    Ok(NativeReply::Json(Value::Array(addresses)))
}
