//! The manual and the changelog, packed by the build script.

use pi_packed::PackedTexts;

static TEXTS: PackedTexts =
    PackedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/manual.deflate")));

/// Returns the text of a file by name without extension; empty if there is none.
pub(crate) fn text(name: &str) -> &'static str {
    TEXTS.get(name).unwrap_or_default()
}
