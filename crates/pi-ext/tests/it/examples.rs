//! Transpiles and links the example extensions of the TypeScript pi, if they are installed, with
//! stubs for pi's modules.

use std::path::{Path, PathBuf};

use crate::support::EngineEnv;

const PI_MODULES: [&str; 7] = [
    "@earendil-works/pi-coding-agent",
    "@earendil-works/pi-tui",
    "@earendil-works/pi-ai",
    "@earendil-works/pi-ai/compat",
    "@earendil-works/pi-agent-core",
    "typebox",
    "@sinclair/typebox",
];

fn directory() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let package = "node_modules/@earendil-works/pi-coding-agent/examples/extensions";
    let directory = home.join(".cache/pi-peer").join(package);
    directory.is_dir().then_some(directory)
}

/// Lists the entry points that discovery would load: files, and directories with an index.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(directory)
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

/// Returns the source of a module in which every imported name can be called and extended.
fn stub_module(sources: &[String], module: &str) -> String {
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

/// Some exports are used to build paths at the top level and must be strings.
fn value_of(name: &str) -> String {
    match name {
        "getAgentDir" => "() => '/nowhere/agent'".to_owned(),
        "CONFIG_DIR_NAME" => "'.pi'".to_owned(),
        name => format!("stub({name:?})"),
    }
}

fn all_sources(directory: &Path, sources: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
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
async fn the_reference_examples_transpile_and_link() {
    let Some(directory) = directory() else {
        println!("skipped: the TypeScript pi is not installed");
        return;
    };
    let mut sources = Vec::new();
    all_sources(&directory, &mut sources);
    let env = EngineEnv::with_options(&[], |mut options| {
        for module in PI_MODULES {
            options = options.with_virtual_module(module, stub_module(&sources, module));
        }
        options
    });
    let entries = entries(&directory);
    let mut failures = Vec::new();
    for entry in &entries {
        if let Err(error) = env.engine.load(entry).await {
            failures.push(format!(
                "{}: {error}",
                entry.strip_prefix(&directory).unwrap().display()
            ));
        }
    }
    println!(
        "loaded {} of {} examples",
        entries.len() - failures.len(),
        entries.len()
    );
    // Some examples need packages that are not installed.
    failures.retain(|failure| !failure.contains("Cannot find package"));
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(!entries.is_empty());
}
