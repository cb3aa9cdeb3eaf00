//! Tests of the library from outside, with independent terminal emulators as the judge.

#![expect(
    clippy::unwrap_used,
    reason = "a test may fail wherever it stands, in helpers too"
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
fn no_file_is_forgotten() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it");
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|name| *name != "main") else {
            continue;
        };
        assert!(main.contains(&format!("mod {module};")), "{module}");
    }
}
