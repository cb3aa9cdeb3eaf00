//! The assets: valid modules, no way to turn text into markup, and a bounded size.

use std::collections::BTreeSet;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use pretty_assertions::assert_eq;

use pi_web::{ASSETS, Asset, EXPORT_ASSETS, viewer_script, viewer_style};

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
const MAX_GZIP_BYTES: usize = 73_000;

fn text(asset: &Asset) -> String {
    String::from_utf8(asset.content().unwrap()).unwrap()
}

fn scripts() -> Vec<(&'static str, String)> {
    let files = ASSETS.iter().chain(EXPORT_ASSETS);
    let scripts = files.filter(|file| file.content_type.starts_with("text/javascript"));
    scripts.map(|file| (file.path, text(file))).collect()
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
    for (path, source) in scripts() {
        assert_parses(path, &source, SourceType::mjs());
        for forbidden in FORBIDDEN {
            assert!(!source.contains(forbidden), "{path} contains `{forbidden}`");
        }
    }
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
fn every_import_names_a_served_module_and_an_export_of_it() {
    let scripts = scripts();
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
        let folder = path.rsplit_once('/').map_or("export", |(folder, _)| folder);
        for line in source.lines().filter(|line| line.starts_with("import ")) {
            let (names, from) = line
                .strip_prefix("import { ")
                .and_then(|line| line.split_once(" } from \""))
                .unwrap_or_else(|| panic!("{path}: write one import per line: {line}"));
            let from = from.trim_end_matches("\";");
            let target = match (from.strip_prefix("./"), from.strip_prefix("../")) {
                (Some(name), _) if folder == "export" => name.to_owned(),
                (Some(name), _) => format!("{folder}/{name}"),
                (None, Some(name)) => format!("/assets/{name}"),
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
fn the_page_loads_all_modules_at_once() {
    let page = text(Asset::find("/").unwrap());
    for asset in ASSETS
        .iter()
        .filter(|asset| asset.path.starts_with("/assets/"))
    {
        assert!(page.contains(asset.path), "{} is found late", asset.path);
    }
}
