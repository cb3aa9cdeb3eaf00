//! Sanitizes lines drawn by extensions: keeps colors, links and the cursor, removes all other control
//! sequences.

use std::borrow::Cow;

use pi_tui::{
    AnsiToken, AnsiTokens, CURSOR_MARKER, TAB_WIDTH, TruncateOptions, sanitize, truncate_to_width,
    visible_width,
};

/// Returns a line of an extension that is safe to show.
pub fn styled_line(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if text.as_bytes().iter().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    for token in AnsiTokens::new(text) {
        match token {
            AnsiToken::Text(text) => {
                let text = sanitize(text).replace('\n', " ");
                clean.push_str(&text.replace('\t', &" ".repeat(TAB_WIDTH)));
            }
            AnsiToken::Sequence(sequence) if is_safe_sequence(sequence) => clean.push_str(sequence),
            AnsiToken::Sequence(_) => {}
        }
    }
    Cow::Owned(clean)
}

/// Returns whether a sequence only styles text or shows an image.
fn is_safe_sequence(sequence: &str) -> bool {
    if sequence == CURSOR_MARKER {
        return true;
    }
    if let Some(parameters) = sequence.strip_prefix("\x1b[") {
        let digits = parameters.strip_suffix('m');
        return digits.is_some_and(|digits| {
            digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        });
    }
    let body = sequence.strip_suffix('\x07');
    let Some(body) = body.or_else(|| sequence.strip_suffix("\x1b\\")) else {
        return false;
    };
    if let Some(link) = body.strip_prefix("\x1b]8;") {
        return link
            .split_once(';')
            .is_some_and(|(_, address)| is_safe_address(address));
    }
    if let Some(keys) = body.strip_prefix("\x1b]1337;File=") {
        // Without `inline=1`, a terminal saves the file to the user's downloads.
        return has_key(keys, ';', "inline", "1");
    }
    if let Some(keys) = body.strip_prefix("\x1b_G") {
        // Images must carry their data: given a path, a terminal reads that file, and deletes some.
        let keys = keys.split(';').next().unwrap_or_default();
        return !keys.split(',').any(|key| key.starts_with("t=")) || has_key(keys, ',', "t", "d");
    }
    // Prompt marks.
    body.starts_with("\x1b]133;")
}

/// Returns whether a link points to a web page, an email address or a local file, or ends a link.
fn is_safe_address(address: &str) -> bool {
    let schemes = ["https://", "http://", "mailto:", "file:///"];
    address.is_empty() || schemes.iter().any(|scheme| address.starts_with(scheme))
}

/// Returns whether a list has a key exactly once, with this value.
fn has_key(list: &str, separator: char, key: &str, value: &str) -> bool {
    let list = list.split(':').next().unwrap_or_default();
    let mut values = list
        .split(separator)
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| *name == key);
    values.next() == Some((key, value)) && values.next().is_none()
}

/// Returns the line truncated to `width` columns, and whether it was wider.
pub fn fitted_line(text: &str, width: usize) -> (String, bool) {
    let line = styled_line(text);
    if visible_width(&line) <= width {
        return (line.into_owned(), false);
    }
    let cut = truncate_to_width(&line, width, TruncateOptions { ellipsis: "" });
    (cut.into_owned(), true)
}

/// Returns the part of some bytes that may be written to the terminal outside of frames: titles,
/// notifications, the clipboard, the bell. Removes sequences that move the cursor or print text, that make
/// the terminal reply (which would arrive as input), or that transfer files. If there is text between the
/// sequences, an extension is logging untrusted output, so nothing is written.
pub fn out_of_band(data: &str) -> String {
    let mut output = String::new();
    for token in AnsiTokens::new(data) {
        match token {
            AnsiToken::Sequence(sequence) => {
                let body = sequence.strip_prefix("\x1b]").and_then(|body| {
                    body.strip_suffix('\x07')
                        .or_else(|| body.strip_suffix("\x1b\\"))
                });
                if body.is_some_and(|body| !requests_reply(body)) {
                    output.push_str(sequence);
                }
            }
            AnsiToken::Text(text) => {
                let is_word = |character: char| !character.is_control() && character != ' ';
                if text.contains(is_word) {
                    return String::new();
                }
                output.extend(text.chars().filter(|character| *character == '\x07'));
            }
        }
    }
    output
}

/// Returns whether an operating system command requests a reply or transfers a file.
fn requests_reply(body: &str) -> bool {
    let files = [
        "1337;File",
        "1337;MultipartFile",
        "1337;Request",
        "1337;Report",
        "50;",
    ];
    body.ends_with('?') || files.iter().any(|start| body.starts_with(start))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_colors_links_and_the_cursor_are_kept() {
        for (input, expected) in [
            ("plain", "plain"),
            (
                "\x1b[1;38;2;1;2;3mbold\x1b[0m",
                "\x1b[1;38;2;1;2;3mbold\x1b[0m",
            ),
            ("\x1b[2J\x1b[Hgone", "gone"),
            ("a\tb\nc\rd", "a   b c d"),
            (
                "\x1b]8;;https://a\x07link\x1b]8;;\x07",
                "\x1b]8;;https://a\x07link\x1b]8;;\x07",
            ),
            ("\x1b]0;title\x07x", "x"),
            ("\x1b]52;c;aGk=\x07x", "x"),
            ("\x1b_pi:c\x07here", "\x1b_pi:c\x07here"),
            ("\x1b[?1049hx", "x"),
            ("x\x1b]8;;open", "x"),
            (
                "\x1b]8;;file:///a\x07f\x1b]8;;\x07",
                "\x1b]8;;file:///a\x07f\x1b]8;;\x07",
            ),
            ("\x1b]8;;file://host/a\x07f", "f"),
            ("\x1b]8;;vscode://a\x07f", "f"),
            ("\x1b]8;no address\x07f", "f"),
            ("\x1b_Ga=T,t=d;AA\x1b\\p", "\x1b_Ga=T,t=d;AA\x1b\\p"),
            ("\x1b_Ga=T,i=1;AA\x1b\\p", "\x1b_Ga=T,i=1;AA\x1b\\p"),
            ("\x1b_Ga=T,t=f;L2V0Yw==\x1b\\p", "p"),
            ("\x1b_Ga=T,t=t;L2V0Yw==\x1b\\p", "p"),
            ("\x1b_Gt=d,t=f;L2V0Yw==\x1b\\p", "p"),
            (
                "\x1b]1337;File=inline=1:AA\x07p",
                "\x1b]1337;File=inline=1:AA\x07p",
            ),
            ("\x1b]1337;File=name=eA==:AA\x07p", "p"),
            ("\x1b]1337;File=inline=0;inline=1:AA\x07p", "p"),
            ("\x1b]1337;RequestUpload=format=tgz\x07p", "p"),
        ] {
            assert_eq!(styled_line(input), expected, "{input:?}");
        }
    }

    #[test]
    fn wide_lines_are_truncated() {
        assert_eq!(fitted_line("four", 4), ("four".to_owned(), false));
        let (line, was_wider) = fitted_line("\x1b[31mtoo wide\x1b[0m", 5);
        assert_eq!(pi_tui::strip_ansi(&line), "too w");
        assert!(was_wider);
        assert!(visible_width(&fitted_line("漢字", 3).0) <= 3);
    }

    #[test]
    fn only_sequences_without_screen_output_are_written() {
        let data = "\x1b[2J\x1b]777;notify;a;b\x07\x07\x1b]9;hi\x1b\\";
        assert_eq!(
            out_of_band(data),
            "\x1b]777;notify;a;b\x07\x07\x1b]9;hi\x1b\\"
        );
        for data in [
            "fetched: \x1b]0;title\x07",
            "\x1b]52;c;aGk=\x07 was fetched",
            "\x1b]52;c;?\x07",
            "\x1b]10;?\x1b\\",
            "\x1b]50;font\x07",
            "\x1b]1337;File=name=eA==:AAAA\x07",
            "\x1b]1337;RequestUpload=format=tgz\x07",
        ] {
            assert_eq!(out_of_band(data), "", "{data:?}");
        }
    }
}
