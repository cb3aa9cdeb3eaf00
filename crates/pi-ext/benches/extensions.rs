//! Benchmarks: loading an extension with and without the source cache, rendering a component,
//! calling a hook.

#![expect(clippy::unwrap_used, reason = "a failed setup must stop the benchmark")]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use divan::Bencher;
use pi_ext::{
    ConsoleLine, EngineHost, EngineOptions, ExtensionFault, ExtensionManager, HostError,
    HostFuture, SourceCache, UiCall,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// An extension of typical size: a tool with a schema, a command, hooks and a 50-line component.
const SOURCE: &str = include_str!("extension.ts");

fn main() {
    divan::main();
}

/// A host with a terminal UI that implements only the methods the extension needs.
struct BenchHost;

impl EngineHost for BenchHost {
    fn console(&self, _: ConsoleLine) {}

    fn fault(&self, fault: ExtensionFault) {
        panic!("{}", fault.message);
    }

    fn call(&self, _: Option<&str>, method: &str, _: Value) -> Result<Value, HostError> {
        Ok(match method {
            "program.context" => json!({"mode": "tui", "hasUI": true, "cwd": "/project"}),
            _ => Value::Null,
        })
    }

    fn request(&self, owner: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let response = self.call(owner, method, arguments);
        Box::pin(std::future::ready(response))
    }
}

struct BenchEnv {
    directory: TempDir,
    path: PathBuf,
    runtime: Runtime,
}

impl BenchEnv {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory
            .path()
            .canonicalize()
            .unwrap()
            .join("extension.ts");
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(SOURCE.as_bytes()))
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            directory,
            path,
            runtime,
        }
    }

    fn cache(&self) -> SourceCache {
        SourceCache::new(self.directory.path().join("cache"))
    }

    /// Starts an engine and loads the extension without binding it.
    fn load(&self, cache: SourceCache) -> ExtensionManager {
        let extensions =
            ExtensionManager::new(EngineOptions::new(Arc::new(BenchHost)).with_cache(cache));
        self.runtime.block_on(extensions.load(&self.path)).unwrap();
        extensions
    }

    /// Loads and binds the extension and emits `session_start`, which mounts its component with ID 1.
    fn start(&self) -> ExtensionManager {
        let extensions = self.load(self.cache());
        self.runtime.block_on(async {
            extensions.bind(json!({})).await.unwrap();
            let start = json!({"type": "session_start", "reason": "startup"});
            extensions
                .hook_dispatch(1, 0, start)
                .run(None, &Value::Null)
                .await
                .unwrap();
        });
        extensions
    }
}

#[divan::bench]
fn load_cold(bencher: Bencher<'_, '_>) {
    let env = BenchEnv::new();
    bencher.bench_local(|| env.load(SourceCache::disabled()));
}

#[divan::bench]
fn load_warm(bencher: Bencher<'_, '_>) {
    let env = BenchEnv::new();
    drop(env.load(env.cache()));
    bencher.bench_local(|| env.load(env.cache()));
}

/// Cost of each further extension in a running engine.
#[divan::bench]
fn load_another_warm(bencher: Bencher<'_, '_>) {
    let env = BenchEnv::new();
    drop(env.load(env.cache()));
    let other = env.path.with_file_name("other.ts");
    std::fs::copy(&env.path, &other).unwrap();
    bencher
        .with_inputs(|| env.load(env.cache()))
        .bench_local_values(|extensions| {
            env.runtime.block_on(extensions.load(&other)).unwrap();
            extensions
        });
}

#[divan::bench]
fn render_fifty_lines(bencher: Bencher<'_, '_>) {
    let env = BenchEnv::new();
    let extensions = env.start();
    bencher.bench_local(|| {
        let call = UiCall::Render { id: 1, width: 80 };
        let lines = extensions.call_ui(call, None);
        let lines = env.runtime.block_on(lines).unwrap();
        assert_eq!(lines.as_str().map(|text| text.lines().count()), Some(51));
    });
}

#[divan::bench]
fn tool_call_hook(bencher: Bencher<'_, '_>) {
    let env = BenchEnv::new();
    let extensions = env.start();
    bencher.bench_local(|| {
        let event = json!({"type": "tool_call", "toolCallId": "call_1", "toolName": "bash",
            "input": {"command": "ls -la src"}});
        let result = env
            .runtime
            .block_on(
                extensions
                    .hook_dispatch(1, 0, event)
                    .run(None, &Value::Null),
            )
            .unwrap();
        assert_eq!(result["block"], true);
    });
}
