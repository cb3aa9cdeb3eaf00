//! Packs the catalogs of image and classifier models, which `cargo xtask models` generates next to the chat models.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const CATALOGS: [&str; 2] = ["image-models", "classifier-models"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let directory = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    let data = directory("CARGO_MANIFEST_DIR").join("../pi-providers/data");
    for catalog in CATALOGS {
        let source = data.join(catalog);
        println!("cargo::rerun-if-changed={}", source.display());
        let packed = directory("OUT_DIR").join(format!("{catalog}.deflate"));
        if let Err(error) = pack(&source, &packed) {
            println!("cargo::error=cannot pack {catalog}: {error}");
        }
    }
}

/// Packs the lists of a directory, by provider.
fn pack(source: &Path, packed: &Path) -> io::Result<()> {
    let mut lists = BTreeMap::new();
    for entry in fs::read_dir(source)? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let provider = file.file_stem().unwrap_or_default().to_string_lossy();
            lists.insert(provider.into_owned(), fs::read_to_string(&file)?);
        }
    }
    pi_packed::pack_texts(&lists, packed)
}
