//! The example extensions of the TypeScript pi, where they are installed: each is transformed,
//! parsed and linked, with stand-ins for the modules of pi.

use std::path::{Path, PathBuf};

use crate::support::World;

const PI_MODULES: [&str; 7] = [
    "@earendil-works/pi-coding-agent",
    "@earendil-works/pi-tui",
    "@earendil-works/pi-ai",
    "@earendil-works/pi-ai/compat",
    "@earendil-works/pi-agent-core",
    "typebox",
    "@sinclair/typebox",
];

fn folder() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let package = "node_modules/@earendil-works/pi-coding-agent/examples/extensions";
    let folder = home.join(".cache/pi-peer").join(package);
    folder.is_dir().then_some(folder)
}

/// Lists what discovery would load: files, and folders with an index.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            if path.is_dir() {
                let index = path.join("index.ts");
                return index.is_file().then_some(index);
            }
            path.extension()
                .is_some_and(|extension| extension == "ts")
                .then_some(path)
        })
        .collect();
    found.sort();
    found
}

/// Writes a module whose every asked-for name is something that can be called and extended.
fn stand_in(sources: &[String], module: &str) -> String {
    let mut names: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            let path = Path::new("x.ts");
            let prepared = pi_ext::prepare(path, source, pi_ext::SourceFormat::Module).unwrap();
            prepared
                .imports
                .into_iter()
                .filter(|(name, _)| name == module)
                .flat_map(|(_, names)| names)
        })
        .filter(|name| name != "default" && name != "*")
        .collect();
    names.sort();
    names.dedup();
    let lines: Vec<String> = names
        .iter()
        .map(|name| {
            format!(
                "export const {name} = {};
",
                value_of(name)
            )
        })
        .collect();
    let exports = lines.concat();
    format!(
        "const stub = (name) => new Proxy(function () {{}}, {{\n\
           get: (t, k) => k === 'prototype' ? t.prototype : k === Symbol.toPrimitive ? () => name : k === 'then' ? undefined : stub(name),\n\
           apply: () => stub(name), construct: () => stub(name),\n}});\n{exports}export default stub('default');"
    )
}

/// What is put together into paths at the top level has to be text.
fn value_of(name: &str) -> String {
    match name {
        "getAgentDir" => "() => '/nowhere/agent'".to_owned(),
        "CONFIG_DIR_NAME" => "'.pi'".to_owned(),
        name => format!("stub({name:?})"),
    }
}

fn all_sources(folder: &Path, sources: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "node_modules") {
                all_sources(&path, sources);
            }
        } else if path.extension().is_some_and(|extension| extension == "ts") {
            sources.push(std::fs::read_to_string(path).unwrap());
        }
    }
}

#[tokio::test]
async fn the_reference_examples_transform_parse_and_link() {
    let Some(folder) = folder() else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let mut sources = Vec::new();
    all_sources(&folder, &mut sources);
    let world = World::with_options(&[], |mut options| {
        for module in PI_MODULES {
            options = options.with_virtual_module(module, stand_in(&sources, module));
        }
        options
    });
    let entries = entries(&folder);
    let mut failures = Vec::new();
    for entry in &entries {
        if let Err(error) = world.engine.load(entry).await {
            failures.push(format!(
                "{}: {error}",
                entry.strip_prefix(&folder).unwrap().display()
            ));
        }
    }
    println!(
        "{} of {} examples load",
        entries.len() - failures.len(),
        entries.len()
    );
    // What is left needs packages that are not installed beside it.
    failures.retain(|failure| !failure.contains("Cannot find package"));
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(!entries.is_empty());
}
