//! MCP servers that extensions register, with extensions on both hosts.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};
use crate::reference_client::node_of;

/// Registers a server at the start, then holds the prompt until it has seen the servers of both extensions.
const EXTENSION: &str = r#"
import { writeFileSync } from "node:fs";

export default (pi) => {
  const changes = [];
  let isComplete;
  const complete = new Promise((resolve) => (isComplete = resolve));
  pi.on("mcp_servers_change", (event) => {
    changes.push(event.servers.map((server) => server.name).sort());
    if (event.servers.length === 2) isComplete();
  });
  pi.on("session_start", () => pi.registerMcpServer("NAME", { command: "true" }));
  pi.on("input", async () => {
    await complete;
    pi.unregisterMcpServer("NAME");
    writeFileSync("NAME.json", JSON.stringify(changes));
  });
};
"#;

#[tokio::test]
async fn a_change_reaches_the_extensions_of_both_hosts() {
    let Some(node) = node_of("1.5.0") else {
        return;
    };
    let context = TestContext::new([text_reply("Done.")]).await;
    let settings = json!({"extensionHost": {"remote.js": "node", "local.js": "quickjs"}});
    let settings = settings.to_string();
    context.home.write("agent/settings.json", settings);
    for name in ["local", "remote"] {
        let source = EXTENSION.replace("NAME", name);
        let file = format!("agent/extensions/{name}.js");
        context.home.write(&file, source);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", node.parent().unwrap().display());
    let mut command = context.command(&["--model", "mock/alpha", "--no-mcp", "-p", "hi"]);
    let run = command.env("PATH", path).output();
    let run = tokio::time::timeout(TEST_TIMEOUT, run).await;
    let run = PiOutput::new(run.expect("pi timed out").unwrap());
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    for name in ["local", "remote"] {
        let file = context.project_dir().join(format!("{name}.json"));
        let changes: Vec<Value> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert!(changes.contains(&json!(["local", "remote"])), "{changes:?}");
    }
}
