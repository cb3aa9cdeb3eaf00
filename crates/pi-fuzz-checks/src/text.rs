//! Untrusted text. The first byte is the width.

use pi_tui::{
    TruncateOptions, WideCharPolicy, expand_for_terminal, sanitize, slice_columns, strip_ansi,
    truncate_to_width, visible_width, wrap_text,
};
use pretty_assertions::assert_eq;

/// Checks that output fits the width and that dangerous characters are removed.
pub fn text(data: &[u8]) {
    let Some((width, bytes)) = data.split_first() else {
        return;
    };
    let width = usize::from(*width).max(1);
    let text = String::from_utf8_lossy(bytes);
    for line in wrap_text(&text, width) {
        assert!(visible_width(&line) <= width, "{line:?}");
    }
    assert!(visible_width(&truncate_to_width(&text, width, TruncateOptions::default())) <= width);
    assert!(slice_columns(&text, 3..3 + width, WideCharPolicy::Drop).width <= width);
    let clean = sanitize(&text);
    assert!(
        clean
            .chars()
            .all(|one| matches!(one, '\n' | '\t') || !one.is_control())
    );
    assert_eq!(sanitize(&clean), clean);
    strip_ansi(&text);
    expand_for_terminal(&text);
}
