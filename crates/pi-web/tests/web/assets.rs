//! The assets: valid modules, no way to turn text into markup, and a bounded size.

use std::collections::BTreeSet;
use std::path::Path;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use pretty_assertions::assert_eq;

use pi_web::{ASSETS, Asset, viewer_script, viewer_style};

/// What creates markup or code from text, or needs an inline style.
const FORBIDDEN: [&str; 9] = [
    "innerHTML",
    "outerHTML",
    "insertAdjacentHTML",
    "document.write",
    "createContextualFragment",
    "eval(",
    "new Function",
    "style=",
    "setAttribute(\"style\"",
];

/// The largest size of the live page, compressed.
const MAX_GZIP_BYTES: usize = 65_000;

fn text(asset: &Asset) -> String {
    String::from_utf8(asset.content().unwrap()).unwrap()
}

/// Returns the modules and style sheets below the assets that end in `.` and an extension, with their paths there.
fn sources(extension: &str) -> Vec<(String, String)> {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let mut sources = Vec::new();
    for folder in ["shared", "live", "root", "export"] {
        for file in std::fs::read_dir(assets.join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|found| found == extension) {
                let name = path.file_name().unwrap().to_string_lossy();
                let text = std::fs::read_to_string(&path).unwrap();
                sources.push((format!("{folder}/{name}"), text));
            }
        }
    }
    sources
}

fn assert_parses(name: &str, source: &str, kind: SourceType) {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, kind).parse();
    assert!(
        parsed.diagnostics.is_empty(),
        "{name}: {:?}",
        parsed.diagnostics
    );
}

#[test]
fn modules_parse_and_create_no_markup_from_text() {
    for (path, source) in sources("js") {
        assert_parses(&path, &source, SourceType::mjs());
        for forbidden in FORBIDDEN {
            assert!(!source.contains(forbidden), "{path} contains `{forbidden}`");
        }
    }
    let script = text(Asset::find("/assets/page.js").unwrap());
    assert_parses("the live page", &script, SourceType::mjs());
    for asset in ASSETS
        .iter()
        .filter(|asset| asset.content_type.starts_with("text/html"))
    {
        let page = text(asset);
        assert!(!page.contains("style="), "{}", asset.path);
        assert!(!page.contains("<style"), "{}", asset.path);
        let handlers = page
            .split(" on")
            .skip(1)
            .filter_map(|text| text.split_once('='));
        let mut handlers = handlers.filter(|(name, _)| name.chars().all(char::is_alphabetic));
        assert_eq!(handlers.next(), None, "{}", asset.path);
    }
}

#[test]
fn every_import_names_a_module_and_an_export_of_it() {
    let scripts = sources("js");
    let exports = |path: &str| -> BTreeSet<String> {
        let (_, source) = scripts.iter().find(|(name, _)| *name == path).unwrap();
        let lines = source
            .lines()
            .filter_map(|line| line.strip_prefix("export "));
        lines
            .map(|line| line.strip_prefix("async ").unwrap_or(line))
            .filter_map(|line| line.split([' ', '(']).nth(1).map(str::to_owned))
            .collect()
    };
    for (path, source) in &scripts {
        let (folder, _) = path.split_once('/').unwrap();
        for line in source.lines().filter(|line| line.starts_with("import ")) {
            let (names, from) = line
                .strip_prefix("import { ")
                .and_then(|line| line.split_once(" } from \""))
                .unwrap_or_else(|| panic!("{path}: write one import per line: {line}"));
            let from = from.trim_end_matches("\";");
            let target = match (from.strip_prefix("./"), from.strip_prefix("../")) {
                (Some(name), _) => format!("{folder}/{name}"),
                (None, Some(name)) => name.to_owned(),
                (None, None) => from.to_owned(),
            };
            let known = exports(&target);
            for name in names.split(", ") {
                assert!(known.contains(name), "{path}: {target} has no `{name}`");
                let uses = source.matches(name).count();
                assert!(uses > 1, "{path}: `{name}` is not used");
            }
        }
    }
}

#[test]
fn the_script_of_an_exported_page_is_one_classic_script() {
    let script = viewer_script().unwrap();
    assert_parses("the exported page", &script, SourceType::cjs());
    assert!(script.starts_with("\"use strict\";\n"));
    let has_syntax = |line: &str| line.starts_with("import ") || line.starts_with("export ");
    assert!(!script.lines().any(has_syntax));
    assert!(!script.contains("</script"), "would end the element");
    assert!(viewer_style().unwrap().contains(".markdown"));
}

#[test]
fn assets_are_small_and_have_distinct_paths_and_tags() {
    let total: usize = ASSETS.iter().map(|asset| asset.gzip.len()).sum();
    assert!(total <= MAX_GZIP_BYTES, "{total} bytes");
    let paths: BTreeSet<_> = ASSETS.iter().map(|asset| asset.path).collect();
    assert_eq!(paths.len(), ASSETS.len());
    for asset in ASSETS {
        assert!(asset.path.starts_with('/'), "{}", asset.path);
        assert_eq!(asset.etag.len(), 18, "{}", asset.etag);
        assert_ne!(
            asset.content_type, "application/octet-stream",
            "{}",
            asset.path
        );
    }
}

#[test]
fn a_page_contains_every_module_once_and_every_style_sheet() {
    let page = text(Asset::find("/").unwrap());
    for path in ["/assets/page.js", "/assets/page.css"] {
        assert_eq!(page.matches(path).count(), 1, "{path}");
    }
    let script = text(Asset::find("/assets/page.js").unwrap());
    let viewer = viewer_script().unwrap();
    for (path, _) in sources("js") {
        let name = path.trim_end_matches(".js").replace('/', "_");
        let definition = format!("const ${name} = (() => {{");
        let in_page = path.starts_with("live/") && path != "live/main.js";
        let in_viewer = path.starts_with("export/") && path != "export/page.js";
        let counts = [&script, &viewer].map(|script| script.matches(&definition).count());
        let expected = match path.split_once('/').unwrap().0 {
            // The live page may need modules that exported pages do not have, not the other way around.
            "shared" => [1, counts[1].min(1)],
            _ => [usize::from(in_page), usize::from(in_viewer)],
        };
        assert_eq!(counts, expected, "{path}");
    }
    let style = text(Asset::find("/assets/page.css").unwrap());
    let last_rule = |sheet: &str| sheet.trim_end().lines().last().unwrap().trim().to_owned();
    for (path, sheet) in sources("css") {
        let styles = match path.split_once('/').unwrap().0 {
            "live" => vec![style.clone()],
            "export" => vec![viewer_style().unwrap()],
            _ => vec![style.clone(), viewer_style().unwrap()],
        };
        for style in styles {
            assert!(style.contains(&last_rule(&sheet)), "{path}");
        }
    }
}
