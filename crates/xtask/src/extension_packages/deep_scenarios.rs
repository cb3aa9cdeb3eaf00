//! What users do with the ten most used packages, in pi: the scripts with the effects that they state.
//!
//! The packages are installed into the target directory when a test first runs. Without npm, its registry, Node or a
//! built pi a test is skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::scenario::{PackageRun, PackageSession, Program};
use super::{PACKAGES, install, scripts, search_path};

/// The oldest Node that runs extensions.
const OLDEST_NODE: (u32, u32) = (22, 15);

/// Longer than a step takes on a loaded machine. The first step of pi-lens waits for language servers that it cannot
/// install and is aborted, in the TypeScript pi, too.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

/// Where a package runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Embedded,
    /// On Node, since the package needs it; pi chooses it.
    NodeByNeed,
    /// On Node, by a setting.
    NodeBySetting,
}

/// Runs the script of a package and checks the effects of every step.
fn check(package: &str, engine: Engine) {
    match prepare(package, engine) {
        Ok(setup) => setup.check(package, engine),
        Err(reason) => println!("skipped: {reason}"),
    }
}

/// What a scenario needs.
struct Setup {
    program: Program,
    node: PathBuf,
    package: PathBuf,
}

/// Finds the programs and installs the package; otherwise returns what is missing.
fn prepare(package: &str, engine: Engine) -> Result<Setup, String> {
    let target = target_directory().ok_or("the target directory is not known")?;
    let pi = std::env::var_os("PI_TEST_BINARY").map(PathBuf::from);
    let path = pi.unwrap_or_else(|| target.join("pi"));
    if !path.exists() {
        return Err("pi is not built".to_owned());
    }
    let recent = find_recent_node();
    let node = match engine {
        Engine::Embedded => recent.or_else(|| search_path("node").ok()),
        Engine::NodeByNeed | Engine::NodeBySetting => recent,
    };
    let node = node.ok_or("needs Node 22.15 or newer")?;
    let version = PACKAGES.lines().find_map(|line| {
        let (name, version) = line.rsplit_once('@')?;
        (name == package).then_some(version)
    });
    let work = target.join("extension-packages");
    let package = install(&work, package, version.unwrap_or_default());
    Ok(Setup {
        program: Program { path },
        node,
        package: package.map_err(|error| format!("{error:#}"))?,
    })
}

/// Returns the directory of the programs of this build.
fn target_directory() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    Some(test.parent()?.parent()?.to_owned())
}

/// Returns the Node of the TypeScript pi or the one on `PATH`, if it is recent enough.
fn find_recent_node() -> Option<PathBuf> {
    let peer = std::env::var_os("PI_PEER_DIR").map(PathBuf::from);
    let peer = peer.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-peer")));
    let installed = peer.map(|it| it.join("node_modules/.bin/node"));
    let candidates = installed.into_iter().chain(search_path("node").ok());
    candidates.filter(|it| it.exists()).find(|it| is_recent(it))
}

fn is_recent(node: &Path) -> bool {
    let version = Command::new(node).arg("--version").output();
    let version = version.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let version = version.unwrap_or_default();
    let mut numbers = version
        .trim_start_matches('v')
        .split('.')
        .filter_map(|it| it.parse().ok());
    let version = (numbers.next(), numbers.next());
    matches!(version, (Some(major), Some(minor)) if (major, minor) >= OLDEST_NODE)
}

impl Setup {
    fn check(&self, package: &str, engine: Engine) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("run");
        let session = PackageSession::create(&self.program, &self.node, &self.package, &root);
        let (mut session, model) = session.unwrap();
        if engine == Engine::NodeBySetting {
            session
                .write_settings(r#"{"extensionHost": "node"}"#)
                .unwrap();
        }
        let mut run = PackageRun::default();
        let registered = session.load(&mut run).unwrap();
        assert!(registered.is_some(), "{package}: {:?}", run.load_error);
        for step in scripts::steps(package, &model.page_url()) {
            let observed = session.call(&step.prompt, STEP_TIMEOUT).unwrap();
            let texts = texts(&observed);
            for text in step.expected {
                assert!(
                    texts.contains(text),
                    "{}: no {text:?} in {observed:#}",
                    step.prompt
                );
            }
            for text in step.unexpected {
                assert!(
                    !texts.contains(text),
                    "{}: {text:?} in {observed:#}",
                    step.prompt
                );
            }
        }
        session.stop();
    }
}

/// Returns all texts of a value and the names of its members, line by line.
fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(members) => members
            .iter()
            .fold(String::new(), |texts_so_far, (name, value)| {
                texts_so_far + name + "\n" + &texts(value)
            }),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn processes() {
    check("@aliou/pi-processes", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn permissions() {
    check("@gotgenes/pi-permission-system", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn todo() {
    check("@juicesharp/rpiv-todo", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn memory() {
    check("@samfp/pi-memory", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn lens() {
    check("pi-lens", Engine::NodeByNeed);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn mcp() {
    check("pi-mcp-adapter", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn plan_mode() {
    check("pi-plan-mode", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn schedule() {
    check("pi-schedule-prompt", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn sub_agents() {
    check("pi-subagents", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn sub_agents_on_node() {
    check("pi-subagents", Engine::NodeBySetting);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn web_access() {
    check("pi-web-access", Engine::Embedded);
}
