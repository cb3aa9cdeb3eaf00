//! The web UI as data: modules, styles and icons, compressed at build time.
//!
//! The files below `assets` are plain ES modules and style sheets; no tool transforms them. `shared` renders
//! entries for both the live page and exported pages, `live` and `root` are the live page, and `export` is what
//! only exported pages have.

use std::io::{self, Read as _};

use flate2::read::GzDecoder;

/// A file of the live page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// The path of its address, such as `/` or `/assets/live/main.js`.
    pub path: &'static str,
    pub content_type: &'static str,
    pub gzip: &'static [u8],
    /// A strong entity tag, with its quotes.
    pub etag: &'static str,
}

/// All files of the live page.
pub const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What only exported pages have; the paths are file names.
pub const EXPORT_ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/export.rs"));

/// The content security policy of the live page.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pi-worker";

/// Modules of an exported page, in an order in which each comes after those it needs at once.
const VIEWER_MODULES: [&str; 11] = [
    "/assets/shared/element.js",
    "/assets/shared/terminal_text.js",
    "/assets/shared/session_tree.js",
    "session.js",
    "/assets/shared/code_colors.js",
    "/assets/shared/formula.js",
    "/assets/shared/markdown.js",
    "/assets/shared/entry.js",
    "/assets/shared/transcript.js",
    "/assets/shared/tree.js",
    "page.js",
];

const VIEWER_STYLES: [&str; 4] = [
    "/assets/shared/base.css",
    "layout.css",
    "/assets/shared/content.css",
    "end.css",
];

impl Asset {
    /// Returns the file at a path of the live page.
    pub fn find(path: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.path == path)
    }

    /// Decompresses the content.
    pub fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        GzDecoder::new(self.gzip).read_to_end(&mut content)?;
        Ok(content)
    }

    fn text(&self) -> io::Result<String> {
        String::from_utf8(self.content()?).map_err(io::Error::other)
    }
}

/// Returns the script of an exported page: its modules joined into one classic script.
pub fn viewer_script() -> io::Result<String> {
    let mut script = String::from("\"use strict\";\n");
    for path in VIEWER_MODULES {
        append_without_imports(&mut script, &text(path)?);
    }
    Ok(script)
}

/// Returns the style sheet of an exported page.
pub fn viewer_style() -> io::Result<String> {
    VIEWER_STYLES.into_iter().map(text).collect()
}

fn text(path: &str) -> io::Result<String> {
    let mut files = ASSETS.iter().chain(EXPORT_ASSETS);
    let file = files.find(|file| file.path == path);
    file.ok_or(io::ErrorKind::NotFound)?.text()
}

/// Appends a module as a script. An import has a line to itself, and an `export` starts one; a test checks it.
fn append_without_imports(script: &mut String, module: &str) {
    for line in module.lines() {
        if line.starts_with("import ") {
            continue;
        }
        *script += line.strip_prefix("export ").unwrap_or(line);
        script.push('\n');
    }
}
