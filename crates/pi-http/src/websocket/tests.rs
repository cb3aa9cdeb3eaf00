use std::collections::BTreeMap;

use pi_protocol::ErrorClass;
use pi_test_support::{RecordingProxy, ScriptedReply, ScriptedServer, TestCertAuthority};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::*;
use crate::HttpSettings;

type ServerSocket = WebSocketStream<Box<dyn Duplex>>;

/// A server that accepts WebSocket connections.
struct WebSocketServer {
    listener: TcpListener,
    authority: Option<TestCertAuthority>,
}

impl WebSocketServer {
    async fn start() -> Self {
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            authority: None,
        }
    }

    fn address(&self) -> std::net::SocketAddr {
        self.listener.local_addr().unwrap()
    }

    fn url(&self) -> String {
        format!("ws://{}/socket", self.address())
    }

    /// Accepts a connection and returns it with the headers of the handshake.
    async fn accept(&self) -> (ServerSocket, BTreeMap<String, String>) {
        let (socket, _) = self.listener.accept().await.unwrap();
        let socket: Box<dyn Duplex> = match &self.authority {
            Some(authority) => Box::new(authority.acceptor().accept(socket).await.unwrap()),
            None => Box::new(socket),
        };
        let mut headers = BTreeMap::new();
        #[expect(
            clippy::result_large_err,
            reason = "the callback's type is the library's"
        )]
        let record = |request: &Request, response: Response| {
            headers = headers::response_head(0, request.headers()).headers;
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(socket, record)
            .await
            .unwrap();
        (socket, headers)
    }
}

fn no_env() -> Env {
    Env::fixed::<&str, &str>([])
}

async fn connect(url: &str) -> Result<(WebSocket, ResponseHead), ProviderError> {
    WebSocket::connect(
        &HttpClient::new(),
        url,
        HeaderOverrides::new(),
        &no_env(),
        None,
    )
    .await
}

async fn connected_pair() -> (WebSocket, ServerSocket) {
    let server = WebSocketServer::start().await;
    let url = server.url();
    let (client, server) = tokio::join!(connect(&url), server.accept());
    (client.unwrap().0, server.0)
}

fn text(message: &str) -> WebSocketMessage {
    WebSocketMessage::Text(message.to_owned())
}

#[tokio::test]
async fn text_is_sent_both_ways_and_pings_are_answered() {
    let (mut client, mut server) = connected_pair().await;
    client.send("hello".to_owned()).await.unwrap();
    assert_eq!(
        server.next().await.unwrap().unwrap(),
        Message::text("hello")
    );
    server.send(Message::Ping("p".into())).await.unwrap();
    server.send(Message::text("one")).await.unwrap();
    server.send(Message::binary("two")).await.unwrap();
    assert_eq!(client.receive(None).await, Ok(text("one")));
    assert_eq!(client.receive(None).await, Ok(text("two")));
    let pong = async { server.next().await.unwrap().unwrap() };
    tokio::select! {
        pong = pong => assert_eq!(pong, Message::Pong("p".into())),
        incoming = client.receive(None) => panic!("unexpected message: {incoming:?}"),
    }
}

#[tokio::test]
async fn the_handshake_sends_the_user_agent_and_the_given_headers() {
    let server = WebSocketServer::start().await;
    let headers = HeaderOverrides::from([
        ("Authorization".to_owned(), Some("Bearer token".to_owned())),
        ("x-none".to_owned(), None),
    ]);
    let (http, env, url) = (HttpClient::new(), no_env(), server.url());
    let connecting = WebSocket::connect(&http, &url, headers, &env, None);
    let (client, (_server, seen)) = tokio::join!(connecting, server.accept());
    assert_eq!(client.unwrap().1.status, 101);
    assert!(seen["user-agent"].starts_with("pi/"));
    assert_eq!(seen["authorization"], "Bearer token");
    assert!(!seen.contains_key("x-none"));
}

#[tokio::test]
async fn a_close_is_reported_with_code_and_reason() {
    let (mut client, mut server) = connected_pair().await;
    let frame = CloseFrame {
        code: 1013.into(),
        reason: "try later".into(),
    };
    server.close(Some(frame)).await.unwrap();
    let expected = WebSocketMessage::Closed {
        code: 1013,
        reason: "try later".to_owned(),
    };
    assert_eq!(client.receive(None).await, Ok(expected));
}

#[tokio::test]
async fn a_dropped_connection_is_a_network_error() {
    let (mut client, server) = connected_pair().await;
    drop(server);
    let error = client.receive(None).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
    assert!(error.message.contains("WebSocket closed"), "{error}");
}

#[tokio::test]
async fn idle_timeout_ignores_pings() {
    let (mut client, mut server) = connected_pair().await;
    server.send(Message::Ping("p".into())).await.unwrap();
    let limit = Some(Duration::from_secs(40));
    let pause = async { tokio::time::pause() };
    let (outcome, ()) = tokio::join!(client.receive(limit), pause);
    let error = outcome.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
    assert!(error.message.contains("timed out after 40s"), "{error}");
}

#[tokio::test]
async fn closing_sends_a_close_frame() {
    let (client, mut server) = connected_pair().await;
    let closing = client.close(1000, "done");
    let (message, ()) = tokio::join!(server.next(), closing);
    let Message::Close(Some(frame)) = message.unwrap().unwrap() else {
        panic!("expected a close frame");
    };
    assert_eq!(
        (u16::from(frame.code), frame.reason.as_str()),
        (1000, "done")
    );
}

#[tokio::test]
async fn a_rejected_handshake_keeps_status_and_body() {
    let server = ScriptedServer::start([ScriptedReply::full(401, &[], "no such token")]).await;
    let error = connect(&format!("ws://{}", server.address()))
        .await
        .unwrap_err();
    assert_eq!((error.class, error.status), (ErrorClass::Auth, Some(401)));
    assert!(error.message.contains("401"), "{error}");
}

#[tokio::test]
async fn a_stalled_handshake_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let (http, env) = (HttpClient::new(), no_env());
    let limit = Some(Duration::from_secs(15));
    let connecting = WebSocket::connect(&http, &url, HeaderOverrides::new(), &env, limit);
    let accepting = async {
        let connection = listener.accept().await.unwrap();
        tokio::time::pause();
        connection
    };
    let (outcome, _connection) = tokio::join!(connecting, accepting);
    let error = outcome.unwrap_err();
    assert!(error.message.contains("timed out after 15s"), "{error}");
}

#[tokio::test]
async fn tls_uses_a_proxy_tunnel_and_verifies_certificates() {
    for trusted in [true, false] {
        let authority = TestCertAuthority::new();
        let other_authority = TestCertAuthority::new();
        let root = if trusted {
            &authority
        } else {
            &other_authority
        }
        .certificate();
        let server = WebSocketServer {
            authority: Some(authority),
            ..WebSocketServer::start().await
        };
        let proxy = RecordingProxy::start(server.address()).await;
        let http = HttpClient::with_settings(HttpSettings::default().with_root(root));
        let env = Env::fixed([("https_proxy", proxy.url())]);
        let url = "wss://api.example.test/socket";
        let connecting = WebSocket::connect(&http, url, HeaderOverrides::new(), &env, None);
        if trusted {
            let (client, (mut server, _)) = tokio::join!(connecting, server.accept());
            server.send(Message::text("hi")).await.unwrap();
            assert_eq!(client.unwrap().0.receive(None).await, Ok(text("hi")));
        } else {
            let rejecting = async {
                let (socket, _) = server.listener.accept().await.unwrap();
                server
                    .authority
                    .as_ref()
                    .unwrap()
                    .acceptor()
                    .accept(socket)
                    .await
                    .is_err()
            };
            let (client, rejected) = tokio::join!(connecting, rejecting);
            let error = client.unwrap_err();
            assert!(rejected);
            assert!(error.message.contains("not trusted"), "{error}");
        }
        let [seen] = &proxy.requests()[..] else {
            panic!("expected one tunnel request");
        };
        assert_eq!(seen.target, "api.example.test:443");
        assert_eq!(
            seen.header("proxy-authorization"),
            Some("Basic dXNlcjpwYXNz")
        );
    }
}
