//! Compresses the assets and writes their table.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

/// Folders below `assets`, each with the address under which its files are served. Files of `export` are only
/// part of exported pages.
const FOLDERS: [(&str, &str); 4] = [
    ("shared", "/assets/shared/"),
    ("live", "/assets/live/"),
    ("root", "/"),
    ("export", ""),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=assets");
    if let Err(error) = pack() {
        println!("cargo::error=cannot pack the assets: {error}");
    }
}

fn pack() -> io::Result<()> {
    let directory = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    let assets = directory("CARGO_MANIFEST_DIR").join("assets");
    let output = directory("OUT_DIR");
    let mut table = fs::File::create(output.join("assets.rs"))?;
    let mut export = fs::File::create(output.join("export.rs"))?;
    for list in [&mut table, &mut export] {
        writeln!(list, "&[")?;
    }
    for (folder, address) in FOLDERS {
        let mut files: Vec<PathBuf> = fs::read_dir(assets.join(folder))?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let extension = file.extension().unwrap_or_default().to_string_lossy();
            let content = without_comments(&extension, fs::read(&file)?);
            let packed = format!("{folder}-{name}.gz");
            compress(&content, &output.join(&packed))?;
            let path = match name.as_ref() {
                "index.html" => address.to_owned(),
                name => format!("{address}{name}"),
            };
            let list = if address.is_empty() {
                &mut export
            } else {
                &mut table
            };
            writeln!(
                list,
                "Asset {{ path: {path:?}, content_type: {:?}, gzip: include_bytes!({packed:?}), etag: {:?} }},",
                content_type(&extension),
                etag(&content),
            )?;
        }
    }
    for list in [&mut table, &mut export] {
        writeln!(list, "]")?;
    }
    Ok(())
}

/// Drops lines that are comments, and the indentation. Nothing else is changed, so that line by line the browser
/// runs what is in the file; no string of a module spans lines.
fn without_comments(extension: &str, content: Vec<u8>) -> Vec<u8> {
    let is_script = extension == "js";
    let is_text = is_script || matches!(extension, "css" | "html");
    let Some(text) = is_text.then(|| str::from_utf8(&content).ok()).flatten() else {
        return content;
    };
    let mut output = String::with_capacity(text.len());
    let mut is_comment = false;
    for line in text.lines().map(str::trim) {
        if is_comment {
            is_comment = !line.ends_with("*/");
            continue;
        }
        is_comment = is_script && line.starts_with("/**") && !line.contains("*/");
        let is_only_comment =
            line.starts_with("//") || (line.starts_with("/**") && line.ends_with("*/"));
        if is_comment || line.is_empty() || (is_script && is_only_comment) {
            continue;
        }
        output += line;
        output.push('\n');
    }
    output.into_bytes()
}

fn compress(content: &[u8], file: &Path) -> io::Result<()> {
    let file = fs::File::create(file)?;
    // No name and no time: the same content has the same bytes.
    let mut encoder = GzBuilder::new().write(file, Compression::best());
    encoder.write_all(content)?;
    encoder.finish().map(drop)
}

fn etag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("\"{:016x}\"", hasher.finish())
}

fn content_type(extension: &str) -> &'static str {
    match extension {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
