use pi_http::HttpSettings;
use pi_test_support::{RecordingProxy, ScriptedReply, TestCertAuthority};
use tokio::net::TcpListener;

use super::*;

const OK: &str = "data: ok\n\ndata: [DONE]\n\n";

fn with_env(url: &str, variables: &[(&str, &str)]) -> ModelRequest {
    let mut request = echo_request(url, StreamOptions::default());
    request.env = Env::fixed(variables.iter().copied());
    request
}

async fn run(request: ModelRequest, http: HttpClient) -> StreamOutcome {
    finish(stream(EchoProtocol::default(), request, http)).await
}

/// An address without a listener.
async fn unused_address() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn a_proxy_from_the_environment_is_used_with_its_credentials() {
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(OK)]).await;
    let proxy = RecordingProxy::start(server.address()).await;
    let request = with_env("http://api.example.test", &[("http_proxy", &proxy.url())]);
    assert_eq!(run(request, HttpClient::new()).await.text, "ok");
    let [seen] = &proxy.requests()[..] else {
        panic!("expected one proxied request");
    };
    assert_eq!(seen.target, "http://api.example.test/echo");
    assert_eq!(
        seen.header("proxy-authorization"),
        Some("Basic dXNlcjpwYXNz")
    );
}

#[tokio::test]
async fn request_scoped_variables_override_the_environment() {
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(OK)]).await;
    let proxy = RecordingProxy::start(server.address()).await;
    let unreachable = format!("http://{}", unused_address().await);
    let mut request = with_env("http://api.example.test", &[("http_proxy", &unreachable)]);
    request
        .options
        .env
        .insert("http_proxy".to_owned(), proxy.url());
    assert_eq!(run(request, HttpClient::new()).await.text, "ok");
}

#[tokio::test]
async fn tls_uses_a_proxy_tunnel() {
    let authority = TestCertAuthority::new();
    let server =
        ScriptedServer::start_tls(&authority, [ScriptedReply::event_stream().chunk(OK)]).await;
    let proxy = RecordingProxy::start(server.address()).await;
    let settings = HttpSettings::default()
        .with_root(authority.certificate())
        .with_proxy(proxy.url());
    let request = with_env("https://api.example.test", &[]);
    let finished = run(request, HttpClient::with_settings(settings)).await;
    assert_eq!(finished.text, "ok");
    let [seen] = &proxy.requests()[..] else {
        panic!("expected one tunnel request");
    };
    assert_eq!(
        (seen.method.as_str(), seen.target.as_str()),
        ("CONNECT", "api.example.test:443")
    );
    assert_eq!(
        seen.header("proxy-authorization"),
        Some("Basic dXNlcjpwYXNz")
    );
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn a_loopback_target_bypasses_the_proxy() {
    let server = ScriptedServer::start([ScriptedReply::event_stream().chunk(OK)]).await;
    let unreachable = format!("http://{}", unused_address().await);
    let variables = [
        ("http_proxy", unreachable.as_str()),
        ("ALL_PROXY", &unreachable),
    ];
    assert_eq!(
        run(with_env(&server.url(), &variables), HttpClient::new())
            .await
            .text,
        "ok"
    );
}

#[tokio::test]
async fn an_unreachable_proxy_is_named_in_the_error() {
    let unreachable = unused_address().await;
    let request = with_env(
        "http://api.example.test",
        &[("http_proxy", &format!("http://u:secret@{unreachable}"))],
    );
    let finished = run(request, HttpClient::new()).await;
    let fragments = [
        "Connection error",
        "api.example.test through proxy",
        &unreachable.to_string(),
    ];
    finished.assert_failed(ErrorClass::Network, &fragments);
    assert!(!finished.cause().message.contains("secret"));
}

#[tokio::test]
async fn a_proxy_that_rejects_the_password_is_reported() {
    for target in ["http://api.example.test", "https://api.example.test"] {
        let proxy = ScriptedServer::start([ScriptedReply::full(407, &[], "no")]).await;
        let address = proxy.url().replace("http://", "http://u:secret@");
        let settings = HttpSettings::default()
            .with_root(TestCertAuthority::new().certificate())
            .with_proxy(address);
        let finished = run(with_env(target, &[]), HttpClient::with_settings(settings)).await;
        let cause = finished.cause();
        let message = cause.message.to_lowercase();
        assert!(
            message.contains("407") || message.contains("proxy"),
            "{message}"
        );
        assert!(!message.contains("secret"), "{message}");
        assert_eq!(
            proxy.requests().len(),
            1,
            "a rejected password is not retried"
        );
    }
}

#[tokio::test]
async fn a_refused_connection_is_reported() {
    let unreachable = unused_address().await;
    let finished = run(
        with_env(&format!("http://{unreachable}"), &[]),
        HttpClient::new(),
    )
    .await;
    let fragments = ["Connection error", &unreachable.to_string(), "refused"];
    finished.assert_failed(ErrorClass::Network, &fragments);
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_rejected() {
    let server = ScriptedServer::start_tls(
        &TestCertAuthority::new(),
        [ScriptedReply::event_stream().chunk(OK)],
    )
    .await;
    // Trusting another authority must not help, and avoids loading the platform's roots.
    let settings = HttpSettings::default().with_root(TestCertAuthority::new().certificate());
    let finished = run(
        with_env(&server.url(), &[]),
        HttpClient::with_settings(settings),
    )
    .await;
    let fragments = [
        "Connection error",
        "TLS certificate of 127.0.0.1",
        "not trusted",
    ];
    finished.assert_failed(ErrorClass::Network, &fragments);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_trusted_certificate_is_accepted() {
    let authority = TestCertAuthority::new();
    let server =
        ScriptedServer::start_tls(&authority, [ScriptedReply::event_stream().chunk(OK)]).await;
    let settings = HttpSettings::default().with_root(authority.certificate());
    let http = HttpClient::with_settings(settings);
    assert_eq!(run(with_env(&server.url(), &[]), http).await.text, "ok");
}

#[tokio::test]
async fn a_redirect_is_followed_within_the_origin_only() {
    let other_origin = ScriptedServer::start([ScriptedReply::event_stream().chunk(OK)]).await;
    let location = format!("{}/echo", other_origin.url());
    let server = ScriptedServer::start([
        ScriptedReply::full(307, &[("location", "/moved")], ""),
        ScriptedReply::full(308, &[("location", &location)], ""),
    ])
    .await;
    let finished = run(with_env(&server.url(), &[]), HttpClient::new()).await;
    let fragments = [
        "308",
        "redirects to",
        &other_origin.address().to_string(),
        "base URL",
    ];
    finished.assert_failed(ErrorClass::InvalidRequest, &fragments);
    let targets: Vec<String> = server
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    assert_eq!(targets, ["/echo", "/moved"]);
    assert!(other_origin.requests().is_empty());
}
