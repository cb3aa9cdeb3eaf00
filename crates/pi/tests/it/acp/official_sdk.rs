//! The official SDK: its schema checks every message of these tests, and its client drives the agent.
//!
//! Installed with npm into `PI_ACP_SDK_DIR` or the user's cache; what needs it is skipped if that fails.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::sdk_scenarios::run_scenarios;

const PACKAGE: &str = "@agentclientprotocol/sdk@2.4.0";

/// Returns the directory of the package; installs it once.
#[expect(
    clippy::print_stdout,
    reason = "skipped checks are reported in the output"
)]
fn sdk() -> Option<&'static Path> {
    static SDK: OnceLock<Option<PathBuf>> = OnceLock::new();
    let sdk = SDK.get_or_init(|| {
        let directory = std::env::var_os("PI_ACP_SDK_DIR").map(PathBuf::from);
        let directory =
            directory.or_else(|| Some(std::env::home_dir()?.join(".cache/pi-acp-sdk")))?;
        let package = directory.join("node_modules/@agentclientprotocol/sdk");
        if !package.exists() {
            let installed = Command::new("npm")
                .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
                .arg(&directory)
                .arg(PACKAGE)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            if !installed.is_ok_and(|status| status.success()) {
                println!("skipped: the schema and the client of {PACKAGE} cannot be installed");
                return None;
            }
        }
        Some(package)
    });
    sdk.as_deref()
}

struct OfficialSchema {
    schemas: Schemas,
    /// Indices of the compiled definitions, by name.
    definitions: HashMap<String, SchemaIndex>,
}

impl OfficialSchema {
    fn load() -> Option<Self> {
        let file = sdk()?.join("schema/v1/schema.json");
        let document: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let names: Vec<String> = DEFINITIONS
            .iter()
            .flat_map(|(_, name)| {
                ["Request", "Response", "Notification"].map(|kind| format!("{name}{kind}"))
            })
            .filter(|name| document["$defs"].get(name).is_some())
            .collect();
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        let url = "http://localhost/schema.json";
        compiler.add_resource(url, document).unwrap();
        let definitions = names.into_iter().map(|name| {
            let index = compiler.compile(&format!("{url}#/$defs/{name}"), &mut schemas);
            (name, index.unwrap())
        });
        let definitions = definitions.collect();
        Some(Self {
            schemas,
            definitions,
        })
    }
}

/// Names of the definitions for methods.
const DEFINITIONS: [(&str, &str); 17] = [
    ("initialize", "Initialize"),
    ("authenticate", "Authenticate"),
    ("session/new", "NewSession"),
    ("session/load", "LoadSession"),
    ("session/resume", "ResumeSession"),
    ("session/list", "ListSessions"),
    ("session/close", "CloseSession"),
    ("session/delete", "DeleteSession"),
    ("session/prompt", "Prompt"),
    ("session/set_config_option", "SetSessionConfigOption"),
    ("session/update", "Session"),
    ("session/request_permission", "RequestPermission"),
    ("elicitation/create", "CreateElicitation"),
    ("fs/read_text_file", "ReadTextFile"),
    ("fs/write_text_file", "WriteTextFile"),
    ("session/fork", "ForkSession"),
    ("$/cancel_request", "CancelRequest"),
];

/// Checks the parameters or the result of a method.
pub(super) fn check_schema(method: &str, kind: &str, value: &Value) {
    static SCHEMA: OnceLock<Option<OfficialSchema>> = OnceLock::new();
    let Some(schema) = SCHEMA.get_or_init(OfficialSchema::load) else {
        return;
    };
    let known = DEFINITIONS.iter().find(|(known, _)| *known == method);
    let name = known.map(|(_, name)| format!("{name}{kind}"));
    let Some(index) = name.and_then(|name| schema.definitions.get(&name)) else {
        return;
    };
    if let Err(error) = schema.schemas.validate(value, *index) {
        panic!("{method}: {error:#}\n{value:#}");
    }
}

/// Drives the agent with the client of the SDK, which validates every message with its own types.
#[tokio::test]
async fn the_typescript_client_runs_the_scenarios() {
    let Some(sdk) = sdk() else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acp/client.mjs");
    let module = sdk.join("dist/v1/stable/acp.js");
    run_scenarios(Path::new("node"), &[&script, &module]).await;
}
