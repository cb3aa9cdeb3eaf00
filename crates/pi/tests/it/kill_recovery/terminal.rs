//! Whatever the terminal application shows as finished is in the session.

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{kill_runs, saved_entries, splitmix64};
use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

/// Most actions of one run.
const MAX_STEPS: u64 = 5;

/// What the screen has shown as finished.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    name: Option<String>,
    commands: Vec<String>,
    messages: Vec<String>,
}

impl Shown {
    /// Performs an action and waits until the screen shows that it is finished.
    fn next(&mut self, terminal: &Terminal, step: u64, choice: u64) {
        match choice % 3 {
            0 => {
                let name = format!("name-{step}");
                terminal.submit(&format!("/name {name}"));
                terminal.wait(&format!("Session renamed to {name}"));
                self.name = Some(name);
            }
            1 => {
                // The exit code is shown when the command has ended.
                let code = 60 + step;
                let command = format!("echo output; exit {code}");
                terminal.submit(&format!("!{command}"));
                terminal.wait(&format!("(exit {code})"));
                self.commands.push(command);
            }
            _ => {
                let reply = format!("The reply {}.", self.messages.len() / 2);
                let prompt = format!("prompt {step}");
                terminal.submit(&prompt);
                terminal.wait(&reply);
                terminal.wait_gone("to stop");
                self.messages.extend([prompt, reply]);
            }
        }
    }

    fn saved(entries: &[Value]) -> Self {
        let mut saved = Self::default();
        for entry in entries {
            let message = &entry["message"];
            if let Some(name) = entry["name"].as_str() {
                saved.name = Some(name.to_owned());
            }
            if let Some(command) = message["command"].as_str() {
                saved.commands.push(command.to_owned());
            }
            if message["role"] == "user" || message["role"] == "assistant" {
                let text = message["content"][0]["text"].as_str().unwrap_or_default();
                saved.messages.push(text.to_owned());
            }
        }
        saved
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_loses_nothing_it_showed() {
    for run in 0..kill_runs(5) {
        let replies = (0..MAX_STEPS).map(|number| text_reply(&format!("The reply {number}.")));
        let context = TestContext::new(replies).await;
        let mut shown = Shown::default();
        let terminal = Terminal::start(&context, &["--session-id", "s"]);
        terminal.wait("alpha");
        for step in 0..=splitmix64(run) % MAX_STEPS {
            shown.next(&terminal, step, splitmix64(run * 100 + step));
        }
        terminal.kill();
        let saved = Shown::saved(&saved_entries(&context).await);
        assert_eq!(saved, shown, "run {run}");
    }
}
