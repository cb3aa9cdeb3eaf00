//! Tracks which images the terminal has stored, so that scrolling does not send them again.

use crate::line::Line;
use crate::terminal::{ImageSpan, image_dimensions, kitty_delete};

/// Maximum number of images kept in the terminal while not visible.
const MAX_IMAGES: usize = 16;
/// Maximum bytes sent for images kept while not visible.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Maximum decoded bytes of images kept while not visible.
const MAX_DECODED_BYTES: usize = 64 * 1024 * 1024;
/// Enough of a payload to determine the image dimensions.
const HEADER_LEN: usize = 64;

#[derive(Clone, Debug)]
struct UploadedImage {
    id: u32,
    bytes: usize,
    /// Bytes of its decoded pixels, which the terminal also stores.
    decoded: usize,
    /// Distinguishes different data under the same ID.
    fingerprint: u64,
}

/// The images of the last frame, and the uploaded images, least recently shown first.
#[derive(Debug, Default)]
pub(super) struct ImageCache {
    placements: Vec<(usize, Line)>,
    uploaded: Vec<UploadedImage>,
}

/// What to write for the images of a frame.
#[derive(Debug, Default)]
pub(super) struct ImageUpdate {
    pub(super) deletions: Vec<String>,
    pub(super) images: Vec<(usize, String)>,
}

impl ImageCache {
    pub(super) fn any(&self) -> bool {
        !self.uploaded.is_empty()
    }

    pub(super) fn forget_placements(&mut self) {
        self.placements.clear();
    }

    /// Updates the images for a new frame. Returns `None` if nothing changed.
    pub(super) fn update(&mut self, placements: &[(usize, Line)]) -> Option<ImageUpdate> {
        if self.placements == placements {
            return None;
        }
        self.placements = placements.to_vec();
        let mut update = ImageUpdate::default();
        for (row, line) in placements {
            let Some(id) = ImageSpan::find(line).and_then(|span| span.id) else {
                continue;
            };
            let fingerprint = payload_fingerprint(line);
            let known = self
                .uploaded
                .iter()
                .position(|image| image.id == id)
                .map(|index| self.uploaded.remove(index))
                .is_some_and(|image| image.fingerprint == fingerprint);
            self.uploaded.push(UploadedImage {
                id,
                bytes: line.len(),
                decoded: decoded_bytes(line),
                fingerprint,
            });
            let image = ImageSpan::place_uploaded(line)
                .filter(|_| known)
                .unwrap_or_else(|| line.as_str().to_owned());
            update.images.push((*row, image));
        }
        update.deletions = self.evict(update.images.len());
        Some(update)
    }

    /// Deletes non-visible images beyond the limits, oldest first.
    fn evict(&mut self, in_view: usize) -> Vec<String> {
        let mut deletions = Vec::new();
        loop {
            let out_of_view = self.uploaded.len().saturating_sub(in_view);
            let hidden = self.uploaded.iter().take(out_of_view);
            let (bytes, decoded) = hidden.fold((0_usize, 0_usize), |(bytes, decoded), image| {
                (bytes + image.bytes, decoded.saturating_add(image.decoded))
            });
            if out_of_view <= MAX_IMAGES && bytes <= MAX_BYTES && decoded <= MAX_DECODED_BYTES {
                return deletions;
            }
            deletions.push(kitty_delete(self.uploaded.remove(0).id));
        }
    }
}

fn payload(line: &str) -> &str {
    line.split_once(';').map_or("", |(_, payload)| payload)
}

/// Returns the size of a PNG's decoded pixels: four bytes each.
fn decoded_bytes(line: &str) -> usize {
    let payload = payload(line);
    let header = payload.get(..HEADER_LEN).unwrap_or(payload);
    let header = header.split('\x1b').next().unwrap_or_default();
    image_dimensions(header).map_or(0, |size| {
        let (width, height) = (size.width as usize, size.height as usize);
        width.saturating_mul(height).saturating_mul(4)
    })
}

/// Returns a fingerprint of the payload, independent of the visible part.
fn payload_fingerprint(line: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    payload(line).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{ImageCells, kitty_image};

    fn image(id: u32) -> Line {
        let cells = ImageCells {
            columns: 2,
            rows: 2,
        };
        Line::from(kitty_image("AAAA", id, cells))
    }

    #[test]
    fn an_image_is_sent_once_and_placed_after_that() {
        let mut cache = ImageCache::default();
        let first = cache.update(&[(3, image(1))]).unwrap();
        assert!(first.images[0].1.contains("a=T"));
        assert!(cache.update(&[(3, image(1))]).is_none());
        let moved = cache.update(&[(4, image(1))]).unwrap();
        assert!(moved.images[0].1.contains("a=p"), "{moved:?}");
    }

    #[test]
    fn hidden_images_are_limited() {
        let mut cache = ImageCache::default();
        let mut deleted = Vec::new();
        for id in 1..=20 {
            deleted.extend(cache.update(&[(0, image(id))]).unwrap().deletions);
        }
        assert_eq!(deleted, [kitty_delete(1), kitty_delete(2), kitty_delete(3)]);
    }

    #[test]
    fn decoded_pixels_count_toward_the_limit() {
        use base64::Engine as _;
        let huge = |id: u32| {
            let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
            png.extend([0, 0, 16, 0, 0, 0, 8, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0]);
            let data = base64::engine::general_purpose::STANDARD.encode(png);
            let cells = ImageCells {
                columns: 2,
                rows: 2,
            };
            Line::from(kitty_image(&data, id, cells))
        };
        let mut cache = ImageCache::default();
        for id in 1..=3 {
            let update = cache.update(&[(0, huge(id))]).unwrap();
            assert_eq!(update.deletions, Vec::<String>::new());
        }
        let update = cache.update(&[(0, huge(4))]).unwrap();
        assert_eq!(update.deletions, [kitty_delete(1)]);
    }
}
