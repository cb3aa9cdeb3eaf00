//! What extensions cost: loading one with and without its prepared source on disk, drawing a component, asking a hook.

#![expect(
    clippy::unwrap_used,
    reason = "a set-up that fails must stop the bench"
)]

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use divan::Bencher;
use pi_ext::{
    ConsoleLine, EngineOptions, Extensions, Fault, Host, HostError, HostFuture, SourceCache,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// An extension of a usual size: a tool with a schema, a command, hooks and a component of fifty lines.
const SOURCE: &str = include_str!("extension.ts");

fn main() {
    divan::main();
}

/// A terminal program that answers only what the extension needs.
struct Program;

impl Host for Program {
    fn console(&self, _: ConsoleLine) {}

    fn fault(&self, fault: Fault) {
        panic!("{}", fault.message);
    }

    fn call(&self, _: Option<&str>, method: &str, _: Value) -> Result<Value, HostError> {
        Ok(match method {
            "context" => json!({"mode": "tui", "hasUI": true, "cwd": "/project"}),
            _ => Value::Null,
        })
    }

    fn request(&self, owner: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let answer = self.call(owner, method, arguments);
        Box::pin(std::future::ready(answer))
    }
}

struct World {
    folder: TempDir,
    path: PathBuf,
    runtime: Runtime,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("extension.ts");
        std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(SOURCE.as_bytes()))
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            folder,
            path,
            runtime,
        }
    }

    fn cache(&self) -> SourceCache {
        SourceCache::new(self.folder.path().join("cache"))
    }

    /// Starts an engine and loads the extension, which waits to be bound.
    fn load(&self, cache: SourceCache) -> Extensions {
        let extensions = Extensions::new(EngineOptions::new(Arc::new(Program)).with_cache(cache));
        self.runtime.block_on(extensions.load(&self.path)).unwrap();
        extensions
    }

    /// Loads the extension and lets it begin: its component is the first on the screen.
    fn begin(&self) -> Extensions {
        let extensions = self.load(self.cache());
        self.runtime.block_on(async {
            extensions.bind(json!({})).await.unwrap();
            let start = json!({"type": "session_start", "reason": "startup"});
            extensions.emit(1, Some(start), None).await.unwrap();
        });
        extensions
    }
}

#[divan::bench]
fn load_cold(bencher: Bencher<'_, '_>) {
    let world = World::new();
    bencher.bench_local(|| world.load(SourceCache::disabled()));
}

#[divan::bench]
fn load_warm(bencher: Bencher<'_, '_>) {
    let world = World::new();
    drop(world.load(world.cache()));
    bencher.bench_local(|| world.load(world.cache()));
}

/// The second extension of an engine that runs: what each further one costs.
#[divan::bench]
fn load_another_warm(bencher: Bencher<'_, '_>) {
    let world = World::new();
    drop(world.load(world.cache()));
    let other = world.path.with_file_name("other.ts");
    std::fs::copy(&world.path, &other).unwrap();
    bencher
        .with_inputs(|| world.load(world.cache()))
        .bench_local_values(|extensions| {
            world.runtime.block_on(extensions.load(&other)).unwrap();
            extensions
        });
}

#[divan::bench]
fn render_fifty_lines(bencher: Bencher<'_, '_>) {
    let world = World::new();
    let extensions = world.begin();
    bencher.bench_local(|| {
        let values = vec![1.into(), 80.into()];
        let lines = extensions.screen("mount", "render", values, None);
        let lines = world.runtime.block_on(lines).unwrap();
        assert_eq!(lines.as_str().map(|text| text.lines().count()), Some(51));
    });
}

#[divan::bench]
fn tool_call_hook(bencher: Bencher<'_, '_>) {
    let world = World::new();
    let extensions = world.begin();
    bencher.bench_local(|| {
        let event = json!({"type": "tool_call", "toolCallId": "call_1", "toolName": "bash",
            "input": {"command": "ls -la src"}});
        let answer = world
            .runtime
            .block_on(extensions.emit(1, Some(event), None))
            .unwrap();
        assert_eq!(answer["block"], true);
    });
}
