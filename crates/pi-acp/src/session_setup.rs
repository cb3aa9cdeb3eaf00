//! What a client passes when it opens a session: directories and MCP servers.

use std::path::PathBuf;

use pi_host::{SessionOptions, parse_mcp_server};
use pi_protocol::{JsonRpcError, McpServerSpec};
use serde_json::{Map, Value, json};

use crate::params;

#[derive(Debug)]
pub(crate) struct SessionSetup {
    pub(crate) cwd: PathBuf,
    directories: Vec<PathBuf>,
    servers: Vec<McpServerSpec>,
}

impl SessionSetup {
    pub(crate) fn from_params(params: &Value) -> Result<Self, JsonRpcError> {
        let cwd = params::absolute_path(params, "cwd")?;
        if !cwd.is_dir() {
            let problem = format!("is not a directory: {}", cwd.display());
            return Err(JsonRpcError::invalid_params("cwd", problem));
        }
        let servers = params::list(params, "mcpServers")?.iter().enumerate();
        let servers = servers.map(|(index, server)| {
            let invalid = |problem: String| {
                JsonRpcError::invalid_params(&format!("mcpServers[{index}]"), problem)
            };
            let (name, entry) =
                server_entry(server).map_err(|problem| invalid(problem.to_owned()))?;
            parse_mcp_server(name, &entry)
                .map_err(|problem| invalid(format!("is invalid: {problem}")))
        });
        Ok(Self {
            cwd,
            directories: params::absolute_paths(params, "additionalDirectories")?,
            servers: servers.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the directories that the session works in.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.cwd.clone()];
        roots.extend(self.directories.iter().cloned());
        roots
    }

    /// Adds the client's directories and servers to the options of a session.
    pub(crate) fn apply(self, options: &mut SessionOptions) {
        options.mcp_servers.extend(self.servers);
        if !self.directories.is_empty() {
            let paths = self.directories.iter();
            let paths = paths.map(|path| format!("- {}", path.display()));
            let paths = paths.collect::<Vec<_>>().join("\n");
            let text = format!(
                "The workspace also has these directories; use absolute paths for their files:\n{paths}"
            );
            options.resources.append_system_prompt.push(text);
        }
    }
}

/// Returns the name of a server and its entry in the format of `mcp.json`.
fn server_entry(server: &Value) -> Result<(&str, Value), &'static str> {
    let name = server.get("name").and_then(Value::as_str);
    let name = name.ok_or("has no name")?;
    let entry = match server.get("type").and_then(Value::as_str) {
        Some("http") => json!({
            "type": "http",
            "url": server.get("url"),
            "headers": pairs(server.get("headers")),
        }),
        Some("sse") => return Err("uses SSE, which is not supported; use HTTP"),
        Some("stdio") | None => json!({
            "command": server.get("command"),
            "args": server.get("args").filter(|args| !args.is_null()).unwrap_or(&json!([])),
            "env": pairs(server.get("env")),
        }),
        Some(_) => return Err("has an unknown type"),
    };
    Ok((name, entry))
}

/// Converts a list of names and values to an object.
fn pairs(list: Option<&Value>) -> Map<String, Value> {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    let items = items.filter_map(|item| {
        let name = item.get("name")?.as_str()?;
        Some((name.to_owned(), item.get("value")?.clone()))
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn problem(params: &Value) -> String {
        SessionSetup::from_params(params).unwrap_err().message
    }

    #[test]
    fn the_invalid_field_is_named() {
        let cwd = std::env::temp_dir();
        for (params, expected) in [
            (json!({}), "cwd must be a string"),
            (
                json!({"cwd": "a"}),
                "cwd must be an absolute path, not \"a\"",
            ),
            (
                json!({"cwd": "/\0"}),
                "cwd must be an absolute path, not \"/\\0\"",
            ),
            (
                json!({"cwd": "/no/such/place"}),
                "cwd is not a directory: /no/such/place",
            ),
            (
                json!({"cwd": cwd, "additionalDirectories": ["a"]}),
                "additionalDirectories must be an absolute path, not \"a\"",
            ),
            (
                json!({"cwd": cwd, "mcpServers": 1}),
                "mcpServers must be a list",
            ),
            (
                json!({"cwd": cwd, "mcpServers": [{}]}),
                "mcpServers[0] has no name",
            ),
            (
                json!({"cwd": cwd, "mcpServers": [{"type": "sse", "name": "a"}]}),
                "mcpServers[0] uses SSE, which is not supported; use HTTP",
            ),
        ] {
            assert_eq!(problem(&params), expected);
        }
    }

    #[test]
    fn servers_and_directories_are_added_to_the_session() {
        let cwd = std::env::temp_dir();
        let setup = SessionSetup::from_params(&json!({
            "cwd": cwd,
            "additionalDirectories": ["/other"],
            "mcpServers": [
                {"name": "one", "command": "/bin/one", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
                {"type": "http", "name": "two", "url": "https://e.org/mcp", "headers": []},
            ],
        }))
        .unwrap();
        let mut options = SessionOptions::new(&cwd);
        setup.apply(&mut options);
        let names: Vec<&str> = options.mcp_servers.iter().map(|spec| &*spec.name).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(options.mcp_servers[0].config["env"], json!({"A": "b"}));
        assert!(options.resources.append_system_prompt[0].ends_with("\n- /other"));
    }
}
