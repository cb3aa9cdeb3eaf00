//! Packs the manual and the changelog, which `src/manual.rs` unpacks, and the relocations of release builds.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_native = env::var_os("HOST") == env::var_os("TARGET");
    if is_release && is_native && loads_packed_relocations() {
        // Every start reads all relocations, which stay in its memory.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if let Err(error) = pack_manual() {
        println!("cargo::error=packing the manual: {error}");
    }
}

fn pack_manual() -> io::Result<()> {
    let folder = |variable: &str| PathBuf::from(env::var_os(variable).unwrap_or_default());
    let root = folder("CARGO_MANIFEST_DIR").join("../..");
    let (manual, changelog) = (root.join("docs"), root.join("CHANGELOG.md"));
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(&manual)? {
        let page = entry?.path();
        if page.extension().is_some_and(|extension| extension == "md") {
            texts.insert(name_of(&page), fs::read_to_string(&page)?);
        }
    }
    texts.insert(name_of(&changelog), fs::read_to_string(&changelog)?);
    for read in [manual, changelog] {
        println!("cargo::rerun-if-changed={}", read.display());
    }
    pi_packed::pack_texts(&texts, &folder("OUT_DIR").join("manual.deflate"))
}

fn name_of(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns whether glibc supports packed relocations (2.36 or newer), which take a hundredth of the space. To run on an
/// older glibc, build with that version installed, as for symbol versions.
fn loads_packed_relocations() -> bool {
    let Ok(answer) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let version = String::from_utf8_lossy(&answer.stdout);
    let mut numbers = version.trim().trim_start_matches("glibc ").split('.');
    let mut next = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    matches!((next(), next()), (Some(2), Some(36..)))
}
