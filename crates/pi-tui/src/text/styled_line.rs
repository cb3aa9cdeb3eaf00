//! The boundary for rendered lines: every line of a frame passes through [`styled_line`], so that a component that
//! forgot to sanitize a name cannot control the terminal.

use std::borrow::Cow;

use super::{AnsiToken, AnsiTokens, TAB_WIDTH, sanitize};
use crate::component::CURSOR_MARKER;

/// Returns a line without control sequences, except colors, links, images and the cursor marker, and with deceptive
/// characters escaped. A line that needs no change is not copied.
pub fn styled_line(text: &str) -> Cow<'_, str> {
    if AnsiTokens::new(text).all(is_safe_token) {
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

fn is_safe_token(token: AnsiToken<'_>) -> bool {
    match token {
        AnsiToken::Text(text) => {
            memchr::memchr2(b'\n', b'\t', text.as_bytes()).is_none()
                && matches!(sanitize(text), Cow::Borrowed(_))
        }
        AnsiToken::Sequence(sequence) => is_safe_sequence(sequence),
    }
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
    // Some control characters end the string early, and what follows would be interpreted.
    if has_control(body.get(1..).unwrap_or_default()) {
        return false;
    }
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
    // Prompt marks (OSC 133) are for jumping inside of this program.
    false
}

/// Images have megabytes of ASCII, so the characters are decoded only if there are others.
fn has_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control())
        || (!text.is_ascii() && text.chars().any(char::is_control))
}

/// Returns whether a link points to a web page or an email address, or ends a link. A click on a link to a file may run
/// it.
fn is_safe_address(address: &str) -> bool {
    let schemes = ["https://", "http://", "mailto:"];
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
            ("\x1b]8;;file:///a\x07f\x1b]8;;\x07", "f\x1b]8;;\x07"),
            ("name\u{202e}txt.exe", "name<U+202E>txt.exe"),
            ("hi\u{e0041}", "hi<U+E0041>"),
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
            ("\x1b]8;;https://a\u{9c}\u{9b}2J\x07p", "p"),
            ("\x1b]8;;https://a\x18\r\x07p", "p"),
        ] {
            let line = styled_line(input);
            assert_eq!(line, expected, "{input:?}");
            assert_eq!(matches!(line, Cow::Borrowed(_)), input == expected);
        }
    }
}
