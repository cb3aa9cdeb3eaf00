//! Selects the engine of an extension.

use std::path::Path;

use pi_protocol::settings::{ExtensionEngine, ExtensionHosts, Settings};

use crate::resources::GlobSegment;

/// Returns the engine for an extension file.
///
/// A pattern is a path component, or several consecutive ones separated by slashes. The
/// longest matching pattern wins.
///
/// `None` if nothing is configured for the extension.
pub fn extension_engine(settings: &Settings, path: &Path) -> Option<ExtensionEngine> {
    match &settings.extension_settings.host {
        None => None,
        Some(ExtensionHosts::All(engine)) => Some(*engine),
        Some(ExtensionHosts::Matching(engines)) => {
            let matching = engines.iter().filter(|(pattern, _)| matches(pattern, path));
            let longest = matching.max_by_key(|(pattern, _)| pattern.len());
            longest.map(|(_, engine)| *engine)
        }
    }
}

fn matches(pattern: &str, path: &Path) -> bool {
    let segments = pattern.split('/').filter(|part| !part.is_empty());
    let segments: Option<Vec<GlobSegment>> = segments.map(GlobSegment::new).collect();
    let names: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let Some(segments) = segments.filter(|segments| !segments.is_empty()) else {
        return false;
    };
    names.windows(segments.len()).any(|names| {
        let mut pairs = segments.iter().zip(names);
        pairs.all(|(segment, name)| segment.matches(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_matching_pattern_selects_the_engine() {
        let patterns = serde_json::json!({
            "pi-lens": "node",
            "@aliou/*": "node",
            "@aliou/pi-plain": "quickjs",
            "*.native.ts": "node",
            "": "node",
            "/": "node",
            "[": "node",
        });
        let mut settings = Settings::default();
        settings.extension_settings.host = serde_json::from_value(patterns).unwrap();
        let cases = [
            ("/home/u/.pi/agent/extensions/a.ts", None),
            (
                "/home/u/.pi/npm/pi-lens/index.ts",
                Some(ExtensionEngine::Node),
            ),
            ("/home/u/.pi/npm/pi-lens-2/index.ts", None),
            (
                "/n/@aliou/pi-processes/src/index.ts",
                Some(ExtensionEngine::Node),
            ),
            (
                "/n/@aliou/pi-plain/index.ts",
                Some(ExtensionEngine::QuickJs),
            ),
            ("/n/sqlite.native.ts", Some(ExtensionEngine::Node)),
        ];
        for (path, expected) in cases {
            assert_eq!(
                extension_engine(&settings, Path::new(path)),
                expected,
                "{path}"
            );
        }
        let all: Settings = serde_json::from_str(r#"{"extensionHost": "node"}"#).unwrap();
        assert_eq!(
            extension_engine(&all, Path::new("/a.ts")),
            Some(ExtensionEngine::Node)
        );
        let invalid = serde_json::from_str::<Settings>(r#"{"extensionHost": "deno"}"#);
        assert!(invalid.is_err());
    }
}
