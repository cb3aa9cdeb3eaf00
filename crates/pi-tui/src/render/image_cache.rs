//! Which images the terminal already holds, so that scrolling does not send them again.

use crate::line::Line;
use crate::terminal::{ImageSpan, kitty_delete};

/// Images kept in the terminal although out of view.
const MOST_IMAGES: usize = 16;
/// Bytes sent for images kept although out of view.
const MOST_BYTES: usize = 32 * 1024 * 1024;

#[derive(Clone, Debug)]
struct Uploaded {
    id: u32,
    bytes: usize,
    /// Tells other data under the same id apart.
    fingerprint: u64,
}

/// The images of the last frame and those uploaded, least recently shown first.
#[derive(Debug, Default)]
pub(super) struct ImageCache {
    placements: Vec<(usize, Line)>,
    uploaded: Vec<Uploaded>,
}

/// What to write for the images of a frame.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) deletions: Vec<String>,
    pub(super) images: Vec<(usize, String)>,
}

impl ImageCache {
    /// Rows of the tallest image that is looked for above the viewport.
    pub(super) const TALLEST: usize = 200;

    pub(super) fn any(&self) -> bool {
        !self.uploaded.is_empty()
    }

    pub(super) fn forget_placements(&mut self) {
        self.placements.clear();
    }

    /// Takes the images of a new frame; `None` if nothing about them changed.
    pub(super) fn update(&mut self, placements: &[(usize, Line)]) -> Option<Drawn> {
        if self.placements == placements {
            return None;
        }
        self.placements = placements.to_vec();
        let mut drawn = Drawn::default();
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
            self.uploaded.push(Uploaded {
                id,
                bytes: line.len(),
                fingerprint,
            });
            let image = ImageSpan::place_again(line)
                .filter(|_| known)
                .unwrap_or_else(|| line.as_str().to_owned());
            drawn.images.push((*row, image));
        }
        drawn.deletions = self.evict(drawn.images.len());
        Some(drawn)
    }

    /// Deletes images out of view beyond the limits, oldest first.
    fn evict(&mut self, in_view: usize) -> Vec<String> {
        let mut deletions = Vec::new();
        loop {
            let out_of_view = self.uploaded.len().saturating_sub(in_view);
            let bytes: usize = self
                .uploaded
                .iter()
                .take(out_of_view)
                .map(|image| image.bytes)
                .sum();
            if out_of_view <= MOST_IMAGES && bytes <= MOST_BYTES {
                return deletions;
            }
            deletions.push(kitty_delete(self.uploaded.remove(0).id));
        }
    }
}

/// Returns a number for the payload, whatever part of it is shown.
fn payload_fingerprint(line: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let payload = line.split_once(';').map_or("", |(_, payload)| payload);
    let mut hasher = DefaultHasher::new();
    payload.hash(&mut hasher);
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
    fn only_so_many_are_kept_out_of_view() {
        let mut cache = ImageCache::default();
        let mut deleted = Vec::new();
        for id in 1..=20 {
            deleted.extend(cache.update(&[(0, image(id))]).unwrap().deletions);
        }
        assert_eq!(deleted, [kitty_delete(1), kitty_delete(2), kitty_delete(3)]);
    }
}
