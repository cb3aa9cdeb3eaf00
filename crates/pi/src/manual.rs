//! The texts of the manual and the changelog, which the build packed into the program.

use pi_packed::PackedTexts;

static TEXTS: PackedTexts =
    PackedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/manual.deflate")));

/// Returns the text of a file by its name without the ending; one that does not exist is empty.
pub(crate) fn text(name: &str) -> &'static str {
    TEXTS.get(name).unwrap_or_default()
}
