//! Integration tests of pi-session: the public API on real files and between real processes.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot set up its files has failed; one process tells another by printing"
)]

#[cfg(target_os = "linux")]
mod disk_faults;
mod forking;
mod listing;
mod migration;
mod opening;
mod planning;
mod processes;
mod reference;
mod repair;
mod scratch;
mod spelling;
mod tree;

#[test]
fn no_file_of_this_folder_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name} is not declared"
        );
    }
}
