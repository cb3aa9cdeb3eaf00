//! Finds an image in a rendered line, and crops it where only a part is visible.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::dimensions::image_dimensions;

const KITTY: &str = "\x1b_G";

/// Every line of a frame is searched, and few contain an image.
static KITTY_FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(KITTY));
static ITERM2_FINDER: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\x1b]1337;File="));

/// The rows an image in a line covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSpan {
    /// Rows above the line.
    pub above: usize,
    /// Rows below the line.
    pub below: usize,
    /// The image's ID, if it can be deleted by ID.
    pub id: Option<u32>,
}

impl ImageSpan {
    /// Finds the image sequence in a line.
    pub fn find(line: &str) -> Option<Self> {
        memchr::memchr(0x1b, line.as_bytes())?;
        if let Some((_, controls, _)) = kitty_parts(line) {
            let rows = control(controls, 'r').unwrap_or(1).max(1);
            return Some(Self {
                above: 0,
                below: usize::try_from(rows - 1).unwrap_or(0),
                id: control(controls, 'i').filter(|id| *id != 0),
            });
        }
        let (before, _) = split_at(line, &ITERM2_FINDER)?;
        let above = before
            .strip_prefix("\x1b[")
            .and_then(|rest| rest.strip_suffix('A'))
            .and_then(|rows| rows.parse().ok())
            .unwrap_or(0);
        Some(Self {
            above,
            below: 0,
            id: None,
        })
    }

    /// Returns the line with only the rows `hidden..hidden + visible` of its Kitty image.
    ///
    /// Returns `None` if no part of it is visible, or if the image cannot be cropped: iTerm2 has no
    /// such command.
    pub fn crop(line: &str, hidden: usize, visible: usize) -> Option<String> {
        let (before, controls, payload) = kitty_parts(line)?;
        let rows = usize::try_from(control(controls, 'r')?).ok()?;
        let shown = visible.min(rows.checked_sub(hidden)?);
        if shown == 0 {
            return None;
        }
        if shown == rows {
            return Some(line.to_owned());
        }
        let pixels =
            usize::try_from(image_dimensions(payload.split('\x1b').next()?)?.height).ok()?;
        let top = pixels.saturating_mul(hidden) / rows;
        let bottom = pixels
            .saturating_mul(hidden + shown)
            .div_ceil(rows)
            .min(pixels);
        let height = bottom.saturating_sub(top).max(1);
        let kept = controls
            .split(',')
            .filter(|control| !control.starts_with(['y', 'h', 'r']))
            .collect::<Vec<_>>()
            .join(",");
        Some(format!(
            "{before}{KITTY}{kept},y={top},h={height},r={shown};{payload}"
        ))
    }

    /// Returns the line with the Kitty image shown from previously sent data, which takes only a
    /// few bytes.
    pub fn place_uploaded(line: &str) -> Option<String> {
        let (before, controls, _) = kitty_parts(line)?;
        let kept = controls
            .split(',')
            .filter(|control| !control.starts_with(['a', 'f', 'm', 'q']))
            .collect::<Vec<_>>()
            .join(",");
        Some(format!("{before}{KITTY}a=p,q=2,{kept};\x1b\\"))
    }
}

/// Splits a line at a sequence.
fn split_at<'line>(line: &'line str, sequence: &Finder<'_>) -> Option<(&'line str, &'line str)> {
    let start = sequence.find(line.as_bytes())?;
    let end = start + sequence.needle().len();
    Some((line.get(..start)?, line.get(end..)?))
}

fn kitty_parts(line: &str) -> Option<(&str, &str, &str)> {
    let (before, command) = split_at(line, &KITTY_FINDER)?;
    let (controls, payload) = command.split_once(';')?;
    Some((before, controls, payload))
}

fn control(controls: &str, key: char) -> Option<u32> {
    controls
        .split(',')
        .find_map(|control| control.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}
