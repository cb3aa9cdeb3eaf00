//! Sizes of the images in `docs/images`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::html::attribute;

/// The width and height of each image, by the name of its file.
#[derive(Debug, Default)]
pub(super) struct ImageSizes(BTreeMap<String, (u32, u32)>);

impl ImageSizes {
    pub(super) fn read(directory: &Path) -> Result<Self> {
        let mut sizes = BTreeMap::new();
        let entries = fs::read_dir(directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let size = size_of(&fs::read(&path)?)
                .with_context(|| format!("no size in {}", path.display()))?;
            sizes.insert(name.into_owned(), size);
        }
        Ok(Self(sizes))
    }

    /// Returns the size of the image that a page names by path.
    pub(super) fn size(&self, source: &str) -> Option<(u32, u32)> {
        let name = source.rsplit('/').next()?;
        self.0.get(name).copied()
    }
}

/// Returns the size in the header of a PNG file, or in the view box of an SVG file.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.starts_with(b"\x89PNG") {
        let number = |at: usize| -> Option<u32> {
            let bytes = bytes.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        return Some((number(16)?, number(20)?));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut numbers = attribute(text, "viewBox")?.split(' ').skip(2);
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_headers() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 5, 0, 0, 0, 3, 32]);
        assert_eq!(size_of(&png), Some((1280, 800)));
        assert_eq!(size_of(b"<svg viewBox=\"0 0 872 926\">"), Some((872, 926)));
        assert_eq!(size_of(b"\x89PNG"), None);
        assert_eq!(size_of(b"text"), None);
    }
}
