use pretty_assertions::assert_eq;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: http::HeaderName = name.parse().unwrap();
        headers.append(name, value.parse().unwrap());
    }
    headers
}

fn status(method: &Method, pairs: &[(&str, &str)], peer: Peer) -> u16 {
    let names = HostNames::new(Some(4141), &["box.example".to_owned()]);
    match check_headers(method, "/v1/sessions", &headers(pairs), peer, &names) {
        Ok(()) => 200,
        Err(problem) => problem.status.as_u16(),
    }
}

#[test]
fn only_known_names_are_served() {
    for (host, expected) in [
        ("127.0.0.1:4141", 200),
        ("localhost:4141", 200),
        ("LOCALHOST:4141", 200),
        ("[::1]:4141", 200),
        ("box.example", 200),
        ("box.example:443", 200),
        ("box.example:443.evil.example", 421),
        ("box.example:443:443", 421),
        ("127.0.0.1", 421),
        ("127.0.0.1:4142", 421),
        ("evil.example:4141", 421),
        ("localhost.evil.example:4141", 421),
        ("[::]:4141", 421),
        ("0.0.0.0:4141", 421),
        ("[::1]", 421),
        ("", 421),
    ] {
        let code = status(&Method::GET, &[("host", host)], Peer::Tcp);
        assert_eq!(code, expected, "{host}");
    }
    assert_eq!(status(&Method::GET, &[], Peer::Tcp), 421);
    let twice = [("host", "localhost:4141"), ("host", "evil.example")];
    assert_eq!(status(&Method::GET, &twice, Peer::Tcp), 400);
    // A program on the Unix socket has no name for it.
    assert_eq!(status(&Method::GET, &[], Peer::SameUser), 200);
}

#[test]
fn requests_of_other_sites_are_refused() {
    let host = ("host", "127.0.0.1:4141");
    for (header, value, expected) in [
        ("origin", "http://127.0.0.1:4141", 200),
        ("origin", "https://127.0.0.1:4141", 200),
        ("origin", "http://127.0.0.1:8080", 403),
        ("origin", "http://localhost:4141", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
    ] {
        let code = status(&Method::GET, &[host, (header, value)], Peer::Tcp);
        assert_eq!(code, expected, "{header}: {value}");
    }
}

#[test]
fn changes_need_what_a_form_cannot_send() {
    let host = ("host", "127.0.0.1:4141");
    let json = ("content-type", "application/json; charset=utf-8");
    let mark = ("x-pi", "1");
    for method in [Method::POST, Method::PATCH, Method::DELETE, Method::PUT] {
        let code = |pairs: &[(&str, &str)]| status(&method, pairs, Peer::Tcp);
        assert_eq!(code(&[host, json, mark]), 200);
        assert_eq!(code(&[host, json]), 403);
        assert_eq!(code(&[host, mark]), 415);
        for form in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            assert_eq!(code(&[host, mark, ("content-type", form)]), 415);
        }
    }
}

#[test]
fn credentials_come_from_the_token_and_the_cookie_of_this_port() {
    let pairs = [
        ("authorization", "Bearer token"),
        ("cookie", "pi_80=other; pi_4141=secret; x"),
        ("cookie", "pi_4141=second"),
    ];
    let headers = headers(&pairs);
    assert_eq!(
        presented(&headers, "pi_4141"),
        ["token", "secret", "second"]
    );
    let basic = [("authorization", "Basic dG9rZW4=")];
    assert!(presented(&self::headers(&basic), "pi_4141").is_empty());
}

#[test]
fn mcp_clients_need_no_mark_but_a_credential_that_pages_cannot_send() {
    let names = HostNames::new(Some(4141), &[]);
    let check = |method: &Method, pairs: &[(&str, &str)], peer| {
        let mut all = vec![("host", "localhost:4141")];
        all.extend_from_slice(pairs);
        check_headers(method, "/mcp", &headers(&all), peer, &names).is_ok()
    };
    let json = ("content-type", "application/json");
    let token = ("authorization", "Bearer x");
    assert!(check(&Method::POST, &[json, token], Peer::Tcp));
    assert!(check(&Method::POST, &[json, ("x-pi", "1")], Peer::Tcp));
    assert!(check(&Method::POST, &[json], Peer::SameUser));
    assert!(check(&Method::DELETE, &[token], Peer::Tcp));
    assert!(!check(&Method::POST, &[json], Peer::Tcp));
    assert!(!check(&Method::POST, &[token], Peer::Tcp));
    assert!(!check(
        &Method::DELETE,
        &[("cookie", "pi_4141=x")],
        Peer::Tcp
    ));
    let cross_site = ("origin", "https://evil.example");
    assert!(!check(&Method::POST, &[json, token, cross_site], Peer::Tcp));
}
