//! A workspace, a model and the bot's process.

use std::path::PathBuf;
use std::process::Stdio;

use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::loopback_slack::LoopbackSlack;

pub(crate) const APP_TOKEN: &str = "xapp-secret";
pub(crate) const BOT_TOKEN: &str = "xoxb-secret";

pub(crate) struct BotTest {
    pub(crate) home: TempHome,
    pub(crate) model: ScriptedServer,
    pub(crate) slack: LoopbackSlack,
}

impl BotTest {
    pub(crate) async fn new(replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::with_config(replies, &json!({})).await
    }

    /// Creates a workspace whose `mom.json` has these fields, too.
    pub(crate) async fn with_config(
        replies: impl IntoIterator<Item = ScriptedReply>,
        config: &Value,
    ) -> Self {
        let model = ScriptedServer::start(replies).await;
        let slack = LoopbackSlack::start().await;
        let home = TempHome::new();
        let models = json!({"providers": {"mock": {
            "baseUrl": format!("{}/v1", model.url()), "api": "openai-completions", "apiKey": "k",
            "models": [{
                "id": "alpha", "name": "alpha", "reasoning": false, "input": ["text", "image"],
                "contextWindow": 200_000, "maxTokens": 8192,
                "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
            }, {
                "id": "beta-2", "name": "beta", "reasoning": false, "input": ["text"],
                "contextWindow": 200_000, "maxTokens": 8192,
                "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
            }],
        }}});
        home.write("agent/models.json", models.to_string());
        home.write(
            "agent/settings.json",
            json!({"retry": {"enabled": false}}).to_string(),
        );
        home.write("home/.keep", "");
        let mut mom = json!({"model": "mock/alpha", "slack": {"apiUrl": slack.api_url()}});
        let fields = mom.as_object_mut().unwrap();
        fields.extend(config.as_object().unwrap().clone());
        home.write("work/mom.json", mom.to_string());
        Self { home, model, slack }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.home.path().join("work").canonicalize().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi-mom"));
        let in_home = |name: &str| self.home.path().join(name);
        command
            .args(arguments)
            .env_clear()
            .env(
                "PATH",
                format!(
                    "{}:{}",
                    in_home("bin").display(),
                    std::env::var("PATH").unwrap_or_default()
                ),
            )
            .env("HOME", in_home("home"))
            .env("PI_CODING_AGENT_DIR", in_home("agent"))
            .env("TZ", "UTC")
            .env("PI_ALLOW_DEBUGGER", "1")
            .env("MOM_SLACK_APP_TOKEN", APP_TOKEN)
            .env("MOM_SLACK_BOT_TOKEN", BOT_TOKEN)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Starts the bot.
    pub(crate) fn start(&self) -> Child {
        self.start_with(&[])
    }

    pub(crate) fn start_with(&self, arguments: &[&str]) -> Child {
        let workspace = self.workspace();
        let mut command = self.command(arguments);
        command.arg(workspace).spawn().unwrap()
    }

    /// Starts the bot in a time zone where the day ends in about twelve hours.
    pub(crate) fn start_at_noon(&self) -> Child {
        let time = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
        let hour = i64::try_from(time.as_secs() / 3600 % 24).unwrap();
        let mut command = self.command(&[]);
        // The offset of a time zone is positive west of Greenwich here.
        command.env("TZ", format!("NOON{:+}", hour - 12));
        command.arg(self.workspace()).spawn().unwrap()
    }

    /// Returns the lines of a channel's log.
    pub(crate) fn log(&self, channel: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.workspace().join(channel).join("log.jsonl"));
        let text = text.unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Asserts that no `ts` is in the log of a channel twice.
    pub(crate) fn assert_log_is_unique(&self, channel: &str) {
        let mut keys: Vec<String> = self
            .log(channel)
            .iter()
            .map(|line| line["ts"].as_str().unwrap().to_owned())
            .collect();
        keys.sort();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    /// Waits until the ledger of a channel has this many outcomes.
    pub(crate) async fn wait_for_outcomes(&self, channel: &str, count: usize) {
        let path = self
            .workspace()
            .join(".pi-mom")
            .join(format!("{channel}.jsonl"));
        let deadline = tokio::time::Instant::now() + std::time::Duration::from_mins(1);
        loop {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.matches("\"type\":\"done\"").count() >= count {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "{text}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

pub(crate) async fn kill(mut bot: Child) {
    bot.kill().await.unwrap();
}

fn event(delta: &Value, finish: Option<&str>) -> String {
    let chunk = json!({
        "id": "x", "object": "chat.completion.chunk", "created": 0, "model": "alpha",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n")
}

fn reply(message: &Value, finish: &str) -> ScriptedReply {
    let usage = json!({
        "id": "x", "object": "chat.completion.chunk", "created": 0, "model": "alpha", "choices": [],
        "usage": {"prompt_tokens": 100_000, "completion_tokens": 0, "total_tokens": 100_000},
    });
    ScriptedReply::event_stream()
        .chunk(event(message, None))
        .chunk(event(&json!({}), Some(finish)))
        .chunk(format!("data: {usage}\n\n"))
        .chunk("data: [DONE]\n\n")
}

/// An answer; costs $0.10.
pub(crate) fn text_reply(text: &str) -> ScriptedReply {
    reply(&json!({"role": "assistant", "content": text}), "stop")
}

/// A call of a tool; costs $0.10.
pub(crate) fn tool_reply(tool: &str, arguments: &Value) -> ScriptedReply {
    let call = json!({
        "index": 0, "id": "call_1", "type": "function",
        "function": {"name": tool, "arguments": arguments.to_string()},
    });
    reply(
        &json!({"role": "assistant", "tool_calls": [call]}),
        "tool_calls",
    )
}
