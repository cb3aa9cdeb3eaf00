//! `pi mcp add`: writes an entry, without connecting.

use pi_config::{add_mcp_server, parse_mcp_server};
use pi_protocol::McpServerSpec;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

use super::options::{McpOptions, OptionKind};
use super::{FileScope, McpFiles, usage};
use crate::output::{Exit, Failure, print};

const OPTIONS: [(&str, OptionKind); 13] = [
    ("local", OptionKind::Flag),
    ("url", OptionKind::Value),
    ("env", OptionKind::List),
    ("cwd", OptionKind::Value),
    ("header", OptionKind::List),
    ("bearer-token-env-var", OptionKind::Value),
    ("oauth-client-id", OptionKind::Value),
    ("oauth-client-secret", OptionKind::Value),
    ("oauth-callback-port", OptionKind::Value),
    ("oauth-client-name", OptionKind::Value),
    ("oauth-client-registration", OptionKind::Value),
    ("exposure", OptionKind::Value),
    ("description", OptionKind::Value),
];

const HTTP_ONLY: [&str; 7] = [
    "header",
    "bearer-token-env-var",
    "oauth-client-id",
    "oauth-client-secret",
    "oauth-callback-port",
    "oauth-client-name",
    "oauth-client-registration",
];

const STDIO_ONLY: [&str; 2] = ["env", "cwd"];

pub(super) fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let options = McpOptions::parse(words, &OPTIONS, 2)?;
    let (name, entry) = entry_of(&options)?;
    let spec = parse_mcp_server(name, &Value::Object(entry)).map_err(Failure::new)?;
    let scope = FileScope::new(options.has("local"));
    let path = files.file(scope);
    let is_replaced = add_mcp_server(&path, name, spec.config.clone())?;
    let done = if is_replaced { "Replaced" } else { "Added" };
    let mut text = format!(
        "{done} {} MCP server \"{name}\" in {}\n",
        scope.name(),
        path.display()
    );
    if scope == FileScope::Project && !files.project_access().is_trusted() {
        text.push_str(&super::untrusted_note(&path));
        text.push('\n');
    }
    text.push_str(&next_steps(&spec));
    Ok(print(&text))
}

fn next_steps(spec: &McpServerSpec) -> String {
    let mut text = "Run pi mcp list to check it".to_owned();
    if spec.uses_oauth() {
        text.extend([", and pi mcp login ", &spec.name, " if it needs a sign-in"]);
    }
    text.push_str(".\n");
    text
}

/// Returns the name and the entry that the options describe.
fn entry_of(options: &McpOptions) -> Result<(&str, JsonObject), Failure> {
    let (name, command) = match options.positional.split_first() {
        Some((name, command)) if !name.is_empty() => (name, command),
        _ => return Err(usage("pi mcp add needs the name of a server")),
    };
    let url = options.value("url");
    let misplaced = |names: &[&str], kind: &str| {
        let name = names.iter().find(|name| options.has(name));
        name.map_or(Ok(()), |name| {
            Err(usage(format!("--{name} applies only to {kind}")))
        })
    };
    let mut entry = match (url, command.split_first()) {
        (Some(url), None) => {
            misplaced(&STDIO_ONLY, "servers that are started with a command")?;
            endpoint(url, options)?
        }
        (None, Some((command, args))) => {
            misplaced(&HTTP_ONLY, "servers with --url")?;
            stdio(command, args, options)?
        }
        (Some(_), Some(_)) | (None, None) => {
            return Err(usage("pi mcp add needs either --url or -- and a command"));
        }
    };
    for key in ["exposure", "description"] {
        if let Some(value) = options.value(key) {
            entry.insert(key.to_owned(), value.into());
        }
    }
    Ok((name, entry))
}

fn stdio(command: &str, args: &[String], options: &McpOptions) -> Result<JsonObject, Failure> {
    let mut entry = JsonObject::default();
    entry.insert("command".to_owned(), command.into());
    if !args.is_empty() {
        entry.insert("args".to_owned(), json!(args));
    }
    put_object(&mut entry, "env", pairs(options, "env")?);
    if let Some(cwd) = options.value("cwd") {
        entry.insert("cwd".to_owned(), cwd.into());
    }
    Ok(entry)
}

fn endpoint(url: &str, options: &McpOptions) -> Result<JsonObject, Failure> {
    let mut entry = JsonObject::default();
    entry.insert("url".to_owned(), url.into());
    let mut headers = pairs(options, "header")?;
    if let Some(variable) = options.value("bearer-token-env-var") {
        let value = format!("Bearer ${{{variable}}}");
        headers.insert("Authorization".to_owned(), value.into());
    }
    put_object(&mut entry, "headers", headers);
    let mut oauth = JsonObject::default();
    for (option, key) in [
        ("oauth-client-id", "clientId"),
        ("oauth-client-secret", "clientSecret"),
        ("oauth-callback-port", "callbackPort"),
        ("oauth-client-name", "clientName"),
        ("oauth-client-registration", "clientRegistration"),
    ] {
        let Some(value) = options.value(option) else {
            continue;
        };
        // A port that is no number is rejected with the entry.
        let number = value.parse::<u64>().ok();
        let value = match number {
            Some(port) if key == "callbackPort" => port.into(),
            _ => value.into(),
        };
        oauth.insert(key.to_owned(), value);
    }
    put_object(&mut entry, "oauth", oauth);
    Ok(entry)
}

fn put_object(entry: &mut JsonObject, key: &str, value: JsonObject) {
    if !value.is_empty() {
        entry.insert(key.to_owned(), Value::Object(value));
    }
}

/// Returns the `KEY=VALUE` arguments of an option.
fn pairs(options: &McpOptions, name: &str) -> Result<JsonObject, Failure> {
    let mut pairs = JsonObject::default();
    for pair in options.list(name) {
        match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                pairs.insert(key.to_owned(), value.into());
            }
            _ => return Err(usage(format!("--{name} needs KEY=VALUE, not \"{pair}\""))),
        }
    }
    Ok(pairs)
}
