//! The web UI as data: modules, styles and icons, compressed at build time.
//!
//! The files below `assets` are plain ES modules and style sheets. `shared` renders entries for both the live page
//! and exported pages, `live` and `root` are the live page, and `export` is what only exported pages have. The build
//! script joins the modules of a page, and its style sheets, into one file each.

use std::io::{self, Read as _};

use flate2::read::GzDecoder;

/// A file of the live page.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// The path of its address, such as `/` or `/assets/page.js`.
    pub path: &'static str,
    pub content_type: &'static str,
    pub gzip: &'static [u8],
    /// A strong entity tag, with its quotes.
    pub etag: &'static str,
}

/// All files of the live page.
pub const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The content security policy of the live page.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pi-worker";

/// What an exported page contains, compressed.
const VIEWER_SCRIPT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/viewer.js.gz"));
const VIEWER_STYLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/viewer.css.gz"));

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
}

/// Returns the script of an exported page, a classic one.
pub fn viewer_script() -> io::Result<String> {
    unpack(VIEWER_SCRIPT)
}

/// Returns the style sheet of an exported page.
pub fn viewer_style() -> io::Result<String> {
    unpack(VIEWER_STYLE)
}

fn unpack(gzip: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    GzDecoder::new(gzip).read_to_string(&mut text)?;
    Ok(text)
}
