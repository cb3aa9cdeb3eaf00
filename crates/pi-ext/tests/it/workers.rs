//! `Worker` of `node:worker_threads` and contexts of `node:vm`.

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::{EngineEnv, evaluate};

/// Functions for the tests: a worker from source, and the results of its events.
const HELPERS: &str = "const { Worker } = await import('node:worker_threads');\n\
    const start = (source, workerData) => new Worker(source, { eval: true, workerData });\n\
    const once = (worker, name) => new Promise((resolve) => worker.once(name, resolve));\n";

async fn with_workers(body: &str) -> serde_json::Value {
    evaluate(&format!("{HELPERS}{body}")).await
}

#[tokio::test]
async fn a_worker_answers_messages_until_it_is_terminated() {
    let value = with_workers(
        "const { isMainThread, parentPort, workerData, threadId } = await import('node:worker_threads');\n\
         const worker = start(`const { isMainThread, parentPort, workerData, threadId } = require('node:worker_threads');\n\
           parentPort.on('message', (n) => parentPort.postMessage([n * workerData.factor, isMainThread, threadId > 0]));`, { factor: 7 });\n\
         const answers = [];\n\
         for (const n of [1, 2]) { const answer = once(worker, 'message'); worker.postMessage(n); answers.push(await answer); }\n\
         const exit = once(worker, 'exit');\n\
         return [answers, isMainThread, parentPort, workerData, threadId, await worker.terminate(), await exit];",
    )
    .await;
    let answers = json!([[7, false, true], [14, false, true]]);
    assert_eq!(value, json!([answers, true, null, null, 0, 1, 1]));
}

#[tokio::test]
async fn a_worker_has_its_own_globals_and_runs_in_parallel() {
    let value = with_workers(
        "globalThis.shared = 1;\n\
         const busy = start(`while (true) {}`);\n\
         const other = start(`require('node:worker_threads').parentPort.postMessage(typeof globalThis.shared)`);\n\
         const answer = await once(other, 'message');\n\
         return [answer, await once(other, 'exit'), await busy.terminate()];",
    )
    .await;
    assert_eq!(value, json!(["undefined", 0, 1]));
}

#[tokio::test]
async fn a_worker_ends_when_nothing_keeps_it_running() {
    let value = with_workers(
        "const worker = start(`const { parentPort } = require('node:worker_threads');\n\
           parentPort.once('message', (text) => setTimeout(() => parentPort.postMessage('late ' + text), 1));`);\n\
         const [answer, exit] = [once(worker, 'message'), once(worker, 'exit')];\n\
         worker.postMessage('answer');\n\
         return [await answer, await exit];",
    )
    .await;
    assert_eq!(value, json!(["late answer", 0]));
}

#[tokio::test]
async fn failures_of_a_worker_are_events() {
    let value = with_workers(
        "const results = [];\n\
         for (const source of ['throw new TypeError(\"at once\")', 'setTimeout(() => { throw new Error(\"later\"); }, 1)', 'Promise.reject(new Error(\"rejected\"))', 'syntax error']) {\n\
           const worker = start(source);\n\
           const [error, exit] = [once(worker, 'error'), once(worker, 'exit')];\n\
           results.push([(await error) instanceof Error, String((await error).message), await exit]);\n\
         }\n\
         return results;",
    )
    .await;
    let [at_once, later, rejected, syntax] = value.as_array().unwrap().as_slice() else {
        panic!("{value}");
    };
    assert_eq!(*at_once, json!([true, "at once", 1]));
    assert_eq!(*later, json!([true, "later", 1]));
    assert_eq!(*rejected, json!([true, "rejected", 1]));
    assert_eq!((&syntax[0], &syntax[2]), (&json!(true), &json!(1)));
}

#[tokio::test]
async fn messages_are_copies_of_what_was_sent() {
    let value = with_workers(
        "const worker = start(`const { parentPort } = require('node:worker_threads'); parentPort.on('message', (value) => parentPort.postMessage(value));`);\n\
         const cycle = { name: 'cycle' }; cycle.self = cycle;\n\
         const sent = { cycle, map: new Map([['a', new Set([1n])]]), date: new Date(7), bytes: new Uint8Array([1, 2]), none: undefined, nan: NaN, zero: -0,\n\
           pattern: /x/gi, error: new RangeError('far', { cause: 'why' }), sparse: [1, , 3], text: '\\u{1F600}' };\n\
         const answer = once(worker, 'message'); worker.postMessage(sent); const got = await answer;\n\
         let refused; try { worker.postMessage({ f() {} }); } catch (error) { refused = error.name; }\n\
         await worker.terminate();\n\
         return [got.cycle.self === got.cycle, got.cycle !== cycle, [...got.map.get('a')].map(String), got.date.getTime(), [...got.bytes], got.bytes.constructor.name,\n\
           'none' in got && got.none === undefined, Number.isNaN(got.nan), Object.is(got.zero, -0), String(got.pattern),\n\
           got.error instanceof RangeError, got.error.message, got.error.cause, 1 in got.sparse, got.sparse.length, got.text, refused];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            true,
            true,
            ["1"],
            7,
            [1, 2],
            "Uint8Array",
            true,
            true,
            true,
            "/x/gi",
            true,
            "far",
            "why",
            false,
            3,
            "\u{1F600}",
            "DataCloneError"
        ])
    );
}

#[tokio::test]
async fn a_worker_runs_a_module_file() {
    let worker = "import { parentPort, workerData } from 'node:worker_threads';\n\
        import { twice } from './twice.ts';\n\
        const value: number = workerData;\n\
        parentPort!.postMessage([twice(value), process.env.ONLY_HERE]);\n";
    let main = "import { Worker } from 'node:worker_threads';\n\
        export function run() {\n\
          const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: 21, env: { ONLY_HERE: 'yes' } });\n\
          return new Promise((resolve, reject) => { worker.on('message', resolve); worker.on('error', reject); });\n\
        }\n";
    let twice = "export const twice = (n: number) => 2 * n;\n";
    let env = EngineEnv::new(&[
        ("main.ts", main),
        ("worker.ts", worker),
        ("twice.ts", twice),
    ]);
    let value = env.call("main.ts", "run").await.unwrap();
    assert_eq!(value, json!([42, "yes"]));
}

#[tokio::test]
async fn workers_end_with_the_engine() {
    let main = "import { Worker } from 'node:worker_threads';\n\
        export async function run() {\n\
          const worker = new Worker('require(\"node:worker_threads\").parentPort.on(\"message\", () => {}); console.log(\"ready\")', { eval: true });\n\
          await new Promise((resolve) => worker.on('online', resolve));\n\
        }\n";
    let env = EngineEnv::new(&[("main.ts", main)]);
    env.call("main.ts", "run").await.unwrap();
    env.engine.shutdown().await.unwrap();
}

#[tokio::test]
async fn contexts_have_the_properties_of_their_sandbox_as_globals() {
    let value = evaluate(
        "const vm = await import('node:vm');\n\
         const sandbox: any = { n: 2, log: [], Promise: 'replaced' }; const context = vm.createContext(sandbox);\n\
         const first = vm.runInContext('n += 1; var made = n * 10; implicit = 5; log.push(typeof process, typeof n, Promise); made', context);\n\
         const later = await vm.runInContext('(async () => { n = 9; return made + implicit; })()', context);\n\
         const failure = (() => { try { new vm.Script('}'); } catch (error) { return error.name; } })();\n\
         const unknown = (() => { try { vm.runInContext('nosuch', context); } catch (error) { return error.name; } })();\n\
         const unknownContext = (() => { try { vm.runInContext('1', {}); } catch (error) { return error.code; } })();\n\
         vm.runInContext('Object.prototype.polluted = true', context);\n\
         return [first, sandbox.made, sandbox.implicit, sandbox.log, later, sandbox.n, vm.isContext(context), vm.isContext({}), vm.runInNewContext('a + b', { a: 1, b: 2 }),\n\
           failure, unknown, unknownContext, vm.runInContext('Object', context) !== Object, ({} as any).polluted === undefined, vm.compileFunction('return a + 1', ['a'])(1), typeof (globalThis as any).implicit];",
    )
    .await;
    assert_eq!(
        value,
        json!([
            30,
            30,
            5,
            ["undefined", "number", "replaced"],
            35,
            9,
            true,
            false,
            3,
            "SyntaxError",
            "ReferenceError",
            "ERR_INVALID_ARG_TYPE",
            true,
            true,
            2,
            "undefined"
        ])
    );
}

#[tokio::test]
async fn contexts_are_freed() {
    let env = EngineEnv::new(&[(
        "main.ts",
        "import vm from 'node:vm';\n\
         export function run() { for (let i = 0; i < 200; i++) vm.runInNewContext('x = [1, 2, 3]', {}); }\n",
    )]);
    env.call("main.ts", "run").await.unwrap();
    let once = env.engine.memory_used().await.unwrap();
    env.call("main.ts", "run").await.unwrap();
    env.call("main.ts", "run").await.unwrap();
    let thrice = env.engine.memory_used().await.unwrap();
    assert!(thrice < once + 8 * 1024 * 1024, "{once} {thrice}");
}
