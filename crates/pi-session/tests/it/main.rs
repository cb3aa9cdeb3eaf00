//! Integration tests of pi-session: the public API on real files and across processes.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "failed setup fails the test; child processes report by printing"
)]

mod checksums;
#[cfg(target_os = "linux")]
mod disk_faults;
mod forking;
mod listing;
mod messages_json;
mod migration;
mod opening;
mod pending;
mod processes;
mod reference;
mod repair;
mod temp_files;
mod tree;

#[test]
fn every_file_in_this_directory_is_declared() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name} is not declared"
        );
    }
}
