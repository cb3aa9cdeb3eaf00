use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

/// Imports the text of a file of a client; returns the servers as text, and the problems.
fn import(client: McpClient, file: &str, text: &str) -> (String, Vec<String>) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    pi_fs::atomic_file::write(&path, text.as_bytes(), pi_fs::NewFileMode::Default).unwrap();
    let files = client.user_files(home.path());
    assert!(files.contains(&path), "{files:?}");
    let import = read_mcp_servers_of(client, &files, Path::new("/home/me/garden"));
    assert_eq!(import.files, std::slice::from_ref(&path));
    let target = home.path().join("mcp.json");
    for (name, entry) in import.servers {
        crate::add_mcp_server(&target, &name, entry).unwrap();
    }
    let prefix = format!("{}: ", path.display());
    let problems = import.problems.iter();
    let problems = problems.map(|problem| problem.strip_prefix(&prefix).unwrap().to_owned());
    (
        std::fs::read_to_string(target).unwrap_or_default(),
        problems.collect(),
    )
}

#[test]
fn servers_of_claude_are_imported() {
    let text = json!({
        "numStartups": 3,
        "mcpServers": {
            "files": {"type": "stdio", "command": "npx", "args": ["-y", "files"], "env": {}},
            "old": {"type": "sse", "url": "https://old.example/sse"},
        },
        "projects": {
            "/home/me/garden": {"mcpServers": {"plants": {"type": "http", "url": "https://plants.example/mcp"}}},
            "/home/me/other": {"mcpServers": {"other": {"command": "x"}}},
        },
    });
    let (servers, problems) = import(McpClient::Claude, ".claude.json", &text.to_string());
    let expected = r#"{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": [
        "-y",
        "files"
      ]
    },
    "plants": {
      "url": "https://plants.example/mcp"
    }
  }
}
"#;
    assert_eq!(servers, expected);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].starts_with("server \"old\": "), "{problems:?}");
}

#[test]
fn servers_of_cursor_are_imported() {
    let text = r#"{"mcpServers": {"my docs": {"url": "https://docs.example/mcp", "headers": {"X-Key": "${env:DOCS_KEY}"}, "disabled": true}}}"#;
    let (servers, problems) = import(McpClient::Cursor, ".cursor/mcp.json", text);
    let expected = r#"{
  "mcpServers": {
    "my-docs": {
      "url": "https://docs.example/mcp",
      "headers": {
        "X-Key": "${DOCS_KEY}"
      },
      "enabled": false
    }
  }
}
"#;
    assert_eq!((servers.as_str(), problems), (expected, Vec::new()));
}

#[test]
fn servers_of_vs_code_are_imported() {
    let text = r#"{
  // Secrets are asked for.
  "inputs": [{"id": "api-key", "type": "promptString", "password": true}],
  "servers": {
    "tool": {"type": "stdio", "command": "${workspaceFolder}/tool", "env": {"KEY": "${input:api-key}", "A": "${env:B}"}},
  },
}"#;
    let (servers, problems) = import(McpClient::VsCode, ".config/Code/User/mcp.json", text);
    let expected = r#"{
  "mcpServers": {
    "tool": {
      "command": "./tool",
      "env": {
        "KEY": "${api_key}",
        "A": "${B}"
      }
    }
  }
}
"#;
    assert_eq!((servers.as_str(), problems), (expected, Vec::new()));
}

#[test]
fn servers_of_codex_are_imported() {
    let text = r#"
model = "x" # comment
notes = """
[mcp_servers.fake]
"""
[mcp_servers.files]
command = "npx"
args = ["-y", 'C:\files',
  "last", # trailing
]
tool_timeout_sec = 90.5
startup_timeout_sec = 20

[mcp_servers.files.env]
LEVEL = "info"
MORE = "a\tb\u00e9"

[tui]
theme = '''x'''

[mcp_servers."remote"]
url = "https://remote.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { X = "1" }
env_http_headers = { Y = "Y_VALUE" }
enabled = false
"#;
    let (servers, problems) = import(McpClient::Codex, ".codex/config.toml", text);
    let expected = r#"{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": [
        "-y",
        "C:\\files",
        "last"
      ],
      "env": {
        "LEVEL": "info",
        "MORE": "a\tbé"
      },
      "timeout": 90.5
    },
    "remote": {
      "url": "https://remote.example/mcp",
      "headers": {
        "X": "1",
        "Y": "${Y_VALUE}",
        "Authorization": "Bearer ${TOKEN}"
      },
      "enabled": false
    }
  }
}
"#;
    assert_eq!((servers.as_str(), problems), (expected, Vec::new()));
}

#[test]
fn servers_of_opencode_are_imported() {
    let text = r#"{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "local": {"type": "local", "command": ["bun", "x", "tool"], "environment": {"KEY": "{env:MY_KEY}"}, "enabled": false},
    "remote": {"type": "remote", "url": "https://remote.example/mcp", "headers": {"Authorization": "Bearer {env:TOKEN}"}},
    "odd": {"type": "local", "command": "text"},
  },
}"#;
    let (servers, problems) = import(McpClient::OpenCode, ".config/opencode/opencode.json", text);
    let expected = r#"{
  "mcpServers": {
    "local": {
      "command": "bun",
      "args": [
        "x",
        "tool"
      ],
      "env": {
        "KEY": "${MY_KEY}"
      },
      "enabled": false
    },
    "remote": {
      "url": "https://remote.example/mcp",
      "headers": {
        "Authorization": "Bearer ${TOKEN}"
      }
    }
  }
}
"#;
    assert_eq!(servers, expected);
    assert_eq!(
        problems,
        ["server \"odd\": command must be a list of words"]
    );
}

#[test]
fn malformed_files_are_reported() {
    for (client, file, text) in [
        (McpClient::Claude, ".claude.json", "{ nope"),
        (McpClient::Cursor, ".cursor/mcp.json", "[]"),
        (
            McpClient::Cursor,
            ".cursor/mcp.json",
            r#"{"mcpServers": []}"#,
        ),
        (
            McpClient::Codex,
            ".codex/config.toml",
            "[mcp_servers.a]\ncommand = \"x",
        ),
        (
            McpClient::Codex,
            ".codex/config.toml",
            "[mcp_servers.a]\nargs = [1",
        ),
    ] {
        let (servers, problems) = import(client, file, text);
        assert_eq!(servers, "", "{text}");
        assert_eq!(problems.len(), 1, "{text}");
    }
    let nested = format!("[mcp_servers.a]\nx = {}", "[".repeat(100_000));
    let (_, problems) = import(McpClient::Codex, ".codex/config.toml", &nested);
    assert_eq!(problems.len(), 1);
}
