//! Components of extensions outside of a terminal: what RPC clients receive is what the terminal shows.
#![cfg(unix)]

mod examples;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::process::Child;

use crate::attach::wait_for_socket;
use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

const COLUMNS: u16 = 100;
const ROWS: u16 = 50;

/// Time for one step; the machine may be busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// What a client has received.
#[derive(Debug, Default)]
struct Received {
    /// Place and lines of each component, without colors.
    components: BTreeMap<u64, (Value, Vec<String>)>,
    /// Everything else.
    records: Vec<Value>,
    /// The largest number of lines in one event.
    most_lines: usize,
    /// Number of events with mounted components.
    mounts: usize,
}

impl Received {
    fn add(&mut self, record: Value) {
        let id = record["id"].as_u64().unwrap_or_default();
        match record["type"].as_str().unwrap_or_default() {
            "screen_mount" => {
                self.mounts += 1;
                let lines = self.components.remove(&id).map(|(_, lines)| lines);
                self.components
                    .insert(id, (record.clone(), lines.unwrap_or_default()));
            }
            "screen_lines" => {
                let (_, lines) = self.components.get_mut(&id).expect("a mounted component");
                let rows = record["rows"].as_u64().unwrap();
                lines.resize(usize::try_from(rows).unwrap(), String::new());
                let changed = record["lines"].as_array().unwrap();
                self.most_lines = self.most_lines.max(changed.len());
                for line in changed {
                    let row = usize::try_from(line["row"].as_u64().unwrap()).unwrap();
                    let text = pi_tui::strip_ansi(line["text"].as_str().unwrap());
                    text.trim_end().clone_into(&mut lines[row]);
                }
            }
            "screen_unmount" => {
                self.components.remove(&id).expect("a mounted component");
            }
            _ => self.records.push(record),
        }
    }

    /// Returns the lines of all components of a kind.
    fn lines(&self, kind: &str) -> Vec<Vec<String>> {
        let components = self.components.values();
        components
            .filter(|(mount, _)| mount["place"]["kind"] == kind)
            .map(|(_, lines)| lines.clone())
            .collect()
    }
}

/// A client of a session, in RPC mode or connected to its socket.
struct ScreenClient {
    _child: Option<Child>,
    input: Box<dyn AsyncWrite + Send + Unpin>,
    received: Arc<Mutex<Received>>,
}

impl ScreenClient {
    fn start(context: &TestContext, extension: &Path) -> Self {
        let path = extension.to_string_lossy();
        let arguments = ["--mode", "rpc", "--model", "mock/alpha", "-e", &path];
        let mut command = context.command(&arguments);
        command.env("TERM", "xterm-256color");
        let mut child = command
            .stdin(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        Self {
            _child: Some(child),
            ..Self::new(reader, writer)
        }
    }

    async fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.unwrap();
        let (reader, writer) = stream.into_split();
        Self::new(reader, writer)
    }

    fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let received = Arc::new(Mutex::new(Received::default()));
        let adding = Arc::clone(&received);
        let mut lines = BufReader::new(reader).lines();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let record = serde_json::from_str(&line).unwrap();
                adding.lock().unwrap().add(record);
            }
        });
        Self {
            _child: None,
            input: Box::new(writer),
            received,
        }
    }

    async fn send(&mut self, command: Value) {
        let line = format!("{command}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn greet(&mut self) {
        let screen = json!({ "cols": COLUMNS, "rows": ROWS });
        self.send(json!({ "type": "hello", "screen": screen }))
            .await;
    }

    async fn prompt(&mut self, message: &str) {
        self.send(json!({ "type": "prompt", "message": message }))
            .await;
    }

    async fn type_keys(&mut self, data: &str) {
        self.send(json!({ "type": "screen_input", "data": data }))
            .await;
    }

    /// Waits until `find` returns something.
    async fn wait_for<T>(&self, expected: &str, find: impl Fn(&Received) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = find(&self.received.lock().unwrap()) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await.ok();
        found.unwrap_or_else(|| panic!("no {expected}: {:#?}", self.received.lock().unwrap()))
    }

    /// Waits for a component of a kind with a text, and returns its lines.
    async fn wait_for_text(&self, kind: &str, text: &str) -> Vec<String> {
        let expected = format!("{kind} with {text:?}");
        self.wait_for(&expected, |received| {
            let mut all = received.lines(kind).into_iter();
            all.find(|lines| lines.iter().any(|line| line.contains(text)))
        })
        .await
    }

    async fn wait_for_record(&self, kind: &str) -> Value {
        self.wait_for_records(kind, 1).await
    }

    /// Waits for the record of a kind with this number, counted from 1.
    async fn wait_for_records(&self, kind: &str, number: usize) -> Value {
        self.wait_for(kind, |received| {
            let records = received.records.iter();
            let mut records = records.filter(|record| record["type"] == kind);
            records.nth(number - 1).cloned()
        })
        .await
    }

    /// Sends a command and returns the data of its response.
    async fn request(&mut self, id: &str, mut command: Value) -> Value {
        command["id"] = json!(id);
        self.send(command).await;
        self.wait_for("response", |received| {
            let mut records = received.records.iter();
            let response = records.find(|record| record["id"] == *id)?;
            Some(response["data"].clone())
        })
        .await
    }
}

const COMPONENTS: &str = r#"
export default function (pi) {
  pi.on("session_start", (event, ctx) => {
    ctx.ui.setWidget("clock", () => ({ render: (width) => [`widget ${width} ${ctx.mode}`] }));
  });
  pi.registerCommand("ask", { handler: async (args, ctx) => {
    const answer = await ctx.ui.custom((tui, theme, keys, done) => {
      let typed = "";
      return {
        render: () => ["Title", ...Array.from({ length: 300 }, (_, row) => `row ${row}`), `typed ${typed}`].slice(typed ? -1 : 0),
        handleInput(data) {
          if (data === "\r") done(typed);
          typed += data;
          tui.requestRender();
        },
      };
    });
    ctx.ui.notify(`answer ${answer}`);
  } });
  pi.registerCommand("hang", { handler: async (args, ctx) => {
    ctx.ui.setWidget("hang", () => ({ render() { for (;;); } }));
  } });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn components_are_drawn_for_clients_and_receive_their_input() {
    let context = TestContext::new([]).await;
    let extension = context.home.write("components.js", COMPONENTS);
    let mut client = ScreenClient::start(&context, &extension);
    // Without a screen, everything is as in the TypeScript pi.
    client.prompt("/ask").await;
    let answer = client.wait_for_record("extension_ui_request").await;
    assert_eq!(answer["message"], "answer undefined");
    client.send(json!({ "type": "hello" })).await;
    client.prompt("/ask").await;
    let error = client.wait_for_record("extension_error").await;
    assert!(
        error["error"].as_str().unwrap().contains("needs a screen"),
        "{error}"
    );

    // A widget from before the screen is shown at its width, and again at another one.
    client.greet().await;
    let widget = client.wait_for_text("widget", "widget").await;
    assert_eq!(widget, ["widget 100 tui"]);
    client
        .send(json!({ "type": "screen_size", "cols": 60, "rows": 20 }))
        .await;
    client.wait_for_text("widget", "widget 60 tui").await;

    // A dialog has a bounded number of rows, gets keys one by one, and ends.
    client.prompt("/ask").await;
    let dialog = client.wait_for_text("custom", "Title").await;
    assert_eq!(dialog.len(), 200);
    client.type_keys("ab\r").await;
    client
        .wait_for("answer", |received| {
            let mut records = received.records.iter();
            records
                .find(|record| record["message"] == "answer ab")
                .map(|_| ())
        })
        .await;
    client
        .wait_for("end of the dialog", |received| {
            received.lines("custom").is_empty().then_some(())
        })
        .await;

    // A component that hangs is reported, and the session goes on.
    client.prompt("/hang").await;
    client
        .wait_for("failure", |received| {
            let mut records = received.records.iter();
            let slow = |record: &&Value| {
                record["event"] == "render"
                    && record["error"]
                        .as_str()
                        .unwrap()
                        .contains("longer than 200 ms")
            };
            records.find(slow).map(|_| ())
        })
        .await;
    client
        .send(json!({ "type": "get_state", "id": "after" }))
        .await;
    client
        .wait_for("response", |received| {
            let mut records = received.records.iter();
            records.find(|record| record["id"] == "after").map(|_| ())
        })
        .await;
}

const SESSION_WIDGET: &str = r#"
export default async function (pi) {
  // The components of the session before are still there meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 300));
  pi.on("session_start", (event, ctx) => {
    ctx.ui.setWidget("id", () => ({ render: (width) => [`session ${ctx.sessionManager.getSessionId()} ${width}`] }));
  });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_outlives_its_session_reports_no_error() {
    let context = TestContext::new([]).await;
    let extension = context.home.write("session.js", SESSION_WIDGET);
    let mut client = ScreenClient::start(&context, &extension);
    client.greet().await;
    let first = client.wait_for_text("widget", "session").await;
    client
        .send(json!({ "type": "new_session", "id": "new" }))
        .await;
    // Every size draws the components again.
    for columns in 40..80 {
        let size = json!({ "type": "screen_size", "cols": columns, "rows": 20 });
        client.send(size).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let session = |lines: &[String]| lines[0].split(' ').nth(1).map(str::to_owned);
    client
        .wait_for("widget of the new session", |received| {
            let widgets = received.lines("widget");
            let drawn = widgets.first().filter(|lines| !lines.is_empty())?;
            (session(drawn) != session(&first)).then_some(())
        })
        .await;
    let received = client.received.lock().unwrap();
    let errors = received.records.iter();
    let errors: Vec<&Value> = errors
        .filter(|record| record["type"] == "extension_error")
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

const RENDERERS: &str = r#"
export default function (pi) {
  pi.registerTool({
    name: "weather", label: "Weather", description: "", parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [] }),
    renderCall: (args, theme, context) => ({ render: (width) => [`call ${args.city} ${width} ${context.toolCallId}\u001b[2J`] }),
    renderResult: (result, options) => ({ render: () => [`result ${result.content[0].text} ${options.expanded}`] }),
  });
  pi.registerMessageRenderer("note", (message) => ({ render: () => [`note ${message.content}`] }));
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_transcript_are_drawn_by_extensions() {
    let context = TestContext::new([]).await;
    let extension = context.home.write("renderers.js", RENDERERS);
    let mut client = ScreenClient::start(&context, &extension);
    client.greet().await;
    let tool = |name: &str| {
        json!({ "kind": "tool", "toolCallId": "t1", "toolName": name, "args": { "city": "Bonn" },
            "result": { "content": [{ "type": "text", "text": "rain" }] } })
    };
    let message = |kind: &str| {
        let message = json!({ "role": "custom", "customType": kind, "content": "hello" });
        json!({ "kind": "message", "message": message })
    };
    let rows = [
        (
            tool("weather"),
            json!({ "call": ["call Bonn 100 t1"], "result": ["result rain true"] }),
        ),
        (tool("bash"), json!({})),
        (message("note"), json!({ "lines": ["note hello"] })),
        (message("other"), json!({})),
    ];
    for (index, (row, expected)) in rows.into_iter().enumerate() {
        let id = format!("row {index}");
        let command = json!({ "type": "screen_render", "id": id, "row": row, "expanded": true });
        client.send(command).await;
        let response = client
            .wait_for("response", |received| {
                let mut records = received.records.iter();
                records.find(|record| record["id"] == *id).cloned()
            })
            .await;
        assert_eq!(response["data"], expected, "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_hello_changes_the_size_and_repeats_nothing() {
    let context = TestContext::new([]).await;
    let extension = context.home.write("components.js", COMPONENTS);
    let mut client = ScreenClient::start(&context, &extension);
    client.greet().await;
    client.wait_for_text("widget", "widget 100 tui").await;
    let screen = json!({ "cols": 70, "rows": 20 });
    client
        .send(json!({ "type": "hello", "screen": screen }))
        .await;
    client.wait_for_text("widget", "widget 70 tui").await;
    client.prompt("/ask").await;
    client.wait_for_text("custom", "Title").await;
    client.type_keys("a\r").await;
    client.wait_for_record("extension_ui_request").await;
    // The widget at two widths, and the dialog.
    assert_eq!(client.received.lock().unwrap().mounts, 3);
}

const EDITOR: &str = r#"
import { CustomEditor } from "@earendil-works/pi-coding-agent";
class Shouting extends CustomEditor {
  render(width) { return ["editor", ...super.render(width)]; }
}
export default function (pi) {
  pi.on("session_start", (event, ctx) => {
    ctx.ui.setEditorComponent((tui, theme, keys) => new Shouting(tui, theme, keys));
  });
  pi.registerCommand("fill", { handler: async (args, ctx) => ctx.ui.setEditorText("filled in") });
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_of_an_extension_submits_for_clients() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    let extension = context.home.write("editor.js", EDITOR);
    let mut client = ScreenClient::start(&context, &extension);
    client.greet().await;
    client.wait_for_text("editor", "editor").await;
    client.type_keys("hello there").await;
    client.wait_for_text("editor", "hello there").await;
    client.type_keys("\r").await;
    client.wait_for_record("agent_settled").await;
    let texts = client.request("texts", json!({ "type": "get_messages" }));
    let texts = texts.await["messages"].to_string();
    assert!(texts.contains("hello there") && texts.contains("one"));

    // Commands of extensions work there, and a text that they set can be submitted.
    client.type_keys("/fill\r").await;
    client.wait_for_text("editor", "filled in").await;
    client.type_keys("\r").await;
    client.wait_for_records("agent_settled", 2).await;
    let texts = client.request("more", json!({ "type": "get_messages" }));
    let texts = texts.await["messages"].to_string();
    assert!(texts.contains("filled in") && texts.contains("two"));
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_terminal_see_and_use_its_components() {
    let context = TestContext::new([text_reply("stored")]).await;
    let extension = context.home.write("components.js", COMPONENTS);
    let path = extension.to_string_lossy();
    let terminal = Terminal::start_sized(&context, &["-e", &path], (90, ROWS));
    terminal.wait("widget 90 tui");
    terminal.send("hi\r");
    terminal.wait("stored");
    let live = context.home.path().join("agent/live");
    let id = wait_for_socket(&context);
    let mut client = ScreenClient::connect(&live.join(format!("{id}.sock"))).await;
    client.greet().await;
    // The size is that of the terminal.
    client.wait_for_text("widget", "widget 90 tui").await;

    terminal.send("/ask\r");
    terminal.wait("row 299");
    client.wait_for_text("custom", "Title").await;
    client.type_keys("ab").await;
    terminal.wait("typed ab");
    terminal.send("c");
    client.wait_for_text("custom", "typed abc").await;
    client.type_keys("\r").await;
    terminal.wait("answer abc");
    client
        .wait_for("notice", |received| {
            let mut records = received.records.iter();
            let message = json!("answer abc");
            records
                .find(|record| record["message"] == message)
                .map(|_| ())
        })
        .await;
    client
        .wait_for("end of the dialog", |received| {
            received.lines("custom").is_empty().then_some(())
        })
        .await;
    terminal.quit();
}
