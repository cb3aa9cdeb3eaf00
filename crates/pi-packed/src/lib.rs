//! Compressed assets embedded in the binary. Build scripts pack them into files for
//! `include_bytes!`, and the program unpacks them on first use.
//!
//! Intended for what is not needed at startup; packing shrinks texts to between a third and a
//! fourteenth of their size, and bytecode to three fifths.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Compresses content into a file.
pub fn pack(content: &[u8], file: &Path) -> io::Result<()> {
    let mut encoder = DeflateEncoder::new(File::create(file)?, Compression::best());
    encoder.write_all(content)?;
    encoder.finish().map(drop)
}

/// Compresses named texts into one file, as a JSON object.
pub fn pack_texts(texts: &BTreeMap<String, String>, file: &Path) -> io::Result<()> {
    pack(&serde_json::to_vec(texts)?, file)
}

/// Decompresses a text packed by [`pack`].
pub fn unpack(packed: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    DeflateDecoder::new(packed).read_to_string(&mut text)?;
    Ok(text)
}

/// Decompresses content packed by [`pack`].
pub fn unpack_bytes(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut content)?;
    Ok(content)
}

/// Named texts, decompressed together on first access.
#[derive(Debug)]
pub struct PackedTexts {
    packed: &'static [u8],
    texts: OnceLock<HashMap<String, String>>,
}

impl PackedTexts {
    /// Wraps the output of [`pack_texts`].
    pub const fn new(packed: &'static [u8]) -> Self {
        Self {
            packed,
            texts: OnceLock::new(),
        }
    }

    /// Returns a text by name; `None` if the data is invalid.
    pub fn get(&self, name: &str) -> Option<&str> {
        let texts = self
            .texts
            .get_or_init(|| unpack_texts(self.packed).unwrap_or_default());
        texts.get(name).map(String::as_str)
    }
}

fn unpack_texts(packed: &[u8]) -> io::Result<HashMap<String, String>> {
    Ok(serde_json::from_str(&unpack(packed)?)?)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn packed_text_round_trips() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("packed");
        let text = "the same again, ".repeat(1000);
        pack(text.as_bytes(), &file).unwrap();
        let packed = std::fs::read(&file).unwrap();
        assert!(packed.len() < text.len() / 14, "{}", packed.len());
        assert_eq!(unpack(&packed).unwrap(), text);
    }

    #[test]
    fn texts_are_found_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("packed");
        let texts = [("a", "α\n\"β\""), ("b", "")];
        let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        pack_texts(&BTreeMap::from(texts), &file).unwrap();
        let packed = PackedTexts::new(std::fs::read(&file).unwrap().leak());
        assert_eq!(packed.get("a"), Some("α\n\"β\""));
        assert_eq!(packed.get("b"), Some(""));
        assert_eq!(packed.get("c"), None);
    }

    #[test]
    fn invalid_data_has_no_texts() {
        assert!(unpack(b"\xff\xff\xff").is_err());
        assert_eq!(PackedTexts::new(b"\xff\xff\xff").get("a"), None);
    }
}
