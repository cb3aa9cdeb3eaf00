//! Starting, calling and stopping the engine.

use std::time::Duration;

use pi_ext::{CallOptions, EngineError};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::EngineEnv;

#[tokio::test]
async fn nothing_starts_before_the_first_use() {
    let env = EngineEnv::new(&[("a.ts", "export const f = () => 1;")]);
    assert!(!env.engine.is_started());
    env.load("a.ts").await.unwrap();
    assert!(env.engine.is_started());
}

#[tokio::test]
async fn exported_functions_are_called_with_json() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "export function add(a: number, b: { c: number }) { return { sum: a + b.c, u: undefined }; }\n\
         export async function later(x: string) { await null; return [x, new Date(0)]; }\n\
         export const nothing = () => {};",
    )]);
    let path = env.path("a.ts");
    let call = |export: &'static str, arguments| {
        env.engine
            .call(&path, export, arguments, CallOptions::default())
    };
    assert_eq!(
        call("add", vec![json!(1), json!({ "c": 2 })])
            .await
            .unwrap(),
        json!({ "sum": 3 })
    );
    assert_eq!(
        call("later", vec![json!("x")]).await.unwrap(),
        json!(["x", "1970-01-01T00:00:00.000Z"])
    );
    assert_eq!(call("nothing", Vec::new()).await.unwrap(), json!(null));
    let error = call("gone", Vec::new()).await.unwrap_err();
    assert!(
        error.to_string().contains("exports no function named gone"),
        "{error}"
    );
}

#[tokio::test]
async fn errors_show_the_original_file_and_line() {
    let env = EngineEnv::new(&[
        (
            "lib/deep.ts",
            "interface Gone {\n  a: string;\n}\n\nexport enum E { A }\n\nexport function deep(x: Gone): never {\n  \
         throw new RangeError('too ' + x);\n}\n",
        ),
        (
            "a.ts",
            "import { deep } from './lib/deep';\ntype T = {\n  x: number;\n};\nexport async function run() {\n  \
         await null;\n  deep({ a: 'far' } as never);\n}\n",
        ),
    ]);
    let Err(EngineError::Exception(thrown)) = env.call("a.ts", "run").await else {
        panic!("expected an exception");
    };
    assert_eq!(thrown.name, "RangeError");
    let stack = thrown.stack.unwrap();
    assert!(stack.starts_with("RangeError: too "), "{stack}");
    assert!(
        stack.contains(&format!("at deep ({}:8:", env.path("lib/deep.ts"))),
        "{stack}"
    );
    assert!(
        stack.contains(&format!("{}:7:", env.path("a.ts"))),
        "{stack}"
    );
}

#[tokio::test]
async fn a_syntax_error_includes_its_position() {
    let env = EngineEnv::new(&[("bad.ts", "const a = 1;\nconst = 2;\n")]);
    let error = env.load("bad.ts").await.unwrap_err().to_string();
    assert!(error.contains("bad.ts:2:7"), "{error}");
}

#[tokio::test]
async fn console_output_reaches_the_host_with_its_extension() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "console.log('plain', 'text'); console.error('%s is %d', 'x', 3, { a: [1] });",
    )]);
    env.load("a.ts").await.unwrap();
    assert_eq!(env.printed(), ["plain text", "x is 3 { a: [ 1 ] }"]);
    let lines = env.host.lines.lock().unwrap();
    assert_eq!(
        lines[0].extension.as_deref(),
        Some(env.path("a.ts").as_str())
    );
}

#[tokio::test]
async fn host_methods_are_called_synchronously_and_asynchronously() {
    let env = EngineEnv::with_options(
        &[(
            "a.ts",
            "import { callHost } from 'bridge';\nexport const run = () => callHost();",
        )],
        |options| {
            options.with_virtual_module(
                "bridge",
                "import { call, request } from 'pi:host';\n\
                 export async function callHost() {\n\
                   let failure;\n\
                   try { await request('fail'); } catch (error) { failure = error.message; }\n\
                   return [call('now', { a: 1 }), await request('later', [2]), failure];\n\
                 }",
            )
        },
    );
    let path = env.path("a.ts");
    assert_eq!(
        env.call("a.ts", "run").await.unwrap(),
        json!([[path, "now", { "a": 1 }], [path, "later", [2]], "host error"])
    );
}

#[tokio::test]
async fn replacing_fails_pending_calls_and_resets_state() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "let count = 0;\nexport const next = () => ++count;\nexport const hang = () => new Promise(() => {});",
    )]);
    assert_eq!(env.call("a.ts", "next").await.unwrap(), json!(1));
    assert_eq!(env.call("a.ts", "next").await.unwrap(), json!(2));
    let (hang, ()) = tokio::join!(env.call("a.ts", "hang"), async {
        tokio::task::yield_now().await;
        env.engine.replace();
    });
    assert_eq!(hang.unwrap_err(), EngineError::Stopped);
    assert_eq!(env.call("a.ts", "next").await.unwrap(), json!(1));
}

#[tokio::test]
async fn shutdown_stops_the_thread() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "setInterval(() => {}, 1); export const f = () => 1;",
    )]);
    env.call("a.ts", "f").await.unwrap();
    env.engine.shutdown().await.unwrap();
    assert!(!env.engine.is_started());
    env.engine.shutdown().await.unwrap();
}

#[tokio::test]
async fn dropping_the_handle_stops_the_thread() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "setInterval(() => {}, 1); export const f = () => 1;",
    )]);
    env.call("a.ts", "f").await.unwrap();
    let EngineEnv { engine, host, .. } = env;
    drop(engine);
    let ended = async {
        // The thread holds a reference to the host until it exits.
        while std::sync::Arc::strong_count(&host) > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), ended)
        .await
        .unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_symlinked_file_is_loaded_once() {
    let env = EngineEnv::new(&[
        (
            "real/a.ts",
            "import { here } from './b';\nlet count = 0;\nexport const up = () => ++count;\nexport const where = () => [here(), import.meta.filename];",
        ),
        (
            "real/b.ts",
            "import { up } from './a';\nexport const here = () => up();",
        ),
    ]);
    std::os::unix::fs::symlink(env.root.join("real"), env.root.join("link")).unwrap();
    let value = env.call("link/a.ts", "where").await.unwrap();
    assert_eq!(value, json!([1, env.path("real/a.ts")]));
    assert_eq!(env.call("link/a.ts", "up").await.unwrap(), json!(2));
}

#[tokio::test]
async fn a_hundred_reloads_do_not_grow() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "import { Buffer } from 'node:buffer';\nsetInterval(() => {}, 1000);\n\
         export const f = () => Buffer.from('x').length;",
    )]);
    let mut sizes = Vec::new();
    for _ in 0..100 {
        env.call("a.ts", "f").await.unwrap();
        sizes.push(env.engine.memory_used().await.unwrap());
        env.engine.shutdown().await.unwrap();
    }
    let (first, last) = (sizes[1], sizes[99]);
    assert!(last.abs_diff(first) < 4096, "{first} then {last}");
}

#[tokio::test]
async fn lazily_loaded_modules_are_loaded_once() {
    let env = EngineEnv::new(&[(
        "a.ts",
        "export const f = () => { for (let i = 0; i < 1000; i++) (1234.5).toLocaleString(); };",
    )]);
    let mut sizes = Vec::new();
    for _ in 0..3 {
        env.call("a.ts", "f").await.unwrap();
        sizes.push(env.engine.memory_used().await.unwrap());
    }
    assert!(sizes[2].abs_diff(sizes[1]) < 4096, "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_times_out() {
    let env = EngineEnv::new(&[("a.ts", "export const hang = () => new Promise(() => {});")]);
    let path = env.path("a.ts");
    let options = CallOptions::default().with_timeout(Duration::from_secs(30));
    let error = env
        .engine
        .call(&path, "hang", Vec::new(), options)
        .await
        .unwrap_err();
    assert_eq!(error, EngineError::TimedOut(Duration::from_secs(30)));
}
