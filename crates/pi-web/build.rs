//! Joins and compresses the assets, and writes their table.

mod bundle;

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

use bundle::bundle;

/// Files that are served as they are, each under its name.
const ROOT: &str = "root";

/// Styles of the live page, and of exported pages.
const LIVE_STYLES: [&str; 3] = ["shared/base.css", "shared/content.css", "live/live.css"];
const EXPORT_STYLES: [&str; 4] = [
    "shared/base.css",
    "export/layout.css",
    "shared/content.css",
    "export/end.css",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=bundle.rs");
    println!("cargo::rerun-if-changed=assets");
    if let Err(error) = pack() {
        println!("cargo::error=cannot pack the assets: {error}");
    }
}

fn pack() -> io::Result<()> {
    let directory = |variable: &str| PathBuf::from(std::env::var_os(variable).unwrap_or_default());
    let assets = directory("CARGO_MANIFEST_DIR").join("assets");
    let output = directory("OUT_DIR");
    let mut table = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(assets.join(ROOT))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let content = without_comments(&file, fs::read(&file)?);
        let path = match name.as_ref() {
            "index.html" => "/".to_owned(),
            name => format!("/{name}"),
        };
        compress(&content, &output.join(format!("{name}.gz")))?;
        table.push((path, name.into_owned(), content));
    }
    let read = |name: &str| {
        let content = fs::read(assets.join(name))?;
        let text = String::from_utf8(without_comments(Path::new(name), content));
        text.map_err(io::Error::other)
    };
    let live_style = LIVE_STYLES
        .map(read)
        .into_iter()
        .collect::<io::Result<String>>()?;
    let bundles = [
        ("page.js", bundle(&read, "live/main.js")?),
        ("page.css", live_style),
    ];
    for (name, content) in bundles {
        compress(content.as_bytes(), &output.join(format!("{name}.gz")))?;
        table.push((
            format!("/assets/{name}"),
            name.to_owned(),
            content.into_bytes(),
        ));
    }
    write_table(&table, &output.join("assets.rs"))?;
    let script = format!("\"use strict\";\n{}", bundle(&read, "export/page.js")?);
    compress(script.as_bytes(), &output.join("viewer.js.gz"))?;
    let style = EXPORT_STYLES
        .map(read)
        .into_iter()
        .collect::<io::Result<String>>()?;
    compress(style.as_bytes(), &output.join("viewer.css.gz"))
}

/// Writes the list of assets, each with its path, the name of its packed file, and its content.
fn write_table(assets: &[(String, String, Vec<u8>)], file: &Path) -> io::Result<()> {
    let mut table = fs::File::create(file)?;
    writeln!(table, "&[")?;
    for (path, name, content) in assets {
        writeln!(
            table,
            "Asset {{ path: {path:?}, content_type: {:?}, gzip: include_bytes!({:?}), etag: {:?} }},",
            content_type(&extension(Path::new(name))),
            format!("{name}.gz"),
            etag(content),
        )?;
    }
    writeln!(table, "]")
}

fn extension(file: &Path) -> String {
    let extension = file.extension().unwrap_or_default();
    extension.to_string_lossy().into_owned()
}

/// Drops lines that are comments, and the indentation. Nothing else is changed, so that line by line the browser
/// runs what is in the file; no string of a module spans lines.
fn without_comments(file: &Path, content: Vec<u8>) -> Vec<u8> {
    let extension = extension(file);
    let is_script = extension == "js";
    let is_text = is_script || matches!(extension.as_str(), "css" | "html");
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
