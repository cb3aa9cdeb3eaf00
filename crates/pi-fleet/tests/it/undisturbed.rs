//! What a run does that nothing disturbs, to compare others with it.

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::fixture::{Fixture, describe};

const NAME: &str = "undisturbed";

pub(crate) struct Undisturbed {
    transcript: Vec<String>,
    patch: String,
}

impl Undisturbed {
    /// Runs one task on this machine.
    pub(crate) async fn run() -> Option<Self> {
        let fixture = Fixture::new().await?;
        let tasks = fixture.tasks(&[NAME.to_owned()], &json!({}));
        let output = fixture.run(&tasks, &[]).output().await.unwrap();
        assert!(output.status.success(), "{}", describe(&output));
        Some(Self::of(&fixture, NAME).await)
    }

    async fn of(fixture: &Fixture, name: &str) -> Self {
        Self::read(fixture, name, &fixture.results().await[name])
    }

    fn read(fixture: &Fixture, name: &str, result: &Value) -> Self {
        let out = fixture.home.path().join("out");
        let session = out.join(result["session"].as_str().unwrap());
        let patch = fixture.home.read(&format!("out/patches/{name}.patch"));
        // The IDs of the blobs depend on the name.
        let is_index = |line: &&str| line.starts_with("index ");
        let lines = patch.lines().filter(|line| !is_index(line));
        Self {
            transcript: transcript(&session, name),
            patch: normalize(&lines.collect::<Vec<_>>().join("\n"), name),
        }
    }

    /// Checks that runs have done the same, except for calls that were interrupted. Their results are in `out`.
    pub(crate) async fn check(&self, fixture: &Fixture, names: &[String]) {
        let results = fixture.results().await;
        for name in names {
            let found = Self::read(fixture, name, &results[name]);
            assert_eq!(found.transcript, self.transcript, "{name}");
            assert_eq!(found.patch, self.patch, "{name}");
        }
    }
}

/// Returns the prompts, the completed calls and the final response.
fn transcript(session: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(session).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines = entries.filter_map(|entry: Value| {
        let message = entry.get("message")?;
        let content = &message["content"];
        let role = message["role"].as_str()?;
        let label = match role {
            "toolResult" if content.to_string().contains("interrupted") => return None,
            "toolResult" => message["toolCallId"].as_str()?.split_once('-')?.0,
            "assistant" if message["stopReason"] == "toolUse" => return None,
            _ => role,
        };
        let text = match content {
            Value::String(text) => text.clone(),
            blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
        };
        Some(format!("{label}: {}", normalize(&text, name)))
    });
    lines.filter(|line| !line.starts_with("system")).collect()
}

/// Replaces the name of the task and all numbers.
fn normalize(text: &str, name: &str) -> String {
    let text = text.replace(name, "NAME");
    let mut normalized = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if normalized.ends_with('#') => {}
            '0'..='9' => normalized.push('#'),
            _ => normalized.push(c),
        }
    }
    normalized
}
