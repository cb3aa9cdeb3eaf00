//! Extensions through the extension API: registrations, event results and package imports.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_ext::{
    ConsoleLine, EngineHost, EngineOptions, ExtensionFault, ExtensionManager, HostError, HostFuture,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host that records all calls and implements only a few methods.
#[derive(Default)]
struct RecordingHost {
    calls: Mutex<Vec<(String, Value)>>,
}

impl RecordingHost {
    fn calls(&self, method: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        let matching = calls.iter().filter(|(known, _)| known == method);
        matching.map(|(_, arguments)| arguments.clone()).collect()
    }
}

impl EngineHost for RecordingHost {
    fn console(&self, _line: ConsoleLine) {}

    fn fault(&self, fault: ExtensionFault) {
        let call = ("fault".to_owned(), json!(fault.message));
        self.calls.lock().unwrap().push(call);
    }

    fn call(&self, _: Option<&str>, method: &str, arguments: Value) -> Result<Value, HostError> {
        let call = (method.to_owned(), arguments);
        self.calls.lock().unwrap().push(call);
        match method {
            "program.context" => Ok(json!({"mode": "print", "hasUI": false, "cwd": "/project"})),
            "tools.active" => Err(HostError::new("stale context")),
            _ => Ok(Value::Null),
        }
    }

    fn request(&self, owner: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let response = self.call(owner, method, arguments);
        Box::pin(std::future::ready(response))
    }
}

pub(crate) struct ManagerEnv {
    directory: TempDir,
    host: Arc<RecordingHost>,
    extensions: ExtensionManager,
}

impl ManagerEnv {
    pub(crate) fn new() -> Self {
        let host = Arc::new(RecordingHost::default());
        Self {
            directory: tempfile::tempdir().unwrap(),
            extensions: ExtensionManager::new(EngineOptions::new(Arc::clone(&host) as _)),
            host,
        }
    }

    pub(crate) async fn load(
        &self,
        name: &str,
        source: &str,
    ) -> Result<Value, pi_ext::EngineError> {
        let path = self.write(name, source);
        self.extensions.load(&path).await
    }

    pub(crate) fn write(&self, name: &str, source: &str) -> PathBuf {
        let path = self.directory.path().canonicalize().unwrap().join(name);
        crate::support::write(&path, source);
        path
    }

    pub(crate) fn extensions(&self) -> &ExtensionManager {
        &self.extensions
    }

    /// Returns the arguments of the calls of a method.
    pub(crate) fn calls(&self, method: &str) -> Vec<Value> {
        self.host.calls(method)
    }

    pub(crate) async fn emit(&self, event: Value) -> Value {
        self.extensions
            .hook_dispatch(1, 0, event)
            .run(None, &Value::Null)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn an_extension_registers_tools_commands_flags_and_providers() {
    let env = ManagerEnv::new();
    let registered = env
        .load(
            "all.ts",
            r#"
            import { Type, StringEnum } from "@earendil-works/pi-ai";
            import { Type as Same } from "typebox";
            export default async function (pi: any) {
                pi.registerTool({
                    name: "dig", label: "Dig", description: "Digs",
                    parameters: Type.Object({ depth: Type.Number(), how: Type.Optional(StringEnum(["slow", "fast"])) }),
                    async execute() {},
                });
                pi.registerCommand("hello", { description: Type === Same ? "same" : "other", handler() {} });
                pi.registerFlag("loud", { type: "boolean", default: false });
                pi.registerProvider("mine", { baseUrl: "http://localhost", streamSimple() {} });
                pi.on("input", () => {});
            }
            "#,
        )
        .await
        .unwrap();
    let tool = &registered["tools"][0];
    assert_eq!(
        tool["parameters"],
        json!({"type": "object", "required": ["depth"], "properties": {
            "depth": {"type": "number"}, "how": {"type": "string", "enum": ["slow", "fast"]},
        }})
    );
    assert_eq!(registered["commands"][0]["name"], "hello");
    assert_eq!(registered["commands"][0]["description"], "same");
    assert_eq!(registered["flags"][0]["name"], "loud");
    assert_eq!(registered["providers"][0]["streams"], true);
    assert_eq!(registered["events"], json!(["input"]));
}

#[tokio::test]
async fn a_failed_load_registers_nothing() {
    let env = ManagerEnv::new();
    let failing = "export default (pi) => { pi.on('input', () => ({ action: 'handled' })); throw new Error('no'); }";
    let error = env.load("fails.js", failing).await.unwrap_err();
    assert!(error.to_string().contains("no"), "{error}");
    let error = env.load("empty.js", "export const x = 1;").await;
    assert!(error.unwrap_err().to_string().contains("default export"));
    let result = env.emit(json!({"type": "input", "text": "x"})).await;
    assert_eq!(result, Value::Null);
}

#[tokio::test]
async fn results_chain_and_failing_handlers_are_reported_and_skipped() {
    let env = ManagerEnv::new();
    let first = "export default (pi) => { pi.on('input', () => { throw new Error('broken'); }); }";
    let second = "export default (pi) => { pi.on('input', (e) => ({ action: 'transform', text: e.text + '!' })); }";
    env.load("first.js", first).await.unwrap();
    env.load("second.js", second).await.unwrap();
    env.load("third.js", second).await.unwrap();
    let result = env.emit(json!({"type": "input", "text": "x"})).await;
    assert_eq!(result, json!({"action": "transform", "text": "x!!"}));
    let errors = env.host.calls("program.reportError");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error"], "broken");
    assert_eq!(errors[0]["event"], "input");
}

#[tokio::test]
async fn a_block_or_an_exception_stops_a_tool_call() {
    let env = ManagerEnv::new();
    let source = "export default (pi) => { pi.on('tool_call', (e) => {
        if (e.input.command === 'no') return { block: true, reason: 'not here' };
        if (e.input.command === 'throw') throw new Error('hook failed');
        e.input.command = 'changed';
    }); }";
    env.load("gate.js", source).await.unwrap();
    let call = |command: &str| json!({"type": "tool_call", "input": {"command": command}});
    let blocked = env.emit(call("no")).await;
    assert_eq!(blocked, json!({"block": true, "reason": "not here"}));
    assert_eq!(
        env.emit(call("throw")).await,
        json!({"failure": "hook failed"})
    );
    let run = env.emit(call("x")).await;
    assert_eq!(run, json!({"input": {"command": "changed"}}));
}

#[tokio::test]
async fn host_errors_are_thrown_at_the_call_site() {
    let env = ManagerEnv::new();
    let source = "export default (pi) => { pi.on('turn_start', () => { pi.getActiveTools(); }); }";
    env.load("stale.js", source).await.unwrap();
    env.emit(json!({"type": "turn_start"})).await;
    assert_eq!(
        env.host.calls("program.reportError")[0]["error"],
        "stale context"
    );
}

#[tokio::test]
async fn all_package_exports_can_be_imported_from_both_scopes() {
    let env = ManagerEnv::new();
    let lists = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/exports");
    let mut packages = Vec::new();
    for (list, names) in [
        (
            "pi-coding-agent",
            vec![
                "@earendil-works/pi-coding-agent",
                "@mariozechner/pi-coding-agent",
            ],
        ),
        (
            "pi-agent-core",
            vec![
                "@earendil-works/pi-agent-core",
                "@mariozechner/pi-agent-core",
            ],
        ),
        (
            "pi-tui",
            vec!["@earendil-works/pi-tui", "@mariozechner/pi-tui"],
        ),
        (
            "pi-ai",
            vec![
                "@earendil-works/pi-ai",
                "@mariozechner/pi-ai",
                "@earendil-works/pi-ai/compat",
            ],
        ),
        (
            "pi-ai-providers",
            vec!["@earendil-works/pi-ai/providers/all"],
        ),
        ("typebox", vec!["typebox", "@sinclair/typebox"]),
        ("typebox-compile", vec!["typebox/compile"]),
        (
            "typebox-value",
            vec!["typebox/value", "@sinclair/typebox/value"],
        ),
    ] {
        let list = std::fs::read_to_string(lists.join(list).with_extension("txt")).unwrap();
        packages.extend(names.into_iter().map(|name| (name, list.clone())));
    }
    for (number, (package, list)) in packages.iter().enumerate() {
        let imports: Vec<String> = list
            .lines()
            .enumerate()
            .map(|(index, name)| format!("{name} as n{index}"))
            .collect();
        let used: Vec<String> = (0..imports.len())
            .map(|index| format!("n{index}"))
            .collect();
        let source = format!(
            "import {{ {} }} from \"{package}\";\nexport default (pi) => {{ if ([{}].some((one) => one === undefined)) throw new Error('undefined'); }}",
            imports.join(", "),
            used.join(", "),
        );
        let loaded = env.load(&format!("names{number}.js"), &source).await;
        assert!(loaded.is_ok(), "{package}: {}", loaded.unwrap_err());
    }
}

#[tokio::test]
async fn a_missing_export_throws_an_error_with_its_name() {
    let env = ManagerEnv::new();
    let source = "import { runPrintMode } from '@earendil-works/pi-coding-agent';\nexport default () => { runPrintMode(); }";
    let error = env.load("uses.js", source).await.unwrap_err();
    assert!(
        error.to_string().contains("pi-coding-agent.runPrintMode"),
        "{error}"
    );
}

#[tokio::test]
async fn an_export_is_identical_for_all_import_forms() {
    let env = ManagerEnv::new();
    let one = "import { Text } from '@earendil-works/pi-tui';\n\
        import { VERSION, truncateHead } from '@earendil-works/pi-coding-agent';\n\
        export default (pi) => { pi.events.on('compare', (all) => pi.sendMessage({\n\
          same: [all.tui.Text === Text, all.agent.truncateHead === truncateHead, all.old.VERSION === VERSION] })); };";
    env.load("one.js", one).await.unwrap();
    let all = "import * as tui from '@mariozechner/pi-tui';\n\
        import agent from '@earendil-works/pi-coding-agent';\n\
        export default async (pi) => {\n\
          const old = await import('@mariozechner/pi-coding-agent');\n\
          pi.on('turn_start', () => pi.events.emit('compare', { tui, agent, old })); };";
    env.load("all.js", all).await.unwrap();
    env.extensions.bind(json!({})).await.unwrap();
    env.emit(json!({"type": "turn_start"})).await;
    let sent = serde_json::to_string(&*env.host.calls.lock().unwrap()).unwrap();
    assert!(sent.contains("[true,true,true]"), "{sent}");
}

#[cfg(unix)]
#[tokio::test]
async fn exec_output_is_not_split_inside_a_character() {
    let env = ManagerEnv::new();
    // The leading `x` makes a chunk boundary fall inside a two-byte character.
    let source = r#"
        const SCRIPT = "printf x; yes é | tr -d '\n' | head -c 300000";
        export default (pi) => pi.on("input", async () => {
            const { stdout, code } = await pi.exec("/bin/sh", ["-c", SCRIPT], { cwd: "/" });
            return { action: "transform", text: `${code} ${stdout.length} ${stdout.includes("�")}` };
        });
    "#;
    env.load("runs.js", source).await.unwrap();
    let result = env.emit(json!({"type": "input", "text": ""})).await;
    assert_eq!(result["text"], "0 150001 false");
}

#[tokio::test]
async fn thinking_levels_follow_the_model_definition() {
    let env = ManagerEnv::new();
    let source = r#"
        import { clampThinkingLevel, getSupportedThinkingLevels } from "@earendil-works/pi-ai";
        const usual = { reasoning: true };
        const own = { reasoning: true, thinkingLevelMap: { off: null, low: null, xhigh: "x", max: "m" } };
        export default (pi) => pi.on("input", () => ({ action: "transform", text: JSON.stringify([
            getSupportedThinkingLevels({}), getSupportedThinkingLevels(usual), getSupportedThinkingLevels(own),
            clampThinkingLevel(usual, "max"), clampThinkingLevel(own, "low"), clampThinkingLevel(own, "max"), clampThinkingLevel(own, "?"),
        ]) }));
    "#;
    env.load("levels.js", source).await.unwrap();
    let result = env.emit(json!({"type": "input", "text": ""})).await;
    let levels: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        levels,
        json!([
            ["off"],
            ["off", "minimal", "low", "medium", "high"],
            ["minimal", "medium", "high", "xhigh", "max"],
            "high",
            "medium",
            "max",
            "minimal"
        ])
    );
}

#[tokio::test]
async fn changes_to_builtin_objects_are_reverted_after_loading() {
    let env = ManagerEnv::new();
    let vandal = r#"
        Array.prototype.map = () => "replaced";
        delete String.prototype.trim;
        Object.defineProperty(Map.prototype, "get", { configurable: true, get() { throw new Error("trap"); } });
        Object.defineProperty(RegExp.prototype, "flags", { configurable: true, get: () => "none" });
        Array.prototype.last = function () { return this.at(-1); };
        globalThis.Map = 1;
        export default (pi) => pi.registerCommand("paint", { handler() {} });
    "#;
    let registered = env.load("vandal.js", vandal).await.unwrap();
    assert_eq!(registered["commands"][0]["name"], "paint");
    let neighbor = r#"
        export default (pi) => pi.on("input", () => ({
            action: "transform",
            text: [[" a "].map((it) => it.trim())[0], new Map([[1, "b"]]).get(1), /x/g.flags, [1, 2].last(), (1234).toLocaleString()].join(" "),
        }));
    "#;
    env.load("neighbor.js", neighbor).await.unwrap();
    let event = json!({"type": "input", "text": "x", "source": "rpc"});
    assert_eq!(env.emit(event).await["text"], "a b g 2 1,234");
}
