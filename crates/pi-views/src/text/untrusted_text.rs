//! Sanitizes what extensions draw and write.

use pi_tui::{
    AnsiToken, AnsiTokens, TruncateOptions, styled_line, truncate_to_width, visible_width,
};

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
