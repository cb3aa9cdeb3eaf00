//! The texts of the manual and the changelog, which the build packed into the program.

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::sync::LazyLock;

use flate2::bufread::DeflateDecoder;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/manual.deflate"));

static TEXTS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    unpack().unwrap_or_else(|error| {
        tracing::error!(%error, "the embedded manual is broken");
        HashMap::new()
    })
});

/// Returns the text of a file by its name without the ending; one that does not exist is empty.
pub(crate) fn text(name: &str) -> &'static str {
    TEXTS.get(name).map_or("", String::as_str)
}

fn unpack() -> io::Result<HashMap<String, String>> {
    let mut text = String::new();
    DeflateDecoder::new(PACKED).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}
