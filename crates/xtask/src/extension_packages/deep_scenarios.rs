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
use crate::fake_model::FakeModel;

/// The oldest Node that runs extensions.
const OLDEST_NODE: (u32, u32) = (22, 15);

/// Longer than a step takes on a loaded machine. The first step of pi-lens waits for language servers that it cannot
/// install and is aborted, in the TypeScript pi, too.
const STEP_TIMEOUT: Duration = Duration::from_mins(1);

/// Where a package runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// On the embedded engine, also if pi would choose Node.
    Embedded,
    /// On Node, since the package needs it (`WebAssembly`, `node:sqlite`, worker threads); pi chooses it.
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

/// Returns the Node of an installed TypeScript pi or the one on `PATH`, if it is recent enough.
fn find_recent_node() -> Option<PathBuf> {
    let peer = std::env::var_os("PI_PEER_DIR").map(PathBuf::from);
    let peer = peer.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-peer")));
    let peers = peer.into_iter().flat_map(|it| {
        let other = format!("{}-1.5.0", it.display());
        [it, PathBuf::from(other)]
    });
    let installed = peers.map(|it| it.join("node_modules/.bin/node"));
    let candidates = installed.chain(search_path("node").ok());
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
    /// Creates a session on an engine, with files below `home`.
    fn session(&self, home: &Path, engine: Engine) -> (PackageSession, FakeModel) {
        let root = home.join("run");
        let session = PackageSession::create(&self.program, &self.node, &self.package, &root);
        let (session, model) = session.unwrap();
        let settings = match engine {
            Engine::Embedded => r#"{"extensionHost": "quickjs"}"#,
            Engine::NodeByNeed => "{}",
            Engine::NodeBySetting => r#"{"extensionHost": "node"}"#,
        };
        session.write_settings(settings).unwrap();
        (session, model)
    }

    fn check(&self, package: &str, engine: Engine) {
        let home = tempfile::tempdir().unwrap();
        let (mut session, model) = self.session(home.path(), engine);
        let mut run = PackageRun::default();
        let registered = session.load(&mut run).unwrap();
        assert!(registered.is_some(), "{package}: {:?}", run.load_error);
        for step in scripts::steps(package, &model.page_url()) {
            let observed = session.call(&step.prompt, step.awaited, STEP_TIMEOUT);
            let observed = observed.unwrap();
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
    check("@gotgenes/pi-permission-system", Engine::NodeByNeed);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn todo() {
    check("@juicesharp/rpiv-todo", Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn memory() {
    check("@samfp/pi-memory", Engine::NodeByNeed);
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

/// Starts a sub-agent in the background and shows it in the fleet view of the terminal.
fn check_fleet_view(engine: Engine) {
    let setup = match prepare("pi-subagents", engine) {
        Ok(setup) => setup,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let home = tempfile::tempdir().unwrap();
    let (session, _model) = setup.session(home.path(), engine);
    let terminal = session.start_in_terminal();
    terminal.wait("[Extensions]");
    terminal.wait("pi-subagents");
    terminal
        .submit(r#"call-tool subagent {"agent":"scout","task":"in the background","async":true}"#);
    terminal.wait("Run fan-out: 1/64 used");
    terminal.wait("done");
    // Once it is on the screen, so that completion does not replace it.
    terminal.send("/subagents-fleet");
    terminal.wait("/subagents-fleet");
    terminal.send("\r");
    terminal.wait("Subagent fleet inspector");
    terminal.wait("Mode: single");
    terminal.send("\x1b");
    terminal.wait_gone("Subagent fleet inspector");
    terminal.quit();
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn fleet_view() {
    check_fleet_view(Engine::Embedded);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn fleet_view_on_node() {
    check_fleet_view(Engine::NodeBySetting);
}

#[test]
#[ignore = "installs packages, and takes minutes: cargo test -p xtask -- --ignored"]
fn web_access() {
    check("pi-web-access", Engine::Embedded);
}
