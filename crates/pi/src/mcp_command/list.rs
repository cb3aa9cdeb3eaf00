//! `pi mcp list`: connects to the servers and shows their state and tools.

use std::fmt::Write as _;

use futures_util::future::join_all;
use pi_protocol::{McpServerStatus, McpState};
use serde_json::json;

use super::options::{McpOptions, OptionKind};
use super::{McpFiles, untrusted_note, usage};
use crate::output::{Exit, Failure, print};

pub(super) async fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let options = McpOptions::parse(words, &[("json", OptionKind::Flag)], usize::MAX)?;
    if !options.positional.is_empty() {
        return Err(usage("pi mcp list takes no arguments"));
    }
    let access = files.project_access();
    let config = files.config(access);
    let connector = files.connector();
    let servers = config.servers.iter().map(|server| connector.check(server));
    let servers = join_all(servers).await;
    let project_file = files.project_file();
    let note =
        (!access.is_trusted() && project_file.exists()).then(|| untrusted_note(&project_file));
    let has_failed =
        |server: &McpServerStatus| server.enabled && server.state != McpState::Connected;
    let exit = if !config.errors.is_empty() || servers.iter().any(has_failed) {
        Exit::Failure
    } else {
        Exit::Success
    };
    let text = if options.has("json") {
        let mut list = json!({"servers": servers, "errors": config.errors});
        if let (Some(list), Some(note)) = (list.as_object_mut(), note) {
            list.insert("note".to_owned(), note.into());
        }
        format!("{list:#}\n")
    } else {
        list_text(files, &servers, &config.errors, note.as_deref())
    };
    Ok(match print(&text) {
        Exit::Success => exit,
        failed => failed,
    })
}

fn list_text(
    files: &McpFiles,
    servers: &[McpServerStatus],
    errors: &[String],
    note: Option<&str>,
) -> String {
    let mut text = String::new();
    if servers.is_empty() && errors.is_empty() {
        text = format!(
            "No MCP servers configured. Add one with pi mcp add, or to {}.\n",
            files.user_file().display()
        );
    }
    for server in servers {
        text.push_str(&server_text(server));
    }
    for error in errors {
        text.extend(["config error: ", error, "\n"]);
    }
    if let Some(note) = note {
        text.push_str(note);
        text.push('\n');
    }
    text
}

fn server_text(server: &McpServerStatus) -> String {
    let state = match (server.state, server.tools.len()) {
        (McpState::Connected, 1) => "connected, 1 tool".to_owned(),
        (McpState::Connected, count) => format!("connected, {count} tools"),
        (McpState::NeedsAuth, _) => "needs sign-in".to_owned(),
        (state, _) => state.name().to_owned(),
    };
    let mut lines = vec![server.transport.clone()];
    if let Some(file) = &server.override_file {
        lines.push(format!("project override: {file}"));
    }
    if server.state == McpState::NeedsAuth {
        lines.push(format!("sign in with pi mcp login {}", server.name));
    }
    if !server.tools.is_empty() {
        let tools = server.tools.iter().map(|tool| {
            let exposure = server.tool_exposure.as_ref().and_then(|all| all.get(tool));
            match exposure.and_then(|exposure| exposure.as_str()) {
                Some(exposure) => format!("{tool} [{exposure}]"),
                None => tool.clone(),
            }
        });
        lines.push(format!("tools: {}", tools.collect::<Vec<_>>().join(", ")));
    }
    if !server.changed.is_empty() {
        lines.push(format!(
            "changed: {}; review with pi mcp accept {}",
            server.changed.join(", "),
            server.name
        ));
    }
    if server.resources == Some(true) {
        lines.push("offers resources".to_owned());
    }
    let error = server.error.as_deref().unwrap_or_default();
    lines.extend(error.lines().map(str::to_owned));
    let mut text = String::new();
    let (name, exposure, scope) = (&server.name, server.exposure, server.scope.name());
    writeln!(text, "{name}: {state} ({exposure}, {scope})").ok();
    for line in lines {
        writeln!(text, "  {line}").ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use pi_protocol::{McpExposure, McpScope};
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_server_is_described() {
        let mut server = McpServerStatus {
            name: "docs".to_owned(),
            scope: McpScope::Global,
            source: "/mcp.json".to_owned(),
            override_file: None,
            enabled: true,
            exposure: McpExposure::Codemode,
            transport: "https://host/mcp".to_owned(),
            state: McpState::Connected,
            tools: vec!["find".to_owned(), "get".to_owned()],
            tool_exposure: json!({"get": "direct"}).as_object().cloned(),
            changed: Vec::new(),
            prompts: Vec::new(),
            resources: Some(true),
            error: None,
        };
        assert_eq!(
            server_text(&server),
            "docs: connected, 2 tools (codemode, global)\n  https://host/mcp\n  \
             tools: find, get [direct]\n  offers resources\n"
        );
        server.state = McpState::NeedsAuth;
        assert!(server_text(&server).contains("pi mcp login docs"));
    }
}
