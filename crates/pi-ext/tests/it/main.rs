//! Tests of the public API with real files and processes, and only loopback networking.
#![expect(clippy::unwrap_used, reason = "unwrapping is fine in tests")]

mod api;
mod engine;
mod examples;
mod globals;
mod limits;
mod module_forms;
mod modules;
mod node_fixtures;
mod node_host;
mod node_modules;
mod package_functions;
mod support;
mod undici;
mod usage;
mod workers;

#[test]
fn all_test_files_are_listed() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "`mod {name};` is missing"
        );
    }
}
