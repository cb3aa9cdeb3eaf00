//! The manual: `pi docs` shows it, and its examples work.
//!
//! The word after the language of a code fence selects the check: `sh test` runs as a script; `json settings`,
//! `json models`, `json theme` and `json keybindings` are parsed as those files; `ts extension` is loaded. Other JSON
//! must parse.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pi_config::{AgentDir, SettingsStore, parse_models_file, read_keybindings};
use pi_protocol::ProjectAccess;
use pi_providers::ProviderConfig;
use pi_test_support::TempHome;
use pi_tui::{ColorMode, KeyId, Theme};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::process::Command;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};

/// A fenced code block of a page.
struct CodeBlock {
    page: String,
    line: usize,
    /// The info string after the opening fence.
    info: String,
    text: String,
}

impl CodeBlock {
    fn location(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

fn pages() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|it| it == "md"));
    pages.sort();
    pages
}

fn code_blocks(info: impl Fn(&str) -> bool) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    for path in pages() {
        let page = path.file_name().unwrap().to_string_lossy().into_owned();
        let source = std::fs::read_to_string(&path).unwrap();
        let mut open: Option<CodeBlock> = None;
        for (number, line) in source.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    assert!(
                        !info.is_empty(),
                        "{page}:{}: code block without a language",
                        number + 1
                    );
                    open = Some(CodeBlock {
                        page: page.clone(),
                        line: number + 1,
                        info: info.to_owned(),
                        text: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page}: unterminated code block");
    }
    blocks.retain(|block| info(&block.info));
    assert!(!blocks.is_empty());
    blocks
}

#[cfg(unix)]
#[tokio::test]
async fn documented_commands_run() {
    for block in code_blocks(|info| info == "sh test") {
        let context = TestContext::new((0..12).map(|_| text_reply("An answer."))).await;
        let bin_dir = context.home.path().join("bin");
        std::fs::create_dir(&bin_dir).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pi"), bin_dir.join("pi")).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-eu", "-c", &block.text])
            .current_dir(context.project_dir())
            .env_clear()
            .envs(context.environment())
            .env("PATH", format!("{}:{path}", bin_dir.display()))
            .env("TMPDIR", context.home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let run = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
        let run = PiOutput::new(run.expect("the commands timed out").unwrap());
        assert_eq!(run.code, Some(0), "{}: {run:?}", block.location());
    }
}

#[test]
fn documented_files_parse() {
    let home = TempHome::new();
    for block in code_blocks(|info| info.starts_with("json")) {
        let location = block.location();
        match block.info.as_str() {
            "json settings" => check_settings(&home, &block),
            "json models" => {
                let file = Path::new("models.json");
                let read = parse_models_file::<ProviderConfig>(file, &block.text);
                assert!(read.is_ok(), "{location}: {:?}", read.err());
            }
            "json theme" => {
                let read = Theme::from_json(&block.text, ColorMode::TrueColor);
                assert!(read.is_ok(), "{location}: {read:?}");
            }
            "json keybindings" => check_keybindings(&home, &block),
            "jsonl" => {
                for line in block.text.lines() {
                    let read = serde_json::from_str::<Value>(line);
                    assert!(read.is_ok(), "{location}: {line}: {read:?}");
                }
            }
            "json" => {
                let read = serde_json::from_str::<Value>(&block.text);
                assert!(read.is_ok(), "{location}: {read:?}");
            }
            other => panic!("{location}: unknown info string `{other}`"),
        }
    }
}

fn check_settings(home: &TempHome, block: &CodeBlock) {
    home.write("settings.json", &block.text);
    let agent_dir = AgentDir::at(home.path());
    let store = SettingsStore::open(&agent_dir, home.path(), ProjectAccess::Denied);
    let diagnostics = store.take_diagnostics();
    assert!(
        diagnostics.is_empty(),
        "{}: {diagnostics:?}",
        block.location()
    );
    let written: Value = serde_json::from_str(&block.text).unwrap();
    let parsed = Value::Object(store.settings().to_json());
    assert_eq!(parsed, written, "{}: unknown key", block.location());
}

fn check_keybindings(home: &TempHome, block: &CodeBlock) {
    let file = home.write("keybindings.json", &block.text);
    let actions: Vec<&str> = pi_interactive::actions().map(|action| action.id).collect();
    let read = read_keybindings(&file, &actions);
    assert!(
        read.diagnostics.is_empty(),
        "{}: {:?}",
        block.location(),
        read.diagnostics
    );
    let object: serde_json::Map<String, Value> = serde_json::from_str(&block.text).unwrap();
    for (action, keys) in object {
        assert!(
            actions.contains(&action.as_str()),
            "{}: unknown action {action}",
            block.location()
        );
        let keys = keys.as_array().cloned().unwrap_or_else(|| vec![keys]);
        for key in keys.iter().filter_map(Value::as_str) {
            assert!(
                key.parse::<KeyId>().is_ok(),
                "{}: invalid key {key}",
                block.location()
            );
        }
    }
}

#[tokio::test]
async fn documented_extensions_register_their_commands() {
    for block in code_blocks(|info| info == "ts extension") {
        let context = TestContext::new([]).await;
        let file = context.home.write("example.ts", &block.text);
        let arguments = ["--mode", "rpc", "-e", &file.to_string_lossy()];
        let command = "{\"type\":\"get_commands\"}\n";
        let run = context.run_with_input(&arguments, command).await;
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (Some(0), ""),
            "{}",
            block.location()
        );
        let names = block.text.split("registerCommand(\"").skip(1);
        for name in names.filter_map(|rest| rest.split('"').next()) {
            let listed = format!("\"name\":\"{name}\"");
            assert!(
                run.stdout.contains(&listed),
                "{}: {}",
                block.location(),
                run.stdout
            );
        }
    }
}

#[tokio::test]
async fn docs_command_lists_shows_and_suggests_pages() {
    let context = TestContext::new([]).await;
    let list = context.run(&["docs"]).await;
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    for path in pages() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            list.stdout.contains(&format!("\n  {name} ")),
            "{name} is not listed"
        );
        let page = context.run(&["docs", &name]).await;
        assert_eq!(page.code, Some(0), "{name}");
        let title = std::fs::read_to_string(&path).unwrap();
        assert_eq!(page.stdout.lines().next(), title.lines().next(), "{name}");
        assert!(!page.stdout.contains("<!--"), "{name}");
    }
    for (arguments, part) in [
        (["docs", "sesions"], "did you mean sessions"),
        (["docs", "--nope"], "pi docs --help"),
    ] {
        let run = context.run(&arguments).await;
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(1), ""),
            "{arguments:?}"
        );
        assert!(run.stderr.contains(part), "{arguments:?}: {}", run.stderr);
    }
    assert!(context.server.requests().is_empty());
    assert!(
        !context.home.path().join("home").exists(),
        "pi docs creates no files"
    );
}
