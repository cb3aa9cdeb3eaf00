//! Selects the proxy, if any, for a request.
//!
//! Decided per request from the request's own environment, so that provider-scoped variables work.
//! Lower-case names win over upper-case ones, the environment over the `httpProxy` setting, and the
//! setting over `ALL_PROXY`. Loopback targets and those listed in `NO_PROXY` bypass the proxy.

use std::net::IpAddr;

use pi_env::{Env, env_vars};
use pi_protocol::ProviderError;
use reqwest::Url;

/// Returns the proxy for a target, or `None` to connect directly.
///
/// WebSocket targets use the variables of the matching HTTP scheme.
pub(crate) fn proxy_for(
    target: &Url,
    env: &Env,
    setting: Option<&str>,
) -> Result<Option<Url>, ProviderError> {
    let scheme_variable = match target.scheme() {
        "http" | "ws" => env_vars::HTTP_PROXY,
        _ => env_vars::HTTPS_PROXY,
    };
    let Some(proxy) = variable(env, scheme_variable)
        .or_else(|| setting.map(str::trim).map(str::to_owned))
        .filter(|proxy| !proxy.is_empty())
        .or_else(|| variable(env, env_vars::ALL_PROXY))
    else {
        return Ok(None);
    };
    if is_loopback(target)
        || is_exempt(
            target,
            &variable(env, env_vars::NO_PROXY).unwrap_or_default(),
        )
    {
        return Ok(None);
    }
    parse(&proxy).map(Some)
}

fn variable(env: &Env, name: &str) -> Option<String> {
    env.var(&name.to_ascii_lowercase())
        .or_else(|| env.var(name))
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

/// Parses a proxy address; one without a scheme is an HTTP proxy.
fn parse(proxy: &str) -> Result<Url, ProviderError> {
    let address = if proxy.contains("://") {
        proxy.to_owned()
    } else {
        format!("http://{proxy}")
    };
    // The address may hold a password, so the errors do not include it.
    let url = Url::parse(&address)
        .map_err(|error| ProviderError::invalid(format!("Invalid proxy address: {error}")))?;
    match url.scheme() {
        "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h" if url.has_host() => Ok(url),
        other => Err(ProviderError::invalid(format!(
            "Unsupported proxy scheme {other}: use http, https or socks5"
        ))),
    }
}

fn is_loopback(target: &Url) -> bool {
    let host = host(target);
    host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns the host in lower case, without the brackets of an IPv6 address.
pub(crate) fn host(target: &Url) -> String {
    let host = target.host_str().unwrap_or_default().to_ascii_lowercase();
    without_brackets(&host).to_owned()
}

fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

fn is_exempt(target: &Url, list: &str) -> bool {
    let host = host(target);
    let port = target.port_or_known_default();
    list.split([',', ' ', '\t', '\n'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| entry == "*" || exempts(&entry.to_ascii_lowercase(), &host, port))
}

/// Matches one `NO_PROXY` entry: a host, or a domain with its subdomains (`a.b`, `.a.b`, `*.a.b`),
/// each with an optional port.
fn exempts(entry: &str, host: &str, port: Option<u16>) -> bool {
    let (name, entry_port) = split_port(entry);
    if entry_port.is_some() && entry_port != port {
        return false;
    }
    let name = without_brackets(name);
    let domain = name
        .strip_prefix("*.")
        .or_else(|| name.strip_prefix('.'))
        .or_else(|| name.strip_prefix('*'))
        .unwrap_or(name);
    !domain.is_empty()
        && (host == domain
            || host
                .strip_suffix(domain)
                .is_some_and(|below| below.ends_with('.')))
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        // More than one colon outside brackets is an IPv6 address without a port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => port
            .parse()
            .map_or((entry, None), |port| (name, Some(port))),
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected_proxy(
        target: &str,
        variables: &[(&str, &str)],
        setting: Option<&str>,
    ) -> Option<String> {
        let env = Env::fixed(variables.iter().copied());
        proxy_for(&Url::parse(target).unwrap(), &env, setting)
            .unwrap()
            .map(|url| url.to_string())
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let target = "https://api.example.com/v1";
        for (variables, setting, expected) in [
            (&[][..], None, None),
            (&[("HTTPS_PROXY", "http://a:1")], None, Some("http://a:1/")),
            (&[("HTTP_PROXY", "http://a:1")], None, None),
            (
                &[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:1")],
                None,
                Some("http://b:1/"),
            ),
            (&[("ALL_PROXY", "http://c:1")], None, Some("http://c:1/")),
            (&[("all_proxy", "socks5://c:1")], None, Some("socks5://c:1")),
            (
                &[("ALL_PROXY", "http://c:1")],
                Some("http://d:1"),
                Some("http://d:1/"),
            ),
            (
                &[("HTTPS_PROXY", "http://a:1")],
                Some("http://d:1"),
                Some("http://a:1/"),
            ),
            (&[("HTTPS_PROXY", "  ")], Some("  "), None),
            (&[("HTTPS_PROXY", "a:8080")], None, Some("http://a:8080/")),
        ] {
            let proxy = selected_proxy(target, variables, setting);
            assert_eq!(proxy.as_deref(), expected, "{variables:?} {setting:?}");
        }
        let web_socket = selected_proxy(
            "wss://api.example.com",
            &[("https_proxy", "http://a:1")],
            None,
        );
        assert_eq!(web_socket.as_deref(), Some("http://a:1/"));
    }

    #[test]
    fn loopback_and_exempt_hosts_are_reached_directly() {
        for (target, list, direct) in [
            ("http://localhost:1/", "", true),
            ("http://127.0.0.9/", "", true),
            ("http://[::1]:8080/", "", true),
            ("http://api.example.com/", "", false),
            ("http://api.example.com/", "*", true),
            ("http://api.example.com/", "other.com, EXAMPLE.com", true),
            ("http://api.example.com/", ".example.com", true),
            ("http://api.example.com/", "*.example.com", true),
            ("http://api.example.com/", "*example.com", true),
            ("http://example.com/", ".example.com", true),
            ("http://badexample.com/", "example.com", false),
            ("http://api.example.com/", "example.com:80", true),
            ("http://api.example.com/", "example.com:8080", false),
            ("http://10.0.0.1:8080/", "10.0.0.1:8080", true),
            ("http://[2001:db8::1]/", "2001:db8::1", true),
            (
                "http://[2001:db8::1]:90/",
                "[2001:db8::1]:91 [2001:db8::1]:90",
                true,
            ),
            ("http://api.example.com/", " , ,.,*.", false),
        ] {
            let variables = [("http_proxy", "http://proxy:1"), ("no_proxy", list)];
            assert_eq!(
                selected_proxy(target, &variables, None).is_none(),
                direct,
                "{target} {list:?}"
            );
        }
    }

    #[test]
    fn an_invalid_proxy_address_is_an_error_without_its_password() {
        for address in [
            "ftp://user:secret@proxy:1",
            "http://user:secret@:x",
            "http://",
        ] {
            let env = Env::fixed([("HTTPS_PROXY", address)]);
            let target = Url::parse("https://api.example.com").unwrap();
            let error = proxy_for(&target, &env, None).unwrap_err();
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
    }
}
