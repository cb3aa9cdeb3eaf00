//! Packages through the binary: installed from a registry, started with, killed half-way, and shared with
//! the TypeScript pi.
#![cfg(unix)]

use std::path::Path;

use pi_test_support::FakeNpmRegistry;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::process::{Finished, LIMIT, World, answer};
use crate::reference_client::modules;

pub(crate) struct Shop {
    pub(crate) world: World,
    registry: FakeNpmRegistry,
}

impl Shop {
    pub(crate) async fn open(replies: Vec<pi_test_support::ScriptedReply>) -> Self {
        let world = World::new(replies).await;
        let registry = FakeNpmRegistry::start();
        world
            .home
            .write("home/.npmrc", format!("registry={}\n", registry.url()));
        let manifest = json!({
            "dependencies": {"helper": "^1.0.0"}, "keywords": ["pi-package"],
            "pi": {"prompts": ["./words"]},
        });
        registry.publish(
            "tool",
            "1.0.0",
            &manifest,
            &[("words/greet.md", "Say hello.")],
        );
        registry.publish("helper", "1.4.0", &json!({}), &[("index.js", "")]);
        Self { world, registry }
    }

    /// Prepares a run that may use the network.
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.world.project())
            .env_clear()
            .envs(self.world.environment())
            .env_remove("PI_OFFLINE")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_pi")), arguments);
        let output = tokio::time::timeout(LIMIT, command.output()).await;
        Finished::new(output.expect("pi hangs").unwrap())
    }

    pub(crate) fn settings(&self) -> Value {
        serde_json::from_str(&self.world.home.read("agent/settings.json")).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.world.home.path().join("agent/npm").join(path).exists()
    }
}

#[tokio::test]
async fn install_list_update_and_remove() {
    let shop = Shop::open(vec![]).await;
    let run = shop.run(&["install", "tool"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("hint: pi install npm:tool "), "{run:?}");
    let run = shop.run(&["install", "npm:tool"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Installed npm:tool\n"),
        "{run:?}"
    );
    assert_eq!(shop.settings(), json!({"packages": ["npm:tool"]}));
    assert!(shop.has("node_modules/helper/index.js"));

    let folder = shop.world.home.path().join("agent/npm/node_modules/tool");
    let run = shop.run(&["list"]).await;
    let listed = format!("User packages:\n  npm:tool\n    {}\n", folder.display());
    assert_eq!(run.stdout, listed);

    // The same package under another version replaces its entry.
    shop.registry.publish("tool", "1.1.0", &json!({}), &[]);
    let run = shop.run(&["update", "--extensions"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Updated packages\n"),
        "{run:?}"
    );
    let manifest = shop
        .world
        .home
        .read("agent/npm/node_modules/tool/package.json");
    assert!(manifest.contains("1.1.0"), "{manifest}");
    let run = shop.run(&["install", "npm:tool@1.0.0"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(shop.settings(), json!({"packages": ["npm:tool@1.0.0"]}));

    let run = shop.run(&["remove", "tool"]).await;
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("hint: perhaps npm:tool@1.0.0"),
        "{run:?}"
    );
    let run = shop.run(&["uninstall", "npm:tool"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Removed npm:tool\n"),
        "{run:?}"
    );
    assert_eq!(shop.settings(), json!({"packages": []}));
    assert!(!shop.has("node_modules/tool") && !shop.has("node_modules/helper"));
}

#[tokio::test]
async fn what_cannot_be_had_is_told_and_changes_nothing() {
    let shop = Shop::open(vec![]).await;
    let run = shop.run(&["install", "npm:nothing-here"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr
            .contains("error: the registry has no package nothing-here\nhint: "),
        "{run:?}"
    );
    assert!(!shop.world.home.path().join("agent/settings.json").exists());
    let run = shop.run(&["update"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("does not update itself"), "{run:?}");
    let run = shop.run(&["install", "-l", "npm:tool", "-na"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("--approve"), "{run:?}");
}

#[tokio::test]
async fn a_check_tells_what_a_package_asks_for_and_installs_nothing() {
    let shop = Shop::open(vec![]).await;
    shop.registry.publish(
        "asking",
        "2.0.0",
        &json!({
            "license": "MIT", "dependencies": {"helper": "^1"},
            "scripts": {"postinstall": "echo hello"}, "pi": {"extensions": ["./main.ts"]},
        }),
        &[
            (
                "main.ts",
                "import { readFileSync, noSuch } from 'node:fs';\nimport cluster from 'node:cluster';\n\
                 import { Type } from 'typebox';\nimport { part } from './part.ts';\nimport 'helper';\n\
                 export default () => { readFileSync; noSuch; cluster; Type; part; };\n",
            ),
            ("part.ts", "import secret from 'stranger';\nexport const part = secret;\n"),
            ("addon.node", "binary"),
        ],
    );
    let run = shop.run(&["install", "--check", "npm:asking"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    for expected in [
        "Package      asking 2.0.0\n",
        "License      MIT\n",
        "Extensions   main.ts\n",
        "Needs        helper ^1\n",
        "Imports      node:fs (without noSuch)\n",
        "Imports      node:cluster (not available: using it fails)\n",
        "Imports      typebox (available)\n",
        "Imports      stranger (not among its dependencies)\n",
        "Native       addon.node (does not run in pi's own host)\n",
        "Script       postinstall: echo hello (not run unless allowed)\n",
    ] {
        assert!(
            run.stdout.contains(expected),
            "{expected:?} in {}",
            run.stdout
        );
    }
    assert!(!shop.has("node_modules"));
    assert!(!shop.world.home.path().join("agent/settings.json").exists());
}

#[tokio::test]
async fn a_start_installs_what_is_missing_and_does_without_what_cannot_be_had() {
    let shop = Shop::open(vec![answer("hello")]).await;
    let wanted = json!({"packages": ["npm:tool", "npm:gone"]});
    shop.world
        .home
        .write("agent/settings.json", wanted.to_string());
    let run = shop
        .run(&["--no-session", "--model", "mock/alpha", "-p", "/greet"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "hello\n"),
        "{run:?}"
    );
    assert!(shop.has("node_modules/tool/words/greet.md"));
    assert!(
        run.stderr
            .contains("warning: package npm:gone is left out: the registry has no package gone"),
        "{run:?}"
    );
    let request = shop.world.server.wait_for_request(0).await.json();
    assert!(request.to_string().contains("Say hello."), "{request}");
}

#[tokio::test]
async fn offline_a_missing_package_is_left_out() {
    let shop = Shop::open(vec![answer("hello")]).await;
    let wanted = json!({"packages": ["npm:tool"]});
    shop.world
        .home
        .write("agent/settings.json", wanted.to_string());
    let run = shop
        .run(&[
            "--offline",
            "--no-session",
            "--model",
            "mock/alpha",
            "-p",
            "hi",
        ])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "hello\n"),
        "{run:?}"
    );
    assert!(!shop.has("node_modules"));
    assert!(shop.registry.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_half_way_leaves_nothing_half() {
    let shop = Shop::open(vec![]).await;
    shop.registry
        .publish("first", "1.0.0", &json!({}), &[("a", "1")]);
    assert_eq!(shop.run(&["install", "npm:first"]).await.code, Some(0));
    let before = shop.settings();
    shop.registry.block_archive("tool", "1.0.0");
    let mut child = shop
        .command(
            Path::new(env!("CARGO_BIN_EXE_pi")),
            &["install", "npm:tool"],
        )
        .spawn()
        .unwrap();
    tokio::task::block_in_place(|| shop.registry.wait_for_request("/tool/-/1.0.0.tgz"));
    child.kill().await.unwrap();
    assert_eq!(shop.settings(), before);
    assert!(shop.has("node_modules/first/a"));
    assert!(!shop.has("node_modules/tool"));
    // What was left of the lock is outlived by its age alone, which a test does not wait for.
    let lock = shop.world.home.path().join("agent/npm/.pi-install.lock");
    std::fs::remove_dir(lock).unwrap();
    shop.registry.unblock_archives();
    assert_eq!(shop.run(&["install", "npm:tool"]).await.code, Some(0));
    assert!(shop.has("node_modules/tool/words/greet.md") && shop.has("node_modules/first/a"));
    let left: Vec<String> = std::fs::read_dir(shop.world.home.path().join("agent/npm"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".pi-"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[tokio::test]
async fn the_typescript_pi_lists_and_keeps_what_we_installed() {
    let programs = modules().map(|modules| modules.join(".bin"));
    let Some(theirs) = programs.map(|bin| bin.join("pi")).filter(|pi| pi.exists()) else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let shop = Shop::open(vec![]).await;
    shop.registry.publish("other", "3.0.0", &json!({}), &[]);
    assert_eq!(
        shop.run(&["install", "npm:tool@^1.0.0"]).await.code,
        Some(0)
    );
    let path = format!(
        "{}:{}",
        theirs.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let run_theirs = async |arguments: &[&str]| {
        let mut command = shop.command(&theirs, arguments);
        let output = tokio::time::timeout(4 * LIMIT, command.env("PATH", &path).output()).await;
        Finished::new(output.expect("pi hangs").unwrap())
    };
    let listed = run_theirs(&["list"]).await;
    assert_eq!(
        listed.stdout,
        shop.run(&["list"]).await.stdout,
        "{listed:?}"
    );
    // Their npm goes on with what ours wrote down, and takes nothing away.
    let installed = run_theirs(&["install", "npm:other"]).await;
    assert_eq!(installed.code, Some(0), "{installed:?}");
    for package in ["tool", "helper", "other"] {
        assert!(
            shop.has(&format!("node_modules/{package}/package.json")),
            "{package}"
        );
    }
    let run = shop.run(&["remove", "npm:other"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(shop.has("node_modules/tool") && !shop.has("node_modules/other"));
    assert_eq!(
        run_theirs(&["list"]).await.stdout,
        shop.run(&["list"]).await.stdout
    );
}
