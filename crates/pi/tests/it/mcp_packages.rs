//! Published MCP servers and the official conformance suite. They are installed from the npm registry once; without Node or
//! the registry these tests are skipped. `PI_TEST_MCP_SERVERS` names a directory where they are installed already.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_test_support::{ScriptedReply, find_browser};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

use crate::harness::{TestContext, pi_binary, text_reply, tool_call_reply};
use crate::mcp::Client;

const PACKAGES: [&str; 7] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
    "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
    "@modelcontextprotocol/conformance@0.1.16",
    "@playwright/mcp@0.0.83",
    "@upstash/context7-mcp@4.1.1",
];

/// A client of servers, whose dependencies are large.
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";

/// A server from `PyPI`.
const GIT_SERVER: &str = "mcp-server-git==2026.8.18";

const INSTALL_TIMEOUT: Duration = Duration::from_mins(3);

/// Deadline for a scenario of the conformance suite.
const SCENARIO_TIMEOUT: Duration = Duration::from_mins(1);

/// The scenarios for clients that belong to a version of the protocol.
const SCENARIOS: [&str; 20] = [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
];

/// Returns the directory with the packages; prints a note and returns `None` if they cannot be installed.
async fn packages() -> Option<&'static Path> {
    static INSTALLED: OnceCell<Option<PathBuf>> = OnceCell::const_new();
    let installed = INSTALLED.get_or_init(install).await;
    installed.as_deref()
}

#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn install() -> Option<PathBuf> {
    if let Some(directory) = std::env::var_os("PI_TEST_MCP_SERVERS") {
        return Some(directory.into());
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-servers");
    let has_package = |package: &&str| {
        let name = package.rsplit_once('@').map_or(*package, |(name, _)| name);
        directory.join("node_modules").join(name).exists()
    };
    if recent_node(&directory).exists() && PACKAGES.iter().all(has_package) {
        return Some(directory);
    }
    std::fs::create_dir_all(&directory).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--fetch-retries", "0", "--prefix"])
        .arg(&directory)
        .args(PACKAGES)
        .arg(format!("{}@22", node_package()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let installed = tokio::time::timeout(INSTALL_TIMEOUT, npm.status()).await;
    match installed {
        Ok(Ok(status)) if status.success() => Some(directory),
        _ => {
            println!("skipped: needs Node, npm and the npm registry");
            None
        }
    }
}

/// The package with the Node program that the conformance suite needs.
pub(crate) fn node_package() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        system => system,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        processor => processor,
    };
    format!("node-{system}-{processor}")
}

fn recent_node(packages: &Path) -> PathBuf {
    let directory = packages.join("node_modules").join(node_package());
    directory.join("bin/node")
}

fn script(packages: &Path, package: &str) -> PathBuf {
    let package = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
    packages.join(package)
}

#[derive(Debug, Clone, Copy)]
enum Transport {
    Stdio,
    Http,
}

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

/// A session with the everything-server and a client that answers questions.
struct Everything {
    context: TestContext,
    client: Client,
    _server: Option<Child>,
}

impl Everything {
    async fn start(
        packages: &Path,
        transport: Transport,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        let context = TestContext::new(replies).await;
        let script = script(packages, "server-everything");
        let (mut entry, server) = match transport {
            Transport::Stdio => (json!({"command": "node", "args": [script]}), None),
            Transport::Http => {
                let (server, port) = serve(&script).await;
                let url = format!("http://127.0.0.1:{port}/mcp");
                (json!({ "url": url }), Some(server))
            }
        };
        entry["exposure"] = json!("direct");
        // One of its tools is offered to clients with sampling only.
        entry["sampling"] = json!(true);
        let config = json!({"mcpServers": {"everything": entry}});
        context.home.write("agent/mcp.json", config.to_string());
        let mut client = Client::start(&context);
        client
            .request(json!({"type": "hello", "elicitation": true}))
            .await;
        // The server registers tools for our capabilities after the handshake, and announces them.
        let has_all = |servers: &Value| {
            let tools = servers[0]["tools"].as_array();
            tools.is_some_and(|tools| tools.iter().any(|it| it == "trigger-url-elicitation"))
        };
        let listed = client.request(json!({"type": "get_mcp_servers"})).await;
        if !has_all(&listed["data"]["servers"]) {
            client
                .read_until(|it| it["type"] == "mcp_status" && has_all(&it["servers"]))
                .await;
        }
        Self {
            context,
            client,
            _server: server,
        }
    }

    /// Starts a session whose model calls a tool of the server.
    async fn calling(packages: &Path, transport: Transport, tool: &str, arguments: Value) -> Self {
        let replies = [tool_call_reply(tool, &arguments), text_reply("Done.")];
        let mut session = Self::start(packages, transport, replies).await;
        session.prompt("go").await;
        session
    }

    async fn prompt(&mut self, message: &str) {
        let prompt = json!({"type": "prompt", "message": message});
        self.client.send(prompt).await;
    }

    /// Chooses an option of the next dialog; returns its title.
    async fn choose(&mut self, option: &str) -> String {
        let is_dialog =
            |it: &Value| it["type"] == "extension_ui_request" && it["title"].is_string();
        let dialog = self.client.read_until(is_dialog).await;
        let answer = json!({"type": "extension_ui_response", "id": dialog["id"], "value": option});
        self.client.send(answer).await;
        dialog["title"].as_str().unwrap().to_owned()
    }

    /// Waits until the run ends; returns what the model received last.
    async fn settled(&mut self) -> String {
        self.client
            .read_until(|it| it["type"] == "agent_settled")
            .await;
        let requests = self.context.server.requests();
        String::from_utf8_lossy(&requests.last().unwrap().body).into_owned()
    }
}

/// Starts the everything-server on a free port.
async fn serve(script: &Path) -> (Child, u16) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let mut server = Command::new("node")
        .arg(script)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.contains("listening") {
            break;
        }
    }
    // The server must be able to write further lines.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (server, port)
}

#[tokio::test]
async fn tools_prompts_and_templates_are_listed() {
    let Some(packages) = packages().await else {
        return;
    };
    for transport in TRANSPORTS {
        let replies = [
            text_reply("Done."),
            tool_call_reply("list_mcp_resource_templates", &json!({})),
            text_reply("Done."),
        ];
        let mut session = Everything::start(packages, transport, replies).await;
        let listed = session
            .client
            .request(json!({"type": "get_mcp_servers"}))
            .await;
        let tools = listed["data"]["servers"][0]["tools"].as_array().unwrap();
        assert_eq!(tools.len(), 17, "{transport:?}: {tools:?}");
        session.prompt("/mcp:everything:simple-prompt").await;
        let body = session.settled().await;
        assert!(body.contains("This is a simple prompt"), "{body}");
        let commands = session
            .client
            .request(json!({"type": "get_commands"}))
            .await;
        let commands = commands["data"]["commands"].as_array().unwrap().clone();
        let prompts = commands.iter().filter(|command| {
            let name = command["name"].as_str().unwrap_or_default();
            name.starts_with("mcp:everything:")
        });
        assert_eq!(prompts.count(), 4, "{transport:?}");
        session.prompt("list templates").await;
        let body = session.settled().await;
        assert_eq!(body.matches("uriTemplate").count(), 2, "{body}");
    }
}

#[tokio::test]
async fn forms_and_pages_are_asked() {
    let Some(packages) = packages().await else {
        return;
    };
    for transport in TRANSPORTS {
        let tool = "mcp__everything__trigger_elicitation_request";
        let mut session = Everything::calling(packages, transport, tool, json!({})).await;
        let title = session.choose("Decline").await;
        assert!(title.contains("everything"), "{title}");
        let body = session.settled().await;
        assert!(body.contains("declined"), "{transport:?}: {body}");

        let tool = "mcp__everything__trigger_url_elicitation";
        let arguments = json!({"url": "https://example.com/a"});
        let mut session = Everything::calling(packages, transport, tool, arguments).await;
        let title = session.choose("Decline").await;
        assert!(title.contains("example.com"), "{title}");
        let body = session.settled().await;
        assert!(body.contains("decline"), "{transport:?}: {body}");

        // The call fails until the page was visited.
        let arguments = json!({"url": "https://example.com/a", "errorPath": true});
        let mut session = Everything::calling(packages, transport, tool, arguments).await;
        let title = session.choose("Decline").await;
        assert!(title.contains("prerequisite"), "{title}");
        session.settled().await;
        assert_eq!(session.context.server.requests().len(), 2);
    }
}

#[tokio::test]
async fn progress_is_reported_and_calls_are_canceled() {
    let Some(packages) = packages().await else {
        return;
    };
    for transport in TRANSPORTS {
        let tool = "mcp__everything__trigger_long_running_operation";
        let arguments = json!({"duration": 0.2, "steps": 2});
        let mut session = Everything::calling(packages, transport, tool, arguments).await;
        let update = session
            .client
            .read_until(|it| it["type"] == "tool_execution_update")
            .await;
        assert!(update.to_string().contains("Progress"), "{update}");
        let body = session.settled().await;
        assert!(body.contains("Long running operation completed"), "{body}");

        let arguments = json!({"duration": 600, "steps": 600});
        let mut session = Everything::calling(packages, transport, tool, arguments).await;
        session
            .client
            .read_until(|it| it["type"] == "tool_execution_update")
            .await;
        session.client.send(json!({"type": "abort"})).await;
        session.settled().await;
    }
}

#[tokio::test]
async fn all_kinds_of_results_reach_the_model() {
    let Some(packages) = packages().await else {
        return;
    };
    for transport in TRANSPORTS {
        for (tool, arguments, expected) in [
            ("echo", json!({"message": "hi there"}), "Echo: hi there"),
            ("get_tiny_image", json!({}), "data:image/png;base64,"),
            (
                "get_structured_content",
                json!({"location": "Chicago"}),
                "temperature",
            ),
            (
                "get_resource_links",
                json!({"count": 2}),
                "demo://resource/dynamic/",
            ),
            (
                "get_resource_reference",
                json!({"resourceType": "Text", "resourceId": 1}),
                "Resource 1",
            ),
        ] {
            let name = format!("mcp__everything__{tool}");
            let mut session = Everything::calling(packages, transport, &name, arguments).await;
            let body = session.settled().await;
            assert!(body.contains(expected), "{transport:?} {tool}: {body}");
        }
    }
}

/// A published server, a call of one of its tools, and a text that the model receives then.
struct PublishedServer {
    name: &'static str,
    command: PathBuf,
    args: Vec<String>,
    tool: &'static str,
    arguments: Value,
    expected: &'static str,
}

fn npm_servers(packages: &Path) -> Vec<PublishedServer> {
    let directory = packages.to_string_lossy();
    let from_npm = |program: &str, more: &[&str]| {
        let words = ["--prefix", &*directory, program]
            .into_iter()
            .chain(more.iter().copied());
        words.map(str::to_owned).collect()
    };
    let server = |name, args, tool, arguments, expected| PublishedServer {
        name,
        command: "npx".into(),
        args,
        tool,
        arguments,
        expected,
    };
    let thought =
        json!({"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    let mut servers = vec![
        server(
            "files",
            from_npm("mcp-server-filesystem", &["."]),
            "list_allowed_directories",
            json!({}),
            "project",
        ),
        server(
            "memory",
            from_npm("mcp-server-memory", &[]),
            "read_graph",
            json!({}),
            "entities",
        ),
        server(
            "thinking",
            from_npm("mcp-server-sequential-thinking", &[]),
            "sequentialthinking",
            thought,
            "thoughtHistoryLength",
        ),
        // Its service is replaced by an address where nothing listens; the server reports that.
        server(
            "context7",
            from_npm("context7-mcp", &[]),
            "resolve_library_id",
            json!({"query": "spawn a task", "libraryName": "tokio"}),
            "rror",
        ),
    ];
    if let Some(browser) = find_browser() {
        let flags = [
            "--headless",
            "--no-sandbox",
            "--isolated",
            "--executable-path",
        ];
        let flags: Vec<_> = flags.into_iter().chain(browser.to_str()).collect();
        servers.push(server(
            "playwright",
            from_npm("playwright-mcp", &flags),
            "browser_navigate",
            json!({"url": "data:text/html,<title>A page</title><h1>Shown</h1>"}),
            "Page Title: A page",
        ));
    }
    servers
}

/// Installs the server for Git repositories; prints a note and returns `None` if that fails.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn git_server() -> Option<PublishedServer> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-server-git");
    let command = environment.join("bin/mcp-server-git");
    let run = async |program: &Path, args: &[&str]| {
        let mut process = Command::new(program);
        process
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let ended = tokio::time::timeout(INSTALL_TIMEOUT, process.status()).await;
        matches!(ended, Ok(Ok(status)) if status.success())
    };
    if !command.exists() {
        let place = environment.to_string_lossy();
        let pip = environment.join("bin/pip");
        let is_installed = run(Path::new("python3"), &["-m", "venv", &place]).await
            && run(&pip, &["install", "--quiet", GIT_SERVER]).await;
        if !is_installed {
            println!("skipped: mcp-server-git needs Python, pip and PyPI");
            return None;
        }
    }
    let repository = environment.join("repository");
    let place = repository.to_string_lossy().into_owned();
    if !run(Path::new("git"), &["init", "--quiet", &place]).await {
        println!("skipped: mcp-server-git needs git");
        return None;
    }
    Some(PublishedServer {
        name: "git",
        command,
        args: Vec::new(),
        tool: "git_status",
        arguments: json!({"repo_path": place}),
        expected: "Repository status",
    })
}

#[tokio::test]
async fn published_servers_are_used_and_end_with_a_killed_pi() {
    let Some(packages) = packages().await else {
        return;
    };
    let mut servers = npm_servers(packages);
    servers.extend(git_server().await);
    for server in servers {
        let name = server.name;
        let replies = [
            tool_call_reply(&format!("mcp__{name}__{}", server.tool), &server.arguments),
            text_reply("Done."),
        ];
        let context = TestContext::new(replies).await;
        let mark = context
            .home
            .path()
            .join("graph")
            .to_string_lossy()
            .into_owned();
        let entry = json!({
            "command": server.command, "args": server.args, "exposure": "direct",
            "env": {"MEMORY_FILE_PATH": mark, "CONTEXT7_API_URL": "http://127.0.0.1:9/api"},
        });
        let config = json!({"mcpServers": {name: entry}});
        context.home.write("agent/mcp.json", config.to_string());
        let mut client = Client::start(&context);
        client
            .send(json!({"type": "prompt", "message": "go"}))
            .await;
        client.read_until(|it| it["type"] == "agent_settled").await;
        let requests = context.server.requests();
        let body: Value = serde_json::from_slice(&requests[1].body).unwrap();
        let result = body["messages"].as_array().unwrap().last().unwrap();
        let text = result["content"].to_string();
        assert!(text.contains(server.expected), "{name}: {text}");
        assert!(!processes_with(&mark).is_empty());
        client.child.start_kill().unwrap();
        client.child.wait().await.unwrap();
        let ending = async {
            while !processes_with(&mark).is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::time::timeout(crate::harness::TEST_TIMEOUT, ending).await;
        assert!(ended.is_ok(), "{name}: {:?}", processes_with(&mark));
    }
}

/// Returns the processes whose environment has a text.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(text)
    });
    processes
        .map(|process| process.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Returns the inspector; prints a note and returns `None` if it cannot be installed.
#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn inspector() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-inspector");
    let program = directory.join("node_modules/.bin/mcp-inspector");
    if !program.exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
            .args(["--fetch-retries", "0", "--prefix"])
            .arg(&directory)
            .arg(INSPECTOR)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        tokio::time::timeout(INSTALL_TIMEOUT, npm.status())
            .await
            .ok();
    }
    if !program.exists() {
        println!("skipped: needs Node, npm and the npm registry");
        return None;
    }
    Some(program)
}

#[tokio::test]
async fn the_inspector_lists_calls_and_cancels() {
    let (Some(packages), Some(inspector)) = (packages().await, inspector().await) else {
        return;
    };
    let replies = [
        text_reply("From pi."),
        crate::harness::partial_reply("slow").stall(),
    ];
    let context = TestContext::new(replies).await;
    let template = "---\nargument-hint: <file>\n---\nReview $1.";
    context.home.write("agent/prompts/review.md", template);
    let node = recent_node(packages);
    let path = format!(
        "{}:{}",
        node.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let inspect = |arguments: &[&str]| {
        let mut command = Command::new(&inspector);
        command.arg("--cli").arg(pi_binary()).args(["mcp", "serve"]);
        // The inspector passes only these variables to servers.
        for (name, value) in context.environment() {
            let pair = format!("{name}={value}");
            command.args(["-e", &pair]);
        }
        command
            .args(arguments)
            .current_dir(context.project_dir())
            .env_clear()
            .envs(context.environment())
            .env("PATH", &path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    };
    let list = inspect(&["--method", "tools/list"]).output().await.unwrap();
    let errors = String::from_utf8_lossy(&list.stderr).into_owned();
    let list: Value = serde_json::from_slice(&list.stdout).expect(&errors);
    assert_eq!(list["tools"].as_array().unwrap().len(), 4, "{list}");
    let prompts = inspect(&["--method", "prompts/list"])
        .output()
        .await
        .unwrap();
    let prompts: Value = serde_json::from_slice(&prompts.stdout).expect("a list of prompts");
    assert_eq!(prompts["prompts"][0]["arguments"][0]["name"], "file");
    let arguments = [
        "--method",
        "prompts/get",
        "--prompt-name",
        "review",
        "--prompt-args",
        "file=main.rs",
    ];
    let prompt = inspect(&arguments).output().await.unwrap();
    let text = String::from_utf8_lossy(&prompt.stdout).into_owned();
    assert!(text.contains("Review main.rs."), "{text}");
    let call = |prompt: &str| {
        let prompt = format!("prompt={prompt}");
        inspect(&[
            "--method",
            "tools/call",
            "--tool-name",
            "pi",
            "--tool-arg",
            &prompt,
            "--tool-arg",
            "model=mock/alpha",
        ])
    };
    let called = call("hello").output().await.unwrap();
    let text = String::from_utf8_lossy(&called.stdout).into_owned();
    assert!(text.contains("From pi."), "{text}");
    let mut calling = call("wait").spawn().unwrap();
    let second = context.server.wait_for_request(1);
    tokio::time::timeout(crate::harness::TEST_TIMEOUT, second)
        .await
        .unwrap();
    calling.start_kill().unwrap();
    calling.wait().await.unwrap();
    let mark = context.home.path().to_string_lossy().into_owned();
    let ending = async {
        while !processes_with(&mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(crate::harness::TEST_TIMEOUT, ending).await;
    assert!(ended.is_ok(), "{:?}", processes_with(&mark));
}

/// The scenarios for servers that need no tools, resources or prompts with given names.
const SERVER_SCENARIOS: [&str; 7] = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_official_scenarios_for_servers_pass() {
    let Some(packages) = packages().await else {
        return;
    };
    let suite = script(packages, "conformance");
    let context = TestContext::new([]).await;
    let served = crate::web_ui::serve(&context).await;
    let port = crate::serve::authorizing_proxy(&context, &served).await;
    for scenario in SERVER_SCENARIOS {
        let url = format!("http://localhost:{port}/mcp");
        let run = Command::new(recent_node(packages))
            .arg(&suite)
            .args(["server", "--url", &url, "--scenario", scenario])
            .current_dir(context.home.path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(SCENARIO_TIMEOUT, run).await;
        let output = output.expect(scenario).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{scenario}: {text}{errors}");
    }
}

#[tokio::test]
async fn the_official_scenarios_for_clients_pass() {
    let Some(packages) = packages().await else {
        return;
    };
    let suite = script(packages, "conformance");
    let client = format!("{} mcp conform", pi_binary().to_string_lossy());
    for scenario in SCENARIOS {
        let context = TestContext::new([]).await;
        let run = Command::new(recent_node(packages))
            .arg(&suite)
            .args(["client", "--command", &client, "--scenario", scenario])
            .current_dir(context.home.path())
            .envs(context.environment())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(SCENARIO_TIMEOUT, run).await;
        let output = output.expect(scenario).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{scenario}: {text}{errors}");
    }
}
