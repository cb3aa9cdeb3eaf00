//! Package commands: installing from a registry, loading at startup, interrupted installs, and interoperability with
//! the TypeScript pi.
#![cfg(unix)]

use std::path::Path;

use pi_test_support::FakeNpmRegistry;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, text_reply};
use crate::reference_client::modules;

/// A test context with an npm registry that offers the package `tool`.
pub(crate) struct PackageSetup {
    pub(crate) context: TestContext,
    registry: FakeNpmRegistry,
}

impl PackageSetup {
    pub(crate) async fn new(replies: Vec<pi_test_support::ScriptedReply>) -> Self {
        let context = TestContext::new(replies).await;
        let registry = FakeNpmRegistry::start();
        context
            .home
            .write("home/.npmrc", format!("registry={}\n", registry.url()));
        let manifest = json!({
            "dependencies": {"helper": "^1.0.0"}, "keywords": ["pi-package"],
            "pi": {"prompts": ["./templates"]},
        });
        registry.publish(
            "tool",
            "1.0.0",
            &manifest,
            &[("templates/greet.md", "Say hello.")],
        );
        registry.publish("helper", "1.4.0", &json!({}), &[("index.js", "")]);
        Self { context, registry }
    }

    /// Prepares a run with network access.
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.context.project_dir())
            .env_clear()
            .envs(self.context.environment())
            .env_remove("PI_OFFLINE")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> PiOutput {
        let mut command = self.command(Path::new(env!("CARGO_BIN_EXE_pi")), arguments);
        let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
        PiOutput::new(output.expect("pi timed out").unwrap())
    }

    pub(crate) fn settings(&self) -> Value {
        serde_json::from_str(&self.context.home.read("agent/settings.json")).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.context
            .home
            .path()
            .join("agent/npm")
            .join(path)
            .exists()
    }
}

#[tokio::test]
async fn list_names_the_extensions_that_run_on_node() {
    let setup = PackageSetup::new(vec![]).await;
    let home = &setup.context.home;
    let extension = |name: &str, code: &str| {
        let text = format!("{code}\nexport default () => {{}};\n");
        home.write(&format!("agent/extensions/{name}.ts"), text)
    };
    extension("plain", "import 'node:fs';");
    let database = extension("database", "import 'node:sqlite';");
    let chosen = extension("chosen", "");
    extension("kept", "import 'node:sqlite';");
    home.write(
        "agent/settings.json",
        r#"{"extensionHost": {"chosen.ts": "node", "kept.ts": "quickjs"}}"#,
    );
    let run = setup.run(&["list"]).await;
    let expected = format!(
        "No packages installed.\n\nExtensions that run on Node:\n  {}: set by `extensionHost`\n  {}: uses node:sqlite\n",
        chosen.display(),
        database.display(),
    );
    assert_eq!(
        (run.code, run.stdout),
        (Some(0), expected),
        "{}",
        run.stderr
    );
}

#[tokio::test]
async fn install_list_update_and_remove() {
    let setup = PackageSetup::new(vec![]).await;
    let run = setup.run(&["install", "tool"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("run pi install npm:tool"), "{run:?}");
    let run = setup.run(&["install", "npm:tool"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Installed npm:tool\n"),
        "{run:?}"
    );
    assert_eq!(setup.settings(), json!({"packages": ["npm:tool"]}));
    assert!(setup.has("node_modules/helper/index.js"));

    let directory = setup
        .context
        .home
        .path()
        .join("agent/npm/node_modules/tool");
    let run = setup.run(&["list"]).await;
    let listed = format!("User packages:\n  npm:tool\n    {}\n", directory.display());
    assert_eq!(run.stdout, listed);

    // Installing another version of the same package replaces its entry.
    setup.registry.publish("tool", "1.1.0", &json!({}), &[]);
    let run = setup.run(&["update", "--extensions"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Updated packages\n"),
        "{run:?}"
    );
    let manifest = setup
        .context
        .home
        .read("agent/npm/node_modules/tool/package.json");
    assert!(manifest.contains("1.1.0"), "{manifest}");
    let run = setup.run(&["install", "npm:tool@1.0.0"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(setup.settings(), json!({"packages": ["npm:tool@1.0.0"]}));

    let run = setup.run(&["remove", "tool"]).await;
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("hint: did you mean npm:tool@1.0.0?"),
        "{run:?}"
    );
    let run = setup.run(&["uninstall", "npm:tool"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "Removed npm:tool\n"),
        "{run:?}"
    );
    assert_eq!(setup.settings(), json!({"packages": []}));
    assert!(!setup.has("node_modules/tool") && !setup.has("node_modules/helper"));
}

#[tokio::test]
async fn failed_commands_are_reported_and_change_nothing() {
    let setup = PackageSetup::new(vec![]).await;
    let run = setup.run(&["install", "npm:no-such-package"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(
        run.stderr
            .contains("error: package not found in the registry: no-such-package\nhint: "),
        "{run:?}"
    );
    assert!(
        !setup
            .context
            .home
            .path()
            .join("agent/settings.json")
            .exists()
    );
    let run = setup.run(&["update"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("cannot update itself"), "{run:?}");
    let run = setup.run(&["install", "-l", "npm:tool", "-na"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("--approve"), "{run:?}");
}

#[tokio::test]
async fn check_reports_package_requirements_without_installing() {
    let setup = PackageSetup::new(vec![]).await;
    setup.registry.publish(
        "inspected",
        "2.0.0",
        &json!({
            "license": "MIT", "dependencies": {"helper": "^1"},
            "scripts": {"postinstall": "echo hello"}, "pi": {"extensions": ["./main.ts"]},
        }),
        &[
            (
                "main.ts",
                "import { readFileSync, noSuch } from 'node:fs';\nimport cluster from 'node:cluster';\n\
                 import { Type } from 'typebox';\nimport { helper } from './helper.ts';\nimport 'helper';\n\
                 export default () => { readFileSync; noSuch; cluster; Type; helper; };\n",
            ),
            ("helper.ts", "import undeclared from 'undeclared';\nexport const helper = undeclared;\n"),
            ("addon.node", "binary"),
        ],
    );
    let run = setup.run(&["install", "--check", "npm:inspected"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    for expected in [
        "Package      inspected 2.0.0\n",
        "License      MIT\n",
        "Extensions   main.ts\n",
        "Needs        helper ^1\n",
        "Imports      node:fs (without noSuch)\n",
        "Imports      node:cluster (not supported)\n",
        "Imports      typebox (available)\n",
        "Imports      undeclared (not declared as a dependency)\n",
        "Native       addon.node (not supported by the embedded engine)\n",
        "Script       postinstall: echo hello (runs only if allowed)\n",
    ] {
        assert!(
            run.stdout.contains(expected),
            "{expected:?} in {}",
            run.stdout
        );
    }
    assert!(!setup.has("node_modules"));
    assert!(
        !setup
            .context
            .home
            .path()
            .join("agent/settings.json")
            .exists()
    );
}

#[tokio::test]
async fn startup_installs_missing_packages_and_skips_unavailable_ones() {
    let setup = PackageSetup::new(vec![text_reply("hello")]).await;
    let settings = json!({"packages": ["npm:tool", "npm:unavailable"]});
    setup
        .context
        .home
        .write("agent/settings.json", settings.to_string());
    let run = setup
        .run(&["--no-session", "--model", "mock/alpha", "-p", "/greet"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "hello\n"),
        "{run:?}"
    );
    assert!(setup.has("node_modules/tool/templates/greet.md"));
    assert!(
        run.stderr.contains(
            "warning: package npm:unavailable skipped: package not found in the registry: unavailable"
        ),
        "{run:?}"
    );
    let request = setup.context.server.wait_for_request(0).await.json();
    assert!(request.to_string().contains("Say hello."), "{request}");
}

#[tokio::test]
async fn packages_of_the_command_line_are_refreshed_at_start() {
    let setup = PackageSetup::new(vec![text_reply("one"), text_reply("two")]).await;
    let arguments = [
        "--no-session",
        "--model",
        "mock/alpha",
        "-e",
        "npm:tool",
        "-p",
        "/greet",
    ];
    assert_eq!(setup.run(&arguments).await.stdout, "one\n");
    let manifest = json!({"pi": {"prompts": ["./templates"]}});
    let files = [("templates/greet.md", "Say goodbye.")];
    setup.registry.publish("tool", "1.1.0", &manifest, &files);
    assert_eq!(setup.run(&arguments).await.stdout, "two\n");
    for (index, expected) in ["Say hello.", "Say goodbye."].into_iter().enumerate() {
        let request = setup.context.server.wait_for_request(index).await.json();
        assert!(request.to_string().contains(expected), "{request}");
    }
}

#[tokio::test]
async fn missing_packages_are_skipped_offline() {
    let setup = PackageSetup::new(vec![text_reply("hello")]).await;
    let settings = json!({"packages": ["npm:tool"]});
    setup
        .context
        .home
        .write("agent/settings.json", settings.to_string());
    let run = setup
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
    assert!(!setup.has("node_modules"));
    assert!(setup.registry.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_install_leaves_no_partial_package() {
    let setup = PackageSetup::new(vec![]).await;
    setup
        .registry
        .publish("first", "1.0.0", &json!({}), &[("a", "1")]);
    assert_eq!(setup.run(&["install", "npm:first"]).await.code, Some(0));
    let before = setup.settings();
    setup.registry.block_archive("tool", "1.0.0");
    let mut child = setup
        .command(
            Path::new(env!("CARGO_BIN_EXE_pi")),
            &["install", "npm:tool"],
        )
        .spawn()
        .unwrap();
    tokio::task::block_in_place(|| setup.registry.wait_for_request("/tool/-/1.0.0.tgz"));
    child.kill().await.unwrap();
    assert_eq!(setup.settings(), before);
    assert!(setup.has("node_modules/first/a"));
    assert!(!setup.has("node_modules/tool"));
    // A stale lock expires after some time; the test does not wait for that.
    let lock = setup.context.home.path().join("agent/npm/.pi-install.lock");
    std::fs::remove_dir(lock).unwrap();
    setup.registry.unblock_archives();
    assert_eq!(setup.run(&["install", "npm:tool"]).await.code, Some(0));
    assert!(setup.has("node_modules/tool/templates/greet.md") && setup.has("node_modules/first/a"));
    let leftovers: Vec<String> = std::fs::read_dir(setup.context.home.path().join("agent/npm"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".pi-"))
        .collect();
    assert_eq!(leftovers, Vec::<String>::new());
}

#[tokio::test]
async fn the_typescript_pi_lists_and_keeps_installed_packages() {
    let bin_dir = modules().map(|modules| modules.join(".bin"));
    let Some(typescript_pi) = bin_dir.map(|bin| bin.join("pi")).filter(|pi| pi.exists()) else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let setup = PackageSetup::new(vec![]).await;
    setup.registry.publish("other", "3.0.0", &json!({}), &[]);
    assert_eq!(
        setup.run(&["install", "npm:tool@^1.0.0"]).await.code,
        Some(0)
    );
    let path = format!(
        "{}:{}",
        typescript_pi.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let run_typescript = async |arguments: &[&str]| {
        let mut command = setup.command(&typescript_pi, arguments);
        let output =
            tokio::time::timeout(4 * TEST_TIMEOUT, command.env("PATH", &path).output()).await;
        PiOutput::new(output.expect("pi timed out").unwrap())
    };
    let listed = run_typescript(&["list"]).await;
    assert_eq!(
        listed.stdout,
        setup.run(&["list"]).await.stdout,
        "{listed:?}"
    );
    // Its npm uses the lock file written here and removes no packages.
    let installed = run_typescript(&["install", "npm:other"]).await;
    assert_eq!(installed.code, Some(0), "{installed:?}");
    for package in ["tool", "helper", "other"] {
        assert!(
            setup.has(&format!("node_modules/{package}/package.json")),
            "{package}"
        );
    }
    let run = setup.run(&["remove", "npm:other"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(setup.has("node_modules/tool") && !setup.has("node_modules/other"));
    assert_eq!(
        run_typescript(&["list"]).await.stdout,
        setup.run(&["list"]).await.stdout
    );
}
