//! Packs the manual and the changelog, which `src/manual.rs` unpacks.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() {
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
