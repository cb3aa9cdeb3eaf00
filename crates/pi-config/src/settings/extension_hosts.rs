//! `extensionHost`: which program runs the code of an extension.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Settings;
use crate::resources::GlobSegment;

/// A program that runs extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtensionEngine {
    /// The engine that is part of pi.
    #[default]
    QuickJs,
    /// The user's own Node.
    Node,
}

impl ExtensionEngine {
    /// Returns the engine of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "quickjs" => Some(Self::QuickJs),
            "node" => Some(Self::Node),
            _ => None,
        }
    }
}

/// Which extensions run where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"quickjs\", \"node\", or an object of patterns with one of the two each"
)]
pub enum ExtensionHosts {
    All(ExtensionEngine),
    /// By names on the way to their files; what no pattern matches runs in pi itself.
    Matching(BTreeMap<String, ExtensionEngine>),
}

impl Settings {
    /// Returns which program runs the extension of a file.
    ///
    /// A pattern is the name of a file or directory on the way to it, or several that follow each other; the
    /// longest one that matches counts.
    pub fn extension_engine(&self, path: &Path) -> ExtensionEngine {
        match &self.extension_host {
            None => ExtensionEngine::default(),
            Some(ExtensionHosts::All(engine)) => *engine,
            Some(ExtensionHosts::Matching(engines)) => {
                let matching = engines.iter().filter(|(pattern, _)| matches(pattern, path));
                let longest = matching.max_by_key(|(pattern, _)| pattern.len());
                longest.map_or_else(ExtensionEngine::default, |(_, engine)| *engine)
            }
        }
    }
}

fn matches(pattern: &str, path: &Path) -> bool {
    let wanted = pattern.split('/').filter(|part| !part.is_empty());
    let wanted: Option<Vec<GlobSegment>> = wanted.map(GlobSegment::new).collect();
    let names: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return false;
    };
    names.windows(wanted.len()).any(|names| {
        let mut pairs = wanted.iter().zip(names);
        pairs.all(|(wanted, name)| wanted.matches(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_runs_where_the_longest_pattern_says() {
        let given = serde_json::json!({
            "pi-lens": "node",
            "@aliou/*": "node",
            "@aliou/pi-plain": "quickjs",
            "*.native.ts": "node",
            "": "node",
            "/": "node",
            "[": "node",
        });
        let settings = Settings {
            extension_host: serde_json::from_value(given).unwrap(),
            ..Settings::default()
        };
        let cases = [
            (
                "/home/u/.pi/agent/extensions/a.ts",
                ExtensionEngine::QuickJs,
            ),
            ("/home/u/.pi/npm/pi-lens/index.ts", ExtensionEngine::Node),
            (
                "/home/u/.pi/npm/pi-lens-2/index.ts",
                ExtensionEngine::QuickJs,
            ),
            ("/n/@aliou/pi-processes/src/index.ts", ExtensionEngine::Node),
            ("/n/@aliou/pi-plain/index.ts", ExtensionEngine::QuickJs),
            ("/n/sqlite.native.ts", ExtensionEngine::Node),
        ];
        for (path, expected) in cases {
            assert_eq!(
                settings.extension_engine(Path::new(path)),
                expected,
                "{path}"
            );
        }
        let all: Settings = serde_json::from_str(r#"{"extensionHost": "node"}"#).unwrap();
        assert_eq!(
            all.extension_engine(Path::new("/a.ts")),
            ExtensionEngine::Node
        );
        let wrong = serde_json::from_str::<Settings>(r#"{"extensionHost": "deno"}"#);
        assert!(wrong.is_err());
    }
}
