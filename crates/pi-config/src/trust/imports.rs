//! Finds what a script imports, without parsing it: string literals after `from`, `import`, `require` and `resolve`.
//! Finding too much does no harm. If a script computes what it imports or evaluates, all of its literals that may be part
//! of a path are returned.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// No import is longer.
const MAX_SPECIFIER_BYTES: usize = 512;

/// Literals of one script that may be part of a computed path.
const MAX_MENTIONED: usize = 2000;

const KEYWORDS: [&[u8]; 4] = [b"from", b"import", b"require", b"resolve"];

/// Functions that run the code they are passed, or load the module that it names.
const EVALUATING: [&[u8]; 6] = [
    b"import",
    b"require",
    b"eval",
    b"Function",
    b"runInThisContext",
    b"runInNewContext",
];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ImportedPath {
    /// Relative to the script, or absolute.
    File(PathBuf),
    /// The name of a package, without the path of a file in it.
    Package(String),
    /// Computed when the script runs.
    Computed,
    /// A literal of a script that computes what it imports; the path it may be part of is relative to anything.
    Mentioned(String),
}

pub(super) fn imported_paths(script: &[u8]) -> Vec<ImportedPath> {
    let mut found = Vec::new();
    if computes_imports(script) {
        found.push(ImportedPath::Computed);
        found.extend(
            mentioned_paths(script)
                .into_iter()
                .map(ImportedPath::Mentioned),
        );
    }
    for (position, byte) in script.iter().enumerate() {
        if !matches!(byte, b'"' | b'\'' | b'`') || !follows_keyword(script, position) {
            continue;
        }
        let rest = script.get(position + 1..).unwrap_or_default();
        let rest = rest.get(..MAX_SPECIFIER_BYTES).unwrap_or(rest);
        let end = rest.iter().position(|other| other == byte);
        let specifier = end.and_then(|end| rest.get(..end)).unwrap_or_default();
        if let Ok(specifier) = std::str::from_utf8(specifier) {
            found.extend(path_of(specifier));
        }
    }
    found
}

/// Returns whether a script loads a module, or runs code, that is not a literal.
fn computes_imports(script: &[u8]) -> bool {
    let calls = script.iter().enumerate().filter(|(_, byte)| **byte == b'(');
    let mut arguments = calls.filter_map(|(position, _)| {
        let (before, call) = script.split_at_checked(position)?;
        let before = before.trim_ascii_end();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'$';
        let start = before.iter().rposition(|byte| !is_name(byte));
        let name = before.get(start.map_or(0, |start| start + 1)..)?;
        let argument = call.get(1..)?.trim_ascii_start();
        EVALUATING.contains(&name).then_some(argument)
    });
    arguments.any(|argument| !is_literal_argument(argument))
}

/// Returns whether the first argument of a call is a literal, or missing.
fn is_literal_argument(argument: &[u8]) -> bool {
    let Some((quote @ (b'"' | b'\'' | b'`'), rest)) = argument.split_first() else {
        return argument.starts_with(b")");
    };
    let Some(end) = rest.iter().position(|byte| byte == quote) else {
        return false;
    };
    let (literal, after) = rest.split_at(end);
    let after = after.get(1..).unwrap_or_default().trim_ascii_start();
    let has_value = *quote == b'`' && literal.windows(2).any(|pair| pair == b"${");
    !has_value && (after.starts_with(b")") || after.starts_with(b","))
}

/// Returns the literals of a script that may be part of a path.
fn mentioned_paths(script: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in script.split(|byte| *byte == b'\n') {
        for quote in [b'"', b'\'', b'`'] {
            // Every second part is a literal; which one depends on quotes that are part of others.
            for part in line.split(|byte| *byte == quote) {
                let parts = part.split(|byte| b"${}\\".contains(byte));
                let names = parts.filter_map(|part| std::str::from_utf8(part).ok());
                let names = names.filter(|name| may_be_path(name));
                found.extend(names.map(str::to_owned));
                if found.len() >= MAX_MENTIONED {
                    return found;
                }
            }
        }
    }
    found
}

fn may_be_path(text: &str) -> bool {
    let has_name = text.contains(|character: char| character.is_alphanumeric());
    let is_plain = |character: char| character.is_alphanumeric() || "._-/@ ".contains(character);
    has_name
        && text.len() <= MAX_SPECIFIER_BYTES
        && text.trim() == text
        && text.chars().all(is_plain)
}

/// Returns whether the literal at a position follows a keyword, with or without a parenthesis.
fn follows_keyword(script: &[u8], position: usize) -> bool {
    let before = script.get(..position).unwrap_or_default();
    let before = before.trim_ascii_end();
    let before = before.strip_suffix(b"(").unwrap_or(before).trim_ascii_end();
    KEYWORDS.iter().any(|keyword| before.ends_with(keyword))
}

fn path_of(specifier: &str) -> Option<ImportedPath> {
    let specifier = specifier.strip_prefix("file://").unwrap_or(specifier);
    if specifier.is_empty() || specifier.contains(['\n', '\0']) {
        return None;
    }
    if specifier.starts_with(['.', '/']) {
        // A query makes a module distinct, but not its file.
        let path = specifier.split(['?', '#']).next().unwrap_or(specifier);
        return Some(ImportedPath::File(PathBuf::from(path)));
    }
    let segments = if specifier.starts_with('@') { 2 } else { 1 };
    let name: Vec<&str> = specifier.split('/').take(segments).collect();
    if name.contains(&"..") || specifier.contains(':') {
        return None;
    }
    Some(ImportedPath::Package(name.join("/")))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn imports_are_found_in_every_form() {
        let script = r#"
            import a from "./a.ts"; import "../b.js"; export * from '/c.mjs';
            const d = require('d/lib/x'); await import(`@e/f/g.js`); require.resolve("./h?v=1");
            import fs from "node:fs"; const text = "./not-imported"; import x from "";
        "#;
        let file = |path: &str| ImportedPath::File(PathBuf::from(path));
        let package = |name: &str| ImportedPath::Package(name.to_owned());
        assert_eq!(
            imported_paths(script.as_bytes()),
            [
                file("./a.ts"),
                file("../b.js"),
                file("/c.mjs"),
                package("d"),
                package("@e/f"),
                file("./h"),
            ]
        );
    }

    #[test]
    fn computed_imports_are_noticed() {
        for script in [
            "await import(name)",
            "import(`./${name}.js`)",
            "import(\"./a\" + extension)",
            "require(join(cwd, 'lib', 'x.js'))",
            "eval(readFileSync('lib/x.txt', 'utf8'))",
            "new Function(code)()",
            "vm.runInThisContext(code)",
        ] {
            let found = imported_paths(script.as_bytes());
            assert!(found.contains(&ImportedPath::Computed), "{script}");
        }
        for script in [
            "await import('./a.js'); import(`./b.js`); require( \"c\" )",
            "import('./a.json', { with: { type: 'json' } })",
            "const important = (x) => important(x); my_require(x); isFunction(x)",
        ] {
            let found = imported_paths(script.as_bytes());
            assert!(!found.contains(&ImportedPath::Computed), "{script}");
        }
    }

    #[test]
    fn literals_of_a_computed_path_are_found() {
        let script = "import(join(root, 'lib', `code/${name}/main.js`))";
        let found = mentioned_paths(script.as_bytes());
        for part in ["lib", "code/", "/main.js"] {
            assert!(found.contains(part), "{part}: {found:?}");
        }
    }
}
