//! Scripts as a model may write them, hostile ones included, against tools of a test session.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use pi_codemode::{
    CodemodeOptions, ModelDirectory, ModelTask, ModelTaskResult, WorkerSlots, codemode,
};
use pi_core::{
    HookError, NestedToolCall, NestedToolResult, RegisteredTool, SessionServices, Tool,
    ToolContext, ToolError, ToolExposure,
};
use pi_protocol::json::JsonObject;
use pi_protocol::settings::CodemodeSettings;
use pi_protocol::{InputBlock, Tool as ToolDeclaration, ToolCall, ToolOutput};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// No test may take this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Returns its arguments, fails with them, or never returns.
struct TestTool(ToolDeclaration);

impl TestTool {
    fn registered(name: &str) -> RegisteredTool {
        let tool = Self(ToolDeclaration {
            name: name.to_owned(),
            description: format!("The tool {name}."),
            parameters: json!({"type": "object", "properties": {}}),
            constrained_sampling: None,
            extra: JsonObject::new(),
        });
        let mut tool = RegisteredTool::new(Arc::new(tool));
        tool.metadata.exposure = ToolExposure::Codemode;
        tool
    }
}

impl Tool for TestTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.0
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.0.name.as_str() {
                "fail" => Err(ToolError::new("it failed")),
                "hang" => {
                    cx.cancel.cancelled().await;
                    Err(ToolError::new("canceled"))
                }
                _ => Ok(ToolOutput::text(Value::Object(arguments).to_string())),
            }
        })
    }
}

#[derive(Default)]
struct TestSession {
    calls: AtomicUsize,
    hanging: tokio::sync::Notify,
    stored: Mutex<Vec<Value>>,
}

impl SessionServices for TestSession {
    fn session_id(&self) -> Option<String> {
        None
    }

    fn cwd(&self) -> &Path {
        Path::new("/")
    }

    fn callable_tools(&self) -> Vec<RegisteredTool> {
        ["echo", "fail", "hang", "odd-name", "codemode"]
            .map(TestTool::registered)
            .into()
    }

    fn custom_entries(&self, _custom_type: &str) -> Vec<Value> {
        self.stored.lock().unwrap().clone()
    }

    fn append_custom_entry<'a>(
        &'a self,
        custom_type: &'a str,
        data: Value,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        assert_eq!(custom_type, "codemode-store");
        self.stored.lock().unwrap().push(data);
        Box::pin(std::future::ready(Ok(())))
    }

    fn execute_tool<'a>(
        &'a self,
        caller: &'a ToolContext,
        call: NestedToolCall,
    ) -> BoxFuture<'a, NestedToolResult> {
        Box::pin(async move {
            let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            let id = format!("{}/{number}", caller.call);
            if call.name == "hang" {
                self.hanging.notify_one();
            }
            let mut cx = caller.clone();
            cx.cancel = call.cancel;
            let tool = TestTool::registered(&call.name).tool;
            let result = tool.call(cx, call.arguments.clone()).await;
            let is_error = result.is_err();
            NestedToolResult {
                call: ToolCall {
                    id,
                    name: call.name,
                    arguments: call.arguments,
                    ..ToolCall::default()
                },
                output: result.unwrap_or_else(|error| ToolOutput::failure(error.0)),
                is_error,
                duration_ms: Some(0),
            }
        })
    }
}

/// Number of model calls that run at the same time.
const PARALLEL_TASKS: usize = 4;

/// A classifier that answers when as many questions are open as may be.
struct TestModels {
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
    all_open: Arc<tokio::sync::Barrier>,
}

impl ModelDirectory for TestModels {
    fn models(&self, kind: &str, _provider: Option<&str>, _only_available: bool) -> Vec<Value> {
        vec![json!({"provider": "test", "id": kind})]
    }

    fn prepare(&self, task: ModelTask) -> Result<BoxFuture<'static, ModelTaskResult>, String> {
        let (open, most_open) = (Arc::clone(&self.open), Arc::clone(&self.most_open));
        let all_open = Arc::clone(&self.all_open);
        Ok(Box::pin(async move {
            let now_open = open.fetch_add(1, Ordering::SeqCst) + 1;
            most_open.fetch_max(now_open, Ordering::SeqCst);
            all_open.wait().await;
            open.fetch_sub(1, Ordering::SeqCst);
            ModelTaskResult {
                value: json!({"answer": task.context["input"]}),
                usage: None,
                error: None,
            }
        }))
    }
}

struct Harness {
    session: Arc<TestSession>,
    tool: RegisteredTool,
    directory: tempfile::TempDir,
}

impl Harness {
    fn new() -> Self {
        Self::with_workers(2)
    }

    fn with_workers(workers: usize) -> Self {
        Self::with_models(workers, None)
    }

    fn with_models(workers: usize, models: Option<Arc<dyn ModelDirectory>>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tool = codemode(CodemodeOptions {
            settings: Arc::new(CodemodeSettings::default),
            models,
            workers: WorkerSlots::new(workers),
            directory: directory.path().to_owned(),
        });
        Self {
            session: Arc::default(),
            tool,
            directory,
        }
    }

    fn context(&self) -> ToolContext {
        let environment = Arc::new(pi_tools::local_environment());
        let session = Arc::clone(&self.session) as Arc<dyn SessionServices>;
        ToolContext::new("c1", session, environment)
    }

    async fn run_in(&self, cx: ToolContext, code: &str) -> ScriptResult {
        let mut arguments = JsonObject::new();
        arguments.insert("code".to_owned(), code.into());
        let started = Instant::now();
        let running = self.tool.tool.call(cx, arguments);
        let output = tokio::time::timeout(PATIENCE, running).await.unwrap();
        assert!(started.elapsed() < PATIENCE);
        let output = output.unwrap();
        let mut texts = output.content.iter().map(|block| match block {
            InputBlock::Text(text) => text.text.clone(),
            _ => "(image)".to_owned(),
        });
        let header = texts.next().unwrap();
        assert!(header.contains("\nWall time "), "{header}");
        ScriptResult {
            text: texts.collect::<Vec<_>>().join("\n"),
            has_failed: output.is_error == Some(true),
            details: output.details.unwrap(),
        }
    }

    async fn run(&self, code: &str) -> ScriptResult {
        self.run_in(self.context(), code).await
    }
}

#[derive(Debug)]
struct ScriptResult {
    text: String,
    has_failed: bool,
    details: Value,
}

#[tokio::test]
async fn calls_resolve_reject_and_run_in_parallel() {
    let harness = Harness::new();
    let code = "const r = await Promise.allSettled([tools.echo({ a: 1 }), tools.fail({}), tools.odd_name(), tools.echo(5)]);\n\
                return r.map(x => x.value ?? `${x.reason.name}: ${x.reason.message}`);";
    let result = harness.run(code).await;
    assert_eq!(
        result.text,
        r#"["{\"a\":1}","Error: it failed","{}","Error: echo takes an object with its arguments"]"#
    );
    let calls: Vec<_> = result.details["calls"].as_array().unwrap().iter().collect();
    let summary = |call: &Value| format!("{} {} {}", call["id"], call["name"], call["status"]);
    let calls: Vec<String> = calls.into_iter().map(summary).collect();
    assert_eq!(
        calls,
        [
            r#""c1/1" "echo" "ok""#,
            r#""c1/2" "fail" "error""#,
            r#""c1/3" "odd-name" "ok""#,
        ]
    );
}

#[tokio::test]
async fn twenty_classifications_run_four_at_a_time() {
    let most_open = Arc::new(AtomicUsize::new(0));
    let models = TestModels {
        open: Arc::default(),
        most_open: Arc::clone(&most_open),
        all_open: Arc::new(tokio::sync::Barrier::new(PARALLEL_TASKS)),
    };
    let harness = Harness::with_models(1, Some(Arc::new(models)));
    let code = "const model = await models.getModelOfType('classifier', 'test', 'classifier');\n\
                const items = Array.from({ length: 20 }, (_, n) => n);\n\
                const results = await Promise.all(items.map(n => models.classify(model, { input: n })));\n\
                return results.map(result => result.answer).join(' ');";
    let result = harness.run(code).await;
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(result.text, expected.join(" "), "{result:?}");
    assert_eq!(most_open.load(Ordering::SeqCst), PARALLEL_TASKS);
}

#[tokio::test]
async fn a_script_cannot_start_a_script() {
    let harness = Harness::new();
    let result = harness
        .run("return ['codemode' in tools, 'echo' in tools]")
        .await;
    assert_eq!(result.text, "[false,true]");
    let result = harness
        .run("await tools.codemode({ code: 'return 1' })")
        .await;
    assert!(result.has_failed);
    assert!(
        result
            .text
            .contains("TypeError: tools has no member \"codemode\""),
        "{}",
        result.text
    );
}

#[tokio::test]
async fn values_are_kept_only_by_scripts_that_succeed() {
    let harness = Harness::new();
    harness.run("store('k', { v: 1 }); store('gone', 2)").await;
    harness.run("store('k', 5); throw new Error('no')").await;
    let result = harness
        .run("store('gone', undefined); return [load('k'), load('gone')]")
        .await;
    assert_eq!(result.text, r#"[{"v":1},null]"#);
    assert_eq!(
        *harness.session.stored.lock().unwrap(),
        [
            json!({"set": {"k": {"v": 1}, "gone": 2}, "delete": []}),
            json!({"set": {}, "delete": ["gone"]}),
        ]
    );
}

#[tokio::test]
async fn an_endless_loop_ends_at_its_deadline() {
    let harness = Harness::with_workers(1);
    for body in [
        "while (true) {}",
        "while (true) await null;",
        "for (;;) { try { (() => { while (true) {} })() } catch {} finally { continue } }",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
    ] {
        let code = format!("// @options: {{\"timeout_ms\": 300}}\ntext('begun'); {body}");
        let result = harness.run(&code).await;
        assert!(result.has_failed, "{body}");
        assert!(result.text.contains("timed out"), "{body}: {}", result.text);
    }
    // The worker is free again.
    let result = harness.run("return 'next'").await;
    assert_eq!(result.text, "next");
}

#[tokio::test]
async fn memory_is_limited() {
    let harness = Harness::new();
    for body in [
        "const all = []; while (true) all.push(new Array(1e6).fill(1));",
        "let s = 'x'; while (true) s += s;",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });",
        "new ArrayBuffer(2 ** 40)",
    ] {
        let code = format!("// @options: {{\"timeout_ms\": 60000}}\n{body}");
        let result = harness.run(&code).await;
        assert!(result.has_failed, "{body}");
    }
    let result = harness
        .run("function f() { return f() + 1 } return f()")
        .await;
    assert!(result.has_failed);
    assert_eq!(harness.run("return 1").await.text, "1");
}

#[tokio::test]
async fn a_promise_that_nothing_settles_fails_at_once() {
    let harness = Harness::new();
    let result = harness
        .run("text('x'); await new Promise(() => {}); text('y')")
        .await;
    assert!(result.has_failed);
    assert!(
        result.text.starts_with("x\nScript error:\nError: "),
        "{}",
        result.text
    );
}

#[tokio::test]
async fn output_is_limited() {
    let harness = Harness::new();
    let result = harness
        .run("for (let i = 0; i < 200000; i++) console.log(i)")
        .await;
    assert!(result.has_failed);
    let path = result.details["fullOutputPath"].as_str().unwrap();
    let saved = std::fs::read_to_string(path).unwrap();
    assert!(
        saved.contains("\n99999\n</console_output>"),
        "the first 100,000 lines are kept"
    );
    assert!(saved.contains("RangeError"));
    let result = harness
        .run("try { text('x'.repeat(2 ** 25)) } catch {} return 'caught'")
        .await;
    assert!(result.has_failed, "catching the error does not undo it");
    let result = harness
        .run("for (let i = 0; i < 20000; i++) tools.hang({}); await null")
        .await;
    assert!(!result.has_failed, "{}", result.text);
    assert_eq!(result.details["calls"].as_array().unwrap().len(), 10_000);
    drop(harness.directory);
}

#[tokio::test]
async fn built_in_objects_cannot_be_changed() {
    let harness = Harness::new();
    let code = "Array.prototype.map = () => 'evil'; JSON.stringify = () => 'evil'; Promise.prototype.then = null;\n\
                Object.prototype.toString = () => 'evil';\n\
                try { Object.defineProperty(Object.prototype, 'id', { value: 7 }) } catch {}\n\
                try { Object.setPrototypeOf(tools, { read: 1 }) } catch {}\n\
                globalThis.text = null; globalThis.tools = null;\n\
                class Mine extends Error { constructor() { super('m'); this.name = 'Mine' } }\n\
                const o = {}; o.toString = () => 'own';\n\
                return [[1].map(x => x), await tools.echo({ a: 1 }), ({}).id, `${o}`, new Mine().name]";
    let result = harness.run(code).await;
    // The assignments to Object.prototype throw: that is the only failure allowed here.
    let result = if result.has_failed {
        assert!(result.text.contains("read-only"), "{}", result.text);
        let code = code.replace("Object.prototype.toString = () => 'evil';", "");
        harness.run(&code).await
    } else {
        result
    };
    assert_eq!(result.text, r#"[[1],"{\"a\":1}",null,"own","Mine"]"#);
    let result = harness.run("globalThis.left = 1; return typeof left").await;
    assert_eq!(result.text, "number");
    assert_eq!(harness.run("return typeof left").await.text, "undefined");
}

#[tokio::test]
async fn an_abort_ends_a_script_whose_call_is_running() {
    let harness = Harness::new();
    let cx = harness.context();
    let cancel = cx.cancel.clone();
    let running = harness.run_in(cx, "text('before'); await tools.hang({}); text('never')");
    let aborting = async {
        harness.session.hanging.notified().await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(running, aborting);
    assert!(result.has_failed);
    assert!(
        result
            .text
            .starts_with("before\nScript error:\nScript aborted"),
        "{}",
        result.text
    );
    assert!(result.text.ends_with("hang (cancelled)"), "{}", result.text);
    let call = &result.details["calls"][0];
    assert_eq!(call["status"], "cancelled");
}

#[tokio::test]
async fn scripts_wait_for_a_worker_within_their_deadline() {
    let harness = Harness::with_workers(1);
    let first = harness.context();
    let cancel = first.cancel.clone();
    let holding = harness.run_in(first, "await tools.hang({})");
    let waiting = async {
        harness.session.hanging.notified().await;
        let code = "// @options: {\"timeout_ms\": 100}\nreturn 1";
        let result = harness.run(code).await;
        cancel.cancel();
        result
    };
    let (_, result) = tokio::join!(holding, waiting);
    assert!(result.has_failed);
    assert!(
        result.text.ends_with("The script did not start."),
        "{}",
        result.text
    );
    assert_eq!(harness.run("return 2").await.text, "2");
}

#[tokio::test]
async fn text_that_is_not_unicode_is_replaced() {
    let harness = Harness::new();
    let code =
        "text('a\\ud800b'); const r = await tools.echo({ s: '\\udc00', t: '\\\\ud800' }); return r";
    let result = harness.run(code).await;
    assert_eq!(
        result.text,
        "==> text 1/2 <==\na\u{fffd}b\n==> text 2/2 <==\n{\"s\":\"\u{fffd}\",\"t\":\"\\\\ud800\"}"
    );
}

#[tokio::test]
async fn a_script_that_closes_its_function_stays_in_the_sandbox() {
    let harness = Harness::new();
    for code in [
        "}); globalThis.x = 1; (() => {",
        "})\n(",
        "} ) => 5, () => {",
        "import('fs')",
    ] {
        let result = harness.run(code).await;
        assert!(result.text.len() < 2_000, "{}", result.text);
    }
    let result = harness
        .run("return typeof x + typeof process + typeof require")
        .await;
    assert_eq!(result.text, "undefinedundefinedundefined");
}
