//! Sockets: the Rust half of `net`, client and server, over TCP and Unix sockets.

use std::cell::RefCell;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::{NativeError, NativeFuture, Request};
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
}

type Reader = Box<dyn AsyncRead + Unpin>;
type Writer = Box<dyn AsyncWrite + Unpin>;

struct Socket {
    reader: Mutex<Reader>,
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
        reader: Mutex::new(reader),
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

async fn keep_secure(
    realm: &Rc<Realm>,
    stream: TcpStream,
    server: &str,
    protocols: &[String],
) -> Result<Reply, NativeError> {
    let remote = stream
        .peer_addr()
        .map(|address| (address.ip().to_string(), address.port()))
        .ok();
    let stream = super::secure::handshake(stream, server, protocols).await?;
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
    Ok(Reply::Json(
        json!({ "id": id, "remote": remote, "protocol": protocol, "version": version }),
    ))
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
        return keep_secure(realm, stream, server, &arguments.protocols).await;
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
