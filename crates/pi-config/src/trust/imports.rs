//! Finds what a script imports, without parsing it: string literals after `from`, `import`, `require` and `resolve`.
//! Finding too much does no harm. Paths that a script computes are not found.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// No import is longer.
const MAX_SPECIFIER_BYTES: usize = 512;

const KEYWORDS: [&[u8]; 4] = [b"from", b"import", b"require", b"resolve"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum ImportedPath {
    /// Relative to the script, or absolute.
    File(PathBuf),
    /// The name of a package, without the path of a file in it.
    Package(String),
}

pub(super) fn imported_paths(script: &[u8]) -> Vec<ImportedPath> {
    let mut found = Vec::new();
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
}
