use pretty_assertions::assert_eq;
use tokio::sync::mpsc;

use super::*;
use crate::fuzz_support::{NoObserver, SentMessages};

struct TestServer {
    client: Client,
    received: mpsc::UnboundedReceiver<Value>,
}

impl TestServer {
    fn new() -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let connect = |_inbox| Ok(Box::new(SentMessages(sender)) as Box<dyn Transport>);
        let client = Client::start(Path::new("/tmp/project"), Box::new(NoObserver), connect);
        Self {
            client: client.unwrap(),
            received,
        }
    }

    async fn next(&mut self) -> Value {
        self.received.recv().await.unwrap()
    }

    fn say(&self, message: Value) {
        self.client.0.receive(message);
    }

    /// Answers the next request.
    async fn answer(&mut self, result: Value) -> Value {
        let request = self.next().await;
        self.say(JsonRpcMessage::response(&request["id"], Ok(result)));
        request
    }
}

fn options() -> RequestOptions {
    RequestOptions::new(Duration::from_secs(10))
}

#[tokio::test]
async fn the_handshake_requests_the_latest_version() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let handshake = tokio::spawn(async move {
        client
            .initialize(json!({"roots": {}}), Duration::from_secs(10))
            .await
    });
    let result = json!({
        "protocolVersion": "2025-03-26",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
        "instructions": " Use it. ",
    });
    let request = server.answer(result).await;
    assert_eq!(
        request["params"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "pi", "version": pi_env::VERSION},
        })
    );
    assert_eq!(
        server.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
    );
    let info = handshake.await.unwrap().unwrap();
    assert!(info.has_tools && !info.has_resources);
    assert_eq!(info.instructions.as_deref(), Some("Use it."));
}

#[tokio::test]
async fn unsupported_versions_and_invalid_results_are_errors() {
    for result in [
        json!({"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}),
        json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        json!(null),
    ] {
        let mut server = TestServer::new();
        let client = server.client.clone();
        let handshake = tokio::spawn(async move {
            client
                .initialize(json!({"roots": {}}), Duration::from_secs(10))
                .await
        });
        server.answer(result).await;
        assert!(matches!(
            handshake.await.unwrap(),
            Err(McpError::Protocol(_))
        ));
    }
}

#[tokio::test]
async fn requests_of_the_server_are_answered() {
    let mut server = TestServer::new();
    for (method, expected) in [
        ("ping", json!({"result": {}})),
        (
            "roots/list",
            json!({"result": {"roots": [{"uri": "file:///tmp/project", "name": "project"}]}}),
        ),
    ] {
        server.say(json!({"jsonrpc": "2.0", "id": "a", "method": method}));
        let reply = server.next().await;
        assert_eq!(reply["id"], json!("a"));
        assert_eq!(reply["result"], expected["result"]);
    }
    server.say(json!({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"}));
    assert_eq!(
        server.next().await["error"]["code"],
        json!(JsonRpcError::METHOD_NOT_FOUND)
    );
}

#[tokio::test(start_paused = true)]
async fn progress_renews_the_timeout() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let (progress, mut reported) = mpsc::unbounded_channel();
    let call = tokio::spawn(async move {
        let progress: ProgressReporter = Arc::new(move |params| {
            progress.send(params["progress"].clone()).unwrap();
        });
        let options = RequestOptions {
            progress: Some(progress),
            ..options()
        };
        client.request("tools/call", None, options).await
    });
    let request = server.next().await;
    let token = &request["params"]["_meta"]["progressToken"];
    assert_eq!(token, &request["id"]);
    for step in 1..4 {
        tokio::time::sleep(Duration::from_secs(6)).await;
        let params = json!({"progressToken": token, "progress": step});
        server.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
        assert_eq!(reported.recv().await, Some(json!(step)));
    }
    assert_eq!(
        call.await.unwrap(),
        Err(McpError::TimedOut(Duration::from_secs(10)))
    );
    let notice = server.next().await;
    assert_eq!(notice["method"], json!("notifications/cancelled"));
    assert_eq!(notice["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_canceled_request_is_reported_to_the_server() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let cancel = CancellationToken::new();
    let options = RequestOptions {
        cancel: cancel.clone(),
        ..options()
    };
    let call = tokio::spawn(async move { client.request("tools/call", None, options).await });
    let request = server.next().await;
    cancel.cancel();
    assert_eq!(call.await.unwrap(), Err(McpError::Canceled));
    assert_eq!(server.next().await["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_lost_connection_fails_what_is_pending() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let call = tokio::spawn(async move { client.request("tools/call", None, options()).await });
    server.next().await;
    server.client.0.connection_lost();
    assert_eq!(call.await.unwrap(), Err(McpError::Closed));
    assert!(!server.client.is_connected());
    let next = server.client.request("ping", None, options()).await;
    assert_eq!(next, Err(McpError::Closed));
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let list = tokio::spawn(async move { client.list_all(ListKind::Resources, &options()).await });
    let request = server
        .answer(json!({"resources": [{"uri": "a:1"}], "nextCursor": "2"}))
        .await;
    assert_eq!(request.get("params"), None);
    let request = server
        .answer(json!({"resources": [{"uri": "a:2", "name": "two"}], "nextCursor": null}))
        .await;
    assert_eq!(request["params"], json!({"cursor": "2"}));
    let items = list.await.unwrap().unwrap();
    let names: Vec<_> = items.iter().map(|item| item["name"].clone()).collect();
    assert_eq!(names, [json!("a:1"), json!("two")]);
}

#[tokio::test]
async fn repeated_pages_and_invalid_items_are_errors() {
    let mut server = TestServer::new();
    let client = server.client.clone();
    let list = tokio::spawn(async move { client.list_all(ListKind::Tools, &options()).await });
    for _ in 0..2 {
        server.answer(json!({"tools": [], "nextCursor": "x"})).await;
    }
    assert!(matches!(list.await.unwrap(), Err(McpError::Protocol(_))));
    for page in [
        json!({"tools": [{"name": "x"}]}),
        json!({"tools": {}}),
        json!({"tools": [1]}),
        json!({"tools": [], "nextCursor": 1}),
        json!([]),
    ] {
        assert!(ListKind::Tools.parse(page.clone()).is_err(), "{page}");
    }
}

#[tokio::test]
async fn lists_without_end_are_errors() {
    let large = json!({"uri": "a:1", "description": "x".repeat(8 << 20)});
    let small = json!({"uri": "a:1"});
    for (item, per_page, pages) in [(large, 1, 8), (small.clone(), 5_000, 5), (small, 1, 1_000)] {
        let mut server = TestServer::new();
        let client = server.client.clone();
        let list = async move { client.list_all(ListKind::Resources, &options()).await };
        let list = tokio::spawn(list);
        for page in 0..pages {
            assert!(!list.is_finished(), "page {page} of {pages}");
            let items = vec![item.clone(); per_page];
            let result = json!({"resources": items, "nextCursor": page.to_string()});
            server.answer(result).await;
        }
        assert!(matches!(list.await.unwrap(), Err(McpError::Protocol(_))));
    }
}

/// A transport to a server that does not read.
struct BlockedTransport(Arc<AtomicUsize>);

impl Transport for BlockedTransport {
    fn send(&self, _message: Value) -> BoxFuture<'static, Result<(), McpError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::pending())
    }

    fn set_protocol_version(&self, _version: &str) {}

    fn close(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn requests_without_end_fill_no_memory() {
    let sent = Arc::new(AtomicUsize::new(0));
    let transport = BlockedTransport(Arc::clone(&sent));
    let connect = |_inbox| Ok(Box::new(transport) as Box<dyn Transport>);
    let client = Client::start(Path::new("/tmp/project"), Box::new(NoObserver), connect);
    let client = client.unwrap();
    for id in 0..10_000 {
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        client.0.receive(ping);
    }
    assert_eq!(sent.load(Ordering::Relaxed), MAX_WAITING_REPLIES);
}
