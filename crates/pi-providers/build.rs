//! Compresses the model catalog (`data/models/`) and generates the table that `src/catalog.rs`
//! includes.
//!
//! Each provider's list is compressed separately, so startup unpacks only the lists it needs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=data/models");
    let directory = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    let models = directory("CARGO_MANIFEST_DIR").join("data").join("models");
    if let Err(error) = pack_all(&models, &directory("OUT_DIR")) {
        println!("cargo::error=cannot pack the model catalog: {error}");
    }
}

fn pack_all(models: &Path, output: &Path) -> io::Result<()> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(models)? {
        let file = entry?.path();
        if file
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let provider = file.file_stem().unwrap_or_default();
            files.insert(provider.to_string_lossy().into_owned(), file);
        }
    }
    let mut table = format!("static CATALOG: [CatalogEntry; {}] = [\n", files.len());
    for (provider, file) in files {
        let packed = format!("{provider}.deflate");
        pi_packed::pack(&fs::read(file)?, &output.join(&packed))?;
        writeln!(
            table,
            "CatalogEntry::packed({provider:?}, include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{packed}\"))),"
        )
        .map_err(io::Error::other)?;
    }
    table.push_str("];\n");
    File::create(output.join("catalog.rs"))?.write_all(table.as_bytes())
}
