//! Finds what an extension uses that only Node provides, without running it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::cache::SourceCache;
use crate::host_modules::virtual_module_names;
use crate::resolver::{ImportKind, ModuleResolver, ResolvedModule, builtin_name};
use crate::typescript::PreparedSource;

/// Files to look at; larger extensions are decided by the rest.
const MAX_FILES: usize = 3000;

/// Exports of builtin modules that need Node. Without names, every import does.
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

/// Returns the first thing an extension uses that needs Node, as a phrase.
pub(crate) fn find(cache: &SourceCache, path: &Path) -> Option<String> {
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
        for (specifier, kind) in at_start.chain(later_imports(&source)) {
            let target = resolver.resolve(specifier, &importer, kind);
            if let Ok(ResolvedModule::File(target)) = target {
                pending.push(target);
            }
        }
    }
    None
}

/// Returns the modules that calls load by a literal name.
fn later_imports(source: &str) -> impl Iterator<Item = (&str, ImportKind)> {
    let calls = [
        ("import(", ImportKind::Import),
        ("require(", ImportKind::Require),
    ];
    calls.into_iter().flat_map(move |(call, kind)| {
        let loaded = source.match_indices(call).filter_map(move |(start, _)| {
            let argument = source.get(start + call.len()..)?.trim_start();
            let quote = argument.chars().next()?;
            let is_literal = matches!(quote, '"' | '\'' | '`');
            let name = argument.get(1..).filter(|_| is_literal)?;
            name.split(quote).next()
        });
        loaded.map(move |name| (name, kind))
    })
}

/// Returns what the imports of one file need.
fn need_of(prepared: &PreparedSource, source: &str) -> Option<String> {
    prepared.imports.iter().find_map(|(specifier, names)| {
        if NATIVE_LOADERS.contains(&specifier.as_str()) {
            return Some("a native addon".to_owned());
        }
        let name = builtin_name(specifier)?;
        let name = name.strip_prefix("node:").unwrap_or(&name);
        let (module, members) = NODE_ONLY.iter().find(|(module, _)| *module == name)?;
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
