//! `pi fleet attach`: follows a run and sends messages and commands to its agent.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};

use super::batches::Batches;
use super::signals::Signals;
use super::words::Failure;
use super::{INTERRUPTED, SUCCESS, eprint_line, print, printable};
use crate::engine::FleetEngine;
use crate::live::LiveClient;
use crate::view;

/// How long to wait for a worker between two attempts.
const RETRY: Duration = Duration::from_secs(1);

/// Longest text of a tool call that is shown.
const CALL_CHARS: usize = 160;

const HINT: &str =
    "Type a message to steer the agent, or /follow TEXT, /abort, /state, /quit (the run continues)";

type Input = tokio::io::Lines<BufReader<Stdin>>;

/// What a line of the user asks for.
#[derive(Debug, PartialEq)]
enum Entered {
    Send(Value),
    Quit,
    Unknown,
    Nothing,
}

struct Attached {
    engine: Arc<dyn FleetEngine>,
    /// Lines are commands, responses and events of RPC mode.
    is_json: bool,
    input: Option<Input>,
    transcript: Transcript,
    signals: Signals,
}

/// Follows a run until it has ended or the user leaves.
pub(super) async fn attach(batches: &Batches, name: &str, is_json: bool) -> Result<u8, Failure> {
    let (batch, run) = batches.find_run(name).await?;
    let engine = batches.open(&batch).await?;
    let mut attached = Attached {
        engine,
        is_json,
        input: Some(BufReader::new(tokio::io::stdin()).lines()),
        transcript: Transcript::default(),
        signals: Signals::listen()?,
    };
    let mut is_waiting = false;
    loop {
        if let Some(client) = attached.engine.attach(&run).await?
            && let Some(code) = attached.follow(client).await?
        {
            return Ok(code);
        }
        let overview = attached.engine.overview().await?;
        let Some(found) = overview.iter().find(|one| one.task.id == run) else {
            return Err(
                Failure::new(format!("no run `{run}` in the batch `{batch}`"))
                    .hint(format!("run pi fleet ls {batch} for its runs")),
            );
        };
        if found.state.result.is_some() {
            if !is_json {
                print(&view::details(found));
            }
            return Ok(SUCCESS);
        }
        if !std::mem::replace(&mut is_waiting, true) {
            eprint_line(&format!(
                "{name}: {}; waiting for a worker",
                view::status(found)
            ));
        }
        tokio::select! {
            () = attached.signals.next() => return Ok(INTERRUPTED),
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}

impl Attached {
    /// Follows a worker; returns the exit code if the user leaves.
    async fn follow(&mut self, mut client: LiveClient) -> Result<Option<u8>, Failure> {
        if !self.is_json {
            if std::io::stdin().is_terminal() {
                eprint_line(HINT);
            }
            client.send(json!({"type": "get_state"})).await;
        }
        loop {
            let line = tokio::select! {
                line = client.next_line() => match line {
                    Some(line) => line,
                    None => return Ok(None),
                },
                entered = next_line(&mut self.input) => {
                    let Some(entered) = entered else {
                        // Ctrl-D leaves; the end of a file does not.
                        if std::io::stdin().is_terminal() {
                            return Ok(Some(SUCCESS));
                        }
                        self.input = None;
                        continue;
                    };
                    let parsed = if self.is_json { parse_json(&entered) } else { parse(&entered) };
                    match parsed {
                        Entered::Send(command) => {
                            client.send(command).await;
                        }
                        Entered::Quit => return Ok(Some(SUCCESS)),
                        Entered::Unknown => eprint_line(HINT),
                        Entered::Nothing => {}
                    }
                    continue;
                }
                () = self.signals.next() => return Ok(Some(INTERRUPTED)),
            };
            let text = if self.is_json {
                format!("{line}\n")
            } else {
                printable(&self.transcript.line(&line))
            };
            let mut stdout = std::io::stdout().lock();
            // The reader may have left.
            if stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush())
                .is_err()
            {
                return Ok(Some(SUCCESS));
            }
        }
    }
}

/// Returns the next line that the user enters; never, after the end of the input.
async fn next_line(input: &mut Option<Input>) -> Option<String> {
    match input {
        Some(input) => input.next_line().await.ok().flatten(),
        None => std::future::pending().await,
    }
}

fn parse_json(line: &str) -> Entered {
    match serde_json::from_str::<Value>(line) {
        Ok(command) => Entered::Send(command),
        Err(_) if line.trim().is_empty() => Entered::Nothing,
        Err(_) => Entered::Send(Value::Null),
    }
}

fn parse(line: &str) -> Entered {
    let line = line.trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "" => Entered::Nothing,
        "/quit" | "/exit" => Entered::Quit,
        "/abort" => Entered::Send(json!({"type": "abort"})),
        "/state" => Entered::Send(json!({"type": "get_state"})),
        "/follow" if !rest.is_empty() => {
            Entered::Send(json!({"type": "follow_up", "message": rest}))
        }
        word if word.starts_with('/') => Entered::Unknown,
        _ => Entered::Send(json!({"type": "steer", "message": line})),
    }
}

/// Converts events to text.
#[derive(Debug, Default)]
struct Transcript {
    /// The last text has no line feed yet.
    is_open: bool,
}

impl Transcript {
    fn line(&mut self, line: &Value) -> String {
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "message_update" => {
                let event = &line["assistantMessageEvent"];
                match (event["type"].as_str(), event["delta"].as_str()) {
                    (Some("text_delta"), Some(delta)) => {
                        self.is_open = !delta.ends_with('\n');
                        delta.to_owned()
                    }
                    _ => String::new(),
                }
            }
            "message_end" if self.is_open => self.own_line(""),
            "tool_execution_start" => {
                let call = describe_call(&line["args"]);
                self.own_line(&format!("> {} {call}", text("toolName")))
            }
            "tool_execution_end" if line["isError"] == true => {
                self.own_line(&format!("  {} failed", text("toolName")))
            }
            "approval_requested" => {
                let request = &line["request"];
                let call = describe_call(&request["args"]);
                let tool = request["toolName"].as_str().unwrap_or_default();
                self.own_line(&format!(
                    "? {tool} {call} needs an approval: answer with --json"
                ))
            }
            "agent_settled" => self.own_line("The agent has settled."),
            "events_skipped" => self.own_line("(some events were skipped)"),
            "response" if line["success"] == false => {
                self.own_line(&format!("error: {}: {}", text("command"), text("error")))
            }
            "response" if text("command") == "get_state" => {
                let state = &line["data"];
                let is_streaming = state["isStreaming"] == true;
                self.own_line(&format!(
                    "{}, thinking {}, {} messages, {}",
                    state["model"]["id"].as_str().unwrap_or("no model"),
                    state["thinkingLevel"].as_str().unwrap_or("off"),
                    state["messageCount"],
                    if is_streaming { "working" } else { "idle" },
                ))
            }
            "response" => self.own_line(&format!("{}: ok", text("command"))),
            _ => String::new(),
        }
    }

    /// Returns a text on a separate line.
    fn own_line(&mut self, text: &str) -> String {
        let before = if std::mem::take(&mut self.is_open) {
            "\n"
        } else {
            ""
        };
        let after = if text.is_empty() { "" } else { "\n" };
        format!("{before}{text}{after}")
    }
}

/// Returns the first argument that describes a call.
fn describe_call(arguments: &Value) -> String {
    let found = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|name| arguments.get(name)?.as_str());
    let line = found.and_then(|text| text.lines().next());
    line.unwrap_or_default().chars().take(CALL_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lines_are_messages_or_commands() {
        let command = |line: &str| match parse(line) {
            Entered::Send(command) => command["type"].as_str().unwrap().to_owned(),
            other => format!("{other:?}"),
        };
        for (line, expected) in [
            ("hurry up", "steer"),
            ("/follow then stop", "follow_up"),
            ("/abort", "abort"),
            ("/state", "get_state"),
            ("/quit", "Quit"),
            ("/follow", "Unknown"),
            ("/fly", "Unknown"),
            ("  ", "Nothing"),
        ] {
            assert_eq!(command(line), expected, "{line}");
        }
    }

    #[test]
    fn events_become_lines() {
        let mut transcript = Transcript::default();
        let delta = |text: &str| json!({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": text}});
        let events = [
            delta("Fixing "),
            delta("it"),
            json!({"type": "tool_execution_start", "toolName": "bash", "args": {"command": "make\ntest"}}),
            json!({"type": "tool_execution_end", "toolName": "bash", "isError": true}),
            json!({"type": "turn_end"}),
            json!({"type": "response", "command": "steer", "success": false, "error": "no"}),
        ];
        let text: String = events.iter().map(|event| transcript.line(event)).collect();
        assert_eq!(
            text,
            "Fixing it\n> bash make\n  bash failed\nerror: steer: no\n"
        );
    }
}
