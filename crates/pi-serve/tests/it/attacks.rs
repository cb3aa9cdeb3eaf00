//! What a page in a browser, another user or a broken client may try.

use std::time::Duration;

use pi_providers::FauxProvider;
use pi_serve::{ListenError, Server};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{TestServer, options};

#[tokio::test]
async fn nothing_works_without_a_credential() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let json = [("Content-Type", "application/json"), ("X-Pi", "1")];
    for row in &pi_serve::ROUTES {
        if row.path == "/v1/login" && row.method == http::Method::POST {
            continue;
        }
        let path = row.path.replace(['{', '}'], "x");
        let method = row.method.as_str();
        let answered = server.send(method, &path, &json, "").await;
        assert_eq!(answered.status, 401, "{method} {path}");
        assert_eq!(answered.header("access-control-allow-origin"), None);
        for credential in [
            ("Authorization", "Bearer x"),
            ("Authorization", "Basic eDp4"),
            ("Cookie", "pi_0=x"),
        ] {
            let headers = [json[0], json[1], credential];
            let status = server.send(method, &path, &headers, "").await.status;
            assert!(matches!(status, 401 | 429), "{method} {path}: {status}");
        }
    }
    // The failures above lock further attempts, but not the owner.
    let code = json!({"code": server.code}).to_string();
    assert_eq!(
        server.send("POST", "/v1/login", &json, &code).await.status,
        429
    );
    assert_eq!(server.get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn other_names_and_other_sites_are_refused_everywhere() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let id = server.open_session().await;
    let token = format!("Bearer {}", server.token);
    let authorization = ("Authorization", token.as_str());
    let socket = [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let port = server.address.port();
    let rebound = format!("evil.example:{port}");
    let any = format!("[::]:{port}");
    let other_port = "http://127.0.0.1:1".to_owned();
    for (path, extra) in [
        ("/v1/sessions".to_owned(), &socket[..0]),
        (format!("/v1/sessions/{id}/events"), &socket[..0]),
        (format!("/v1/sessions/{id}/socket"), &socket[..]),
        ("/".to_owned(), &socket[..0]),
    ] {
        for (attack, expected) in [
            (("Host", rebound.as_str()), 421),
            (("Host", any.as_str()), 421),
            (("Origin", "https://evil.example"), 403),
            (("Origin", other_port.as_str()), 403),
            (("Origin", "null"), 403),
            (("Sec-Fetch-Site", "cross-site"), 403),
        ] {
            let mut headers = vec![authorization, attack];
            headers.extend_from_slice(extra);
            let status = server.send("GET", &path, &headers, "").await.status;
            assert_eq!(status, expected, "{path} {attack:?}");
        }
    }
    // A form can be sent to any site.
    let form = [authorization, ("Content-Type", "text/plain"), ("X-Pi", "1")];
    let body = r#"{"type":"prompt","message":"x"}"#;
    let commands = format!("/v1/sessions/{id}/commands");
    assert_eq!(
        server.send("POST", &commands, &form, body).await.status,
        415
    );
    let unmarked = [authorization, ("Content-Type", "application/json")];
    assert_eq!(
        server.send("POST", &commands, &unmarked, body).await.status,
        403
    );
    let preflight = [
        ("Origin", "https://evil.example"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let answered = server.send("OPTIONS", &commands, &preflight, "").await;
    assert_eq!(answered.status, 403);
    assert!(!answered.head.contains("access-control"));
}

#[tokio::test]
async fn paths_do_not_leave_the_page_or_the_directory() {
    let server = TestServer::start(FauxProvider::echo()).await;
    for path in [
        "/../serve.json",
        "/assets/../../serve.json",
        "/%2e%2e/serve.json",
        "/assets/..%2f..%2fserve.json",
        "//etc/passwd",
        "/serve.json",
    ] {
        let answered = server.get(path).await;
        assert_eq!(answered.status, 404, "{path}");
    }
    for (query, expected) in [
        ("a", vec!["found-a"]),
        ("../", vec![]),
        ("a/../../b", vec![]),
        ("/etc/", vec![]),
        ("~/", vec![]),
    ] {
        let answered = server.get(&format!("/v1/files?q={query}")).await;
        assert_eq!(answered.json()["files"], json!(expected), "{query}");
    }
    for cwd in ["/", "/etc", "relative", "%00"] {
        let status = server.get(&format!("/v1/files?cwd={cwd}")).await.status;
        assert!(matches!(status, 400 | 403), "{cwd}: {status}");
    }
}

#[tokio::test]
async fn large_and_slow_requests_end() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let head = |length: u64| {
        format!(
            "POST /v1/sessions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nX-Pi: 1\r\nContent-Length: {length}\r\n\r\n",
            server.address, server.token
        )
    };
    // One gigabyte is refused before it is sent.
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head(1 << 30).as_bytes()).await.unwrap();
    let mut answer = vec![0; 64];
    let read = stream.read(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 413"));
    let long = format!(
        "GET /v1/health HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(20_000)
    );
    let answer = server.raw(long.as_bytes()).await;
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 431"));
    for broken in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        let answer = server.raw(broken.as_bytes()).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert_eq!(server.get("/v1/health").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn headers_that_arrive_byte_by_byte_end_the_connection() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = format!(
        "GET /v1/health HTTP/1.1\r\nHost: {}\r\nX-Long: ",
        server.address
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let started = tokio::time::Instant::now();
    let mut answer = Vec::new();
    loop {
        // The clock of the test moves on when nothing else happens.
        let reading = tokio::time::timeout(Duration::from_secs(1), stream.read_buf(&mut answer));
        if matches!(reading.await, Ok(Ok(0) | Err(_))) {
            break;
        }
        if stream.write_all(b"x").await.is_err() {
            break;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "still open");
    }
    assert!(
        started.elapsed() >= Duration::from_secs(9),
        "{:?}",
        started.elapsed()
    );
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );
    assert_eq!(server.get("/v1/health").await.status, 200);
}

#[tokio::test]
async fn too_many_connections_are_closed_and_the_socket_stays_usable() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(TcpStream::connect(server.address).await.unwrap());
    }
    let mut closed = 0;
    for stream in &mut open {
        let mut byte = [0];
        let reading = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut byte));
        closed += usize::from(matches!(reading.await, Ok(Ok(0) | Err(_))));
    }
    assert!(closed >= 200 - 64 - 1, "{closed}");
    #[cfg(unix)]
    {
        let mut local = tokio::net::UnixStream::connect(&server.socket)
            .await
            .unwrap();
        let request = "GET /v1/health HTTP/1.1\r\nHost: pi\r\nConnection: close\r\n\r\n";
        local.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        local.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(open);
}

#[tokio::test]
async fn addresses_outside_of_loopback_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let mut options = options(directory.path(), FauxProvider::echo());
        options.listen.tcp = Some(address.parse().unwrap());
        options.listen.allow_remote = true;
        let refused = Server::bind(options).await.err().unwrap();
        assert!(matches!(refused, ListenError::NotLoopback(_)), "{refused}");
        assert!(refused.hint().is_some_and(|hint| hint.contains("ssh -L")));
    }
    let mut proxied = options(directory.path(), FauxProvider::echo());
    proxied.listen.tcp = Some("0.0.0.0:0".parse().unwrap());
    proxied.listen.allow_remote = true;
    proxied.listen.host_names = vec!["box.example".to_owned()];
    assert!(Server::bind(proxied).await.is_ok());
}

#[cfg(unix)]
#[tokio::test]
async fn the_socket_is_private_and_its_directory_must_be_safe() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let server = TestServer::start(FauxProvider::echo()).await;
    let mode = std::fs::metadata(&server.socket)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let bind = async |socket: std::path::PathBuf| {
        let mut options = options(server.directory.path(), FauxProvider::echo());
        options.listen.socket = Some(socket);
        Server::bind(options).await.map(drop)
    };
    let running = bind(server.socket.clone()).await.unwrap_err();
    assert!(
        matches!(running, ListenError::AlreadyRunning(_)),
        "{running}"
    );

    let shared = server.directory.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    let link = server.directory.path().join("link");
    symlink(&shared, &link).unwrap();
    for directory in [&shared, &link] {
        let refused = bind(directory.join("s.sock")).await.unwrap_err();
        assert!(
            matches!(refused, ListenError::UnsafeDirectory(_)),
            "{refused}"
        );
    }
    // A file that is in the way is not removed, nor is the target of a link.
    let file = server.directory.path().join("agent/file");
    std::fs::File::create(&file).unwrap();
    let target = server.directory.path().join("agent/link.sock");
    symlink(&file, &target).unwrap();
    for path in [&file, &target] {
        assert!(matches!(
            bind(path.clone()).await,
            Err(ListenError::Socket(..))
        ));
    }
    assert!(file.exists());
}

#[tokio::test]
async fn a_cookie_of_another_port_is_no_credential() {
    let first = TestServer::start(FauxProvider::echo()).await;
    let second = TestServer::start(FauxProvider::echo()).await;
    let cookie = format!("pi_{}={}", first.address.port(), second.token);
    let answered = second
        .send("GET", "/v1/health", &[("Cookie", &cookie)], "")
        .await;
    assert_eq!(answered.status, 401);
    assert_eq!(first.get("/v1/health").await.json()["sessions"], 0);
}

/// Sends the head of a request, then its body with a byte per second of the paused clock, and returns the answer and how
/// long it took.
async fn trickle(server: &TestServer, head: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let started = tokio::time::Instant::now();
    let mut answer = Vec::new();
    loop {
        let reading = tokio::time::timeout(Duration::from_secs(1), stream.read_buf(&mut answer));
        if matches!(reading.await, Ok(Ok(0) | Err(_))) || stream.write_all(b" ").await.is_err() {
            break;
        }
        assert!(started.elapsed() < Duration::from_mins(10), "still open");
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn bodies_that_arrive_byte_by_byte_end_the_connection() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let common = format!(
        "Host: {}\r\nContent-Type: application/json\r\nX-Pi: 1\r\nContent-Length: 4000\r\n",
        server.address
    );
    let owner = format!("Authorization: Bearer {}\r\n", server.token);
    for (path, credential, expected, limit) in [
        ("/v1/login", "", "408", 10),
        ("/v1/sessions", "", "401", 10),
        ("/v1/pair", owner.as_str(), "408", 30),
        ("/v1/sessions", owner.as_str(), "408", 300),
    ] {
        let head = format!("POST {path} HTTP/1.1\r\n{common}{credential}\r\n");
        let (answer, time) = trickle(&server, &head).await;
        let status = answer.strip_prefix("HTTP/1.1 ").unwrap_or_default();
        assert!(
            answer.is_empty() || status.starts_with(expected),
            "{path}: {answer}"
        );
        let seconds = time.as_secs();
        assert!((limit..limit + 5).contains(&seconds), "{path}: {time:?}");
    }
}

#[tokio::test]
async fn a_code_has_a_few_kilobytes() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let headers = [("Content-Type", "application/json"), ("X-Pi", "1")];
    let body = json!({"code": "x".repeat(100_000)}).to_string();
    let answered = server.send("POST", "/v1/login", &headers, &body).await;
    assert_eq!(answered.status, 413);
    assert!(answered.text.contains("4 KB"), "{}", answered.text);
}

#[tokio::test]
async fn an_error_reaches_a_client_whose_body_arrives_late() {
    let server = TestServer::start(FauxProvider::echo()).await;
    let host = format!("Host: {}\r\n", server.address);
    let token = format!("Authorization: Bearer {}\r\n", server.token);
    let json = "Content-Type: application/json\r\nX-Pi: 1\r\n";
    for (line, headers, expected) in [
        ("POST /v1/sessions", format!("{host}{json}"), 401),
        ("POST /v1/unknown", format!("{host}{json}{token}"), 404),
        ("PUT /v1/sessions", format!("{host}{json}{token}"), 405),
        ("POST /v1/sessions", format!("{host}{token}"), 415),
        (
            "POST /v1/sessions",
            format!("Host: evil.example\r\n{json}"),
            421,
        ),
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\n{headers}Content-Length: 100000\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut early = [0];
        let waited = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut early));
        assert!(waited.await.is_err(), "{line}: answered before the body");
        stream
            .write_all(" ".repeat(100_000).as_bytes())
            .await
            .unwrap();
        // The connection stays usable.
        let next = format!("GET /v1/health HTTP/1.1\r\n{host}{token}Connection: close\r\n\r\n");
        stream.write_all(next.as_bytes()).await.unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.unwrap();
        let expected = format!("HTTP/1.1 {expected}");
        assert!(answers.starts_with(&expected), "{line}: {answers}");
        assert!(answers.contains("HTTP/1.1 200"), "{line}: {answers}");
    }
}
