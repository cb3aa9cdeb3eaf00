//! Module loading: ES modules, CommonJS, JSON, packages and builtins.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::EngineEnv;

async fn run(files: &[(&str, &str)]) -> Value {
    let env = EngineEnv::new(files);
    match env.call("main.ts", "run").await {
        Ok(value) => value,
        Err(error) => panic!("{error:#?}"),
    }
}

#[tokio::test]
async fn all_file_types_can_be_imported() {
    let value = run(&[
        (
            "one.ts",
            "export const one: number = 1; export default class One {}",
        ),
        ("two.js", "export const two = 2;"),
        ("three.mjs", "export const three = 3;"),
        ("four.mts", "export const four: number = 4;"),
        ("data.json", r#"{ "five": 5 }"#),
        ("dir/index.ts", "export * from '../one.js';"),
        (
            "main.ts",
            "import One, { one } from './one';\nimport { two } from './two.js';\n\
             import { three } from './three.mjs';\nimport { four } from './four.mjs';\n\
             import data from './data.json' with { type: 'json' };\nimport * as all from './dir';\n\
             const { six } = await import('./six.ts');\n\
             export const run = () => [one, two, three, four, data.five, six, all.one, One.name];",
        ),
        ("six.ts", "export const six = await Promise.resolve(6);"),
    ])
    .await;
    assert_eq!(value, json!([1, 2, 3, 4, 5, 6, 1, "One"]));
}

#[tokio::test]
async fn commonjs_and_es_modules_interoperate() {
    let value = run(&[
        ("node_modules/plain/package.json", r#"{"name":"plain","main":"index.js"}"#),
        ("node_modules/plain/index.js", "exports.a = 1; exports.b = function () { return this === undefined ? 's' : 'm'; };"),
        ("node_modules/whole/index.js", "module.exports = class Whole { static x = 1 }; module.exports.named = 2;"),
        (
            "node_modules/compiled/index.js",
            "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = ['default'];\n\
             __exportStar(require('./more'), exports);\n\
             function __exportStar(from, to) { for (const k in from) to[k] = from[k]; }",
        ),
        ("node_modules/compiled/more.js", "exports.more = __filename.endsWith('more.js') && __dirname.endsWith('compiled');"),
        ("node_modules/dynamic/index.js", "const e = {}; e['hid' + 'den'] = 42; module.exports = e;"),
        ("node_modules/cycle/index.js", "exports.early = 1; exports.other = require('./other').value;"),
        ("node_modules/cycle/other.js", "exports.value = require('./index').early + 1;"),
        ("node_modules/esm/package.json", r#"{"type":"module","exports":"./main.js"}"#),
        ("node_modules/esm/main.js", "export const kind = 'esm'; export default 5;"),
        (
            "legacy.cjs",
            "const esm = require('esm'); const fs = require('fs'); const data = require('./data.json');\n\
             module.exports = { kind: esm.kind, d: esm.default, fs: typeof fs.readFileSync, n: data.n, same: require('./data.json') === data };",
        ),
        ("data.json", r#"{"n":7}"#),
        (
            "main.ts",
            "import plain, { a, b } from 'plain';\nimport Whole, { named } from 'whole';\n\
             import compiled, { more } from 'compiled';\nimport { hidden } from 'dynamic';\n\
             import { other } from 'cycle';\nimport legacy from './legacy.cjs';\n\
             export const run = () => [a, plain.a, b(), Whole.x, named, compiled, more, hidden, other, legacy];",
        ),
    ])
    .await;
    assert_eq!(
        value,
        json!([1, 1, "m", 1, 2, ["default"], true, 42, 2,
            { "kind": "esm", "d": 5, "fs": "function", "n": 7, "same": true }])
    );
}

#[tokio::test]
async fn cyclic_reexports_are_resolved_once() {
    // Every file re-exports all files, so the number of paths through them is exponential.
    let count = 24;
    let all: Vec<String> = (0..count)
        .map(|number| format!("__exportStar(require('./f{number}'), exports);"))
        .collect();
    let all = all.concat();
    let mut files = vec![
        ("node_modules/all/package.json".to_owned(), r#"{"main":"f0.js"}"#.to_owned()),
        (
            "main.ts".to_owned(),
            "import * as all from 'all';\nexport const run = () => [all.n0, all.n23, Object.keys(all).length];".to_owned(),
        ),
    ];
    files.extend((0..count).map(|number| {
        let source = format!(
            "exports.n{number} = {number};\n{all}\n\
             function __exportStar(from, to) {{ Object.assign(to, from); }}"
        );
        (format!("node_modules/all/f{number}.js"), source)
    }));
    let files = files
        .iter()
        .map(|(name, source)| (name.as_str(), source.as_str()));
    let files: Vec<(&str, &str)> = files.collect();
    // All names and the default export.
    assert_eq!(run(&files).await, json!([0, 23, count + 1]));
}

#[tokio::test]
async fn modules_have_their_location() {
    let files = [
        ("lib/helper.cjs", "module.exports = 'helped';"),
        (
            "main.ts",
            "import { createRequire } from 'node:module';\nimport { fileURLToPath } from 'node:url';\n\
             import * as path from 'node:path';\n\
             export function run() {\n  const own = createRequire(import.meta.url);\n  return [\n\
               fileURLToPath(import.meta.url) === import.meta.filename,\n\
               import.meta.dirname === path.dirname(import.meta.filename),\n\
               __dirname === import.meta.dirname && __filename === import.meta.filename,\n\
               own('./lib/helper.cjs'), require('./lib/helper.cjs'), require.resolve('./lib/helper.cjs').endsWith('helper.cjs'),\n\
               import.meta.resolve('./lib/helper.cjs').startsWith('file:///'),\n  ];\n}",
        ),
    ];
    assert_eq!(
        run(&files).await,
        json!([true, true, true, "helped", "helped", true, true])
    );
}

#[tokio::test]
async fn missing_features_throw_when_used() {
    let value = run(&[(
        "main.ts",
        "import { isMainThread } from 'node:worker_threads';\nimport cluster from 'cluster';\n\
         import { X509Certificate, createHash } from 'node:crypto';\n\
         const attempt = (f: () => unknown) => { try { return f(); } catch (e: any) { return e.message; } };\n\
         export const run = () => [attempt(() => cluster.fork()),\n\
           attempt(() => new X509Certificate('')), createHash('sha1').update('').digest('hex').slice(0, 8),\n\
           isMainThread, attempt(() => require('inspector').open())];",
    )])
    .await;
    let unavailable = |name: &str| format!("{name} is not available to extensions");
    assert_eq!(
        value,
        json!([
            unavailable("node:cluster.fork"),
            unavailable("node:crypto.X509Certificate"),
            "da39a3ee",
            true,
            unavailable("node:inspector.open"),
        ])
    );
}

#[tokio::test]
async fn a_missing_package_error_includes_a_hint() {
    let env = EngineEnv::new(&[("main.ts", "import x from 'not-installed';\nx();")]);
    let error = env.load("main.ts").await.unwrap_err().to_string();
    assert!(
        error.contains("Cannot find package 'not-installed'"),
        "{error}"
    );
    assert!(error.contains("npm install"), "{error}");
}

#[tokio::test]
async fn a_missing_export_is_undefined() {
    let env = EngineEnv::new(&[
        ("lib.ts", "export const here = 1;"),
        ("bad.ts", "import { gone } from './lib';\ngone();"),
        (
            "good.ts",
            "import { here } from './lib';\nexport const f = () => here;",
        ),
    ]);
    let error = env.load("bad.ts").await.unwrap_err().to_string();
    assert!(error.contains("not a function"), "{error}");
    assert_eq!(env.call("good.ts", "f").await.unwrap(), json!(1));
    assert!(env.load("bad.ts").await.is_err());
}

#[tokio::test]
async fn virtual_modules_take_precedence_over_packages() {
    let env = EngineEnv::with_options(
        &[
            ("node_modules/typebox/index.js", "exports.who = 'package';"),
            (
                "main.ts",
                "import { who } from 'typebox';\nexport const run = () => who;",
            ),
        ],
        |options| options.with_virtual_module("typebox", "export const who = 'virtual';"),
    );
    assert_eq!(env.call("main.ts", "run").await.unwrap(), json!("virtual"));
}

#[tokio::test]
async fn a_cycle_through_require_is_an_error() {
    let env = EngineEnv::new(&[
        ("good.ts", "export const f = () => 1;"),
        ("main.ts", "import './mid.cjs';\nexport const x = 1;"),
        ("mid.cjs", "require('./back.mjs');"),
        (
            "back.mjs",
            "import { x } from './main.ts';\nexport const y = () => x;",
        ),
        (
            "direct.ts",
            "const b = require('./direct-back.mjs');\nexport const x = b;",
        ),
        ("direct-back.mjs", "import './direct.ts';"),
    ]);
    for name in ["direct.ts", "main.ts"] {
        let error = env.load(name).await.unwrap_err().to_string();
        assert!(error.contains("still running"), "{name}: {error}");
    }
    assert_eq!(env.call("good.ts", "f").await.unwrap(), json!(1));
}

#[tokio::test]
async fn the_cache_recovers_from_corruption() {
    let cache = tempfile::tempdir().unwrap();
    let source = "type A = string;\nexport const run = (): A => 'cached';";
    for round in 0..3 {
        let env = EngineEnv::with_options(&[("main.ts", source)], |options| {
            options.with_cache(pi_ext::SourceCache::new(cache.path()))
        });
        assert_eq!(env.call("main.ts", "run").await.unwrap(), json!("cached"));
        let entries: Vec<_> = std::fs::read_dir(cache.path()).unwrap().collect();
        assert_eq!(entries.len(), 1, "round {round}");
        if round == 1 {
            crate::support::write(&entries[0].as_ref().unwrap().path(), "damaged");
        }
    }
}

#[tokio::test]
async fn native_addons_are_rejected() {
    let env = EngineEnv::new(&[
        ("imports.ts", "import addon from './addon.node';\naddon();"),
        ("requires.cjs", "require('./addon.node');"),
    ]);
    crate::support::write(&env.root.join("addon.node"), b"\x7fELF\xff\xfe");
    for name in ["imports.ts", "requires.cjs"] {
        let error = env.load(name).await.unwrap_err().to_string();
        let expected = format!("{} is a native Node addon", env.path("addon.node"));
        assert!(error.contains(&expected), "{name}: {error}");
    }
}
