//! Packs the description of the API, which `cargo xtask schema` generates.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=src/openapi.json");
    let output = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let document = std::fs::read("src/openapi.json")?;
    pi_packed::pack(&document, &output.join("openapi.deflate"))
}
