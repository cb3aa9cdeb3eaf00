//! The manual: `pi docs` shows it, and what it shows is true. Its commands run, its files load, its extensions
//! register what they say.
//!
//! The word behind a fence's language says what is tried: `sh test` runs as a script, `json settings`, `json models`,
//! `json theme` and `json keybindings` are read as those files, `ts extension` is loaded. Other JSON must parse.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pi_ai::ProviderConfig;
use pi_config::{AgentDir, ProjectAccess, SettingsStore, parse_models_file, read_keybindings};
use pi_test_support::TempHome;
use pi_tui::{ColorMode, KeyId, Theme};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::process::Command;

use crate::process::{Finished, LIMIT, World, answer};

/// A fenced block of a page.
struct Block {
    page: String,
    line: usize,
    /// What follows the fence.
    info: String,
    text: String,
}

impl Block {
    fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.sort();
    pages
}

fn blocks(info: impl Fn(&str) -> bool) -> Vec<Block> {
    let mut found = Vec::new();
    for path in pages() {
        let page = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let mut open: Option<Block> = None;
        for (number, line) in source.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    assert!(
                        !info.is_empty(),
                        "{page}:{}: a block without a language",
                        number + 1
                    );
                    open = Some(Block {
                        page: page.clone(),
                        line: number + 1,
                        info: info.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => found.extend(open.take()),
                (Some(block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: a block does not end");
    }
    found.retain(|block| info(&block.info));
    assert!(!found.is_empty());
    found
}

#[cfg(unix)]
#[tokio::test]
async fn commands_of_the_manual_run() {
    for block in blocks(|info| info == "sh test") {
        let world = World::new((0..12).map(|_| answer("An answer."))).await;
        let programs = world.home.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pi"), programs.join("pi")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-eu", "-c", &block.text])
            .current_dir(world.project())
            .env_clear()
            .envs(world.environment())
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("TMPDIR", world.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let run = tokio::time::timeout(LIMIT, command.output()).await;
        let run = Finished::new(run.expect("the commands hang").unwrap());
        assert_eq!(run.code, Some(0), "{}: {run:?}", block.place());
    }
}

#[test]
fn files_of_the_manual_can_be_read() {
    let home = TempHome::new();
    for block in blocks(|info| info.starts_with("json")) {
        let place = block.place();
        match block.info.as_str() {
            "json settings" => check_settings(&home, &block),
            "json models" => {
                let file = Path::new("models.json");
                let read = parse_models_file::<ProviderConfig>(file, &block.text);
                assert!(read.is_ok(), "{place}: {:?}", read.err());
            }
            "json theme" => {
                let read = Theme::from_json(&block.text, ColorMode::TrueColor);
                assert!(read.is_ok(), "{place}: {read:?}");
            }
            "json keybindings" => check_keybindings(&home, &block),
            "jsonl" => {
                for line in block.text.lines() {
                    let read = serde_json::from_str::<Value>(line);
                    assert!(read.is_ok(), "{place}: {line}: {read:?}");
                }
            }
            "json" => {
                let read = serde_json::from_str::<Value>(&block.text);
                assert!(read.is_ok(), "{place}: {read:?}");
            }
            other => panic!("{place}: what is `{other}`?"),
        }
    }
}

fn check_settings(home: &TempHome, block: &Block) {
    home.write("settings.json", &block.text);
    let agent_dir = AgentDir::at(home.path());
    let store = SettingsStore::open(&agent_dir, home.path(), ProjectAccess::Denied);
    let diagnostics = store.take_diagnostics();
    assert!(diagnostics.is_empty(), "{}: {diagnostics:?}", block.place());
    let written: Value = serde_json::from_str(&block.text).unwrap();
    let understood = Value::Object(store.settings().to_json());
    assert_eq!(understood, written, "{}: a key is unknown", block.place());
}

fn check_keybindings(home: &TempHome, block: &Block) {
    let file = home.write("keybindings.json", &block.text);
    let actions: Vec<&str> = pi_interactive::actions().map(|action| action.id).collect();
    let read = read_keybindings(&file, &actions);
    assert!(
        read.diagnostics.is_empty(),
        "{}: {:?}",
        block.place(),
        read.diagnostics
    );
    let object: serde_json::Map<String, Value> = serde_json::from_str(&block.text).unwrap();
    for (action, keys) in object {
        assert!(
            actions.contains(&action.as_str()),
            "{}: no action {action}",
            block.place()
        );
        let keys = keys.as_array().cloned().unwrap_or_else(|| vec![keys]);
        for key in keys.iter().filter_map(Value::as_str) {
            assert!(
                key.parse::<KeyId>().is_ok(),
                "{}: no key {key}",
                block.place()
            );
        }
    }
}

#[tokio::test]
async fn extensions_of_the_manual_register_what_they_say() {
    for block in blocks(|info| info == "ts extension") {
        let world = World::new([]).await;
        let file = world.home.write("example.ts", &block.text);
        let arguments = ["--mode", "rpc", "-e", &file.to_string_lossy()];
        let question = "{\"type\":\"get_commands\"}\n";
        let run = world.run_with_input(&arguments, question).await;
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (Some(0), ""),
            "{}",
            block.place()
        );
        let names = block.text.split("registerCommand(\"").skip(1);
        for name in names.filter_map(|rest| rest.split('"').next()) {
            let listed = format!("\"name\":\"{name}\"");
            assert!(
                run.stdout.contains(&listed),
                "{}: {}",
                block.place(),
                run.stdout
            );
        }
    }
}

#[tokio::test]
async fn pages_are_listed_shown_and_suggested() {
    let world = World::new([]).await;
    let list = world.run(&["docs"]).await;
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    for path in pages() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            list.stdout.contains(&format!("\n  {name} ")),
            "{name} is not listed"
        );
        let page = world.run(&["docs", &name]).await;
        assert_eq!(page.code, Some(0), "{name}");
        let title = std::fs::read_to_string(&path).unwrap();
        assert_eq!(page.stdout.lines().next(), title.lines().next(), "{name}");
        assert!(!page.stdout.contains("<!--"), "{name}");
    }
    for (arguments, part) in [
        (["docs", "sesions"], "did you mean sessions"),
        (["docs", "--nope"], "pi docs --help"),
    ] {
        let run = world.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    assert!(world.server.requests().is_empty());
    assert!(
        !world.home.path().join("home").exists(),
        "the manual touches nothing"
    );
}
