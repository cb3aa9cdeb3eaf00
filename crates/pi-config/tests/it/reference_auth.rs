//! The TypeScript pi and this one write credentials concurrently, and none is lost. Skipped if the TypeScript pi is
//! not installed.

use std::path::PathBuf;
use std::process::Stdio;

use pi_auth::{Credential, CredentialStore as _};
use pi_config::AuthFile;
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

/// Number of credentials that each program writes.
const COUNT: usize = 40;

const STORAGE: &str = "@earendil-works/pi-coding-agent/dist/core/auth-storage.js";

/// Writes its credentials once a line arrives on standard input.
const SCRIPT: &str = r#"
const [storagePath, file, count] = process.argv.slice(1);
const { AuthStorage } = await import(storagePath);
const storage = AuthStorage.create(file);
console.log("ready");
process.stdin.once("data", async () => {
    for (let i = 0; i < Number(count); i++) {
        await storage.modify(`theirs-${i}`, async () => ({ type: "api_key", key: `k${i}` }));
    }
    process.exit(0);
});
"#;

/// Finds the packages in `PI_PEER_DIR` or in the user's cache.
fn modules() -> Option<PathBuf> {
    let directory = match std::env::var_os("PI_PEER_DIR") {
        Some(directory) => PathBuf::from(directory),
        None => std::env::home_dir()?.join(".cache/pi-peer"),
    };
    let modules = directory.join("node_modules");
    (modules.join(".bin/node").exists() && modules.join(STORAGE).exists()).then_some(modules)
}

#[tokio::test]
async fn concurrent_writes_by_both_programs_are_all_saved() {
    let Some(modules) = modules() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let home = TempHome::new();
    let path = home.write(
        "agent/auth.json",
        r#"{"kept": {"type": "api_key", "key": "k", "note": 1}}"#,
    );
    let mut theirs = Command::new(modules.join(".bin/node"))
        .args(["--input-type=module", "--eval", SCRIPT, "--"])
        .arg(modules.join(STORAGE))
        .arg(&path)
        .arg(COUNT.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = BufReader::new(theirs.stdout.take().unwrap());
    stdout.read_line(&mut line).await.unwrap();
    assert_eq!(line, "ready\n");
    theirs.stdin.take().unwrap().write_all(b"\n").await.unwrap();

    let ours = AuthFile::new(&path);
    for number in 0..COUNT {
        let provider = format!("ours-{number}");
        ours.put(&provider, Credential::api_key("k")).await.unwrap();
    }
    assert!(theirs.wait().await.unwrap().success());

    let stored: Map<String, Value> = serde_json::from_str(&home.read("agent/auth.json")).unwrap();
    for number in 0..COUNT {
        for who in ["ours", "theirs"] {
            let provider = format!("{who}-{number}");
            assert!(stored.contains_key(&provider), "{provider} is lost");
        }
    }
    assert_eq!(stored.len(), 2 * COUNT + 1);
    assert_eq!(stored["kept"]["note"], 1);
}
