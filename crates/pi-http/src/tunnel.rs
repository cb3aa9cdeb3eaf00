//! The connection under a WebSocket: TCP, optionally through a proxy tunnel, and TLS.

use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_protocol::ProviderError;
use reqwest::Url;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::client::HttpClient;
use super::network_error::{Route, connect_error};
use super::proxy;

/// Limit for a proxy's response to a CONNECT request.
const MAX_TUNNEL_HEAD: usize = 16 * 1024;

/// A bidirectional connection over TCP, TLS or a tunnel.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<Socket: AsyncRead + AsyncWrite + Send + Unpin> Duplex for Socket {}

/// Opens a connection to the target, through a tunnel if there is a proxy.
pub(crate) async fn open(
    http: &HttpClient,
    target: &Url,
    proxy: Option<&Url>,
    route: &Route,
) -> Result<Box<dyn Duplex>, ProviderError> {
    let failed = |error: io::Error| connect_error(&error, route);
    let socket: Box<dyn Duplex> = match proxy {
        None => Box::new(connect_tcp(target).await.map_err(failed)?),
        Some(proxy) => {
            let socket: Box<dyn Duplex> = match proxy.scheme() {
                "http" => Box::new(connect_tcp(proxy).await.map_err(failed)?),
                "https" => {
                    let socket = connect_tcp(proxy).await.map_err(failed)?;
                    connect_tls(http, proxy, Box::new(socket), route).await?
                }
                other => {
                    return Err(ProviderError::network(format!(
                        "WebSocket error: {other} proxies are not supported for WebSockets"
                    )));
                }
            };
            open_tunnel(socket, target, proxy, route).await?
        }
    };
    match target.scheme() {
        "wss" => connect_tls(http, target, socket, route).await,
        _ => Ok(socket),
    }
}

async fn connect_tcp(endpoint: &Url) -> io::Result<TcpStream> {
    let port = endpoint.port_or_known_default().unwrap_or(80);
    let socket = TcpStream::connect((proxy::host(endpoint), port)).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

async fn connect_tls(
    http: &HttpClient,
    endpoint: &Url,
    socket: Box<dyn Duplex>,
    route: &Route,
) -> Result<Box<dyn Duplex>, ProviderError> {
    let config = http.tls()?;
    let name = ServerName::try_from(proxy::host(endpoint))
        .map_err(|_invalid| ProviderError::invalid("The URL has an invalid host name"))?;
    let connector = TlsConnector::from(config);
    let tls_stream = connector.connect(name, socket).await;
    Ok(Box::new(
        tls_stream.map_err(|error| connect_error(&error, route))?,
    ))
}

/// Requests a tunnel to the target from a proxy.
async fn open_tunnel(
    mut socket: Box<dyn Duplex>,
    target: &Url,
    proxy: &Url,
    route: &Route,
) -> Result<Box<dyn Duplex>, ProviderError> {
    let failed = |error: io::Error| connect_error(&error, route);
    let host = target.host_str().unwrap_or_default();
    let port = target.port_or_known_default().unwrap_or(443);
    let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
    if let Some(credentials) = proxy_credentials(proxy) {
        request.extend(["Proxy-Authorization: ", &credentials, "\r\n"]);
    }
    request.push_str("\r\n");
    socket.write_all(request.as_bytes()).await.map_err(failed)?;
    socket.flush().await.map_err(failed)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_TUNNEL_HEAD {
            return Err(ProviderError::protocol(format!(
                "The proxy sent an oversized response to the tunnel request for {route}"
            )));
        }
        // Byte by byte, so that none of the target's bytes are consumed.
        head.push(socket.read_u8().await.map_err(failed)?);
    }
    let head = String::from_utf8_lossy(&head);
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    if status.starts_with('2') {
        return Ok(socket);
    }
    Err(ProviderError::network(format!(
        "Connection error: the proxy refused a tunnel to {route} with status {status}"
    )))
}

fn proxy_credentials(proxy: &Url) -> Option<String> {
    if proxy.username().is_empty() {
        return None;
    }
    let pair = [proxy.username(), proxy.password().unwrap_or_default()].map(percent_decoded);
    let encoded = BASE64_STANDARD.encode(pair.join(&b':'));
    Some(format!("Basic {encoded}"))
}

/// Decodes percent escapes in the user name and password of a URL.
fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().iter();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(&byte) = bytes.next() {
        let escaped = (byte == b'%')
            .then(|| bytes.as_slice().first_chunk::<2>())
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(escaped) => {
                decoded.push(escaped);
                bytes.nth(1);
            }
            None => decoded.push(byte),
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_proxy_credentials_are_decoded() {
        for (text, expected) in [
            ("a%40b", "a@b"),
            ("100%", "100%"),
            ("%4", "%4"),
            ("%zz", "%zz"),
        ] {
            assert_eq!(percent_decoded(text), expected.as_bytes(), "{text}");
        }
    }
}
