//! The built-in extension `task`: sub-agents with their results, limits, sessions, worktrees and questions.

use std::fs;
use std::path::PathBuf;
use std::process::Command as Program;
use std::time::Duration;

use pi_protocol::{Answer, Command, RequestId};
use pi_rpc::{RpcClient, RpcClientOptions, RpcEvent};
use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::harness::{
    TEST_TIMEOUT, TestContext, bash_reply, delta_event, partial_reply, pi_binary, text_reply,
    tool_call_reply,
};
use crate::mcp_packages::processes_with;
use crate::terminal::Terminal;

const ON: [&str; 2] = ["-e", "builtin:task"];

fn task_reply(arguments: &Value) -> ScriptedReply {
    tool_call_reply("task", arguments)
}

/// A reply that reports the tokens it used.
fn counted_reply(text: &str, tokens: u64) -> ScriptedReply {
    let usage = json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens},
    });
    partial_reply(text)
        .chunk(delta_event(&json!({}), Some("stop")))
        .chunk(format!("data: {usage}\n\n"))
        .chunk("data: [DONE]\n\n")
}

fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// The requests of the conversation whose first message contains a text.
fn requests_of(context: &TestContext, text: &str) -> Vec<Value> {
    let requests = context.server.requests().into_iter();
    let matching = requests.filter(|request| {
        let first = request.first_user_message();
        first.is_some_and(|first| first.contains(text))
    });
    matching.map(|request| request.json()).collect()
}

/// The results of tools in the last request of the session of the user.
fn results(context: &TestContext) -> String {
    let request = requests_of(context, "\"go\"").pop().unwrap();
    let messages = request["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    let texts = results.map(|message| message["content"].as_str().unwrap().to_owned());
    texts.collect::<Vec<_>>().join("\n")
}

async fn run(context: &TestContext, more: &[&str]) -> String {
    let arguments = [&ON[..], more, &["-p", "go"]].concat();
    let output = context.run(&arguments).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    results(context)
}

/// A session in RPC mode, and its events.
struct RpcSession {
    client: RpcClient,
    events: mpsc::UnboundedReceiver<Value>,
    _subscription: Box<dyn std::any::Any>,
}

impl RpcSession {
    fn start(context: &TestContext) -> Self {
        let mut options = RpcClientOptions::new(pi_binary());
        options.arguments = ["-e", "builtin:task", "--model", "mock/alpha"]
            .map(Into::into)
            .into();
        options.cwd = Some(context.project_dir());
        let environment = context.environment().into_iter();
        options.environment = environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let client = RpcClient::start(&options).unwrap();
        let (sender, events) = mpsc::unbounded_channel();
        let subscription = client.subscribe(move |event: &RpcEvent| {
            sender.send(event.json().clone()).ok();
        });
        Self {
            client,
            events,
            _subscription: Box::new(subscription),
        }
    }

    /// Waits for an event.
    async fn wait(&mut self, mut is_wanted: impl FnMut(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                let event = self.events.recv().await.expect("pi has ended");
                if is_wanted(&event) {
                    return event;
                }
            }
        };
        let found = tokio::time::timeout(TEST_TIMEOUT, waiting).await;
        found.unwrap_or_else(|_| panic!("no such event; {}", self.client.stderr()))
    }

    /// Waits until a sub-agent with this title is in a state and returns its status.
    async fn wait_for_task(&mut self, title: &str, state: &str) -> Value {
        let event = self.wait(|event| {
            event["type"] == "task_update"
                && event["task"]["title"] == title
                && event["task"]["state"] == state
        });
        event.await["task"].clone()
    }

    async fn wait_until_settled(&mut self) {
        self.wait(|event| event["type"] == "agent_settled").await;
    }
}

/// The files of sub-agents.
fn child_files(context: &TestContext) -> Vec<PathBuf> {
    let list = |path: PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let projects = list(context.home.path().join("agent/sessions"));
    let parents = projects.into_iter().flat_map(list);
    let runs = parents.filter(|path| path.is_dir()).flat_map(list);
    let files = runs.map(|run| run.join("session.jsonl"));
    files.filter(|file| file.exists()).collect()
}

/// Waits until no socket and no process of a session is left.
async fn assert_nothing_left(context: &TestContext) {
    let live = context.home.path().join("agent/live");
    let mark = context.home.path().to_str().unwrap();
    let is_clean = || {
        let sockets = fs::read_dir(&live).map_or(0, Iterator::count);
        sockets == 0 && processes_with(mark).is_empty()
    };
    let ending = async {
        while !is_clean() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(TEST_TIMEOUT, ending).await;
    assert!(ended.is_ok(), "{:?}", processes_with(mark));
}

#[tokio::test]
async fn the_tool_exists_only_on_request_and_yields_to_packages() {
    for (arguments, exists) in [
        (&["-p", "go"][..], false),
        (&["-e", "builtin:task", "-p", "go"], true),
        (&["-e", "builtin:task", "-e", "other.js", "-p", "go"], false),
    ] {
        let context = TestContext::new([text_reply("done")]).await;
        let other = "export default (pi) => pi.registerTool({name: 'subagent', label: 'x', description: 'x', parameters: {type: 'object', properties: {}}, async execute() { return {content: [], details: {}}; }});";
        context.home.write("project/other.js", other);
        context.run(arguments).await;
        let names = tool_names(&context.server.requests()[0].json());
        assert_eq!(names.contains(&"task".to_owned()), exists, "{names:?}");
    }
}

#[tokio::test]
async fn a_sub_agent_answers_with_its_own_tools_model_and_instructions() {
    let arguments = json!({"agent": "explorer", "prompt": "find it"});
    let context = TestContext::new([task_reply(&arguments), text_reply("done")]).await;
    context.home.write(
        "agent/agents/explorer.md",
        "---\ndescription: Finds things\ntools: read, grep\nmodel: mock/beta\n---\nLook everywhere.",
    );
    context
        .server
        .reply_to("find it", [text_reply("It is here.")]);
    assert_eq!(run(&context, &[]).await, "It is here.");
    let first = &requests_of(&context, "\"go\"")[0];
    let tools = first["tools"].as_array().unwrap();
    let task = tools.iter().find(|tool| tool["function"]["name"] == "task");
    let description = task.unwrap()["function"]["description"].as_str().unwrap();
    assert!(
        description.contains("\n- explorer: Finds things"),
        "{description}"
    );
    let child = &requests_of(&context, "find it")[0];
    assert_eq!(child["model"], "beta");
    assert_eq!(tool_names(child), ["read", "grep"]);
    let system = child["messages"][0]["content"].to_string();
    assert!(system.contains("Look everywhere."), "{system}");
    let files = child_files(&context);
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let text = fs::read_to_string(file).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let parent = file
        .parent()
        .unwrap()
        .parent()
        .unwrap()
        .with_extension("jsonl");
    assert_eq!(header["parentSession"], parent.to_str().unwrap());
    assert!(parent.exists(), "{}", parent.display());
}

#[tokio::test]
async fn a_sub_agent_has_no_tool_that_its_parent_cannot_have() {
    let tasks = json!({"tasks": [{"prompt": "child plain"}, {"agent": "greedy", "prompt": "child greedy"}]});
    let context = TestContext::new([task_reply(&tasks), text_reply("done")]).await;
    let agent = "---\ndescription: Wants all\ntools: [read, bash, task, ls]\n---\n";
    context.home.write("agent/agents/greedy.md", agent);
    for name in ["child plain", "child greedy"] {
        context.server.reply_to(name, [text_reply("ok")]);
    }
    let text = run(&context, &["--tools", "read,ls,task"]).await;
    assert!(text.starts_with("2 of 2 tasks completed."), "{text}");
    for name in ["child plain", "child greedy"] {
        assert_eq!(
            tool_names(&requests_of(&context, name)[0]),
            ["read", "ls"],
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_sub_agents_have_truthful_results() {
    let names = [
        "one", "two", "three", "four", "five", "fails", "floods", "hangs",
    ];
    let tasks: Vec<_> = names
        .iter()
        .map(|name| json!({"prompt": format!("child {name}")}))
        .collect();
    let context =
        TestContext::new([task_reply(&json!({"tasks": tasks})), text_reply("done")]).await;
    for name in &names[..5] {
        let replies = [
            bash_reply("sleep 0.1"),
            text_reply(&format!("answer {name}")),
        ];
        context.server.reply_to(&format!("child {name}"), replies);
    }
    let refused =
        json!({"error": {"message": "bad request of a child", "type": "invalid_request_error"}});
    let refused = ScriptedReply::full(
        400,
        &[("content-type", "application/json")],
        refused.to_string(),
    );
    context.server.reply_to("child fails", [refused]);
    let flood = format!("start {} end", "x".repeat(300_000));
    context
        .server
        .reply_to("child floods", [text_reply(&flood)]);
    context
        .server
        .reply_to("child hangs", [bash_reply("tail -f /dev/null")]);

    let mut session = RpcSession::start(&context);
    session.client.prompt("go", Vec::new()).await.unwrap();
    let hanging = session
        .wait(|event| event["task"]["title"] == "child hangs" && event["task"]["tool"] == "bash")
        .await;
    let id = hanging["task"]["id"].as_str().unwrap();
    let command = format!("/agents stop {id}");
    session.client.prompt(command, Vec::new()).await.unwrap();
    session.wait_until_settled().await;

    let text = results(&context);
    assert!(text.starts_with("6 of 8 tasks completed."), "{text}");
    let sections: Vec<_> = text.split("## Task ").skip(1).collect();
    assert_eq!(sections.len(), 8);
    for (section, name) in sections.iter().zip(&names[..5]) {
        assert!(section.contains("completed"), "{section}");
        assert!(section.contains(&format!("answer {name}")), "{section}");
    }
    assert!(sections[5].contains("The task failed: "), "{}", sections[5]);
    assert!(
        sections[5].contains("bad request of a child"),
        "{}",
        sections[5]
    );
    assert!(
        sections[6].contains("bytes. The complete text is in "),
        "{}",
        sections[6]
    );
    assert!(
        sections[7].contains("The task was stopped: the user stopped it."),
        "{}",
        sections[7]
    );
    assert!(text.len() < 60_000, "{}", text.len());
    let file = sections[6].split("complete text is in ").nth(1).unwrap();
    let saved = fs::read_to_string(file.split(".]").next().unwrap()).unwrap();
    assert_eq!(saved, flood);
    assert_eq!(child_files(&context).len(), 8);
    let message = requests_of(&context, "\"go\"").len();
    assert_eq!(message, 2);
    // The sub-agents have ended, and not only because pi has.
    for file in child_files(&context) {
        let lock = fs::File::options().write(true).open(&file).unwrap();
        assert!(lock.try_lock().is_ok(), "{}", file.display());
    }
    session.client.stop().await.unwrap();
    assert_nothing_left(&context).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupting_the_parent_ends_its_sub_agents() {
    let tasks = json!({"tasks": [{"prompt": "child a"}, {"prompt": "child b"}]});
    let context = TestContext::new([task_reply(&tasks), text_reply("after")]).await;
    context
        .server
        .reply_to("child a", [partial_reply("thinking").stall()]);
    context
        .server
        .reply_to("child b", [bash_reply("tail -f /dev/null")]);
    let mut session = RpcSession::start(&context);
    session.client.prompt("go", Vec::new()).await.unwrap();
    session
        .wait(|event| event["task"]["title"] == "child b" && event["task"]["tool"] == "bash")
        .await;
    session.client.abort().await.unwrap();
    session.wait_until_settled().await;
    let messages = session.client.messages().await.unwrap();
    let messages = serde_json::to_string(&messages).unwrap();
    assert!(messages.contains("0 of 2 tasks completed."), "{messages}");
    assert!(
        messages.contains("the run that started it was interrupted"),
        "{messages}"
    );
    let events = session
        .client
        .prompt_and_wait("go on", Vec::new(), TEST_TIMEOUT);
    assert!(!events.await.unwrap().is_empty());
    session.client.stop().await.unwrap();
    assert_nothing_left(&context).await;
}

#[tokio::test]
async fn sub_agents_delegate_once_and_only_if_their_agent_lists_agents() {
    let context = TestContext::new([
        task_reply(&json!({"agent": "lead", "prompt": "lead it"})),
        text_reply("done"),
    ])
    .await;
    context.home.write(
        "agent/agents/lead.md",
        "---\ndescription: Leads\nagents: deputy\n---\n",
    );
    context.home.write(
        "agent/agents/deputy.md",
        "---\ndescription: Helps\nagents: [lead, general]\n---\n",
    );
    let delegate = task_reply(&json!({"agent": "deputy", "prompt": "help it"}));
    context
        .server
        .reply_to("lead it", [delegate, text_reply("led")]);
    context.server.reply_to("help it", [text_reply("helped")]);
    assert_eq!(run(&context, &[]).await, "led");
    let has_tool =
        |text: &str| tool_names(&requests_of(&context, text)[0]).contains(&"task".to_owned());
    assert!(has_tool("lead it"));
    assert!(!has_tool("help it"));
    let answer = requests_of(&context, "lead it")[1].to_string();
    assert!(answer.contains("helped"), "{answer}");
}

#[tokio::test]
async fn a_budget_stops_sub_agents_and_their_use_counts_for_the_parent() {
    let tasks = json!({"tasks": [{"prompt": "child a"}, {"prompt": "child b"}]});
    let context = TestContext::new([
        task_reply(&tasks),
        task_reply(&json!({"prompt": "more"})),
        text_reply("done"),
    ])
    .await;
    let settings = json!({"task": {"maxTokens": 5000}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    let gate = "spent";
    let late = partial_reply("waiting").gate(gate);
    context.server.reply_to("child a", [late.stall()]);
    context
        .server
        .reply_to("child b", [counted_reply("expensive", 6000)]);
    let text = run(&context, &[]).await;
    assert!(text.contains("may use 5000 tokens together"), "{text}");
    assert!(
        text.contains("Not started: the sub-agents of this prompt"),
        "{text}"
    );
    assert_eq!(requests_of(&context, "more").len(), 0);
    let entries = context.session_records().into_iter();
    let used: Vec<_> = entries
        .filter(|entry| entry["message"]["role"] == "toolResult")
        .map(|entry| entry["message"]["usage"]["totalTokens"].clone())
        .collect();
    assert_eq!(used, [json!(6000), Value::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_include_sub_agents() {
    let context =
        TestContext::new([task_reply(&json!({"prompt": "child"})), text_reply("done")]).await;
    context
        .server
        .reply_to("child", [counted_reply("answer", 1_000_000)]);
    let session = RpcSession::start(&context);
    let events = session
        .client
        .prompt_and_wait("go", Vec::new(), TEST_TIMEOUT);
    let events = events.await.unwrap();
    let updates: Vec<_> = events
        .iter()
        .filter(|event| event.kind() == "task_update")
        .collect();
    let last = updates.last().unwrap().json();
    assert_eq!(last["task"]["state"], "completed");
    assert_eq!(last["task"]["tokens"], 1_000_000);
    let stats = session.client.session_stats().await.unwrap();
    assert!((stats.cost - 1.0).abs() < 1e-9, "{stats:?}");
    assert_eq!(stats.tokens.input, 1_000_000);
    session.client.stop().await.unwrap();
}

#[tokio::test]
async fn agents_of_a_project_need_trust() {
    for (arguments, agents) in [(&[][..], &[][..]), (&["--approve"], &["mine", "theirs"])] {
        let context = TestContext::new([text_reply("done")]).await;
        let agent = "---\ndescription: d\n---\n";
        context.home.write("project/.pi/agents/mine.md", agent);
        context
            .home
            .write("project/.claude/agents/theirs.md", agent);
        let arguments = [&ON[..], arguments, &["-p", "go"]].concat();
        context.run(&arguments).await;
        let request = context.server.requests()[0].json();
        let tools = request["tools"].as_array().unwrap();
        let task = tools
            .iter()
            .find(|tool| tool["function"]["name"] == "task")
            .unwrap();
        let names = &task["function"]["parameters"]["properties"]["agent"]["enum"];
        let expected: Vec<_> = ["general"].iter().chain(agents).collect();
        assert_eq!(*names, json!(expected));
    }
}

#[tokio::test]
async fn a_worktree_is_kept_if_it_has_changes() {
    check_worktrees(&[]).await;
    if crate::sandbox::is_available().await {
        check_worktrees(&["--sandbox"]).await;
    }
}

async fn check_worktrees(flags: &[&str]) {
    let tasks = json!({"tasks": [
        {"prompt": "child writes", "worktree": true},
        {"prompt": "child reads", "worktree": true},
    ]});
    let context = TestContext::new([task_reply(&tasks), text_reply("done")]).await;
    let git = |arguments: &[&str]| {
        let output = Program::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(arguments)
            .current_dir(context.project_dir())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "first"]);
    let write = tool_call_reply("write", &json!({"path": "made.txt", "content": "x"}));
    let commit = "echo x > by-bash.txt && git add by-bash.txt && git -c user.name=t -c user.email=t commit -qm child";
    context.server.reply_to(
        "child writes",
        [write, bash_reply(commit), text_reply("written")],
    );
    context
        .server
        .reply_to("child reads", [bash_reply("ls -a"), text_reply("read")]);
    let text = run(&context, flags).await;
    assert!(text.contains("Changes are in the worktree "), "{text}");
    assert!(!context.project_dir().join("made.txt").exists());
    let worktrees = fs::read_dir(context.home.path().join("agent/worktrees")).unwrap();
    let worktrees: Vec<_> = worktrees.map(|entry| entry.unwrap().path()).collect();
    let [kept] = worktrees.as_slice() else {
        panic!("{worktrees:?}");
    };
    assert!(kept.join("made.txt").exists());
    assert!(text.contains(kept.to_str().unwrap()), "{text}");
    let branches = git(&["branch", "--list", "pi/*"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    let log = git(&["log", "--all", "--topo-order", "--format=%s"]);
    assert_eq!(log, "child\nfirst\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_attaches_to_a_sub_agent_and_steers_it() {
    let context = TestContext::new([
        task_reply(&json!({"prompt": "child"})),
        text_reply("Parent is done."),
    ])
    .await;
    let streamed = partial_reply("Child begins.").gate("continue");
    let streamed = streamed
        .chunk(delta_event(&json!({}), Some("stop")))
        .chunk("data: [DONE]\n\n");
    context
        .server
        .reply_to("child", [streamed, text_reply("Steered answer.")]);
    let mut session = RpcSession::start(&context);
    session.client.prompt("go", Vec::new()).await.unwrap();
    let task = session.wait_for_task("child", "running").await;
    context.server.wait_for_gate("continue").await;
    let socket = format!("agent/live/{}.sock", task["id"].as_str().unwrap());
    let socket = context.home.path().join(socket);
    let listening = async {
        while !socket.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let listening = tokio::time::timeout(TEST_TIMEOUT, listening).await;
    listening.expect("the sub-agent listens");
    let guest = Terminal::start(&context, &["attach", task["id"].as_str().unwrap()]);
    guest.wait("Child begins.");
    guest.submit("other way");
    guest.wait("Steering: other way");
    context.server.open_gate("continue");
    session.wait_until_settled().await;
    assert_eq!(results(&context), "Steered answer.");
    let child = requests_of(&context, "child").pop().unwrap().to_string();
    assert!(child.contains("other way"), "{child}");
    session.client.stop().await.unwrap();
    drop(guest);
    assert_nothing_left(&context).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_in_the_background_reports_later() {
    let context = TestContext::new([
        task_reply(&json!({"prompt": "child", "background": true})),
        text_reply("Started."),
        text_reply("Reported."),
    ])
    .await;
    let slow = partial_reply("Slow ").gate("end");
    let slow = slow
        .chunk(delta_event(&json!({"content": "answer."}), Some("stop")))
        .chunk("data: [DONE]\n\n");
    context.server.reply_to("child", [slow]);
    let mut session = RpcSession::start(&context);
    session.client.prompt("go", Vec::new()).await.unwrap();
    session.wait_until_settled().await;
    assert!(results(&context).starts_with("Started in the background: general (task-"));
    context.server.open_gate("end");
    session.wait_until_settled().await;
    let request = requests_of(&context, "\"go\"").pop().unwrap().to_string();
    assert!(
        request.contains("has completed its task.\\n\\nSlow answer."),
        "{request}"
    );
    // Without a user, the program would end before the report.
    let context = TestContext::new([
        task_reply(&json!({"prompt": "child", "background": true})),
        text_reply("done"),
    ])
    .await;
    context.server.reply_to("child", [text_reply("At once.")]);
    assert_eq!(run(&context, &[]).await, "At once.");
    session.client.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_a_sub_agent_reach_the_user_of_its_parent() {
    let context =
        TestContext::new([task_reply(&json!({"prompt": "child"})), text_reply("done")]).await;
    let settings = json!({"permissions": {"ask": ["bash(touch *)"], "deny": ["bash(rm *)"]}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    let replies = [
        bash_reply("rm x"),
        bash_reply("touch made"),
        text_reply("made it"),
    ];
    context.server.reply_to("child", replies);
    let mut session = RpcSession::start(&context);
    session.client.prompt("go", Vec::new()).await.unwrap();
    let asked = session
        .wait(|event| event["type"] == "approval_requested")
        .await;
    let request = &asked["request"];
    assert_eq!(request["args"]["command"], "touch made");
    let reason = request["reason"].as_str().unwrap();
    assert!(reason.starts_with("Sub-agent general task-"), "{reason}");
    let answer = Command::Answer {
        request: RequestId(request["id"].as_str().unwrap().to_owned()),
        answer: Answer::Allow,
    };
    session.client.request(&answer).await.unwrap();
    session.wait_until_settled().await;
    assert_eq!(results(&context), "made it");
    assert!(context.project_dir().join("made").exists());
    let child = requests_of(&context, "child").pop().unwrap().to_string();
    assert!(
        child.contains("Denied by the permission settings"),
        "{child}"
    );
    session.client.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_shows_sub_agents_and_stops_one() {
    let context = TestContext::new([
        task_reply(&json!({"prompt": "child hangs"})),
        text_reply("Parent is done."),
    ])
    .await;
    context
        .server
        .reply_to("child hangs", [bash_reply("tail -f /dev/null")]);
    let terminal = Terminal::start(&context, &ON);
    terminal.wait("alpha");
    terminal.submit("/agents");
    terminal.wait("general: Any task");
    terminal.submit("go");
    terminal.wait("running bash");
    terminal.submit("/agents");
    terminal.wait("choose one to stop it");
    terminal.send("\r");
    terminal.wait("Parent is done.");
    assert!(results(&context).contains("the user stopped it"));
    terminal.quit();
    assert_nothing_left(&context).await;
}
