//! An HTTP proxy that records requests and forwards all of them to one server.

use std::net::SocketAddr;

use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::http1::{RecordedRequest, read_request};

/// A running proxy. It does not resolve host names: every target is forwarded to the same server.
#[derive(Debug)]
pub struct RecordingProxy {
    address: SocketAddr,
    requests: watch::Sender<Vec<RecordedRequest>>,
    _accepting: JoinSet<()>,
}

impl RecordingProxy {
    /// Starts a proxy in front of `server`.
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = watch::Sender::default();
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, server, requests.clone()));
        Self {
            address,
            requests,
            _accepting: accepting,
        }
    }

    /// Returns the proxy's URL, including a user name and a password.
    pub fn url(&self) -> String {
        format!("http://user:pass@{}", self.address)
    }

    /// Returns all requests so far, both `CONNECT` and forwarded ones.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.borrow().clone()
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    requests: watch::Sender<Vec<RecordedRequest>>,
) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let Ok((mut client, _)) = listener.accept().await else {
            return;
        };
        let requests = requests.clone();
        connections.spawn(async move {
            let Ok(Some(request)) = read_request(&mut client, number).await else {
                return;
            };
            requests.send_modify(|requests| requests.push(request.clone()));
            let mut upstream = TcpStream::connect(server).await.unwrap();
            if request.method == "CONNECT" {
                client
                    .write_all(b"HTTP/1.1 200 Connected\r\n\r\n")
                    .await
                    .unwrap();
            } else {
                upstream.write_all(&forwarded(&request)).await.unwrap();
            }
            // Either side may disconnect at any time, which ends the tunnel.
            copy_bidirectional(&mut client, &mut upstream).await.ok();
        });
    }
}

fn forwarded(request: &RecordedRequest) -> Vec<u8> {
    let path = request
        .target
        .splitn(4, '/')
        .nth(3)
        .map_or_else(|| "/".to_owned(), |path| format!("/{path}"));
    let mut head = format!("{} {path} HTTP/1.1\r\n", request.method);
    for (name, value) in &request.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    [head.as_bytes(), &request.body].concat()
}
