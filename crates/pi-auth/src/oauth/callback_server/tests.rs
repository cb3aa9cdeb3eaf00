use pretty_assertions::assert_eq;
use tokio::task::JoinHandle;

use super::*;

async fn start(state: Option<&str>) -> (u16, JoinHandle<Result<AuthorizationCode, OAuthError>>) {
    let route = CallbackRoute {
        path: "/callback".to_owned(),
        state: state.map(str::to_owned),
        extra: None,
    };
    let server = CallbackServer::bind("127.0.0.1", 0, route).await.unwrap();
    let port = server.port().unwrap();
    (port, tokio::spawn(server.wait()))
}

async fn send(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

async fn get(port: u16, target: &str) -> String {
    send(port, &format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n")).await
}

fn code(code: &str) -> AuthorizationCode {
    AuthorizationCode {
        code: code.to_owned(),
        ..AuthorizationCode::default()
    }
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap()
}

#[tokio::test]
async fn only_a_valid_callback_ends_the_wait() {
    let (port, waiting) = start(Some("s1")).await;
    // A browser's spare connection, which never sends anything.
    let silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    for (target, expected) in [
        ("/favicon.ico", "404"),
        ("/", "404"),
        ("/callback/more?code=c&state=s1", "404"),
        ("/callback?code=c&state=forged", "400"),
        ("/callback?code=c", "400"),
        ("/callback?error=access_denied&state=forged", "400"),
        ("/callback?state=s1", "400"),
        ("/callback?state=s1&code=", "400"),
    ] {
        assert_eq!(status(&get(port, target).await), expected, "{target}");
    }
    let posted = send(port, "POST /callback?code=c&state=s1 HTTP/1.1\r\n\r\n").await;
    assert_eq!(status(&posted), "404");
    assert!(!waiting.is_finished());

    let page = get(port, "/callback?code=the%2Bcode&state=s1").await;
    assert_eq!(status(&page), "200");
    assert_eq!(waiting.await.unwrap(), Ok(code("the+code")));
    assert!(!page.contains("the+code"));
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    drop(silent);
}

#[tokio::test]
async fn denial_with_the_right_state_ends_the_wait() {
    let (port, waiting) = start(Some("s1")).await;
    let page = get(
        port,
        "/callback?state=s1&error=access_denied&error_description=%3Cb%3Eno%3C/b%3E",
    )
    .await;
    assert_eq!(status(&page), "400");
    assert!(page.contains("&lt;b&gt;no&lt;/b&gt;"), "{page}");
    assert_eq!(
        waiting.await.unwrap(),
        Err(OAuthError::Denied {
            description: Some("<b>no</b>".to_owned())
        })
    );
}

#[tokio::test]
async fn oversized_and_non_http_requests_are_ignored() {
    let (port, waiting) = start(None).await;
    let long = format!("GET /callback?code={}", "x".repeat(2 * MAX_REQUEST_BYTES));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    // The server closes the connection midway, possibly while we are still writing.
    if stream.write_all(long.as_bytes()).await.is_ok() {
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap_or_default();
        assert_eq!(response, b"");
    }
    assert_eq!(status(&send(port, "\r\n\r\n").await), "404");
    assert!(!waiting.is_finished());
    assert_eq!(status(&get(port, "/callback?code=c").await), "200");
    assert_eq!(waiting.await.unwrap(), Ok(code("c")));
}
