//! Integration tests of the library, verified with independent terminal emulators.

#![expect(
    clippy::unwrap_used,
    reason = "tests may panic anywhere, including in helpers"
)]

mod emulator;
mod examples;
mod full_screen;
mod images;
mod main_screen;
mod overlays;
mod properties;
#[cfg(unix)]
mod pty;

#[test]
fn every_test_file_is_included() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(directory).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|name| *name != "main") else {
            continue;
        };
        assert!(main.contains(&format!("mod {module};")), "{module}");
    }
}
