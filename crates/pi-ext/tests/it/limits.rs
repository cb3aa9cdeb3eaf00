//! Misbehaving extensions are stopped without affecting the others.

use std::time::Duration;

use pi_ext::{CallOptions, EngineError, EngineLimits, FaultKind};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::EngineEnv;

const GOOD: (&str, &str) = ("good.ts", "export const ok = () => 'fine';");

/// A short time slice, with a long grace period for busy machines.
fn short_limits() -> EngineLimits {
    EngineLimits {
        slice: Duration::from_millis(200),
        grace: Duration::from_secs(30),
        memory: 64 * 1024 * 1024,
        ..EngineLimits::default()
    }
}

async fn assert_others_run(env: &EngineEnv) {
    assert_eq!(env.call("good.ts", "ok").await.unwrap(), json!("fine"));
}

#[tokio::test]
async fn an_endless_loop_is_stopped() {
    let env = EngineEnv::with_limits(
        &[
            GOOD,
            (
                "bad.ts",
                "export function spin() { try { for (;;) {} } catch { return 'caught'; } }",
            ),
        ],
        short_limits(),
    );
    let error = env.call("bad.ts", "spin").await.unwrap_err();
    assert_eq!(error, EngineError::Runaway(Duration::from_millis(200)));
    assert_others_run(&env).await;
}

#[tokio::test]
async fn an_endless_loop_at_the_top_level_fails_the_load() {
    let files = [
        GOOD,
        ("script.ts", "for (;;) {}"),
        ("module.ts", "export const x = 1;\nfor (;;) {}"),
        (
            "user.ts",
            "import { x } from './module';\nexport const y = x;",
        ),
    ];
    let env = EngineEnv::with_limits(&files, short_limits());
    for name in ["script.ts", "module.ts"] {
        let error = env.load(name).await.unwrap_err();
        assert!(
            matches!(error, EngineError::Runaway(_)),
            "{name}: {error:?}"
        );
        assert_others_run(&env).await;
    }
    for name in ["script.ts", "module.ts", "user.ts"] {
        let options = CallOptions::default().with_timeout(Duration::from_secs(2));
        let again = env
            .engine
            .call(&env.path(name), "y", Vec::new(), options)
            .await;
        assert!(again.is_err(), "{name}: {again:?}");
    }
    assert_others_run(&env).await;
}

#[tokio::test]
async fn an_endless_loop_after_an_await_fails_the_call() {
    let mut env = EngineEnv::with_limits(
        &[
            GOOD,
            (
                "bad.ts",
                "export async function spin() { await null; for (;;) {} }",
            ),
        ],
        short_limits(),
    );
    let error = env.call("bad.ts", "spin").await.unwrap_err();
    assert!(matches!(error, EngineError::Runaway(_)), "{error:?}");
    let fault = env.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Runaway);
    assert_eq!(fault.extension, Some(env.path("bad.ts")));
    assert_others_run(&env).await;
}

#[tokio::test]
async fn a_slow_regular_expression_is_stopped() {
    let source = "export const match = () => /^(a+)+$/.test('a'.repeat(40) + 'b');";
    let env = EngineEnv::with_limits(&[GOOD, ("bad.ts", source)], short_limits());
    let error = env.call("bad.ts", "match").await.unwrap_err();
    assert!(matches!(error, EngineError::Runaway(_)), "{error:?}");
    assert_others_run(&env).await;
}

#[tokio::test]
async fn a_promise_that_never_settles_times_out() {
    let limits = EngineLimits {
        call: Some(Duration::from_millis(100)),
        ..short_limits()
    };
    let env = EngineEnv::with_limits(
        &[
            GOOD,
            ("bad.ts", "export const hang = () => new Promise(() => {});"),
        ],
        limits,
    );
    let error = env.call("bad.ts", "hang").await.unwrap_err();
    assert_eq!(error, EngineError::TimedOut(Duration::from_millis(100)));
    assert_others_run(&env).await;
}

#[tokio::test]
async fn allocating_a_gigabyte_fails() {
    let source = "export const bytes = () => new Uint8Array(1024 * 1024 * 1024).length;\n\
        export function text() { let s = 'x'; for (;;) s += s + 'y'; }\n\
        export function list() { const all = []; for (;;) all.push(new Array(1000).fill({})); }";
    let env = EngineEnv::with_limits(
        &[GOOD, ("bad.ts", source)],
        EngineLimits {
            slice: Duration::from_secs(20),
            ..short_limits()
        },
    );
    for export in ["bytes", "list"] {
        let error = env.call("bad.ts", export).await.unwrap_err();
        assert_eq!(error, EngineError::OutOfMemory(64), "{export}");
        assert_others_run(&env).await;
    }
    assert!(env.call("bad.ts", "text").await.is_err());
    assert_others_run(&env).await;
}

#[tokio::test]
async fn a_deep_recursion_throws() {
    let source = "export function down(): number { return 1 + down(); }";
    let env = EngineEnv::with_limits(&[GOOD, ("bad.ts", source)], short_limits());
    let Err(EngineError::Exception(thrown)) = env.call("bad.ts", "down").await else {
        panic!("expected an exception");
    };
    assert!(thrown.message.contains("stack"), "{thrown:?}");
    assert_others_run(&env).await;
}

#[tokio::test]
async fn an_exception_in_a_timer_is_reported_with_its_extension() {
    let mut env = EngineEnv::with_limits(
        &[
            GOOD,
            (
                "bad.ts",
                "\nsetTimeout(() => { throw new TypeError('late'); }, 1);\n",
            ),
        ],
        short_limits(),
    );
    env.load("bad.ts").await.unwrap();
    let fault = env.faults.recv().await.unwrap();
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::Uncaught, "TypeError: late")
    );
    assert_eq!(fault.extension, Some(env.path("bad.ts")));
    assert!(fault.stack.unwrap().contains("bad.ts:2:"));
    assert_others_run(&env).await;
}

#[tokio::test]
async fn an_endless_loop_in_a_timer_is_reported() {
    let mut env = EngineEnv::with_limits(
        &[GOOD, ("bad.ts", "setTimeout(() => { for (;;) {} }, 1);")],
        short_limits(),
    );
    env.load("bad.ts").await.unwrap();
    let fault = env.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Runaway);
    assert_eq!(fault.extension, Some(env.path("bad.ts")));
    assert_others_run(&env).await;
}

#[tokio::test]
async fn an_unhandled_rejection_is_reported_once() {
    let mut env = EngineEnv::with_limits(
        &[
            GOOD,
            (
                "bad.ts",
                "Promise.reject(new Error('unhandled'));\n\
                 const late = Promise.reject(new Error('handled later'));\n\
                 late.catch(() => {});\n\
                 setTimeout(() => { Promise.reject('text'); }, 1);",
            ),
        ],
        short_limits(),
    );
    env.load("bad.ts").await.unwrap();
    let first = env.faults.recv().await.unwrap();
    assert_eq!(
        (first.kind, first.message.as_str()),
        (FaultKind::UnhandledRejection, "unhandled")
    );
    assert_eq!(first.extension, Some(env.path("bad.ts")));
    let second = env.faults.recv().await.unwrap();
    assert_eq!(second.message, "text");
    assert_others_run(&env).await;
    assert!(env.faults.try_recv().is_err());
}

#[tokio::test]
async fn a_flood_of_promise_jobs_does_not_block_others() {
    let mut env = EngineEnv::with_limits(
        &[
            GOOD,
            (
                "bad.ts",
                "function flood() { Promise.resolve().then(flood); }\nflood();",
            ),
        ],
        short_limits(),
    );
    env.load("good.ts").await.unwrap();
    let load = env.load("bad.ts").await;
    assert!(load.is_ok(), "{load:?}");
    assert_eq!(env.faults.recv().await.unwrap().kind, FaultKind::JobFlood);
    assert_others_run(&env).await;
}

#[tokio::test]
async fn a_thread_blocked_in_native_code_is_replaced() {
    let source = "export const stick = () => 'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b');";
    let limits = EngineLimits {
        grace: Duration::from_millis(800),
        ..short_limits()
    };
    let env = EngineEnv::with_limits(&[GOOD, ("bad.ts", source)], limits);
    env.load("good.ts").await.unwrap();
    let error = env.call("bad.ts", "stick").await.unwrap_err();
    assert_eq!(error, EngineError::Stuck);
    env.engine.replace();
    assert_others_run(&env).await;
}

#[tokio::test]
async fn waiting_for_a_child_does_not_use_the_slice() {
    let source = "import { execSync } from 'node:child_process';\n\
        export const run = () => execSync('sleep 0.6; echo done').toString();";
    let env = EngineEnv::with_limits(&[("a.ts", source)], short_limits());
    assert_eq!(env.call("a.ts", "run").await.unwrap(), json!("done\n"));
}
