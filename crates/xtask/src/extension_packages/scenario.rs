//! Runs one package in one program: calls every tool and command and records what a client can observe.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fake_model::{FakeModel, FakeReply};

use super::arguments;
use super::fixture::{RunDirectory, changes};
use super::normalize::Normalizer;
use super::rpc_process::{Received, RpcProcess};
use super::scripts;

/// Prefix of a prompt that makes the scripted model call a tool: name, space, arguments.
const CALL: &str = "call-tool ";
/// Longer than a start takes on a loaded machine.
const START_TIMEOUT: Duration = Duration::from_mins(5);
/// Time for one call.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
/// A call has ended when the session is idle and nothing arrives for this long.
const QUIET: Duration = Duration::from_millis(600);
/// Time for all calls of a package in one program.
const PACKAGE_LIMIT: Duration = Duration::from_mins(8);
/// Columns and rows that views of packages fit into.
#[cfg(test)]
const TERMINAL_SIZE: (u16, u16) = (140, 45);
/// Dialogs of one call that get an answer; the rest are canceled.
const MAX_DIALOGS: usize = 12;

/// A program under test.
pub(super) struct Program {
    pub(super) path: PathBuf,
}

/// What calls of a package led to, by the name of the call. The first is the load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PackageRun {
    pub(super) calls: Vec<(String, Value)>,
    pub(super) tools: usize,
    pub(super) commands: usize,
    /// Why the package could not be loaded.
    pub(super) load_error: Option<String>,
}

impl PackageRun {
    /// Returns the names of the calls that did not end in time.
    fn unfinished(&self) -> Vec<&str> {
        let unfinished = self.calls.iter().filter(|(_, it)| it["end"] == "timeout");
        unfinished.map(|(name, _)| name.as_str()).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Registrations {
    tools: Vec<Value>,
    commands: Vec<Value>,
    providers: Vec<String>,
    active: Vec<String>,
}

/// Runs a package in a program, with files below `root`.
///
/// The program starts again after a call that did not end, here or in `reference`: later calls do not depend on it.
pub(super) fn run_package(
    program: &Program,
    node: &Path,
    (name, package): (&str, &Path),
    root: &Path,
    builtin: &[String],
    reference: Option<&PackageRun>,
) -> Result<PackageRun> {
    let unfinished = reference.map(PackageRun::unfinished).unwrap_or_default();
    let (mut session, model) = PackageSession::create(program, node, package, root)?;
    let limit = Instant::now() + PACKAGE_LIMIT;
    let mut run = PackageRun::default();
    let Some(registered) = session.load(&mut run)? else {
        return Ok(run);
    };
    let is_added = |name: &Value| !builtin.iter().any(|it| name == it);
    let tools: Vec<&Value> = registered
        .tools
        .iter()
        .filter(|it| is_added(&it["name"]))
        .collect();
    let names: Vec<&str> = registered
        .commands
        .iter()
        .filter_map(|it| it["name"].as_str())
        .filter(|it| *it != "probe-registrations" && !builtin.contains(&format!("/{it}")))
        .collect();
    (run.tools, run.commands) = (tools.len(), names.len());
    let listed = json!({
        "tools": tools, "active": registered.active, "providers": registered.providers.len(),
        "commands": registered.commands.iter().filter(|it| names.iter().any(|name| it["name"] == *name)).collect::<Vec<_>>(),
    });
    run.calls
        .push(("registrations".into(), session.normalizer.value(&listed)));
    let steps = scripts::steps(name, &model.page_url()).into_iter();
    let mut prompts: Vec<(String, String)> = steps
        .enumerate()
        .map(|(index, step)| (format!("script {}", index + 1), step.prompt))
        .collect();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let variants = arguments::variants(&tool["parameters"], &model.page_url());
        for (index, variant) in variants.iter().enumerate() {
            prompts.push((
                format!("tool {name} {}", index + 1),
                format!("{CALL}{name} {variant}"),
            ));
        }
    }
    for name in names {
        prompts.push((format!("/{name}"), format!("/{name}")));
        prompts.push((format!("/{name} hello"), format!("/{name} hello")));
    }
    for (name, prompt) in prompts {
        if Instant::now() > limit {
            break;
        }
        let observed = session.call(&prompt, None, STEP_TIMEOUT)?;
        if observed["end"] == "timeout" || unfinished.contains(&name.as_str()) {
            session.stop();
        }
        run.calls.push((name, observed));
    }
    session.stop();
    Ok(run)
}

/// Returns the tools, and the commands with a slash, that a program has without packages.
pub(super) fn builtin_names(program: &Program, node: &Path, root: &Path) -> Result<Vec<String>> {
    let (mut session, _model) =
        PackageSession::create(program, node, &root.join("probe.js"), root)?;
    let mut run = PackageRun::default();
    let registered = session.load(&mut run)?;
    let registered = registered.with_context(|| {
        format!(
            "{} does not start: {:?}",
            program.path.display(),
            run.load_error
        )
    })?;
    session.stop();
    let names = |list: &[Value]| {
        list.iter()
            .filter_map(|it| Some(it["name"].as_str()?.to_owned()))
            .collect::<Vec<_>>()
    };
    let commands = names(&registered.commands)
        .into_iter()
        .map(|name| format!("/{name}"));
    Ok(names(&registered.tools)
        .into_iter()
        .chain(commands)
        .collect())
}

/// The scripted model: calls the tool that the last prompt names, otherwise replies with a sentence. The prompt of a
/// sub-agent has its task in the first line.
fn reply(messages: &[Value]) -> FakeReply {
    let last = last_message(messages);
    let text = last["text"].as_str().unwrap_or_default();
    let task = text.strip_prefix("Task: ").and_then(|it| it.lines().next());
    let call = task.unwrap_or(text).strip_prefix(CALL);
    let call = call.filter(|_| last["role"] == "user").and_then(|call| {
        let (name, arguments) = call.split_once(' ')?;
        Some((
            name.to_owned().into(),
            serde_json::from_str(arguments).ok()?,
        ))
    });
    FakeReply {
        text: if call.is_some() { "" } else { "done" }.into(),
        tool_call: call,
        ..FakeReply::default()
    }
}

/// Returns role and text of the last message of a request.
fn last_message(messages: &[Value]) -> Value {
    let Some(last) = messages.last() else {
        return Value::Null;
    };
    let text = match &last["content"] {
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    json!({"role": last["role"], "text": text})
}

/// A program with a package, and everything that a call of it can be observed by.
pub(super) struct PackageSession {
    directory: RunDirectory,
    normalizer: Normalizer,
    /// The last messages of the model requests since the previous call.
    requests: Arc<Mutex<Vec<Value>>>,
    process: Option<RpcProcess>,
    package: PathBuf,
}

impl PackageSession {
    /// Creates the directories below `root` and the scripted model. The program starts when the package is loaded.
    pub(super) fn create(
        program: &Program,
        node: &Path,
        package: &Path,
        root: &Path,
    ) -> Result<(Self, FakeModel)> {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let model = FakeModel::start(move |messages| {
            seen.lock().push(last_message(messages));
            reply(messages)
        })?;
        let models = model.models_json("scripted", "model", 200_000);
        let session = Self {
            directory: RunDirectory::create(root, &program.path, node, &models)?,
            normalizer: Normalizer::new(root, package),
            requests,
            process: None,
            package: package.to_owned(),
        };
        Ok((session, model))
    }

    /// Writes the settings of the user.
    #[cfg(test)]
    pub(super) fn write_settings(&self, settings: &str) -> Result<()> {
        use std::io::Write as _;

        let file = self.directory.agent().join("settings.json");
        Ok(File::create(file)?.write_all(settings.as_bytes())?)
    }

    /// Starts the program with the package in a terminal.
    #[cfg(test)]
    pub(super) fn start_in_terminal(&self) -> pi_test_support::PtyTerminal {
        let mut configured = Command::new(self.directory.root.join("bin/pi"));
        self.directory.configure(&mut configured);
        let mut command = pi_test_support::PtyCommand::new(configured.get_program());
        command.args(["--model", "scripted/model", "-e"]);
        command.arg(&self.package);
        command.cwd(self.directory.project());
        command.env_clear();
        for (name, value) in configured.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.env("TERM", "xterm-256color");
        pi_test_support::PtyTerminal::spawn(command, TERMINAL_SIZE.0, TERMINAL_SIZE.1)
    }

    /// Ends the program.
    pub(super) fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop();
        }
    }

    /// Starts the program and returns the registrations; `None` if the package cannot be loaded.
    pub(super) fn load(&mut self, run: &mut PackageRun) -> Result<Option<Registrations>> {
        let errors = self.directory.root.join("errors");
        let result = self.directory.root.join("result.json");
        let mut command = Command::new(self.directory.root.join("bin/pi"));
        command
            .arg("--mode")
            .arg("rpc")
            .args(["--model", "scripted/model"]);
        command.arg("-e").arg(self.directory.root.join("probe.js"));
        if !self.package.ends_with("probe.js") {
            command.arg("-e").arg(&self.package);
        }
        self.directory.configure(&mut command);
        command
            .env("PROBE_RESULT", &result)
            .stderr(File::create(&errors)?);
        self.process = Some(RpcProcess::start(&mut command)?);
        let mut observed = self.observe("/probe-registrations", None, START_TIMEOUT);
        let text = std::fs::read_to_string(&result).unwrap_or_default();
        let Ok(registered) = serde_json::from_str::<Registrations>(&text) else {
            let errors = std::fs::read_to_string(&errors).unwrap_or_default();
            let first = errors.lines().find(|line| !line.trim().is_empty());
            run.load_error = Some(self.normalizer.text(first.unwrap_or("no error message")));
            self.stop();
            return Ok(None);
        };
        if let Some(fields) = observed.as_object_mut() {
            fields.remove("files");
        }
        run.calls.push(("load".into(), observed));
        Ok(Some(registered))
    }

    /// Sends a prompt and records what follows, at least until the awaited text. Starts the program again if it has ended.
    pub(super) fn call(
        &mut self,
        prompt: &str,
        awaited: Option<&str>,
        timeout: Duration,
    ) -> Result<Value> {
        if self.process.is_none() {
            let mut restarted = PackageRun::default();
            self.load(&mut restarted)?;
        }
        Ok(self.observe(prompt, awaited, timeout))
    }

    fn observe(&mut self, prompt: &str, awaited: Option<&str>, timeout: Duration) -> Value {
        let Some(process) = &mut self.process else {
            return json!({"end": "the program does not start"});
        };
        let before = self.directory.files(&self.normalizer);
        self.requests.lock().clear();
        process.send(&json!({"id": "call", "type": "prompt", "message": prompt}));
        let mut record = CallRecord::default();
        let mut is_awaiting = awaited.is_some();
        let mut limit = Instant::now() + timeout;
        let end = loop {
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                if record.aborted {
                    break "timeout";
                }
                record.aborted = true;
                process.send(&json!({"id": "abort", "type": "abort"}));
                limit = Instant::now() + QUIET * 3;
                continue;
            }
            match process.receive(left.min(QUIET)) {
                Received::Line(line) => {
                    is_awaiting &= !awaited.is_some_and(|it| line.to_string().contains(it));
                    if let Some(answer) = record.add(&line) {
                        process.send(&answer);
                    }
                }
                Received::Silence if record.is_idle() && (record.aborted || !is_awaiting) => {
                    break if record.aborted { "timeout" } else { "idle" };
                }
                Received::Silence => {}
                Received::End => break "exit",
            }
        };
        if end == "exit" {
            self.stop();
        }
        let requests = std::mem::take(&mut *self.requests.lock());
        let after = self.directory.files(&self.normalizer);
        let value = json!({
            "end": end, "response": record.response, "dialogs": record.dialogs, "notices": record.notices, "state": record.state,
            "results": record.results, "messages": record.messages, "errors": record.errors, "requests": requests,
        });
        let mut value = self.normalizer.value(&value);
        value["files"] = json!(changes(&before, &after));
        value
    }
}

/// What a client observes during a call.
#[derive(Debug, Default)]
struct CallRecord {
    response: Value,
    is_running: bool,
    aborted: bool,
    dialogs: Vec<Value>,
    notices: Vec<Value>,
    /// The last status line, widget or title by its key.
    state: BTreeMap<String, Value>,
    results: Vec<Value>,
    messages: Vec<Value>,
    errors: Vec<Value>,
}

impl CallRecord {
    /// Whether the command has been answered and no run is active.
    fn is_idle(&self) -> bool {
        !self.response.is_null() && !self.is_running
    }

    /// Records a line; returns the answer to a dialog.
    fn add(&mut self, line: &Value) -> Option<Value> {
        match line["type"].as_str()? {
            "response" if line["id"] == "call" => {
                self.response =
                    json!({"success": line["success"], "disposition": line["data"]["disposition"]});
                self.is_running |= line["data"]["disposition"] == "started";
            }
            "agent_start" => self.is_running = true,
            "agent_settled" => self.is_running = false,
            "tool_execution_end" => {
                let result = &line["result"];
                self.results.push(
                    json!({"tool": line["toolName"], "content": result["content"],
                    "details": result["details"], "isError": line["isError"]}),
                );
            }
            "message_end" if line["message"]["role"] == "custom" => {
                let message = &line["message"];
                self.messages.push(
                    json!({"customType": message["customType"], "content": message["content"],
                    "display": message["display"]}),
                );
            }
            "extension_error" => self
                .errors
                .push(json!({"event": line["event"], "error": line["error"]})),
            "extension_ui_request" => return self.add_ui_request(line),
            _ => {}
        }
        None
    }

    fn add_ui_request(&mut self, line: &Value) -> Option<Value> {
        let method = line["method"].as_str()?;
        let mut shown = line.clone();
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("id");
            fields.remove("type");
        }
        let id = &line["id"];
        let answer = match method {
            "notify" => {
                self.notices.push(shown);
                return None;
            }
            "select" | "confirm" | "input" | "editor" if self.dialogs.len() >= MAX_DIALOGS => {
                json!({"cancelled": true})
            }
            "select" => json!({"value": line["options"][0]}),
            "confirm" => json!({"confirmed": true}),
            "input" | "editor" => json!({"value": "hello"}),
            _ => {
                let key = ["statusKey", "widgetKey"]
                    .iter()
                    .find_map(|key| line[*key].as_str());
                self.state
                    .insert(format!("{method} {}", key.unwrap_or_default()), shown);
                return None;
            }
        };
        self.dialogs.push(shown);
        let mut answer = answer;
        answer["type"] = json!("extension_ui_response");
        answer["id"] = id.clone();
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_call_ends_when_its_run_has_settled() {
        let mut record = CallRecord::default();
        assert!(!record.is_idle());
        record.add(&json!({"type": "response", "id": "call", "success": true, "data": {"disposition": "started"}}));
        assert!(!record.is_idle());
        record.add(&json!({"type": "agent_settled"}));
        assert!(record.is_idle());
    }

    #[test]
    fn dialogs_are_answered_and_recorded() {
        let mut record = CallRecord::default();
        let dialog = json!({"type": "extension_ui_request", "id": "7", "method": "select", "title": "T", "options": ["a", "b"]});
        assert_eq!(
            record.add(&dialog),
            Some(json!({"type": "extension_ui_response", "id": "7", "value": "a"}))
        );
        assert_eq!(
            record.dialogs,
            [json!({"method": "select", "title": "T", "options": ["a", "b"]})]
        );
    }

    #[test]
    fn the_model_calls_the_named_tool_once() {
        let prompt = json!({"role": "user", "content": "call-tool ls {\"path\":\".\"}"});
        let called = reply(std::slice::from_ref(&prompt)).tool_call;
        assert_eq!(called, Some(("ls".into(), json!({"path": "."}))));
        let task = json!({"role": "user", "content": "Task: call-tool ls {}\n\nMore instructions"});
        assert_eq!(reply(&[task]).tool_call, Some(("ls".into(), json!({}))));
        let result = json!({"role": "tool", "content": "call-tool ls {}"});
        assert_eq!(reply(&[prompt, result]).tool_call, None);
    }
}
