//! Extensions through their API: what they register, what events become, what they import.

use std::path::Path;
use std::sync::{Arc, Mutex};

use pi_ext::{ConsoleLine, EngineOptions, Extensions, Fault, Host, HostError, HostFuture};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host that answers little and keeps what it is told.
#[derive(Default)]
struct Program {
    told: Mutex<Vec<(String, Value)>>,
}

impl Program {
    fn told(&self, method: &str) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        let same = told.iter().filter(|(known, _)| known == method);
        same.map(|(_, arguments)| arguments.clone()).collect()
    }
}

impl Host for Program {
    fn console(&self, _line: ConsoleLine) {}

    fn fault(&self, fault: Fault) {
        let told = ("fault".to_owned(), json!(fault.message));
        self.told.lock().unwrap().push(told);
    }

    fn call(&self, _: Option<&str>, method: &str, arguments: Value) -> Result<Value, HostError> {
        let told = (method.to_owned(), arguments);
        self.told.lock().unwrap().push(told);
        match method {
            "context" => Ok(json!({"mode": "print", "hasUI": false, "cwd": "/project"})),
            "tools.active" => Err(HostError::new("the session is gone")),
            _ => Ok(Value::Null),
        }
    }

    fn request(&self, owner: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let answer = self.call(owner, method, arguments);
        Box::pin(std::future::ready(answer))
    }
}

struct World {
    folder: TempDir,
    host: Arc<Program>,
    extensions: Extensions,
}

impl World {
    fn new() -> Self {
        let host = Arc::new(Program::default());
        Self {
            folder: tempfile::tempdir().unwrap(),
            extensions: Extensions::new(EngineOptions::new(Arc::clone(&host) as _)),
            host,
        }
    }

    async fn load(&self, name: &str, source: &str) -> Result<Value, pi_ext::EngineError> {
        let path = self.folder.path().canonicalize().unwrap().join(name);
        crate::support::write(&path, source);
        self.extensions.load(&path).await
    }

    async fn emit(&self, event: Value) -> Value {
        self.extensions.emit(1, Some(event), None).await.unwrap()
    }
}

#[tokio::test]
async fn an_extension_registers_tools_commands_flags_and_providers() {
    let world = World::new();
    let registered = world
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
async fn an_extension_that_fails_to_load_leaves_nothing_behind() {
    let world = World::new();
    let failing = "export default (pi) => { pi.on('input', () => ({ action: 'handled' })); throw new Error('no'); }";
    let error = world.load("fails.js", failing).await.unwrap_err();
    assert!(error.to_string().contains("no"), "{error}");
    let error = world.load("empty.js", "export const x = 1;").await;
    assert!(error.unwrap_err().to_string().contains("default export"));
    let result = world.emit(json!({"type": "input", "text": "x"})).await;
    assert_eq!(result, Value::Null);
}

#[tokio::test]
async fn results_chain_and_a_failing_handler_is_reported_and_passed_over() {
    let world = World::new();
    let first = "export default (pi) => { pi.on('input', () => { throw new Error('broken'); }); }";
    let second = "export default (pi) => { pi.on('input', (e) => ({ action: 'transform', text: e.text + '!' })); }";
    world.load("first.js", first).await.unwrap();
    world.load("second.js", second).await.unwrap();
    world.load("third.js", second).await.unwrap();
    let result = world.emit(json!({"type": "input", "text": "x"})).await;
    assert_eq!(result, json!({"action": "transform", "text": "x!!"}));
    let errors = world.host.told("error");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0]["error"], "broken");
    assert_eq!(errors[0]["event"], "input");
}

#[tokio::test]
async fn the_first_block_and_a_throw_stop_a_tool_call() {
    let world = World::new();
    let source = "export default (pi) => { pi.on('tool_call', (e) => {
        if (e.input.command === 'no') return { block: true, reason: 'not here' };
        if (e.input.command === 'throw') throw new Error('hook failed');
        e.input.command = 'changed';
    }); }";
    world.load("gate.js", source).await.unwrap();
    let call = |command: &str| json!({"type": "tool_call", "input": {"command": command}});
    let blocked = world.emit(call("no")).await;
    assert_eq!(blocked, json!({"block": true, "reason": "not here"}));
    assert_eq!(
        world.emit(call("throw")).await,
        json!({"failure": "hook failed"})
    );
    let run = world.emit(call("x")).await;
    assert_eq!(run, json!({"input": {"command": "changed"}}));
}

#[tokio::test]
async fn what_the_host_refuses_is_thrown_where_it_is_used() {
    let world = World::new();
    let source = "export default (pi) => { pi.on('turn_start', () => { pi.getActiveTools(); }); }";
    world.load("stale.js", source).await.unwrap();
    world.emit(json!({"type": "turn_start"})).await;
    assert_eq!(world.host.told("error")[0]["error"], "the session is gone");
}

#[tokio::test]
async fn every_name_the_packages_export_can_be_imported_from_both_scopes() {
    let world = World::new();
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
        let loaded = world.load(&format!("names{number}.js"), &source).await;
        assert!(loaded.is_ok(), "{package}: {}", loaded.unwrap_err());
    }
}

#[tokio::test]
async fn what_is_not_there_says_its_name_when_used() {
    let world = World::new();
    let source = "import { runPrintMode } from '@earendil-works/pi-coding-agent';\nexport default () => { runPrintMode(); }";
    let error = world.load("uses.js", source).await.unwrap_err();
    assert!(
        error.to_string().contains("pi-coding-agent.runPrintMode"),
        "{error}"
    );
}

#[tokio::test]
async fn a_name_is_the_same_however_it_is_asked_for() {
    let world = World::new();
    let one = "import { Text } from '@earendil-works/pi-tui';\n\
        import { VERSION, truncateHead } from '@earendil-works/pi-coding-agent';\n\
        export default (pi) => { pi.events.on('compare', (all) => pi.sendMessage({\n\
          same: [all.tui.Text === Text, all.agent.truncateHead === truncateHead, all.old.VERSION === VERSION] })); };";
    world.load("one.js", one).await.unwrap();
    let all = "import * as tui from '@mariozechner/pi-tui';\n\
        import agent from '@earendil-works/pi-coding-agent';\n\
        export default async (pi) => {\n\
          const old = await import('@mariozechner/pi-coding-agent');\n\
          pi.on('turn_start', () => pi.events.emit('compare', { tui, agent, old })); };";
    world.load("all.js", all).await.unwrap();
    world.extensions.bind(json!({})).await.unwrap();
    world.emit(json!({"type": "turn_start"})).await;
    let sent = serde_json::to_string(&*world.host.told.lock().unwrap()).unwrap();
    assert!(sent.contains("[true,true,true]"), "{sent}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_program_says_reaches_an_extension_in_whole_characters() {
    let world = World::new();
    // The first letter puts the border of two pieces into the middle of a character.
    let source = r#"
        const SCRIPT = "printf x; yes é | tr -d '\n' | head -c 300000";
        export default (pi) => pi.on("input", async () => {
            const { stdout, code } = await pi.exec("/bin/sh", ["-c", SCRIPT], { cwd: "/" });
            return { action: "transform", text: `${code} ${stdout.length} ${stdout.includes("�")}` };
        });
    "#;
    world.load("runs.js", source).await.unwrap();
    let result = world.emit(json!({"type": "input", "text": ""})).await;
    assert_eq!(result["text"], "0 150001 false");
}

#[tokio::test]
async fn the_thinking_levels_of_a_model_are_those_it_says() {
    let world = World::new();
    let source = r#"
        import { clampThinkingLevel, getSupportedThinkingLevels } from "@earendil-works/pi-ai";
        const usual = { reasoning: true };
        const own = { reasoning: true, thinkingLevelMap: { off: null, low: null, xhigh: "x", max: "m" } };
        export default (pi) => pi.on("input", () => ({ action: "transform", text: JSON.stringify([
            getSupportedThinkingLevels({}), getSupportedThinkingLevels(usual), getSupportedThinkingLevels(own),
            clampThinkingLevel(usual, "max"), clampThinkingLevel(own, "low"), clampThinkingLevel(own, "max"), clampThinkingLevel(own, "?"),
        ]) }));
    "#;
    world.load("levels.js", source).await.unwrap();
    let result = world.emit(json!({"type": "input", "text": ""})).await;
    let told: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        told,
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
async fn what_an_extension_does_to_the_language_ends_with_its_loading() {
    let world = World::new();
    let vandal = r#"
        Array.prototype.map = () => "replaced";
        delete String.prototype.trim;
        Object.defineProperty(Map.prototype, "get", { configurable: true, get() { throw new Error("trap"); } });
        Object.defineProperty(RegExp.prototype, "flags", { configurable: true, get: () => "none" });
        Array.prototype.last = function () { return this.at(-1); };
        globalThis.Map = 1;
        export default (pi) => pi.registerCommand("paint", { handler() {} });
    "#;
    let registered = world.load("vandal.js", vandal).await.unwrap();
    assert_eq!(registered["commands"][0]["name"], "paint");
    let neighbor = r#"
        export default (pi) => pi.on("input", () => ({
            action: "transform",
            text: [[" a "].map((it) => it.trim())[0], new Map([[1, "b"]]).get(1), /x/g.flags, [1, 2].last(), (1234).toLocaleString()].join(" "),
        }));
    "#;
    world.load("neighbor.js", neighbor).await.unwrap();
    let event = json!({"type": "input", "text": "x", "source": "rpc"});
    assert_eq!(world.emit(event).await["text"], "a b g 2 1,234");
}
