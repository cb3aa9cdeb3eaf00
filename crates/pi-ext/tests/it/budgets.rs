//! What a bad extension does, and that the others go on.

use std::time::Duration;

use pi_ext::{Budgets, CallOptions, EngineError, FaultKind};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::World;

const GOOD: (&str, &str) = ("good.ts", "export const ok = () => 'fine';");

/// Little time to compute, but patience with a thread that no processor has time for.
fn short() -> Budgets {
    Budgets {
        slice: Duration::from_millis(200),
        grace: Duration::from_secs(30),
        memory: 64 * 1024 * 1024,
        ..Budgets::default()
    }
}

async fn others_go_on(world: &World) {
    assert_eq!(world.call("good.ts", "ok").await.unwrap(), json!("fine"));
}

#[tokio::test]
async fn an_endless_loop_is_stopped() {
    let world = World::with_budgets(
        &[
            GOOD,
            (
                "bad.ts",
                "export function spin() { try { for (;;) {} } catch { return 'caught'; } }",
            ),
        ],
        short(),
    );
    let error = world.call("bad.ts", "spin").await.unwrap_err();
    assert_eq!(error, EngineError::Runaway(Duration::from_millis(200)));
    others_go_on(&world).await;
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
    let world = World::with_budgets(&files, short());
    for name in ["script.ts", "module.ts"] {
        let error = world.load(name).await.unwrap_err();
        assert!(
            matches!(error, EngineError::Runaway(_)),
            "{name}: {error:?}"
        );
        others_go_on(&world).await;
    }
    for name in ["script.ts", "module.ts", "user.ts"] {
        let options = CallOptions::default().within(Duration::from_secs(2));
        let again = world
            .engine
            .call(&world.path(name), "y", Vec::new(), options)
            .await;
        assert!(again.is_err(), "{name}: {again:?}");
    }
    others_go_on(&world).await;
}

#[tokio::test]
async fn an_endless_loop_after_an_await_fails_the_call() {
    let mut world = World::with_budgets(
        &[
            GOOD,
            (
                "bad.ts",
                "export async function spin() { await null; for (;;) {} }",
            ),
        ],
        short(),
    );
    let error = world.call("bad.ts", "spin").await.unwrap_err();
    assert!(matches!(error, EngineError::Runaway(_)), "{error:?}");
    let fault = world.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Runaway);
    assert_eq!(fault.extension, Some(world.path("bad.ts")));
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_slow_regular_expression_is_stopped() {
    let source = "export const match = () => /^(a+)+$/.test('a'.repeat(40) + 'b');";
    let world = World::with_budgets(&[GOOD, ("bad.ts", source)], short());
    let error = world.call("bad.ts", "match").await.unwrap_err();
    assert!(matches!(error, EngineError::Runaway(_)), "{error:?}");
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_promise_that_never_settles_is_given_up() {
    let budgets = Budgets {
        call: Some(Duration::from_millis(100)),
        ..short()
    };
    let world = World::with_budgets(
        &[
            GOOD,
            ("bad.ts", "export const hang = () => new Promise(() => {});"),
        ],
        budgets,
    );
    let error = world.call("bad.ts", "hang").await.unwrap_err();
    assert_eq!(error, EngineError::TimedOut(Duration::from_millis(100)));
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_gigabyte_is_refused() {
    let source = "export const bytes = () => new Uint8Array(1024 * 1024 * 1024).length;\n\
        export function text() { let s = 'x'; for (;;) s += s + 'y'; }\n\
        export function list() { const all = []; for (;;) all.push(new Array(1000).fill({})); }";
    let world = World::with_budgets(
        &[GOOD, ("bad.ts", source)],
        Budgets {
            slice: Duration::from_secs(20),
            ..short()
        },
    );
    for export in ["bytes", "list"] {
        let error = world.call("bad.ts", export).await.unwrap_err();
        assert_eq!(error, EngineError::OutOfMemory(64), "{export}");
        others_go_on(&world).await;
    }
    assert!(world.call("bad.ts", "text").await.is_err());
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_deep_recursion_throws() {
    let source = "export function down(): number { return 1 + down(); }";
    let world = World::with_budgets(&[GOOD, ("bad.ts", source)], short());
    let Err(EngineError::Thrown(thrown)) = world.call("bad.ts", "down").await else {
        panic!("it must throw");
    };
    assert!(thrown.message.contains("stack"), "{thrown:?}");
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_throw_in_a_timer_is_reported_with_the_extension() {
    let mut world = World::with_budgets(
        &[
            GOOD,
            (
                "bad.ts",
                "\nsetTimeout(() => { throw new TypeError('late'); }, 1);\n",
            ),
        ],
        short(),
    );
    world.load("bad.ts").await.unwrap();
    let fault = world.faults.recv().await.unwrap();
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::Uncaught, "TypeError: late")
    );
    assert_eq!(fault.extension, Some(world.path("bad.ts")));
    assert!(fault.stack.unwrap().contains("bad.ts:2:"));
    others_go_on(&world).await;
}

#[tokio::test]
async fn an_endless_loop_in_a_timer_is_reported() {
    let mut world = World::with_budgets(
        &[GOOD, ("bad.ts", "setTimeout(() => { for (;;) {} }, 1);")],
        short(),
    );
    world.load("bad.ts").await.unwrap();
    let fault = world.faults.recv().await.unwrap();
    assert_eq!(fault.kind, FaultKind::Runaway);
    assert_eq!(fault.extension, Some(world.path("bad.ts")));
    others_go_on(&world).await;
}

#[tokio::test]
async fn an_unhandled_rejection_is_reported_once() {
    let mut world = World::with_budgets(
        &[
            GOOD,
            (
                "bad.ts",
                "Promise.reject(new Error('nobody looks'));\n\
                 const late = Promise.reject(new Error('somebody looks'));\n\
                 late.catch(() => {});\n\
                 setTimeout(() => { Promise.reject('text'); }, 1);",
            ),
        ],
        short(),
    );
    world.load("bad.ts").await.unwrap();
    let first = world.faults.recv().await.unwrap();
    assert_eq!(
        (first.kind, first.message.as_str()),
        (FaultKind::UnhandledRejection, "nobody looks")
    );
    assert_eq!(first.extension, Some(world.path("bad.ts")));
    let second = world.faults.recv().await.unwrap();
    assert_eq!(second.message, "text");
    others_go_on(&world).await;
    assert!(world.faults.try_recv().is_err());
}

#[tokio::test]
async fn a_flood_of_jobs_lets_the_others_in() {
    let mut world = World::with_budgets(
        &[
            GOOD,
            (
                "bad.ts",
                "function flood() { Promise.resolve().then(flood); }\nflood();",
            ),
        ],
        short(),
    );
    world.load("good.ts").await.unwrap();
    let load = world.load("bad.ts").await;
    assert!(load.is_ok(), "{load:?}");
    assert_eq!(world.faults.recv().await.unwrap().kind, FaultKind::JobFlood);
    others_go_on(&world).await;
}

#[tokio::test]
async fn a_thread_stuck_in_native_code_is_replaced() {
    let source = "export const stick = () => 'a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b');";
    let budgets = Budgets {
        grace: Duration::from_millis(800),
        ..short()
    };
    let world = World::with_budgets(&[GOOD, ("bad.ts", source)], budgets);
    world.load("good.ts").await.unwrap();
    let error = world.call("bad.ts", "stick").await.unwrap_err();
    assert_eq!(error, EngineError::Stuck);
    world.engine.replace();
    others_go_on(&world).await;
}

#[tokio::test]
async fn waiting_for_a_child_does_not_count() {
    let source = "import { execSync } from 'node:child_process';\n\
        export const run = () => execSync('sleep 0.6; echo done').toString();";
    let world = World::with_budgets(&[("a.ts", source)], short());
    assert_eq!(world.call("a.ts", "run").await.unwrap(), json!("done\n"));
}
