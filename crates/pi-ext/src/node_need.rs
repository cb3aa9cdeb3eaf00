//! Finds what an extension uses that only Node provides, without running it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::cache::SourceCache;
use crate::host_modules::virtual_module_names;
use crate::resolver::{ImportKind, ModuleResolver, ResolvedModule, builtin_name};
use crate::typescript::PreparedSource;

/// Files to look at; larger extensions are decided by the rest.
const MAX_FILES: usize = 3000;

/// Exports of builtin modules that need Node, or that the embedded engine has only in part: it runs them without Node.
/// Without names, every import does.
const NODE_ONLY: [(&str, &[&str]); 10] = [
    ("worker_threads", &["Worker"]),
    ("child_process", &["fork"]),
    (
        "vm",
        &[
            "createContext",
            "runInContext",
            "runInNewContext",
            "SourceTextModule",
        ],
    ),
    ("sqlite", &[]),
    ("http2", &["connect", "createServer", "createSecureServer"]),
    ("dgram", &[]),
    ("cluster", &[]),
    ("inspector", &["Session"]),
    ("wasi", &[]),
    ("repl", &[]),
];

/// Packages that load native addons.
const NATIVE_LOADERS: [&str; 4] = [
    "bindings",
    "node-gyp-build",
    "node-pre-gyp",
    "@mapbox/node-pre-gyp",
];

/// Text of code that runs WebAssembly.
const WEBASSEMBLY: [&str; 4] = [
    "WebAssembly.instantiate",
    "WebAssembly.compile",
    "new WebAssembly.Module",
    "new WebAssembly.Instance",
];

/// Returns the first thing an extension uses that needs Node, as a phrase. Blocks; runs no code.
pub fn find(cache: &SourceCache, path: &Path) -> Option<String> {
    let resolver = ModuleResolver::new(virtual_module_names());
    let start = path.to_string_lossy();
    let ResolvedModule::File(start) = resolver.resolve(&start, &start, ImportKind::Import).ok()?
    else {
        return None;
    };
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut pending = vec![start];
    while let Some(path) = pending.pop() {
        if seen.len() >= MAX_FILES || !seen.insert(path.clone()) {
            continue;
        }
        if path
            .extension()
            .is_some_and(|extension| extension == "node")
        {
            return Some("a native addon".to_owned());
        }
        let Ok(source) = std::fs::read_to_string(&path) else {
            continue;
        };
        if WEBASSEMBLY.iter().any(|text| source.contains(text)) {
            return Some("WebAssembly".to_owned());
        }
        if has_extra_pipes(&source) {
            return Some("extra pipes of a child process".to_owned());
        }
        let Ok(prepared) = cache.prepare(&path, &source, resolver.preferred_format(&path)) else {
            continue;
        };
        if let Some(need) = need_of(&prepared, &source) {
            return Some(need);
        }
        let importer = path.to_string_lossy();
        let at_start = prepared
            .imports
            .iter()
            .map(|(name, _)| (name.as_str(), ImportKind::Import));
        let later = later_imports(&source);
        if let Some(need) = later.iter().find_map(|call| need_of_call(call, &source)) {
            return Some(need);
        }
        let later = later.iter().map(|call| (call.name, call.kind));
        for (specifier, kind) in at_start.chain(later) {
            let target = resolver.resolve(specifier, &importer, kind);
            if let Ok(ResolvedModule::File(target)) = target {
                pending.push(target);
            }
        }
    }
    None
}

/// Returns whether code lists more than the three usual streams of a child process.
fn has_extra_pipes(source: &str) -> bool {
    source.match_indices("stdio").any(|(start, word)| {
        let rest = source.get(start + word.len()..).unwrap_or_default();
        let list = rest.trim_start().strip_prefix(':');
        let list = list.and_then(|rest| rest.trim_start().strip_prefix('['));
        let list = list.and_then(|rest| rest.split_once(']'));
        list.is_some_and(|(list, _)| {
            let streams = list.split(',').filter(|it| !it.trim().is_empty());
            !list.contains('[') && streams.count() > 3
        })
    })
}

/// A call that loads a module by a literal name.
struct LoadCall<'a> {
    name: &'a str,
    kind: ImportKind,
    /// The statement up to the call.
    before: &'a str,
    /// The rest of the file.
    after: &'a str,
}

/// Returns the modules that calls load by a literal name.
fn later_imports(source: &str) -> Vec<LoadCall<'_>> {
    let calls = [
        ("import(", ImportKind::Import),
        ("require(", ImportKind::Require),
        ("getBuiltinModule(", ImportKind::Require),
    ];
    let calls = calls.iter().flat_map(|(call, kind)| {
        source.match_indices(call).filter_map(move |(start, _)| {
            let argument = source.get(start + call.len()..)?.trim_start();
            let quote = argument.chars().next()?;
            let is_literal = matches!(quote, '"' | '\'' | '`');
            let (name, after) = argument
                .get(1..)
                .filter(|_| is_literal)?
                .split_once(quote)?;
            let before = source.get(..start)?;
            let statement = before.rfind(';').map_or(0, |end| end + 1);
            Some(LoadCall {
                name,
                kind: *kind,
                before: before.get(statement..)?,
                after,
            })
        })
    });
    calls.collect()
}

/// Returns the exports of a builtin module that need Node; empty if all do.
fn node_only(specifier: &str) -> Option<(&'static str, &'static [&'static str])> {
    let name = builtin_name(specifier)?;
    let name = name.strip_prefix("node:").unwrap_or(&name);
    NODE_ONLY
        .iter()
        .find(|(module, _)| *module == name)
        .copied()
}

/// Returns what the module that a call loads needs.
fn need_of_call(call: &LoadCall<'_>, source: &str) -> Option<String> {
    if NATIVE_LOADERS.contains(&call.name) {
        return Some("a native addon".to_owned());
    }
    let (module, members) = node_only(call.name)?;
    if members.is_empty() {
        return Some(format!("node:{module}"));
    }
    let taken = call
        .before
        .rsplit_once('{')
        .filter(|_| call.before.trim_end().ends_with('='));
    let taken = taken.map_or("", |(_, names)| names);
    let is_used = |member: &&&str| {
        let mut words = taken.split(|it: char| !it.is_alphanumeric() && it != '_');
        let direct = call.after.trim_start().strip_prefix(')');
        let direct = direct.and_then(|after| after.strip_prefix('.'));
        words.any(|word| word == **member)
            || direct.is_some_and(|after| after.starts_with(**member))
            || source.contains(&format!(".{member}("))
    };
    let member = members.iter().find(is_used)?;
    Some(format!("`{member}` of node:{module}"))
}

/// Returns what the imports of one file need.
fn need_of(prepared: &PreparedSource, source: &str) -> Option<String> {
    prepared.imports.iter().find_map(|(specifier, names)| {
        if NATIVE_LOADERS.contains(&specifier.as_str()) {
            return Some("a native addon".to_owned());
        }
        let (module, members) = node_only(specifier)?;
        if members.is_empty() {
            return Some(format!("node:{module}"));
        }
        let is_used = |member: &&&str| {
            let is_named = names.iter().any(|name| name == **member);
            let is_whole = names
                .iter()
                .any(|name| matches!(name.as_str(), "*" | "default"));
            is_named || (is_whole && source.contains(&format!(".{member}(")))
        };
        let member = members.iter().find(is_used)?;
        Some(format!("`{member}` of node:{module}"))
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn needs_are_found_in_the_import_graph() {
        let rows = [
            (
                "import { Worker } from 'node:worker_threads'; new Worker('x');",
                Some("`Worker` of node:worker_threads"),
            ),
            (
                "import { isMainThread } from 'worker_threads'; isMainThread;",
                None,
            ),
            (
                "import * as child from 'child_process'; child.fork('x');",
                Some("`fork` of node:child_process"),
            ),
            (
                "import * as child from 'child_process'; child.spawn('x');",
                None,
            ),
            (
                "import { DatabaseSync } from 'node:sqlite'; new DatabaseSync('x');",
                Some("node:sqlite"),
            ),
            (
                "import vm from 'node:vm'; vm.createContext({});",
                Some("`createContext` of node:vm"),
            ),
            (
                "export const run = () => WebAssembly.instantiate(bytes);",
                Some("WebAssembly"),
            ),
            (
                "import load from 'bindings'; load('x');",
                Some("a native addon"),
            ),
            (
                "import { readFileSync } from 'node:fs'; readFileSync('x');",
                None,
            ),
            (
                "const load = createRequire(import.meta.url); new (_require('node:sqlite').DatabaseSync)('x');",
                Some("node:sqlite"),
            ),
            (
                "const open = require('bindings'); open('x');",
                Some("a native addon"),
            ),
            (
                "const { isMainThread, Worker } = require('worker_threads');",
                Some("`Worker` of node:worker_threads"),
            ),
            ("const { isMainThread } = require('worker_threads');", None),
            (
                "const start = require('child_process').fork;",
                Some("`fork` of node:child_process"),
            ),
            (
                "spawn('x', { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });",
                Some("extra pipes of a child process"),
            ),
            ("spawn('x', { stdio: ['ignore', 'pipe', 'pipe',] });", None),
            (
                "const run = () => process.getBuiltinModule('node:dgram');",
                Some("node:dgram"),
            ),
        ];
        for (code, expected) in rows {
            let directory = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| {
                let path = directory.path().join(name);
                write_file(&path, text);
                path
            };
            write("inner.ts", code);
            for import in [
                "import './inner.ts';",
                "const load = () => import('./inner.ts');",
                "const load = () => require( \"./inner.ts\" );",
            ] {
                let text = format!("{import}\nexport default () => {{}};");
                let need = find(&SourceCache::disabled(), &write("outer.ts", &text));
                assert_eq!(need.as_deref(), expected, "{import} {code}");
            }
        }
    }

    fn write_file(path: &Path, text: &str) {
        let mut file = std::fs::File::create(path).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    }
}
