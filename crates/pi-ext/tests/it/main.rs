//! The engine through its public face: real files, real processes, loopback only.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod api;
mod budgets;
mod engine;
mod examples;
mod globals;
mod modules;
mod node_fixtures;
mod node_host;
mod node_modules;
mod support;
mod undici;

#[test]
fn no_file_of_this_folder_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name} is not listed"
        );
    }
}
