//! Validates an entry of `mcpServers`.

use std::time::Duration;

use pi_protocol::json::JsonObject;
use pi_protocol::{
    McpClientRegistration, McpCommand, McpEndpoint, McpExposure, McpLifecycle, McpOAuthSpec,
    McpProtocol, McpServerSpec, McpTransport,
};
use serde_json::Value;
use url::Url;

/// Limit for a request without `timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// After how long an unused lazy server is stopped without `idleMinutes`.
const DEFAULT_IDLE: Duration = Duration::from_mins(10);

/// Longer limits than this cannot be represented by timers everywhere; it is about 30 years.
const MAX_TIMEOUT_SECONDS: f64 = 1e9;

/// Parses an entry. Keys we do not know are kept in [`McpServerSpec::config`].
pub fn parse_mcp_server(name: &str, entry: &Value) -> Result<McpServerSpec, String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || !name.bytes().all(is_valid) {
        return Err(format!(
            "invalid server name \"{name}\": use letters, digits, _ and -"
        ));
    }
    let Value::Object(entry) = entry else {
        return Err(format!("server \"{name}\" must be an object"));
    };
    parse_entry(name, entry).map_err(|problem| format!("server \"{name}\": {problem}"))
}

fn parse_entry(name: &str, entry: &JsonObject) -> Result<McpServerSpec, String> {
    let mut config = entry.clone();
    let exposure = match config.get_mut("exposure") {
        Some(value) => resolve_exposure(value).ok_or_else(|| exposure_problem("exposure"))?,
        None => McpExposure::default(),
    };
    let tool_exposure = match config.get_mut("toolExposure") {
        Some(Value::Object(tools)) => {
            let tools = tools.iter_mut().map(|(tool, value)| {
                let exposure = resolve_exposure(value)
                    .ok_or_else(|| exposure_problem(&format!("toolExposure \"{tool}\"")))?;
                Ok((tool.clone(), exposure))
            });
            tools.collect::<Result<_, String>>()?
        }
        Some(_) => return Err("toolExposure must map names of tools to exposures".to_owned()),
        None => Vec::new(),
    };
    let enabled = match config.get("enabled") {
        Some(Value::Bool(enabled)) => *enabled,
        Some(_) => return Err("enabled must be true or false".to_owned()),
        None => true,
    };
    let timeout = match config.get("timeout") {
        Some(value) => parse_timeout(value)?,
        None => DEFAULT_TIMEOUT,
    };
    Ok(McpServerSpec {
        name: name.to_owned(),
        transport: parse_transport(&config)?,
        enabled,
        exposure,
        tool_exposure,
        timeout,
        description: text(&config, "description")?,
        lifecycle: parse_lifecycle(&config)?,
        config,
    })
}

fn parse_lifecycle(entry: &JsonObject) -> Result<McpLifecycle, String> {
    let protocol = match text(entry, "protocol")?.as_deref() {
        None | Some("auto") => McpProtocol::Auto,
        Some("legacy") => McpProtocol::Legacy,
        Some("2026-07-28") => McpProtocol::Modern,
        Some(_) => {
            return Err("protocol must be \"auto\", \"legacy\" or \"2026-07-28\"".to_owned());
        }
    };
    let is_lazy = match text(entry, "start")?.as_deref() {
        None | Some("session") => false,
        Some("lazy") => true,
        Some(_) => return Err("start must be \"session\" or \"lazy\"".to_owned()),
    };
    let idle = match entry.get("idleMinutes") {
        None => Some(DEFAULT_IDLE),
        Some(minutes) => {
            let minutes = minutes.as_f64().filter(|minutes| *minutes >= 0.0);
            let minutes = minutes.ok_or("idleMinutes must be a number, 0 for never")?;
            let seconds = (minutes * 60.0).min(MAX_TIMEOUT_SECONDS);
            Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|idle| !idle.is_zero())
        }
    };
    let has_sampling = match entry.get("sampling") {
        None => false,
        Some(Value::Bool(has_sampling)) => *has_sampling,
        Some(_) => return Err("sampling must be true or false".to_owned()),
    };
    Ok(McpLifecycle {
        protocol,
        is_lazy,
        idle,
        has_sampling,
    })
}

/// Replaces an older name of an exposure by its current one.
fn resolve_exposure(value: &mut Value) -> Option<McpExposure> {
    let exposure = McpExposure::named(value.as_str()?)?;
    *value = exposure.name().into();
    Some(exposure)
}

fn exposure_problem(key: &str) -> String {
    let names = McpExposure::ALL.map(|exposure| format!("\"{exposure}\""));
    format!("{key} must be one of {}", names.join(", "))
}

fn parse_timeout(value: &Value) -> Result<Duration, String> {
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
    let seconds = seconds.map(|seconds| seconds.min(MAX_TIMEOUT_SECONDS));
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "timeout must be a positive number of seconds".to_owned())
}

fn parse_transport(entry: &JsonObject) -> Result<McpTransport, String> {
    let kind = match entry.get("type") {
        None => None,
        Some(Value::String(kind)) => Some(kind.as_str()),
        Some(_) => Some(""),
    };
    if kind == Some("sse") {
        return Err(
            "the older SSE transport is not supported; use the server's streamable HTTP address, which often ends in /mcp"
                .to_owned(),
        );
    }
    match (entry.get("url"), entry.get("command"), kind) {
        (Some(Value::String(url)), _, None | Some("http" | "streamable-http")) => {
            parse_endpoint(entry, url).map(McpTransport::Http)
        }
        (_, Some(Value::String(command)), None | Some("stdio")) => {
            parse_command(entry, command).map(McpTransport::Stdio)
        }
        _ => Err("needs either \"command\" (stdio) or \"url\" (streamable HTTP)".to_owned()),
    }
}

fn parse_command(entry: &JsonObject, command: &str) -> Result<McpCommand, String> {
    let args = match entry.get("args") {
        None => Vec::new(),
        Some(Value::Array(args)) => {
            let args = args.iter().map(|arg| arg.as_str().map(str::to_owned));
            let args: Option<Vec<_>> = args.collect();
            args.ok_or("args must be a list of strings")?
        }
        Some(_) => return Err("args must be a list of strings".to_owned()),
    };
    Ok(McpCommand {
        command: command.to_owned(),
        args,
        env: text_map(entry, "env")?,
        cwd: text(entry, "cwd")?,
    })
}

fn parse_endpoint(entry: &JsonObject, address: &str) -> Result<McpEndpoint, String> {
    let url = Url::parse(address).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or("url must be an http or https URL")?;
    let headers = text_map(entry, "headers")?;
    let oauth = match entry.get("oauth") {
        None => McpOAuthSpec::default(),
        Some(Value::Object(oauth)) => {
            parse_oauth(oauth).map_err(|problem| format!("oauth.{problem}"))?
        }
        Some(_) => return Err("oauth must be an object".to_owned()),
    };
    let provider = match entry.get("auth") {
        None => None,
        Some(auth) => {
            let provider = auth.get("provider").and_then(Value::as_str);
            let provider = provider.filter(|provider| !provider.is_empty());
            let provider = provider.ok_or("auth.provider must be the name of a provider")?;
            if url.scheme() != "https" && !is_loopback_host(&url) {
                return Err(
                    "auth needs an https URL, or http on localhost, 127.0.0.1 or [::1]".to_owned(),
                );
            }
            Some(provider.to_owned())
        }
    };
    Ok(McpEndpoint {
        url: address.to_owned(),
        headers,
        oauth,
        provider,
    })
}

fn parse_oauth(entry: &JsonObject) -> Result<McpOAuthSpec, String> {
    let client_id = text(entry, "clientId")?;
    let client_name = text(entry, "clientName")?;
    if client_name
        .as_ref()
        .is_some_and(|name| name.trim().is_empty())
    {
        return Err("clientName must not be empty".to_owned());
    }
    let callback_port = match entry.get("callbackPort") {
        None => None,
        Some(port) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
            let port = port.filter(|port| *port > 0);
            Some(port.ok_or("callbackPort must be a port number")?)
        }
    };
    let callback_url = text(entry, "callbackUrl")?;
    let callback = match &callback_url {
        None => None,
        Some(url) => Some(parse_callback(url, callback_port)?),
    };
    let registration = match entry.get("clientRegistration").map(Value::as_str) {
        None | Some(Some("auto")) => McpClientRegistration::Auto,
        Some(Some("dcr")) => McpClientRegistration::Dynamic,
        Some(Some("cimd")) => McpClientRegistration::Document,
        Some(_) => {
            return Err("clientRegistration must be \"auto\", \"dcr\" or \"cimd\"".to_owned());
        }
    };
    if registration == McpClientRegistration::Document {
        if client_id.is_some() || client_name.is_some() {
            return Err(
                "clientRegistration \"cimd\" cannot be combined with clientId or clientName"
                    .to_owned(),
            );
        }
        if callback.is_some_and(|url| url.path() != "/callback" || url.host_str() == Some("[::1]"))
        {
            return Err(
                "clientRegistration \"cimd\" needs a callbackUrl on localhost or 127.0.0.1 with the path /callback"
                    .to_owned(),
            );
        }
    }
    let auth_server_metadata_url = text(entry, "authServerMetadataUrl")?;
    if let Some(address) = &auth_server_metadata_url {
        let url = Url::parse(address).ok();
        let is_allowed = |url: &Url| {
            url.scheme() == "https" || (url.scheme() == "http" && is_loopback_host(url))
        };
        if !url.as_ref().is_some_and(is_allowed) {
            return Err(
                "authServerMetadataUrl must be an https URL, or http on localhost, 127.0.0.1 or [::1]"
                    .to_owned(),
            );
        }
    }
    Ok(McpOAuthSpec {
        client_id,
        client_secret: text(entry, "clientSecret")?,
        callback_port,
        callback_url,
        scope: text(entry, "scope")?,
        client_name,
        registration,
        auth_server_metadata_url,
    })
}

fn parse_callback(address: &str, port: Option<u16>) -> Result<Url, String> {
    let url = Url::parse(address).ok();
    let url = url.filter(|url| {
        url.scheme() == "http"
            && is_loopback_host(url)
            && url.query().is_none_or(str::is_empty)
            && url.fragment().is_none_or(str::is_empty)
    });
    let url = url.ok_or(
        "callbackUrl must be an http URL on localhost, 127.0.0.1 or [::1] without query and fragment",
    )?;
    match (url.port(), port) {
        (Some(one), Some(other)) if one != other => {
            Err("callbackUrl and callbackPort have different ports".to_owned())
        }
        _ => Ok(url),
    }
}

/// Whether a URL is on this machine.
pub fn is_loopback_host(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

fn text(entry: &JsonObject, key: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{key} must be a string")),
    }
}

fn text_map(entry: &JsonObject, key: &str) -> Result<Vec<(String, String)>, String> {
    let problem = || format!("{key} must map names to strings");
    match entry.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Object(values)) => {
            let values = values.iter().map(|(name, value)| {
                let value = value.as_str().ok_or_else(problem)?;
                Ok((name.clone(), value.to_owned()))
            });
            values.collect()
        }
        Some(_) => Err(problem()),
    }
}
