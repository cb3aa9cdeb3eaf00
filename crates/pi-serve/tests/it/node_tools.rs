//! Checks by tools of Node: the description of the API, and the types of the page's modules. They are installed from the npm
//! registry once; without Node or the registry these tests are skipped. `PI_TEST_NODE_TOOLS` names a directory where
//! they are installed already.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pi_providers::{FauxProvider, FauxResponse};
use pretty_assertions::assert_eq;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::support::TestServer;

const PACKAGES: [&str; 3] = ["@redocly/cli@2", "openapi-typescript@7", "typescript@5"];

const LIMIT: Duration = Duration::from_mins(3);

/// Returns the directory with the programs; prints a note and returns `None` if they cannot be installed.
async fn programs() -> Option<&'static Path> {
    static INSTALLED: OnceCell<Option<PathBuf>> = OnceCell::const_new();
    let installed = INSTALLED.get_or_init(install).await;
    installed.as_deref()
}

#[expect(
    clippy::print_stdout,
    reason = "skipped tests are reported in the output"
)]
async fn install() -> Option<PathBuf> {
    let directory = match std::env::var_os("PI_TEST_NODE_TOOLS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("node-tools"),
    };
    let programs = directory.join("node_modules/.bin");
    if programs.join("redocly").exists() {
        return Some(programs);
    }
    std::fs::create_dir_all(&directory).unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--fetch-retries", "0", "--prefix"])
        .arg(&directory)
        .args(PACKAGES)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    match tokio::time::timeout(LIMIT, npm.status()).await {
        Ok(Ok(status)) if status.success() => Some(programs),
        _ => {
            println!("skipped: needs Node, npm and the npm registry");
            None
        }
    }
}

/// Runs a program that must succeed, and returns its output.
async fn run(program: PathBuf, arguments: &[&str], directory: &Path) -> String {
    let running = Command::new(&program)
        .args(arguments)
        .current_dir(directory)
        .env("REDOCLY_TELEMETRY", "off")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(LIMIT, running).await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{}: {text}{errors}",
        program.display()
    );
    text
}

#[tokio::test]
async fn the_description_passes_a_linter_and_becomes_types() {
    let Some(programs) = programs().await else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/openapi.json");
    std::fs::copy(source, directory.path().join("openapi.json")).unwrap();
    let lint = ["lint", "openapi.json"];
    run(programs.join("redocly"), &lint, directory.path()).await;
    let generate = ["openapi.json", "-o", "types.d.ts"];
    run(
        programs.join("openapi-typescript"),
        &generate,
        directory.path(),
    )
    .await;
    let check = ["--noEmit", "--strict", "types.d.ts"];
    run(programs.join("tsc"), &check, directory.path()).await;
}

#[tokio::test]
async fn the_modules_of_the_page_pass_a_type_checker() {
    let Some(programs) = programs().await else {
        return;
    };
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-web/assets");
    let mut modules = Vec::new();
    for part in ["live", "shared", "root"] {
        for file in std::fs::read_dir(assets.join(part)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "js") {
                modules.push(path.to_string_lossy().into_owned());
            }
        }
    }
    assert!(modules.len() > 10, "{modules:?}");
    let mut arguments = vec!["--noEmit", "--allowJs", "--checkJs", "--target", "esnext"];
    arguments.extend(["--module", "esnext", "--moduleResolution", "bundler"]);
    arguments.extend(["--lib", "dom,dom.iterable,esnext"]);
    arguments.extend(modules.iter().map(String::as_str));
    run(programs.join("tsc"), &arguments, &assets).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_typescript_works() {
    let Some(programs) = programs().await else {
        return;
    };
    let faux = FauxProvider::new();
    faux.push(FauxResponse::text("from TypeScript"));
    let server = TestServer::start(faux).await;
    let directory = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/client.ts");
    std::fs::copy(source, directory.path().join("client.mts")).unwrap();
    let compile = [
        "--strict",
        "--target",
        "esnext",
        "--module",
        "nodenext",
        "client.mts",
    ];
    run(programs.join("tsc"), &compile, directory.path()).await;
    let url = format!("http://{}", server.address);
    let arguments = ["client.mjs", url.as_str(), server.token.as_str(), "hi"];
    let printed = run("node".into(), &arguments, directory.path()).await;
    assert_eq!(printed, "from TypeScript\n");
}
